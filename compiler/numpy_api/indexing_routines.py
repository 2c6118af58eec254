"""Elements taken by index or by condition, and elements that are set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from itertools import pairwise
from operator import index
from typing import Any

import numpy as np

from opweave.compiler.arrays.gathering import checked, coordinate, moved, place_type
from opweave.compiler.arrays.lifting import lifted, one_of, tracer_of, weak_or_lifted
from opweave.compiler.arrays.reshaping import number_of
from opweave.compiler.arrays.traced_operators import is_traced
from opweave.compiler.ir.expr import Expr
from opweave.compiler.numpy_api.common import (
    apply,
    at_least_one,
    same_shape,
    weak_kind,
)
from opweave.compiler.numpy_api.creation import created
from opweave.compiler.numpy_api.registry import numpy_function
from opweave.opcodes import OPERATORS
from opweave.opcodes.allowed import is_number
from opweave.opcodes.errors import DTypeError, ShapeError, UnsupportedError


@numpy_function(np.take, np.ndarray.take, counted=("axis",), flat=True)
def take(a: Any, indices: Any, axis: Any = None, *, mode: str = "raise") -> Any:
    indices = np.asarray(indices) if isinstance(indices, list | tuple) else indices
    if mode not in ("raise", "clip", "wrap"):
        raise UnsupportedError(f"take: mode={mode!r}")
    if _are_whole(indices):
        before, behind = a.shape[:axis], a.shape[axis + 1 :]
        shape = (*before, *getattr(indices, "shape", ()), *behind)
        # without elements to take no index can be out of bounds
        unseen = before if mode == "raise" else shape
        if any(extent == 0 for extent in unseen):
            return created(a.tracer, shape, 0, a.dtype)
    if mode == "clip":
        indices = np.clip(indices, 0, a.shape[axis] - 1)
    elif mode == "wrap":
        indices = np.remainder(indices, at_least_one(a.shape[axis]))
    found = a[(*[slice(None)] * axis, indices)]
    is_view = found.ndim and not getattr(indices, "ndim", 0)  # which NumPy copies
    return apply(OPERATORS["copy"], found) if is_view else found


def _are_whole(indices: Any) -> bool:
    """Whether indices are integers; others are refused where they are used."""
    dtype = indices.dtype if hasattr(indices, "dtype") else np.asarray(indices).dtype
    return dtype.kind in "biu"


@numpy_function(np.take_along_axis, arrays=(), counted=("axis",), flat=True)
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    if not is_traced(indices) or indices.dtype.kind not in "iu":
        raise UnsupportedError("take_along_axis: expected indices among the arguments")
    if arr.ndim != indices.ndim:
        raise ShapeError("take_along_axis: expected indices of as many dimensions as the array")
    dtype = place_type(arr.tracer, *arr.value.shape)
    return moved(arr, {axis: checked(arr.tracer, indices, arr.value.shape[axis])}, dtype)


@numpy_function(np.where, arrays=(), like=lambda condition, x=None, y=None, /: 0)
def where(condition: Any, x: Any = None, y: Any = None, /) -> Any:
    if x is None or y is None:
        raise UnsupportedError("where: places, of which each call has its own number")
    return apply(OPERATORS["where"], condition, x, y)


@numpy_function(np.compress, arrays=())
def compress(condition: Any, a: Any, axis: Any = None) -> Any:
    """The elements where a condition holds; the condition is an array of the function's own.

    Raises:
        UnsupportedError: a traced condition: it decides the extent of the result.
    """
    if is_traced(condition):
        raise UnsupportedError("compress: a traced condition; select by np.where")
    return np.take(a, np.flatnonzero(np.asarray(condition)), axis=axis)


@numpy_function(np.ndarray.compress, like=lambda self, condition, axis=None, out=None: 0)
def method_compress(a: Any, condition: Any, axis: Any = None) -> Any:
    return compress(condition, a, axis)


@numpy_function(np.choose, numbers=True)
def choose(a: Any, choices: Any, *, mode: str = "raise") -> Any:
    """At each place the element of the choice that ``a`` has the number of.

    Raises:
        UnsupportedError: ``mode='raise'``, for which NumPy looks at each number; choices in one
            array.
    """
    if mode not in ("clip", "wrap") or not isinstance(choices, list | tuple):
        raise UnsupportedError("choose: expected a list of choices, and mode='clip' or 'wrap'")
    if a.dtype.kind not in "iub":
        raise ShapeError("choose: expected integers that choose")
    number = a.astype(np.int64)
    last = len(choices) - 1
    number = np.clip(number, 0, last) if mode == "clip" else number % len(choices)
    common = np.result_type(*map(weak_kind, choices))
    return one_of(number, [lifted(a.tracer, item).astype(common) for item in choices])


@numpy_function(np.ndarray.choose, like=lambda self, *choices, out=None, mode="raise": 0)
def method_choose(a: Any, *choices: Any, mode: str = "raise") -> Any:
    return choose(a, choices[0] if len(choices) == 1 else choices, mode=mode)


@numpy_function(np.select, arrays=())
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    if len(condlist) != len(choicelist):
        raise ShapeError(f"select: {len(condlist)} conditions for {len(choicelist)} choices")
    tracer = tracer_of(list(condlist), list(choicelist), default)
    condlist = [weak_or_lifted(tracer, condition) for condition in condlist]
    for place, condition in enumerate(condlist):
        if (kind := np.result_type(weak_kind(condition))) != np.bool_:
            raise DTypeError(f"select: condition {place}: expected booleans, found {kind}")
    common = np.result_type(*(weak_kind(c) for c in (*choicelist, default)))

    def typed(choice: Any) -> Any:
        return common.type(choice) if type(choice) in (bool, int, float) else choice

    pairs = reversed(list(zip(condlist, choicelist, strict=True)))
    return reduce(lambda rest, p: np.where(p[0], typed(p[1]), rest), pairs, typed(default))


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
    """``triu_indices_from`` and the like; the extents become part of the guard."""

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


def _fits(name: str, value: Any, target: Any, casting: Any) -> Any:
    """A value as the target's type holds it.

    Raises:
        DTypeError: an array that ``casting`` does not convert.
        UnsupportedError: a number that the target's type does not hold; a target that is not
            traced.
    """
    if not is_traced(target):
        raise UnsupportedError(f"{name}: writes into an array that no kernel holds")
    if is_number(value):
        if np.result_type(target.dtype, getattr(value, "example", value)) != target.dtype:
            raise UnsupportedError(f"{name}: a {type(value).__name__} into {target.dtype}")
        return value
    array = lifted(target.tracer, value)
    if not np.can_cast(array.dtype, target.dtype, casting):
        raise DTypeError(f"{name}: cannot store {array.dtype} into {target.dtype}")
    return array.astype(target.dtype)


@numpy_function(np.copyto, arrays=(), like=lambda dst, src, casting="same_kind", where=True: 0)
def copyto(dst: Any, src: Any, casting: str = "same_kind", where: Any = True) -> None:
    value = _fits("copyto", src, dst, casting)
    dst[...] = value if where is True else np.where(lifted(dst.tracer, where), value, dst)


@numpy_function(np.putmask, arrays=("mask",), numbers=True, like=lambda a, /, mask, values: 0)
def putmask(a: Any, mask: Any, values: Any) -> None:
    """
    Raises:
        UnsupportedError: values of another shape than the array, which NumPy repeats.
        ShapeError: a mask of another shape than the array.
    """
    value = _fits("putmask", values, a, "safe")
    if not is_number(value) and value.ndim and not same_shape(value, a):
        raise UnsupportedError("putmask: values of another shape than the array")
    if not same_shape(mask, a):
        raise ShapeError("putmask: mask and data must be the same size")
    a[...] = np.where(mask, value, a)


@numpy_function(np.place, arrays=("mask",), numbers=True)
def place(arr: Any, mask: Any, vals: Any) -> None:
    """
    Raises:
        UnsupportedError: several values, which NumPy stores one after the other.
    """
    value = vals[0] if isinstance(vals, list | tuple) and len(vals) == 1 else vals
    if not is_number(value):
        raise UnsupportedError("place: expected one number")
    if not same_shape(mask, arr):
        raise UnsupportedError("place: a mask of another shape than the array")
    arr[mask.astype(bool)] = _fits("place", value, arr, "same_kind")


@numpy_function(np.fill_diagonal, arrays=())
def fill_diagonal(a: Any, val: Any, wrap: bool = False) -> None:
    """
    Raises:
        UnsupportedError: an array of values; ``wrap=True`` of a tall matrix.
        ShapeError: fewer than two dimensions; more than two that differ in extent.
    """
    if a.ndim < 2:
        raise ShapeError("fill_diagonal: array must be at least 2-d")
    if not is_number(val) and getattr(val, "ndim", None) != 0:
        raise UnsupportedError("fill_diagonal: expected one number")
    tracer, extents = a.tracer, [number_of(a.tracer, extent) for extent in a.shape]
    if a.ndim > 2:
        same = [tracer.builder.require(Expr("eq", (extents[0], other))) for other in extents[1:]]
        if not all(same):
            raise ShapeError("fill_diagonal: all dimensions of input must be of equal length")
    elif wrap and tracer.builder.require(Expr("gt", (extents[0], extents[1]))):
        raise UnsupportedError("fill_diagonal: wrap=True")
    dtype = place_type(tracer, *a.value.shape)
    places = [coordinate(tracer, e, a.ndim - 1 - d, dtype) for d, e in enumerate(a.value.shape)]
    on_it = reduce(np.logical_and, [places[0] == other for other in places[1:]])
    value = val if is_number(val) else lifted(tracer, val)
    kept = np.full_like(a, value) if is_number(value) else value.astype(a.dtype)
    a[...] = np.where(on_it, kept, a)


@numpy_function(np.ndarray.fill)
def fill(a: Any, value: Any) -> None:
    a[...] = value
