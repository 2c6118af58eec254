"""Counting: how many elements of an array of integers have each value of 0, 1, 2 and so on.

It is no row of the table of operators: ``np.bincount`` and ``np.histogram`` make nodes of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opweave.opcodes import dtypes
from opweave.opcodes.codes import OpCode, Phase
from opweave.opcodes.core import Cost, Kind, Operator
from opweave.opcodes.errors import BoundsError, DTypeError
from opweave.opcodes.shapes import Attrs, Shape, ShapeRule, no_pairs

# Bins at most; on the host the counts of a thread lie in a cache of its own: of more, NumPy's
# function is called.
MOST_DEVICE_BINS, MOST_HOST_BINS = 2**31, 2**16


def counted(x: Any, bins: int, notes: bool) -> Any:
    """How many elements have each value below ``bins``.

    Raises:
        BoundsError: ``notes``, and an element has no bin.
    """
    inside = (x >= 0) & (x < bins)
    if notes and not inside.all():
        raise BoundsError(without_bin(bins))
    return np.bincount(x[inside].astype(np.int64), minlength=bins)


def without_bin(bins: int, at: str = "") -> str:
    """What is wrong where an element is none of the bins': negative, too large, or no number."""
    return f"an element has none of the {bins} bins that are counted{at}"


def has_bins_for_all(dtype: dtypes.DType, bins: int) -> bool:
    """Whether each number of a type of integers has a bin."""
    if dtype.kind == "b":
        return bins >= 2
    return dtype.kind == "u" and int(np.iinfo(dtype.numpy).max) < bins


def _counting(types: Sequence[Any], attrs: Any) -> Any:
    """Integers that int64 holds; the result is int64.

    Raises:
        DTypeError: others, which NumPy refuses.
    """
    (dtype,) = types
    if dtype.kind not in "biu" or dtype is dtypes.U64:
        raise DTypeError(f"expected integers that int64 holds, found {dtype.numpy_name}")
    return (dtype,), (dtypes.I64,)


def _bins(shapes: Sequence[Shape], attrs: Attrs) -> Shape:
    return (attrs["bins"],)


BINCOUNT = Operator(
    "bincount", Kind.COUNT,
    (OpCode("bincount", Phase.ACCUMULATE, ("x",), supplied="the template counts"),),
    counted, _counting, ("x",), ShapeRule(no_pairs, _bins), attrs=(("bins", 1), ("notes", True)),
    cost=Cost(flops=4),
)  # fmt: skip
