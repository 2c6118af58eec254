"""How functions of ours are pickled: by name, as functions are, or with what they hold."""

from __future__ import annotations

import sys
from functools import reduce
from typing import Any


def reduced(fused: Any, *options: Any) -> Any:
    """What ``__reduce__`` of a fused function returns.

    A decorated function is found in its module under its name.  A function that was made of it
    (``f.unfused()``) holds the same plain function, to which no name leads any more.
    """
    found = by_name(fused)
    if found is fused:
        return fused.__qualname__
    if hasattr(found, "given") and found.given is fused.given:
        return derived, (type(fused), found, *options)
    return type(fused), (fused.given, *options)


def derived(kind: Any, fused: Any, *options: Any) -> Any:
    """The function within a fused one, with other options."""
    return kind(fused.given, *options)


def by_name(made: Any) -> Any:
    """The object in a module under the name of a function; None if there is none."""
    module = sys.modules.get(getattr(made, "__module__", None) or "")
    names = getattr(made, "__qualname__", "").split(".")
    return reduce(lambda found, name: getattr(found, name, None), names, module)
