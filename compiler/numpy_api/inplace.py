"""NumPy's functions that write into an array: assignments to all of its elements."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from opweave.compiler.arrays.gathering import coordinate, place_type
from opweave.compiler.arrays.lifting import lifted
from opweave.compiler.arrays.reshaping import number_of
from opweave.compiler.arrays.traced_operators import is_traced
from opweave.compiler.ir.expr import Expr
from opweave.compiler.numpy_api.logic import same_shape
from opweave.compiler.numpy_api.registry import numpy_function
from opweave.opcodes.allowed import is_number
from opweave.opcodes.errors import DTypeError, ShapeError, UnsupportedError


def _fits(name: str, value: Any, target: Any, casting: Any) -> Any:
    """A value that may be stored.

    Raises:
        DTypeError: an array of another kind.
        UnsupportedError: a number that the array's type does not hold as it is; an array of
            NumPy's own to write to.
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
        UnsupportedError: values of another shape, which NumPy repeats.
        ShapeError: a mask of another shape.
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
        UnsupportedError: several values, which NumPy deals out.
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
        UnsupportedError: an array of values, or diagonals that begin again.
        ShapeError: fewer than two dimensions, or more of different extents.
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
