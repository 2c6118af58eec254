"""Complex numbers: op-codes of the operators that have a meaning for them, and their own ones.

NumPy's arithmetic stands in templates/complex.cuh; functions such as ``exp`` are made of real ones
(``opcodes/operators/complex_functions.py``).  An operator without a row here has no complex meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from opweave.opcodes import dtypes, rules
from opweave.opcodes.codes import Fragment, OpCode, Phase
from opweave.opcodes.core import Operator
from opweave.opcodes.dtypes import C64, C128, F32, F64, DType
from opweave.opcodes.errors import DTypeError
from opweave.opcodes.operators.maps import map_operator
from opweave.opcodes.ulps import counted

# Operators that also take other kinds of numbers: the fragment for complex operands.
FRAGMENTS: dict[str, str] = {
    "add": "x + y",
    "subtract": "x - y",
    "multiply": "x * y",
    "divide": "x / y",
    "negative": "-x",
    "positive": "x",
    "absolute": "hypot(x.re, x.im)",
    "square": "x * x",
    "reciprocal": "reciprocal(x)",
    "sign": "sign(x)",
    "rint": "rint(x)",
    "equal": "x == y",
    "not_equal": "x != y",
    "less": "x < y",
    "less_equal": "x <= y",
    "greater": "x > y",
    "greater_equal": "x >= y",
    "maximum": "max_nan(x, y)",
    "minimum": "min_nan(x, y)",
    "fmax": "max_number(x, y)",
    "fmin": "min_number(x, y)",
    "clip": "min_nan(max_nan(x, low), high)",
    "relu": "max_nan(x, T())",
    "logical_and": "nonzero(x) && nonzero(y)",
    "logical_or": "nonzero(x) || nonzero(y)",
    "logical_xor": "nonzero(x) != nonzero(y)",
    "logical_not": "!nonzero(x)",
    "isnan": "is_nan(x)",
    "isinf": "is_inf(x.re) || is_inf(x.im)",
    "isfinite": "x.re - x.re == 0 && x.im - x.im == 0",
    "copy": "x",
    "cast": "convert<S>(x)",
    "full": "x",
    "matmul": "fma(x, y, acc)",
    "sum": "acc + x",
    "prod": "acc * x",
    "max": "max_nan(acc, x)",
    "min": "min_nan(acc, x)",
}
# What running values of them begin with.
STARTS = {
    "matmul": "T()", "sum": "T()", "prod": "T{1}", "max": "-infinity<T>()",
    "min": "infinity<T>()",
}  # fmt: skip

# Functions that are made of real ones: the rows of complex_functions.DEFINITIONS.
FUNCTIONS = frozenset(
    """exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan sinh cosh tanh power float_power
    arcsin arccos arctan arcsinh arccosh arctanh""".split()
)
# Operators whose op-codes are fit for complex operands as they are.
OF_ANY = frozenset(("where", "real", "imag", "conjugate", "join"))


def extended(row: Operator) -> Operator:
    """An operator with its op-codes for complex operands, or a type rule that refuses them."""
    fragment = FRAGMENTS.get(row.name)
    if fragment is None:
        computes = any(code.rows for code in row.opcodes) and not row.tables
        has_meaning = row.name in FUNCTIONS or row.name in OF_ANY or not computes
        return row if has_meaning else replace(row, type_rule=rules.of_reals(row.type_rule))
    start = STARTS.get(row.name, "")
    return replace(row, opcodes=tuple(_with_row(code, fragment, start) for code in row.opcodes))


def _with_row(code: OpCode, fragment: str, start: str) -> OpCode:
    """An op-code with a row for complex operands, unless it is structural or has one."""
    if not code.rows or any("c" in row.kinds for row in code.rows):
        return code
    begun = start if code.phase is Phase.ACCUMULATE else ""
    return replace(code, rows=(*code.rows, Fragment(fragment, "c", begun)))


def _part(types: tuple[Any, ...], attrs: Any = ()) -> rules.Signature:
    """A complex number to one of its parts."""
    (found,) = types
    if not isinstance(found, DType) or not found.is_complex:
        raise DTypeError(f"expected a complex array, found {found}")
    return (found,), (found.part,)


def _pair(types: tuple[Any, ...], attrs: Any = ()) -> rules.Signature:
    """Two floats to the complex number of their type."""
    found = dtypes.promote(*types)
    wanted = {F32: C64, F64: C128}.get(found)
    if wanted is None:
        raise DTypeError(f"expected parts of float32 or float64, found {found}")
    return (found, found), (wanted,)


def joined(x: Any, y: Any) -> Any:
    """The complex number with these parts, NaN and signed zeros as they are."""
    part = np.result_type(x, y).name
    wide = {"float32": np.complex64, "float64": np.complex128}.get(part, np.clongdouble)
    made: Any = np.empty(np.broadcast_shapes(np.shape(x), np.shape(y)), wide)
    made.real, made.imag = x, y
    return made[()]


REAL = map_operator("real", np.real, {"c": "x.re"}, rule=_part)
IMAG = map_operator("imag", np.imag, {"c": "x.im"}, rule=_part)
CONJUGATE = map_operator("conjugate", np.conjugate, {"c": "conjugate(x)", "fiu": "x"})
JOIN = map_operator("join", joined, {"f": "T{x, y}"}, params="x y", rule=_pair)


def _scaled(name: str, scale: Callable[[Any], Any], digits: str) -> Operator:
    """A float times a constant, which is rounded itself; ``scale`` makes it of ten."""

    def scaled(x: Any) -> Any:
        dtype = np.asarray(x).dtype
        if dtype == np.longdouble:  # error bounds compute in it
            return x * scale(np.longdouble(10))
        to = rules.float_of(dtypes.of(dtype)).numpy
        return (np.asarray(x, to) * float(digits)).astype(to)[()]

    fragments = {"f": f"x * (T){digits}"}
    return map_operator(name, scaled, fragments, rule=rules.floating, ulp=counted(1.5))


BY_LN2 = _scaled("by_ln2", lambda ten: np.log(ten / 5), "0.69314718055994531")
PER_LN2 = _scaled("per_ln2", lambda ten: 1 / np.log(ten / 5), "1.4426950408889634")
PER_LN10 = _scaled("per_ln10", lambda ten: 1 / np.log(ten), "0.43429448190325183")
OPERATORS: tuple[Operator, ...] = (
    REAL, IMAG, CONJUGATE, JOIN, BY_LN2, PER_LN2, PER_LN10,
)  # fmt: skip
