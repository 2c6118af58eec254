"""Operators of ATen that compute element by element."""

from __future__ import annotations

from typing import Any

import numpy as np

from opweave._torch.rows import DEFAULT, FLOATS, WHOLE, AtenCall, AtenRow, is_whole
from opweave.opcodes import OPERATORS

SQRT_HALF = 0.7071067811865476
TANH_SCALE, TANH_CUBE = 0.7978845608028654, 0.044715


def of_array(name: str) -> Any:
    """An operator of ours, which of a number of NumPy's makes no result."""
    operator = OPERATORS[name]
    return lambda x: operator(np.asarray(x) if issubclass(type(x), np.generic) else x)


ERF = of_array("erf")


def added(x: Any, y: Any, alpha: Any = 1) -> Any:
    """x + alpha * y; in 16 bits it is rounded once, as by torch."""
    if alpha == 1:
        return x + y
    x, y, alpha = in_single(x, y, alpha)
    return x + y * alpha


def subtracted(x: Any, y: Any, alpha: Any = 1) -> Any:
    if alpha == 1:
        return x - y
    x, y, alpha = in_single(x, y, alpha)
    return x - y * alpha


def in_single(*operands: Any) -> list[Any]:
    """16-bit floats as float32, and numbers beside them, rounded to 16 bits."""
    kind = next(x.dtype for x in operands if hasattr(x, "dtype"))
    if kind.itemsize != 2 or kind.kind in "iu":
        return [*operands]
    return [widened(x) if hasattr(x, "dtype") else float(kind.type(x)) for x in operands]


def reversed_difference(x: Any, y: Any, alpha: Any = 1) -> Any:
    return subtracted(y, x, alpha)


def product(x: Any, y: Any) -> Any:
    """x * y; of bools their conjunction, as NumPy's is."""
    return np.multiply(x, y)


def rounded_quotient(x: Any, y: Any, rounding_mode: str | None = None) -> Any:
    """x / y, rounded towards 0 ("trunc") or down ("floor"); operands are of one type."""
    if rounding_mode == "floor":
        return np.floor_divide(x, y)
    if x.dtype.kind == "f" or rounding_mode is None:
        quotient = np.divide(x, y)
        return quotient if rounding_mode is None else np.trunc(quotient)
    down = np.floor_divide(x, y)
    is_between = (down * y != x) & ((x < 0) != (y < 0))
    return down + is_between.astype(x.dtype)


def sign(x: Any) -> Any:
    """-1, 0 or 1; of NaN 0, as by torch."""
    if x.dtype.kind == "b":
        return x
    return (x > 0).astype(x.dtype) - (x < 0).astype(x.dtype)


def reciprocal(x: Any) -> Any:
    return 1 / x


def gelu(x: Any, approximate: str = "none") -> Any:
    """x * Phi(x), or its tanh form; 16-bit numbers in float32."""
    wide = widened(x)
    if approximate == "tanh":
        inner = TANH_SCALE * (wide + TANH_CUBE * (wide * wide * wide))
        return 0.5 * wide * (1 + np.tanh(inner))
    return 0.5 * wide * (1 + ERF(wide * SQRT_HALF))


def widened(x: Any) -> Any:
    """16-bit numbers as float32."""
    return x.astype(np.float32) if x.dtype.itemsize == 2 and not is_integer(x) else x


def is_integer(x: Any) -> bool:
    return x.dtype.kind in "iub"


def clamped(x: Any, low: Any = None, high: Any = None) -> Any:
    """Between two limits; where they cross, the upper one."""
    if low is not None:
        x = np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def leaky(x: Any, slope: Any = 0.01) -> Any:
    return np.where(x > 0, x, x * slope)


def elu(x: Any, alpha: Any = 1, scale: Any = 1, input_scale: Any = 1) -> Any:
    return np.where(x > 0, x * scale, np.expm1(x * input_scale) * (alpha * scale))


def hardtanh(x: Any, low: Any = -1, high: Any = 1) -> Any:
    return clamped(x, low, high)


def softplus(x: Any, beta: Any = 1, threshold: Any = 20) -> Any:
    return np.where(x * beta > threshold, x, np.log1p(np.exp(x * beta)) / beta)


def may_be_zero(asked: AtenCall) -> bool:
    """Integers over a tensor, or 0: torch raises an error for 0, and a kernel has none."""
    x, y = asked.args[:2]
    return is_whole(x) and is_whole(y) and (hasattr(y, "dtype") or y == 0)


def may_be_negative(asked: AtenCall) -> bool:
    """Integers to a power of a tensor, or a negative number, which torch refuses."""
    x, y = asked.args[:2]
    return is_whole(x) and is_whole(y) and (hasattr(y, "dtype") or y < 0)


def is_wide_quotient(asked: AtenCall) -> bool:
    return asked.kwargs.get("rounding_mode") is not None and may_be_zero(asked)


# Functions of one operand, by the type that they are computed in.
ONE_OF_FLOATS = {
    "acos": np.arccos, "acosh": np.arccosh, "asin": np.arcsin, "asinh": np.arcsinh,
    "atan": np.arctan, "atanh": np.arctanh, "cos": np.cos, "cosh": np.cosh, "exp": np.exp,
    "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log10": np.log10, "log1p": np.log1p,
    "log2": np.log2, "sin": np.sin, "sinh": np.sinh, "sqrt": np.sqrt, "tan": np.tan,
    "tanh": np.tanh, "reciprocal": reciprocal, "gelu": gelu, "elu": elu, "softplus": softplus,
    "erf": ERF, "erfc": of_array("erfc"), "rsqrt": of_array("rsqrt"),
    "sigmoid": of_array("sigmoid"), "silu": of_array("silu"),
}  # fmt: skip
ONE = {
    "abs": np.absolute, "neg": np.negative, "sign": sign, "relu": of_array("relu"),
    "ceil": np.ceil, "floor": np.floor, "trunc": np.trunc, "round": np.rint,
    "bitwise_not": np.invert, "leaky_relu": leaky, "hardtanh": hardtanh, "square": np.square,
    "isinf": np.isinf, "isnan": np.isnan, "logical_not": np.logical_not,
}  # fmt: skip
# Functions of two operands, and the overloads that they have.
TENSORS = ("Tensor",)
BOTH = ("Tensor", "Scalar")
PLAIN = ("default",)
TWO: dict[str, tuple[Any, tuple[str, ...]]] = {
    "add": (added, BOTH), "sub": (subtracted, BOTH), "mul": (product, BOTH),
    "rsub": (reversed_difference, BOTH),
    "maximum": (np.maximum, PLAIN), "minimum": (np.minimum, PLAIN),
    "bitwise_and": (np.bitwise_and, BOTH), "bitwise_or": (np.bitwise_or, BOTH),
    "bitwise_xor": (np.bitwise_xor, BOTH),
    "eq": (np.equal, BOTH), "ne": (np.not_equal, BOTH), "lt": (np.less, BOTH),
    "le": (np.less_equal, BOTH), "gt": (np.greater, BOTH), "ge": (np.greater_equal, BOTH),
    "logical_and": (np.logical_and, PLAIN), "logical_or": (np.logical_or, PLAIN),
    "logical_xor": (np.logical_xor, PLAIN),
}  # fmt: skip
EXACT = frozenset("mul leaky_relu elu softplus".split())  # see ``AtenRow.exact``; and div
OTHERS = {
    "aten.atan2.default": AtenRow(np.arctan2, FLOATS),
    "aten.div.Tensor": AtenRow(np.divide, FLOATS, exact=True),
    "aten.div.Scalar": AtenRow(np.divide, FLOATS, exact=True),
    "aten.div.Tensor_mode": AtenRow(rounded_quotient, DEFAULT, left=is_wide_quotient, exact=True),
    "aten.div.Scalar_mode": AtenRow(rounded_quotient, DEFAULT, left=is_wide_quotient, exact=True),
    "aten.fmod.Tensor": AtenRow(np.fmod, DEFAULT, left=may_be_zero),
    "aten.fmod.Scalar": AtenRow(np.fmod, DEFAULT, left=may_be_zero),
    "aten.remainder.Tensor": AtenRow(np.remainder, DEFAULT, left=may_be_zero),
    "aten.remainder.Scalar": AtenRow(np.remainder, DEFAULT, left=may_be_zero),
    "aten.pow.Tensor_Scalar": AtenRow(np.power, WHOLE, left=may_be_negative),
    "aten.pow.Tensor_Tensor": AtenRow(np.power, WHOLE, left=may_be_negative),
    "aten.pow.Scalar": AtenRow(np.power, WHOLE, left=may_be_negative),
    "aten.clamp.default": AtenRow(clamped, DEFAULT),
    "aten.clamp.Tensor": AtenRow(clamped, DEFAULT),
    "aten.clamp_min.default": AtenRow(np.maximum, DEFAULT),
    "aten.clamp_max.default": AtenRow(np.minimum, DEFAULT),
    "aten.where.self": AtenRow(np.where, DEFAULT, first=1),
}
TABLE: dict[str, AtenRow] = {
    **{
        f"aten.{name}.default": AtenRow(f, FLOATS, last=1, exact=name in EXACT)
        for name, f in ONE_OF_FLOATS.items()
    },
    **{
        f"aten.{name}.default": AtenRow(f, DEFAULT, last=1, exact=name in EXACT)
        for name, f in ONE.items()
    },
    **{
        f"aten.{name}.{overload}": AtenRow(f, DEFAULT, last=2, exact=name in EXACT)
        for name, (f, overloads) in TWO.items()
        for overload in overloads
    },
    **OTHERS,
}
