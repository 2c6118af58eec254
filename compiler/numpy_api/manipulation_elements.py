"""Elements moved, repeated, inserted and deleted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from operator import index
from typing import Any

import numpy as np

from opweave.compiler.arrays.gathering import coordinate, gathered, is_below, moved, place_type
from opweave.compiler.arrays.indexing import bounds
from opweave.compiler.arrays.integers import integer
from opweave.compiler.arrays.interleaving import fix_columns
from opweave.compiler.arrays.lifting import lifted
from opweave.compiler.arrays.reshaping import counted_axes, counted_axis
from opweave.compiler.arrays.traced_operators import is_traced
from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.numpy_api.common import along, at_least_one, coordinates_along
from opweave.compiler.numpy_api.manipulation_joining import concatenate
from opweave.compiler.numpy_api.registry import numpy_function
from opweave.opcodes.errors import BoundsError, ShapeError, UnsupportedError


@numpy_function(np.flip, unboxed=True)
def flip(m: Any, axis: Any = None) -> Any:
    axes = counted_axes("flip", axis, m.ndim)
    return reduce(lambda a, d: a[along(d, step=-1)], axes, m)


numpy_function(np.flipud)(lambda m: np.flip(m, 0))
numpy_function(np.fliplr)(lambda m: np.flip(m, 1))


@numpy_function(np.roll)
def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    if axis is None:
        flat = a.reshape(-1)
        return roll(flat, shift, 0).reshape(a.shape)
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    shifts = shift if isinstance(shift, tuple | list) else (shift,)
    if len(shifts) != len(axes) and 1 not in (len(shifts), len(axes)):
        raise ShapeError(f"roll: {len(shifts)} shifts for {len(axes)} axes")
    if any(getattr(by, "ndim", 0) for by in shifts):
        raise UnsupportedError("roll: expected numbers as shifts, found an array")
    count = max(len(shifts), len(axes))
    total: dict[int, Any] = {}
    each = (items if len(items) == count else [*items] * count for items in (shifts, axes))
    for by, one in zip(*each, strict=True):
        found = counted_axis("roll", one, a.ndim)
        total[found] = total.get(found, 0) + by
    dtype = place_type(a.tracer, *a.value.shape)
    places: dict[int, Any] = {}
    for d, by in sorted(total.items()):
        fix_columns(d, a)
        n = a.shape[d]
        by = by % at_least_one(n)
        c, _ = coordinates_along(a, d, n)
        if d == a.ndim - 1:  # along it the kernel reads two runs of consecutive elements
            upper = moved(a, {**places, d: c - by + n}, dtype)
            return np.where(is_below(c, by), upper, moved(a, {**places, d: c - by}, dtype))
        places[d] = np.where(is_below(c, by), c - by + n, c - by)
    return moved(a, places, dtype)


def _centred(name: str, sign: int) -> Callable[..., Any]:
    """Halves of axes exchanged: ``sign`` 1 moves the first element to the middle, -1 back."""

    def handler(x: Any, axes: Any = None) -> Any:
        found = counted_axes(name, tuple(axes) if isinstance(axes, list) else axes, x.ndim)
        return np.roll(x, tuple(sign * (x.shape[d] // 2) for d in found), found)

    return handler


numpy_function(np.fft.fftshift)(_centred("fftshift", 1))
numpy_function(np.fft.ifftshift)(_centred("ifftshift", -1))


@numpy_function(np.rot90)
def rot90(m: Any, k: int = 1, axes: Sequence[int] = (0, 1)) -> Any:
    """``k`` quarters of a turn from the first axis towards the second.

    Raises:
        ShapeError: ``axes`` are not two different axes.
    """
    pair = counted_axes("rot90", tuple(axes), m.ndim)
    if len(pair) != 2 or pair[0] == pair[1]:
        raise ShapeError(f"rot90: expected two axes, found {tuple(axes)}")
    turns = k % 4
    if turns == 0:
        return m[:]
    if turns == 2:
        return np.flip(m, pair)
    if turns == 1:
        return np.swapaxes(np.flip(m, pair[1]), *pair)
    return np.flip(np.swapaxes(m, *pair), pair[1])


# Up to so many copies of a row are joined; for more of them each place is a remainder.
MOST_JOINED = 4


@numpy_function(np.repeat, np.ndarray.repeat, counted=("axis",), flat=True)
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    times = _number("repeat", a, repeats)
    fix_columns(axis, a)
    c, dtype = coordinates_along(a, axis, a.shape[axis] * times)
    return moved(a, {axis: c // max(times, 1)}, dtype)


@numpy_function(np.lib.stride_tricks.sliding_window_view)
def sliding_window_view(
    x: Any, window_shape: Any, axis: Any = None, *, subok: bool = False, writeable: bool = False
) -> Any:
    """Windows that start at each place where they fit; elements that windows share are read anew.

    Raises:
        UnsupportedError: a view that can be written to; an axis that stands twice.
        ShapeError: a window for each axis is not there, or one is longer than the array.
    """
    if writeable:
        raise UnsupportedError("sliding_window_view: writeable=True")
    given = window_shape if isinstance(window_shape, tuple | list) else (window_shape,)
    windows = [integer(x.tracer.concrete(w), "sliding_window_view: a window") for w in given]
    axes = range(x.ndim) if axis is None else counted_axes("sliding_window_view", axis, x.ndim)
    if len(windows) != len(axes) or len({*axes}) < len(axes):
        raise UnsupportedError(f"sliding_window_view: {len(windows)} windows of {len(axes)} axes")
    starts, width = dict(zip(axes, windows, strict=True)), len(windows)
    if any(w < 0 or x.shape[d] < w for d, w in starts.items()):
        raise ShapeError("sliding_window_view: window shape cannot be larger than input array")
    counts = list(x.value.shape)
    for d, w in starts.items():
        counts[d] = x.tracer.extent_of(x.shape[d] - w + 1)
    dtype, rank = place_type(x.tracer, *x.value.shape), x.ndim + width
    places = [coordinate(x.tracer, n, rank - 1 - d, dtype) for d, n in enumerate(counts)]
    for n, (d, w) in enumerate(starts.items()):
        places[d] = places[d] + coordinate(x.tracer, w, width - 1 - n, dtype)

    def of(array: Any, _: Any) -> Any:
        return np.lib.stride_tricks.sliding_window_view(array, tuple(windows), tuple(axes))

    return x.tracer.lock(x.tracer.alias(x, gathered(x, places), of))


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
    if counts and 1 < counts[-1] <= MOST_JOINED:  # reads memory in runs, unlike a remainder
        A = concatenate([A] * counts[-1], -1)
        counts[-1] = 1
    places: dict[int, Any] = {}
    dtype = place_type(A.tracer, *A.value.shape)
    for d, times in enumerate(counts):
        if times != 1:
            c, _ = coordinates_along(A, d, A.shape[d] * times)
            places[d] = c % at_least_one(A.shape[d])
    return moved(A, places, dtype)


@numpy_function(np.resize)
def resize(a: Any, new_shape: Any) -> Any:
    """The elements, repeated until the shape is full; zeros if there are no elements."""
    shape = new_shape if isinstance(new_shape, tuple | list) else (new_shape,)
    flat, total = a.reshape(-1), reduce(lambda m, n: n * m, shape, 1)
    tracer, builder = a.tracer, a.tracer.builder
    made = tracer.extent_of(total)
    sizes = [builder.extent_expr(extent) for extent in (flat.value.shape[0], made)]
    has_some = [builder.require(Expr("gt", (size, literal(0)))) for size in sizes]
    if not all(has_some):
        return np.zeros_like(a, shape=tuple(shape))
    dtype = place_type(tracer, flat.value.shape[0], made)
    place = coordinate(tracer, made, 0, dtype) % flat.shape[0]
    return moved(flat, {0: place}, dtype).reshape(tuple(shape))


# Most places where something is inserted or deleted: each is a part to be joined.
MOST_PLACES = 16


def _place(name: str, arr: Any, axis: int, place: Any, beyond: int) -> Any:
    """A place along an axis, counted from its start.

    ``beyond`` is 1 if the end of the axis is a place, too.

    Raises:
        BoundsError: the axis has no such place.
    """
    extent, builder = arr.value.shape[axis], arr.tracer.builder
    size, number = builder.extent_expr(extent), index(place)
    found = literal(number) if number >= 0 else Expr("add", (size, literal(number)))
    limits = (
        Expr("ge", (found, literal(0))),
        Expr("lt", (found, Expr("add", (size, literal(beyond))))),
    )
    holds = [builder.require(condition) for condition in limits]  # each is part of the guard
    if not all(holds):
        raise BoundsError(
            f"{name}: index {number} is out of bounds for axis {axis} of size "
            f"{builder.example(builder.find(extent))}"
        )
    return number if number >= 0 else arr.shape[axis] + number


def _places(name: str, arr: Any, axis: int, obj: Any, beyond: int) -> list[Any]:
    """Places along an axis that are numbers of the function's own.

    Raises:
        UnsupportedError: traced places, a mask, more than ``MOST_PLACES``, or several of which
            some are counted from the end.
    """
    given = np.asarray(obj) if isinstance(obj, list | tuple) else obj
    if is_traced(given) or getattr(given, "dtype", np.dtype(int)).kind not in "iu":
        raise UnsupportedError(f"{name}: expected places as numbers")
    numbers = given.tolist() if isinstance(given, np.ndarray) else given
    if not isinstance(numbers, list):
        return [_place(name, arr, axis, numbers, beyond)]
    if not 1 <= len(numbers) <= MOST_PLACES or (min(numbers) < 0 and len(numbers) > 1):
        raise UnsupportedError(
            f"{name}: expected up to {MOST_PLACES} places, counted from the start, found {numbers}"
        )
    return [_place(name, arr, axis, number, beyond) for number in numbers]


@numpy_function(np.delete, counted=("axis",), flat=True)
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """The parts between the places that are deleted, joined.

    Raises:
        UnsupportedError: places that ``_places`` refuses; a slice in other steps than 1.
    """
    if isinstance(obj, slice):
        found = bounds(arr, obj, axis)
        if found is None or found[1] != 1:
            raise UnsupportedError("delete: expected a slice of step 1")
        start, length = arr.tracer.scalar(found[0]), arr.tracer.extent(found[2])
        parts = [arr[along(axis, None, start)], arr[along(axis, start + length)]]
        return concatenate(parts, axis)
    places = sorted(set(_places("delete", arr, axis, obj, 0)), key=_example)
    pairs = zip([None, *(place + 1 for place in places)], [*places, None], strict=True)
    return concatenate([arr[along(axis, *ends)] for ends in pairs], axis)


def _example(number: Any) -> int:
    return int(getattr(number, "example", number))


@numpy_function(np.insert, counted=("axis",), flat=True)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """The parts between the places, joined with the values that are inserted there.

    Raises:
        UnsupportedError: places that ``_places`` refuses.
    """
    places = _places("insert", arr, axis, obj, 1)
    values = lifted(arr.tracer, values).astype(arr.dtype)
    if len(places) == 1:
        while values.ndim < arr.ndim:
            values = values[None]
        if not getattr(obj, "ndim", isinstance(obj, list | tuple)):
            values = np.moveaxis(values, 0, axis)
        shape = (*arr.shape[:axis], values.shape[axis], *arr.shape[axis + 1 :])
        new = [np.broadcast_to(values, shape)]
    else:
        shape = (*arr.shape[:axis], len(places), *arr.shape[axis + 1 :])
        whole = np.broadcast_to(values, shape)
        new = [whole[along(axis, n, n + 1)] for n in range(len(places))]
    order = sorted(range(len(places)), key=lambda n: _example(places[n]))
    parts, begin = [], None
    for n in order:
        parts += [arr[along(axis, begin, places[n])], new[n]]
        begin = places[n]
    return concatenate([*parts, arr[along(axis, begin)]], axis)
