"""What a fused function has of the given one, for the tools that look at functions."""

from __future__ import annotations

from types import FunctionType
from typing import Any

from opweave._html.shown import Shown


class _Holder:
    """Its objects' attributes are found in the usual way."""


_ATTRIBUTES: Any = vars(_Holder)["__dict__"]


def _of_given(name: str) -> property:
    """An attribute of the function that was given."""
    return property(
        lambda self: getattr(self.given, name), lambda self, v: setattr(self.given, name, v)
    )


class LikeGiven(_Holder, Shown, by="_programs.pieces:fused"):
    """Answers for the function in ``given``.

    Attributes:
        own: names of attributes that are ours, and no user's.
    """

    own: frozenset[str] = frozenset()

    __code__ = _of_given("__code__")
    __defaults__ = _of_given("__defaults__")
    __kwdefaults__ = _of_given("__kwdefaults__")
    __globals__ = _of_given("__globals__")
    __closure__ = _of_given("__closure__")
    __builtins__ = _of_given("__builtins__")

    @property
    def __dict__(self) -> Any:  # type: ignore[override]
        """What users have set, at the function or here; ``functools.wraps`` copies it."""
        return {n: v for n, v in _ATTRIBUTES.__get__(self).items() if n not in self.own}

    def owned(self) -> None:
        """All attributes that are there now are ours; those of the function are added."""
        held = _ATTRIBUTES.__get__(self)
        self.own = frozenset([*held, "own"])
        given = held["given"]
        for name, value in vars(given).items() if isinstance(given, FunctionType) else ():
            if not hasattr(type(self), name):
                held.setdefault(name, value)
