"""How functions of ours are pickled: by name, as functions are, or by what they are made of."""

from __future__ import annotations

import sys
from functools import reduce
from typing import Any


def reduced(fused: Any, *options: Any) -> Any:
    """What ``__reduce__`` of a fused function returns.

    A decorated function is what stands in its module by its name.  One that was made of it
    (``f.unfused()``) has the same function within, which has no name of its own any more.
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
    """What a module has by the name of a function; None where that leads nowhere."""
    module = sys.modules.get(getattr(made, "__module__", None) or "")
    names = getattr(made, "__qualname__", "").split(".")
    return reduce(lambda found, name: getattr(found, name, None), names, module)
