"""Basic indexing of traced arrays: integers, slices, new axes and the ellipsis, as views."""

from __future__ import annotations

from collections.abc import Iterator
from operator import index
from typing import Any, cast

import numpy as np

from opweave.compiler.arrays.counted import is_of_round, part_of_round, with_bands
from opweave.compiler.arrays.gathering import by_arrays, place_of, takes_arrays
from opweave.compiler.arrays.interface import TracedArrayLike
from opweave.compiler.arrays.interleaving import fix_columns
from opweave.compiler.arrays.traced_operators import is_traced_array
from opweave.compiler.ir.expr import Expr, literal
from opweave.opcodes import OPERATORS
from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import (
    BoundsError,
    OpweaveError,
    ShapeError,
    TraceError,
    UnsupportedError,
)

# Beyond every index: what an open end of a slice that runs backwards stands for.
FAR = 1 << 62
# A loop over the rows of an array becomes so many copies of its body at most.
MOST_UNROLLED = 1024


def indexed(array: TracedArrayLike, key: Any) -> TracedArrayLike:
    """``array[key]`` as a view.

    Raises:
        BoundsError: too many indices, or one that has no element.
        UnsupportedError: an index that is a mask.
        TraceError: an index that is none.
    """
    items = expanded(array, key)
    is_scalar = not (key is ... or (isinstance(key, tuple) and any(i is ... for i in key)))
    if takes_arrays(items):
        view = _viewed(array, [slice(None) if _picks(i) else i for i in items], is_scalar=False)
        found = by_arrays(view, [i if _picks(i) else slice(None) for i in items])
        if found.ndim and all(_is_number(array, i) for i in items if _picks(i)):
            if not array.tracer.selects:
                raise UnsupportedError("a view at a place that is computed")
            array.tracer.copies(array, found)  # numbers pick a view, arrays a copy
        return found
    if (named := with_bands(array, items)) is not None:
        whole = [slice(None) if is_of_round(i) else i for i in named]
        rest = [i for i in named if is_of_round(i) or i is None or isinstance(i, slice)]
        rest = [i if is_of_round(i) else slice(None) for i in rest]
        return part_of_round(_viewed(array, whole, is_scalar=False), rest)
    made = _viewed(array, items, is_scalar=is_scalar)
    if made.ndim and any(isinstance(item, np.ndarray) for item in items):
        return cast("TracedArrayLike", array.tracer.apply(OPERATORS["copy"], [made]))
    return made


def expanded(array: TracedArrayLike, key: Any) -> list[Any]:
    """An index with one item for each axis, and None for new ones.

    Raises:
        BoundsError: too many of them, or more than one ellipsis.
        UnsupportedError: a truth value, which is a mask without an axis.
    """
    items = list(key) if isinstance(key, tuple) else [key]
    if any(map(_is_truth, items)):
        raise UnsupportedError("indexing by bool: expected integers, slices, None and ...")
    places = [n for n, item in enumerate(items) if item is ...]
    if len(places) > 1:
        raise BoundsError("an index can have one ellipsis")
    missing = array.ndim - sum(item is not None and item is not ... for item in items)
    if missing < 0:
        raise BoundsError(
            f"too many indices: {array.ndim - missing} for an array of {array.ndim} dimensions"
        )
    at = places[0] if places else len(items)
    items[at : at + 1] = [slice(None)] * missing
    return items


def _viewed(array: TracedArrayLike, items: list[Any], *, is_scalar: bool) -> TracedArrayLike:
    tracer, value = array.tracer, array.value
    axes: list[int | None] = []
    axis = 0
    for item in items:
        if item is None:
            axes.append(None)
            continue
        found = bounds(array, item, axis)
        if found is not None:
            start, step, length = found
            value = tracer.builder.sliced(value, axis, start, step, length, tracer.where())
        if isinstance(item, slice):
            axes.append(axis)
        axis += 1
    is_scalar = is_scalar and not axes  # of an array without dimensions, too
    made = array.of(value)
    if is_scalar:
        return tracer.hidden_view(made, ())
    if tuple(axes) != tuple(range(array.ndim)):
        made = tracer.apply(OPERATORS["view"], [made], {"axes": tuple(axes)})
    if not axes and tracer.is_number(array.value):
        return cast("TracedArrayLike", tracer.apply(OPERATORS["copy"], [made]))  # an array again
    tracer.relate(array, made)
    return made


def _is_truth(item: Any) -> bool:
    is_one = getattr(item, "dtype", None) == np.bool_ and not getattr(item, "ndim", 0)
    return isinstance(item, bool) or is_one


def _is_number(array: TracedArrayLike, item: Any) -> bool:
    """True for an index that is one place of an axis, and to NumPy no array."""
    if is_traced_array(item):
        return array.tracer.is_number(item.value)
    return not isinstance(item, list | np.ndarray)


def _picks(item: Any) -> bool:
    """True for an item that takes single places of an axis, no slice of it."""
    return item is not None and not isinstance(item, slice)


def bounds(array: TracedArrayLike, item: Any, axis: int) -> tuple[Expr, int, Any] | None:
    """First index, step and number of indices; None for all of them."""
    builder = array.tracer.builder
    if _is_written(item):
        fix_columns(axis, array)
    extent = builder.extent_expr(array.value.shape[axis])
    if not isinstance(item, slice):
        return _one(array, item, axis)
    step = 1 if item.step is None else _number(array, item.step)
    if step == 0:
        raise ShapeError("the step of a slice is 0")
    ends = (literal(0), extent) if step > 0 else (literal(FAR), literal(-FAR))
    start, stop = (
        default if end is None else _end(array, end)
        for end, default in zip((item.start, item.stop), ends, strict=True)
    )
    if (start, stop, step) == (*ends, 1):
        return None
    bounds = (extent, start, stop, literal(step))
    length = builder.derive(Expr("slice_length", bounds))
    return Expr("slice_start", bounds), step, length


def _is_written(item: Any) -> bool:
    """Whether an index is of numbers in the function's text."""
    if isinstance(item, slice):
        return any(type(end) is int for end in (item.start, item.stop, item.step))
    return type(item) is int


def _one(array: TracedArrayLike, item: Any, axis: int) -> tuple[Expr, int, Any]:
    return place_of(array.tracer, _number(array, item), axis, array.value.shape[axis]), 1, 1


def _end(array: TracedArrayLike, item: Any) -> Expr:
    """An end of a slice: an expression of extents, or a number that is part of the guard."""
    expr = getattr(item, "expr", None)
    if isinstance(expr, Expr) and all(leaf.op != "argument" for leaf in expr.leaves()):
        _number(array, item.example)
        return expr
    return literal(_number(array, item))


def _number(array: TracedArrayLike, item: Any) -> int:
    try:
        return index(array.tracer.concrete(item))
    except OpweaveError:
        raise
    except Exception:
        raise TraceError(
            f"an index must be an integer, a slice, None or ..., found {shown(item)}"
        ) from None


def rows(array: TracedArrayLike) -> Iterator[TracedArrayLike]:
    """The rows of an array, whose number becomes part of the guard.

    Raises:
        TraceError: more rows than a loop is unrolled for.
    """
    count = length(array)
    if count > MOST_UNROLLED:
        raise TraceError(
            f"iteration over {count} rows: expected at most {MOST_UNROLLED}, since each becomes "
            "code of its own; express the loop as array operations"
        )
    return iter(Rows(array, count))


class Rows:
    """A sequence of rows; Python makes the same iterator of it as of an array."""

    __opweave_stands__ = True

    def __init__(self, array: TracedArrayLike, count: int):
        self._found = array
        self.count = count

    def __getitem__(self, number: int) -> TracedArrayLike:
        if number >= self.count:
            raise IndexError(number)
        row: TracedArrayLike = self._found[number]
        return row


def length(array: TracedArrayLike) -> int:
    """``len(array)``; the number becomes part of the guard."""
    if not array.ndim:
        kind = array.__class__
        is_number = issubclass(kind, np.generic)
        named = f"object of type 'numpy.{kind.__name__}' has no len()"
        raise TypeError(named if is_number else "len() of unsized object")
    return index(array.tracer.concrete(array.shape[0]))
