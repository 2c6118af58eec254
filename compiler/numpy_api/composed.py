"""NumPy's functions that are made of others: each as NumPy computes it, on traced arrays.

A handler refuses arguments that it has no meaning for, by its signature or an
``UnsupportedError``; NumPy then runs the line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from opweave.compiler.arrays.complexes import conjugated, is_complex, squared_size
from opweave.compiler.arrays.lifting import lifted, tracer_of, weak_or_lifted
from opweave.compiler.arrays.reshaping import counted_axis
from opweave.compiler.arrays.traced_operators import is_traced_array
from opweave.compiler.numpy_api.signatures import NONE
from opweave.opcodes import dtypes
from opweave.opcodes.allowed import shown
from opweave.opcodes.complexes import IMAG, JOIN, REAL
from opweave.opcodes.errors import DTypeError, ShapeError, UnsupportedError


def _is_float(a: Any) -> bool:
    return hasattr(a, "dtype") and dtypes.of(a.dtype).is_float


def _has_nan(a: Any) -> bool:
    """True for a type with a NaN."""
    return _is_float(a) or is_complex(a)


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
    turned = reduce(lambda a, d: a[_along("flip", d, a.ndim, slice(None, None, -1))], axes, m)
    return _unboxed(turned)


def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = NONE, append: Any = NONE) -> Any:
    if prepend is None or append is None:
        raise UnsupportedError("diff: None in front or behind")
    if prepend is not NONE or append is not NONE:
        a = _with_ends(a, counted_axis("diff", axis, a.ndim), prepend, append)
    if n < 0:
        raise ShapeError(f"diff: order must be non-negative, found {shown(int(n))}")
    for _ in range(n):
        upper = a[_along("diff", axis, a.ndim, slice(1, None))]
        lower = a[_along("diff", axis, a.ndim, slice(None, -1))]
        a = upper != lower if a.dtype.kind == "b" else upper - lower
    return a


def _with_ends(a: Any, axis: int, prepend: Any, append: Any) -> Any:
    """An array between two others, or numbers, along an axis."""
    parts = [None if part is NONE else lifted(a.tracer, part) for part in (prepend, append)]
    shape = (*a.shape[:axis], 1, *a.shape[axis + 1 :])
    parts = [np.broadcast_to(p, shape) if p is not None and not p.ndim else p for p in parts]
    return np.concatenate([p for p in (parts[0], a, parts[1]) if p is not None], axis)


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
    return conjugated(a.reshape(-1)) @ b.reshape(-1)


def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """
    Raises:
        UnsupportedError: weights that are neither of the array's dimensions nor along one axis.
    """
    if weights is None:
        found = a.mean(axis=axis, keepdims=keepdims)
        total: Any = a.size / found.size if found.ndim else a.size
        return (found, _unboxed(np.full_like(found, total))) if returned else found
    weights = lifted(a.tracer, weights)
    if weights.ndim != a.ndim:
        if weights.ndim != 1 or axis is None or isinstance(axis, tuple):
            raise UnsupportedError("average: expected weights of as many dimensions as the array")
        behind = a.ndim - 1 - counted_axis("average", axis, a.ndim)
        weights = np.broadcast_to(weights[(slice(None), *[None] * behind)], a.shape)
    whole = a.dtype.kind in "biu"
    to = np.result_type(a.dtype, weights.dtype, *(["f8"] if whole else []))
    total = weights.sum(axis=axis, keepdims=keepdims, dtype=to)
    product = a.astype(to) * weights.astype(to)
    found = product.sum(axis=axis, keepdims=keepdims) / total
    return (found, total) if returned else found


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    axis = counted_axis("trapezoid", axis, y.ndim)
    if x is not None:
        x = lifted(y.tracer, x)
        dx = diff(x) if x.ndim == 1 else diff(x, axis=axis)
        if x.ndim == 1:
            dx = dx[(slice(None), *[None] * (y.ndim - 1 - axis))]
    ends = (slice(1, None), slice(None, -1))
    upper, lower = (y[_along("trapezoid", axis, y.ndim, part)] for part in ends)
    return (dx * (upper + lower) / 2.0).sum(axis=axis)


def _weak_kind(item: Any) -> Any:
    """What NumPy promotes by: a dtype, or a number whose type gives way."""
    return getattr(item, "dtype", getattr(item, "example", item))


def _kind_of(item: Any) -> np.dtype[Any]:
    return np.result_type(_weak_kind(item))


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    if len(condlist) != len(choicelist):
        raise ShapeError(f"select: {len(condlist)} conditions for {len(choicelist)} choices")
    tracer = tracer_of(list(condlist), list(choicelist), default)
    condlist = [weak_or_lifted(tracer, condition) for condition in condlist]
    for place, kind in enumerate(map(_kind_of, condlist)):
        if kind != np.bool_:
            raise DTypeError(f"select: condition {place}: expected booleans, found {kind}")
    common = np.result_type(*(_weak_kind(c) for c in (*choicelist, default)))

    def typed(choice: Any) -> Any:
        return common.type(choice) if type(choice) in (bool, int, float) else choice

    pairs = reversed(list(zip(condlist, choicelist, strict=True)))
    return reduce(lambda rest, p: np.where(p[0], typed(p[1]), rest), pairs, typed(default))


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Each function of the whole array, and of its elements those that the condition picks.

    Raises:
        UnsupportedError: a function that is not elementwise: NumPy calls it with a part.  In parts
            any function: NumPy calls those whose part is not empty.
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
    if not x.tracer.selects:
        raise UnsupportedError("piecewise: functions, which NumPy calls with parts")
    nodes = x.tracer.builder.nodes
    before = len(nodes)
    found = function(x, *args, **kw)
    if not all(node.is_map for node in nodes[before:]):
        raise UnsupportedError("piecewise: a function that is not elementwise")
    return found.astype(x.dtype) if is_traced_array(found) else x.dtype.type(found)


def isclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    tracer = tracer_of(a, b, rtol, atol)
    a, b = weak_or_lifted(tracer, a), weak_or_lifted(tracer, b)
    if hasattr(b, "dtype"):
        b = b.astype(np.result_type(b.dtype, 1.0))  # NumPy subtracts in a type that holds both
    elif isinstance(b, int):
        b = float(b)
    close = (abs(a - b) <= atol + rtol * abs(b)) & np.isfinite(b) | (a == b)
    return close | (np.isnan(a) & np.isnan(b)) if equal_nan else close


def allclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    tracer = tracer_of(a, b, rtol, atol)
    return tracer.truth(isclose(a, b, rtol, atol, equal_nan).all(), "allclose")


def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    if not _has_nan(x) or dtypes.of(x.dtype) is dtypes.BF16:  # which NumPy takes for no float
        return _unboxed(x.copy() if copy else x)
    if is_complex(x):
        found = JOIN(*(nan_to_num(part(x), True, nan, posinf, neginf) for part in (REAL, IMAG)))
    else:
        limits = _limits(x.dtype)
        high = limits.max if posinf is None else posinf
        low = limits.min if neginf is None else neginf
        found = np.where(np.isnan(x), nan, x)
        found = np.where(x == np.inf, high, np.where(x == -np.inf, low, found)).astype(x.dtype)
    if copy:
        return _unboxed(found)
    x[...] = found
    return _unboxed(x)


def _limits(dtype: Any) -> Any:
    if dtype.kind == "f":
        return np.finfo(dtype)
    raise UnsupportedError(f"nan_to_num: {dtype}")


def _without_nan(name: str, fill: float) -> Callable[..., Any]:
    """A reduction that takes NaN for what changes nothing."""

    def handler(a: Any, axis: Any = None, **options: Any) -> Any:
        filled = np.where(np.isnan(a), fill, a) if _has_nan(a) else a
        return getattr(filled, name)(axis=axis, **options)

    return handler


def _extreme(name: str, fill: float) -> Callable[..., Any]:
    """The largest or smallest that is not NaN; NaN where there is none."""

    def handler(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        if not _has_nan(a):
            return getattr(a, name)(axis=axis, keepdims=keepdims)
        lost, last = np.isnan(a), complex(fill, fill) if is_complex(a) else fill
        found = getattr(np.where(lost, last, a), name)(axis=axis, keepdims=keepdims)
        return _unboxed(np.where(lost.all(axis=axis, keepdims=keepdims), np.nan, found))

    return handler


def _unboxed(found: Any) -> Any:
    """Of an array without dimensions the number that NumPy returns."""
    return found if found.ndim else found[()]


def _count(a: Any, axis: Any, keepdims: bool) -> Any:
    """How many are not NaN."""
    return (~np.isnan(a)).sum(axis=axis, keepdims=keepdims, dtype=np.int64)


def nanmean(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    if not _has_nan(a):
        return a.mean(axis=axis, keepdims=keepdims)
    total = np.where(np.isnan(a), 0, a).sum(axis=axis, keepdims=keepdims)
    return (total / _count(a, axis, keepdims)).astype(a.dtype)


def nanvar(a: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
    if not _has_nan(a):
        return a.var(axis=axis, ddof=ddof, keepdims=keepdims)
    apart = np.where(np.isnan(a), 0, a - nanmean(a, axis, keepdims=True))
    total = squared_size(apart).sum(axis=axis, keepdims=keepdims)
    degrees = _count(a, axis, keepdims) - ddof
    return _unboxed(np.where(degrees > 0, (total / degrees).astype(total.dtype), np.nan))


def nanstd(a: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
    return np.sqrt(nanvar(a, axis, ddof=ddof, keepdims=keepdims))


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
    "atleast_1d": _at_least(1),
    "atleast_2d": _at_least(2),
    "atleast_3d": _at_least(3),
}
