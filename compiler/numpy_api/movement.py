"""NumPy's functions that move elements about, on traced arrays: each reads at computed places.

A handler has the NumPy function's own signature, as far as opweave compiles it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import accumulate
from operator import index
from typing import Any

import numpy as np

from opweave.compiler.arrays.gathering import coordinate, is_below, moved, place_type
from opweave.compiler.arrays.interface import TracedArrayLike, TracerLike
from opweave.compiler.arrays.reshaping import counted_axis
from opweave.compiler.arrays.traced_operators import is_traced_number
from opweave.compiler.ir.expr import Expr
from opweave.compiler.ir.values import Extent
from opweave.compiler.numpy_api.registry import numpy_function
from opweave.opcodes import dtypes
from opweave.opcodes.dtypes import I32, I64, DType
from opweave.opcodes.errors import DTypeError, ShapeError, UnsupportedError


def _along(array: TracedArrayLike, axis: int, extent: Any) -> tuple[Any, DType]:
    """Coordinates of a result that has another extent along an axis, and their type."""
    tracer = array.tracer
    made = tracer.extent_of(extent)
    dtype = place_type(tracer, *array.value.shape, made)
    return coordinate(tracer, made, array.ndim - 1 - axis, dtype), dtype


@numpy_function(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None:
        flat = a.reshape(-1)
        return roll(flat, shift, 0).reshape(a.shape)
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    shifts = shift if isinstance(shift, tuple | list) else (shift,)
    if len(shifts) != len(axes) and 1 not in (len(shifts), len(axes)):
        raise ShapeError(f"roll: {len(shifts)} shifts for {len(axes)} axes")
    count = max(len(shifts), len(axes))
    total: dict[int, Any] = {}
    for by, one in zip(_as_many(shifts, count), _as_many(axes, count), strict=True):
        found = counted_axis("roll", one, a.ndim)
        total[found] = total.get(found, 0) + by
    dtype = place_type(a.tracer, *a.value.shape)
    places: dict[int, Any] = {}
    for d, by in sorted(total.items()):
        n = a.shape[d]
        by = by % at_least_one(n)
        c, _ = _along(a, d, n)
        if d == a.ndim - 1:  # two runs of consecutive places
            upper = moved(a, {**places, d: c - by + n}, dtype)
            return np.where(is_below(c, by), upper, moved(a, {**places, d: c - by}, dtype))
        places[d] = np.where(is_below(c, by), c - by + n, c - by)
    return moved(a, places, dtype)


def _as_many(items: Sequence[Any], count: int) -> Sequence[Any]:
    return items if len(items) == count else tuple(items) * count


def at_least_one(extent: Any) -> Any:
    return extent.__opweave_scalar__("max", 1) if is_traced_number(extent) else max(extent, 1)


@numpy_function(
    np.concatenate, each=True,
    like=lambda arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind": 0,
)  # fmt: skip
def concatenate(
    arrays: Any, axis: Any = 0, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """
    Raises:
        ShapeError: ranks or extents differ.
        DTypeError: a type that they cannot be converted to.
    """
    if dtype is not None:
        arrays = [_cast("concatenate", a, dtype, casting) for a in arrays]
    if axis is None:
        return concatenate([a.reshape(-1) for a in arrays], 0)
    first, tracer = arrays[0], arrays[0].tracer
    if not all(a.ndim for a in arrays):
        raise ShapeError("concatenate: zero-dimensional arrays cannot be joined; stack them")
    axis = counted_axis("concatenate", axis, first.ndim)
    if len({a.ndim for a in arrays}) > 1:
        ranks = " and ".join(str(a.ndim) for a in arrays)
        raise ShapeError(f"concatenate: arrays must have same number of dimensions, found {ranks}")
    for other in arrays[1:]:
        _meet(tracer, first, other, axis)
    ends = list(accumulate(a.shape[axis] for a in arrays))
    c, dtype = _along(first, axis, ends[-1])
    made: Any = moved(first, {axis: c}, dtype)
    for start, a in zip(ends, arrays[1:], strict=False):
        made = np.where(is_below(c, start), made, moved(a, {axis: c - start}, dtype, like=first))
    return made


def _cast(name: str, array: Any, dtype: Any, casting: Any) -> Any:
    if not np.can_cast(array.dtype, dtype, casting):
        raise DTypeError(f"{name}: cannot store {array.dtype} in {dtype} by casting={casting!r}")
    return array.astype(dtype)


def _meet(tracer: TracerLike, first: Any, other: Any, axis: int) -> None:
    """Extents off an axis are equal, here and at each later call.

    Raises:
        ShapeError: they are not.
    """
    builder = tracer.builder
    for d, (a, b) in enumerate(zip(first.value.shape, other.value.shape, strict=True)):
        same = Expr("eq", (builder.extent_expr(a), builder.extent_expr(b)))
        if d != axis and builder.find(a) != builder.find(b) and not builder.require(same):
            shapes = [tuple(map(builder.example, x.value.shape)) for x in (first, other)]
            raise ShapeError(
                f"concatenate: extents along axis {d} differ: {shapes[0]} and {shapes[1]}"
            )


@numpy_function(np.stack, each=True)
def stack(arrays: Any, axis: Any = 0) -> Any:
    rank = arrays[0].ndim + 1
    axis = counted_axis("stack", axis, rank)
    axes = (*range(axis), None, *range(axis, rank - 1))
    tracer = arrays[0].tracer
    for other in arrays[1:]:
        if other.ndim != rank - 1:
            raise ShapeError("stack: expected arrays of one shape")
        _meet(tracer, arrays[0], other, -1)
    views = [tracer.hidden_view(a, axes) for a in arrays]
    c = coordinate(tracer, len(views), rank - 1 - axis, I32)
    at = [c == np.int32(place) for place in range(len(views))]
    if len(views) == 1:
        return views[0].copy()
    common = np.result_type(*(a.dtype for a in arrays))
    views = [v.astype(common) for v in views]
    parts = list(enumerate(views))[-2::-1]
    return reduce(lambda rest, part: np.where(at[part[0]], part[1], rest), parts, views[-1])


def _joined(axis: int, new_axis: int) -> Callable[..., Any]:
    """``vstack`` and its kin: arrays joined along an axis.

    ``new_axis`` is where a vector gets another axis; -1 where it stays one.
    """

    def handler(tup: Any, **options: Any) -> Any:
        made = []
        for a in tup:
            if not a.ndim:
                a = a.reshape(*[1] * (1 if new_axis < 0 else 2))
            elif a.ndim == 1 and new_axis >= 0:
                a = a.tracer.hidden_view(a, (None, 0) if new_axis == 0 else (0, None))
            made.append(a)
        return concatenate(made, min(axis, made[0].ndim - 1), **options)

    return handler


numpy_function(np.vstack, each=True)(_joined(0, new_axis=0))
numpy_function(np.hstack, each=True)(_joined(1, new_axis=-1))
numpy_function(np.column_stack, each=True)(_joined(1, new_axis=1))


def _pad_widths(width: Any, rank: int) -> list[tuple[int, int]]:
    pairs = np.broadcast_to(np.asarray(width), (rank, 2))
    if pairs.dtype.kind not in "iu" or pairs.min(initial=0) < 0:
        raise UnsupportedError("pad: expected widths of at least 0")
    return [(int(a), int(b)) for a, b in pairs]


# Copies of a row that are joined; of more, each element looks for its place.
MOST_JOINED = 4
# Places of a padded axis inside of it: of a place, the extent, and its period.
MIRRORS: dict[str, Any] = {
    "edge": lambda i, n: np.clip(i, 0, n - 1),
    "wrap": lambda i, n: i % n,
    "reflect": lambda i, n: _mirrored(i % at_least_one(2 * n - 2), n, 2 * n - 2),
    "symmetric": lambda i, n: _mirrored(i % (2 * n), n, 2 * n - 1),
}


def _mirrored(i: Any, n: Any, last: Any) -> Any:
    return np.where(is_below(i, n), i, last - i)


@numpy_function(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", *, constant_values: Any = 0) -> Any:
    if mode not in ("constant", *MIRRORS) or isinstance(pad_width, dict):
        raise UnsupportedError(f"pad: mode={mode!r}")
    if type(constant_values) not in (int, float, bool) and not isinstance(
        constant_values, np.generic
    ):
        raise UnsupportedError("pad: expected one number for constant_values")
    tracer = array.tracer
    widths = _pad_widths(pad_width, array.ndim)
    places: dict[int, Any] = {}
    outside = []
    dtype = place_type(tracer, *array.value.shape)
    for d, (before, after) in enumerate(widths):
        if not before and not after:
            continue
        n = array.shape[d]
        c, _ = _along(array, d, n + (before + after))
        i = c - before
        if mode == "constant":
            outside.append(is_below(i, 0) | ~is_below(i, n))
        else:
            _nonempty(tracer, array.value.shape[d])
            i = MIRRORS[mode](i, n)
        places[d] = i
    made = moved(array, places, dtype)
    if not outside:
        return made
    with tracer.errors():
        fill = np.asarray(constant_values).astype(array.dtype)[()]
    return np.where(reduce(np.logical_or, outside), fill, made)


def _nonempty(tracer: TracerLike, extent: Extent) -> None:
    if tracer.builder.is_empty([extent]):
        raise ShapeError("pad: an empty axis has no elements to repeat")


@numpy_function(np.repeat, np.ndarray.repeat, counted=("axis",), flat=True)
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    times = _number("repeat", a, repeats)
    c, dtype = _along(a, axis, a.shape[axis] * times)
    return moved(a, {axis: c // max(times, 1)}, dtype)


def _number(name: str, a: Any, item: Any) -> int:
    if getattr(item, "ndim", 0) or isinstance(item, list | tuple):
        raise UnsupportedError(f"{name}: expected one number")
    return index(a.tracer.concrete(item))


@numpy_function(np.tile)
def tile(A: Any, reps: Any) -> Any:
    counts = list(reps) if isinstance(reps, tuple | list) else [reps]
    rank = max(A.ndim, len(counts))
    counts = [1] * (rank - len(counts)) + [_number("tile", A, c) for c in counts]
    if rank > A.ndim:
        A = A.tracer.hidden_view(A, (*[None] * (rank - A.ndim), *range(A.ndim)))
    if counts and 1 < counts[-1] <= MOST_JOINED:  # runs of memory, where a remainder is none
        A = concatenate([A] * counts[-1], -1)
        counts[-1] = 1
    places: dict[int, Any] = {}
    dtype = place_type(A.tracer, *A.value.shape)
    for d, times in enumerate(counts):
        if times != 1:
            c, _ = _along(A, d, A.shape[d] * times)
            places[d] = c % at_least_one(A.shape[d])
    return moved(A, places, dtype)


def _triangle(m: Any, k: int, is_lower: bool) -> Any:
    if not m.ndim:
        raise ShapeError("triangle: expected an array of at least 1 dimension")
    tracer, shape = m.tracer, m.value.shape
    dtype = place_type(tracer, *shape[-2:])
    row = coordinate(tracer, shape[-2:][0], 1, dtype)  # of a vector each row is that
    column = coordinate(tracer, shape[-1], 0, dtype)
    outside = is_below(row + k, column) if is_lower else is_below(column, row + k)
    return np.where(~outside, m, m.dtype.type(0))


numpy_function(np.tril)(lambda m, k=0: _triangle(m, k, is_lower=True))
numpy_function(np.triu)(lambda m, k=0: _triangle(m, k, is_lower=False))


def arange(tracer: TracerLike, *args: Any, dtype: Any = None) -> Any:
    """Whole numbers from a start in steps, where an end is traced; None for other numbers."""
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


def _picked(a: Any, axis: Any, keepdims: bool, name: str) -> Any:
    """The first place of what the reduction ``name`` finds; NaN comes before all."""
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
