"""Numerical functions."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from opweave.compiler.arrays.traced_operators import is_traced, is_traced_number
from opweave.compiler.numpy_api.contractions import product_of_two, tensordot
from opweave.compiler.numpy_api.reducing import apply, dtype_name
from opweave.compiler.numpy_api.registry import numpy_function
from opweave.compiler.numpy_api.shaping import copy, in_order, is_kept
from opweave.compiler.numpy_api.signatures import NONE
from opweave.opcodes import OPERATORS, dtypes
from opweave.opcodes.errors import DTypeError, ShapeError, UnsupportedError


@numpy_function(np.where, arrays=(), like=lambda condition, x=None, y=None, /: 0)
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    if x is None or y is None:
        raise UnsupportedError("where: places, of which each call has its own number")
    return apply(OPERATORS["where"], condition, x, y)


@numpy_function(np.clip)
def clip(a: Any, a_min: Any = NONE, a_max: Any = NONE, *, min: Any = NONE, max: Any = NONE) -> Any:
    """
    Raises:
        UnsupportedError: a bound under both of its names, or one where NumPy asks for both.
    """
    if a_min is not NONE and a_max is not NONE:
        if min is not NONE or max is not NONE:
            raise UnsupportedError("clip: a bound under two names")
        return _between(a, a_min, a_max)
    if a_min is not NONE or a_max is not NONE:
        raise UnsupportedError("clip: a_min and a_max belong together")
    return _between(a, None if min is NONE else min, None if max is NONE else max)


@numpy_function(np.ndarray.clip, like=lambda self, min=None, max=None, out=None, **kwargs: 0)
def _between(a: Any, min: Any = None, max: Any = None) -> Any:
    ends = [min, max]
    low, high = (
        _within(a, picks, end, other)
        for picks, end, other in zip(("max", "min"), ends, reversed(ends), strict=True)
    )
    if low is None or high is None:
        name, bound = ("minimum", high) if low is None else ("maximum", low)
        return apply(OPERATORS["positive" if bound is None else name], *_pair(a, bound))
    return apply(OPERATORS["clip"], a, low, high)


def _within(a: Any, picks: str, bound: Any, other: Any) -> Any:
    """A bound that limits nothing becomes the limit of the integers that it bounds.

    NumPy leaves it out, which is the same unless the other bound lies beyond: with a float there,
    it is left out here too.  One on the other side of all integers stays, and is refused.
    """
    if a.dtype.kind not in "iu" or bound.__class__ is not int:  # a traced number has its own class
        return bound
    limits = np.iinfo(a.dtype)
    limit = int(limits.min if picks == "max" else limits.max)
    if other is not None and other.__class__ is not int:
        return None if (bound <= limit if picks == "max" else bound >= limit) else bound
    if is_traced_number(bound):
        traced: Any = bound
        return traced.__opweave_scalar__(picks, limit)
    return (builtins.max if picks == "max" else builtins.min)(bound, limit)


def _pair(a: Any, bound: Any) -> tuple[Any, ...]:
    return (a,) if bound is None else (a, bound)


@numpy_function(np.round, np.around, np.ndarray.round)
def round(a: Any, decimals: int = 0) -> Any:
    if a.dtype.kind in "iu":  # bool becomes a float, as in NumPy
        if decimals >= 0:
            return apply(OPERATORS["positive"], a)
        raise UnsupportedError("round: negative decimals of integers are not supported")
    if decimals == 0:
        return apply(OPERATORS["rint"], a)
    if a.dtype.kind == "b":
        raise DTypeError("round: bool is rounded to 0 decimals only, as by NumPy")
    scale = 10.0 ** abs(decimals)
    return _rescaled(a, scale, decimals > 0)


def _rescaled(a: Any, scale: float, up: bool) -> Any:
    if up:
        return apply(OPERATORS["rint"], a * scale) / scale
    return apply(OPERATORS["rint"], a / scale) * scale


@numpy_function("astype")
@numpy_function(
    np.ndarray.astype,
    like=lambda self, dtype, order="K", casting="unsafe", subok=True, copy=True: 0,
)
def astype(
    a: Any, dtype: Any, order: Any = "K", casting: Any = "unsafe", *, copy: bool = True
) -> Any:
    """
    Raises:
        DTypeError: a conversion that ``casting`` does not allow.
    """
    if casting != "unsafe" and not np.can_cast(a.dtype, dtype, casting):
        raise DTypeError(f"astype: cannot cast {a.dtype} to {dtype_name(dtype)} by {casting!r}")
    if not copy and is_kept(order) and dtypes.of(dtype).numpy == a.dtype:  # longlong is int64
        return a
    return in_order(apply(OPERATORS["cast"], a, dtype=dtype_name(dtype)), order)


@numpy_function(np.matmul, arrays=("x1", "x2"), like=product_of_two)
@numpy_function(np.linalg.matmul, arrays=("x1", "x2"))
def matmul(x1: Any, x2: Any, /) -> Any:
    """``@``: a vector is a row on the left and a column on the right, and loses that again."""
    ranks = [getattr(a, "ndim", 0) for a in (x1, x2)]
    if 0 in ranks:
        kinds = " and ".join(type(a).__name__.removeprefix("Traced") for a in (x1, x2))
        raise ShapeError(
            f"matmul: expected arrays of at least one dimension, found a scalar among {kinds}"
        )
    x1, x2 = _traced(x1, x2)
    if not all(is_traced(a) for a in (x1, x2)):
        return apply(OPERATORS["matmul"], x1, x2)  # says what is wrong with the other one
    x1 = x1.tracer.hidden_view(x1, (None, 0)) if ranks[0] == 1 else x1
    x2 = x2.tracer.hidden_view(x2, (0, None)) if ranks[1] == 1 else x2
    product = apply(OPERATORS["matmul"], x1, x2)
    axes = list(range(product.ndim))
    del axes[product.ndim - 2 + (ranks[0] != 1) : product.ndim - (ranks[1] != 1)]
    return product if 1 not in ranks else product.tracer.hidden_view(product, tuple(axes))


def _traced(*operands: Any) -> tuple[Any, ...]:
    """Arrays that are no arguments as traced ones."""
    tracer = next(o.tracer for o in operands if is_traced(o))
    return tuple(
        o if is_traced(o) or not getattr(o, "ndim", 0) else tracer.wrapped(tracer.constant(o))
        for o in operands
    )


@numpy_function(np.dot, arrays=("a", "b"), numbers=True, like=lambda a, b, out=None: 0)
@numpy_function(
    np.ndarray.dot, arrays=("a", "b"), numbers=True, like=lambda self, other, /, out=None: 0
)
def dot(a: Any, b: Any) -> Any:
    ranks = [getattr(x, "ndim", 0) for x in (a, b)]
    if 0 in ranks:
        return apply(OPERATORS["multiply"], a, b)
    if ranks[1] > 2 or (ranks[0] > 2 and ranks[1] != 1):
        return tensordot(a, b, ([ranks[0] - 1], [ranks[1] - 2]))
    return matmul(a, b)


@numpy_function(np.ndarray.copy)
def method_copy(a: Any, order: Any = "C") -> Any:
    """Of a number a number, where ``np.copy`` makes an array of it."""
    return astype(a, a.dtype) if a.ndim == 0 else copy(a, order)


numpy_function(np.ndarray.itemsize)(lambda a: a.dtype.itemsize)
numpy_function(np.ndarray.nbytes)(lambda a: a.size * a.dtype.itemsize)
