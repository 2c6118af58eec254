"""Norms, diagonals and traces."""

from __future__ import annotations

from typing import Any

import numpy as np

from opweave.compiler.arrays.complexes import squared_size
from opweave.compiler.arrays.gathering import coordinate, gathered, place_type
from opweave.compiler.arrays.reshaping import counted_axes, number_of, symbol_of
from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.numpy_api.registry import numpy_function
from opweave.opcodes.errors import ShapeError, UnsupportedError


@numpy_function(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """The norm of vectors along an axis, of matrices along two, of all elements without ``ord``.

    Raises:
        UnsupportedError: a norm that needs singular values.
        ShapeError: there is no norm of this order, or more than two axes.
    """
    x = x if x.dtype.kind in "fc" else x.astype(np.float64)  # also of bfloat16, as by NumPy
    if axis is None and (ord is None or (ord in ("f", "fro") and x.ndim == 2)):
        return np.sqrt(squared_size(x).sum(keepdims=keepdims))
    axes = counted_axes("norm", axis, x.ndim)
    if len(axes) == 1:
        return _of_vectors(x, ord, axes[0], keepdims)
    if len(set(axes)) != 2 or len(axes) != 2:
        raise ShapeError(f"norm: expected one axis or two, found {axes}")
    return _of_matrices(x, ord, axes, keepdims)


def _of_vectors(x: Any, ord: Any, axis: int, keepdims: bool) -> Any:
    over = {"axis": axis, "keepdims": keepdims}
    if ord is None or ord == 2:
        return np.sqrt(squared_size(x).sum(**over))
    if isinstance(ord, str):
        raise ShapeError(f"norm: {ord!r} is no order of a norm of vectors")
    sizes = abs(x)
    if ord == np.inf:
        return sizes.max(**over, initial=0)
    if ord == -np.inf:
        return sizes.min(**over)
    if ord == 0:
        return (x != 0).astype(sizes.dtype).sum(**over)
    if ord == 1:
        return sizes.sum(**over)
    return (sizes**ord).sum(**over) ** (1 / ord)


# Orders of matrix norms: which of the two axes is summed, and which of the sums is the norm.
EDGES: dict[Any, tuple[int, str]] = {
    1: (0, "max"), -1: (0, "min"), np.inf: (1, "max"), -np.inf: (1, "min"),
}  # fmt: skip


def _of_matrices(x: Any, ord: Any, axes: tuple[int, ...], keepdims: bool) -> Any:
    if ord in (None, "fro", "f"):
        return np.sqrt(squared_size(x).sum(axis=axes, keepdims=keepdims))
    if ord in (2, -2, "nuc"):
        raise UnsupportedError(f"norm: ord={ord!r} of matrices takes singular values")
    if ord not in EDGES:
        raise ShapeError(f"norm: {ord!r} is no order of a norm of matrices")
    summed, pick = EDGES[ord]
    first, second = axes[summed], axes[1 - summed]
    second -= not keepdims and second > first
    sums = abs(x).sum(axis=first, keepdims=keepdims)
    initial = {"initial": 0} if pick == "max" else {}
    return getattr(sums, pick)(axis=second, keepdims=keepdims, **initial)


@numpy_function(np.linalg.vector_norm)
def vector_norm(x: Any, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Any:
    if axis is not None and not isinstance(axis, tuple):
        return norm(x, ord, axis, keepdims)
    counted = counted_axes("vector_norm", axis, x.ndim)
    rest = tuple(d for d in range(x.ndim) if d not in counted)
    moved = x.transpose(*counted, *rest) if rest else x
    found = norm(moved.reshape(-1, *(x.shape[d] for d in rest)), ord, 0)
    return np.expand_dims(found, counted) if keepdims else found


@numpy_function(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return norm(x, ord, (-2, -1), keepdims)


@numpy_function(np.diagonal, np.ndarray.diagonal)
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    """A copy; NumPy's result is a view that nobody can write to."""
    made = _on_diagonal(a, offset, axis1, axis2)
    made = a.tracer.alias(a, made, lambda array, _: np.diagonal(array, offset, axis1, axis2))
    return a.tracer.lock(a.tracer.spaced(made))


def _on_diagonal(a: Any, offset: int, axis1: int, axis2: int) -> Any:
    if a.ndim < 2:
        raise ShapeError(f"diagonal: expected at least 2 dimensions, found {a.ndim}")
    pair = counted_axes("diagonal", (axis1, axis2), a.ndim)
    if pair[0] == pair[1]:
        raise ShapeError("diagonal: one axis stands twice")
    rest = [d for d in range(a.ndim) if d not in pair]
    if rest:
        a = a.transpose((*rest, *pair))
    tracer, require = a.tracer, a.tracer.builder.require
    offset = tracer.concrete(offset)
    begins = (0, offset) if offset >= 0 else (-offset, 0)
    rows, columns = (number_of(tracer, a.shape[d] - begins[d]) for d in (-2, -1))
    shorter = rows if require(Expr("lt", (rows, columns))) else columns
    extent = symbol_of(tracer, shorter) if require(Expr("ge", (shorter, literal(0)))) else 0
    dtype = place_type(tracer, *a.value.shape)
    along = coordinate(tracer, extent, 0, dtype)
    outer = [coordinate(tracer, e, len(rest) - d, dtype) for d, e in enumerate(a.value.shape[:-2])]
    return gathered(a, [*outer, *(along + begin if begin else along for begin in begins)])


@numpy_function(np.trace, np.ndarray.trace)
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    return diagonal(a, offset, axis1, axis2).sum(axis=-1, dtype=dtype)


@numpy_function(np.linalg.diagonal)
def diagonal_of_last_axes(x: Any, /, *, offset: int = 0) -> Any:
    """The diagonal of the last two axes; that of ``np.diagonal`` is of the first two."""
    return np.diagonal(x, offset, -2, -1)


@numpy_function(np.linalg.trace)
def trace_of_last_axes(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return np.trace(x, offset, -2, -1, dtype)
