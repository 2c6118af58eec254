"""Names that hold an integer or a float, Python's number or NumPy's, by the way that led there."""

from __future__ import annotations

import numpy as np
import pytest

from opweave.opcodes.errors import OutOfRangeError
from tests.loops.programs import row, words
from tests.loops.test_loops_in_c import called, is_same, run_in_c

pytestmark = pytest.mark.host


def drawdown(x):
    peak, worst, first, last, start = x[0], 0, 0, 0, 0
    for i, v in enumerate(x):
        if v > peak:
            peak, start = v, i
        fall = (peak - v) / peak
        if fall > worst:
            worst, first, last = fall, start, i
    return worst, first, last


def polynomials(c, x, y):
    for i, v in enumerate(x):
        r = 0
        for a in c[::-1]:
            r = r * v + a
        y[i] = r
    return r


def wanders(moves, u, cost):
    place, best = 0, cost[0]
    for k in range(len(moves)):
        new = (place + moves[k]) % len(cost)
        if cost[new] < best or u[k] < 0.3:
            place, best = new, cost[new]
    return place, best


def powers(x, y, k):
    for i in range(len(x)):
        r = 2.5
        while r > y[i]:
            r = r**2 / (r // 0.5 + k) - r % 2
            r -= x[i]
            k = r * 0.25 if r > 0.5 else k
        y[i] = r
    return r, k


def records(words_):
    at, sums = 0, np.zeros(9)
    n = 0
    while at < len(words_):
        total = 0
        for k in range(words_[at] % 4):
            total += k * at
            if k > 1:
                total += words_[k]
        sums[n % 9] = total
        at += words_[at] % 4 + 1
        n += 1
    return sums, total


def neighbours(g, new):
    h, w = g.shape
    for i in range(h):
        for j in range(w):
            n = 0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    if di or dj:
                        n += g[(i + di) % h, (j + dj) % w]
            new[i, j] = 1 if n == 3 or (g[i, j] == 1 and n == 2) else 0


def aligned(a, b, found):
    best, place = 0, (0, 0)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            s = 2 if a[i - 1] == b[j - 1] else -1
            found[i, j] = max(0, found[i - 1, j - 1] + s, found[i - 1, j] - 2, found[i, j - 1] - 2)
            if found[i, j] > best:
                best = found[i, j]
    return best, place


def of_two_classes(counts, size):
    below = total = best = at = 0
    whole = (np.arange(len(counts)) * counts).sum()
    for t in range(len(counts)):
        below += counts[t]
        if below == 0:
            continue
        if below == size:
            break
        total += t * counts[t]
        a, b = total / below, (whole - total) / (size - below)
        if below * (size - below) * (a - b) ** 2 > best:
            best, at = below * (size - below) * (a - b) ** 2, t
    return best, at


def step_sizes(x, h):
    for i in range(len(x)):
        h *= min(5, max(0.2, 0.9 * x[i]))
        x[i] = h
    return h


def is_whole_still(x, least):
    best = 0
    for v in x:
        if v > least:
            best = v
    return best


def is_negative_zero(x):
    n = 0
    for v in x:
        n = n * -1
        if v > 0.75:
            n = v * 0.5
    return n


def counts_on(x, steps):
    n = 0
    for k in range(steps):
        n = n + 1
        if x[k] > 0.9:
            n = n + x[k]
    return n


def divides(x, least):
    n = 0
    for v in x:
        if v > least:
            n = v
    y = 0
    for _ in range(2):
        y = n * 2.0 + 1.0
    return y


def flags(x, found):
    was = False
    for i in range(len(x)):
        if x[i] > 0.5:
            was = x[i] > 0.75
        if was:
            found[i] = 1
    return was


def overflows(k, x):
    n = 1
    for i in range(len(x)):
        if x[i] > 0.9:
            n = k[i]
        n = n * 3
    return n


def masks(k, m):
    n = 5
    for i in range(len(k)):
        if k[i] % 2:
            n = k[i]
        m[i] = (n & 3) + (n >> 1) + n // 2 + n % 7
        m[i] += m[n % len(m)]
    return n


def by_zero(k, x):
    n = 5
    for i in range(len(k)):
        if x[i] > 0.9:
            n = k[i]
        x[i] = n // (3 - i) + n % (3 - i)
    return n


def back(w, taken, c):
    for i in range(len(w) - 1, -1, -1):
        if taken[i]:
            c -= w[i]
    return c


def as_an_index(x, k):
    j = 0
    s = 0.0
    for i in range(len(k)):
        s += x[j]
        if k[i] > 5:
            j = k[i] % len(x)
    return s, j


def step_halves(x, h):
    e = 0
    for v in x:
        if abs(h * (v - 1)) < 0.5:
            e = abs(h * v)
        h *= min(5, max(0.2, 0.9 * v))
    return e, h


def compared(x, k):
    best, n, m = 0, 0, 0
    for i in range(len(x)):
        if best < 1 <= i and best != x[i]:
            n += 1
        if x[i] > 0.6:
            best = x[i]
        if k[i] > 6:
            m = k[i]
        if m == 7 or m < n:
            n += 2
    return best, n, m


X, Z = row(20), np.zeros


def from_a_truth_value(x, most):
    """True is an integer in sums and products."""
    s, p = True, True
    for v in x:
        s = s + (0.5 if v > most else 1)
        p = p * (1.5 if v > most else 2)
    return s, p


PROGRAMS = {
    "drawdown": (drawdown, (X + 1,)), "drawdown of none": (drawdown, (np.arange(1.0, 9),)),
    "polynomials": (polynomials, (row(4), row(5), Z(5))),
    "polynomials of none": (polynomials, (row(4)[:0], row(5), Z(5))),
    "powers": (powers, (row(9), row(9, seed=2), 2.0)),
    "powers of nothing": (powers, (row(9), row(9, seed=2), -5.0)),
    "wanders": (wanders, (words(9, 1) % 5 - 2, row(9), row(6))),
    "stays": (wanders, (words(9, 1) % 5 - 2, np.ones(9), np.arange(6.0))),
    "records": (records, (words(30, 3),)), "records of one": (records, (np.array([4]),)),
    "neighbours": (neighbours, (words(36, 2).reshape(6, 6) % 2, Z((6, 6), int))),
    "aligned": (aligned, (words(8, 1) % 4, words(9, 2) % 4, Z((9, 10)))),
    "aligned nowhere": (aligned, (Z(3), np.ones(4), Z((4, 5)))),
    "classes": (of_two_classes, (np.floor(X * 9), np.floor(X * 9).sum())),
    "step sizes": (step_sizes, (X * 9, 0.5)),
    "a float": (is_whole_still, (X, 0.5)), "an integer": (is_whole_still, (X, 2.0)),
    "no negative zero": (is_negative_zero, (X * 0.5,)), "halves": (is_negative_zero, (X,)),
    "counts on": (counts_on, (X, 15)), "counts on and on": (counts_on, (X * 0.5, 15)),
    "divides": (divides, (X, 0.5)), "divides none": (divides, (X, 2.0)),
    "flags": (flags, (X, Z(20))), "no flags": (flags, (X * 0.1, Z(20))),
    "wraps": (overflows, (words(60, 1), np.ones(60))), "grows": (overflows, (words(9, 1), Z(9))),
    "masks": (masks, (words(20, 1), words(20, 2))),
    "no masks": (masks, (words(20, 1) * 2, words(20, 2))),
    "by zero": (by_zero, (words(9, 1), Z(9))), "by NumPy's zero": (by_zero, (words(9, 1), np.ones(9))),
    "halves steps": (step_halves, (X * 2, 0.5)), "halves none": (step_halves, (X + 9, 0.5)),
    "back": (back, (words(9, 1), X > 0.5, 40)), "back by none": (back, (words(9, 1), X > 2, 40)),
    "from a truth value": (from_a_truth_value, (X, 2.0)),
    "from a truth value, a float": (from_a_truth_value, (X, 0.5)),
    "index": (as_an_index, (X, words(20, 1))), "compared": (compared, (X, words(20, 1))),
    "compared none": (compared, (X * 0.1, words(20, 1) * 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_number_is_of_the_type_that_python_gives_it(name):
    function, args = PROGRAMS[name]
    expected, found = called(function, args), run_in_c(function, args)
    assert is_same(expected[0], found[0], False)
    assert repr(expected[0]) == repr(found[0]) or name == "classes"
    for a, b in zip(expected[1], found[1], strict=True):
        assert is_same(a, b, True)


def test_only_an_integer_of_python_that_leaves_64_bits_is_an_error():
    found, _ = run_in_c(overflows, (words(60, 1), np.zeros(60)))
    assert found[0] is OutOfRangeError
