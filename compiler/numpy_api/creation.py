"""Arrays of a given shape, like another array, and from data.

What depends on no traced value, such as ``np.eye(3)``, NumPy makes while tracing; that array is
an input of the graph then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opweave.compiler.arrays.interface import TracerLike
from opweave.compiler.arrays.lifting import arrays_in, lifted
from opweave.compiler.arrays.reshaping import extent_of_item, symbol_of
from opweave.compiler.arrays.traced_operators import is_traced, is_traced_array, is_traced_number
from opweave.compiler.numpy_api.registry import CREATORS, NumpyFunction, numpy_function
from opweave.opcodes import OPERATORS, dtypes
from opweave.opcodes.errors import OpweaveError, UnsupportedError


def created(tracer: TracerLike, shape: Sequence[Any], fill: Any, dtype: Any) -> Any:
    """An array with the same number everywhere.

    Args:
        shape: extents; each is a number or a traced number.
        fill: a number or a traced number.
        dtype: of the result; None for that of the number.

    Raises:
        ShapeError: an extent is negative or no integer.
        UnsupportedError: ``fill`` is an array.
    """
    builder = tracer.builder
    if getattr(fill, "ndim", 0):
        raise UnsupportedError(
            f"full: expected a number to fill with, found {fill!r}; use np.where"
        )
    extents = tuple(symbol_of(tracer, extent_of_item(tracer, item)) for item in shape)
    own = dtypes.of(np.asarray(getattr(fill, "example", fill)).dtype)
    wanted = own if dtype is None else dtypes.of(dtype)
    if not is_traced_number(fill):
        if np.ndim(fill):
            raise UnsupportedError("full: expected a number to fill with, found a sequence")
        with tracer.errors():
            fill = np.full((), fill, wanted.numpy)[()]  # NumPy's conversion, with its errors
        own = wanted
    expr = fill.expr if is_traced_number(fill) else tracer.literal(fill)
    # as NumPy does, each call refuses a Python integer that the type cannot hold
    both_whole = getattr(fill, "example", None).__class__ is int and wanted.kind in "iu"
    direct = both_whole or np.can_cast(own.numpy, wanted.numpy, "same_kind")
    made = tracer.wrapped(
        builder.created(expr, wanted if direct else own, extents, tracer.where())
    )
    if direct:
        return made
    return tracer.apply(OPERATORS["cast"], [made], {"dtype": wanted.numpy_name})


@numpy_function(np.full_like)
def full_like(
    a: Any, fill_value: Any, dtype: Any = None, order: str = "K", subok: bool = True,
    *, shape: Any = None,
) -> Any:  # fmt: skip
    """An array with the shape and dtype of another one; ``shape=`` and ``dtype=`` go first."""
    extents = a.shape if shape is None else shape if isinstance(shape, tuple | list) else (shape,)
    if is_traced_array(fill_value) and fill_value.ndim:
        raise UnsupportedError("full_like: expected a number to fill with; use np.broadcast_to")
    return _full(a.tracer, extents, fill_value, a.dtype if dtype is None else dtype, order)


def _like(fill: int) -> Callable[..., Any]:
    def handler(
        a: Any, dtype: Any = None, order: str = "K", subok: bool = True, *, shape: Any = None
    ) -> Any:
        return full_like(a, fill, dtype, order, shape=shape)

    return handler


numpy_function(np.zeros_like)(_like(0))
numpy_function(np.ones_like)(_like(1))
numpy_function(
    np.empty_like,
    like=lambda prototype, /, dtype=None, order="K", subok=True, shape=None, *, device=None: 0,
)(_like(0))


@numpy_function(np.full, creates=True)
def full(tracer: Any, shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C") -> Any:
    if order not in ("C", "F"):
        raise UnsupportedError(f"order={order!r}: expected C or F")
    return _full(tracer, shape, fill_value, dtype, order)


def _shaped(number: int) -> Callable[..., Any]:
    def handler(tracer: Any, shape: Any, dtype: Any = float, order: Any = "C") -> Any:
        return full(tracer, shape, number, float if dtype is None else dtype, order)

    return handler


numpy_function(np.zeros, np.empty, creates=True)(_shaped(0))
numpy_function(np.ones, creates=True)(_shaped(1))


def _full(tracer: Any, shape: Any, fill_value: Any, dtype: Any = None, order: Any = "C") -> Any:
    if order == "F" and len(shape) > 1:
        return np.transpose(_full(tracer, shape[::-1], fill_value, dtype))
    if order not in ("C", "F", "A", "K", None):
        raise UnsupportedError(f"full: order={order!r}: expected C, F, A or K")
    if not is_traced_array(fill_value):
        return created(tracer, shape, fill_value, dtype)
    value = fill_value if dtype is None else fill_value.astype(dtype)
    return np.broadcast_to(value, shape).copy()


@numpy_function(np.array, creates=True)
def array(
    tracer: TracerLike, object: Any, dtype: Any = None, *, copy: Any = True, order: Any = "K",
    subok: bool = False,
) -> Any:  # fmt: skip
    """A traced array, or a list with traced arrays in it, as an array."""
    if order not in ("K", "A", "C", "F", None):
        raise UnsupportedError(f"array: order={order!r}: expected C, F, A or K")
    found, is_new = lifted(tracer, object), not is_traced_array(object)
    if not is_new and tracer.is_number(found.value):
        found, is_new = np.copy(found), True  # NumPy makes an array of a number
    if dtype is not None and dtypes.of(dtype) is not found.value.dtype:
        return found.astype(dtype, order=order)
    if copy and not is_new:
        return np.copy(found, order=order)
    return _laid_out(found if is_new or subok else _base_array(found), order)


def _base_array(a: Any) -> Any:
    """The array itself; for a memory-mapped file the plain array, which is another object."""
    return a[...] if a.value.id in a.tracer.mapped else a


def _laid_out(a: Any, order: Any) -> Any:
    """An array in the memory order that is asked for; the same array if it has that order."""
    if order not in ("C", "F") or not a.ndim:
        return a
    if order == "C" or a.ndim == 1:
        return in_rows(a, np.ascontiguousarray)
    return np.transpose(in_rows(np.transpose(a), np.ascontiguousarray))


@numpy_function(np.asarray, creates=True)
def asarray(tracer: TracerLike, a: Any, dtype: Any = None, order: Any = None) -> Any:
    return array(tracer, a, dtype, copy=False, order=order)


@numpy_function(np.asanyarray, creates=True)
def asanyarray(tracer: TracerLike, a: Any, dtype: Any = None, order: Any = None) -> Any:
    return array(tracer, a, dtype, copy=False, order=order, subok=True)


@numpy_function(np.asfortranarray, creates=True)
def asfortranarray(tracer: TracerLike, a: Any, dtype: Any = None) -> Any:
    found = array(tracer, a, dtype, copy=False, order="F")
    return found if found.ndim else found.reshape(1)


@numpy_function(np.ascontiguousarray, creates=True)
def ascontiguousarray(tracer: TracerLike, a: Any, dtype: Any = None) -> Any:
    found = array(tracer, a, dtype, copy=False)
    return in_rows(found, np.ascontiguousarray) if found.ndim else found.reshape(1)


def in_rows(a: Any, of: Callable[[Any], Any]) -> Any:
    """An array whose elements lie row by row: the same array if that is known to be so.

    Else a copy, or a view where NumPy's function ``of`` makes one.
    """
    if a.tracer.lies_in_rows(a.value) and not a.tracer.is_spaced(a.value):
        return _base_array(a)
    made = a.tracer.apply(OPERATORS["copy"], [a])
    return a.tracer.alias(a, made, lambda array, _: of(array))


def _takes(row: NumpyFunction, args: Any, kwargs: Any) -> bool:
    """True where a handler has all the arguments of a call, which come after the tracer."""
    try:
        row.signature.bind(None, *args, **kwargs)
    except TypeError:
        return False
    return True


def _placed(row: NumpyFunction, tracer: TracerLike, *args: Any, **kwargs: Any) -> Any:
    """Call a handler; what it refuses has the user's line."""
    try:
        return row(tracer, *args, **kwargs)
    except OpweaveError as error:
        place = str(tracer.where())
        raise error if place in str(error) else error.saying(f"{error} ({place})") from None


def _held(tracer: TracerLike | None, made: Any) -> Any:
    """An array that depends on no traced value: NumPy's, or a traced copy to be written to."""
    if tracer is None or getattr(made, "dtype", np.dtype(object)).kind not in "biufc":
        return made
    tracer.made = True
    return tracer.copied(made) if tracer.holds_made else made


def _extents(name: str, shape: Any) -> Sequence[Any]:
    if is_traced_array(shape) and shape.ndim:
        raise UnsupportedError(f"np.{name}: expected numbers as shape, found an array")
    found = shape.tolist() if type(shape) is np.ndarray else shape
    return found if isinstance(found, tuple | list) else (found,)


def creator(
    name: str, plain: Callable[..., Any], holder: TracerLike | None = None
) -> Callable[..., Any]:
    """A creation function as a traced function sees it.

    Args:
        name: of NumPy's function.
        plain: the function itself, of NumPy or CuPy; it is called if no argument is traced.
        holder: the tracer that may want a traced copy of what ``plain`` makes, see ``trace``.
    """
    row = CREATORS[name]

    def of_items(*args: Any, **kwargs: Any) -> Any:
        given = (*args, *kwargs.values())
        tracer = next((g.tracer for g in given if is_traced(g)), None)
        tracer = next((a.tracer for a in arrays_in(given)), tracer)
        if tracer is None:
            return _held(holder, plain(*args, **kwargs))
        if _takes(row, args, kwargs):
            found = _placed(row, tracer, *args, **kwargs)
            if found is not None:
                return found
        values = {key: tracer.concrete(value) for key, value in kwargs.items()}
        return plain(*map(tracer.concrete, args), **values)

    def of_shape(shape: Any, *args: Any, **kwargs: Any) -> Any:
        extents = _extents(name, shape)
        given = (*extents, *args, *kwargs.values())
        tracer = next((g.tracer for g in given if is_traced(g)), None)
        if tracer is None:
            return _held(holder, plain(shape, *args, **kwargs))
        kwargs = {k: v for k, v in kwargs.items() if k != "device" or v not in (None, "cpu")}
        if not _takes(row, (extents, *args), kwargs):
            raise UnsupportedError(f"np.{name}: an argument is not compiled ({tracer.where()})")
        return _placed(row, tracer, extents, *args, **kwargs)

    return of_shape if "shape" in row.own else of_items
