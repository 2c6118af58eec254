"""What handlers of several chapters use."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np

from opweave.compiler.arrays.complexes import is_complex
from opweave.compiler.arrays.gathering import coordinate, place_type
from opweave.compiler.arrays.interface import TracedArrayLike
from opweave.compiler.arrays.lifting import lifted
from opweave.compiler.arrays.reshaping import counted_axes
from opweave.compiler.arrays.traced_operators import is_traced, is_traced_number
from opweave.opcodes import OPERATORS, dtypes
from opweave.opcodes.allowed import shown
from opweave.opcodes.core import Operator
from opweave.opcodes.dtypes import DType
from opweave.opcodes.errors import OpweaveError, ShapeError, UnsupportedError


def apply(operator: Operator, *operands: Any, **attrs: Any) -> Any:
    """Apply an operator through the first operand that is traced."""
    for operand in operands:
        if is_traced(operand):
            return operand.__opweave_apply__(operator, operands, attrs)
    raise UnsupportedError(f"{operator.name}: no operand is traced")


def dtype_name(dtype: Any) -> str:
    """NumPy's name of a dtype, however it is given."""
    return dtypes.of(dtype).numpy_name


def has_nan(a: Any) -> bool:
    """Whether there is a NaN of the array's type."""
    return dtypes.of(a.dtype).is_float or is_complex(a)


def without_nan(a: Any, fill: float) -> Any:
    """An array with a number in the place of each NaN."""
    return np.where(np.isnan(a), fill, a) if has_nan(a) else a


def axis_of(name: str, axis: Any) -> int | tuple[int, ...] | None:
    """The axes of a reduction as plain numbers.

    Raises:
        ShapeError: no integers.
        UnsupportedError: none at all.
    """
    if axis is None:
        return None
    given = axis if isinstance(axis, tuple) else (axis,)
    if not given:
        raise UnsupportedError(f"{name}: axis=() reduces nothing; leave the call out")
    try:
        found = tuple(map(index, given))
    except OpweaveError:
        raise
    except Exception:  # also what an __index__ of the user's own raises
        raise ShapeError(
            f"{name}: axis must be an integer, a tuple of integers or None, found {shown(axis)}"
        ) from None
    return found if len(found) > 1 else found[0]


def is_empty(a: Any, axis: Any) -> bool:
    """Whether a reduction meets no elements, which is part of the guard."""
    axes = counted_axes("axis", axis_of("reduction", axis), a.ndim)
    extents = [a.value.shape[d] for d in axes]
    empty: bool = a.tracer.builder.is_empty(extents)
    return empty


def reduced(name: str, a: Any, axis: Any, keepdims: Any, **attrs: Any) -> Any:
    """A reduction along some axes."""
    axis = axis_of(name, axis)
    return apply(OPERATORS[name], a, axis=axis, keepdims=bool(keepdims), **attrs)


def mask_of(where: Any, a: Any) -> Any:
    """Which elements are meant, of no more than there are.

    Raises:
        ShapeError: it does not broadcast to the array.
    """
    shape = getattr(where, "shape", ())
    same = len(shape) == a.ndim and all(bool(m == n) for m, n in zip(shape, a.shape, strict=True))
    return where if same or not shape else np.broadcast_to(lifted(a.tracer, where), a.shape)


def of_type(dtype: Any, initial: Any) -> Any:
    """What a reduction begins with, in the type that it computes in."""
    if is_traced(initial):
        return lifted(initial.tracer, initial).astype(dtype)
    if type(initial) is int and dtype.kind in "iu":
        return dtype.type(initial)  # refused where it does not fit, as by NumPy
    return np.asarray(initial).astype(dtype)[()]


def in_type(name: str, a: Any, dtype: Any) -> Any:
    """An array in the float type that a statistic is asked to be computed in."""
    if dtype is None:
        return a
    if not dtypes.of(dtype).is_float:
        raise UnsupportedError(f"{name}: dtype={shown(dtype)}: expected a float type")
    return a.astype(dtype)


def same_shape(first: Any, second: Any) -> bool:
    """Whether two arrays have one shape, which is part of the guard."""
    if first.ndim != second.ndim:
        return False
    return all(bool(m == n) for m, n in zip(first.shape, second.shape, strict=True))


def coordinates_along(array: TracedArrayLike, axis: int, extent: Any) -> tuple[Any, DType]:
    """Coordinates of a result that has another extent along an axis, and their type."""
    tracer = array.tracer
    made = tracer.extent_of(extent)
    dtype = place_type(tracer, *array.value.shape, made)
    return coordinate(tracer, made, array.ndim - 1 - axis, dtype), dtype


def at_least_one(extent: Any) -> Any:
    return extent.__opweave_scalar__("max", 1) if is_traced_number(extent) else max(extent, 1)


def part_along(axis: int, rank: int, part: slice) -> tuple[slice, ...]:
    """An index that takes a part along one axis."""
    whole = [slice(None)] * rank
    whole[axis] = part
    return tuple(whole)
