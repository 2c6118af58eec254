"""NumPy's functions and array methods, as handlers over traced values: tables of data.

A handler has the NumPy function's own signature, as far as opweave compiles it; an argument that
it does not name is refused, never ignored.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opweave.opcodes import ALIASES, OPERATORS
from opweave.opcodes.core import Kind, Operator
from opweave.opcodes.errors import ShapeError, UnsupportedError


def apply(operator: Operator, *operands: Any, **attrs: Any) -> Any:
    """Apply an operator through the first operand that is traced."""
    for operand in operands:
        if hasattr(operand, "__opweave_apply__"):
            return operand.__opweave_apply__(operator, operands, attrs)
    raise UnsupportedError(f"{operator.name}: no operand is traced")


def single_axis(name: str, axis: Any, array: Any) -> int | None:
    """Reductions go over one axis or over all."""
    if isinstance(axis, tuple):
        if len(axis) == 1:
            return int(axis[0])
        rank = getattr(array, "ndim", 0)
        if axis and sorted(a % rank for a in axis if -rank <= a < rank) == list(range(rank)):
            return None
        raise UnsupportedError(
            f"{name}: axis={axis}: opweave reduces over one axis or over all of them; reduce one "
            "axis after the other, or reshape outside the fused function"
        )
    if axis is None:
        return None
    try:
        return int(axis.__index__())
    except AttributeError:
        raise ShapeError(f"{name}: axis must be an integer or None, found {axis!r}") from None


def _statistic(operator: Operator) -> Callable[..., Any]:
    def handler(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        axis = single_axis(operator.name, axis, a)
        return apply(operator, a, axis=axis, keepdims=bool(keepdims))

    return handler


def _summation(operator: Operator) -> Callable[..., Any]:
    def handler(a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False) -> Any:
        axis = single_axis(operator.name, axis, a)
        name = None if dtype is None else _dtype_name(dtype)
        return apply(operator, a, axis=axis, keepdims=bool(keepdims), dtype=name)

    return handler


def _spread(operator: Operator) -> Callable[..., Any]:
    def handler(a: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
        axis = single_axis(operator.name, axis, a)
        return apply(operator, a, axis=axis, keepdims=bool(keepdims), ddof=ddof)

    return handler


def _dtype_name(dtype: Any) -> str:
    from opweave.opcodes import dtypes

    return dtypes.of(dtype).numpy_name


def _where(condition: Any, x: Any, y: Any, /) -> Any:
    return apply(OPERATORS["where"], condition, x, y)


def _clip(
    a: Any, a_min: Any = None, a_max: Any = None, *, min: Any = None, max: Any = None
) -> Any:
    low = a_min if a_min is not None else min
    high = a_max if a_max is not None else max
    if low is None or high is None:
        name, bound = ("minimum", high) if low is None else ("maximum", low)
        return apply(OPERATORS["positive" if bound is None else name], *_pair(a, bound))
    return apply(OPERATORS["clip"], a, low, high)


def _pair(a: Any, bound: Any) -> tuple[Any, ...]:
    return (a,) if bound is None else (a, bound)


def _round(a: Any, decimals: int = 0) -> Any:
    if a.dtype.kind != "f" and a.dtype.name != "bfloat16":
        if decimals >= 0:
            return apply(OPERATORS["positive"], a)
        raise UnsupportedError("round: negative decimals of integers are not supported")
    if decimals == 0:
        return apply(OPERATORS["rint"], a)
    scale = 10.0 ** abs(decimals)
    return _rescaled(a, scale, decimals > 0)


def _rescaled(a: Any, scale: float, up: bool) -> Any:
    if up:
        return apply(OPERATORS["rint"], a * scale) / scale
    return apply(OPERATORS["rint"], a / scale) * scale


def _astype(a: Any, dtype: Any, *, copy: bool = True) -> Any:
    return apply(OPERATORS["cast"], a, dtype=_dtype_name(dtype))


UFUNCS: dict[str, Operator] = {
    name: row for name, row in OPERATORS.items() if row.kind is Kind.MAP and name != "cast"
} | {"true_divide": OPERATORS["divide"], "conjugate": OPERATORS["positive"]}

FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _summation(OPERATORS[name]) for name in ("sum", "prod")},
    **{name: _statistic(OPERATORS[name]) for name in ("max", "min", "any", "all", "mean")},
    **{name: _spread(OPERATORS[name]) for name in ("var", "std")},
    "where": _where,
    "clip": _clip,
    "round": _round,
    "astype": _astype,
}
FUNCTIONS |= {alias: FUNCTIONS[name] for alias, name in ALIASES.items() if name in FUNCTIONS}
FUNCTIONS["around"] = _round

METHODS: dict[str, Callable[..., Any]] = {
    name: FUNCTIONS[name]
    for name in ("sum", "prod", "max", "min", "any", "all", "mean", "var", "std", "clip", "round")
} | {"astype": _astype}
