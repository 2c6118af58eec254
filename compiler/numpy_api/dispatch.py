"""NumPy's functions and array methods, as handlers over traced values: tables of data.

A handler has the NumPy function's own signature, as far as opweave compiles it; an argument that
it does not name is refused, never ignored.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opweave.compiler.arrays.complexes import COMPLEX, conjugated
from opweave.compiler.arrays.lifting import lifted, tracer_of
from opweave.compiler.arrays.traced_operators import is_traced, is_traced_number
from opweave.compiler.numpy_api.arranging import ARRANGED
from opweave.compiler.numpy_api.composed import COMPOSED
from opweave.compiler.numpy_api.contractions import CONTRACTIONS
from opweave.compiler.numpy_api.creation import LIKE
from opweave.compiler.numpy_api.inplace import WRITES
from opweave.compiler.numpy_api.linear import LINALG, LINEAR
from opweave.compiler.numpy_api.logic import KINDS
from opweave.compiler.numpy_api.movement import MOVES
from opweave.compiler.numpy_api.numerics import NUMERICS
from opweave.compiler.numpy_api.reducing import REDUCTIONS, apply, dtype_name, is_empty
from opweave.compiler.numpy_api.scanning import SCANS
from opweave.compiler.numpy_api.scipy_special import is_special
from opweave.compiler.numpy_api.searching import SEARCHES
from opweave.compiler.numpy_api.shaping import (
    SHAPING,
    SHAPING_METHODS,
    SHAPING_PROPERTIES,
    in_order,
    is_kept,
)
from opweave.compiler.numpy_api.signatures import NONE, Called, called, method
from opweave.compiler.numpy_api.taking import TAKES
from opweave.opcodes import ALIASES, OPERATORS, dtypes, rules
from opweave.opcodes.core import Kind, Operator
from opweave.opcodes.errors import DTypeError, ShapeError, TraceError, UnsupportedError


def _where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    if x is None or y is None:
        raise UnsupportedError("where: places, of which each call has its own number")
    return apply(OPERATORS["where"], condition, x, y)


def _clip(
    a: Any, a_min: Any = NONE, a_max: Any = NONE, *, min: Any = NONE, max: Any = NONE
) -> Any:
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


def _round(a: Any, decimals: int = 0) -> Any:
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


def _astype(
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


def _matmul(x1: Any, x2: Any, /) -> Any:
    """``@``: a vector is a row on the left and a column on the right, and loses that again."""
    for operand in (x1, x2):
        if isinstance(operand, list | tuple):
            kind = type(operand).__name__
            raise TraceError(f"matmul: expected an argument of the function, found a {kind}")
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


def _dot(a: Any, b: Any) -> Any:
    ranks = [getattr(x, "ndim", 0) for x in (a, b)]
    if 0 in ranks:
        return apply(OPERATORS["multiply"], a, b)
    if ranks[1] > 2 or (ranks[0] > 2 and ranks[1] != 1):
        first, second = (lifted(tracer_of(a, b), x) for x in (a, b))
        return CONTRACTIONS["tensordot"](first, second, ([ranks[0] - 1], [ranks[1] - 2]))
    return _matmul(a, b)


def _method_copy(a: Any, order: Any = "C") -> Any:
    """Of a 0-d value a scalar or an array, as the value itself is; ``np.copy`` makes an array."""
    return _astype(a, a.dtype) if a.ndim == 0 else SHAPING["copy"](a, order)


def method_of(name: str) -> Called | None:
    """The handler of a method of arrays, if there is one."""
    return method(name, METHODS[name]) if name in METHODS else None


def _method_choose(a: Any, *choices: Any, mode: str = "raise") -> Any:
    return FUNCTIONS["choose"](a, choices[0] if len(choices) == 1 else choices, mode=mode)


def _fill(a: Any, value: Any) -> None:
    a[...] = value


def _logaddexp_reduce(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    if is_empty(a, axis):
        raise UnsupportedError("logaddexp.reduce: of an empty axis")
    wide = a.astype(rules.float_of(dtypes.of(a.dtype)).numpy)
    return apply(OPERATORS["logsumexp"], wide, axis=axis, keepdims=bool(keepdims))


UFUNCS: dict[str, Operator] = {
    name: row
    for name, row in OPERATORS.items()
    if isinstance(getattr(np, name, None), np.ufunc)
    or (row.kind is Kind.MAP and name not in ("cast", "copy", "index") and not row.tables)
} | {
    "true_divide": OPERATORS["divide"],
    "deg2rad": OPERATORS["radians"],
    "rad2deg": OPERATORS["degrees"],
}

# Of scipy.special, for the types that it computes in.
SCIPY: dict[str, Operator] = {
    "erf": OPERATORS["erf"],
    "erfc": OPERATORS["erfc"],
    "gamma": OPERATORS["tgamma"],
    "expit": OPERATORS["sigmoid"],
}


def operator_of(ufunc: np.ufunc, operands: Sequence[Any]) -> Operator | None:
    """The operator that a ufunc is; None for one of a user's, whatever its name is."""
    name = ufunc.__name__
    if getattr(np, name, None) is ufunc:
        return UFUNCS.get(name)
    plain = all(getattr(o, "dtype", None) in (np.float32, np.float64) for o in operands)
    return SCIPY.get(name) if is_special(ufunc) and plain else None


FUNCTIONS: dict[str, Callable[..., Any]] = {
    **KINDS,
    **REDUCTIONS,
    **SCANS,
    "where": _where,
    "clip": _clip,
    "round": _round,
    "astype": _astype,
    "matmul": _matmul,
    "dot": _dot,
    **SHAPING,
    **LIKE,
    **COMPLEX,
    **COMPOSED,
    **CONTRACTIONS,
    **NUMERICS,
    **MOVES,
    **TAKES,
    **ARRANGED,
    **SEARCHES,
    **LINEAR,
    **WRITES,
}
FUNCTIONS |= {alias: FUNCTIONS[name] for alias, name in ALIASES.items() if name in FUNCTIONS}
FUNCTIONS["around"] = _round


# Of np.linalg: what it has besides np, and what means something else there.
OF_LINALG = {
    "matmul": FUNCTIONS["matmul"],
    "matrix_transpose": SHAPING["matrix_transpose"],
    **LINALG,
}


def handler_of(function: Any) -> Called | None:
    """The handler of a function of NumPy's itself; None for others, whatever their name is."""
    name = getattr(function, "__name__", "")
    for module, table in ((np, FUNCTIONS), (np.linalg, OF_LINALG)):
        if getattr(module, name, None) is function:
            return called(name, function, table[name]) if name in table else None
    return None


# ufunc.reduce by the reduction that it is.
REDUCES: dict[str, Callable[..., Any]] = {
    "add": FUNCTIONS["sum"],
    "multiply": FUNCTIONS["prod"],
    "maximum": FUNCTIONS["max"],
    "minimum": FUNCTIONS["min"],
    "logical_and": FUNCTIONS["all"],
    "logical_or": FUNCTIONS["any"],
    "fmax": FUNCTIONS["nanmax"],
    "fmin": FUNCTIONS["nanmin"],
    "logaddexp": _logaddexp_reduce,
}

METHODS: dict[str, Callable[..., Any]] = {
    name: FUNCTIONS[name]
    for name in (
        *("sum", "prod", "max", "min", "any", "all", "mean", "var", "std", "round"),
        *("take", "repeat", "argmax", "argmin", "diagonal", "trace", "searchsorted"),
        *("cumsum", "cumprod"),
    )
} | {
    **SHAPING_METHODS,
    "clip": _between,
    "choose": _method_choose,
    "copy": _method_copy,
    "astype": _astype,
    "dot": _dot,
    "conj": conjugated,  # itself, as by NumPy, where nothing is imaginary
    "conjugate": conjugated,
    "fill": _fill,
    "compress": lambda a, condition, axis=None: FUNCTIONS["compress"](condition, a, axis),
}
# Attributes of an array that are views.
PROPERTIES: dict[str, Callable[..., Any]] = {
    **SHAPING_PROPERTIES,
    "real": COMPLEX["real"],
    "imag": COMPLEX["imag"],
    "itemsize": lambda a: a.dtype.itemsize,
    "nbytes": lambda a: a.size * a.dtype.itemsize,
}
