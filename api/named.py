"""How fused functions are pickled: by name, as functions are."""

from __future__ import annotations

import sys
from functools import reduce
from typing import Any


def reduced(fused: Any, *options: Any) -> Any:
    """What ``__reduce__`` of a fused function returns.

    A decorated function is what stands in its module by its name.  One that was made of it
    (``f.unfused()``) has the same function within, which has no name of its own any more.
    """
    found = _by_name(fused)
    if found is fused:
        return fused.__qualname__
    if type(found) is type(fused) and found.__wrapped__ is fused.__wrapped__:
        return derived, (found, *options)
    return type(fused), (fused.__wrapped__, *options)


def derived(fused: Any, *options: Any) -> Any:
    """The function within a fused one, with other options."""
    return type(fused)(fused.__wrapped__, *options)


def _by_name(fused: Any) -> Any:
    """What a module has by the name of a function; None where that leads nowhere."""
    module = sys.modules.get(getattr(fused, "__module__", None) or "")
    names = getattr(fused, "__qualname__", "").split(".")
    return reduce(lambda found, name: getattr(found, name, None), names, module)
