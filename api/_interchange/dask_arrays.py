"""Arrays of dask, which have no elements yet: a call of them is made by blocks, see api/_dask."""

from __future__ import annotations

from typing import Any

import numpy as np

from opweave._interchange.kinds import ArrayKind, NotTaken

LABEL = "dask.array.Array"


def kind_of(cls: type) -> ArrayKind:
    """The kind of a class of dask's."""
    return ArrayKind(LABEL, view, give, "dask.array.asarray(np.asarray({x}))", is_lazy=True)


def view(array: Any) -> Any:
    """An array of no elements, of as many dimensions: it stands for one whose elements come later.

    Raises:
        NotTaken: its dtype is none of NumPy's.
    """
    try:
        return np.empty((0,) * array.ndim, array.dtype)
    except TypeError:
        found = f"a dask array of {array.dtype}"
        raise NotTaken(found, "{x}.astype(...) with a dtype of NumPy's") from None


def give(array: Any, like: Any) -> Any:
    """Nothing is ever given back in this way: results of blocks are made by dask."""
    raise NotTaken("a result that no block has made", "{x}.compute()")
