"""Products of vectors, matrices and tensors."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from opweave.compiler.arrays.complexes import conjugated
from opweave.compiler.arrays.reshaping import number_of
from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.numpy_api.common import apply
from opweave.compiler.numpy_api.linalg_einsum import _summed, tensordot
from opweave.compiler.numpy_api.registry import numpy_function
from opweave.opcodes import OPERATORS
from opweave.opcodes.errors import ShapeError, UnsupportedError


def product_of_two(x1: Any, x2: Any, /, out: Any = None, **kwargs: Any) -> None:
    """The signature of NumPy's products that are ufuncs."""


@numpy_function(np.matmul, arrays=("x1", "x2"), like=product_of_two)
@numpy_function(np.linalg.matmul, arrays=("x1", "x2"))
def matmul(x1: Any, x2: Any, /) -> Any:
    """``@``; what vectors are in it, is in ``compiler/arrays/vectors.py``."""
    ranks = [getattr(a, "ndim", 0) for a in (x1, x2)]
    if 0 in ranks:
        kinds = " and ".join(type(a).__name__.removeprefix("Traced") for a in (x1, x2))
        raise ShapeError(
            f"matmul: expected arrays of at least one dimension, found a scalar among {kinds}"
        )
    return apply(OPERATORS["matmul"], x1, x2)


@numpy_function(np.dot, arrays=("a", "b"), numbers=True, like=lambda a, b, out=None: 0)
@numpy_function(
    np.ndarray.dot, arrays=("a", "b"), numbers=True, like=lambda self, other, /, out=None: 0
)
def dot(a: Any, b: Any) -> Any:
    if not (a.ndim and b.ndim):
        return apply(OPERATORS["multiply"], a, b)
    if b.ndim > 2 or (a.ndim > 2 and b.ndim != 1):
        return tensordot(a, b, ([a.ndim - 1], [b.ndim - 2]))
    return matmul(a, b)


@numpy_function(np.inner, arrays=("a", "b"), numbers=True, like=lambda a, b, /: 0)
def inner(a: Any, b: Any, /) -> Any:
    if not 1 <= b.ndim <= 2 or not 1 <= a.ndim <= 2:
        raise UnsupportedError(f"inner: arrays of {a.ndim} and {b.ndim} dimensions")
    return a @ b.T


@numpy_function(np.outer, arrays=("a", "b"), numbers=True)
def outer(a: Any, b: Any) -> Any:
    first, second = (x if x.ndim == 1 else x.reshape(-1) for x in (a, b))
    return first[:, None] * second[None, :]


@numpy_function(np.vdot, arrays=("a", "b"), numbers=True, like=lambda a, b, /: 0)
def vdot(a: Any, b: Any, /) -> Any:
    return conjugated(a.reshape(-1)) @ b.reshape(-1)


@numpy_function(np.vecdot, arrays=("x1", "x2"), numbers=True, like=product_of_two)
@numpy_function(np.linalg.vecdot, arrays=("x1", "x2"), numbers=True)
def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    _check_ranks("vecdot", (x1, x2), (1, 1))
    one = axis is not None and not isinstance(axis, tuple | list)
    if axis != -1 and not (one and x1.ndim == x2.ndim):
        raise UnsupportedError("vecdot: expected one axis, of operands of as many dimensions")
    return _summed(conjugated(x1) * x2, axis)


def _check_ranks(name: str, found: Sequence[Any], ranks: Sequence[int]) -> None:
    """
    Raises:
        ShapeError: an operand has fewer dimensions than it must have.
    """
    for operand, rank in zip(found, ranks, strict=True):
        if operand.ndim < rank:
            raise ShapeError(f"{name}: expected {rank} dimensions, found {operand.ndim}")


@numpy_function("matvec", arrays=("x1", "x2"), numbers=True, like=product_of_two)
def matvec(x1: Any, x2: Any, /) -> Any:
    _check_ranks("matvec", (x1, x2), (2, 1))
    return _summed(x1 * x2[..., None, :], -1)


@numpy_function("vecmat", arrays=("x1", "x2"), numbers=True, like=product_of_two)
def vecmat(x1: Any, x2: Any, /) -> Any:
    _check_ranks("vecmat", (x1, x2), (1, 2))
    return _summed(conjugated(x1)[..., :, None] * x2, -2)


@numpy_function(np.kron, arrays=("a", "b"), numbers=True)
def kron(a: Any, b: Any) -> Any:
    rank = max(a.ndim, b.ndim)
    a, b = (x[(*[None] * (rank - x.ndim), ...)] for x in (a, b))
    apart = [tuple(item for _ in range(a.ndim) for item in pair)
             for pair in ((slice(None), None), (None, slice(None)))]  # fmt: skip
    shape = [m * n for m, n in zip(a.shape, b.shape, strict=True)]
    return (a[apart[0]] * b[apart[1]]).reshape(shape)


@numpy_function(np.cross, np.linalg.cross, arrays=("a", "b"), numbers=True)
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None
) -> Any:
    """The cross product of vectors of three numbers along the last axis.

    Raises:
        UnsupportedError: vectors along another axis, or of two numbers.
        ShapeError: an operand without dimensions.
    """
    if (axis is not None and axis != -1) or (axisa, axisb, axisc) != (-1, -1, -1):
        raise UnsupportedError("cross: expected vectors along the last axis")
    if not (a.ndim and b.ndim):
        raise ShapeError("cross: at least one array has zero dimension")
    for extent in (a.shape[-1], b.shape[-1]):
        if not a.tracer.builder.require(Expr("eq", (number_of(a.tracer, extent), literal(3)))):
            raise UnsupportedError("cross: expected vectors of three numbers")
    turned = [
        a[..., p] * b[..., q] - a[..., q] * b[..., p] for p, q in ((1, 2), (2, 0), (0, 1))
    ]  # fmt: skip
    return np.stack(turned, axis=-1)


@numpy_function(np.linalg.outer, arrays=("x1", "x2"), numbers=True)
def outer_of_vectors(x1: Any, x2: Any, /) -> Any:
    if x1.ndim != 1 or x2.ndim != 1:
        raise ShapeError(f"outer: expected vectors, found {x1.ndim} and {x2.ndim} dimensions")
    return x1[:, None] * x2[None, :]


@numpy_function(np.linalg.multi_dot, arrays=())
def multi_dot(arrays: Any) -> Any:
    """A product from left to right, even if another order needs fewer operations."""
    if len(arrays) < 2:
        raise ShapeError("multi_dot: expected at least two arrays")
    if not all(getattr(a, "ndim", 0) for a in arrays):
        raise UnsupportedError("multi_dot: lists and numbers")
    return reduce(np.matmul, arrays)


@numpy_function(np.linalg.matrix_power)
def matrix_power(a: Any, n: Any) -> Any:
    """A power by repeated squaring.

    Raises:
        UnsupportedError: a negative power, which needs the inverse; matrices that are not square.
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
