"""Arrays that loops make of others, of lists and of places: what NumPy makes."""

from __future__ import annotations

import numpy as np
import pytest

from opweave._loops.rolled import Rolled
from tests.loops.programs import row, square, words
from tests.loops.test_loops_in_c import called, is_same, run_in_c

pytestmark = pytest.mark.host


def concatenates(x, y, out):
    for k in range(3):
        both = np.concatenate([x + k, y[k:], x])
        out[: len(both)] += both


def concatenates_rows(A, out):
    for k in range(2):
        out[:] += np.concatenate((A[k:], A[:k]), axis=0) + np.concatenate([A[:, 2:], A[:, :2]], 1)


def stacks(x, y, A, out):
    for k in range(2):
        made = np.stack([x, y * k, A[k]], axis=1)
        out[:, :3] += made
        out[:3] += np.stack((x, y, x))
        out[:2] += np.vstack([x, y + k]) + np.vstack((A[:1], A[k : k + 1]))
        out[0, :] += np.hstack([x[:2], y[2:]])
        out[:, :2] += np.column_stack([x, y]) + np.hstack([A[:, :1], A[:, k : k + 1]])


def of_numbers(x, out):
    for k in range(len(x)):
        made = np.array([x[k], k, 2.5])
        turned = np.array([[np.cos(x[k]), -1.0], [1, x[k]]])
        out[:3] += made
        out[:2] += turned @ turned[0] + np.array([k, 1]) / 2
        out[:2] += np.array((k > 1, True)) * np.array([x[k], x[k]], dtype=np.float32)


def of_arrays(x, out):
    for k in range(3):
        out[:] += (
            np.array([x, x * k]).sum(axis=0) + np.array(x) + np.array(x[k:], dtype="i8").sum()
        )


def scaled(x, by):
    made = x * by
    made[1:] += x[:-1]
    return made


def changed(x):
    made = x + 1
    other = made
    other[0] = 0
    return made


def itself(x):
    return x


def of_calls(x, A, out):
    found, kept = scaled(x, 2), A
    for k in range(4):
        out[k] = found[2] + kept[1, 2]
        x[:] = x + found * 0.5
        found, kept = scaled(found + x, k), scaled(kept, 0.5)
        again = changed(found)
        out[k] += again[0] + found[0] + again[1]
    return found, again, kept


def of_calls_in_turn(x, out):
    before = scaled(x, 1.5)
    for k in range(4):
        now = changed(before)
        out[k] = now[1] + itself(before)[2]
        before = scaled(itself(now) - x, -0.5)
    return before


def triangles(A, x, out):
    for k in range(-3, 4):
        out[:, :] += np.triu(A, k) * 2 + np.tril(A + x, k)
        out[0, 0] += np.tril(A > 1).sum() + np.triu(A[1:])[0, 1] + np.triu(A[:, :1], k)[1, 0]


def grows(x, out):
    found = x[:1]
    for k in range(3):
        found = np.append(found, x[k])
        out[k] = found.sum()
    return found


def shapes(A, out):
    for k in range(2):
        flat = (A * k).reshape(-1)
        out[:4] += flat.reshape(4, -1)[:, 1] + A.ravel()[::4][:4] + np.reshape(A, (2, -1))[k, :4]
        out[:2] += A.flatten()[k : k + 2] + flat.reshape((A.shape[0] * 2, 2))[k]


def writes_into_shapes(A, out):
    for k in range(3):
        A.reshape(-1)[k] = k
        A.ravel()[-1] += 1
        out += A.flatten()[:4]
        out[k] = A[0, k]


def diagonals(A, out):
    for k in range(2):
        out[:] += np.diagonal(A) + np.diag(A + k) + np.diag(A[k]).sum(axis=0) + A.diagonal()
        out[k] += np.trace(A) + A.trace()


def filled(A, out):
    for k in range(1, 4):
        out[:] += np.full(4, k) + np.full((2, 4), 1.5)[0] + np.full(4, k, dtype=np.float32)
        out[:k] += np.arange(k) + np.arange(1, k + 1) + np.arange(k, k * 2)
        out[:] += (A @ np.eye(4) - np.identity(4))[0] + np.eye(k, dtype="i8").sum()


def types(x, n, out):
    for k in range(2):
        out[:] += (
            (x * 9).astype(np.int64) + n.astype(float) / 2 + n.astype("i2").astype(np.float32)
        )
        out[k] += (x > 0).astype(int).sum()


def limits(x, n, out):
    for k in range(3):
        out[:] += (
            np.clip(x, -0.5, 0.5) + x.clip(0, k) + np.clip(x, None, 0.1) + np.clip(x, 0, None)
        )
        out[:] += np.round(x * 9) + (x * k).round() + np.around(x) + n.clip(1, 3)
        out[k] += np.clip(x[k], -0.2, 0.2)


def rolls(x, A, out):
    for k in range(-3, 7):
        out[0] += np.roll(x, k) + np.roll(x, -1, axis=0)
        out += np.roll(A, k, axis=0) - np.roll(A, k, axis=1) + np.roll(A, 1, axis=-1)


def rolls_nothing(x, out):
    for k in range(3):
        out[: len(x)] += np.roll(x, k)
        out += len(np.roll(x, k))


def differences(x, A, out):
    for k in range(2):
        out[:3] += np.diff(x) + np.diff(A)[k] + np.diff(np.diff(x * k)).sum()


def spreads(x, A, out):
    for k in range(3):
        out[k] += np.var(x) + np.std(x + k, ddof=1) + A.std() + A.var() + np.var(A[k])
        out[:] += A.std(axis=0) + np.var(A, axis=1) + np.std(A, axis=-1, ddof=1)


def crosses(A, out):
    for k in range(3):
        out[:3] += np.cross(A[k, :3], A[k + 1, :3])


def transposes(A, out):
    for k in range(2):
        out += np.transpose(A) * k + A.transpose() @ A


def views(A, out):
    for k in range(3):
        g = A * k
        a, b, c = g[:, 0], g[:, 1], g[:, 2:]
        out += a - b + c.sum(axis=1)


def splits(A, out):
    for k in range(3):
        a, b = np.split(A * k, 2)
        c, d = np.split(A, 2, axis=1)
        out += a[0] + b[k // 2] + c.sum() - d[k].sum()
        np.fill_diagonal(A, k)


def collects(A, n):
    found, sums, h = [], [], A[0] * 0
    for k in range(n):
        h = np.tanh(A @ h + A[k % 4])
        found.append(h)
        sums.append(h * k)
    return found, sums, h


def collects_some(A, n):
    found, h = [], A[0] * 0
    for k in range(n):
        h = h + A[k % 4]
        if k % 2:
            found.append(h)
    return found


def collects_tuples(x, n):
    pairs, rows, places = [], [], []
    t = 0.5
    for k in range(n):
        t = t * 1.5
        pairs.append((t, 2.0))
        rows.append([x[k % 4], x[0]])
        places.append((k, k + 1))
    return pairs, rows, places


def by_steps(x, n, out):
    for k in range(0, len(x), n):
        out[k] += x[k : k + n].sum()


def exchanges(x, y, n):
    u, v = x + 0.0, y * 1.0
    for _ in range(n):
        new = 2 * u - v + np.roll(u, 1)
        v, u = u, new
    return u


def of_a_literal_size(x, A, n):
    found = []
    for _ in range(n):
        x = np.array([x[0] + 1, x[1] * 2, x[0], 0.5])
        x = x + A[0] * np.ones(4)
        found.append(x)
    return found


def of_integers(n, out):
    m = n.astype(np.int8)
    for k in range(3):
        turned = np.outer(n, n + k)
        out += turned @ n + (n @ n) * k + (m @ (m + k))
        out[k] = (turned @ turned)[k, 1] + n.dot(n)
    return out


def sorts(x, A, out):
    for k in range(3):
        out[: len(x)] += np.sort(x) + np.sort(x * -k) + np.sort(x[::-1])
        out[: A.shape[1]] += np.sort(A)[k % 2] + np.sort(A.T)[0, 0]
        out[k] += np.median(x) + np.median(x[1:]) + np.median(A) + np.median(A[:, k])
        out[k] += 1 if np.isnan(np.median(x[:0])) else 0


def cumulates(x, n, out):
    for k in range(3):
        out += np.cumsum(x * k) + np.cumprod(x - k) + x.cumsum()[k] + n.cumsum() + np.cumprod(n)
        out[: len(x[k:])] += np.cumsum(x[k:].astype("f4"))


def finds_places(x, n, out):
    ordered = np.sort(x)
    for k in range(4):
        out[k] += np.searchsorted(ordered, x[k]) + np.searchsorted(ordered, x[k] + 1, side="right")
        out[k] += np.searchsorted(n, n[k], "right") * 10 + np.searchsorted(n, np.nan) * 100


LONG = np.random.default_rng(1).standard_normal(400)
X, Y, A4, N4 = row(4), np.cos(np.arange(4.0)), square(4), words(4, 1)
OUT, OUT2 = np.zeros(4), np.zeros((4, 4))
PROGRAMS = {
    "concatenates": (concatenates, (X, Y, np.zeros(12))),
    "concatenates_rows": (concatenates_rows, (A4, OUT2)),
    "stacks": (stacks, (X, Y, A4, OUT2)),
    "of_numbers": (of_numbers, (X, OUT)),
    "of_arrays": (of_arrays, (X, OUT)),
    "of_calls": (of_calls, (X, A4, OUT)),
    "of_calls_in_turn": (of_calls_in_turn, (X, OUT)),
    "triangles": (triangles, (A4, X, OUT2)),
    "grows": (grows, (X, OUT)),
    "shapes": (shapes, (A4, OUT)),
    "writes_into_shapes": (writes_into_shapes, (A4, OUT)),
    "diagonals": (diagonals, (A4, OUT)),
    "filled": (filled, (A4, OUT)),
    "types": (types, (X, N4, OUT)),
    "limits": (limits, (X, N4, OUT)),
    "rolls": (rolls, (X, A4, OUT2)),
    "rolls_one": (rolls, (X[:1], A4[:1, :1], OUT2[:1, :1])),
    "rolls_nothing": (rolls_nothing, (X[:0], OUT)),
    "differences": (differences, (X, A4, OUT)),
    "spreads": (spreads, (X, A4, OUT)),
    "crosses": (crosses, (A4, OUT)),
    "transposes": (transposes, (A4, OUT2)),
    "splits": (splits, (A4, OUT)),
    "collects": (collects, (A4, 5)),
    "collects_nothing": (collects_some, (A4[:, :0], 4)),
    "collects_some": (collects_some, (A4, 5)),
    "collects_tuples": (collects_tuples, (X, 5)),
    "by_steps": (by_steps, (X, 3, OUT)),
    "exchanges": (exchanges, (X, Y, 4)),
    "of_a_literal_size": (of_a_literal_size, (X, A4, 4)),
    "of_integers": (of_integers, (N4 * 100, N4 * 0)),
    "sorts": (sorts, (X, A4, OUT)),
    "sorts_many": (sorts, (LONG, LONG.reshape(4, 100), np.zeros(400))),
    "sorts_integers": (
        sorts,
        (N4.astype("i1"), np.arange(16, dtype="u4").reshape(4, 4) * 7 % 5, OUT),
    ),
    "cumulates": (cumulates, (X, N4, OUT)),
    "finds_places": (finds_places, (X, np.sort(N4), OUT)),
    "views": (views, (A4, OUT)),
}
# Sums of products and of squares meet in another order than NumPy's.
SUMMED = ("of_numbers", "filled", "spreads", "transposes", "diagonals", "splits", "collects")


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loop_makes_what_numpy_makes(name):
    function, args = PROGRAMS[name]
    assert is_same(called(function, args), run_in_c(function, args), name not in SUMMED)


def test_the_last_item_of_a_list_is_what_the_name_holds():
    rolled = Rolled(collects)
    found, sums, h = rolled(A4.copy(), 5)
    assert rolled.ran
    assert found[-1] is h
    assert all(a.flags.owndata for a in (*found, *sums))


def sorted_rows(A, out):
    for k in range(2):
        out[:] = np.sort(A - k)
        out[0] += np.median(A[1])


@pytest.mark.parametrize("count", [3, 24, 25, 26, 100])
def test_nan_is_behind_all_numbers(count):
    A = np.random.default_rng(count).standard_normal((3, count))
    A[0, ::3], A[1, count // 2] = np.nan, np.nan
    expected, found = (run(sorted_rows, (A, A * 0))[1][1] for run in (called, run_in_c))
    np.testing.assert_array_equal(expected, found)


def given_back(A, n):
    x, y = A[0], A[1]
    for _ in range(n):
        y, x = x, x + y
    return x, y


def test_an_argument_that_a_loop_leaves_to_a_name_is_that_argument():
    rolled = Rolled(given_back)
    assert np.shares_memory(rolled(A4, 1)[1], A4)
    assert is_same(rolled(A4, 4), given_back(A4, 4), exactly=True)


def changed_later(A, n):
    found, h = [], A[0] * 0
    for k in range(n):
        h = h + A[k]
        found.append(h)
        h *= 2
    return found


def in_a_list_or_not(A, n):
    found, h = [], A[0] * 0
    for k in range(n):
        h = h + A[k]
        if k % 2:
            found.append(h)
    return found, h


def rows_of_it(A, n):
    found = []
    for k in range(n):
        found.append(A[k])
        A[k] += 1
    return found


def of_growing(A, n):
    found = []
    for k in range(n):
        found.append(A[:k].sum(axis=1))
    return found


@pytest.mark.parametrize("function", [changed_later, in_a_list_or_not, rows_of_it, of_growing])
def test_lists_of_arrays_that_somebody_can_tell_from_copies_are_pythons(function):
    rolled = Rolled(function)
    assert is_same(called(function, (A4, 4)), called(rolled, (A4, 4)), exactly=True)
    assert not rolled.ran


def writes_into_a_diagonal(A, out):
    for k in range(2):
        np.diagonal(A)[:] = k


def test_a_diagonal_cannot_be_written_to():
    rolled = Rolled(writes_into_a_diagonal)
    with pytest.raises(ValueError, match="read-only"):
        rolled(A4.copy(), OUT)


def reshapes_wrongly(A, out):
    for k in range(2):
        out[k] = A[k:].reshape(5, -1)[0, 0]


def test_a_shape_that_does_not_fit_is_an_error_of_numpys_kind():
    expected, found = (run(reshapes_wrongly, (A4, OUT))[0] for run in (called, run_in_c))
    assert expected[0] is found[0] is ValueError
