"""Covariances and correlations, made of means and a product of matrices; counts and histograms."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.compiler.arrays.complexes import conjugated, is_complex
from opweave.compiler.arrays.gathering import gathered
from opweave.compiler.arrays.integers import integer
from opweave.compiler.arrays.lifting import lifted
from opweave.compiler.arrays.reshaping import number_of
from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.numpy_api.common import apply
from opweave.compiler.numpy_api.creation_ranges import linspace
from opweave.compiler.numpy_api.registry import numpy_function
from opweave.opcodes import dtypes
from opweave.opcodes.errors import ShapeError, UnsupportedError
from opweave.opcodes.operators.counts import BINCOUNT, MOST_HOST_BINS, has_bins_for_all


@numpy_function(np.cov, numbers=True)
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, *,
    dtype: Any = None,
) -> Any:  # fmt: skip
    """Covariances of variables in rows, or in columns with ``rowvar=False``.

    Raises:
        UnsupportedError: there are no more observations than ``ddof``, of which NumPy warns.
        ShapeError: an operand has more than two dimensions.
    """
    if ddof is not None and ddof != int(ddof):
        raise UnsupportedError(f"cov: ddof={ddof!r}: expected a whole number")
    given = [m] if y is None else [m, lifted(m.tracer, y)]
    if any(part.ndim > 2 for part in given):
        raise ShapeError("cov: expected at most two dimensions")
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        raise UnsupportedError("cov: dtype= of whole numbers")
    to = dtype or np.result_type(*(part.dtype for part in given), np.float64)
    rows = [np.atleast_2d(part.astype(to)) for part in given]
    if not rowvar:
        rows = [r.T if part.ndim == 2 else r for r, part in zip(rows, given, strict=True)]
    x = rows[0] if len(rows) == 1 else np.concatenate(rows)
    free = (0 if bias else 1) if ddof is None else ddof
    count = number_of(m.tracer, x.shape[1])
    if not m.tracer.builder.require(Expr("gt", (count, literal(free)))):
        raise UnsupportedError("cov: no more observations than ddof")
    apart = x - x.mean(axis=1)[:, None]
    found = (apart @ conjugated(apart).T) * (1 / (x.shape[1] - free))
    return np.squeeze(found)


@numpy_function(np.corrcoef, numbers=True)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    spread = np.sqrt(np.real(np.diagonal(c)))
    c = c / spread[:, None] / spread[None, :]
    if not is_complex(c):
        return np.clip(c, -1, 1)
    return np.clip(np.real(c), -1, 1) + 1j * np.clip(np.imag(c), -1, 1)


# Bins of a histogram, at most: an element's share of the range tells its bin or one next to it, in
# float64, and in float32 (True), where NumPy divides in float64.
MOST_BINS = {False: 2**30, True: 2**18}


def _check_bins(name: str, tracer: Any, bins: int, notes: bool = True) -> None:
    """``notes``: an element may have no bin.

    Raises:
        UnsupportedError: no kernel that may end the call counts in parts, or so many bins.
    """
    if notes and not tracer.counts:
        raise UnsupportedError(f"{name}: opweave compiles this in whole functions alone")
    most = tracer.counts or MOST_HOST_BINS
    if not 0 < bins <= most:
        raise UnsupportedError(f"{name}: expected a number of bins from 1 to {most}, found {bins}")


def _counted(name: str, x: Any, bins: int, notes: bool) -> Any:
    """How many elements of a vector have each value below ``bins``.

    Args:
        notes: an element may have none of them, which ends the call: NumPy knows what it means.

    Raises:
        UnsupportedError: the function may catch what NumPy raises.
    """
    if notes and (x.tracer.catches or x.tracer.catches_index):
        raise UnsupportedError(f"{name}, where the function may catch what it raises")
    return apply(BINCOUNT, x, bins=bins, notes=notes)


@numpy_function(np.bincount, arrays=("x",))
def bincount(x: Any, /, weights: Any = None, minlength: Any = 0) -> Any:
    """
    Raises:
        UnsupportedError: weights; nobody says how many bins, or too many; no vector; see
            ``_counted``.
    """
    if weights is not None:
        raise UnsupportedError("np.bincount: weights= is not compiled")
    bins = integer(x.tracer.concrete(minlength), "np.bincount: minlength")
    if bins < 1 or x.ndim != 1:
        raise UnsupportedError("np.bincount: expected a vector, and its bins as minlength=")
    notes = not has_bins_for_all(x.value.dtype, bins)
    _check_bins("np.bincount", x.tracer, bins, notes)
    return _counted("np.bincount", x, bins, notes)


@numpy_function(np.histogram)
def histogram(
    a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None
) -> Any:
    """Counts by bins of one width, and their edges; NumPy's own way, so that each edge is its own.

    Raises:
        UnsupportedError: see ``asked_of_histogram`` and ``_counted``.
    """
    count, known = asked_of_histogram(a, bins, density, weights, range)
    x = a.reshape(-1)
    found, edges = _of_all(x, count) if known is None else _of_range(x, count, *known)
    if density:
        found = found / np.diff(edges).astype(np.float64) / found.sum()
    return found, edges


def asked_of_histogram(
    a: Any, bins: Any, density: Any, weights: Any, range: Any
) -> tuple[int, tuple[Any, Any, Any] | None]:
    """How many bins kernels count, and ``_known_edges``; None where elements give the ends.

    Raises:
        UnsupportedError: they count none: of other bins, weights, bools, of which NumPy warns,
            complex and 16-bit numbers, and ranges that NumPy refuses.
    """
    count = _number_of(a, bins)
    if count < 1 or weights is not None or not (density is None or type(density) is bool):
        raise UnsupportedError("np.histogram: expected a number of bins, and no weights")
    _check_bins("np.histogram", a.tracer, count)
    if count > MOST_BINS[a.dtype == np.float32]:
        raise UnsupportedError(f"np.histogram: {count} bins")
    if a.dtype.kind not in "iuf" or a.dtype == np.float16 or a.value.dtype is dtypes.BF16:
        raise UnsupportedError(f"np.histogram: of {a.dtype}")
    if range is None and not a.tracer.builder.is_empty(a.value.shape):
        return count, None
    return count, _known_edges(a, count, (0, 1) if range is None else range)


def _number_of(a: Any, bins: Any) -> int:
    """A number of bins, which belongs to the guard; 0 for other bins."""
    found = a.tracer.concrete(bins)
    return int(found) if isinstance(found, int | np.integer) and found is not True else 0


def _known_edges(x: Any, count: int, range: Any) -> tuple[Any, Any, Any]:
    """The edges that NumPy makes between two numbers, and these as it takes them.

    Raises:
        UnsupportedError: NumPy refuses them, or the bins have no finite width.
    """
    given = tuple(map(x.tracer.concrete, range))
    try:
        made = np.histogram_bin_edges(np.zeros(0, x.dtype), count, given)
        # the difference of NumPy's integers might have no place in their type
        first, last = (int(e) if isinstance(e, np.integer | np.bool_) else e for e in given)
        first, last = (first, last) if first != last else (first - 0.5, last + 0.5)
        with np.errstate(all="ignore"):
            span = made.dtype.type(last - first)
    except (TypeError, ValueError, OverflowError) as error:
        raise UnsupportedError(f"np.histogram: {error}") from None
    if not (np.isfinite(made).all() and np.isfinite(span) and span > 0):
        raise UnsupportedError("np.histogram: bins of no finite width")
    return made, first, last


def _of_range(x: Any, count: int, made: Any, first: Any, last: Any) -> Any:
    """A histogram between two numbers, for which NumPy makes the edges; others are left out."""
    dtype, edges, width = made.dtype, x.tracer.copied(made), (last - first) / count
    straight = np.arange(count).astype(dtype) * dtype.type(width) + dtype.type(first)
    is_straight = np.array_equal(straight, made[:-1])

    def edge(k: Any) -> Any:
        if not is_straight:
            return gathered(edges, [k])
        return k.astype(dtype) * dtype.type(width) + dtype.type(first)

    def found(t: Any) -> Any:
        bins = _bins(t.astype(dtype), edge, first, last, count)
        # whatever an element is, it is counted in memory that there is
        inside = np.clip(bins, np.int32(0), np.int32(count - 1))
        return np.where((t >= first) & (t <= last), inside, count)

    return _counted("np.histogram", _by_table(x, found), count + 1, notes=False)[:count], edges


def _of_all(x: Any, count: int) -> Any:
    """A histogram between the smallest and the largest element.

    Where one is not finite, or the edges do not rise, no element has a bin: NumPy raises.
    """
    floats = x.dtype if x.dtype.kind == "f" else np.dtype(np.float64)
    low, high = x.min().astype(floats), x.max().astype(floats)
    is_one = low == high
    first, last = np.where(is_one, low - 0.5, low), np.where(is_one, high + 0.5, high)
    edges = linspace(x.tracer, first, last, count + 1, dtype=floats)
    rises = (edges[1:] > edges[:-1]).all() & np.isfinite(low) & np.isfinite(high)
    width = (last - first) / lifted(x.tracer, count).astype(floats)
    outside = rises.astype(np.int32) - 1  # no bit, or all of them

    def edge(k: Any) -> Any:
        return k.astype(floats) * width + first  # as the table has it

    def found(t: Any) -> Any:
        return _bins(t.astype(floats), edge, first, last, count) | outside

    return _counted("np.histogram", _by_table(x, found), count, notes=True), edges


def _by_table(x: Any, found: Callable[[Any], Any]) -> Any:
    """The bins of elements; those of bytes are read in a table, which has all 256."""
    if x.dtype.itemsize > 1:
        return found(x)
    least = int(np.iinfo(x.dtype).min)
    values = lifted(x.tracer, np.arange(least, least + 256).astype(x.dtype))
    return gathered(found(values), [x.astype(np.int32) - least])


def _bins(t: Any, edge: Callable[[Any], Any], first: Any, last: Any, count: int) -> Any:
    """The bin of each element: where its share of the range lies, corrected by the edges.

    Args:
        edge: gives those of bins but for the last one, whose end nobody asks for.
    """
    end = np.int32(count - 1)
    found = np.minimum(((t - first) / (last - first) * count).astype(np.int32), end)
    found = found - (t < edge(found))
    return found + ((t >= edge(found + 1)) & (found != end))
