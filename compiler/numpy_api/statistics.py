"""Extremes, averages and variances."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.compiler.arrays.complexes import is_complex, squared_size
from opweave.compiler.arrays.lifting import lifted
from opweave.compiler.arrays.reshaping import counted_axis
from opweave.compiler.arrays.traced_operators import is_traced
from opweave.compiler.numpy_api.common import (
    apply,
    axis_of,
    check_count,
    has_nan,
    in_type,
    is_empty,
    mask_of,
    of_type,
    reduced,
    weak_kind,
    without_nan,
)
from opweave.compiler.numpy_api.registry import numpy_function, unboxed
from opweave.opcodes import OPERATORS, dtypes, rules
from opweave.opcodes.errors import ShapeError, UnsupportedError


def _extremum(name: str, pair: Callable[..., Any]) -> Callable[..., Any]:
    def handler(
        a: Any, axis: Any = None, *, keepdims: bool = False, initial: Any = None,
        where: Any = True,
    ) -> Any:  # fmt: skip
        if initial is None:
            if where is not True:
                raise UnsupportedError(f"{name}(where=...): give initial= too, as for NumPy")
            return reduced(name, a, axis, keepdims)
        initial = of_type(a.dtype, initial)
        if is_empty(a, axis):
            nothing = np.any(a, axis=axis, keepdims=keepdims)
            return np.full_like(nothing, initial, dtype=a.dtype)[... if nothing.ndim else ()]
        chosen = a if where is True else np.where(mask_of(where, a), a, initial)
        return pair(reduced(name, chosen, axis, keepdims), initial)

    return handler


numpy_function(np.max, np.amax, np.ndarray.max, reduces=np.maximum)(_extremum("max", np.maximum))
numpy_function(np.min, np.amin, np.ndarray.min, reduces=np.minimum)(_extremum("min", np.minimum))


@numpy_function(np.ptp)
def ptp(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    return a.max(axis=axis, keepdims=keepdims) - a.min(axis=axis, keepdims=keepdims)


def _extreme(name: str, fill: float) -> Callable[..., Any]:
    """The largest or smallest of the elements that are not NaN; NaN if all are."""

    def handler(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
        if not has_nan(a):
            return getattr(a, name)(axis=axis, keepdims=keepdims)
        lost, last = np.isnan(a), complex(fill, fill) if is_complex(a) else fill
        found = getattr(np.where(lost, last, a), name)(axis=axis, keepdims=keepdims)
        return unboxed(np.where(lost.all(axis=axis, keepdims=keepdims), np.nan, found))

    return handler


numpy_function(np.nanmax, reduces=np.fmax)(_extreme("max", -np.inf))
numpy_function(np.nanmin, reduces=np.fmin)(_extreme("min", np.inf))


@numpy_function(np.mean, np.ndarray.mean)
def _mean(
    a: Any, axis: Any = None, dtype: Any = None, *, keepdims: bool = False, where: Any = True
) -> Any:
    if dtype is not None and dtypes.of(dtype).kind in "iu":
        return _whole_mean(a, axis_of("mean", axis), dtype, keepdims, where)
    a = in_type("mean", a, dtype)
    if where is True:
        check_count("mean", a, axis)
        return reduced("mean", a, axis, keepdims)
    axis = axis_of("mean", axis)
    wide = _widened(a)
    total = np.where(mask_of(where, a), wide, 0).sum(axis=axis, keepdims=keepdims)
    count = np.broadcast_to(where, a.shape).sum(axis=axis, keepdims=keepdims)
    found = (total / count).astype(wide.dtype)
    return found if wide is a or a.dtype.kind in "biu" else found.astype(a.dtype)


def _widened(a: Any) -> Any:
    """An array in the type in which its mean is computed: of integers float64."""
    if dtypes.of(a.dtype).round != "":  # a type of 16 bits
        return a.astype(np.float32)
    return a if a.dtype.kind in "fc" else a.astype(float)


def _chosen(where: Any, a: Any) -> Any:
    return np.full_like(a, True, bool) if where is True else np.broadcast_to(where, a.shape)


def _whole_mean(a: Any, axis: Any, dtype: Any, keepdims: bool, where: Any) -> Any:
    """A mean in a type of integers: as by NumPy, sum and quotient are converted to it."""
    total = a.sum(axis=axis, dtype=dtype, keepdims=keepdims, where=where)
    return (total / _chosen(where, a).sum(axis=axis, keepdims=keepdims)).astype(total.dtype)


def _spread(
    name: str, a: Any, axis: Any, dtype: Any, *, ddof: int = 0, keepdims: bool = False,
    where: Any = True, mean: Any = None, correction: Any = None,
) -> Any:  # fmt: skip
    """A variance or a standard deviation."""
    if ddof and correction is not None:
        raise UnsupportedError("ddof= and correction= are one argument: expected one of them")
    ddof = ddof if correction is None else correction
    axis, a = axis_of(name, axis), in_type(name, a, dtype)
    _check_mean(name, a, mean)
    if where is True and mean is None:
        check_count(name, a, axis, ddof)
        return reduced(name, a, axis, keepdims, ddof=ddof)
    found = _variance(a, axis, ddof, bool(keepdims), where, mean)
    found = np.sqrt(found) if name == "std" else found
    return found.astype(a.dtype) if dtypes.of(a.dtype).is_float else found


def _check_mean(name: str, a: Any, mean: Any) -> None:
    """
    Raises:
        UnsupportedError: differences from this mean are of another type than the result here.
    """
    to = a.dtype if a.dtype.kind in "fc" else np.dtype(float)
    if mean is not None and np.result_type(a.dtype, weak_kind(mean)) != to:
        raise UnsupportedError(f"{name}: mean= of another type than the array")


def _variance(a: Any, axis: Any, ddof: Any, keepdims: bool, where: Any, mean: Any) -> Any:
    """A variance with ``where=`` or ``mean=``."""
    wide = _widened(a)
    middle = _mean(wide, axis, keepdims=True, where=where) if mean is None else mean
    squares = squared_size(wide - middle)
    chosen = _chosen(where, a)
    total = np.where(chosen, squares, 0).sum(axis=axis, keepdims=keepdims)
    count = chosen.sum(axis=axis, keepdims=keepdims)
    return (total / np.maximum(count - ddof, 0)).astype(squares.dtype)


def _like_spread(
    self: Any, axis: Any = None, dtype: Any = None, out: Any = None, ddof: float = 0,
    keepdims: bool = False, *, where: Any = True, mean: Any = None,
) -> None:  # fmt: skip
    """The signature of ``ndarray.var`` and ``ndarray.std``."""


@numpy_function(np.var)
@numpy_function(np.ndarray.var, like=_like_spread)
def var(a: Any, axis: Any = None, dtype: Any = None, **options: Any) -> Any:
    return _spread("var", a, axis, dtype, **options)


@numpy_function(np.std)
@numpy_function(np.ndarray.std, like=_like_spread)
def std(a: Any, axis: Any = None, dtype: Any = None, **options: Any) -> Any:
    return _spread("std", a, axis, dtype, **options)


def _count(a: Any, axis: Any, keepdims: bool) -> Any:
    """How many elements are not NaN."""
    return (~np.isnan(a)).sum(axis=axis, keepdims=keepdims, dtype=np.int64)


@numpy_function(np.nanmean)
def nanmean(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    check_count("nanmean", a, axis)
    if not has_nan(a):
        return a.mean(axis=axis, keepdims=keepdims)
    total = without_nan(a, 0).sum(axis=axis, keepdims=keepdims)
    return (total / _count(a, axis, keepdims)).astype(a.dtype)


@numpy_function(np.nanvar)
def nanvar(a: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
    check_count("nanvar", a, axis, ddof)
    if not has_nan(a):
        return a.var(axis=axis, ddof=ddof, keepdims=keepdims)
    apart = np.where(np.isnan(a), 0, a - nanmean(a, axis, keepdims=True))
    total = squared_size(apart).sum(axis=axis, keepdims=keepdims)
    degrees = _count(a, axis, keepdims) - ddof
    return unboxed(np.where(degrees > 0, (total / degrees).astype(total.dtype), np.nan))


@numpy_function(np.nanstd)
def nanstd(a: Any, axis: Any = None, *, ddof: int = 0, keepdims: bool = False) -> Any:
    check_count("nanstd", a, axis, ddof)
    return np.sqrt(nanvar(a, axis, ddof=ddof, keepdims=keepdims))


@numpy_function(np.average)
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, *,
    keepdims: bool = False,
) -> Any:  # fmt: skip
    """
    Raises:
        UnsupportedError: the weights have neither as many dimensions as the array nor one.
    """
    if weights is None:
        check_count("average", a, axis)
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


@numpy_function(reduces=np.logaddexp)
def _logaddexp_reduce(a: Any, axis: Any = None, *, keepdims: bool = False) -> Any:
    if is_empty(a, axis):
        raise UnsupportedError("logaddexp.reduce: of an empty axis")
    wide = a.astype(rules.float_of(dtypes.of(a.dtype)).numpy)
    return apply(OPERATORS["logsumexp"], wide, axis=axis, keepdims=bool(keepdims))


@numpy_function(np.digitize)
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    """
    Raises:
        UnsupportedError: bins among the arguments, whose order NumPy looks at.
        ShapeError: bins that neither rise nor fall.
    """
    if any(is_traced(b) for b in (bins, *(bins if isinstance(bins, list) else ()))):
        raise UnsupportedError("digitize: bins that are traced; use np.searchsorted")
    edges: Any = np.asarray(bins)
    side: Any = "left" if right else "right"
    if (edges[1:] >= edges[:-1]).all():
        return np.searchsorted(edges, x, side)
    if not (edges[1:] <= edges[:-1]).all():
        raise ShapeError("digitize: bins must be monotonically increasing or decreasing")
    found = np.searchsorted(np.ascontiguousarray(edges[::-1]), x, side)
    return np.subtract(len(edges), found)
