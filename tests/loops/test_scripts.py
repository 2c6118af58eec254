"""Loops of scripts: over several things at once, from the end; what they unpack and compare."""

# ruff: noqa: B007, B905, RUF007
from __future__ import annotations

import numpy as np
import pytest

from opweave._loops.rolled import Rolled
from tests.loops.programs import grid, row, square, words
from tests.loops.test_loops_in_c import called, is_same, run_in_c

pytestmark = pytest.mark.host


def knapsack(values, weights, best):
    for v, w in zip(values, weights, strict=True):
        best[w:] = np.maximum(best[w:], best[:-w] + v)


def counted(x, y):
    for i, v in enumerate(x):
        y[i] += v * i
    return i, v


def counted_from(x, y):
    t = 0
    for i, v in enumerate(y[1:], 3):
        x[i - 3] += v
        t += i
    return t


def rows_and_numbers(A, x, y):
    for i, (r, s) in enumerate(zip(A, x)):
        y[i] = (r * s).sum()
        r += 1


def the_shortest(x, y):
    n = 0
    for a, b, k in zip(x, y[2:], range(1, 100)):
        x[0] += a * b * k
        n += 1
    return n


def rebound(x, y):
    v = x
    for i, e in enumerate(v):
        v = y
        x[i] = v[i] - e


def written_while_read(x, y):
    for a, b in zip(x, x[1:]):
        x[1] = a + 1
        y[0] += b


def of_nothing(x, y):
    a = 5
    for a, b in zip(x[:0], y):
        x[0] = b
    return a


def not_as_long(x, y):
    for a, b in zip(x, y[1:], strict=True):
        y[0] = a + b


def one_name(x, y):
    for both in zip(x, y):
        y[0] += both[0]


CASES = {
    "knapsack": (knapsack, (row(6), np.array([1, 3, 2, 5, 1, 4]), np.zeros(9))),
    "counted": (counted, (row(7), row(7))),
    "counted from 3": (counted_from, (row(7), row(7))),
    "rows and numbers": (rows_and_numbers, (square(4), row(4), row(4))),
    "the shortest": (the_shortest, (row(9), row(7))),
    "written while it is read": (written_while_read, (row(6), row(6))),
    "of nothing": (of_nothing, (row(4), row(4))),
}
LEFT = {"rebound": rebound, "not as long": not_as_long, "one name": one_name}


@pytest.mark.parametrize("name", CASES)
def test_a_loop_over_several_things_does_what_python_does(name):
    function, args = CASES[name]
    exactly = name != "rows and numbers"
    assert is_same(called(function, args), run_in_c(function, args), exactly)


@pytest.mark.parametrize("name", LEFT)
def test_what_is_not_known_to_be_alike_is_left_to_python(name):
    args = (row(5), row(5))
    expected, found = called(LEFT[name], args), called(Rolled(LEFT[name]), args)
    assert repr(expected) == repr(found)


def epidemic(y, beta, gamma, dt):
    for k in range(1, len(y)):
        s, i, _ = y[k - 1]
        new, well = beta * s * i, gamma * i
        y[k] = y[k - 1] + dt * np.array([-new, new - well, well])


def lorenz(state):
    x, y, z = state
    return np.array([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8 / 3 * z])


def trajectory(s, dt, out):
    for i in range(len(out)):
        k1 = lorenz(s)
        k2 = lorenz(s + dt * k1)
        s = s + dt / 2 * (k1 + k2)
        out[i] = s
    return s


def joined_sets(edges, parent):
    count = len(parent)
    for a, b in edges:
        while parent[a] != a:
            a = parent[a]
        while parent[b] != b:
            b = parent[b]
        if a != b:
            parent[b] = a
            count -= 1
    return count


def rows_of_a_matrix(A):
    for k in range(3):
        a, b = A
        a += b
        A[1, k] = a[k]


def of_what_is_computed(x):
    for k in range(3):
        a, b = x * 2 + k
        x[0], x[1] = b, a


def walked(moves, seen):
    x = y = 0
    for k, m in enumerate(moves):
        if m == 0:
            x += 1
        elif m == 1:
            y -= 1
        seen[k] = x, y
    return x, y


def stores_lists(x, A):
    for k in range(len(A)):
        A[k] = [x[k], k, 2.5]
        A[k, 1:] = (k, x[k])


def alive(g, new):
    for i in range(len(g)):
        n = g[i] % 5
        new[i] = n in (2, 3) or (i not in (1, 2.0) and g[i] in [4])
        new[i] += 2 * (n not in (0, 1))


def sorts_in_place(A, x):
    for i in range(len(A) - 2):
        w = A[i : i + 3, 1:].flatten()
        w.sort()
        A[:, i].sort()
        x[i : i + 3].sort()
        x[i] += w[4]
    x.sort()


def peaks(x, least):
    found = []
    for i in range(1, len(x) - 1):
        if x[i - 1] < x[i] > x[i + 1] and x[i] > least:
            found.append(i)
    return found


def chained(x, places, found):
    for i in range(len(x)):
        j = places[i]
        if 0 <= j < len(x) and 0.25 < x[j] * 2 < 1.5 != x[i]:
            found[i] = x[j]


def chained_to_a_truth(x):
    for i in range(1, len(x)):
        inside = x[i - 1] <= x[i] <= 1
    return inside


def not_asked_beyond(x):
    n = 0
    for i in range(len(x)):
        if 5 < i < x[i + 1] + 9:  # of the last one there is an error
            n += 1
    return n


def substituted(a, b, x):
    n = len(x)
    for i in reversed(range(n - 1)):
        x[i] = a[i] - b[i] * x[i + 1]
    for i in reversed(range(2, n, 1)):
        x[i] += i
    for i in reversed(range(n, 2, -1)):
        x[i - 1] *= i
    for i in reversed(range(3, 3)):
        x[i] = 0
    return i


def cheapest(A, x):
    for i in range(len(A)):
        best = float("inf")
        for j in range(A.shape[1]):
            if A[i, j] < best:
                best = A[i, j]
        x[i] = best


def windows(A, out):
    for i in range(1, A.shape[0] - 1):
        for j in range(1, A.shape[1] - 1):
            w = A[i - 1 : i + 2, j - 1 : j + 2].flatten()
            w[4] = 0
            out[i, j] = w.max() + A.T.flatten()[1]


ROWS = np.array([[0.9, 0.1, 0.0]] + [[0.0] * 3] * 8)
PROGRAMS = {
    f.__name__: (f, args)
    for f, args in [
        (epidemic, (ROWS, 0.5, 0.1, 0.1)), (trajectory, (np.ones(3), 0.01, np.zeros((9, 3)))),
        (joined_sets, (words(9, 3).reshape(-1, 1)[:8].reshape(4, 2) % 6, np.arange(6))),
        (rows_of_a_matrix, (grid(2, 4),)), (of_what_is_computed, (row(2),)),
        (walked, (words(9, 2) % 3, np.zeros((9, 2), int))),
        (stores_lists, (row(5), np.zeros((5, 3)))), (peaks, (row(40), 0.5)),
        (chained, (row(20), words(20, 4) % 30 - 5, np.zeros(20))), (chained_to_a_truth, (row(9),)),
        (not_asked_beyond, (row(9),)), (substituted, (row(9), row(9), row(9))),
        (alive, (words(20, 4), np.zeros(20))), (sorts_in_place, (square(5), row(5))),
        (cheapest, (square(6), np.zeros(6))), (windows, (square(6), square(6))),
    ]
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loop_of_a_script_does_what_python_does(name):
    function, args = PROGRAMS[name]
    expected, found = called(function, args), run_in_c(function, args)
    assert is_same(expected[0], found[0], False)
    for a, b in zip(expected[1], found[1], strict=True):
        assert is_same(a, b, False)


def test_as_many_names_as_there_are_rows_is_asked_at_each_call():
    rolled = Rolled(rows_of_a_matrix)
    rolled(grid(2, 4))
    assert rolled.ran
    for count in (1, 3):
        expected, found = (called(f, (grid(count, 4),)) for f in (rows_of_a_matrix, rolled))
        assert expected[0] == found[0]
