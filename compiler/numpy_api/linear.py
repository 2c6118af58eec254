"""Norms, covariances and the functions of ``np.linalg`` that are products and reductions."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np

from opweave.compiler.arrays.complexes import conjugated, is_complex, squared_size
from opweave.compiler.arrays.lifting import lifted
from opweave.compiler.arrays.reshaping import counted_axes, number_of
from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.numpy_api.registry import numpy_function
from opweave.opcodes.errors import ShapeError, UnsupportedError

Axes = tuple[int, ...]


def _floating(x: Any) -> Any:
    return x if x.dtype.kind in "fc" else x.astype(np.float64)  # of bfloat16 too, as NumPy


@numpy_function(np.linalg.norm)
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    """Of vectors along one axis, of matrices along two, of all elements without ``ord``.

    Raises:
        UnsupportedError: a norm by singular values.
        ShapeError: no such order, or more than two axes.
    """
    x = _floating(x)
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


# Of a matrix: the axis that is summed over, and what is taken of the sums.
EDGES: dict[Any, tuple[int, str]] = {
    1: (0, "max"), -1: (0, "min"), np.inf: (1, "max"), -np.inf: (1, "min"),
}  # fmt: skip


def _of_matrices(x: Any, ord: Any, axes: Axes, keepdims: bool) -> Any:
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
    if rest:
        moved = x.transpose(*counted, *rest)
        found = norm(moved.reshape(-1, *(x.shape[d] for d in rest)), ord, 0)
    else:
        found = norm(x.reshape(-1), ord, 0)
    return np.expand_dims(found, counted) if keepdims else found


@numpy_function(np.linalg.matrix_norm)
def matrix_norm(x: Any, /, *, keepdims: bool = False, ord: Any = "fro") -> Any:
    return norm(x, ord, (-2, -1), keepdims)


@numpy_function(np.linalg.diagonal)
def diagonal(x: Any, /, *, offset: int = 0) -> Any:
    """Of the last two axes, where ``np.diagonal`` takes the first two."""
    return np.diagonal(x, offset, -2, -1)


@numpy_function(np.linalg.trace)
def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    return np.trace(x, offset, -2, -1, dtype)


@numpy_function(np.linalg.outer, arrays=("x1", "x2"), numbers=True)
def outer(x1: Any, x2: Any, /) -> Any:
    if x1.ndim != 1 or x2.ndim != 1:
        raise ShapeError(f"outer: expected vectors, found {x1.ndim} and {x2.ndim} dimensions")
    return x1[:, None] * x2[None, :]


@numpy_function(np.linalg.multi_dot, arrays=())
def multi_dot(arrays: Any) -> Any:
    """From left to right, whichever order would be the fewest operations."""
    if len(arrays) < 2:
        raise ShapeError("multi_dot: expected at least two arrays")
    if not all(getattr(a, "ndim", 0) for a in arrays):
        raise UnsupportedError("multi_dot: lists and numbers")
    return reduce(np.matmul, arrays)


@numpy_function(np.linalg.matrix_power)
def matrix_power(a: Any, n: Any) -> Any:
    """By squaring.

    Raises:
        UnsupportedError: a negative power, which takes the inverse; no square matrices, which
            NumPy refuses.
    """
    if a.ndim < 2 or a.shape[-2] != a.shape[-1]:
        raise UnsupportedError("matrix_power: expected square matrices")
    power = a.tracer.concrete(n)
    if type(power) is not int or power < 0:
        raise UnsupportedError(f"matrix_power: expected a power of at least 0, found {power!r}")
    if power == 0:
        row, column = (np.arange(extent) for extent in a.shape[-2:])
        return np.broadcast_to(row[:, None] == column, a.shape).astype(a.dtype)
    found = None
    square = a
    while power:
        if power % 2:
            found = square if found is None else found @ square
        power //= 2
        square = square @ square if power else square
    return found.copy() if found is a else found


@numpy_function(np.cov, numbers=True)
def cov(
    m: Any, y: Any = None, rowvar: bool = True, bias: bool = False, ddof: Any = None, *,
    dtype: Any = None,
) -> Any:  # fmt: skip
    """Of variables in rows, or in columns; without weights.

    Raises:
        UnsupportedError: no more observations than ``ddof``, where NumPy warns.
        ShapeError: more than two dimensions.
    """
    if ddof is not None and ddof != int(ddof):
        raise UnsupportedError(f"cov: ddof={ddof!r}: expected a whole number")
    given = [m] if y is None else [m, lifted(m.tracer, y)]
    if any(part.ndim > 2 for part in given):
        raise ShapeError("cov: expected at most two dimensions")
    if dtype is not None and np.dtype(dtype).kind not in "fc":
        raise UnsupportedError("cov: dtype= of whole numbers")
    to = dtype or np.result_type(*(part.dtype for part in given), np.float64)
    rows = [np.atleast_2d(part.astype(to)) for part in given]
    if not rowvar:
        rows = [r.T if part.ndim == 2 else r for r, part in zip(rows, given, strict=True)]
    x = rows[0] if len(rows) == 1 else np.concatenate(rows)
    free = (0 if bias else 1) if ddof is None else ddof
    count = number_of(m.tracer, x.shape[1])
    if not m.tracer.builder.require(Expr("gt", (count, literal(free)))):
        raise UnsupportedError("cov: no more observations than ddof")
    apart = x - x.mean(axis=1)[:, None]
    found = (apart @ conjugated(apart).T) * (1 / (x.shape[1] - free))
    return np.squeeze(found)


@numpy_function(np.corrcoef, numbers=True)
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    c = cov(x, y, rowvar, dtype=dtype)
    if c.ndim == 0:
        return c / c
    spread = np.sqrt(np.real(np.diagonal(c)))
    c = c / spread[:, None] / spread[None, :]
    if not is_complex(c):
        return np.clip(c, -1, 1)
    return np.clip(np.real(c), -1, 1) + 1j * np.clip(np.imag(c), -1, 1)
