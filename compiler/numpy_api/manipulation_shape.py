"""Shape, order of axes, type and memory order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import Any

import numpy as np

from opweave.compiler.arrays.reshaping import counted_axes, extent_of_item, reshaped
from opweave.compiler.arrays.traced_operators import is_traced, is_traced_array
from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.numpy_api.common import apply, dtype_name
from opweave.compiler.numpy_api.creation import _like, created, in_rows
from opweave.compiler.numpy_api.registry import numpy_function
from opweave.opcodes import OPERATORS, dtypes
from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import AxisError, DTypeError, ShapeError, UnsupportedError


def _view(a: Any, axes: tuple[int | None, ...]) -> Any:
    return apply(OPERATORS["view"], a, axes=axes)


def _distinct_axes(name: str, axes: Any, rank: int) -> tuple[int, ...]:
    """Axes, counted from 0, of which none stands twice.

    Raises:
        ShapeError: one does.
    """
    given = tuple(axes) if isinstance(axes, list | tuple) else (axes,)
    found = counted_axes(name, given, rank)
    if len(set(found)) < len(found):
        raise ShapeError(f"{name}: an axis stands twice in {given}")
    return found


@numpy_function(np.transpose, np.ndarray.T)
def transpose(a: Any, axes: Any = None) -> Any:
    if axes is None:
        return _view(a, tuple(range(a.ndim))[::-1])
    order = _distinct_axes("transpose", axes, a.ndim)
    if len(order) != a.ndim:
        raise ShapeError(f"transpose: {len(order)} axes for an array of {a.ndim} dimensions")
    return _view(a, order)


@numpy_function(np.ndarray.transpose)
def method_transpose(a: Any, *axes: Any) -> Any:
    given = axes[0] if len(axes) == 1 and not hasattr(axes[0], "__index__") else axes or None
    return transpose(a, given)


@numpy_function(np.swapaxes, counted=("axis1", "axis2"))
@numpy_function(
    np.ndarray.swapaxes, counted=("axis1", "axis2"), like=lambda self, axis1, axis2, /: 0
)
def swapaxes(a: Any, axis1: Any, axis2: Any) -> Any:
    order = list(range(a.ndim))
    order[axis1], order[axis2] = axis2, axis1
    return _view(a, tuple(order))


@numpy_function(np.matrix_transpose, np.linalg.matrix_transpose, np.ndarray.mT)
def matrix_transpose(x: Any, /) -> Any:
    if x.ndim < 2:
        raise ShapeError(f"matrix_transpose: expected at least 2 dimensions, found {x.ndim}")
    return swapaxes(x, x.ndim - 1, x.ndim - 2)


@numpy_function(np.moveaxis)
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    start, end = (_distinct_axes("moveaxis", axis, a.ndim) for axis in (source, destination))
    if len(start) != len(end):
        raise ShapeError(f"moveaxis: {len(start)} axes to {len(end)} places")
    order = [d for d in range(a.ndim) if d not in start]
    for place, axis in sorted(zip(end, start, strict=True)):
        order.insert(place, axis)
    return _view(a, tuple(order))


@numpy_function(np.expand_dims)
def expand_dims(a: Any, axis: Any) -> Any:
    given = axis if isinstance(axis, tuple | list) else (axis,)
    new = _distinct_axes("expand_dims", given, a.ndim + len(given))
    old = iter(range(a.ndim))
    return _view(a, tuple(None if d in new else next(old) for d in range(a.ndim + len(new))))


@numpy_function(np.squeeze, np.ndarray.squeeze)
def squeeze(a: Any, axis: Any = None) -> Any:
    if axis is None:
        dropped = tuple(d for d, n in enumerate(a.shape) if type(n) is int and n == 1)
    else:
        given = (axis,) if isinstance(axis, list) else axis  # NumPy takes no list here
        dropped = _distinct_axes("squeeze", given, a.ndim)
    return _view(a, tuple(d for d in range(a.ndim) if d not in dropped)) if dropped else a


def _order(name: str, order: Any) -> str:
    """The letter of a memory order.

    Raises:
        UnsupportedError: NumPy has no such order.
    """
    found = "K" if order is None else order.upper() if isinstance(order, str) else ""
    if found not in ("C", "F", "A", "K"):
        raise UnsupportedError(f"{name}: order={shown(order)}: expected C, F, A or K")
    return found


def _reading_order(name: str, a: Any, order: Any) -> str:
    """In which order elements are read: C by rows, F by columns.

    Raises:
        UnsupportedError: the order depends on how the array lies in memory, which is not known.
    """
    found = _order(name, order)
    if found in ("C", "F"):
        return found
    if name == "reshape" and found == "K":
        raise UnsupportedError("reshape: order='K': expected C, F or A")
    if a.ndim > 1 and not a.tracer.lies_in_rows(a.value):
        raise UnsupportedError(f"{name}: order={shown(order)}: expected C or F")
    return "C"


def is_kept(order: Any) -> bool:
    """Whether an array may keep the memory order that it has."""
    return order in ("K", "A", "k", "a", None)


def in_order(a: Any, order: Any) -> Any:
    """A result in the memory order that is asked for: by columns, or as a kernel writes it."""
    return _by_columns(a) if _order("copy", order) == "F" and a.ndim > 1 else a


def _by_columns(a: Any) -> Any:
    return transpose(apply(OPERATORS["copy"], transpose(a)))


@numpy_function(np.reshape)
def reshape(a: Any, shape: Any, order: Any = "C", *, copy: Any = None) -> Any:
    """
    Raises:
        UnsupportedError: ``copy=False``, and a view may be impossible.
    """
    given = shape if isinstance(shape, tuple | list) else _extents(shape)
    by_rows = _reading_order("reshape", a, order) == "C"
    if copy is False and not (by_rows and a.tracer.lies_in_rows(a.value)):
        raise UnsupportedError("reshape(copy=False): expected an array that lies in rows")
    made = reshaped(a, given) if by_rows else transpose(reshaped(transpose(a), given[::-1]))
    return apply(OPERATORS["copy"], made) if copy else made


def _extents(shape: Any) -> tuple[Any, ...]:
    """A shape that is given as one number, or as a range, an array or another sequence."""
    is_sequence = hasattr(shape, "__len__") and not is_traced(shape)
    return tuple(shape) if is_sequence and np.ndim(shape) else (shape,)


@numpy_function(np.ndarray.reshape)
def method_reshape(a: Any, *shape: Any, order: Any = "C", copy: Any = None) -> Any:
    return reshape(a, shape[0] if len(shape) == 1 else shape, order, copy=copy)


@numpy_function(np.ravel, np.ndarray.ravel)
def ravel(a: Any, order: Any = "C") -> Any:
    by_rows = _reading_order("ravel", a, order) == "C"
    if a.ndim == 1:
        return in_rows(a, np.ravel)
    read = a if by_rows else transpose(a)
    made = reshaped(copy(read) if a.tracer.is_spaced(a.value) else read, (-1,))
    # np.ravel copies an array with negative strides, of which a reshape may be a view
    return a.tracer.alias(a, made, lambda array, _: np.ravel(array, order))


@numpy_function(np.ndarray.flatten)
def flatten(a: Any, order: Any = "C") -> Any:
    return copy(ravel(a, order))


@numpy_function(np.copy)
def copy(a: Any, order: Any = "C") -> Any:
    return _by_columns(a) if _order("copy", order) == "F" else apply(OPERATORS["copy"], a)


@numpy_function(np.rollaxis, counted=("axis",))
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    start = start + a.ndim if start < 0 else start
    if not 0 <= start <= a.ndim:
        raise AxisError(f"rollaxis: no place {start} among {a.ndim} axes")
    start -= axis < start
    return a[...] if axis == start else np.moveaxis(a, axis, start)


def _each(raised: Callable[[Any], Any]) -> Callable[..., Any]:
    """``np.atleast_1d`` and the like take any number of arrays; ``raised`` takes one."""

    def handler(*arrays: Any) -> Any:
        made = tuple(map(raised, arrays))
        return made[0] if len(made) == 1 else made

    return handler


numpy_function(np.atleast_1d, arrays=("arrays",))(_each(lambda a: a if a.ndim else a[None]))
numpy_function(np.atleast_2d, arrays=("arrays",))(
    _each(lambda a: a if a.ndim > 1 else a[(None,) * (2 - a.ndim)])
)
# By rank the index that adds axes: a vector becomes the middle axis, a matrix the first two.
BEHIND = {0: (None, None, None), 1: (None, slice(None), None), 2: (..., None)}
numpy_function(np.atleast_3d, arrays=("arrays",))(
    _each(lambda a: a[BEHIND[a.ndim]] if a.ndim in BEHIND else a)
)


def _spread(array: Any, over: Any) -> Any:
    """An array broadcast to the shape of ``over``, which costs nothing: it is a constant."""
    return np.where(over, array, array)


@numpy_function(np.broadcast_to)
def broadcast_to(array: Any, shape: Any, subok: bool = False) -> Any:
    """A copy; NumPy's result is a view that nobody can write to.

    Raises:
        ShapeError: the array does not broadcast to the shape.
    """
    tracer, extents = array.tracer, shape if isinstance(shape, tuple | list) else (shape,)
    wanted = [extent_of_item(tracer, item) for item in extents]
    have = [extent_of_item(tracer, item) for item in array.shape]
    fits = len(have) <= len(wanted) and all(
        own in (literal(1), new) or tracer.builder.require(Expr("eq", (own, new)))
        for own, new in zip(reversed(have), reversed(wanted), strict=False)
    )
    if not fits:
        found, asked = (tuple(map(int, s)) for s in (array.shape, extents))
        raise ShapeError(f"broadcast_to: {found} does not broadcast to {asked}")
    made = _spread(array, created(tracer, extents, True, np.bool_))
    return tracer.lock(tracer.alias(array, made, np.broadcast_to))


@numpy_function(np.broadcast_arrays, arrays=())
def broadcast_arrays(*args: Any, subok: bool = False) -> tuple[Any, ...]:
    arrays = [a for a in args if is_traced_array(a)]
    if len(arrays) < len(args):
        raise UnsupportedError("broadcast_arrays: expected traced arrays")
    made = [(a, spread) for a, spread in zip(arrays, spread_over_each_other(arrays), strict=True)]
    return tuple(a.tracer.alias(a, spread, _broadcast) for a, spread in made)


def _broadcast(array: Any, shape: tuple[int, ...]) -> Any:
    """NumPy's view: so far it can be written to, unlike that of ``np.broadcast_to``."""
    return np.broadcast_arrays(array, np.broadcast_to(array, shape))[0]


def spread_over_each_other(arrays: Sequence[Any]) -> tuple[Any, ...]:
    """Copies of arrays, all broadcast to one shape."""
    over = reduce(np.logical_or, [_like(1)(a, np.bool_) for a in arrays])
    return tuple(_spread(a, over) for a in arrays)


@numpy_function(np.ndarray.copy)
def method_copy(a: Any, order: Any = "C") -> Any:
    """A copy; of a number it is a number, while that of ``np.copy`` is an array."""
    return astype(a, a.dtype) if a.ndim == 0 else copy(a, order)


@numpy_function("astype")
@numpy_function(
    np.ndarray.astype,
    like=lambda self, dtype, order="K", casting="unsafe", subok=True, copy=True: 0,
)
def astype(
    a: Any, dtype: Any, order: Any = "K", casting: Any = "unsafe", *, copy: bool = True
) -> Any:
    """
    Raises:
        DTypeError: ``casting`` does not allow the conversion.
    """
    if casting != "unsafe" and not np.can_cast(a.dtype, dtype, casting):
        raise DTypeError(f"astype: cannot cast {a.dtype} to {dtype_name(dtype)} by {casting!r}")
    if not copy and is_kept(order) and dtypes.of(dtype).numpy == a.dtype:  # longlong is int64
        return a
    return in_order(apply(OPERATORS["cast"], a, dtype=dtype_name(dtype)), order)


numpy_function(np.ndarray.itemsize)(lambda a: a.dtype.itemsize)
numpy_function(np.ndarray.nbytes)(lambda a: a.size * a.dtype.itemsize)
numpy_function(np.shape)(lambda a: a.shape)
numpy_function(np.ndim)(lambda a: a.ndim)


@numpy_function(np.size)
def size(a: Any, axis: Any = None) -> Any:
    axes = counted_axes("size", axis, a.ndim)
    return reduce(lambda total, d: a.shape[d] * total, axes, 1) if axis is not None else a.size
