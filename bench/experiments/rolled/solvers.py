"""Linear algebra by rows and columns."""

from __future__ import annotations

from typing import Any

import numpy as np


def triangular(L: Any, b: Any) -> Any:
    """Forward substitution."""
    x = np.zeros_like(b)
    for i in range(len(b)):
        x[i] = (b[i] - L[i, :i] @ x[:i]) / L[i, i]
    return x


def lu(A: Any) -> None:
    """A factorisation in place, a rank-one update a step."""
    for k in range(len(A) - 1):
        A[k + 1 :, k] /= A[k, k]
        A[k + 1 :, k + 1 :] -= np.outer(A[k + 1 :, k], A[k, k + 1 :])


def cholesky(A: Any) -> None:
    """A factorisation in place, column by column."""
    for j in range(len(A)):
        A[j, j] = np.sqrt(A[j, j] - A[j, :j] @ A[j, :j])
        A[j + 1 :, j] = (A[j + 1 :, j] - A[j + 1 :, :j] @ A[j, :j]) / A[j, j]


def gauss_seidel(A: Any, b: Any, x: Any, sweeps: int) -> None:
    """Sweeps over the unknowns, each of which sees those before it."""
    for _ in range(sweeps):
        for i in range(len(b)):
            x[i] = (b[i] - A[i, :i] @ x[:i] - A[i, i + 1 :] @ x[i + 1 :]) / A[i, i]


def thomas(a: Any, b: Any, c: Any, d: Any) -> Any:
    """A tridiagonal system."""
    n = len(d)
    c, d, x = c.copy(), d.copy(), np.empty_like(d)
    c[0] /= b[0]
    d[0] /= b[0]
    for i in range(1, n):
        m = b[i] - a[i] * c[i - 1]
        c[i] = c[i] / m
        d[i] = (d[i] - a[i] * d[i - 1]) / m
    x[n - 1] = d[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = d[i] - c[i] * x[i + 1]
    return x


def power_iteration(A: Any, x: Any, steps: int) -> Any:
    """The largest eigenvalue and its vector."""
    for _ in range(steps):
        y = A @ x
        x = y / np.sqrt(y @ y)
    return x @ (A @ x), x


def conjugate_gradient(A: Any, b: Any, steps: int) -> Any:
    """So many steps from zero."""
    x, r = np.zeros_like(b), b.copy()
    p, rr = r.copy(), r @ r
    for _ in range(steps):
        q = A @ p
        alpha = rr / (p @ q)
        x += alpha * p
        r -= alpha * q
        new = r @ r
        p = r + (new / rr) * p
        rr = new
    return x


def gram_schmidt(A: Any) -> Any:
    """Orthonormal columns, and the factors of the old ones."""
    n = A.shape[1]
    Q, R = A.copy(), np.zeros((n, n))
    for k in range(n):
        R[k, k] = np.sqrt(np.sum(Q[:, k] ** 2))
        Q[:, k] /= R[k, k]
        for j in range(k + 1, n):
            R[k, j] = np.sum(Q[:, k] * Q[:, j])
            Q[:, j] -= R[k, j] * Q[:, k]
    return Q, R
