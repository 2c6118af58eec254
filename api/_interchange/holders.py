"""Containers that hold arrays of other libraries: what a function changes in their copies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple


class Holder(NamedTuple):
    """A container of the caller's, the copy that a function got, and what that held at first."""

    original: Any
    copy: Any
    before: Any

    @classmethod
    def of(cls, original: Any, copy: Any) -> Holder:
        """A holder that has seen nothing change yet."""
        return cls(original, copy, _held(copy))

    def settle(self, given_back: Callable[[Any], Any]) -> None:
        """Change the caller's container as its copy was; see ``Exchange.given_back``."""
        now, before = _held(self.copy), self.before
        if type(now) is list:
            if [*map(id, now)] != [*map(id, before)]:
                self.original[:] = map(given_back, now)
            return
        is_dict = isinstance(self.original, dict)
        put = self.original.__setitem__ if is_dict else self._set
        drop = self.original.__delitem__ if is_dict else self._drop
        for key in before.keys() - now.keys():
            drop(key)
        for key, item in now.items():
            if key not in before or before[key] is not item:
                put(key, given_back(item))
        if is_dict and [*self.original] != [*now]:  # what was taken out and put in again is last
            for key in now:
                put(key, self.original.pop(key))

    def _set(self, name: str, item: Any) -> None:
        object.__setattr__(self.original, name, item)  # it may be a frozen dataclass

    def _drop(self, name: str) -> None:
        object.__delattr__(self.original, name)


def _held(container: Any) -> Any:
    """What a container holds now: a list, or a dict by keys or names of attributes."""
    if isinstance(container, list):
        return list(container)
    if isinstance(container, dict):
        return dict(container)
    declared = fields(container) if is_dataclass(container) else ()  # they may have slots
    held = {f.name: getattr(container, f.name) for f in declared if hasattr(container, f.name)}
    return {**held, **getattr(container, "__dict__", {})}
