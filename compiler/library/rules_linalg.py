"""Shapes of what NumPy's linear algebra gives, see ``rules.py``."""

from __future__ import annotations

from typing import Any

from opweave.compiler.library.rules import LibraryRequest, Rule, Shape, Shapes, smaller
from opweave.opcodes.errors import UnsupportedError


def matrix_shape(asked: LibraryRequest, name: str = "a") -> tuple[Shape, Any, Any]:
    """Extents before the last two, and these.

    Raises:
        UnsupportedError: fewer than two dimensions.
    """
    shape = asked.shape(name)
    if len(shape) < 2:
        raise UnsupportedError("expected matrices")
    return shape[:-2], shape[-2], shape[-1]


def batches(first: Shape, second: Shape) -> Shape:
    """Extents of two batches that meet; whether they do, NumPy tells."""
    longer, shorter = (first, second) if len(first) >= len(second) else (second, first)
    apart = len(longer) - len(shorter)
    pairs = zip(longer[apart:], shorter, strict=True)
    return longer[:apart] + tuple(n if type(m) is int and m == 1 else m for m, n in pairs)


def solved(asked: LibraryRequest) -> Shapes:
    batch, rows, _ = matrix_shape(asked)
    right = asked.shape("b")
    if len(right) == 1:
        return [(*batch, rows)]
    return [(*batches(batch, right[:-2]), *right[-2:])]


def least_squares(asked: LibraryRequest) -> Shapes:
    _, rows, cols = matrix_shape(asked)
    right = asked.shape("b")
    sums = right[1:] or (1,)
    return [(cols, *right[1:]), sums if rows > cols else (0,), (), (smaller(rows, cols),)]


def of_each_matrix(count: int, name: str = "a") -> Rule:
    """So many numbers of each matrix."""
    return lambda asked: [matrix_shape(asked, name)[0]] * count


def rank(asked: LibraryRequest) -> Shapes:
    return [matrix_shape(asked, "A")[0]] if len(asked.shape("A")) > 1 else [()]


def condition(asked: LibraryRequest) -> Shapes:
    return [matrix_shape(asked, "x")[0]]


def values_of(name: str = "a") -> Rule:
    """A value for each row of a square matrix."""
    return lambda asked: [asked.shape(name)[:-1]]


def pairs_of(asked: LibraryRequest) -> Shapes:
    batch, rows, cols = matrix_shape(asked)
    return [(*batch, rows), (*batch, rows, cols)]


def singular_values(asked: LibraryRequest) -> Shapes:
    batch, rows, cols = matrix_shape(asked, "x")
    return [(*batch, smaller(rows, cols))]


def singular(asked: LibraryRequest) -> Shapes:
    batch, m, n = matrix_shape(asked)
    k = smaller(m, n)
    if not asked["compute_uv"]:
        return [(*batch, k)]
    rows, cols = (m, n) if asked["full_matrices"] else (k, k)
    return [(*batch, m, rows), (*batch, k), (*batch, cols, n)]


def factored(asked: LibraryRequest) -> Shapes:
    """Of ``qr``, by its mode."""
    batch, m, n = matrix_shape(asked)
    k = smaller(m, n)
    modes: dict[str, Shapes] = {
        "reduced": [(*batch, m, k), (*batch, k, n)],
        "complete": [(*batch, m, m), (*batch, m, n)],
        "r": [(*batch, k, n)],
        "raw": [(*batch, n, m), (*batch, k)],
    }
    return modes[asked["mode"]]


def transposed(asked: LibraryRequest) -> Shapes:
    batch, m, n = matrix_shape(asked)
    return [(*batch, n, m)]


def values_of_complex(asked: LibraryRequest) -> Shapes:
    """Eigenvalues of complex matrices; of real ones data tell whether they are real.

    Raises:
        UnsupportedError: real matrices.
    """
    if asked["a"].dtype.kind != "c":
        raise UnsupportedError("eigenvalues of real matrices, which may be complex")
    return values_of()(asked)


def pairs_of_complex(asked: LibraryRequest) -> Shapes:
    return [*values_of_complex(asked), asked.shape()]


def turned(asked: LibraryRequest) -> Shapes:
    """Of the inverse of a tensor: its axes behind ``ind`` first."""
    shape, ind = asked.shape(), asked["ind"]
    return [shape[ind:] + shape[:ind]]


def solved_tensor(asked: LibraryRequest) -> Shapes:
    shape = asked.shape()
    return [shape[len(asked.shape("b")) :]]
