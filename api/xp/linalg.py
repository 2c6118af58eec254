"""The extension ``linalg``: NumPy's or CuPy's functions, but for products of matrices."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from opweave.opcodes.errors import AxisError, ShapeError
from opweave.xp.arrays import Array, array_of
from opweave.xp.called import by_library
from opweave.xp.dtypes import INT64, dtype_of, promoted_all, summed
from opweave.xp.lines import at_line
from opweave.xp.maps import MAPS, mapped, node_of
from opweave.xp.products import multiplied
from opweave.xp.reductions import REDUCTIONS, check_kinds, reduced
from opweave.xp.shapes import axes_of, axis_of, cast


class EigResult(NamedTuple):
    """What ``eig`` finds."""

    eigenvalues: Array
    eigenvectors: Array


class EighResult(NamedTuple):
    """What ``eigh`` finds."""

    eigenvalues: Array
    eigenvectors: Array


class QRResult(NamedTuple):
    """What ``qr`` finds."""

    Q: Array
    R: Array


class SlogdetResult(NamedTuple):
    """What ``slogdet`` finds."""

    sign: Array
    logabsdet: Array


class SVDResult(NamedTuple):
    """What ``svd`` finds."""

    U: Array
    S: Array
    Vh: Array


def _of_floats(what: str, *arrays: Any) -> None:
    """Refuse other elements than floats."""
    for array in arrays:
        check_kinds(what, node_of(array, what).dtype, "fc")


def _linalg(what: str, x: Array, /, *args: Any, **kwargs: Any) -> Any:
    _of_floats(what, x)
    return by_library(f"linalg.{what}", x, *args, **kwargs)


def matmul(x1: Array, x2: Array, /) -> Array:
    """The product of matrices, of stacks of them, or of vectors."""
    return array_of(multiplied(node_of(x1, "matmul"), node_of(x2, "matmul")))


def matrix_transpose(x: Array, /) -> Array:
    """The transposes of a stack of matrices."""
    node_of(x, "matrix_transpose")
    return x.mT


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """The products of vectors along an axis, the first conjugated.

    Raises:
        DTypeError: of other elements than numbers.
        ShapeError: the vectors are of different lengths.
    """
    a, b = node_of(x1, "vecdot"), node_of(x2, "vecdot")
    dtype = promoted_all([a.dtype, b.dtype], "vecdot")
    check_kinds("vecdot", dtype, "ifc")
    if axis >= 0:
        raise AxisError(f"vecdot: expected an axis from behind, below 0, found {axis}{at_line()}")
    extents = [n.shape[axis_of(axis, len(n.shape), "vecdot")] for n in (a, b)]
    if extents[0] != extents[1]:
        raise ShapeError(f"vecdot: {extents[0]} and {extents[1]} elements{at_line()}")
    first: Any = array_of(mapped(MAPS["conj"], x1)) if a.dtype.kind == "c" else x1
    product = mapped(MAPS["multiply"], first, x2)
    return array_of(reduced(REDUCTIONS["sum"], product, axis, False, dtype=dtype))


def tensordot(
    x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Array:
    """The sums of products over axes of both.

    Raises:
        DTypeError: of other elements than numbers, or kinds that do not promote.
        ShapeError: the axes do not fit.
    """
    dtype = promoted_all([node_of(x, "tensordot").dtype for x in (x1, x2)], "tensordot")
    check_kinds("tensordot", dtype, "ifc")
    found: Array = by_library("tensordot", x1, x2, axes=axes)
    return found


def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """The cross products of vectors of three elements.

    Raises:
        ShapeError: there are not three.
    """
    nodes = [node_of(x, "cross") for x in (x1, x2)]
    check_kinds("cross", promoted_all([n.dtype for n in nodes], "cross"), "ifc")
    for node in nodes:
        if node.shape[axis_of(axis, len(node.shape), "cross")] != 3:
            raise ShapeError(f"cross: expected 3 elements along axis {axis}{at_line()}")
    found: Array = by_library("cross", x1, x2, axis=axis)
    return found


def outer(x1: Array, x2: Array, /) -> Array:
    """The products of each element of one vector with each of another.

    Raises:
        ShapeError: they are no vectors.
    """
    if [node_of(x, "outer").shape[1:] for x in (x1, x2)] != [(), ()] or 0 in (x1.ndim, x2.ndim):
        raise ShapeError(f"outer: expected vectors{at_line()}")
    found: Array = x1[:, None] * x2[None, :]
    return found


def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    """The triangular factor of positive definite matrices."""
    found: Array = _linalg("cholesky", x)
    if not upper:
        return found
    made = found.mT
    return array_of(mapped(MAPS["conj"], made)) if made.dtype.kind == "c" else made


def det(x: Array, /) -> Array:
    """The determinants of matrices."""
    found: Array = _linalg("det", x)
    return found


def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """The diagonals of matrices."""
    node_of(x, "diagonal")
    found: Array = by_library("diagonal", x, offset=offset, axis1=-2, axis2=-1)
    return found


def eig(x: Array, /) -> EigResult:
    """Eigenvalues and eigenvectors of matrices, which are complex."""
    values, vectors = _linalg("eig", x)
    return EigResult(_complex(values), _complex(vectors))


def eigvals(x: Array, /) -> Array:
    """The eigenvalues of matrices, which are complex."""
    return _complex(_linalg("eigvals", x))


def _complex(x: Array) -> Array:
    """What NumPy has as real numbers where all are."""
    return x if x.dtype.kind == "c" else array_of(cast(x._node, np.result_type(x.dtype, 1j)))


def eigh(x: Array, /) -> EighResult:
    """Eigenvalues and eigenvectors of Hermitian matrices."""
    return EighResult(*_linalg("eigh", x))


def eigvalsh(x: Array, /) -> Array:
    """The eigenvalues of Hermitian matrices."""
    found: Array = _linalg("eigvalsh", x)
    return found


def inv(x: Array, /) -> Array:
    """The inverses of matrices."""
    found: Array = _linalg("inv", x)
    return found


def matrix_norm(x: Array, /, *, keepdims: bool = False, ord: Any = "fro") -> Array:
    """The norms of matrices."""
    _of_floats("matrix_norm", x)
    found: Array = by_library("linalg.norm", x, ord=ord, axis=(-2, -1), keepdims=keepdims)
    return found


def matrix_power(x: Array, n: int, /) -> Array:
    """The powers of matrices."""
    found: Array = _linalg("matrix_power", x, n)
    return found


def matrix_rank(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """How many singular values of matrices are larger than ``rtol`` of the largest.

    Raises:
        ShapeError: it has fewer than two dimensions.
    """
    _of_floats("matrix_rank", x)
    if x.ndim < 2:
        raise ShapeError(f"matrix_rank: expected 2 dimensions, found {x.ndim}{at_line()}")
    least: Any = _rtol(x) if rtol is None else rtol
    values = _linalg("svd", x, compute_uv=False)
    if not min(x.shape[-2:]):
        return array_of(reduced(REDUCTIONS["sum"], cast(values._node, INT64), -1, False))
    largest = array_of(reduced(REDUCTIONS["max"], values._node, -1, True))
    above = values > largest * (least[..., None] if isinstance(least, Array) else least)
    return array_of(reduced(REDUCTIONS["sum"], cast(above._node, INT64), -1, False))


def _rtol(x: Array) -> float:
    """The part of the largest singular value below which one is taken to be zero."""
    return max(x.shape[-2:]) * float(np.finfo(x.dtype).eps)


def pinv(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """The pseudo-inverses of matrices."""
    _of_floats("pinv", x)
    found: Array = _linalg("pinv", x, rcond=_rtol(x) if rtol is None else rtol)
    return found


def qr(x: Array, /, *, mode: str = "reduced") -> QRResult:
    """An orthonormal and a triangular factor of matrices."""
    return QRResult(*_linalg("qr", x, mode))


def slogdet(x: Array, /) -> SlogdetResult:
    """The signs of determinants, and the logarithms of their sizes."""
    return SlogdetResult(*_linalg("slogdet", x))


def solve(x1: Array, x2: Array, /) -> Array:
    """The solutions of systems of linear equations.

    Raises:
        ShapeError: the shapes do not fit.
    """
    _of_floats("solve", x1, x2)
    promoted_all([x1.dtype, x2.dtype], "solve")
    if x2.ndim == 1:  # a vector for all of the matrices
        solved: Array = by_library("linalg.solve", x1, x2[:, None])
        return solved[..., 0]
    found: Array = by_library("linalg.solve", x1, x2)
    return found


def svd(x: Array, /, *, full_matrices: bool = True) -> SVDResult:
    """The singular vectors and values of matrices."""
    return SVDResult(*_linalg("svd", x, full_matrices))


def svdvals(x: Array, /) -> Array:
    """The singular values of matrices."""
    found: Array = _linalg("svd", x, compute_uv=False)
    return found


def trace(x: Array, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """The sums of the diagonals of matrices."""
    node = node_of(x, "trace")
    check_kinds("trace", node.dtype, "ifc")
    wanted = summed(node.dtype) if dtype is None else dtype_of(dtype, "trace")
    found: Array = by_library("trace", x, offset=offset, axis1=-2, axis2=-1, dtype=wanted)
    return found


def vector_norm(x: Array, /, *, axis: Any = None, keepdims: bool = False, ord: Any = 2) -> Array:
    """The norms of vectors along axes; of all elements as one vector if none is named."""
    _of_floats("vector_norm", x)
    axes = axes_of(axis, x.ndim, "vector_norm")
    rest = tuple(a for a in range(x.ndim) if a not in axes)
    shape = tuple(x.shape[a] for a in rest)
    moved = by_library("transpose", x, (*rest, *axes))
    flat = by_library("reshape", moved, (*shape, prod(x.shape[a] for a in axes)))
    found: Array = by_library("linalg.norm", flat, ord=ord, axis=-1)
    if keepdims:
        kept = tuple(1 if a in axes else n for a, n in enumerate(x.shape))
        found = by_library("reshape", found, kept)
    return found
