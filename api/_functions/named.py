"""How our functions are shown and pickled: by name, as functions are, or with what they hold."""

from __future__ import annotations

import sys
from functools import reduce
from types import FrameType
from typing import Any

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
