"""The whole array that an assignment to some elements leaves behind."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from opweave.compiler.arrays.gathering import (
    checked,
    coordinate,
    gathered,
    is_below,
    is_picked,
    is_place,
    picked,
    place_type,
)
from opweave.compiler.arrays.indexing import bounds, expanded
from opweave.compiler.arrays.interface import TracedArrayLike
from opweave.compiler.arrays.interleaving import column_of_rows, fix_columns, is_lent, of_shape
from opweave.compiler.arrays.lifting import as_stored
from opweave.compiler.arrays.reshaping import agree, number_of
from opweave.compiler.arrays.traced_operators import is_traced_array
from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.ir.values import Extent
from opweave.opcodes import OPERATORS
from opweave.opcodes.dtypes import DType
from opweave.opcodes.errors import BoundsError, ShapeError, UnsupportedError

if TYPE_CHECKING:
    from opweave.compiler.ir.builder import GraphBuilder


class Along(NamedTuple):
    """Of a dimension of a part of an array: its place in the array, and its extent.

    Attributes:
        axis: the array's axis, if the part has all of it.
    """

    place: Any
    extent: Extent
    axis: int | None = None


def replaced(target: TracedArrayLike, key: Any, value: Any) -> Any:
    """An array in which the elements at some places are replaced."""
    tracer, dtype = target.tracer, target.value.dtype
    if (masked := mask_of(target, key)) is not None:
        mask, behind = masked
        _check_mask(target, mask, target.ndim - mask.ndim - behind)
        return np.where(along_rows(mask, behind), as_stored(tracer, value, dtype), target)
    items = expanded(target, key)
    if (column := column_of_rows(target, items)) is not None:
        rows, number = column
        return of_shape(replaced(rows, (..., number), value), target.value.shape)
    inside: list[Any] = []
    along: list[Along] = []
    axes = iter(range(target.ndim))
    for item in items:
        if item is None:
            along.append(Along(tracer.scalar(literal(0)), 1))
            continue
        tests, place = _part_along(target, next(axes), item)
        inside += tests
        along += place
    has_new = any(item is None for item in items)
    if not inside and not has_new and is_traced_array(value) and _is_alike(target, value):
        return as_stored(tracer, value, dtype).copy()
    return pasted(target, inside, placed(target, value, along), dtype)


def mask_of(array: Any, key: Any) -> tuple[Any, int] | None:
    """A mask beside nothing but whole dimensions, and how many of these stand behind it.

    x[m], x[m, :], x[:, m] and x[..., m] have one; shapes are not compared.
    """
    items = list(key) if isinstance(key, tuple) else [key]
    found = [n for n, item in enumerate(items) if getattr(item, "dtype", None) == np.bool_]
    if len(found) != 1 or not 0 < (mask := items[found[0]]).ndim <= array.ndim:
        return None
    before, behind = items[: found[0]], items[found[0] + 1 :]
    dots = sum(item is ... for item in (*before, *behind))
    whole = sum(isinstance(item, slice) and item == slice(None) for item in (*before, *behind))
    rest = array.ndim - mask.ndim - whole
    if dots + whole < len(items) - 1 or dots > 1 or rest < 0:
        return None
    in_front = any(item is ... for item in before)
    return mask, len(behind) if in_front else array.ndim - mask.ndim - len(before)


def along_rows(mask: Any, behind: int) -> Any:
    """A mask of some dimensions of an array, for all of those behind them."""
    return mask[(..., *[None] * behind)] if behind else mask


def _is_alike(target: TracedArrayLike, value: TracedArrayLike) -> bool:
    """Whether a value has the extents of the whole target."""
    builder = target.tracer.builder
    pairs = zip(target.value.shape, value.value.shape, strict=False)
    examples = [(builder.example(a), builder.example(b)) for a, b in pairs]
    if target.ndim != value.ndim or any(a != b for a, b in examples):
        return False  # it is broadcast, or does not fit
    return agree(builder, target.value.shape, value.value.shape)


def _part_along(target: TracedArrayLike, axis: int, item: Any) -> tuple[list[Any], list[Along]]:
    """Of one axis: what holds inside of a part, and the part's dimension there, if it has one."""
    if isinstance(item, int) and not is_lent(target):
        fix_columns(axis, target)
    if is_place(item):
        _nonempty(target)
        c, extent, _ = places_along(target, axis)
        return [c == checked(target.tracer, item, extent)], []
    if is_picked(item):
        c, extent, _ = places_along(target, axis)
        place, at = picked(target.tracer, item, axis, extent)
        typed = Expr(f"np.{c.dtype.name}", (place,))  # of the places' own type
        return [c == target.tracer.computed(typed, c.dtype.type(at))], []
    found = bounds(target, item, axis)
    if found is None:
        return [], [places_along(target, axis)]
    tests, along = _steps_along(target, axis, found)
    return tests, [along] if isinstance(item, slice) else []


def places_along(target: TracedArrayLike, axis: int) -> Along:
    """The places along one axis of an array, and its extent."""
    tracer, shape = target.tracer, target.value.shape
    dtype = place_type(tracer, *shape)
    place = coordinate(tracer, shape[axis], target.ndim - 1 - axis, dtype)
    return Along(place, shape[axis], axis)


def _steps_along(
    target: TracedArrayLike, axis: int, part: tuple[Expr, int, Any]
) -> tuple[list[Any], Along]:
    """Likewise, of a part that begins somewhere, goes on in steps, and has a length."""
    tracer, (start, step, length) = target.tracer, part
    c = places_along(target, axis).place
    zero = c.dtype.type(0)
    i = c - tracer.scalar(start)
    if length == 1:
        is_number = start.op == "literal"
        test = c == c.dtype.type(start.args[0]) if is_number else i == zero
        return [test], Along(tracer.scalar(literal(0)), 1)
    if step == 1:
        return [~is_below(i, 0) & is_below(i, tracer.extent(length))], Along(i, length)
    # what is read between the steps is discarded, by the first test
    number = tracer.apply(OPERATORS["whole_quotient"], [i, c.dtype.type(step)])
    in_step = [number * c.dtype.type(step) == i] if step != -1 else []
    inside = ~is_below(number, 0) & is_below(number, tracer.extent(length))
    return [*in_step, inside], Along(number, length)


def replaced_along(
    target: TracedArrayLike, axis: int, part: tuple[Expr, int, Any], value: TracedArrayLike
) -> Any:
    """An array in which a part along one axis is replaced: its start, step and length."""
    inside, along = _steps_along(target, axis, part)
    rest = [along if d == axis else places_along(target, d) for d in range(target.ndim)]
    places = [place for place, *_ in rest]
    return pasted(target, inside, gathered(value, places), target.value.dtype)


def _nonempty(target: TracedArrayLike) -> None:
    """Check that elements are written, since only then the places are checked.

    Raises:
        UnsupportedError: no elements are written.
    """
    if target.tracer.builder.is_empty(target.value.shape):
        raise UnsupportedError("assignment to elements of an empty array")


def _check_mask(target: TracedArrayLike, mask: Any, first: int) -> None:
    """
    Args:
        first: the axis of the target that the mask begins with.

    Raises:
        BoundsError: extents differ; a mask does not broadcast.
        UnsupportedError: a mask without elements, which NumPy accepts for any array.
    """
    tracer = target.tracer
    for axis, extents in enumerate(zip(target.shape[first:], mask.shape, strict=False), first):
        have, given = (number_of(tracer, extent) for extent in extents)
        if have != given and not tracer.builder.require(Expr("eq", (have, given))):
            if tracer.builder.require(Expr("eq", (given, literal(0)))):
                raise UnsupportedError("assignment by a mask without elements")
            raise BoundsError(
                f"assignment by a mask: {int(extents[1])} elements along axis {axis} of size "
                f"{int(extents[0])}; a mask has the shape of what it selects from"
            )


def pasted(target: TracedArrayLike, inside: Sequence[Any], value: Any, dtype: DType) -> Any:
    typed = as_stored(target.tracer, value, dtype)
    if inside:
        return np.where(reduce(np.logical_and, inside), typed, target)
    if not is_traced_array(typed):
        return np.full_like(target, typed)
    return np.broadcast_to(typed, target.shape).copy()


def placed(target: TracedArrayLike, value: Any, along: Sequence[Along]) -> Any:
    """An array that is assigned to a part, placed in an array as large as the target.

    Raises:
        ShapeError: it does not broadcast to the part.
    """
    tracer = target.tracer
    if not is_traced_array(value):
        if getattr(value, "ndim", 0):
            value = tracer.wrapped(tracer.constant(value))
        elif isinstance(value, list | tuple):
            raise UnsupportedError("assignment to elements: expected an array or a number")
        else:
            return value
    shape = value.value.shape
    extra = len(shape) - len(along)
    if any(e != 1 for e in shape[: max(extra, 0)]):
        raise ShapeError(f"assignment to elements: an array of {len(shape)} dimensions")
    if extra > 0:
        value = tracer.hidden_view(value, tuple(range(extra, len(shape))))
        shape = shape[extra:]
    if all(e == 1 for e in shape):
        return tracer.hidden_view(value, ())
    behind = along[len(along) - len(shape) :]
    for own, part in zip(shape, behind, strict=True):
        _check_fits(tracer.builder, own, part)
    long = [(d, part.axis) for d, part in enumerate(behind) if shape[d] != 1]
    whole = {axis: d for d, axis in long if axis is not None}
    if len(whole) == len(long):  # of whole axes: it is broadcast, and no place is computed
        axes = tuple(map(whole.get, range(min(whole), target.ndim)))
        return tracer.hidden_view(value, axes)
    first = tracer.scalar(literal(0))
    return gathered(
        value, [first if e == 1 else p.place for e, p in zip(shape, behind, strict=True)]
    )


def _check_fits(builder: GraphBuilder, own: Extent, part: Along) -> None:
    """Check an extent, which is that of a whole axis from now on.

    Raises:
        ShapeError: it is neither 1 nor that of the part.
    """
    if own == 1 or builder.find(own) == builder.find(part.extent):
        return
    same = Expr("eq", (builder.extent_expr(own), builder.extent_expr(part.extent)))
    if not builder.require(same):
        have, expected = builder.example(own), builder.example(part.extent)
        raise ShapeError(f"assignment to elements: {have} elements do not fit {expected}")
    if part.axis is not None:
        builder.unite(builder.find(part.extent), builder.find(own))
