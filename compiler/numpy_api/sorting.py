"""Search in a sorted table, places of extremes, and counts.

A step of the search is one gather, of which each halves what is left: a table of n elements takes
one more than n has binary digits, and all of them stand in one kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opweave.compiler.arrays.gathering import coordinate, gathered_inside, place_type
from opweave.compiler.arrays.reshaping import counted_axis
from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.numpy_api.registry import numpy_function
from opweave.opcodes import dtypes
from opweave.opcodes.errors import DTypeError, ShapeError, UnsupportedError


def _digits(table: Any) -> int:
    """How many binary digits the number of elements has; part of the guard."""
    builder, count = table.tracer.builder, 0
    size = builder.extent_expr(table.value.shape[0])
    while builder.require(Expr("ge", (size, literal(1 << count)))):
        count += 1
    return count


def _is_passed(element: Any, x: Any, side: str) -> Any:
    """Whether the place of ``x`` lies behind an element, in NumPy's order: NaN is the last."""
    is_float = dtypes.of(x.dtype).is_float
    if side == "right":
        return (element <= x) | (x != x) if is_float else element <= x
    return (element == element) & ~(element >= x) if is_float else element < x


def _found(table: Any, x: Any, side: str) -> Any:
    """How many elements of a sorted table come before ``x``, or are equal to it (``right``).

    What is left begins at ``found``, and has as many elements for all that is searched: half of
    them are passed by if the first of the other half is.  So no place lies outside of the table.
    """
    places = place_type(table.tracer, *table.value.shape).numpy
    count, digits = table.shape[0], _digits(table)
    found = np.zeros_like(x, dtype=places)
    for digit in range(digits):
        half = (count + ((1 << digit) - 1)) // (2 << digit)
        further = found + half
        element = gathered_inside(table, further)
        found = np.where(_is_passed(element.astype(x.dtype), x, side), further, found)
    if not digits:
        return found
    last = gathered_inside(table, found).astype(x.dtype)
    return found + _is_passed(last, x, side)


@numpy_function(
    np.searchsorted, np.ndarray.searchsorted, arrays=("a", "v"), numbers=True, unboxed=True
)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """
    Raises:
        UnsupportedError: ``sorter=``; an unknown ``side``.
        ShapeError: the table is not a vector.
    """
    if sorter is not None or side not in ("left", "right"):
        raise UnsupportedError(f"searchsorted: sorter=, or side={side!r}")
    if a.ndim != 1:
        raise ShapeError(f"searchsorted: expected a vector, found {a.ndim} dimensions")
    try:
        common = dtypes.promote(a.value.dtype, v.value.dtype)
    except DTypeError:
        common = dtypes.F64  # as NumPy chooses for integers and bfloat16
    return _found(a, v.astype(common.numpy), side).astype(np.int64)


def _picked(a: Any, axis: Any, keepdims: bool, name: str) -> Any:
    """The first place of the element that the reduction ``name`` finds; of NaN if there is one."""
    if axis is None:
        found = _picked(a.reshape(-1), 0, False, name)
        return found.reshape((1,) * a.ndim) if keepdims else found
    axis = counted_axis(f"arg{name}", axis, a.ndim)
    extent, builder = a.value.shape[axis], a.tracer.builder
    if builder.is_empty([extent]):
        raise ShapeError(f"arg{name}: of an empty axis")
    best = a == getattr(a, name)(axis=axis, keepdims=True)
    if dtypes.of(a.dtype).kind in "fc":
        best = best | np.isnan(a)
    c = coordinate(a.tracer, extent, a.ndim - 1 - axis, place_type(a.tracer, extent))
    last = a.tracer.extent(extent)
    return np.where(best, c, last).min(axis=axis, keepdims=keepdims).astype(np.int64)


@numpy_function(np.argmax, np.ndarray.argmax)
def argmax(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return _picked(a, axis, keepdims, "max")


@numpy_function(np.argmin, np.ndarray.argmin)
def argmin(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return _picked(a, axis, keepdims, "min")


@numpy_function(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """How many elements are not zero; an int64 where NumPy gives a Python integer."""
    return (a != 0).sum(axis=axis, keepdims=keepdims, dtype=np.int64)
