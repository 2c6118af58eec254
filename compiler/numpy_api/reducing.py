"""Reductions of traced arrays under NumPy's signatures, with ``where=`` and ``initial=``."""

from __future__ import annotations

from collections.abc import Callable
from operator import index
from typing import Any

import numpy as np

from opweave.compiler.arrays.complexes import is_complex, squared_size
from opweave.compiler.arrays.lifting import lifted
from opweave.compiler.arrays.reshaping import counted_axes
from opweave.compiler.arrays.traced_operators import is_traced
from opweave.compiler.numpy_api.registry import numpy_function
from opweave.compiler.numpy_api.signatures import NONE
from opweave.opcodes import OPERATORS, dtypes, rules
from opweave.opcodes.allowed import shown
from opweave.opcodes.core import Operator
from opweave.opcodes.errors import OpweaveError, ShapeError, UnsupportedError


def apply(operator: Operator, *operands: Any, **attrs: Any) -> Any:
    """Apply an operator through the first operand that is traced."""
    for operand in operands:
        if is_traced(operand):
            return operand.__opweave_apply__(operator, operands, attrs)
    raise UnsupportedError(f"{operator.name}: no operand is traced")


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


def _statistic(operator: Operator) -> Callable[..., Any]:
    def handler(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        axis = axis_of(operator.name, axis)
        return apply(operator, a, axis=axis, keepdims=bool(keepdims))

    return handler


def _extremum(name: str, pair: Callable[..., Any]) -> Callable[..., Any]:
    plain = _statistic(OPERATORS[name])

    def handler(
        a: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = None,
        where: Any = True,
    ) -> Any:  # fmt: skip
        if initial is None:
            if where is not True:
                raise UnsupportedError(f"{name}(where=...): give initial= too, as for NumPy")
            return plain(a, axis, keepdims=keepdims)
        initial = _of_type(a.dtype, initial)
        if is_empty(a, axis):
            nothing = np.any(a, axis=axis, keepdims=keepdims)
            return np.full_like(nothing, initial, dtype=a.dtype)[... if nothing.ndim else ()]
        chosen = a if where is True else np.where(_mask(where, a), a, initial)
        return pair(plain(chosen, axis, keepdims=keepdims), initial)

    return handler


def _mask(where: Any, a: Any) -> Any:
    """Which elements are meant, of no more than there are.

    Raises:
        ShapeError: it does not broadcast to the array.
    """
    shape = getattr(where, "shape", ())
    same = len(shape) == a.ndim and all(bool(m == n) for m, n in zip(shape, a.shape, strict=True))
    return where if same or not shape else np.broadcast_to(lifted(a.tracer, where), a.shape)


def _of_type(dtype: Any, initial: Any) -> Any:
    """What a reduction begins with, in the type that it computes in."""
    if is_traced(initial):
        return lifted(initial.tracer, initial).astype(dtype)
    if type(initial) is int and dtype.kind in "iu":
        return dtype.type(initial)  # refused where it does not fit, as by NumPy
    return np.asarray(initial).astype(dtype)[()]


def is_empty(a: Any, axis: Any) -> bool:
    """Whether a reduction meets no elements, which is part of the guard."""
    axes = counted_axes("axis", axis_of("reduction", axis), a.ndim)
    extents = [a.value.shape[d] for d in axes]
    empty: bool = a.tracer.builder.is_empty(extents)
    return empty


def _decision(name: str) -> Callable[..., Any]:
    plain = _statistic(OPERATORS[name])

    def handler(a: Any, axis: Any = None, *, keepdims: bool = False, where: Any = True) -> Any:
        if where is not True:
            chosen = _mask(where, a)
            is_all = name == "all"
            a = np.logical_or(a, np.logical_not(chosen)) if is_all else np.logical_and(a, chosen)
        return plain(a, axis, keepdims=keepdims)

    return handler


@numpy_function(np.mean, np.ndarray.mean)
def _mean(
    a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, where: Any = True
) -> Any:
    if dtype is not None and dtypes.of(dtype).kind in "iu":
        return _whole_mean(a, axis_of("mean", axis), dtype, keepdims, where)
    a = _in_type("mean", a, dtype)
    if where is True:
        return _statistic(OPERATORS["mean"])(a, axis, keepdims=keepdims)
    axis = axis_of("mean", axis)
    narrow = dtypes.of(a.dtype).round != ""
    wide = a.astype(np.float32) if narrow else a if a.dtype.kind in "fc" else a.astype(float)
    total = np.where(_mask(where, a), wide, 0).sum(axis=axis, keepdims=keepdims)
    count = np.broadcast_to(where, a.shape).sum(axis=axis, keepdims=keepdims)
    found = (total / count).astype(wide.dtype)
    return found.astype(a.dtype) if narrow else found


def _whole_mean(a: Any, axis: Any, dtype: Any, keepdims: bool, where: Any) -> Any:
    """The sum in a type of integers, and what a division of it leaves there, as by NumPy."""
    total = a.sum(axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    chosen = np.broadcast_to(where, a.shape) if where is not True else np.full_like(a, True, bool)
    return (total / chosen.sum(axis=axis, keepdims=keepdims)).astype(total.dtype)


def _in_type(name: str, a: Any, dtype: Any) -> Any:
    """An array in the float type that a statistic is asked to be computed in."""
    if dtype is None:
        return a
    if not dtypes.of(dtype).is_float:
        raise UnsupportedError(f"{name}: dtype={shown(dtype)}: expected a float type")
    return a.astype(dtype)


def _summation(operator: Operator, pair: Callable[..., Any]) -> Callable[..., Any]:
    neutral = {"sum": 0, "prod": 1}[operator.name]

    def handler(
        a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False,
        initial: Any = NONE, where: Any = True,
    ) -> Any:  # fmt: skip
        axis = axis_of(operator.name, axis)
        if initial is None and is_empty(a, axis):
            raise ShapeError(f"{operator.name}: initial=None of an axis without elements")
        if initial is None and where is not True:
            raise ShapeError(f"{operator.name}: where= asks for a number as initial=")
        name = None if dtype is None else dtype_name(dtype)
        chosen = a if where is True else np.where(_mask(where, a), a, a.dtype.type(neutral))
        found = apply(operator, chosen, axis=axis, keepdims=bool(keepdims), dtype=name)
        begins = initial is not NONE and initial is not None
        return pair(found, _of_type(found.dtype, initial)) if begins else found

    return handler


def _spread(operator: Operator) -> Callable[..., Any]:
    def handler(
        a: Any, axis: Any = None, dtype: Any = None, *, ddof: int = 0, keepdims: bool = False,
        where: Any = True, mean: Any = None, correction: Any = None,
    ) -> Any:  # fmt: skip
        axis, ddof = axis_of(operator.name, axis), ddof if correction is None else correction
        a = _in_type(operator.name, a, dtype)
        if where is True and mean is None:
            return apply(operator, a, axis=axis, keepdims=bool(keepdims), ddof=ddof)
        found = _variance(a, axis, ddof, bool(keepdims), where, mean)
        found = np.sqrt(found) if operator.name == "std" else found
        return found.astype(a.dtype) if dtypes.of(a.dtype).is_float else found

    return handler


def _variance(a: Any, axis: Any, ddof: Any, keepdims: bool, where: Any, mean: Any) -> Any:
    """About a mean that is given, or of the elements that are chosen."""
    narrow = dtypes.of(a.dtype).round != ""
    wide = a.astype(np.float32) if narrow else a if a.dtype.kind in "fc" else a.astype(float)
    middle = _mean(wide, axis, keepdims=True, where=where) if mean is None else mean
    squares = squared_size(wide - middle)
    chosen = (
        np.full_like(a, True, dtype=bool) if where is True else np.broadcast_to(where, a.shape)
    )
    total = np.where(chosen, squares, 0).sum(axis=axis, keepdims=keepdims)
    count = chosen.sum(axis=axis, keepdims=keepdims)
    return (total / np.maximum(count - ddof, 0)).astype(squares.dtype)


def has_nan(a: Any) -> bool:
    """Whether there is a NaN of the array's type."""
    return dtypes.of(a.dtype).is_float or is_complex(a)


def without_nan(a: Any, fill: float) -> Any:
    """An array with a number in the place of each NaN."""
    return np.where(np.isnan(a), fill, a) if has_nan(a) else a


def dtype_name(dtype: Any) -> str:
    """NumPy's name of a dtype, however it is given."""
    return dtypes.of(dtype).numpy_name


numpy_function(np.sum, np.ndarray.sum, reduces=np.add)(_summation(OPERATORS["sum"], np.add))
numpy_function(np.prod, np.ndarray.prod, reduces=np.multiply)(
    _summation(OPERATORS["prod"], np.multiply)
)
numpy_function(np.max, np.amax, np.ndarray.max, reduces=np.maximum)(_extremum("max", np.maximum))
numpy_function(np.min, np.amin, np.ndarray.min, reduces=np.minimum)(_extremum("min", np.minimum))
for name, ufunc in (("any", np.logical_or), ("all", np.logical_and)):
    handler = numpy_function(getattr(np, name), reduces=ufunc)(_decision(name))
    numpy_function(
        getattr(np.ndarray, name),
        like=lambda self, axis=None, dtype=None, out=None, keepdims=False, *, where=True: 0,
    )(handler)
for name in ("var", "std"):
    handler = numpy_function(getattr(np, name))(_spread(OPERATORS[name]))
    numpy_function(
        getattr(np.ndarray, name),
        like=lambda self, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True,
        mean=None: 0,
    )(handler)  # fmt: skip


@numpy_function(reduces=np.logaddexp)
def _logaddexp_reduce(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    if is_empty(a, axis):
        raise UnsupportedError("logaddexp.reduce: of an empty axis")
    wide = a.astype(rules.float_of(dtypes.of(a.dtype)).numpy)
    return apply(OPERATORS["logsumexp"], wide, axis=axis, keepdims=bool(keepdims))
