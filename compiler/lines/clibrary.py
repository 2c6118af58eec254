"""Functions of the C library that Python's floats have, and where Python raises for them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np


def modulus(re: float, im: float) -> float:
    """Of a complex number, as Python has it."""
    return abs(complex(re, im))


# Functions of the C library in Python's ``math``, of one number and of two.
ONE = (
    math.acos, math.acosh, math.asin, math.asinh, math.atan, math.atanh, math.cos, math.cosh,
    math.erf, math.erfc, math.exp, math.expm1, math.fabs, math.log, math.log10, math.log1p,
    math.log2, math.sin, math.sinh, math.sqrt, math.tan, math.tanh,
)  # fmt: skip
TWO = (math.atan2, math.copysign, math.fmod, math.pow)
NAMED = (operator.pow, modulus)  # by an operator, and by abs()
# What Python calls once more where it raises: ``LOOP_MATH`` has the place and both numbers.
CALLED: tuple[Callable[..., Any], ...] = (*ONE, *TWO, *NAMED)


# Functions of the C library of complex numbers, by those of NumPy that call them (npy_math).
OF_COMPLEX: dict[Any, str] = {
    np.exp: "cexp", np.log: "clog", np.sqrt: "csqrt", np.sin: "csin", np.cos: "ccos",
    np.tan: "ctan", np.sinh: "csinh", np.cosh: "ccosh", np.tanh: "ctanh", np.arcsin: "casin",
    np.arccos: "cacos", np.arctan: "catan", np.arcsinh: "casinh", np.arccosh: "cacosh",
    np.arctanh: "catanh",
}  # fmt: skip


def raises(found: str, operands: Sequence[str]) -> str:
    """C text: whether Python raises for a result of some operands.

    That is where numbers give NaN, or finite ones an infinity: ``math_1`` and ``math_2`` of
    CPython (Modules/mathmodule.c) and ``float_pow`` (Objects/floatobject.c).
    """
    is_nan = " && ".join([f"{found} != {found}", *(f"{x} == {x}" for x in operands)])
    is_infinite = " && ".join([f"is_infinite({found})", *(f"is_finite({x})" for x in operands)])
    return f"({is_nan}) || ({is_infinite})"
