"""NumPy's functions that take arrays apart and put them together, on traced arrays.

A handler has the NumPy function's own signature, as far as opweave compiles it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import pairwise
from operator import index
from typing import Any

import numpy as np

from opweave.compiler.arrays.gathering import coordinate, moved, place_type
from opweave.compiler.arrays.indexing import bounds, rows
from opweave.compiler.arrays.lifting import lifted, tracer_of
from opweave.compiler.arrays.reshaping import number_of
from opweave.compiler.arrays.traced_operators import is_traced, is_traced_number
from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.numpy_api.contractions import diagonal
from opweave.compiler.numpy_api.movement import concatenate
from opweave.compiler.numpy_api.registry import numpy_function
from opweave.opcodes.errors import AxisError, BoundsError, ShapeError, UnsupportedError

# So many places where something is inserted or deleted become code.
MOST_PLACES = 16
# So many columns of a Vandermonde matrix.
MOST_POWERS = 32


@numpy_function(np.rollaxis, counted=("axis",))
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    start = start + a.ndim if start < 0 else start
    if not 0 <= start <= a.ndim:
        raise AxisError(f"rollaxis: no place {start} among {a.ndim} axes")
    start -= axis < start
    return a[...] if axis == start else np.moveaxis(a, axis, start)


def _part(a: Any, axis: int, begin: Any, end: Any) -> Any:
    return a[(*[slice(None)] * axis, slice(begin, end))]


@numpy_function(np.array_split, counted=("axis",))
def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """Parts as views.

    Raises:
        ShapeError: not even one part.
    """
    given = ary.tracer.concrete(indices_or_sections)
    if isinstance(given, list | tuple | np.ndarray):
        ends = [None, *(index(ary.tracer.concrete(place)) for place in given), None]
        return [_part(ary, axis, begin, end) for begin, end in pairwise(ends)]
    count, extent = index(given), ary.shape[axis]
    if count <= 0:
        raise ShapeError("array_split: number sections must be larger than 0")
    each, longer = extent // count, extent % count
    starts = [each * k + _smaller(longer, k) for k in range(count)]
    return [_part(ary, axis, begin, end) for begin, end in pairwise([*starts, None])]


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
    """The parts along an axis, whose number becomes part of the guard."""
    if not x.ndim:
        raise ShapeError("unstack: expected an array of at least 1 dimension")
    return tuple(rows(np.moveaxis(x, axis, 0)))


@numpy_function(np.dstack, each=True)
def dstack(tup: Any) -> Any:
    return concatenate([np.atleast_3d(a) for a in tup], 2)


@numpy_function(np.block, arrays=())
def block(arrays: Any) -> Any:
    """Lists within lists, the innermost along the last axis.

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


def _place(name: str, arr: Any, axis: int, place: Any, beyond: int) -> Any:
    """A place along an axis, counted from its start.

    Raises:
        BoundsError: the axis has none.
    """
    extent, builder = arr.value.shape[axis], arr.tracer.builder
    size, number = builder.extent_expr(extent), index(place)
    found = literal(number) if number >= 0 else Expr("add", (size, literal(number)))
    limits = (
        Expr("ge", (found, literal(0))),
        Expr("lt", (found, Expr("add", (size, literal(beyond))))),
    )
    holds = [builder.require(condition) for condition in limits]  # each is part of the guard
    if not all(holds):
        raise BoundsError(
            f"{name}: index {number} is out of bounds for axis {axis} of size "
            f"{builder.example(builder.find(extent))}"
        )
    return number if number >= 0 else arr.shape[axis] + number


def _places(name: str, arr: Any, axis: int, obj: Any, beyond: int) -> list[Any]:
    """Rising places of the function's own.

    Raises:
        UnsupportedError: traced ones, a mask, too many, or some counted from the end.
    """
    given = np.asarray(obj) if isinstance(obj, list | tuple) else obj
    if is_traced(given) or getattr(given, "dtype", np.dtype(int)).kind not in "iu":
        raise UnsupportedError(f"{name}: expected places as numbers")
    numbers = given.tolist() if isinstance(given, np.ndarray) else given
    if not isinstance(numbers, list):
        return [_place(name, arr, axis, numbers, beyond)]
    if not 1 <= len(numbers) <= MOST_PLACES or (min(numbers) < 0 and len(numbers) > 1):
        raise UnsupportedError(
            f"{name}: expected up to {MOST_PLACES} places, counted from the start, found {numbers}"
        )
    return [_place(name, arr, axis, number, beyond) for number in numbers]


@numpy_function(np.delete, counted=("axis",), flat=True)
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    """What is left, joined.

    Raises:
        UnsupportedError: places that are no numbers of the function's own.
    """
    if isinstance(obj, slice):
        found = bounds(arr, obj, axis)
        if found is None or found[1] != 1:
            raise UnsupportedError("delete: expected a slice of step 1")
        start, length = arr.tracer.scalar(found[0]), arr.tracer.extent(found[2])
        parts = [_part(arr, axis, None, start), _part(arr, axis, start + length, None)]
        return concatenate(parts, axis)
    places = sorted(set(_places("delete", arr, axis, obj, 0)), key=_example)
    pairs = zip([None, *(place + 1 for place in places)], [*places, None], strict=True)
    return concatenate([_part(arr, axis, *ends) for ends in pairs], axis)


def _example(number: Any) -> int:
    return int(getattr(number, "example", number))


@numpy_function(np.insert, counted=("axis",), flat=True)
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    """Before places that are numbers, in the order in which they are given.

    Raises:
        UnsupportedError: places that are no numbers of the function's own.
    """
    places = _places("insert", arr, axis, obj, 1)
    values = lifted(arr.tracer, values).astype(arr.dtype)
    if len(places) == 1:
        while values.ndim < arr.ndim:
            values = values[None]
        if not getattr(obj, "ndim", isinstance(obj, list | tuple)):
            values = np.moveaxis(values, 0, axis)
        shape = (*arr.shape[:axis], values.shape[axis], *arr.shape[axis + 1 :])
        new = [np.broadcast_to(values, shape)]
    else:
        shape = (*arr.shape[:axis], len(places), *arr.shape[axis + 1 :])
        whole = np.broadcast_to(values, shape)
        new = [_part(whole, axis, n, n + 1) for n in range(len(places))]
    order = sorted(range(len(places)), key=lambda n: _example(places[n]))
    parts, begin = [], None
    for n in order:
        parts += [_part(arr, axis, begin, places[n]), new[n]]
        begin = places[n]
    return concatenate([*parts, _part(arr, axis, begin, None)], axis)


@numpy_function(np.resize)
def resize(a: Any, new_shape: Any) -> Any:
    """The elements again and again; zeros where there are none."""
    shape = new_shape if isinstance(new_shape, tuple | list) else (new_shape,)
    flat, total = a.reshape(-1), reduce(lambda m, n: n * m, shape, 1)
    tracer, builder = a.tracer, a.tracer.builder
    made = tracer.extent_of(total)
    sizes = [builder.extent_expr(extent) for extent in (flat.value.shape[0], made)]
    has_some = [builder.require(Expr("gt", (size, literal(0)))) for size in sizes]
    if not all(has_some):
        return np.zeros_like(a, shape=tuple(shape))
    dtype = place_type(tracer, flat.value.shape[0], made)
    place = coordinate(tracer, made, 0, dtype) % flat.shape[0]
    return moved(flat, {0: place}, dtype).reshape(tuple(shape))


@numpy_function(np.diag)
def diag(v: Any, k: int = 0) -> Any:
    if v.ndim == 2:
        return diagonal(v, k)
    if v.ndim != 1:
        raise ShapeError(f"diag: expected 1 or 2 dimensions, found {v.ndim}")
    tracer, k = v.tracer, index(v.tracer.concrete(k))
    extent = tracer.extent_of(v.shape[0] + abs(k))
    dtype = place_type(tracer, extent)
    row, column = (coordinate(tracer, extent, trailing, dtype) for trailing in (1, 0))
    on_it = (column - row) == dtype.numpy.type(k)
    first = row if k >= 0 else column
    return np.where(on_it, moved(v, {0: first}, dtype), v.dtype.type(0))


numpy_function(np.diagflat)(lambda v, k=0: diag(v.reshape(-1), k))


@numpy_function(np.ix_, arrays=("args",), numbers=True)
def ix_(*args: Any) -> tuple[Any, ...]:
    made = []
    for place, array in enumerate(args):
        if array.ndim != 1:
            raise ShapeError("ix_: cross index must be 1 dimensional")
        if array.dtype.kind == "b":
            raise UnsupportedError("ix_: a mask; give the places")
        made.append(array[(*[None] * place, slice(None), *[None] * (len(args) - 1 - place))])
    return tuple(made)


def _from(function: Callable[..., Any]) -> Callable[..., Any]:
    """``triu_indices_from`` and its kin: of extents, which become part of the guard."""

    def handler(arr: Any, k: int = 0) -> Any:
        if arr.ndim != 2:
            raise ShapeError("expected an array of 2 dimensions")
        return function(index(arr.shape[0]), k=k, m=index(arr.shape[1]))

    return handler


numpy_function(np.triu_indices_from)(_from(np.triu_indices))
numpy_function(np.tril_indices_from)(_from(np.tril_indices))


@numpy_function(np.diag_indices_from)
def diag_indices_from(arr: Any) -> Any:
    extents = [number_of(arr.tracer, extent) for extent in arr.shape]
    same = [arr.tracer.builder.require(Expr("eq", pair)) for pair in pairwise(extents)]
    if len(extents) < 2 or not all(same):
        raise ShapeError("diag_indices_from: expected axes of one extent, at least two")
    return np.diag_indices(index(arr.shape[0]), arr.ndim)


@numpy_function(np.vander)
def vander(x: Any, N: Any = None, increasing: bool = False) -> Any:
    """Powers by multiplication, one after the other.

    Raises:
        ShapeError: no vector.
        UnsupportedError: no columns, or more than become code.
    """
    if x.ndim != 1:
        raise ShapeError("vander: expected a vector")
    count = len(x) if N is None else index(x.tracer.concrete(N))
    if not 1 <= count <= MOST_POWERS:
        raise UnsupportedError(f"vander: {count} columns, expected 1 to {MOST_POWERS}")
    base = x.astype(np.promote_types(x.dtype, int))
    powers = [np.ones_like(base)]
    for number in range(1, count):
        powers.append(powers[-1] * base if number > 1 else base)
    return np.stack(powers if increasing else powers[::-1], axis=1)


@numpy_function(np.ediff1d)
def ediff1d(ary: Any, to_end: Any = None, to_begin: Any = None) -> Any:
    flat = ary.reshape(-1)
    found = flat[1:] - flat[:-1]
    parts = [to_begin, found, to_end]
    if to_begin is None and to_end is None:
        return found
    joined = []
    for part in parts:
        if part is not None:
            end = lifted(ary.tracer, part)
            if not np.can_cast(end.dtype, ary.dtype, "same_kind"):
                raise UnsupportedError("ediff1d: ends of another kind than the array")
            joined.append(end.reshape(-1).astype(ary.dtype))
    return concatenate(joined)


@numpy_function(np.compress, arrays=())
def compress(condition: Any, a: Any, axis: Any = None) -> Any:
    """By a condition of the function's own.

    Raises:
        UnsupportedError: a traced one, by which the result's extent goes.
    """
    if is_traced(condition):
        raise UnsupportedError("compress: a traced condition; select by np.where")
    return np.take(a, np.flatnonzero(np.asarray(condition)), axis=axis)


@numpy_function(np.ndarray.compress, like=lambda self, condition, axis=None, out=None: 0)
def method_compress(a: Any, condition: Any, axis: Any = None) -> Any:
    return compress(condition, a, axis)


@numpy_function(np.choose, numbers=True)
def choose(a: Any, choices: Any, *, mode: str = "raise") -> Any:
    """Of each place the choice with its number.

    Raises:
        UnsupportedError: numbers that NumPy checks, or choices that are one array.
    """
    if mode not in ("clip", "wrap") or not isinstance(choices, list | tuple):
        raise UnsupportedError("choose: expected a list of choices, and mode='clip' or 'wrap'")
    kinds = [getattr(choice, "dtype", getattr(choice, "example", choice)) for choice in choices]
    items = [lifted(a.tracer, choice) for choice in choices]
    if a.dtype.kind not in "iub":
        raise ShapeError("choose: expected integers that choose")
    number = a.astype(np.int64)
    number = np.clip(number, 0, len(items) - 1) if mode == "clip" else number % len(items)
    common = np.result_type(*kinds)
    items = [item.astype(common) for item in items]
    pairs = list(enumerate(items))[-2::-1]
    return reduce(lambda rest, pair: np.where(number == pair[0], pair[1], rest), pairs, items[-1])


@numpy_function(np.ndarray.choose, like=lambda self, *choices, out=None, mode="raise": 0)
def method_choose(a: Any, *choices: Any, mode: str = "raise") -> Any:
    return choose(a, choices[0] if len(choices) == 1 else choices, mode=mode)
