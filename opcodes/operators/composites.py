"""Composite operators: defined by other operators, whose op-codes are theirs.

The definition is a NumPy function.  It is the operator's meaning, and traced values pass through
it while a function is traced; so there is one definition, not two.  Its parts, as of float32, are
named so that they can be read; a test holds them to what is traced.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.opcodes import dtypes, rules
from opweave.opcodes.allowed import shown
from opweave.opcodes.core import Kind, Operator, TypeRule
from opweave.opcodes.errors import ArgumentError, AxisError
from opweave.opcodes.operators.complexes import IMAG, REAL

Axis = int | tuple[int, ...] | None


def composite(
    name: str,
    body: Callable[..., Any],
    rule: TypeRule,
    parts: str,
    attrs: tuple[tuple[str, Any], ...] = (),
    params: str = "x",
) -> Operator:
    """Make a composite from a row; ``registry`` adds the op-codes of its parts."""
    return Operator(
        name, Kind.COMPOSITE, (), body, rule, params=tuple(params.split()), attrs=attrs,
        parts=tuple(parts.split()),
    )  # fmt: skip


def _count(x: Any, axis: Axis) -> Any:
    """How many elements are reduced to one.

    Raises:
        AxisError: the array has no dimensions; NumPy's sums accept axis 0 then, its means do not.
    """
    if axis is None:
        return x.size
    if not x.ndim:
        raise AxisError(f"axis {shown(axis)} does not exist in an array of 0 dimensions")
    extents = [x.shape[a] for a in (axis if isinstance(axis, tuple) else (axis,))]
    return math.prod(extents[1:], start=extents[0])


def _wide(x: Any) -> Any:
    """float16 statistics are taken in float32, integer ones in float64, as NumPy does."""
    if x.dtype.name in ("float16", "bfloat16"):
        return x.astype(np.float32)
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def _back(y: Any, x: Any) -> Any:
    return y.astype(x.dtype) if x.dtype.name in ("float16", "bfloat16") else y


def mean(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """Sum over the axis, divided by its extent."""
    return _back(np.sum(_wide(x), axis=axis, keepdims=keepdims) / _count(x, axis), x)


def var(x: Any, axis: Axis = None, keepdims: bool = False, ddof: Any = 0) -> Any:
    """Mean of the squared deviations (of complex ones: magnitudes), in two passes as by NumPy."""
    wide = _wide(x)
    deviation = wide - np.sum(wide, axis=axis, keepdims=True) / _count(x, axis)
    if deviation.dtype.kind == "c":
        re, im = REAL(deviation), IMAG(deviation)
        squares = re * re + im * im
    else:
        squares = deviation * deviation
    total = np.sum(squares, axis=axis, keepdims=keepdims)
    return _back(total / _freedom(_count(x, axis), ddof), x)


def _freedom(count: Any, ddof: Any) -> Any:
    """Degrees of freedom, of which there are at least none."""
    if not ddof:
        return count
    left = count - ddof
    return left if left > 0 else 0


def std(x: Any, axis: Axis = None, keepdims: bool = False, ddof: Any = 0) -> Any:
    """Square root of the variance."""
    return _back(np.sqrt(var(_wide(x), axis=axis, keepdims=keepdims, ddof=ddof)), x)


def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


def silu(x: Any) -> Any:
    """x * sigmoid(x), also called swish."""
    return x / (1 + np.exp(-x))


def gelu(x: Any) -> Any:
    """Gaussian error linear unit, tanh form (Hendrycks and Gimpel, arXiv:1606.08415)."""
    return 0.5 * x * (1 + np.tanh(0.7978845608028654 * (x + 0.044715 * (x * x * x))))


# What an element beside the array reads as: modes of np.pad.
BOUNDS = {"clamp": "edge", "wrap": "wrap", "zero": "constant"}


def neighbour(x: Any, step: int = 1, bounds: str = "clamp") -> Any:
    """Each element's neighbour, ``step`` further along the last axis.

    Of what lies beside the array, ``clamp`` reads the nearest element, ``wrap`` goes on at the
    other end, and ``zero`` is 0.

    Raises:
        AxisError: the array has no dimensions.
        ArgumentError: no such policy.
    """
    if not np.ndim(x):
        raise AxisError("expected an array with an axis, found 0 dimensions")
    if bounds not in BOUNDS:
        raise ArgumentError(f"bounds={shown(bounds)}: expected one of {', '.join(BOUNDS)}")
    size = abs(step)
    widths = (size, 0) if step < 0 else (0, size)
    mode: Any = BOUNDS[bounds]
    padded = np.pad(x, [*[(0, 0)] * (x.ndim - 1), widths], mode)
    return padded[..., :-size] if step < 0 else padded[..., size:]


def softmax(x: Any, axis: Axis = -1) -> Any:
    """exp(x - max) / sum(exp(x - max)) over an axis, or over the whole tensor for None."""
    e = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return e / np.sum(e, axis=axis, keepdims=True)


def log_softmax(x: Any, axis: Axis = -1) -> Any:
    """x - max - log(sum(exp(x - max)))."""
    shifted = x - np.max(x, axis=axis, keepdims=True)
    return shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))


def logsumexp(x: Any, axis: Axis = None, keepdims: bool = False) -> Any:
    """log(sum(exp(x - max))) + max over an axis; without the maximum where that is infinite."""
    wide = _wide(x)
    top = np.max(wide, axis=axis, keepdims=keepdims)
    top = np.where(np.isfinite(top), top, wide.dtype.type(0))
    along = tuple(range(x.ndim)) if axis is None else axis
    beside = top if keepdims else np.expand_dims(top, along)
    total = np.sum(np.exp(wide - beside), axis=axis, keepdims=keepdims)
    return _back(np.log(total) + top, x)


def linear(x: Any, w: Any, b: Any) -> Any:
    """x @ w + b, where b is a row, or as large as the product.

    ``x`` is [..., m, k] or [k], ``w`` is [..., k, n], ``b`` broadcasts to the product.
    """
    return x @ w + b


_LOGADDEXP = rules.as_ufunc(np.logaddexp)


def _in_loop(x: Any, y: Any) -> tuple[Any, Any]:
    """Integers in the float type that NumPy computes in, since differences of integers wrap."""
    kinds = tuple(
        dtypes.of(v.dtype) if hasattr(v, "dtype") else type(getattr(v, "example", v))
        for v in (x, y)
    )
    if all(not isinstance(k, dtypes.DType) or k.is_float for k in kinds):
        return x, y
    (first, second), _ = _LOGADDEXP(kinds)
    x, y = (v.astype(t.numpy) if hasattr(v, "astype") else v for v, t in ((x, first), (y, second)))
    return x, y


def _unboxed(found: Any) -> Any:
    """The number that a ufunc returns in the place of an array without dimensions."""
    return found if found.ndim else found[()]


def logaddexp(x: Any, y: Any) -> Any:
    """log(exp(x) + exp(y)) without overflow."""
    x, y = _in_loop(x, y)
    above = np.log1p(np.exp(-abs(x - y)))
    return _unboxed(np.where(x == y, x + math.log(2), np.maximum(x, y) + above))


def logaddexp2(x: Any, y: Any) -> Any:
    """log2(2**x + 2**y) without overflow."""
    x, y = _in_loop(x, y)
    above = np.log1p(np.exp2(-abs(x - y))) * (1 / math.log(2))
    return _unboxed(np.where(x == y, x + 1.0, np.maximum(x, y) + above))


_STATISTIC = (("axis", None), ("keepdims", False))
_SPREAD = (*_STATISTIC, ("ddof", 0))

_SPREAD_PARTS = "sum divide subtract multiply sum divide"
_SIGMOID_PARTS = "negative exp add divide"
_GELU_PARTS = "multiply multiply multiply multiply add multiply tanh add multiply"
_ABOVE_PARTS = "subtract absolute negative {} log1p {}equal add maximum add where"

OPERATORS: tuple[Operator, ...] = (
    composite("mean", mean, rules.averaging, "sum divide", _STATISTIC),
    composite("var", var, rules.averaging, _SPREAD_PARTS, _SPREAD),
    composite("std", std, rules.averaging, f"{_SPREAD_PARTS} sqrt", _SPREAD),
    composite("sigmoid", sigmoid, rules.floating, _SIGMOID_PARTS),
    composite("silu", silu, rules.floating, _SIGMOID_PARTS),
    composite("gelu", gelu, rules.floating, _GELU_PARTS),
    composite(
        "logaddexp", logaddexp, _LOGADDEXP, _ABOVE_PARTS.format("exp", ""), params="x y"
    ),
    composite(
        "logaddexp2", logaddexp2, rules.as_ufunc(np.logaddexp2),
        _ABOVE_PARTS.format("exp2", "multiply "), params="x y",
    ),
    composite(
        "neighbour", neighbour, rules.same, "coordinate coordinate add clip gather_2d",
        (("step", 1), ("bounds", "clamp")),
    ),
    composite("softmax", softmax, rules.floating, "max subtract exp sum divide", (("axis", -1),)),
    composite(
        "log_softmax", log_softmax, rules.floating, "max subtract exp sum log subtract",
        (("axis", -1),),
    ),
    composite(
        "logsumexp", logsumexp, rules.averaging, "max isfinite where subtract exp sum log add",
        _STATISTIC,
    ),
    composite("linear", linear, rules.same, "matmul add", params="x w b"),
)  # fmt: skip
