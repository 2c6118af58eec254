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
from opweave.compiler.arrays.reshaping import counted_axes, counted_axis
from opweave.compiler.arrays.traced_operators import is_traced_array
from opweave.compiler.numpy_api.reducing import has_nan, without_nan
from opweave.compiler.numpy_api.registry import numpy_function, unboxed
from opweave.compiler.numpy_api.signatures import NONE
from opweave.opcodes import dtypes
from opweave.opcodes.allowed import shown
from opweave.opcodes.complexes import IMAG, JOIN, REAL
from opweave.opcodes.errors import DTypeError, ShapeError, UnsupportedError


def _along(axis: int, rank: int, part: slice) -> tuple[slice, ...]:
    """An index that takes a part along one axis."""
    whole = [slice(None)] * rank
    whole[axis] = part
    return tuple(whole)


@numpy_function(np.flip, unboxed=True)
def flip(m: Any, axis: Any = None) -> Any:
    back = slice(None, None, -1)
    return reduce(lambda a, d: a[_along(d, a.ndim, back)], counted_axes("flip", axis, m.ndim), m)


numpy_function(np.flipud)(lambda m: np.flip(m, 0))
numpy_function(np.fliplr)(lambda m: np.flip(m, 1))


@numpy_function(np.diff, counted=("axis",))
def diff(a: Any, n: int = 1, axis: int = -1, prepend: Any = NONE, append: Any = NONE) -> Any:
    if prepend is None or append is None:
        raise UnsupportedError("diff: None in front or behind")
    if prepend is not NONE or append is not NONE:
        a = _with_ends(a, axis, prepend, append)
    if n < 0:
        raise ShapeError(f"diff: order must be non-negative, found {shown(int(n))}")
    for _ in range(n):
        upper = a[_along(axis, a.ndim, slice(1, None))]
        lower = a[_along(axis, a.ndim, slice(None, -1))]
        a = upper != lower if a.dtype.kind == "b" else upper - lower
    return a


def _with_ends(a: Any, axis: int, prepend: Any, append: Any) -> Any:
    """An array between two others, or numbers, along an axis."""
    parts = [None if part is NONE else lifted(a.tracer, part) for part in (prepend, append)]
    shape = (*a.shape[:axis], 1, *a.shape[axis + 1 :])
    parts = [np.broadcast_to(p, shape) if p is not None and not p.ndim else p for p in parts]
    return np.concatenate([p for p in (parts[0], a, parts[1]) if p is not None], axis)


@numpy_function(np.ptp)
def ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return a.max(axis=axis, keepdims=keepdims) - a.min(axis=axis, keepdims=keepdims)


@numpy_function(np.count_nonzero)
def count_nonzero(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    """An int64 scalar where NumPy, without an axis, gives a Python number."""
    return (a != 0).sum(axis=axis, keepdims=keepdims, dtype=np.int64)


@numpy_function(np.outer, arrays=("a", "b"), numbers=True)
def outer(a: Any, b: Any) -> Any:
    first, second = (x if x.ndim == 1 else x.reshape(-1) for x in (a, b))
    return first[:, None] * second[None, :]


@numpy_function(np.inner, arrays=("a", "b"), numbers=True, like=lambda a, b, /: 0)
def inner(a: Any, b: Any, /) -> Any:
    if not 1 <= b.ndim <= 2 or not 1 <= a.ndim <= 2:
        raise UnsupportedError(f"inner: arrays of {a.ndim} and {b.ndim} dimensions")
    return a @ b.T


@numpy_function(np.vdot, arrays=("a", "b"), numbers=True, like=lambda a, b, /: 0)
def vdot(a: Any, b: Any, /) -> Any:
    return conjugated(a.reshape(-1)) @ b.reshape(-1)


@numpy_function(np.average)
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
        return (found, unboxed(np.full_like(found, total))) if returned else found
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


@numpy_function(np.trapezoid, counted=("axis",))
def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    if x is not None:
        x = lifted(y.tracer, x)
        dx = np.diff(x) if x.ndim == 1 else np.diff(x, axis=axis)
        if x.ndim == 1:
            dx = dx[(slice(None), *[None] * (y.ndim - 1 - axis))]
    ends = (slice(1, None), slice(None, -1))
    upper, lower = (y[_along(axis, y.ndim, part)] for part in ends)
    return (dx * (upper + lower) / 2.0).sum(axis=axis)


def _weak_kind(item: Any) -> Any:
    """What NumPy promotes by: a dtype, or a number whose type gives way."""
    return getattr(item, "dtype", getattr(item, "example", item))


def _kind_of(item: Any) -> np.dtype[Any]:
    return np.result_type(_weak_kind(item))


@numpy_function(np.select, arrays=())
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


@numpy_function(np.piecewise, arrays=())
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


numpy_function(np.isposinf)(lambda x: x == np.inf)
numpy_function(np.isneginf)(lambda x: x == -np.inf)


@numpy_function(np.isclose, arrays=("a", "b"))
def isclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    if hasattr(b, "dtype"):
        b = b.astype(np.result_type(b.dtype, 1.0))  # NumPy subtracts in a type that holds both
    elif isinstance(b, int):
        b = float(b)
    close = (abs(a - b) <= atol + rtol * abs(b)) & np.isfinite(b) | (a == b)
    return close | (np.isnan(a) & np.isnan(b)) if equal_nan else close


@numpy_function(np.allclose, arrays=("a", "b"))
def allclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    close = isclose(a, b, rtol, atol, equal_nan).all()
    return close.tracer.truth(close, "allclose")


@numpy_function(np.nan_to_num, unboxed=True)
def nan_to_num(
    x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Any:
    if not has_nan(x) or dtypes.of(x.dtype) is dtypes.BF16:  # which NumPy takes for no float
        return x.copy() if copy else x
    if is_complex(x):
        found = JOIN(*(nan_to_num(part(x), True, nan, posinf, neginf) for part in (REAL, IMAG)))
    else:
        limits = _limits(x.dtype)
        high = limits.max if posinf is None else posinf
        low = limits.min if neginf is None else neginf
        found = np.where(np.isnan(x), nan, x)
        found = np.where(x == np.inf, high, np.where(x == -np.inf, low, found)).astype(x.dtype)
    if copy:
        return found
    x[...] = found
    return x


def _limits(dtype: Any) -> Any:
    if dtype.kind == "f":
        return np.finfo(dtype)
    raise UnsupportedError(f"nan_to_num: {dtype}")


@numpy_function(np.nansum)
def nansum(a: Any, axis: Any = None, **options: Any) -> Any:
    return without_nan(a, 0).sum(axis=axis, **options)


@numpy_function(np.nanprod)
def nanprod(a: Any, axis: Any = None, **options: Any) -> Any:
    return without_nan(a, 1).prod(axis=axis, **options)


def _extreme(name: str, fill: float) -> Callable[..., Any]:
    """The largest or smallest that is not NaN; NaN where there is none."""

    def handler(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        if not has_nan(a):
            return getattr(a, name)(axis=axis, keepdims=keepdims)
        lost, last = np.isnan(a), complex(fill, fill) if is_complex(a) else fill
        found = getattr(np.where(lost, last, a), name)(axis=axis, keepdims=keepdims)
        return unboxed(np.where(lost.all(axis=axis, keepdims=keepdims), np.nan, found))

    return handler


numpy_function(np.nanmax, reduces=np.fmax)(_extreme("max", -np.inf))
numpy_function(np.nanmin, reduces=np.fmin)(_extreme("min", np.inf))


def _count(a: Any, axis: Any, keepdims: bool) -> Any:
    """How many are not NaN."""
    return (~np.isnan(a)).sum(axis=axis, keepdims=keepdims, dtype=np.int64)


@numpy_function(np.nanmean)
def nanmean(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    if not has_nan(a):
        return a.mean(axis=axis, keepdims=keepdims)
    total = without_nan(a, 0).sum(axis=axis, keepdims=keepdims)
    return (total / _count(a, axis, keepdims)).astype(a.dtype)


@numpy_function(np.nanvar)
def nanvar(a: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
    if not has_nan(a):
        return a.var(axis=axis, ddof=ddof, keepdims=keepdims)
    apart = np.where(np.isnan(a), 0, a - nanmean(a, axis, keepdims=True))
    total = squared_size(apart).sum(axis=axis, keepdims=keepdims)
    degrees = _count(a, axis, keepdims) - ddof
    return unboxed(np.where(degrees > 0, (total / degrees).astype(total.dtype), np.nan))


@numpy_function(np.nanstd)
def nanstd(a: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
    return np.sqrt(nanvar(a, axis, ddof=ddof, keepdims=keepdims))


def _each(raised: Callable[[Any], Any]) -> Callable[..., Any]:
    """A function of one array as one of any number of them."""

    def handler(*arrays: Any) -> Any:
        made = tuple(map(raised, arrays))
        return made[0] if len(made) == 1 else made

    return handler


numpy_function(np.atleast_1d, arrays=("arrays",))(_each(lambda a: a if a.ndim else a[None]))
numpy_function(np.atleast_2d, arrays=("arrays",))(
    _each(lambda a: a if a.ndim > 1 else a[(None,) * (2 - a.ndim)])
)
# NumPy puts the axis of a vector in the middle, and those of a matrix in front.
BEHIND = {0: (None, None, None), 1: (None, slice(None), None), 2: (..., None)}
numpy_function(np.atleast_3d, arrays=("arrays",))(
    _each(lambda a: a[BEHIND[a.ndim]] if a.ndim in BEHIND else a)
)
