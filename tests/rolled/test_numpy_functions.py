"""NumPy's functions in loops of C: places, shapes, comparisons, ``ufunc.at``; what NumPy gives."""

from __future__ import annotations

import numpy as np
import pytest

import opweave as ow
from opweave._loops.rolled import Rolled
from tests.loops.programs import row, square, words
from tests.loops.test_loops_in_c import called, is_same, run_in_c

pytestmark = pytest.mark.host


def shapes_again(x, A, out):
    for k in range(3):
        out[:, :] += np.swapaxes(A, 0, 1) * k + A.swapaxes(-1, -2) - np.transpose(A, (1, 0))
        out += (A * k).T + (A + k).transpose() - A.transpose(1, 0)
        out += np.expand_dims(x, 0) * np.expand_dims(x, -1) + np.transpose(x)


def in_three_axes(A, out):
    for k in range(2):
        cube = (A * k).reshape(2, 2, 4)
        turned = np.transpose(cube, (2, 0, 1))
        out += turned[:, 0, 0] + cube.swapaxes(0, 2)[:, 1, 1] + turned.sum()


def again_and_again(x, A, out):
    for k in range(3):
        out[:8] += np.repeat(x, 2) + np.tile(x, 2) + (x * k).repeat(2)
        out[:4] += np.tile(x + 1, (2, 1))[k % 2] + np.tile(A, (1, 2))[k, 4:] + np.tile(A, 2)[0, :4]
        out[: 4 * k] += np.repeat(x, k) + np.tile(x, k)
        out[:4] += np.tile(x, (2, 2, 1))[1, k % 2]


def places(x, n, out):
    for k in range(4):
        where = np.flatnonzero(x > k * 0.3)
        out[: len(where)] += where
        (also,) = np.nonzero(n % 2 == k % 2)
        out[: also.shape[0]] += x[also]
        first = np.where(n)[0]
        out[first] += 1
        out[k] += len(n.nonzero()[0]) + np.nonzero(x)[0].sum()


def nearly(x, y, out):
    for k in range(5):
        out[:] += np.isclose(x, y) * 2 + np.isclose(x, k, 0.1, atol=0.2)
        out[k % 4] += np.allclose(x, y) + np.allclose(x, x + 1e-9) * 4
        out[k % 4] += np.isclose(x[k % 4], y[k % 4], rtol=0.5) + np.array_equal(x, y) * 8
        out[k % 4] += np.array_equal(x, x[:2]) + np.array_equal(x[:k], y[:k]) * 16
        if np.allclose(out, 1e300):
            break


def at_the_bound(x, out):
    for k in range(3):
        out[:] += np.isclose(x, 0.0, 0.0, 0.1) + np.isclose(x, 0, 0.0, 0.1 + k)
        out[:] += np.isclose(x, np.float64(0.0), 0.0, 0.1) * 4 + np.isclose(0.1, x, 0.0, 0.1)


def until_close(A, x):
    for _ in range(100):
        before = x.copy()
        x[:] = A @ x / np.linalg.norm(A @ x)
        if np.allclose(before, x, atol=1e-9):
            break


def counts(n, out):
    for k in range(3):
        np.add.at(out, n, k)
        np.add.at(out, n, n * 0.5)


def of_vectors(x, y, A, out):
    for k in range(3):
        out[:] += np.inner(x, y) + np.vdot(x * k, y) + np.ptp(x) + np.ptp(A, 0) - np.ptp(A, axis=1)
        out[:] += np.average(A, 0) + np.average(x) + np.nansum(y / x) + np.nansum(A, axis=1)


def norms(x, A, out):
    for k in range(3):
        out[0] += np.linalg.norm(x, 1) + np.linalg.norm(x - k, np.inf) + np.linalg.norm(x, 2)
        out[1] += np.linalg.norm(x, -np.inf) + np.linalg.norm(A) + np.linalg.norm(A[k])
        out[:] += np.linalg.norm(A, axis=1) + np.linalg.norm(A, 1, axis=0)
        out += (A / np.linalg.norm(A, axis=1, keepdims=True))[k]


def whole_means(n, N, out):
    for k in range(3):
        out[k] += np.mean(n * k) + n.mean() + (n > 1).mean() + N.mean()
        out += N.mean(axis=0) - np.mean(N, axis=1)


def rounds(x, out):
    for k in range(3):
        out += np.round(x * 10 + k, 1) + np.around(x, 2) + (x * 7).round(3)
        out[k] += np.round(x[k], 2)


def between_points(x, xp, fp, out):
    for k in range(len(x)):
        out[k] = np.interp(x[k], xp, fp) + np.interp(k * 0.25, xp, fp * 2)


def put_at(x, n, out):
    for k in range(3):
        np.add.at(out, n, x * k)
        np.add.at(out, n, 0.1)
        np.subtract.at(out, n % 3, x)
        np.multiply.at(out, n - 4, 1.5)
        np.maximum.at(out, n[1:], x[1:])
        np.minimum.at(out, n, k)


def spread(A, x, out, n):
    for k in range(n):
        out[:] = (A - out) / np.log(x + k) + np.exp(x[:, None] - k)


X, Y, A4, N4 = row(4), np.cos(np.arange(4.0)), square(4), words(4, 1)
SLIGHT = np.array([0, 1e-9, 1e-3, np.nan])
HOLES = np.array([0.5, np.nan, np.inf, -1.0])
OUT, OUT2 = np.zeros(4), np.zeros((4, 4))
POINTS = np.array([-1.0, 0.0, 0.5, 2.0, 2.0, 4.0])
BETWEEN = np.array([-2, -1, -0.5, 0, 0.3, 0.5, 1, 2, 3, 4, 5, np.nan, np.inf, -np.inf])
HEIGHTS = np.array([1.0, -1.0, 2.0, np.inf, 3.0, 3.0])
PROGRAMS = {
    "spread": (spread, (A4, X + 2, OUT2, 9)),
    "shapes_again": (shapes_again, (X, A4, OUT2)),
    "in_three_axes": (in_three_axes, (A4, OUT)),
    "again_and_again": (again_and_again, (X, A4, np.zeros(8))),
    "places": (places, (X, N4, OUT)),
    "places_of_zeros": (places, (X * 0, N4 * 0, OUT)),
    "places_of_nothing": (places, (X[:0], N4[:0], np.zeros(5))),
    "nearly": (nearly, (X, X + SLIGHT, OUT)),
    "nearly_holes": (nearly, (HOLES, HOLES.copy(), OUT)),
    "nearly_f4": (nearly, (X.astype("f4"), X.astype("f4") + np.float32(1e-6), OUT)),
    "nearly_integers": (nearly, (N4, N4.copy(), OUT)),
    "at_the_bound": (at_the_bound, (np.array([0.1, 0.2, 0.05, 0.1], "f4"), OUT)),
    "until_close": (until_close, (A4 @ A4.T, X)),
    "of_vectors": (of_vectors, (X, HOLES, A4, OUT)),
    "norms": (norms, (X, A4, OUT)),
    "norms_f4": (norms, (X.astype("f4"), A4.astype("f4"), OUT)),
    "whole_means": (whole_means, (N4, words(16, 2).reshape(4, 4), OUT)),
    "rounds": (rounds, (X, OUT)),
    "rounds_f4": (rounds, (X.astype("f4"), OUT)),
    "between_points": (between_points, (BETWEEN, POINTS, HEIGHTS, np.zeros(14))),
    "between_f4": (
        between_points, (BETWEEN, POINTS.astype("f4"), HEIGHTS.astype("f4"), np.zeros(14)),
    ),
    "between_whole": (
        between_points, (BETWEEN, np.arange(6), np.array([3, 1, 4, 1, 5, 9]), np.zeros(14)),
    ),
    "between_one": (between_points, (BETWEEN, POINTS[:1], HEIGHTS[:1], np.zeros(14))),
    "put_at": (put_at, (X, np.array([1, 1, -2, 3]), np.ones(5))),
    "put_at_f4": (put_at, (X, np.array([0, 1, 1, 0], "u1"), np.ones(5, "f4"))),
    "counts": (counts, (N4 % 5, np.ones(5))),
    "counts_nothing": (counts, (N4[:0], np.ones(5))),
}  # fmt: skip
# Sums meet in another order than NumPy's; functions are ours.
SUMMED = ("until_close", "spread", "of_vectors", "norms", "norms_f4", "whole_means")


def numbers(found):
    """Results, with another number in place of each NaN, which equals itself."""
    if isinstance(found, tuple | list):
        return tuple(map(numbers, found))
    is_float = isinstance(found, np.ndarray | np.generic) and found.dtype.kind == "f"
    return np.where(np.isnan(found), -123.5, found)[()] if is_float else found


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loop_does_what_numpy_does(name):
    function, args = PROGRAMS[name]
    with np.errstate(all="ignore"):
        expected, found = (numbers(run(function, args)) for run in (called, run_in_c))
    assert is_same(expected, found, name not in SUMMED)


def test_what_costs_much_is_computed_once_for_all_rows():
    source = ow.fuse(spread).explain(A4, X + 2, OUT2.copy(), 99).sources[0]
    loops = source.split("for (int64 ")

    assert [name for name in ("log(", "exp(") if not any(name in loop for loop in loops)] == []
    assert [
        loop for loop in loops if "load(A" in loop and ("log(" in loop or "exp(" in loop)
    ] == []


def lengths_differ(x, out):
    for k in range(3):
        out[k] = np.interp(x[k], x, x[1:])


def of_no_points(x, out):
    for k in range(3):
        out[k] = np.interp(0.5, x[:0], x[:0])


def too_few_values(x, out):
    for _ in range(3):
        np.add.at(out, np.array([1, 2, 0]), x[:2])


def into_integers(n, out):
    for k in range(3):
        np.add.at(n, n, 0.5 + k)


def of_itself(n, out):
    for _ in range(3):
        np.add.at(n, n, n)


def by_a_mask(x, out):
    for k in range(3):
        np.add.at(out, x > 0, k)


def in_a_matrix(A, out):
    for k in range(3):
        np.add.at(A, np.array([0, 0]), k)


def narrower(n, out):
    for _ in range(3):
        np.add.at(n, np.array([0, 0, 1]), np.array([100, 100, 3]))


def narrower_than_python(n, out):
    for _ in range(3):
        np.add.at(n, np.array([0, 0, 1]), 100)


def largest_of_nothing(x, out):
    for k in range(3):
        out[k] = np.linalg.norm(x[:k], np.inf)


def points_that_are_computed(x, out):
    for k in range(6):
        points = x[x > k]
        out[k % 4] = np.interp(0.5, points, points)


def no_axes(A, out):
    for k in range(3):
        out += A.transpose(())[k]


def rounds_to_a_float(x, out):
    for k in range(3):
        out += np.round(x + k, 0.0)


def less_than_nothing(x, out):
    for k in range(3):
        out[:2] = np.repeat(x, k - 1)[:2]


@pytest.mark.parametrize("function", [
    lengths_differ, of_no_points, too_few_values, into_integers, of_itself, by_a_mask, in_a_matrix,
    less_than_nothing, narrower, narrower_than_python, largest_of_nothing, no_axes,
    points_that_are_computed, rounds_to_a_float,
])  # fmt: skip
def test_what_c_does_not_do_is_pythons(function):
    given = {"n": (N4 % 3).astype("i1" if "narrower" in function.__name__ else "i8"), "A": A4}.get(
        function.__code__.co_varnames[0], X
    )
    args = (given, OUT)
    assert is_same(called(function, args), called(Rolled(function), args), exactly=True)


def outside(x, n, out):
    for k in range(4):
        out[k] = 1
        np.add.at(out, n + k, x)


def test_nothing_is_written_where_one_place_is_outside():
    args = (X, np.array([0, 0, 1, 1]), OUT)
    (expected, after), (found, after_c) = (run(outside, args) for run in (called, run_in_c))
    assert expected[0] is found[0] is IndexError
    assert is_same(after, after_c, exactly=True)


def last_of_all(x, out):
    for k in range(9):
        out[0] += k
        out[1] += np.ptp(x[k:])


def test_an_error_names_the_users_line():
    line = last_of_all.__code__.co_firstlineno + 3
    with pytest.raises(ValueError, match="zero-size array") as raised:
        Rolled(last_of_all)(X.copy(), OUT.copy())
    assert any(f"at line {line}," in note for note in raised.value.__notes__)
