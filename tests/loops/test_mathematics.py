"""Python's ``math`` in loops, and small systems of equations: the bits of their libraries."""

from __future__ import annotations

import math

import numpy as np
import pytest

import opweave as ow
from opweave._loops.rolled import Rolled
from opweave.compiler.lines.clibrary import ONE, TWO
from tests.loops.programs import row, square, words
from tests.loops.test_loops_in_c import called, is_same, run_in_c

pytestmark = pytest.mark.host

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-300, 800.0, -800.0, 1e308, np.inf, -np.inf, np.nan]
# Where most functions are defined, then where some are not.
PLACES = np.concatenate([np.random.default_rng(3).uniform(0, 1, 200), np.linspace(1, 50, 50)])


def of_one(function, xs):
    def loop(xs, out):
        for i in range(len(xs)):
            out[i] = function(xs[i])

    return loop, (xs, np.zeros(len(xs)))


def of_two(function, xs, ys):
    def loop(xs, ys, out):
        for i in range(len(xs)):
            out[i] = function(xs[i], ys[i])

    return loop, (xs, ys, np.zeros(len(xs)))


@pytest.mark.parametrize("function", ONE, ids=lambda f: f.__name__)
def test_a_function_has_pythons_bits_and_errors(function):
    is_above = function in (math.acosh, math.log, math.log2, math.log10)
    is_within = function in (math.acos, math.asin, math.atanh)
    xs = PLACES[PLACES >= 1] if is_above else PLACES[PLACES < 1] if is_within else PLACES
    for values in (xs, *(np.array([x]) for x in SPECIAL)):
        loop, args = of_one(function, values)
        expected, found = called(loop, args), run_in_c(loop, args)
        np.testing.assert_array_equal(expected[1][1], found[1][1])
        assert expected[0] == found[0]


@pytest.mark.parametrize("function", TWO, ids=lambda f: f.__name__)
def test_a_function_of_two_numbers_has_pythons_bits_and_errors(function):
    pairs = [(x, y) for x in SPECIAL for y in SPECIAL]
    for x, y in (*pairs, (PLACES, PLACES[::-1].copy())):
        loop, args = of_two(function, np.atleast_1d(x), np.atleast_1d(y))
        expected, found = called(loop, args), run_in_c(loop, args)
        np.testing.assert_array_equal(expected[1][2], found[1][2])
        assert expected[0] == found[0]


def powers(x, y, n):
    total = 0.0
    for k in range(n):
        x = x * 0.75
        total += x**2 + x**0.5 + 0.9**k + x**-1 + 2**k + (-1) ** k * 0.5 + y**k
        y = y * 1.5
    return total


def of_their_own(x, n):
    for _ in range(n):
        x = x**x
    return x


def of_integers(k, n):
    for i in range(n):
        k = k ** (i + 1)
    return k


def roots(x, y, n):
    for _ in range(n):
        x = x**y
        y = y * 1.0
    return x


def rounded(x, n):
    found, places = 0, 0
    for k in range(n):
        x = x * -1.7 + k
        found += math.floor(x) + math.ceil(x) * 2 + math.trunc(x) * 3 + round(x) * 5 + round(k)
        places += math.isnan(x) + math.isinf(x) + math.isfinite(x)
        x += math.radians(x) - math.degrees(k) * 1e-3
    return found, places, x


CALLS = {
    "powers": (powers, (3.0, 1.1, 9)),
    "their_own": (of_their_own, (0.3, 9)),
    "overflows": (of_their_own, (9.0, 9)),
    "of_zero": (roots, (0.0, -1.5, 2)),
    "integers": (of_integers, (3, 4)),
    "roots": (roots, (0.25, 0.5, 3)),
    "whole_powers_of_negative_numbers": (roots, (-2.0, 3.0, 2)),
    "rounded": (rounded, (2.5, 12)),
    "halves": (rounded, (0.5, 1)),
    "rounds_nan": (rounded, (math.nan, 2)),
}


@pytest.mark.parametrize("name", CALLS)
def test_powers_and_roundings_of_python(name):
    function, args = CALLS[name]
    expected, found = called(function, args), run_in_c(function, args)
    assert is_same(expected[0], found[0], exactly=True)


def test_what_a_loop_cannot_hold_is_an_error():
    for function, args in ((roots, (-0.25, 0.5, 1)), (of_integers, (3, 9))):
        assert run_in_c(function, args)[0][0] in (ow.errors.OutOfRangeError, OverflowError)


def solves(A, b, out):
    for k in range(3):
        out += np.linalg.solve(A + k * np.eye(len(A)), b) + np.linalg.solve(A.T, b * k)


def solves_for_columns(A, b, out):
    for k in range(2):
        out += np.linalg.solve(A, A * k)[:, 0] + np.linalg.solve(A, b[:, None])[:, 0]


def inverts(A, b, out):
    for k in range(3):
        out += np.linalg.inv(A * (k + 1))[0] + np.linalg.inv(A.T)[k]


def cholesky_roots(A, b, out):
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
FUNCTIONS = [solves, solves_for_columns, inverts, cholesky_roots, determinants]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_an_equation_is_solved_as_by_numpy(function):
    for args in ((A, B, OUT), SINGLE):
        is_exact = function is not cholesky_roots  # whose product is in another order
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


def lengths(x, y, z, found):
    for i in range(len(x)):
        found[i, 0] = math.hypot(x[i], y[i])
        found[i, 1] = math.hypot(x[i], y[i], z[i])
        found[i, 2] = math.hypot(x[i])


def test_hypot_has_pythons_bits():
    r = np.random.default_rng(3)
    x, y, z = r.uniform(-1, 1, (3, 4000)) * 10.0 ** r.uniform(-320, 308, (3, 4000))
    y[::2] = x[::2] * r.uniform(0.1, 10, 2000)
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1e308, 2e-308, 1.0]
    x, y, z = (np.concatenate([a, r.choice(special, 500)]) for a in (x, y, z))
    expected, found = np.zeros((2, 4500, 3))
    lengths(x, y, z, expected)
    rolled = Rolled(lengths)
    rolled(x, y, z, found)
    np.testing.assert_array_equal(expected, found)
    assert rolled.ran


def divisors(a, b, found):
    for i in range(len(a)):
        found[i] = math.gcd(a[i], b[i]) + math.gcd(i, 12)


def to_a_base(x, base, found):
    for i in range(len(x)):
        found[i] = math.log(x[i], base) + math.log(x[i])


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (divisors, (words(40, 3) << 50, words(40, 4) - 5, np.zeros(40, "i8"))),
        (to_a_base, (row(9) + 0.1, 2.5, np.zeros(9))),
        (to_a_base, (row(9) + 0.1, 1.0, np.zeros(9))),
        (to_a_base, (row(9) + 0.1, -1.0, np.zeros(9))),
        (to_a_base, (row(9) - 0.5, 3, np.zeros(9))),
    ],
    ids=["gcd", "log", "log of base 1", "log of base -1", "log of a negative number"],
)
def test_gcd_and_log_to_a_base_do_what_pythons_do(function, args):
    assert is_same(called(function, args), run_in_c(function, args), True)


def square_of_each(x, y):
    for i in range(len(x)):
        y[i] = x[i] ** 2


def cube_of_each(x, y):
    for i in range(len(x)):
        y[i] = x[i] ** 3.0


def reciprocal_of_each(x, y):
    for i in range(len(x)):
        y[i] = x[i] ** -1


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize(
    ("loop", "whole"),
    [
        (square_of_each, lambda x: x**2),
        (cube_of_each, lambda x: x**3),
        (reciprocal_of_each, lambda x: x**-1),
    ],
    ids=["2", "3", "-1"],
)
def test_powers_of_elements_are_those_of_the_array(loop, whole, dtype):
    x = np.concatenate([PLACES, SPECIAL]).astype(dtype)

    (_, (_, found)) = run_in_c(loop, (x, np.zeros_like(x)))

    np.testing.assert_array_equal(found, ow.fuse(whole)(x))
