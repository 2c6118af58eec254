"""What to write for NumPy's names that the standard does not have."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

NAMESPACE = "opweave.xp"
# What no function of the standard does by itself.
INSTEAD = {
    "copy": "xp.asarray(x, copy=True)", "dot": "x @ y", "flatten": "xp.reshape(x, (-1,))",
    "ravel": "xp.reshape(x, (-1,))",
}  # fmt: skip


def no_attribute(array: Any, name: str) -> AttributeError:
    """The error of an array that has no such attribute: most of NumPy's are functions here."""
    text = f"'Array' object has no attribute {name!r}"
    if not name.startswith("_") and hasattr(np.ndarray, name):
        found = _standard(name)
        said = INSTEAD.get(name) or (found and f"xp.{found}(x)")
        text += (
            f"; the standard has functions of opweave.xp: {said}"
            if said
            else f"; the standard has none; NumPy's array has: np.asarray(x).{name}"
        )
    return AttributeError(text, name=name, obj=array)


def no_function(module: Any, name: str) -> AttributeError:
    """The error of the namespace that has no such name."""
    text = f"module {NAMESPACE!r} has no attribute {name!r}"
    if name == "array":
        text += "; the standard calls it xp.asarray"
    elif not name.startswith("_") and hasattr(np, name):
        found = _standard(name)
        said = f"calls it xp.{found}" if found else f"has none; of np.asarray(x) take np.{name}"
        text += f"; the standard {said}"
    return AttributeError(text, name=name, obj=module)


def _standard(name: str) -> str | None:
    """The standard's name of a function of NumPy's, which has both for the same object."""
    names, function = import_module(NAMESPACE).__all__, getattr(np, name, None)
    if name in names:
        return name
    if function is None:
        return None
    return next((other for other in names if getattr(np, other, None) is function), None)
