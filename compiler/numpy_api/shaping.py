"""NumPy's functions and methods that give an array another shape: views, reshapes, copies."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.compiler.arrays.reshaping import counted_axis, reshaped
from opweave.compiler.arrays.traced_operators import is_traced
from opweave.compiler.numpy_api.creation import in_rows
from opweave.compiler.numpy_api.reducing import apply
from opweave.opcodes import OPERATORS
from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import ShapeError, UnsupportedError


def _view(a: Any, axes: tuple[int | None, ...]) -> Any:
    return apply(OPERATORS["view"], a, axes=axes)


def _axes_of(name: str, axes: Any, rank: int) -> list[int]:
    """Distinct axes counted from 0."""
    given = axes if isinstance(axes, tuple | list) else (axes,)
    found = [counted_axis(name, a, rank) for a in given]
    if len(set(found)) < len(found):
        raise ShapeError(f"{name}: an axis stands twice in {tuple(given)}")
    return found


def transpose(a: Any, axes: Any = None) -> Any:
    order = list(range(a.ndim))[::-1] if axes is None else _axes_of("transpose", axes, a.ndim)
    if len(order) != a.ndim:
        raise ShapeError(f"transpose: {len(order)} axes for an array of {a.ndim} dimensions")
    return _view(a, tuple(order))


def method_transpose(a: Any, *axes: Any) -> Any:
    given = axes[0] if len(axes) == 1 and not hasattr(axes[0], "__index__") else axes or None
    return transpose(a, given)


def swapaxes(a: Any, axis1: Any, axis2: Any) -> Any:
    first, second = (counted_axis("swapaxes", axis, a.ndim) for axis in (axis1, axis2))
    order = list(range(a.ndim))
    order[first], order[second] = order[second], order[first]
    return _view(a, tuple(order))


def matrix_transpose(x: Any, /) -> Any:
    if x.ndim < 2:
        raise ShapeError(f"matrix_transpose: expected at least 2 dimensions, found {x.ndim}")
    return swapaxes(x, -1, -2)


def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    start, end = (_axes_of("moveaxis", axis, a.ndim) for axis in (source, destination))
    if len(start) != len(end):
        raise ShapeError(f"moveaxis: {len(start)} axes to {len(end)} places")
    order = [d for d in range(a.ndim) if d not in start]
    for place, axis in sorted(zip(end, start, strict=True)):
        order.insert(place, axis)
    return _view(a, tuple(order))


def expand_dims(a: Any, axis: Any) -> Any:
    given = axis if isinstance(axis, tuple | list) else (axis,)
    new = _axes_of("expand_dims", tuple(given), a.ndim + len(given))
    old = iter(range(a.ndim))
    return _view(a, tuple(None if d in new else next(old) for d in range(a.ndim + len(new))))


def squeeze(a: Any, axis: Any = None) -> Any:
    shape = a.shape
    dropped = (
        [d for d, extent in enumerate(shape) if type(extent) is int and extent == 1]
        if axis is None
        else _axes_of("squeeze", axis, a.ndim)
    )
    return _view(a, tuple(d for d in range(a.ndim) if d not in dropped)) if dropped else a


def _order(name: str, order: Any) -> str:
    """A memory order by its letter.

    Raises:
        UnsupportedError: another one than NumPy's.
    """
    found = "K" if order is None else order.upper() if isinstance(order, str) else ""
    if found not in ("C", "F", "A", "K"):
        raise UnsupportedError(f"{name}: order={shown(order)}: expected C, F, A or K")
    return found


def _reading_order(name: str, a: Any, order: Any) -> str:
    """In which order elements are read: by rows, or by columns.

    Raises:
        UnsupportedError: it follows from how the array lies, which a kernel does not know.
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
    """The order in which an array lies already will do."""
    return order in ("K", "A", "k", "a", None)


def in_order(a: Any, order: Any) -> Any:
    """An array of its own in a memory order: by columns if asked for, else as it is made."""
    return _by_columns(a) if _order("copy", order) == "F" and a.ndim > 1 else a


def _by_columns(a: Any) -> Any:
    return transpose(apply(OPERATORS["copy"], transpose(a)))


def reshape(a: Any, shape: Any, order: Any = "C", *, copy: Any = None) -> Any:
    """
    Raises:
        UnsupportedError: ``copy=False`` of what NumPy may have to copy.
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


def method_reshape(a: Any, *shape: Any, order: Any = "C", copy: Any = None) -> Any:
    return reshape(a, shape[0] if len(shape) == 1 else shape, order, copy=copy)


def ravel(a: Any, order: Any = "C") -> Any:
    by_rows = _reading_order("ravel", a, order) == "C"
    made = reshaped(a if by_rows else transpose(a), (-1,))
    if a.ndim == 1:
        return in_rows(made, np.ravel)
    # of what lies backwards NumPy makes a copy, where a reshape is a view
    return a.tracer.alias(a, made, lambda array, _: np.ravel(array, order))


def flatten(a: Any, order: Any = "C") -> Any:
    return copy(ravel(a, order))


def copy(a: Any, order: Any = "C") -> Any:
    return _by_columns(a) if _order("copy", order) == "F" else apply(OPERATORS["copy"], a)


SHAPING: dict[str, Callable[..., Any]] = {
    "transpose": transpose,
    "permute_dims": transpose,
    "matrix_transpose": matrix_transpose,
    "swapaxes": swapaxes,
    "moveaxis": moveaxis,
    "expand_dims": expand_dims,
    "squeeze": squeeze,
    "reshape": reshape,
    "ravel": ravel,
    "copy": copy,
}
SHAPING_METHODS: dict[str, Callable[..., Any]] = {
    "transpose": method_transpose,
    "swapaxes": swapaxes,
    "squeeze": squeeze,
    "reshape": method_reshape,
    "ravel": ravel,
    "flatten": flatten,
}
SHAPING_PROPERTIES: dict[str, Callable[..., Any]] = {"T": transpose, "mT": matrix_transpose}
