"""Places in a sorted table, by bisection: ``searchsorted``, ``digitize`` and ``interp``.

A step of the bisection is one gather; a table of n elements takes as many as n has binary digits,
and all of them stand in one kernel.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opweave.compiler.arrays.complexes import is_complex
from opweave.compiler.arrays.gathering import gathered, place_type
from opweave.compiler.arrays.lifting import weak_or_lifted
from opweave.compiler.arrays.reshaping import number_of
from opweave.compiler.arrays.traced_operators import is_traced
from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.numpy_api.registry import numpy_function
from opweave.opcodes import OPERATORS, dtypes
from opweave.opcodes.core import Operator
from opweave.opcodes.errors import DTypeError, ShapeError, UnsupportedError


def _digits(table: Any) -> int:
    """Binary digits of the number of elements, which are part of the guard."""
    builder, count = table.tracer.builder, 0
    size = builder.extent_expr(table.value.shape[0])
    while builder.require(Expr("ge", (size, literal(1 << count)))):
        count += 1
    return count


def _comes_before(a: Any, b: Any) -> Any:
    """NumPy's order: NaN behind all numbers."""
    if not dtypes.of(a.dtype).is_float:
        return a < b
    return (a < b) | ((b != b) & (a == a))


def _found(table: Any, x: Any, side: str) -> Any:
    """How many elements of a sorted table come before ``x``, or are equal to it (``right``)."""
    places = place_type(table.tracer, *table.value.shape)
    count = table.shape[0]
    found = np.zeros_like(x, dtype=places.numpy)
    for digit in reversed(range(_digits(table))):
        further = found + places.numpy.type(1 << digit)
        element = gathered(table, [further - places.numpy.type(1)]).astype(x.dtype)
        goes = _comes_before(element, x) if side == "left" else ~_comes_before(x, element)
        found = np.where(goes & (further <= count), further, found)
    return found


@numpy_function(
    np.searchsorted, np.ndarray.searchsorted, arrays=("a", "v"), numbers=True, unboxed=True
)
def searchsorted(a: Any, v: Any, side: str = "left", sorter: Any = None) -> Any:
    """
    Raises:
        UnsupportedError: a permutation that sorts the table.
        ShapeError: a table of other than one dimension.
    """
    if sorter is not None or side not in ("left", "right"):
        raise UnsupportedError(f"searchsorted: sorter=, or side={side!r}")
    if a.ndim != 1:
        raise ShapeError(f"searchsorted: expected a vector, found {a.ndim} dimensions")
    try:
        common = dtypes.promote(a.value.dtype, v.value.dtype)
    except DTypeError:
        common = dtypes.F64  # as NumPy finds for integers and bfloat16, which nothing promotes
    return _found(a, v.astype(common.numpy), side).astype(np.int64)


@numpy_function(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """
    Raises:
        UnsupportedError: bins among the arguments, whose order NumPy looks at.
        ShapeError: bins that neither rise nor fall.
    """
    if any(is_traced(b) for b in (bins, *(bins if isinstance(bins, list) else ()))):
        raise UnsupportedError("digitize: bins that are traced; use np.searchsorted")
    edges: Any = np.asarray(bins)
    side: Any = "left" if right else "right"
    if (edges[1:] >= edges[:-1]).all():
        return np.searchsorted(edges, x, side)
    if not (edges[1:] <= edges[:-1]).all():
        raise ShapeError("digitize: bins must be monotonically increasing or decreasing")
    found = np.searchsorted(np.ascontiguousarray(edges[::-1]), x, side)
    return np.subtract(len(edges), found)


@numpy_function(np.interp, arrays=("x", "xp", "fp"), numbers=True, unboxed=True)
def interp(
    x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None
) -> Any:
    """Straight lines between points, as NumPy computes them, in float64, of each part alone.

    Raises:
        UnsupportedError: a period, which sorts the points; fewer than two points; complex numbers
            where NumPy takes none.
        ShapeError: not as many values as points.
    """
    if period is not None:
        raise UnsupportedError("interp: period= sorts the points; do it outside")
    reals = (x, xp) if is_complex(fp) else (x, xp, *filter(_is_given, (left, right)))
    if any(map(np.iscomplexobj, reals)):
        raise UnsupportedError("interp: complex numbers beside real values, which NumPy refuses")
    x, xp = x.astype(np.float64), xp.astype(np.float64)
    tracer, builder = xp.tracer, xp.tracer.builder
    if (xp.ndim, fp.ndim) != (1, 1):
        raise ShapeError("interp: data points must be 1-D sequences")
    counts = [number_of(tracer, a.shape[0]) for a in (xp, fp)]
    if counts[0] != counts[1] and not builder.require(Expr("eq", (counts[0], counts[1]))):
        raise ShapeError("interp: fp and xp are not of the same length")
    if not builder.require(Expr("ge", (counts[0], literal(2)))):
        raise UnsupportedError("interp: fewer than two points")
    if not is_complex(fp):
        return _on_lines(x, xp, fp.astype(np.float64), left, right)
    re, im = (
        _on_lines(x, xp, part(fp).astype(np.float64), *(_part_of(e, part) for e in (left, right)))
        for part in (OPERATORS["real"], OPERATORS["imag"])
    )
    return OPERATORS["join"](re, np.where(np.isnan(x), 0.0, im))  # NaN is its own real part


def _is_given(end: Any) -> bool:
    return end is not None


def _part_of(end: Any, part: Operator) -> Any:
    """A part of what stands beyond the points."""
    return end if end is None else getattr(np, part.name)(end)


def _on_lines(x: Any, xp: Any, fp: Any, left: Any, right: Any) -> Any:
    one = place_type(xp.tracer, *xp.value.shape).numpy.type(1)
    last = xp.shape[0] - 1
    above = _found(xp, x, "right")
    low = np.clip(above - one, 0, last - 1)
    points: list[Any] = [gathered(a, [place]) for a in (xp, fp) for place in (low, low + one)]
    x0, x1, y0, y1 = points
    slope = (y1 - y0) / (x1 - x0)
    found = slope * (x - x0) + y0
    again = slope * (x - x1) + y1
    again = np.where(np.isnan(again) & (y0 == y1), y0, again)
    found = np.where(np.isnan(found), again, found)
    found = np.where(x == x0, y0, found)
    ends = [weak_or_lifted(xp.tracer, end) for end in (left, right) if end is not None]
    below, beyond = (fp[0] if left is None else ends[0]), (fp[-1] if right is None else ends[-1])
    found = np.where(x == xp[-1], fp[-1], np.where(x > xp[-1], beyond, found))
    return np.where(np.isnan(x), x, np.where(x < xp[0], below, found))
