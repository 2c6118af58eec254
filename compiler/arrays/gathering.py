"""Reading traced arrays at computed places, for index arrays and for moving elements."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from operator import index
from typing import Any, cast

import numpy as np

from opweave.compiler.arrays.interface import TracedArrayLike, TracerLike
from opweave.compiler.arrays.traced_operators import is_traced, is_traced_array, is_traced_number
from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.ir.values import Extent
from opweave.opcodes import OPERATORS
from opweave.opcodes.allowed import shown
from opweave.opcodes.dtypes import I32, I64, DType
from opweave.opcodes.errors import BoundsError, UnsupportedError
from opweave.opcodes.operators.gathers import MOST_AXES

# Extents below which places are computed in 32 bits; the sum of two of them fits, too.
NARROW = 1 << 30


def place_type(tracer: TracerLike, *extents: Extent) -> DType:
    """The integer that places along axes of these extents are computed in; part of the guard."""
    builder = tracer.builder
    exprs = [builder.extent_expr(e) for e in extents if not isinstance(e, int)]
    narrow = [builder.require(Expr("lt", (e, literal(NARROW)))) for e in exprs]
    return I32 if all(narrow) and all(e < NARROW for e in extents if type(e) is int) else I64


def coordinate(tracer: TracerLike, extent: Extent, trailing: int, dtype: DType) -> Any:
    """Places along an axis that stands ``trailing`` dimensions before the last."""
    shape = (extent, *[1] * trailing)
    return tracer.wrapped(tracer.builder.coordinate(shape, dtype, tracer.where()))


def gathered(array: TracedArrayLike, places: Sequence[Any]) -> TracedArrayLike:
    """The elements at places along each axis, which nothing checks.

    Raises:
        UnsupportedError: more axes than a kernel takes.
    """
    if array.ndim > MOST_AXES:
        raise UnsupportedError(f"places in an array of {array.ndim} dimensions")
    found: TracedArrayLike = array.tracer.apply(
        OPERATORS[f"gather_{array.ndim}d"], [array, *places]
    )
    return found


def gathered_inside(vector: TracedArrayLike, places: Any) -> TracedArrayLike:
    """The elements of a vector at places that it has, as whoever calls this knows."""
    found: TracedArrayLike = vector.tracer.apply(OPERATORS["gather_inside"], [vector, places])
    return found


def moved(
    array: TracedArrayLike,
    places: Mapping[int, Any],
    dtype: DType,
    like: TracedArrayLike | None = None,
) -> TracedArrayLike:
    """The elements at other places along some axes.

    Args:
        places: for an axis its places, of a shape that ends as ``coordinate`` has it.
        like: another array, whose other extents are the same.
    """
    tracer, rank = array.tracer, array.ndim
    if not rank:
        return cast("TracedArrayLike", tracer.apply(OPERATORS["copy"], [array]))
    whole = [
        places[d] if d in places else coordinate(tracer, e, rank - 1 - d, dtype)
        for d, e in enumerate((array if like is None else like).value.shape)
    ]
    return gathered(array, whole)


def is_below(places: Any, end: Any) -> Any:
    """Where a place comes before another, compared in the type of the places."""
    return places - end < places.dtype.type(0)


def checked(tracer: TracerLike, places: Any, extent: Extent) -> Any:
    """Indices as places: negative ones are counted from the end, and all are checked.

    A kernel notes an index that has no element, and the call raises ``BoundsError``.  On a GPU
    such indices wrap, as CuPy's do.
    """
    if are_all_inside(tracer, places, extent):
        return places.astype(np.int32)
    return tracer.apply(OPERATORS["index"], [places, tracer.extent(extent)])


def are_all_inside(tracer: TracerLike, places: Any, extent: Extent) -> bool:
    """Whether an axis has an element for each number of the type of indices; part of the guard."""
    dtype = places.dtype
    if dtype.kind != "u" or dtype.itemsize > 2:
        return False
    last = literal(int(np.iinfo(dtype).max))
    return tracer.builder.require(Expr("lt", (last, tracer.builder.extent_expr(extent))))


def takes_arrays(items: Sequence[Any]) -> bool:
    """True where an item of an index is an array, a list, or a traced place."""
    return has_arrays(items) or any(map(is_place, items))


def has_arrays(items: Sequence[Any]) -> bool:
    """True where an item of an index is an array or a list: of numbers, or a mask."""
    return any(isinstance(item, list) or getattr(item, "ndim", 0) for item in items)


def is_place(item: Any) -> bool:
    """True for a traced integer without dimensions, which indexes as a number does."""
    return is_traced_array(item) and getattr(item, "ndim", 1) == 0 and item.dtype.kind in "iu"


def indices_of(array: TracedArrayLike, item: Any) -> Any:
    """An item of an index as a traced array of integers, or as a number.

    Raises:
        UnsupportedError: a mask, which decides how many elements the result has.
    """
    if isinstance(item, list):
        item = np.asarray(item) if item else np.zeros(0, np.int64)
    if is_place(item) or is_counted(item):
        return item
    if not getattr(item, "ndim", 0):
        return array.tracer.concrete(item)
    if not is_traced(item):
        item = array.tracer.wrapped(array.tracer.indices(item))
    if item.dtype.kind == "b":
        raise UnsupportedError("indexing by a mask; select by np.where")
    if item.dtype.kind not in "iu":
        raise BoundsError(f"an index array must be of integers, found {item.dtype}")
    return item


def by_arrays(array: TracedArrayLike, items: Sequence[Any]) -> TracedArrayLike:
    """``array[items]`` for whole slices, numbers and arrays of integers, one for each axis.

    The axes of the arrays' common shape stand where the arrays stand; they come first if other
    items stand between the arrays.

    Raises:
        BoundsError: a number that has no element on its axis.
    """
    tracer, shape = array.tracer, array.value.shape
    given = {d: indices_of(array, i) for d, i in enumerate(items) if not isinstance(i, slice)}
    apart = any(b - a > 1 for a, b in pairwise(given))
    first = 0 if apart else min(given)
    inner = max(getattr(g, "ndim", 0) for g in given.values())
    kept = [d for d in range(array.ndim) if d not in given]
    traced = [d for d in given if is_traced_array(given[d])]
    check = checked
    if traced and tracer.builder.is_empty([shape[d] for d in kept]):
        for d in traced:  # here, since no element is read, which would check them
            checked(tracer, given[d], shape[d])
        check = _unchecked
    behind = [d for d in kept if d >= first] if not apart else kept
    dtype = place_type(tracer, *(shape[d] for d in kept))
    places: list[Any] = []
    for d, extent in enumerate(shape):
        if d in given:
            places.append(_placed(tracer, given[d], d, extent, len(behind), check))
        else:
            after = sum(e > d for e in kept) + (inner if d not in behind else 0)
            places.append(coordinate(tracer, extent, after, dtype))
    if array.ndim == 1 and traced and are_all_inside(tracer, given[0], shape[0]):
        return gathered_inside(array, places[0])
    return gathered(array, places)


def place_of(tracer: TracerLike, number: int, axis: int, extent: Extent) -> Expr:
    """A number as a place along an axis, counted from its end where negative.

    Raises:
        BoundsError: the axis has no such place.
    """
    builder = tracer.builder
    size = builder.extent_expr(extent)
    place = literal(number) if number >= 0 else Expr("add", (size, literal(number)))
    inside = (Expr("ge", (place, literal(0))), Expr("lt", (place, size)))
    holds = [builder.require(condition) for condition in inside]  # each is part of the guard
    if not all(holds):
        found = builder.example(builder.find(extent))
        raise BoundsError(_outside(number, axis, found))
    return place


def is_picked(item: Any) -> bool:
    """True for an integer that may differ from call to call: it is no part of the guard."""
    return is_traced_number(item) and (
        type(item.example) is int or isinstance(item.example, np.integer)
    )


def is_counted(item: Any) -> bool:
    """True for such an integer that differs from round to round of ``ow.repeat``."""
    return is_picked(item) and any(
        leaf.op == "argument" and leaf.args[0] in item.tracer.counted
        for leaf in item.expr.leaves()
    )


def picked(tracer: TracerLike, item: Any, axis: int, extent: Extent) -> tuple[Expr, int]:
    """Such a number as a place along an axis; on which side it counts is part of the guard.

    Returns:
        The place, and which one it is in this call.

    Raises:
        BoundsError: the axis has no such place.
    """
    size, length = tracer.builder.extent_expr(extent), tracer.builder.example(extent)
    number, zero = index(item.example), literal(0)
    place, at = item.expr, number
    if tracer.decide(Expr("lt", (place, zero)), number < 0):
        place, at = Expr("add", (size, place)), length + number
        inside = tracer.decide(Expr("ge", (place, zero)), at >= 0)
    else:
        inside = tracer.decide(Expr("lt", (place, size)), at < length)
    if not inside:
        raise BoundsError(_outside(number, axis, length))
    return place, at


def _outside(number: int, axis: int, length: int) -> str:
    return f"index {shown(number)} is out of bounds for axis {axis} of size {length}"


def _unchecked(tracer: TracerLike, places: Any, extent: Extent) -> Any:
    return places


def _placed(
    tracer: TracerLike, given: Any, axis: int, extent: Extent, trailing: int,
    check: Callable[..., Any],
) -> Any:  # fmt: skip
    """Indices as places, with as many dimensions behind as the result has."""
    if is_place(given):
        return check(tracer, given, extent)
    if is_counted(given):
        place, at = picked(tracer, given, axis, extent)
        return tracer.computed(place, at)
    if not getattr(given, "ndim", 0):
        return tracer.scalar(place_of(tracer, index(given), axis, extent))
    if trailing:
        axes = (*range(given.ndim), *[None] * trailing)
        given = tracer.hidden_view(given, axes)
    return check(tracer, given, extent)
