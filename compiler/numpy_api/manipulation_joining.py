"""Joining, splitting and padding of arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import accumulate, pairwise
from operator import index
from typing import Any

import numpy as np

from opweave.compiler.arrays.gathering import coordinate, is_below, moved, place_type
from opweave.compiler.arrays.indexing import rows
from opweave.compiler.arrays.interface import TracerLike
from opweave.compiler.arrays.interleaving import fix_columns
from opweave.compiler.arrays.lifting import lifted, one_of, tracer_of
from opweave.compiler.arrays.reshaping import counted_axis
from opweave.compiler.arrays.traced_operators import is_traced_number
from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.numpy_api.common import along, at_least_one, coordinates_along
from opweave.compiler.numpy_api.registry import numpy_function
from opweave.opcodes.dtypes import I32
from opweave.opcodes.errors import DTypeError, ShapeError, UnsupportedError


def _cast(name: str, array: Any, dtype: Any, casting: Any) -> Any:
    if not np.can_cast(array.dtype, dtype, casting):
        raise DTypeError(f"{name}: cannot store {array.dtype} in {dtype} by casting={casting!r}")
    return array.astype(dtype)


def _meet(tracer: TracerLike, first: Any, other: Any, axis: int) -> None:
    """Check that two arrays have equal extents, except along an axis; part of the guard.

    Raises:
        ShapeError: two extents differ.
    """
    builder = tracer.builder
    for d, (a, b) in enumerate(zip(first.value.shape, other.value.shape, strict=True)):
        if d == axis or builder.find(a) == builder.find(b):
            continue
        if not builder.require(Expr("eq", (builder.extent_expr(a), builder.extent_expr(b)))):
            shapes = [tuple(map(builder.example, x.value.shape)) for x in (first, other)]
            raise ShapeError(
                f"concatenate: extents along axis {d} differ: {shapes[0]} and {shapes[1]}"
            )
        builder.unite(builder.find(a), builder.find(b))


@numpy_function(
    np.concatenate, each=True,
    like=lambda arrays, /, axis=0, out=None, *, dtype=None, casting="same_kind": 0,
)  # fmt: skip
def concatenate(
    arrays: Any, axis: Any = 0, *, dtype: Any = None, casting: str = "same_kind"
) -> Any:
    """
    Raises:
        ShapeError: the arrays differ in rank, or in an extent along another axis.
        DTypeError: ``casting`` does not allow the conversion to ``dtype``.
    """
    if dtype is not None:
        arrays = [_cast("concatenate", a, dtype, casting) for a in arrays]
    if axis is None:
        return concatenate([a.reshape(-1) for a in arrays], 0)
    first, tracer = arrays[0], arrays[0].tracer
    if not all(a.ndim for a in arrays):
        raise ShapeError("concatenate: zero-dimensional arrays cannot be joined; stack them")
    axis = counted_axis("concatenate", axis, first.ndim)
    if len({a.ndim for a in arrays}) > 1:
        ranks = " and ".join(str(a.ndim) for a in arrays)
        raise ShapeError(f"concatenate: arrays must have same number of dimensions, found {ranks}")
    for other in arrays[1:]:
        _meet(tracer, first, other, axis)
    fix_columns(axis, *arrays)
    ends = list(accumulate(a.shape[axis] for a in arrays))
    c, dtype = coordinates_along(first, axis, ends[-1])
    made: Any = moved(first, {axis: c}, dtype)
    for start, a in zip(ends, arrays[1:], strict=False):
        made = np.where(is_below(c, start), made, moved(a, {axis: c - start}, dtype, like=first))
    return made


@numpy_function(np.stack, each=True)
def stack(arrays: Any, axis: Any = 0) -> Any:
    rank = arrays[0].ndim + 1
    axis = counted_axis("stack", axis, rank)
    axes = (*range(axis), None, *range(axis, rank - 1))
    tracer = arrays[0].tracer
    for other in arrays[1:]:
        if other.ndim != rank - 1:
            raise ShapeError("stack: expected arrays of one shape")
        _meet(tracer, arrays[0], other, -1)
    views = [tracer.hidden_view(a, axes) for a in arrays]
    c = coordinate(tracer, len(views), rank - 1 - axis, I32)
    if len(views) == 1:
        return views[0].copy()
    common = np.result_type(*(a.dtype for a in arrays))
    return one_of(c, [v.astype(common) for v in views])


def _joined(axis: int, new_axis: int) -> Callable[..., Any]:
    """``vstack`` and the like: arrays joined along an axis.

    A vector becomes a matrix: its axis ``new_axis`` is new; for -1 a vector stays one.
    """

    def handler(tup: Any, **options: Any) -> Any:
        made = []
        for a in tup:
            if not a.ndim:
                a = a.reshape(*[1] * (1 if new_axis < 0 else 2))
            elif a.ndim == 1 and new_axis >= 0:
                a = a.tracer.hidden_view(a, (None, 0) if new_axis == 0 else (0, None))
            made.append(a)
        return concatenate(made, min(axis, made[0].ndim - 1), **options)

    return handler


numpy_function(np.vstack, each=True)(_joined(0, new_axis=0))
numpy_function(np.hstack, each=True)(_joined(1, new_axis=-1))
numpy_function(np.column_stack, each=True)(_joined(1, new_axis=1))


@numpy_function(np.dstack, each=True)
def dstack(tup: Any) -> Any:
    return concatenate([np.atleast_3d(a) for a in tup], 2)


@numpy_function(np.block, arrays=())
def block(arrays: Any) -> Any:
    """Lists within lists of arrays; the innermost are joined along the last axis.

    Raises:
        ShapeError: lists of different depths.
    """
    tracer, depth = tracer_of(arrays), _depth(arrays)
    leaves = [lifted(tracer, leaf) for leaf in _leaves(arrays)]
    rank, waiting = max(depth, *(leaf.ndim for leaf in leaves)), iter(leaves)

    def joined(item: Any, level: int) -> Any:
        if isinstance(item, list):
            return concatenate([joined(part, level + 1) for part in item], level - depth)
        leaf = next(waiting)
        return leaf if leaf.ndim == rank else leaf[(*[None] * (rank - leaf.ndim), ...)]

    return joined(arrays, 0) if depth else leaves[0].copy()


def _depth(item: Any) -> int:
    if not isinstance(item, list):
        return 0
    found = {_depth(part) for part in item}
    if len(found) != 1:
        raise ShapeError("block: expected lists of one depth, none of them empty")
    return 1 + found.pop()


def _leaves(item: Any) -> list[Any]:
    return [leaf for part in item for leaf in _leaves(part)] if isinstance(item, list) else [item]


@numpy_function(np.append, arrays=("arr", "values"), numbers=True)
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    if axis is None:
        return concatenate([arr.reshape(-1), values.reshape(-1)])
    return concatenate([arr, values], axis)


@numpy_function(np.array_split, counted=("axis",))
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Parts of an array, as views.

    Raises:
        ShapeError: fewer parts than one.
    """
    given = ary.tracer.concrete(indices_or_sections)
    if isinstance(given, list | tuple | np.ndarray):
        places = [None, *(index(ary.tracer.concrete(place)) for place in given), None]
        return [ary[along(axis, *ends)] for ends in pairwise(places)]
    count, extent = index(given), ary.shape[axis]
    if count <= 0:
        raise ShapeError("array_split: number sections must be larger than 0")
    each, longer = extent // count, extent % count
    starts = [each * k + _smaller(longer, k) for k in range(count)]
    return [ary[along(axis, *ends)] for ends in pairwise([*starts, None])]


def _smaller(extent: Any, number: int) -> Any:
    many = is_traced_number(extent)
    return extent.__opweave_scalar__("min", number) if many else min(extent, number)


@numpy_function(np.split, counted=("axis",))
def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    given = ary.tracer.concrete(indices_or_sections)
    if not isinstance(given, list | tuple | np.ndarray) and ary.shape[axis] % index(given):
        raise ShapeError("split: array split does not result in an equal division")
    return array_split(ary, given, axis)


def _split_along(axis: int, rank: int) -> Callable[..., Any]:
    def handler(ary: Any, indices_or_sections: Any) -> list[Any]:
        if ary.ndim < rank:
            raise ShapeError(f"split: expected at least {rank} dimensions, found {ary.ndim}")
        return split(ary, indices_or_sections, 0 if ary.ndim == 1 else axis)

    return handler


numpy_function(np.vsplit)(_split_along(0, 2))
numpy_function(np.hsplit)(_split_along(1, 1))
numpy_function(np.dsplit)(_split_along(2, 3))


@numpy_function("unstack")
def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The parts along an axis; how many there are becomes part of the guard."""
    if not x.ndim:
        raise ShapeError("unstack: expected an array of at least 1 dimension")
    return tuple(rows(np.moveaxis(x, axis, 0)))


# By mode of padding: which place of the axis an element of the padding is read from.
# Of the place, counted from the start of the axis, and the extent of the axis.
MIRRORS: dict[str, Any] = {
    "edge": lambda i, n: np.clip(i, 0, n - 1),
    "wrap": lambda i, n: i % n,
    "reflect": lambda i, n: _mirrored(i % at_least_one(2 * n - 2), n, 2 * n - 2),
    "symmetric": lambda i, n: _mirrored(i % (2 * n), n, 2 * n - 1),
}
# The same where the padding is not as long as the axis: no remainder of a division.
NEAR_MIRRORS: dict[str, Any] = {
    "wrap": lambda i, n: np.where(is_below(i, 0), i + n, np.where(is_below(i, n), i, i - n)),
    "reflect": lambda i, n: _mirrored(abs(i), n, 2 * n - 2),
    "symmetric": lambda i, n: _mirrored(np.where(is_below(i, 0), -1 - i, i), n, 2 * n - 1),
}


def _mirrored(i: Any, n: Any, last: Any) -> Any:
    return np.where(is_below(i, n), i, last - i)


def _pad_widths(width: Any, rank: int) -> list[tuple[int, int]]:
    pairs = np.broadcast_to(np.asarray(width), (rank, 2))
    if pairs.dtype.kind not in "iu" or pairs.min(initial=0) < 0:
        raise UnsupportedError("pad: expected widths of at least 0")
    return [(int(a), int(b)) for a, b in pairs]


@numpy_function(np.pad)
def pad(array: Any, pad_width: Any, mode: Any = "constant", *, constant_values: Any = 0) -> Any:
    if mode not in ("constant", *MIRRORS) or isinstance(pad_width, dict):
        raise UnsupportedError(f"pad: mode={mode!r}")
    is_number = type(constant_values) in (int, float, bool)
    if not is_number and not isinstance(constant_values, np.generic):
        raise UnsupportedError("pad: expected one number for constant_values")
    widths = enumerate(_pad_widths(pad_width, array.ndim))
    padded = {d: _padded(array, d, pair, mode) for d, pair in widths if any(pair)}
    places = {d: place for d, (place, _) in padded.items()}
    made = moved(array, places, place_type(array.tracer, *array.value.shape))
    if mode != "constant" or not padded:
        return made
    with array.tracer.errors():
        fill = np.asarray(constant_values).astype(array.dtype)[()]
    return np.where(reduce(np.logical_or, [outside for _, outside in padded.values()]), fill, made)


def _padded(array: Any, axis: int, widths: tuple[int, int], mode: str) -> tuple[Any, Any]:
    """The places that elements are read from along a padded axis; those outside of it, or None."""
    fix_columns(axis, array)
    n = array.shape[axis]
    c, _ = coordinates_along(array, axis, n + sum(widths))
    i = c - widths[0]
    if mode == "constant":
        return i, is_below(i, 0) | ~is_below(i, n)
    builder, extent = array.tracer.builder, array.value.shape[axis]
    if builder.is_empty([extent]):
        raise ShapeError("pad: an empty axis has no elements to repeat")
    is_near = builder.require(Expr("lt", (literal(max(widths)), builder.extent_expr(extent))))
    rule = NEAR_MIRRORS.get(mode) if is_near else None
    return (rule or MIRRORS[mode])(i, n), None
