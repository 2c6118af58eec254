"""Small systems of equations in loops: LAPACK's bits, as ``numpy.linalg`` asks for them."""

from __future__ import annotations

import numpy as np
import pytest

from opweave._loops.rolled import Rolled
from tests.loops.programs import row, square, words
from tests.loops.test_loops_in_c import called, is_same, run_in_c

pytestmark = pytest.mark.host


def solves(A, b, out):
    for k in range(3):
        out += np.linalg.solve(A + k * np.eye(len(A)), b) + np.linalg.solve(A.T, b * k)


def solves_for_columns(A, b, out):
    for k in range(2):
        out += np.linalg.solve(A, A * k)[:, 0] + np.linalg.solve(A, b[:, None])[:, 0]


def inverts(A, b, out):
    for k in range(3):
        out += np.linalg.inv(A * (k + 1))[0] + np.linalg.inv(A.T)[k]


def roots(A, b, out):
    for k in range(2):
        out += np.linalg.cholesky(A @ A.T + np.eye(len(A)) * (k + 20))[-1]


def determinants(A, b, out):
    for k in range(3):
        out += np.linalg.det(A) + np.linalg.det(-A[:k, :k]) + np.linalg.det(A * 0)


def filtered(z, F, H, Q, R):
    n = F.shape[0]
    x, P = np.zeros(n), np.eye(n)
    out = np.empty((len(z), n))
    for k in range(len(z)):
        x = F @ x
        P = F @ P @ F.T + Q
        y = z[k] - H @ x
        S = H @ P @ H.T + R
        K = P @ H.T @ np.linalg.inv(S)
        x = x + K @ y
        P = (np.eye(n) - K @ H) @ P
        out[k] = x
    return out


A, B, OUT = square(4) - 0.7, row(4), np.zeros(4)
SINGLE = A.astype("f4"), B.astype("f4"), OUT.astype("f4")
FUNCTIONS = [solves, solves_for_columns, inverts, roots, determinants]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_an_equation_is_solved_as_by_numpy(function):
    for args in ((A, B, OUT), SINGLE):
        is_exact = function is not roots  # whose product is in another order
        assert is_same(called(function, args), run_in_c(function, args), is_exact)


def test_of_integers_doubles_are_solved_for():
    args = (words(4, 1)[:, None] * np.eye(4, dtype="i8") + 1, words(4, 1), OUT)
    assert is_same(called(inverts, args), run_in_c(inverts, args), exactly=True)


def test_a_filter_of_few_states_runs_in_c():
    F = np.array([[1, 0, 0.1, 0], [0, 1, 0, 0.1], [0, 0, 1, 0], [0, 0, 0, 1.0]])
    args = (square(6)[:, :2], F, np.eye(4)[:2], 0.01 * np.eye(4), 0.1 * np.eye(2))
    assert is_same(called(filtered, args), run_in_c(filtered, args), exactly=False)


FAULTS = {
    "singular": (inverts, (A * 0, B, OUT)),
    "singular_equations": (solves, (A * 0, B, OUT)),
    "not_square": (inverts, (A[:3], B, OUT)),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_has_no_solution_is_numpys_error(name):
    function, args = FAULTS[name]
    assert called(function, args)[0] == run_in_c(function, args)[0]


def indefinite(A, out):
    for k in range(2):
        out += np.linalg.cholesky(A - k * 10)[0]


def test_a_matrix_that_is_not_definite_is_numpys_error():
    args = (A @ A.T + np.eye(4), OUT)
    expected, found = called(indefinite, args), run_in_c(indefinite, args)
    assert expected[0] == found[0]
    assert is_same(expected[1], found[1], exactly=True)


def test_complex_equations_are_pythons():
    rolled = Rolled(inverts)
    args = (A + 1j * A.T, B, OUT + 0j)
    assert is_same(called(inverts, args), called(rolled, args), exactly=True)
    assert not rolled.ran
