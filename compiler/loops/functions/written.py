"""Functions of NumPy written as loops compile them: a call of one is a call of these.

Each takes what it says of NumPy's arguments; a loop with others is left to Python.  What they
compute is what kernels compute, in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np


def roll(a: Any, shift: Any, axis: Any = None) -> Any:
    """Of a vector, and of a matrix along an axis."""
    made = np.empty_like(a)
    if a.ndim == 1:
        size = a.shape[last_of_one(axis)]
        if size > 0:
            by = shift % size
            made[by:] = a[: size - by]
            made[:by] = a[size - by :]
        return made
    if is_last_of_two(a.ndim, axis):
        size = a.shape[1]
        if size > 0:
            by = shift % size
            made[:, by:] = a[:, : size - by]
            made[:, :by] = a[:, size - by :]
        return made
    size = a.shape[0]
    if size > 0:
        by = shift % size
        made[by:] = a[: size - by]
        made[:by] = a[size - by :]
    return made


def last_of_one(axis: Any) -> Any:
    """The axis of a vector; another one is a refusal, since loops have no ``raise``."""
    if axis is None or axis == 0 or axis == -1:
        return 0
    raise AssertionError


def is_last_of_two(rank: Any, axis: Any) -> Any:
    """Whether an axis of a matrix is its last one, or its first."""
    if rank == 2 and axis is not None:
        if axis == 1 or axis == -1:
            return True
        if axis == 0 or axis == -2:
            return False
    raise AssertionError


def diff(a: Any) -> Any:
    """Along the last axis of a vector or a matrix."""
    if a.ndim == 1:
        return a[1:] - a[:-1]
    if a.ndim == 2:
        return a[:, 1:] - a[:, :-1]
    raise AssertionError


def trace(a: Any) -> Any:
    """Of a matrix."""
    return np.sum(np.diagonal(a))


def var(a: Any, axis: Any = None, ddof: Any = 0) -> Any:
    """Of floats: two passes, as by NumPy."""
    if axis is None:
        deviation = a - np.sum(a) / a.size
        return np.sum(deviation * deviation) / max(a.size - ddof, 0)
    count = a.shape[axis]
    deviation = a - np.sum(a, axis, keepdims=True) / count
    return np.sum(deviation * deviation, axis) / max(count - ddof, 0)


def std(a: Any, axis: Any = None, ddof: Any = 0) -> Any:
    """The root of the variance."""
    return np.sqrt(var(a, axis, ddof))


def cross(a: Any, b: Any) -> Any:
    """Of two vectors of three numbers."""
    return np.array([
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    ])  # fmt: skip


def median(a: Any) -> Any:
    """Of all elements: the middle one, or the mean of both."""
    ordered = np.sort(np.ravel(a * 1.0))
    size = ordered.shape[0]
    if size == 0:
        return np.sum(ordered) / 0
    last = ordered[size - 1]
    if last != last:
        return last
    if size % 2 == 1:
        return ordered[size // 2] / 1
    return (ordered[size // 2 - 1] + ordered[size // 2]) / 2


def searchsorted(a: Any, v: Any, side: Any = "left") -> Any:
    """The place of a number in a vector that is sorted."""
    low, high = 0, a.shape[0]
    while low < high:
        middle = (low + high) // 2
        x = a[middle]
        if side == "right":
            is_behind = (x <= v) | (v != v)
        if side != "right":
            is_behind = (x < v) | ((v != v) & (x == x))  # NaN is behind all numbers
        if is_behind:
            low = middle + 1
        else:
            high = middle
    return np.int64(low)


def isclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08) -> Any:
    """Whether elements are nearly equal."""
    y = b * 1.0
    return (abs(a - y) <= atol + rtol * abs(y)) & np.isfinite(y) | (a == y)


def allclose(a: Any, b: Any, rtol: Any = 1e-05, atol: Any = 1e-08) -> Any:
    """Whether all are."""
    return bool(np.all(isclose(a, b, rtol, atol)))


def array_equal(a1: Any, a2: Any) -> Any:
    """Of two vectors, or two matrices."""
    if a1.ndim != a2.ndim:
        return False
    if a1.ndim > 2:
        raise AssertionError
    if a1.shape[0] != a2.shape[0] or a1.shape[a1.ndim - 1] != a2.shape[a2.ndim - 1]:
        return False
    return bool(np.all(a1 == a2))


def inner(a: Any, b: Any) -> Any:
    """Of two vectors."""
    if a.ndim == 1 and b.ndim == 1:
        return np.dot(a, b)
    raise AssertionError


def ptp(a: Any, axis: Any = None) -> Any:
    """The largest element less the smallest."""
    return np.max(a, axis) - np.min(a, axis)


def average(a: Any, axis: Any = None) -> Any:
    """Without weights."""
    return np.mean(a, axis)


def nansum(a: Any, axis: Any = None) -> Any:
    """Of what is a number."""
    return np.sum(np.where(np.isnan(a), 0, a), axis)


def interp(x: Any, xp: Any, fp: Any) -> Any:
    """Of a number, between points that have an order."""
    last = xp.shape[0] - 1
    place = np.searchsorted(xp, x, "right") - 1
    if x != x and last > 0:
        return np.float64(x)
    if place < 0:
        return np.float64(fp[0])
    left, begin = np.float64(fp[place]), np.float64(xp[place])
    if place >= last or begin == x:
        return left
    right, end = np.float64(fp[place + 1]), np.float64(xp[place + 1])
    slope = (right - left) / (end - begin)
    found = slope * (x - begin) + left
    if found != found:
        found = slope * (x - end) + right
        if found != found and left == right:
            return left
    return found


def at_places(ufunc: Any) -> tuple[Any, Any]:
    """``ufunc.at`` of a vector: with a number, and with a vector of one for each place.

    ``a[indices]`` looks at all places first: nothing is written where one is outside.
    """

    def with_number(a: Any, indices: Any, b: Any) -> Any:
        for k in range(len(a[indices])):
            a[indices[k]] = ufunc(a[indices[k]], b)

    def with_each(a: Any, indices: Any, b: Any) -> Any:
        for k in range(len(a[indices])):
            a[indices[k]] = ufunc(a[indices[k]], b[k])

    return with_number, with_each


# By the ufunc whose ``at`` it is.
AT = {id(u): at_places(u) for u in (np.add, np.subtract, np.multiply, np.maximum, np.minimum)}
# By identity of NumPy's, and by the names of methods.
WRITTEN: Mapping[int, Any] = {
    id(function): written
    for function, written in (
        (np.roll, roll), (np.diff, diff), (np.trace, trace), (np.var, var), (np.std, std),
        (np.cross, cross), (np.median, median), (np.searchsorted, searchsorted),
        (np.isclose, isclose), (np.allclose, allclose), (np.array_equal, array_equal),
        (np.inner, inner), (np.vdot, inner), (np.ptp, ptp), (np.average, average),
        (np.nansum, nansum), (np.interp, interp),
    )
}  # fmt: skip
WRITTEN_METHODS: Mapping[str, Any] = {"trace": trace, "var": var, "std": std}
