"""The functions that round: one row each, with what an evaluation may be off on each executor.

ULP figures and their sources: opcodes/ulps.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.opcodes import dtypes, rules
from opweave.opcodes.core import Cost, Operator
from opweave.opcodes.operators.maps import Fragments, map_operator
from opweave.opcodes.ulps import Ulp, counted, measured, nvidia


def figures(cuda: tuple[float, float], host: tuple[float, float]) -> Ulp:
    """Figures of a row: for float32 and float64, in NVIDIA's tables and as measured."""
    return Ulp(nvidia(*cuda), measured(*host))


def _gamma(x: float) -> float:
    """With poles that are infinite at zeros, and NaN elsewhere below."""
    try:
        return math.gamma(x)
    except ValueError:
        return math.copysign(math.inf, x) if x == 0 else math.nan


def _log_of_gamma(x: float) -> float:
    """With poles that are infinite, whatever the sign of gamma next to them."""
    try:
        return math.lgamma(x)
    except (ValueError, OverflowError):
        return math.inf


def _of_numbers(name: str, function: Callable[[float], float]) -> Callable[..., Any]:
    """A function of Python's numbers over an array, in float64 and rounded to its dtype.

    Python raises where C has an infinity.
    """

    def value(x: float) -> float:
        try:
            return function(x)
        except OverflowError:
            return math.copysign(math.inf, x)

    def applied(x: Any) -> Any:
        array = np.asarray(x)
        exact = array.dtype == np.longdouble  # the wide type of error bounds
        wanted = array.dtype if exact else rules.float_of(dtypes.of(array.dtype)).numpy
        found = [value(float(item)) for item in array.reshape(-1)]
        return np.array(found, np.float64).astype(wanted).reshape(array.shape)[()]

    applied.__name__ = applied.__qualname__ = name
    return applied


def third_power(x: Any) -> Any:
    """``x ** 3`` in floats."""
    dtype = np.result_type(x)
    wanted = dtype if dtype.kind == "f" else rules.float_of(dtypes.of(dtype)).numpy
    return np.power(x, 3, dtype=wanted)


_erf, _erfc = _of_numbers("erf", math.erf), _of_numbers("erfc", math.erfc)
_tgamma, _lgamma = _of_numbers("tgamma", _gamma), _of_numbers("lgamma", _log_of_gamma)

SPECIAL: tuple[tuple[str, Any, Fragments, Cost, Ulp], ...] = (
    ("sqrt", np.sqrt, {"f": "sqrt(x)"}, Cost(0, 1), Ulp()),
    ("cbrt", np.cbrt, {"f": "cbrt(x)"}, Cost(10, 1), figures((1, 1), (0.51, 0.51))),
    ("exp", np.exp, {"f": "exp(x)"}, Cost(2, 1), figures((2, 1), (1, 1))),
    ("exp2", np.exp2, {"f": "exp2(x)"}, Cost(2, 1), figures((2, 1), (0.92, 1))),
    ("expm1", np.expm1, {"f": "expm1(x)"}, Cost(4, 1), figures((1, 1), (1.5, 1.2))),
    ("log", np.log, {"f": "log(x)"}, Cost(8, 1), figures((1, 1), (0.9, 0.9))),
    ("log2", np.log2, {"f": "log2(x)"}, Cost(8, 1), figures((1, 1), (1, 0.9))),
    ("log10", np.log10, {"f": "log10(x)"}, Cost(8, 1), figures((2, 1), (0.95, 0.8))),
    ("log1p", np.log1p, {"f": "log1p(x)"}, Cost(10, 1), figures((1, 1), (0.9, 0.9))),
    ("sin", np.sin, {"f": "sin(x)"}, Cost(14, 0), figures((2, 2), (0.8, 0.9))),
    ("cos", np.cos, {"f": "cos(x)"}, Cost(14, 0), figures((2, 2), (0.8, 0.9))),
    ("tan", np.tan, {"f": "tan(x)"}, Cost(20, 1), figures((4, 2), (1.1, 1.1))),
    ("arcsin", np.arcsin, {"f": "asin(x)"}, Cost(12, 1), figures((2, 2), (1.7, 0.7))),
    ("arccos", np.arccos, {"f": "acos(x)"}, Cost(12, 1), figures((2, 2), (1.2, 0.7))),
    ("arctan", np.arctan, {"f": "atan(x)"}, Cost(12, 1), figures((2, 2), (1.4, 0.9))),
    ("sinh", np.sinh, {"f": "sinh(x)"}, Cost(8, 2), figures((3, 2), (1.7, 1.3))),
    ("cosh", np.cosh, {"f": "cosh(x)"}, Cost(8, 2), figures((2, 1), (1.5, 1.5))),
    ("tanh", np.tanh, {"f": "tanh(x)"}, Cost(8, 2), figures((2, 1), (1.7, 1.6))),
    ("arcsinh", np.arcsinh, {"f": "asinh(x)"}, Cost(12, 2), figures((3, 3), (1.3, 1.3))),
    ("arccosh", np.arccosh, {"f": "acosh(x)"}, Cost(12, 2), figures((4, 3), (1.7, 1.9))),
    ("arctanh", np.arctanh, {"f": "atanh(x)"}, Cost(12, 2), figures((3, 2), (1.3, 0.9))),
    # their meaning is the C library's in float64, whose own error counts on a GPU too
    ("erf", _erf, {"f": "erf(x)"}, Cost(20, 1), figures((2, 2 + 1.5), (1.8, 1.5))),
    ("erfc", _erfc, {"f": "erfc(x)"}, Cost(30, 1), figures((4, 5 + 5), (0.51, 4))),
    ("tgamma", _tgamma, {"f": "tgamma(x)"}, Cost(40, 2), figures((5, 10 + 10), (0.51, 10))),
    ("lgamma", _lgamma, {"f": "lgamma(x)"}, Cost(40, 2), figures((6, 4 + 10), (0.51, 10))),
    ("third_power", third_power, {"f": "third_power(x)"}, Cost(6), counted(0.6)),
    ("degrees", np.degrees, {"f": "x * (T)57.295779513082323"}, Cost(1), counted(1.5)),
    ("radians", np.radians, {"f": "x * (T)0.017453292519943295"}, Cost(1), counted(1.5)),
)

# Largest slope of the functions that are not monotone, for error bounds.
SLOPES = {"sin": 1.0, "cos": 1.0}

# By kinds of dtypes.  ndarray.__pow__ takes these exponents through another ufunc (number.c of
# NumPy), but for the third power, which is ours.
INEXACT_POWERS = {1: "positive", 2: "square", 0.5: "sqrt", -1: "reciprocal"}
POWERS_BY_NUMBER: dict[str, dict[float, str]] = {
    "f": {**INEXACT_POWERS, 3: "third_power"},
    "c": INEXACT_POWERS,
    **{kind: {2: "square"} for kind in "iub"},
}


def power_by_number(kind: str, number: Any) -> str:
    """The operator that ``array ** number`` is, for a kind of dtype and a number of Python's."""
    is_own = type(number) is int or (type(number) is float and kind in "fc")
    # 2.0 makes floats of integers
    return POWERS_BY_NUMBER.get(kind, {}).get(number, "power") if is_own else "power"


POWERS = {"f": "pow(x, y)", "iu": "int_pow(x, y)"}
PAIRS: tuple[tuple[str, Any, Fragments, Cost, Ulp], ...] = (
    ("arctan2", np.arctan2, {"f": "atan2(x, y)"}, Cost(20, 1), figures((3, 2), (1.7, 0.9))),
    ("hypot", np.hypot, {"f": "hypot(x, y)"}, Cost(8, 2), figures((3, 2), (0.51, 1))),
    ("power", np.power, POWERS, Cost(20, 2), figures((4, 2), (0.6, 1.2))),
    ("float_power", np.float_power, {"f": "pow(x, y)"}, Cost(20, 2), figures((4, 2), (0.6, 1.2))),
)

OPERATORS: tuple[Operator, ...] = (
    *(
        map_operator(
            n, fn, text, cost=cost, ulp=ulp, slope=SLOPES.get(n),
            rule=None if isinstance(fn, np.ufunc) else rules.floating,
        )
        for n, fn, text, cost, ulp in SPECIAL
    ),
    *(
        map_operator(n, fn, text, params="x y", cost=cost, ulp=ulp)
        for n, fn, text, cost, ulp in PAIRS
    ),
    map_operator(
        "rsqrt", lambda x: 1 / np.sqrt(x), {"f": "rsqrt(x)"}, rule=rules.floating,
        cost=Cost(0, 1), ulp=Ulp(nvidia(2, 1), counted(1.5).host),
    ),
)  # fmt: skip
