"""What a fused function has of the given one: its attributes, its name, how it is pickled."""

from __future__ import annotations

import sys
from functools import reduce
from types import FrameType, FunctionType
from typing import Any

from opweave._html.shown import Shown

# From a method that pickles a function to the pickler's.
MOST_FRAMES = 8


def reduced(fused: Any, *options: Any) -> Any:
    """What ``__reduce__`` of a fused function returns.

    A decorated function is found in its module under its name.  A function that was made of it
    (``f.unfused()``) holds the same plain function, to which no name leads any more.
    """
    found = by_name(fused)
    if found is fused:
        is_lost = fused.__module__ == "__main__" and _by_cloudpickle()
        return (type(fused), (fused.given, *options)) if is_lost else fused.__qualname__
    if hasattr(found, "given") and found.given is fused.given:
        return derived, (type(fused), found, *options)
    return type(fused), (fused.given, *options)


def described(fused: Any) -> str:
    """What ``__repr__`` of a fused function returns."""
    options = [f"{n}={v}" for n, v in fused.options.toggles]
    options += ["unfused"] * (not fused.options.fused) + ["fast"] * fused.options.fast
    name = getattr(fused.__wrapped__, "__name__", "function")
    shown = f" with {', '.join(options)}" if options else ""
    return f"<fused {name}({', '.join(fused.signature.names)}){shown}>"


def _by_cloudpickle() -> bool:
    """Whether cloudpickle asks: of ``__main__``, which others do not have, it takes functions as
    they are, and would take ours by a name that means nothing there.
    """
    frame: FrameType | None = sys._getframe(1)
    for _ in range(MOST_FRAMES):
        if frame is None or frame.f_globals.get("__name__", "").startswith("cloudpickle"):
            return frame is not None
        frame = frame.f_back
    return False


def derived(kind: Any, fused: Any, *options: Any) -> Any:
    """The function within a fused one, with other options."""
    return kind(fused.given, *options)


def by_name(made: Any) -> Any:
    """The object in a module under the name of a function; None if there is none."""
    module = sys.modules.get(getattr(made, "__module__", None) or "")
    names = getattr(made, "__qualname__", "").split(".")
    return reduce(lambda found, name: getattr(found, name, None), names, module)


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
    # a property where object has a dict: who asks sees none of ours
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
