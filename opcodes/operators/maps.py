"""The elementwise operators: one row each, in tables; functions that round are in functions.py.

A fragment is given per dtype kind: ``f`` float, ``i`` signed, ``u`` unsigned, ``b`` bool, ``m`` a
signed and an unsigned 64-bit operand together.  Helpers such as ``wrap_add`` are in
templates/common.cuh; signed overflow is undefined in C++, and wraps in NumPy.

ULP figures and their sources: opcodes/ulps.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.opcodes import rules
from opweave.opcodes.codes import OpCode, Phase, rows
from opweave.opcodes.core import Cost, Kind, Operator, TypeRule
from opweave.opcodes.ulps import Ulp, counted

Fragments = dict[str, str]

# Operators whose result is one of their operands, an integer of no more digits, or is rounded by
# the fragment itself.
EXACT = frozenset(
    """negative positive absolute maximum minimum relu where clip cast copy sign floor ceil trunc
    rint fmax fmin fmod copysign heaviside fabs modf frexp nextafter spacing real imag join
    conjugate""".split()
)


def map_operator(
    name: str,
    numpy: Callable[..., Any],
    fragments: Fragments,
    *,
    params: str = "x",
    rule: TypeRule | None = None,
    cost: Cost = Cost(),
    ulp: Ulp = Ulp(),
    results: int = 1,
    slope: float | None = None,
    attrs: tuple[tuple[str, Any], ...] = (),
) -> Operator:
    """Make an elementwise operator from a row; a ufunc brings its own type rule."""
    names = tuple(params.split())
    exact = name in EXACT
    code = OpCode(name, Phase.EPILOGUE, names, rows(fragments), results, exact)
    if rule is None:
        assert isinstance(numpy, np.ufunc), f"{name} needs a type rule"
        rule = rules.as_ufunc(numpy)
    return Operator(
        name, Kind.MAP, (code,), numpy, rule, names, cost=cost, ulp=ulp, slope=slope, attrs=attrs
    )


# A remainder of floats; where the quotient is large, by its bits, one after the other.
DIVISION = Cost(24)
COSTS = dict.fromkeys(("remainder", "fmod"), DIVISION)


def _cast(x: Any, dtype: Any) -> Any:
    array = np.asarray(x)
    drops_imaginary = array.dtype.kind == "c" and np.dtype(dtype).kind not in "cb"
    return (array.real if drops_imaginary else array).astype(dtype)  # without a warning


# Of two truths both are asked: only so do loops of them vectorise.
ARITHMETIC: tuple[tuple[str, Any, Fragments], ...] = (
    ("add", np.add, {"fu": "x + y", "i": "wrap_add(x, y)", "b": "x | y"}),
    ("subtract", np.subtract, {"fu": "x - y", "i": "wrap_sub(x, y)"}),
    ("multiply", np.multiply, {"f": "x * y", "iu": "wrap_mul(x, y)", "b": "x & y"}),
    ("divide", np.divide, {"f": "x / y"}),
    ("remainder", np.remainder, {"fiu": "floor_mod(x, y)"}),
    ("maximum", np.maximum, {"f": "max_nan(x, y)", "iu": "x > y ? x : y", "b": "x | y"}),
    ("minimum", np.minimum, {"f": "min_nan(x, y)", "iu": "x < y ? x : y", "b": "x & y"}),
    ("logical_and", np.logical_and, {"fiu": "(x != 0) & (y != 0)", "b": "x & y"}),
    ("logical_or", np.logical_or, {"fiu": "(x != 0) | (y != 0)", "b": "x | y"}),
    ("logical_xor", np.logical_xor, {"fiub": "!x != !y"}),
    ("bitwise_and", np.bitwise_and, {"iub": "x & y"}),
    ("bitwise_or", np.bitwise_or, {"iub": "x | y"}),
    ("bitwise_xor", np.bitwise_xor, {"iu": "x ^ y", "b": "x != y"}),
    ("left_shift", np.left_shift, {"iu": "shift_left(x, y)"}),
    ("right_shift", np.right_shift, {"iu": "shift_right(x, y)"}),
    ("fmax", np.fmax, {"f": "max_number(x, y)", "iu": "x > y ? x : y", "b": "x | y"}),
    ("fmin", np.fmin, {"f": "min_number(x, y)", "iu": "x < y ? x : y", "b": "x & y"}),
    ("fmod", np.fmod, {"f": "fmod(x, y)", "iu": "trunc_mod(x, y)"}),
    ("copysign", np.copysign, {"f": "copysign(x, y)"}),
    ("heaviside", np.heaviside, {"f": "x != x ? x : x == 0 ? y : (T)(x > 0)"}),
    ("nextafter", np.nextafter, {"f": "next_after<S>(x, y)"}),
    ("ldexp", np.ldexp, {"f": "scale_by(x, y)"}),
    ("gcd", np.gcd, {"iu": "common_divisor(x, y)"}),
    ("lcm", np.lcm, {"iu": "common_multiple(x, y)"}),
)

COMPARISONS: tuple[tuple[str, Any, Fragments], ...] = (
    ("equal", np.equal, {"fiub": "x == y", "m": "compare(x, y) == 0"}),
    ("not_equal", np.not_equal, {"fiub": "x != y", "m": "compare(x, y) != 0"}),
    ("less", np.less, {"fiub": "x < y", "m": "compare(x, y) < 0"}),
    ("less_equal", np.less_equal, {"fiub": "x <= y", "m": "compare(x, y) <= 0"}),
    ("greater", np.greater, {"fiub": "x > y", "m": "compare(x, y) > 0"}),
    ("greater_equal", np.greater_equal, {"fiub": "x >= y", "m": "compare(x, y) >= 0"}),
)

SIMPLE: tuple[tuple[str, Any, Fragments], ...] = (
    ("negative", np.negative, {"f": "-x", "i": "wrap_sub((T)0, x)", "u": "(T)0 - x"}),
    ("positive", np.positive, {"fiu": "x"}),
    ("absolute", np.absolute, {"f": "fabs(x)", "i": "x < 0 ? wrap_sub((T)0, x) : x", "ub": "x"}),
    ("square", np.square, {"f": "x * x", "iu": "wrap_mul(x, x)"}),
    ("sign", np.sign, {"f": "sign(x)", "i": "(x > 0) - (x < 0)", "u": "x > 0"}),
    ("floor", np.floor, {"f": "floor(x)", "iub": "x"}),
    ("ceil", np.ceil, {"f": "ceil(x)", "iub": "x"}),
    ("trunc", np.trunc, {"f": "trunc(x)", "iub": "x"}),
    ("rint", np.rint, {"f": "rint(x)"}),
    ("invert", np.invert, {"iu": "~x", "b": "!x"}),
    ("logical_not", np.logical_not, {"fiub": "!x"}),
    ("isnan", np.isnan, {"f": "x != x", "iub": "false"}),
    ("isinf", np.isinf, {"f": "is_inf(x)", "iub": "false"}),
    ("isfinite", np.isfinite, {"f": "x - x == 0", "iub": "true"}),
    ("signbit", np.signbit, {"f": "signbit(x)"}),
    ("spacing", np.spacing, {"f": "spacing_of<S>(x)"}),
    ("fabs", np.fabs, {"f": "fabs(x)"}),
    ("bitwise_count", np.bitwise_count, {"iu": "count_bits(x)"}),
    ("reciprocal", np.reciprocal, {"f": "(T)1 / x", "iu": "trunc_div((T)1, x)"}),
)

# the whole number next to the quotient, which may be 2 ULP away from 2**22 (2**51) on
QUOTIENT: dict[str, Any] = {"params": "x y", "cost": DIVISION, "ulp": counted(2)}
ODD: tuple[Operator, ...] = (
    map_operator("floor_divide", np.floor_divide, {"fiu": "floor_div(x, y)"}, **QUOTIENT),
    map_operator(
        "divmod", np.divmod, {"fiu": "r0 = floor_div(x, y); r1 = floor_mod(x, y);"}, results=2,
        **QUOTIENT,
    ),
    map_operator(
        "modf", np.modf, {"f": "r1 = trunc(x); r0 = copysign(is_inf(x) ? (T)0 : x - r1, x);"},
        cost=Cost(3), results=2,
    ),
    map_operator("frexp", np.frexp, {"f": "r0 = significand(x, r1);"}, cost=Cost(4), results=2),
    map_operator(
        "relu", lambda x: np.maximum(x, np.zeros((), np.asarray(x).dtype)),
        {"f": "max_nan(x, (T)0)", "i": "x > 0 ? x : 0", "ub": "x"}, rule=rules.first,
    ),
    map_operator(
        "clip", np.clip,
        {"f": "min_nan(max_nan(x, low), high)", "iub": "clip_int<T>(x, low, high)"},
        params="x low high", rule=rules.with_array, cost=Cost(2),
    ),
    map_operator(
        "where", np.where, {"b": "condition ? x : y"}, params="condition x y", rule=rules.selection
    ),
    map_operator("copy", lambda x: np.array(x, order="C"), {"fiub": "x"}, rule=rules.first),
    map_operator(
        "cast", _cast, {"fiub": "convert<S>(x)"}, rule=rules.cast, attrs=(("dtype", None),)
    ),
)  # fmt: skip

OPERATORS: tuple[Operator, ...] = (
    *(
        map_operator(name, fn, text, params="x y", cost=COSTS.get(name, Cost()))
        for name, fn, text in ARITHMETIC
    ),
    *(
        map_operator(name, fn, text, params="x y", rule=rules.by_value(fn))
        for name, fn, text in COMPARISONS
    ),
    *(map_operator(name, fn, text) for name, fn, text in SIMPLE),
    *ODD,
)
