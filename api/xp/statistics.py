"""The standard's functions that make one element of many, and scans."""

from __future__ import annotations

from typing import Any

from opweave.opcodes.errors import ArgumentError
from opweave.xp.arrays import Array, array_of
from opweave.xp.creation import zeros
from opweave.xp.dtypes import INT64
from opweave.xp.manipulation import concat
from opweave.xp.maps import MAPS, mapped, node_of
from opweave.xp.reductions import REDUCTIONS, reduced, running
from opweave.xp.shapes import axis_of, cast

Axis = int | tuple[int, ...] | None


def _reduced(name: str, x: Array, axis: Any, keepdims: bool, **attrs: Any) -> Array:
    return array_of(reduced(REDUCTIONS[name], node_of(x, name), axis, keepdims, **attrs))


def all(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Whether all elements along axes are true."""
    return _reduced("all", x, axis, keepdims)


def any(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Whether any element along axes is true."""
    return _reduced("any", x, axis, keepdims)


def argmax(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """The first place of the largest element along an axis."""
    return _reduced("argmax", x, axis, keepdims)


def argmin(x: Array, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """The first place of the smallest element along an axis."""
    return _reduced("argmin", x, axis, keepdims)


def max(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """The largest element along axes."""
    return _reduced("max", x, axis, keepdims)


def mean(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """The mean of the elements along axes."""
    return _reduced("mean", x, axis, keepdims)


def min(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """The smallest element along axes."""
    return _reduced("min", x, axis, keepdims)


def prod(x: Array, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Array:
    """The product of the elements along axes."""
    return _reduced("prod", x, axis, keepdims, dtype=dtype)


def std(
    x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Array:
    """The standard deviation of the elements along axes."""
    return _reduced("std", x, axis, keepdims, ddof=correction)


def sum(x: Array, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Array:
    """The sum of the elements along axes."""
    return _reduced("sum", x, axis, keepdims, dtype=dtype)


def var(
    x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Array:
    """The variance of the elements along axes."""
    return _reduced("var", x, axis, keepdims, ddof=correction)


def count_nonzero(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """How many elements along axes are not zero."""
    node = node_of(x, "count_nonzero")
    truth = x if node.dtype.kind == "b" else array_of(mapped(MAPS["not_equal"], x, 0))
    counted = reduced(REDUCTIONS["sum"], cast(truth._node, INT64), axis, keepdims)
    return array_of(counted)


def cumulative_sum(
    x: Array, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Array:
    """The sums of the elements up to each along an axis; ``include_initial`` adds 0 before."""
    return _running("cumulative_sum", x, axis, dtype, include_initial)


def cumulative_prod(
    x: Array, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Array:
    """The products of the elements up to each along an axis; ``include_initial`` adds 1 before."""
    return _running("cumulative_prod", x, axis, dtype, include_initial)


def _running(name: str, x: Array, axis: int | None, dtype: Any, include_initial: bool) -> Array:
    made = array_of(running(name, node_of(x, name), axis, dtype))
    if not include_initial:
        return made
    place = axis_of(0 if axis is None else axis, made.ndim, name)
    shape = (*made.shape[:place], 1, *made.shape[place + 1 :])
    first = zeros(shape, dtype=made.dtype, device=made.device)
    if name == "cumulative_prod":
        first[...] = 1 if made.dtype.kind != "b" else True
    return concat([first, made], axis=place)


def diff(
    x: Array, /, *, axis: int = -1, n: int = 1, prepend: Array | None = None,
    append: Array | None = None,
) -> Array:  # fmt: skip
    """The differences of neighbours along an axis, ``n`` times.

    Raises:
        ArgumentError: ``n`` is negative.
    """
    node = node_of(x, "diff")
    place = axis_of(axis, len(node.shape), "diff")
    if n < 0:
        raise ArgumentError(f"diff: expected n of at least 0, found {n}")
    parts = [part for part in (prepend, x, append) if part is not None]
    made = concat(parts, axis=place) if len(parts) > 1 else x
    before = (slice(None),) * place
    row = MAPS["not_equal" if made.dtype.kind == "b" else "subtract"]
    for _ in range(n):
        after, of = made[(*before, slice(1, None))], made[(*before, slice(None, -1))]
        made = array_of(mapped(row, after, of))
    return made
