"""Lists and arrays that are operands beside traced values, as traced arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from opweave.compiler.arrays.gathering import coordinate
from opweave.compiler.arrays.traced_operators import is_traced_array, is_traced_number
from opweave.compiler.ir.expr import Expr, literal
from opweave.opcodes import dtypes
from opweave.opcodes.allowed import is_number
from opweave.opcodes.dtypes import I32, DType
from opweave.opcodes.errors import ShapeError, UnsupportedError

# Items of a list that become code, at most.
MOST_ITEMS = 64


def arrays_in(item: Any) -> Iterator[Any]:
    """The traced arrays in an item: itself, or those of a list."""
    if is_traced_array(item):
        yield item
    elif isinstance(item, list | tuple):
        for part in item:
            yield from arrays_in(part)


def has_arrays(item: Any) -> bool:
    """True for a traced array, and for a list with one in it."""
    return next(arrays_in(item), None) is not None


def tracer_of(*items: Any) -> Any:
    """The tracer of the first traced array among some items and their lists."""
    return next(array.tracer for item in items for array in arrays_in(item))


def lists_lifted(tracer: Any, items: Sequence[Any]) -> tuple[Any, ...]:
    """Operands, of which lists are traced arrays; see ``lifted``."""
    return tuple(lifted(tracer, i) if isinstance(i, list | tuple | range) else i for i in items)


def lifted(tracer: Any, item: Any) -> Any:
    """What ``np.asarray`` makes of an item, as a traced array.

    Raises:
        UnsupportedError: it is no array of numbers, or a list of too many traced values.
        ShapeError: a list of arrays of different shapes.
    """
    if is_traced_array(item):
        return item
    if has_arrays(item):
        return _stacked([lifted(tracer, part) for part in item])
    if is_traced_number(item):
        kind = np.asarray(item.example).dtype
        if type(item.example) is int and kind != np.int64:
            return lifted(tracer, tracer.concrete(item))  # of a type that other integers have not
        dtype = dtypes.of(kind)
        return tracer.wrapped(tracer.builder.created(item.expr, dtype, (), tracer.where()))
    array = item if hasattr(item, "ndim") else np.asarray(tracer.concrete(item))
    if array.dtype.kind == "O":
        raise UnsupportedError(f"expected an array of numbers, found {type(item).__name__}")
    if array.ndim:
        return tracer.wrapped(tracer.constant(array))
    return tracer.copied(array)


def fits(tracer: Any, number: Any, dtype: DType) -> bool:
    """Whether a traced integer is one of a type's, which becomes part of the guard."""
    limits = np.iinfo(dtype.numpy)
    low, high = int(limits.min), int(limits.max)
    above = Expr("ge", (number.expr, literal(low)))
    below = Expr("le", (number.expr, literal(high)))
    found: bool = tracer.decide(Expr("and", (above, below)), low <= number.example <= high)
    return found


def _stacked(parts: list[Any]) -> Any:
    """Arrays of one shape along a new first axis."""
    if len(parts) > MOST_ITEMS:
        raise UnsupportedError(
            f"a list of {len(parts)} traced arrays: expected at most {MOST_ITEMS}"
        )
    first = parts[0]
    single = [[extent == 1 for extent in part.value.shape] for part in parts]
    if any(ones != single[0] for ones in single):
        raise ShapeError("a list of arrays of different shapes")
    place = coordinate(first.tracer, len(parts), first.ndim, I32)
    common = np.result_type(*(part.dtype for part in parts))
    found = one_of(place, [part.astype(common) for part in parts])
    return found if len(parts) > 1 else first.tracer.hidden_view(found, (None, *range(first.ndim)))


def one_of(number: Any, items: Sequence[Any]) -> Any:
    """The item at a place that is traced; where the list has no such place the last item."""
    made = items[-1]
    for place in reversed(range(len(items) - 1)):
        made = np.where(number == number.dtype.type(place), items[place], made)
    return made


def weak_or_lifted(tracer: Any, item: Any) -> Any:
    """A number as it is, so that its type is weak; anything else as a traced array."""
    return item if is_number(item) else lifted(tracer, item)


def _any_is_stored(tracer: Any, value: Any, dtype: DType) -> bool:
    """Whether a number is stored whatever it is, so that no guard has the value."""
    kind = type(value.example)
    if dtype.kind in "fc":
        return kind in (int, float)
    if kind is not int or dtype.kind not in "iu":
        return False
    return not tracer.catches or fits(tracer, value, dtype)


def as_stored(tracer: Any, value: Any, dtype: DType) -> Any:
    """A value as it is stored: NumPy casts whatever is assigned to elements."""
    if is_traced_array(value):
        return value if value.value.dtype is dtype else value.astype(dtype.numpy)
    if is_traced_number(value) and _any_is_stored(tracer, value, dtype):
        return tracer.wrapped(tracer.builder.created(value.expr, dtype, (), tracer.where()))
    plain = tracer.concrete(value)
    number = np.asarray(plain)
    if number.ndim or number.dtype.kind not in "biufc":
        raise UnsupportedError("assignment to elements: expected an array or a number")
    if number.dtype.kind == "c" and not dtype.is_complex:
        raise UnsupportedError(f"assignment to elements: a complex number into {dtype}")
    if type(plain) in (int, float) and dtype.kind in "iu":
        return dtype.numpy.type(int(plain))  # raises where it does not fit, as NumPy does
    with tracer.errors():
        stored = number.astype(dtype.numpy)[()]
    if dtype.kind in "iu" and np.trunc(number.real) != stored:
        raise UnsupportedError(f"assignment to elements: {number} into {dtype}; wrap it yourself")
    return stored
