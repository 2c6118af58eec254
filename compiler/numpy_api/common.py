"""What handlers of several chapters use."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from opweave.compiler.arrays.complexes import is_complex
from opweave.compiler.arrays.gathering import coordinate, place_type
from opweave.compiler.arrays.integers import integer
from opweave.compiler.arrays.interface import TracedArrayLike
from opweave.compiler.arrays.lifting import lifted
from opweave.compiler.arrays.reshaping import counted_axes, product_of
from opweave.compiler.arrays.traced_operators import is_traced, is_traced_number
from opweave.compiler.ir.expr import Expr, literal
from opweave.opcodes import OPERATORS, dtypes, rules
from opweave.opcodes.allowed import shown
from opweave.opcodes.core import Operator, TypeRule
from opweave.opcodes.dtypes import DType
from opweave.opcodes.errors import UnsupportedError


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
    """Whether an array of this dtype can hold NaN."""
    return dtypes.of(a.dtype).is_float or is_complex(a)


def without_nan(a: Any, fill: float) -> Any:
    """An array with a number in the place of each NaN."""
    return np.where(np.isnan(a), fill, a) if has_nan(a) else a


def axis_of(name: str, axis: Any) -> int | tuple[int, ...] | None:
    """The axes of a reduction as plain numbers; None stands for all.

    Raises:
        IntegerError: not integers.
        UnsupportedError: an empty tuple.
    """
    if axis is None:
        return None
    given = axis if isinstance(axis, tuple) else (axis,)
    if not given:
        raise UnsupportedError(f"{name}: axis=() reduces nothing; leave the call out")
    found = tuple(integer(one, f"{name}: axis") for one in given)
    return found if len(found) > 1 else found[0]


def is_empty(a: Any, axis: Any) -> bool:
    """Whether a reduction meets no elements, which is part of the guard."""
    axes = counted_axes("axis", axis_of("reduction", axis), a.ndim)
    extents = [a.value.shape[d] for d in axes]
    empty: bool = a.tracer.builder.is_empty(extents)
    return empty


def check_count(name: str, a: Any, axis: Any, ddof: Any = 0) -> None:
    """
    Raises:
        UnsupportedError: there are too few elements, of which NumPy warns.
    """
    if not a.tracer.may_warn:
        return
    builder, axes = a.tracer.builder, counted_axes(name, axis_of(name, axis), a.ndim)
    count = product_of([builder.extent_expr(a.value.shape[d]) for d in axes])
    least = literal(ddof if type(ddof) in (int, float) else 0)
    if not builder.require(Expr("lt", (least, count))):
        raise UnsupportedError(f"{name} of too few elements, of which NumPy warns")


# Reductions that are maps of an axis of one element: how the type of their result follows.
OF_ONE: dict[str, TypeRule] = {
    "sum": rules.summation, "mean": rules.averaging, "prod": rules.summation, "max": rules.first,
    "min": rules.first, "any": rules.truth, "all": rules.truth,
}  # fmt: skip


def reduced(name: str, a: Any, axis: Any, keepdims: Any, **attrs: Any) -> Any:
    """A reduction along some axes."""
    axis = axis_of(name, axis)
    made = _of_one(name, a, axis, bool(keepdims), attrs)
    if made is not None:
        return made
    return apply(OPERATORS[name], a, axis=axis, keepdims=bool(keepdims), **attrs)


def _of_one(name: str, a: Any, axis: Any, keepdims: bool, attrs: Mapping[str, Any]) -> Any:
    """A reduction along axes of one element; None of others.

    A complex product with 1, and a quotient by it, have other infinities and NaN than the number.
    """
    axes = counted_axes(name, axis, a.ndim)
    if name not in OF_ONE or not 0 < len(axes) < a.ndim or len({*axes}) < len(axes):
        return None
    (to,) = OF_ONE[name]((a.value.dtype,), tuple(attrs.items()))[1]
    if to.is_complex or a.value.dtype.is_complex or any(a.value.shape[d] != 1 for d in axes):
        return None
    one = a if keepdims else np.squeeze(a, axes)
    made = one.astype(to.numpy)
    made = made + to.numpy.type(0) if name in ("sum", "mean") else made  # 0 of -0
    return made if keepdims else made.copy()


def mask_of(where: Any, a: Any) -> Any:
    """The mask of ``where=``: a number, or of the array's own shape.

    Raises:
        ShapeError: it does not broadcast to the array.
    """
    shape = getattr(where, "shape", ())
    is_whole = not shape or same_shape(where, a)
    return where if is_whole else np.broadcast_to(lifted(a.tracer, where), a.shape)


def of_type(dtype: Any, initial: Any) -> Any:
    """The ``initial=`` of a reduction, in the type in which it computes."""
    if is_traced(initial):
        return lifted(initial.tracer, initial).astype(dtype)
    if type(initial) is int and dtype.kind in "iu":
        return dtype.type(initial)  # refused where it does not fit, as by NumPy
    return np.asarray(initial).astype(dtype)[()]


def in_type(name: str, a: Any, dtype: Any) -> Any:
    """An array in the float type that ``dtype=`` asks for.

    Raises:
        UnsupportedError: another type.
    """
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
    """Coordinates along an axis of a result, whose extent is another there, and their type."""
    tracer = array.tracer
    made = tracer.extent_of(extent)
    dtype = place_type(tracer, *array.value.shape, made)
    return coordinate(tracer, made, array.ndim - 1 - axis, dtype), dtype


def at_least_one(extent: Any) -> Any:
    return extent.__opweave_scalar__("max", 1) if is_traced_number(extent) else max(extent, 1)


def along(axis: int, begin: Any = None, end: Any = None, step: Any = None) -> tuple[slice, ...]:
    """The index of a part along one axis, all of the others."""
    return (*[slice(None)] * axis, slice(begin, end, step))


def weak_kind(item: Any) -> Any:
    """What NumPy promotes by: the dtype of an array, or a number whose type gives way."""
    return getattr(item, "dtype", getattr(item, "example", item))
