"""Ranges of numbers, grids of coordinates, and matrices with a pattern."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from opweave.compiler.arrays.gathering import NARROW, coordinate, is_below, moved, place_type
from opweave.compiler.arrays.interface import TracerLike
from opweave.compiler.arrays.lifting import lifted
from opweave.compiler.arrays.traced_operators import is_traced_array, is_traced_number
from opweave.compiler.ir.builder import scalar_type
from opweave.compiler.numpy_api.linalg import diagonal
from opweave.compiler.numpy_api.manipulation_shape import spread_over_each_other
from opweave.compiler.numpy_api.registry import numpy_function
from opweave.opcodes.dtypes import I64, promote
from opweave.opcodes.errors import ShapeError, UnsupportedError


def arange(tracer: TracerLike, *args: Any, dtype: Any = None) -> Any:
    """Integers in equal steps, of which an argument is traced; None for floats."""
    start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
    kinds = [getattr(a, "example", a) for a in (start, stop, step)]
    step = tracer.concrete(step)
    if not all(isinstance(k, int | np.integer) for k in kinds) or step == 0:
        return None
    made = coordinate(tracer, tracer.steps(start, stop, step), 0, I64)
    if step != 1:
        made = made * step
    if is_traced_number(start) or start != 0:
        made = made + start
    return made if dtype is None else made.astype(dtype)


numpy_function(np.arange, creates=True)(arange)


@numpy_function(np.linspace, creates=True)
def linspace(
    tracer: TracerLike, start: Any, stop: Any, num: Any = 50, endpoint: bool = True,
    dtype: Any = None,
) -> Any:  # fmt: skip
    """Numbers in equal steps; the last one is ``stop`` itself and not computed, as by NumPy."""
    if any(getattr(end, "ndim", 0) for end in (start, stop)):
        raise UnsupportedError("linspace: expected two numbers, found arrays")
    if num < 0:
        raise ShapeError(f"linspace: expected no negative number of samples, found {num}")
    place = arange(tracer, num)
    last = num - 1 if endpoint else num
    steps = np.maximum(last, 1)
    made = place
    if any(getattr(end, "example", end).__class__ not in (int, float) for end in (start, stop)):
        # of arrays and of NumPy's numbers the type is that of the steps, too
        common = promote(*map(type_of, (start, stop)), float).numpy
        start, stop, steps = (lifted(tracer, n).astype(common) for n in (start, stop, steps))
        made = place.astype(common)
    made = made * ((stop - start) / steps) + start
    if endpoint:
        made = np.where((place == last) & (place > 0), stop * 1.0, made)
    if dtype is not None and np.dtype(dtype).kind in "iu":
        made = np.floor(made)
    return made if dtype is None else made.astype(dtype)


def type_of(end: Any) -> Any:
    """The dtype of an array or of a NumPy number, or int, float or complex of Python's."""
    return end.value.dtype if is_traced_array(end) else scalar_type(getattr(end, "example", end))


@numpy_function(np.eye, np.identity, creates=True)
def eye(tracer: TracerLike, N: Any, M: Any = None, k: int = 0, dtype: Any = float) -> Any:
    shape = [tracer.extent_of(n) for n in (N, N if M is None else M)]
    is_near = type(k) is int and abs(k) < NARROW
    place = place_type(tracer, *shape) if is_near else I64
    row, column = (coordinate(tracer, e, 1 - d, place) for d, e in enumerate(shape))
    return (column - row == k).astype(dtype)


@numpy_function(np.meshgrid, arrays=("xi",))
def meshgrid(*xi: Any, copy: bool = True, sparse: bool = False, indexing: str = "xy") -> Any:
    """
    Raises:
        UnsupportedError: ``indexing`` is neither xy nor ij.
    """
    if indexing not in ("xy", "ij"):
        raise UnsupportedError(f"meshgrid: indexing={indexing!r}: expected xy or ij")
    count = len(xi)
    places = list(range(count))
    if indexing == "xy" and count > 1:
        places[:2] = [1, 0]
    apart = [
        x.reshape(-1)[tuple(slice(None) if d == place else None for d in range(count))]
        for x, place in zip(xi, places, strict=True)
    ]
    if not copy:
        return apart if sparse else np.broadcast_arrays(*apart)
    return tuple(map(np.copy, apart)) if sparse else spread_over_each_other(apart)


def _triangle(m: Any, k: int, is_lower: bool) -> Any:
    if not m.ndim:
        raise ShapeError("triangle: expected an array of at least 1 dimension")
    tracer, shape = m.tracer, m.value.shape
    dtype = place_type(tracer, *shape[-2:])
    # of a vector NumPy makes a square matrix, whose rows are the vector
    row = coordinate(tracer, shape[-2:][0], 1, dtype)
    column = coordinate(tracer, shape[-1], 0, dtype)
    outside = is_below(row + k, column) if is_lower else is_below(column, row + k)
    return np.where(~outside, m, m.dtype.type(0))


numpy_function(np.tril)(lambda m, k=0: _triangle(m, k, is_lower=True))
numpy_function(np.triu)(lambda m, k=0: _triangle(m, k, is_lower=False))


@numpy_function(np.diag)
def diag(v: Any, k: int = 0) -> Any:
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ShapeError(f"diag: expected 1 or 2 dimensions, found {v.ndim}")
    tracer, k = v.tracer, index(v.tracer.concrete(k))
    extent = tracer.extent_of(v.shape[0] + abs(k))
    dtype = place_type(tracer, extent)
    row, column = (coordinate(tracer, extent, trailing, dtype) for trailing in (1, 0))
    on_it = (column - row) == dtype.numpy.type(k)
    first = row if k >= 0 else column
    return np.where(on_it, moved(v, {0: first}, dtype), v.dtype.type(0))


numpy_function(np.diagflat)(lambda v, k=0: diag(v.reshape(-1), k))

# Most columns of a Vandermonde matrix: each is a line of code.
MOST_POWERS = 32


@numpy_function(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    """Columns of powers; each is the one before times ``x``.

    Raises:
        ShapeError: ``x`` is not a vector.
        UnsupportedError: no columns, or more than ``MOST_POWERS``.
    """
    if x.ndim != 1:
        raise ShapeError("vander: expected a vector")
    count = len(x) if N is None else index(x.tracer.concrete(N))
    if not 1 <= count <= MOST_POWERS:
        raise UnsupportedError(f"vander: {count} columns, expected 1 to {MOST_POWERS}")
    base = x.astype(np.promote_types(x.dtype, int))
    powers = [np.ones_like(base)]
    for number in range(1, count):
        powers.append(powers[-1] * base if number > 1 else base)
    return np.stack(powers if increasing else powers[::-1], axis=1)
