"""NumPy's functions that are made of others: each as NumPy computes it, on traced arrays.

A handler refuses arguments that it has no meaning for, by its signature or an
``UnsupportedError``; NumPy then runs the line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from opweave.compiler.complexes import is_complex, squared_size
from opweave.compiler.reshaping import counted_axis
from opweave.opcodes import dtypes
from opweave.opcodes.errors import ShapeError, UnsupportedError


def _is_float(a: Any) -> bool:
    return hasattr(a, "dtype") and dtypes.of(a.dtype).is_float


def _floats(name: str, *arrays: Any) -> None:
    """Refuse what is no array of floats.

    Raises:
        UnsupportedError: one is something else.
    """
    for a in arrays:
        if not _is_float(a):
            found = getattr(a, "dtype", type(a).__name__)
            raise UnsupportedError(f"{name}: expected arrays of floats, found {found}")


def _along(name: str, axis: Any, rank: int, part: slice) -> tuple[slice, ...]:
    """An index that takes a part along one axis."""
    whole = [slice(None)] * rank
    whole[counted_axis(name, axis, rank)] = part
    return tuple(whole)


def flip(m: Any, axis: Any = None) -> Any:
    axes = range(m.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return reduce(lambda a, d: a[_along("flip", d, a.ndim, slice(None, None, -1))], axes, m)


def diff(a: Any, n: int = 1, axis: int = -1) -> Any:
    for _ in range(n):
        upper = a[_along("diff", axis, a.ndim, slice(1, None))]
        lower = a[_along("diff", axis, a.ndim, slice(None, -1))]
        a = upper != lower if a.dtype.kind == "b" else upper - lower
    return a


def ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return a.max(axis=axis, keepdims=keepdims) - a.min(axis=axis, keepdims=keepdims)


def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """An int64 scalar where NumPy, without an axis, gives a Python number."""
    return (a != 0).sum(axis=axis, keepdims=keepdims, dtype=np.int64)


def outer(a: Any, b: Any) -> Any:
    first, second = (x if x.ndim == 1 else x.reshape(-1) for x in (a, b))
    return first[:, None] * second[None, :]


def inner(a: Any, b: Any, /) -> Any:
    if not 1 <= b.ndim <= 2 or not 1 <= a.ndim <= 2:
        raise UnsupportedError(f"inner: arrays of {a.ndim} and {b.ndim} dimensions")
    return a @ b.T


def vdot(a: Any, b: Any, /) -> Any:
    return np.conjugate(a.reshape(-1)) @ b.reshape(-1)


def average(a: Any, axis: Any = None, weights: Any = None, *, keepdims: bool = False) -> Any:
    if weights is None:
        return a.mean(axis=axis, keepdims=keepdims)
    if getattr(weights, "ndim", 0) != a.ndim:
        raise UnsupportedError("average: expected weights of as many dimensions as the array")
    total = weights.sum(axis=axis, keepdims=keepdims)
    return (a * weights).sum(axis=axis, keepdims=keepdims) / total


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    if x is not None:
        if x.ndim != 1 or axis not in (-1, y.ndim - 1):
            raise UnsupportedError("trapezoid: expected points of one dimension, along the last")
        dx = diff(x)
    ends = (slice(1, None), slice(None, -1))
    upper, lower = (y[_along("trapezoid", axis, y.ndim, part)] for part in ends)
    return (dx * (upper + lower) / 2.0).sum(axis=axis)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    if len(condlist) != len(choicelist):
        raise ShapeError(f"select: {len(condlist)} conditions for {len(choicelist)} choices")
    kinds = [getattr(c, "dtype", getattr(c, "example", c)) for c in (*choicelist, default)]
    common = np.result_type(*kinds)

    def typed(choice: Any) -> Any:
        return common.type(choice) if type(choice) in (bool, int, float) else choice

    pairs = reversed(list(zip(condlist, choicelist, strict=True)))
    return reduce(lambda rest, p: np.where(p[0], typed(p[1]), rest), pairs, typed(default))


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Each function of the whole array, and of its elements those that the condition picks.

    Raises:
        UnsupportedError: a function that is not elementwise: NumPy calls it with a part.
        ShapeError: neither as many functions as conditions, nor one more.
    """
    conditions = list(condlist) if isinstance(condlist, tuple | list) else [condlist]
    if any(getattr(condition, "ndim", 0) not in (0, x.ndim) for condition in conditions):
        raise UnsupportedError("piecewise: conditions as rows of one array")
    if len(funclist) == len(conditions) + 1:
        *functions, default = funclist
        found = _piece(default, x, args, kw)
    else:
        functions, found = list(funclist), x.dtype.type(0)
    if len(functions) != len(conditions):
        raise ShapeError(f"piecewise: {len(funclist)} functions for {len(conditions)} conditions")
    for condition, function in zip(conditions, functions, strict=True):
        found = np.where(condition, _piece(function, x, args, kw), found)
    return found


def _piece(function: Any, x: Any, args: Any, kw: Any) -> Any:
    if not callable(function):
        return x.dtype.type(function)
    nodes = x.tracer.builder.nodes
    before = len(nodes)
    found = function(x, *args, **kw)
    if not all(node.is_map for node in nodes[before:]):
        raise UnsupportedError("piecewise: a function that is not elementwise")
    return found.astype(x.dtype) if hasattr(found, "value") else x.dtype.type(found)


def isclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    _floats("isclose", *(x for x in (a, b) if not isinstance(x, int | float)))
    close = (abs(a - b) <= atol + rtol * abs(b)) & np.isfinite(b) | (a == b)
    return close | (np.isnan(a) & np.isnan(b)) if equal_nan else close


def allclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    return isclose(a, b, rtol, atol, equal_nan).all()


def nan_to_num(
    x: Any, copy: bool = True, nan: float = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    if not copy:
        raise UnsupportedError("nan_to_num: copy=False writes into its argument")
    _floats("nan_to_num", x)
    top = dtypes.of(x.dtype).numpy.type
    limits = np.finfo(top) if x.dtype.kind == "f" else None
    if limits is None:
        raise UnsupportedError(f"nan_to_num: {x.dtype}")
    high = limits.max if posinf is None else posinf
    low = limits.min if neginf is None else neginf
    x = np.where(np.isnan(x), nan, x)
    return np.where(x == np.inf, high, np.where(x == -np.inf, low, x))


def _without_nan(name: str, fill: float) -> Callable[..., Any]:
    """A reduction that takes NaN for what changes nothing."""

    def handler(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        filled = np.where(np.isnan(a), fill, a) if _is_float(a) else a
        return getattr(filled, name)(axis=axis, keepdims=keepdims)

    return handler


def _extreme(name: str, fill: float) -> Callable[..., Any]:
    """The largest or smallest that is not NaN; NaN where there is none."""

    def handler(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        if not _is_float(a):
            return getattr(a, name)(axis=axis, keepdims=keepdims)
        lost = np.isnan(a)
        found = getattr(np.where(lost, fill, a), name)(axis=axis, keepdims=keepdims)
        return np.where(lost.all(axis=axis, keepdims=keepdims), np.nan, found)

    return handler


def _count(a: Any, axis: Any, keepdims: bool) -> Any:
    """How many are not NaN."""
    return (~np.isnan(a)).sum(axis=axis, keepdims=keepdims, dtype=np.int64)


def nanmean(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    if not _is_float(a):
        return a.mean(axis=axis, keepdims=keepdims)
    total = np.where(np.isnan(a), 0, a).sum(axis=axis, keepdims=keepdims)
    return (total / _count(a, axis, keepdims)).astype(a.dtype)


def nanvar(a: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
    if not _is_float(a):
        return a.var(axis=axis, ddof=ddof, keepdims=keepdims)
    apart = np.where(np.isnan(a), 0, a - nanmean(a, axis, keepdims=True))
    total = (apart * apart).sum(axis=axis, keepdims=keepdims)
    degrees = _count(a, axis, keepdims) - ddof
    return np.where(degrees > 0, (total / degrees).astype(a.dtype), np.nan)


def nanstd(a: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
    return np.sqrt(nanvar(a, axis, ddof=ddof, keepdims=keepdims))


def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Of vectors; of a matrix without an axis, Frobenius."""
    if not is_complex(x):
        _floats("norm", x)
    if ord is not None and not (isinstance(axis, int) or (axis is None and x.ndim == 1)):
        raise UnsupportedError("norm: orders of matrix norms; give one axis")
    if ord is None or ord == 2:
        return np.sqrt(squared_size(x).sum(axis=axis, keepdims=keepdims))
    sizes = abs(x)
    if ord in (1, np.inf, -np.inf):
        name = {1: "sum", np.inf: "max", -np.inf: "min"}[ord]
        return getattr(sizes, name)(axis=axis, keepdims=keepdims)
    raise UnsupportedError(f"norm: ord={ord!r}: expected None, 1, 2, inf or -inf")


def _at_least(rank: int) -> Callable[..., Any]:
    places = {1: (None,), 2: (None, slice(None)), 3: (None, slice(None), None)}

    def handler(*arrays: Any) -> Any:
        made = []
        for a in arrays:
            if rank == 3 and a.ndim == 2:
                a = a[:, :, None]
            elif a.ndim < rank:
                index = places[a.ndim + 1] if a.ndim else (None,) * rank
                a = a[index] if rank - a.ndim == 1 or not a.ndim else a[None, :, None]
            made.append(a)
        return made[0] if len(made) == 1 else tuple(made)

    return handler


COMPOSED: dict[str, Callable[..., Any]] = {
    "flip": flip,
    "fliplr": lambda m: flip(m, 1),
    "flipud": lambda m: flip(m, 0),
    "diff": diff,
    "ptp": ptp,
    "count_nonzero": count_nonzero,
    "outer": outer,
    "inner": inner,
    "vdot": vdot,
    "average": average,
    "trapezoid": trapezoid,
    "select": select,
    "piecewise": piecewise,
    "isposinf": lambda x: x == np.inf,
    "isneginf": lambda x: x == -np.inf,
    "isclose": isclose,
    "allclose": allclose,
    "nan_to_num": nan_to_num,
    "nansum": _without_nan("sum", 0),
    "nanprod": _without_nan("prod", 1),
    "nanmax": _extreme("max", -np.inf),
    "nanmin": _extreme("min", np.inf),
    "nanmean": nanmean,
    "nanvar": nanvar,
    "nanstd": nanstd,
    "norm": norm,
    "atleast_1d": _at_least(1),
    "atleast_2d": _at_least(2),
    "atleast_3d": _at_least(3),
}
