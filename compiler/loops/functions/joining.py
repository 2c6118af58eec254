"""Arrays that a loop makes of others, of numbers and of places: NumPy's functions, by table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from typing import Any

import numpy as np

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.arithmetic import as_computed
from opweave.compiler.lines.numbers import literal
from opweave.compiler.lines.values import (
    Array,
    Elements,
    Held,
    Number,
    Several,
    Size,
    Strided,
    Unchanging,
)
from opweave.compiler.loops.statements import Statements
from opweave.opcodes import dtypes
from opweave.opcodes.dtypes import BOOL, C128, F64, I64, DType
from opweave.opcodes.errors import OpweaveError

NONE = Unchanging(None)
# What NumPy makes of a number of Python.
OF_PYTHON: Mapping[Any, DType] = {bool: BOOL, int: I64, float: F64, complex: C128}


def of_numpy(dtype: Any) -> DType:
    """NumPy's dtype as one of ours.

    Raises:
        NoLoopError: there is none.
    """
    try:
        return dtypes.of(dtype)
    except OpweaveError as error:
        raise NoLoopError(str(error)) from None


def with_axis(array: Array, place: int) -> Array:
    """An array with a new axis of one element at a place."""
    sizes = (*array.sizes[:place], Size.of(1), *array.sizes[place:])
    if isinstance(array, Strided):
        strides = (*array.strides[:place], "0", *array.strides[place:])
        return replace(array, sizes=sizes, strides=strides, where=None, is_whole=False)
    inner = array.element
    return replace(
        array,
        sizes=sizes,
        element=lambda places: inner((*places[:place], *places[place + 1 :])),
    )


def with_axes(array: Array, count: int) -> Array:
    """An array with new axes of one element behind its own."""
    for _ in range(count):
        array = with_axis(array, array.rank)
    return array


def joined(self: Statements, arrays: Sequence[Array], axis: int) -> Elements:
    """Arrays one behind the other along an axis, in memory of their own."""
    first = arrays[0]
    dtype = of_numpy(np.result_type(*(array.dtype.numpy for array in arrays)))
    rests = {(*a.sizes[:axis], *a.sizes[axis + 1 :]) for a in arrays}
    if len({a.rank for a in arrays}) > 1 or len(rests) > 1:
        raise NoLoopError("arrays of several shapes, to be joined")
    size = self.served.named(reduce(Size.plus, (array.sizes[axis] for array in arrays)))
    sizes = (*first.sizes[:axis], size, *first.sizes[axis + 1 :])
    made = self.view_in(self.room(), dtype, sizes)
    at = Size.of(0)
    for array in arrays:
        places = ["0"] * axis + [at.factor] + ["0"] * (made.rank - axis - 1)
        self.store(replace(made, pointer=made.at(places), sizes=array.sizes), array)
        at = at.plus(array.sizes[axis])
        self.lies_as(made.base, array)
    return self.copied(made)


def items_of(self: Statements, held: Held) -> list[Array]:
    """The arrays of a list or tuple."""
    if not isinstance(held, Several) or not held.items:
        raise NoLoopError("what is joined, and is no list of arrays")
    found = [as_array(self, item) for item in held.items]
    if not all(array.rank for array in found):
        raise NoLoopError("numbers among arrays that are joined")
    return found


def as_array(self: Statements, held: Held) -> Array:
    """An array, or what NumPy makes of a list of numbers and arrays."""
    if isinstance(held, Several):
        return _array(self, held)
    found = as_computed(held)
    if isinstance(found, Number):
        dtype = found.type if isinstance(found.type, DType) else OF_PYTHON[found.type]
        text = self.converted(found, dtype)
        return Elements(dtype, (), lambda places: text)
    return found


def _array(self: Statements, items: Several) -> Elements:
    """The array of a list: its items are numbers, or rows."""
    if not items.items:
        raise NoLoopError("an array of nothing")
    arrays = [as_array(self, item) for item in items.items]
    return joined(self, [with_axis(array, 0) for array in arrays], 0)


def axis_of(held: Held, rank: int) -> int:
    """An axis that is written out.

    Raises:
        NoLoopError: it changes, or there is none.
    """
    place = getattr(held, "known", None)
    if type(place) is not int or not -rank <= place < rank:
        raise NoLoopError("an axis that changes")
    return place % rank


ZERO = literal(0)


def _concatenate(self: Statements, arrays: Held, axis: Held = ZERO) -> Held:
    found = items_of(self, arrays)
    return joined(self, found, axis_of(axis, found[0].rank))


def _stack(self: Statements, arrays: Held, axis: Held = ZERO) -> Held:
    found = items_of(self, arrays)
    place = axis_of(axis, found[0].rank + 1)
    return joined(self, [with_axis(array, place) for array in found], place)


def _side_by_side(raised: int, flat: int, rows: int) -> Callable[..., Held]:
    """``np.vstack`` and the like: vectors get a new axis at ``raised`` (-1: none)."""

    def stack(self: Statements, arrays: Held) -> Held:
        found = items_of(self, arrays)
        of_vectors = found[0].rank == 1
        if raised >= 0:
            found = [with_axis(a, raised) if a.rank == 1 else a for a in found]
        return joined(self, found, flat if of_vectors else rows)

    return stack


def _append(self: Statements, array: Held, values: Held) -> Held:
    """``np.append`` of vectors and numbers."""
    found = [as_array(self, held) for held in (array, values)]
    found = [a if a.rank else with_axis(a, 0) for a in found]
    if any(a.rank != 1 for a in found):
        raise NoLoopError("append of other than vectors")
    return joined(self, found, 0)


def _outer(self: Statements, a: Held, b: Held) -> Held:
    """``np.outer``: of vectors."""
    x, y = as_computed(a), as_computed(b)
    if isinstance(x, Number) or isinstance(y, Number) or (x.rank, y.rank) != (1, 1):
        raise NoLoopError("outer of other than vectors")
    return self.apply("multiply", with_axes(x, 1), y)


JOINING: tuple[tuple[Any, Callable[..., Held]], ...] = (
    (np.concatenate, _concatenate),
    (np.stack, _stack),
    (np.vstack, _side_by_side(0, 0, 0)),
    (np.hstack, _side_by_side(-1, 0, 1)),
    (np.column_stack, _side_by_side(1, 1, 1)),
    (np.append, _append),
    (np.outer, _outer),
)
