"""Classes that a function sees themselves, and no copies of: what it has changed of them.

A trace takes every change back, and is refused for it.  A run in parts leaves the change, with
arrays and numbers in the place of the stand-ins.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from opweave.compiler.captures.copied import differences
from opweave.compiler.captures.places import Missing

# Python's flag of a class whose attributes nobody can set, as those in C.
IMMUTABLE = 1 << 8
# Attributes that Python itself sets when it is asked for something.
BY_PYTHON = frozenset(
    """
    __slotnames__ __annotations__ __annotations_cache__ __abstractmethods__ _abc_impl
    """.split()
)


class ShownClasses:
    """What classes held when the function first saw them; their bases are seen with them."""

    def __init__(self) -> None:
        self.before: dict[type, dict[str, Any]] = {}

    def note(self, cls: type) -> None:
        """Remember what a class holds, unless it is known already."""
        if cls in self.before or str(cls.__module__).startswith("opweave."):  # a stand-in's
            return
        for base in cls.__mro__:
            if base not in self.before and not base.__flags__ & IMMUTABLE:
                self.before[base] = dict(vars(base))

    def _changed(self) -> Iterator[tuple[type, str, Any, Any]]:
        """Class, name, and the values before and now of what is another one."""
        for cls, before in self.before.items():
            for name, old, new in differences(before, dict(vars(cls))):
                if name not in BY_PYTHON:
                    yield cls, name, old, new

    def restored(self) -> str | None:
        """Take all changes back; the first of them, for a message."""
        changed = list(self._changed())
        for cls, name, old, _ in changed:
            _put(cls, name, old)
        return f"{changed[0][0].__name__}.{changed[0][1]}" if changed else None

    def settle(self, settled: Callable[[Any], Any]) -> None:
        """Make what was put into the classes what the caller finds there."""
        for cls, name, _, new in list(self._changed()):
            if new is not Missing and (made := settled(new)) is not new:
                _put(cls, name, made)


def _put(cls: type, name: str, value: Any) -> None:
    """Give a class an attribute, or take it away, whatever its own class says of that."""
    if value is Missing:
        type.__delattr__(cls, name)
    else:
        type.__setattr__(cls, name, value)
