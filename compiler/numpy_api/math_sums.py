"""Sums, products and differences, also cumulative ones."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.compiler.arrays.complexes import is_complex
from opweave.compiler.arrays.lifting import lifted
from opweave.compiler.arrays.reshaping import counted_axes, counted_axis, number_of
from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.numpy_api.common import (
    along,
    apply,
    axis_of,
    dtype_name,
    is_empty,
    mask_of,
    of_type,
    reduced,
    without_nan,
)
from opweave.compiler.numpy_api.registry import numpy_function
from opweave.compiler.numpy_api.signatures import NONE
from opweave.opcodes import OPERATORS, dtypes
from opweave.opcodes.allowed import is_number, shown
from opweave.opcodes.core import Operator
from opweave.opcodes.errors import ShapeError, UnsupportedError
from opweave.opcodes.operators.complexes import IMAG, JOIN, REAL


def _total(
    name: str, pair: np.ufunc, a: Any, axis: Any, dtype: Any, *,
    keepdims: bool = False, initial: Any = NONE, where: Any = True,
) -> Any:  # fmt: skip
    """A sum or a product; ``pair`` adds or multiplies ``initial=`` to it."""
    axis = axis_of(name, axis)
    if initial is None and is_empty(a, axis):
        raise ShapeError(f"{name}: initial=None of an axis without elements")
    if initial is None and where is not True:
        raise ShapeError(f"{name}: where= asks for a number as initial=")
    neutral = a.dtype.type(pair.identity)
    chosen = a if where is True else np.where(mask_of(where, a), a, neutral)
    dtype = None if dtype is None else dtype_name(dtype)
    found = reduced(name, chosen, axis, keepdims, dtype=dtype)
    begins = initial is not NONE and initial is not None
    return pair(found, of_type(found.dtype, initial)) if begins else found


@numpy_function(np.sum, np.ndarray.sum, reduces=np.add)
def sum_(a: Any, axis: Any = None, dtype: Any = None, **options: Any) -> Any:
    return _total("sum", np.add, a, axis, dtype, **options)


@numpy_function(np.prod, np.ndarray.prod, reduces=np.multiply)
def prod(a: Any, axis: Any = None, dtype: Any = None, **options: Any) -> Any:
    return _total("prod", np.multiply, a, axis, dtype, **options)


@numpy_function(np.nansum)
def nansum(a: Any, axis: Any = None, **options: Any) -> Any:
    return without_nan(a, 0).sum(axis=axis, **options)


@numpy_function(np.nanprod)
def nanprod(a: Any, axis: Any = None, **options: Any) -> Any:
    return without_nan(a, 1).prod(axis=axis, **options)


# The scan that the ``accumulate`` of a ufunc is.
ACCUMULATES: dict[np.ufunc, Operator] = {
    np.add: OPERATORS["cumsum"],
    np.multiply: OPERATORS["cumprod"],
    np.maximum: OPERATORS["cummax"],
    np.minimum: OPERATORS["cummin"],
    np.logical_or: OPERATORS["cumany"],
    np.logical_and: OPERATORS["cumall"],
}


def accumulated(operator: Operator, name: str, a: Any, axis: Any, dtype: Any = None) -> Any:
    """A cumulative sum, product, extreme or truth along one axis.

    Raises:
        AxisError: the array has no such axis.
        UnsupportedError: a dtype is given, and the operator takes none.
    """
    attrs: dict[str, Any] = {"axis": counted_axis(name, axis, a.ndim)}
    is_sum = operator.name == "cumsum"
    if is_sum and (is_complex(a) if dtype is None else dtypes.of(dtype).is_complex):
        # as by NumPy, real and imaginary parts are added up by themselves
        a = a if dtype is None else a.astype(dtype)
        return JOIN(*(apply(operator, part(a), **attrs, dtype=None) for part in (REAL, IMAG)))
    if "dtype" in dict(operator.attrs):
        attrs["dtype"] = None if dtype is None else dtype_name(dtype)
    elif dtype is not None:
        raise UnsupportedError(f"{name}: dtype= has no meaning here; convert with .astype(...)")
    return apply(operator, a, **attrs)


@numpy_function(np.cumsum, np.ndarray.cumsum, counted=("axis",), flat=True)
def cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return accumulated(OPERATORS["cumsum"], "cumsum", a, axis, dtype)


@numpy_function(np.cumprod, np.ndarray.cumprod, counted=("axis",), flat=True)
def cumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return accumulated(OPERATORS["cumprod"], "cumprod", a, axis, dtype)


@numpy_function(np.nancumsum)
def nancumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return np.cumsum(without_nan(a, 0), axis, dtype)


@numpy_function(np.nancumprod)
def nancumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return np.cumprod(without_nan(a, 1), axis, dtype)


def _cumulative(plain: Callable[..., Any]) -> Callable[..., Any]:
    """``np.cumulative_sum`` and the like: an array of several axes needs ``axis=``."""

    def handler(
        x: Any, /, *, axis: Any = None, dtype: Any = None, include_initial: bool = False
    ) -> Any:
        if include_initial:
            raise UnsupportedError("include_initial=True: concatenate the first element yourself")
        if axis is None and x.ndim != 1:
            raise ShapeError(f"expected an axis of an array of {x.ndim} dimensions")
        return plain(x, axis, dtype)

    return handler


numpy_function("cumulative_sum")(_cumulative(np.cumsum))
numpy_function("cumulative_prod")(_cumulative(np.cumprod))


@numpy_function(np.diff, counted=("axis",))
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = NONE, append: Any = NONE) -> Any:
    if prepend is None or append is None:
        raise UnsupportedError("diff: None in front or behind")
    if prepend is not NONE or append is not NONE:
        a = _with_ends(a, axis, prepend, append)
    if n < 0:
        raise ShapeError(f"diff: order must be non-negative, found {shown(int(n))}")
    for _ in range(n):
        upper, lower = a[along(axis, 1)], a[along(axis, None, -1)]
        a = upper != lower if a.dtype.kind == "b" else upper - lower
    return a


def _with_ends(a: Any, axis: int, prepend: Any, append: Any) -> Any:
    """An array with others, or numbers, in front of it and behind it along an axis."""
    parts = [None if part is NONE else lifted(a.tracer, part) for part in (prepend, append)]
    shape = (*a.shape[:axis], 1, *a.shape[axis + 1 :])
    parts = [np.broadcast_to(p, shape) if p is not None and not p.ndim else p for p in parts]
    return np.concatenate([p for p in (parts[0], a, parts[1]) if p is not None], axis)


@numpy_function(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    flat = ary.reshape(-1)
    found = flat[1:] - flat[:-1]
    parts = [lifted(ary.tracer, p) for p in (to_begin, found, to_end) if p is not None]
    if not all(np.can_cast(part.dtype, ary.dtype, "same_kind") for part in parts):
        raise UnsupportedError("ediff1d: ends of another kind than the array")
    if len(parts) == 1:
        return found
    return np.concatenate([part.reshape(-1).astype(ary.dtype) for part in parts])


@numpy_function(np.gradient)
def gradient(f: Any, *varargs: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Central differences, one-sided at the ends, between points at equal distances.

    Raises:
        UnsupportedError: distances in an array, ``edge_order=2``, or an array of integers.
        ShapeError: an axis has fewer than two points.
    """
    if edge_order != 1 or f.dtype.kind != "f" or not all(map(_is_step, varargs)):
        raise UnsupportedError("gradient: expected floats, evenly spaced, and edge_order=1")
    axes = counted_axes("gradient", axis, f.ndim)
    steps = varargs * len(axes) if len(varargs) == 1 else varargs or (1.0,) * len(axes)
    if len(steps) != len(axes):
        raise ShapeError(f"gradient: {len(varargs)} distances for {len(axes)} axes")
    found = tuple(_differences(f, d, h) for d, h in zip(axes, steps, strict=True))
    return found[0] if len(found) == 1 else found


def _is_step(distance: Any) -> bool:
    return is_number(distance) or getattr(distance, "ndim", 1) == 0


def _differences(f: Any, axis: int, step: Any) -> Any:
    require = f.tracer.builder.require
    if not require(Expr("lt", (literal(1), number_of(f.tracer, f.shape[axis])))):
        raise ShapeError(f"gradient: axis {axis} has fewer than 2 points")
    out = np.empty_like(f)
    out[along(axis, 1, -1)] = (f[along(axis, 2)] - f[along(axis, None, -2)]) / (2.0 * step)
    out[along(axis, None, 1)] = (f[along(axis, 1, 2)] - f[along(axis, None, 1)]) / step
    out[along(axis, -1)] = (f[along(axis, -1)] - f[along(axis, -2, -1)]) / step
    return out


@numpy_function(np.trapezoid, counted=("axis",))
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    if x is not None:
        x = lifted(y.tracer, x)
        dx = np.diff(x) if x.ndim == 1 else np.diff(x, axis=axis)
        if x.ndim == 1:
            dx = dx[(slice(None), *[None] * (y.ndim - 1 - axis))]
    upper, lower = y[along(axis, 1)], y[along(axis, None, -1)]
    return (dx * (upper + lower) / 2.0).sum(axis=axis)
