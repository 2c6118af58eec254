"""What NumPy computes by arrays of indices, and has no function for: writes, and ``reduceat``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

# A slice as its three numbers, an array of indices as INDEX, the others as they are.
INDEX, DOTS = "index", "..."
CodedKey = tuple[Any, ...]


def assigned(
    a: Any, value: Any, indices: Sequence[Any], key: CodedKey, by: str = "", out: Any = None
) -> Any:
    """A copy of an array behind ``a[key] = value``, or ``np.add.at(a, key, value)`` and its kin.

    Args:
        indices: the arrays and numbers in the places of ``INDEX``, in order.
        by: the ufunc whose method ``at`` writes, by its name; "" for an assignment.
        out: where the copy lies; None for memory of its own.

    Raises:
        IndexError, ValueError, TypeError: as NumPy does.
    """
    made = np.empty(a.shape, a.dtype) if out is None else out
    made[...] = a
    given = iter(indices)
    place = tuple(_item(item, given) for item in key)
    if by:
        getattr(np, by).at(made, place, value)
    else:
        made[place] = value
    return made


def reduced_at(a: Any, indices: Any, axis: int, by: str) -> Any:
    """``np.add.reduceat(a, indices, axis)``; ``by`` names the ufunc."""
    return getattr(np, by).reduceat(a, indices, axis)


def _item(item: Any, indices: Any) -> Any:
    if item == INDEX:
        return next(indices)
    if item == DOTS:
        return ...
    return slice(*item) if isinstance(item, tuple) else item
