"""Loops in C have generator expressions and comprehensions, and ``or`` of values."""

from __future__ import annotations

import numpy as np
import pytest

from opweave._loops.rolled import Rolled
from tests.loops.programs import row
from tests.loops.test_loops_in_c import called, is_same, run_in_c

pytestmark = pytest.mark.host


def sums_of_squares(x, out):
    for i in range(len(x)):
        out[i] = sum(v * v for v in x[:i])


def counted_by_truths(x, ws):
    n = 0
    for i in range(len(x)):
        n += sum(w > x[i] for w in ws)
    return n


def inversions(x, ws):
    n = 0
    for i in range(len(x)):
        n += sum(1 for j in range(i) if x[j] > x[i])
    return n


def widest(x, ws):
    b = 0.0
    for i in range(1, len(x)):
        b = max(abs(x[i] - x[j]) for j in range(i))
    return b


def primes(n):
    ps = []
    for k in range(2, n):
        if all(k % p != 0 for p in range(2, k)):
            ps.append(k)
    return ps


def beyond_any(x, m):
    c = 0
    for i in range(len(x)):
        if any(x[i] > m[a, b] for a in range(m.shape[0]) for b in range(m.shape[1])):
            c += 1
    return c


def largest_below(x, ws):
    b = 0
    for i in range(len(x)):
        b = max((w for w in ws if w < x[i]), default=0.0)
    return b


def latest(x, ws):
    b = 0
    for i in range(len(x)):
        b = max((j for j in range(i) if x[j] > 0.9), default=-1)
    return b


def largest_of_some(x, ws):
    for i in range(len(x)):
        b = max(w for w in ws if w < x[i])
        x[i] = b
    return b


def values_or_others(x, y):
    t = 0.0
    for i in range(len(x)):
        v = x[i] or 0.5
        w = y[i] and x[i]
        t += v + w
    return t


def integers_or_others(n):
    t = 0
    for i in range(n):
        t += (i % 3) or 10
        t -= i and 5
    return t


def lists_made_anew(n):
    tot = 0
    for i in range(1, n):
        sq = [j * j for j in range(i)]
        tot += sq[-1] + len(sq) + sum(sq)
    return tot


def a_name_of_its_own(n):
    v = 3
    tot = 0
    for i in range(n):
        tot += sum(v for v in range(i)) + v
    return tot, v


def moving_means(x, k):
    for i in range(len(x)):
        x[i] = sum(x[j] for j in range(max(0, i - k), i + 1)) / (min(i, k) + 1)
    return x


def until_all_are_large(m):
    n = m.shape[0]
    for _ in range(n):
        if not all(abs(m[i, j]) < 2 for i in range(n) for j in range(n)):
            break
        m *= 1.5
    return m


def sum_with_an_error(x):
    for i in range(len(x)):
        x[i] = sum(1 / (j - 2) for j in range(i))


def index_beyond(x):
    for i in range(len(x)):
        x[i] = max(x[j + 1] for j in range(i + 1))


def pairs_of_two(x):
    total = 0
    for i in range(len(x)):
        total += sum(a * b for a in range(i) for b in range(a) if (a + b) % 2 if a != 3)
    return total


def by_pairs(x, ws):
    for i in range(len(x)):
        x[i] = sum(w * v for w, v in zip(ws, x[: i + 1], strict=False))
        x[i] += sum(k * w for k, w in enumerate(ws))
    return x


WS = [0.2, 0.5, 0.9]
X = row(9)
PROGRAMS = {
    f"{f.__name__}_{n}": (f, args)
    for n, (f, args) in enumerate([
        (sums_of_squares, (X, np.zeros(9))),
        (sums_of_squares, (np.arange(9), np.zeros(9))),
        (counted_by_truths, (X, WS)),
        (counted_by_truths, (X, [1, 2])),
        (inversions, (X, WS)),
        (widest, (X, WS)),
        (primes, (40,)),
        (beyond_any, (X, row(12).reshape(3, 4))),
        (beyond_any, (X * 0, np.ones((2, 2)))),
        (largest_below, (X, WS)),
        (latest, (X, WS)),
        (largest_of_some, (X + 0.3, WS)),
        (values_or_others, (X, X)),
        (values_or_others, (np.array([0.0, 1, 0]), np.array([0.0, 0, 2]))),
        (values_or_others, (X, [0, 1.0] * 5)),
        (integers_or_others, (10,)),
        (lists_made_anew, (6,)),
        (a_name_of_its_own, (6,)),
        (moving_means, (X, 3)),
        (until_all_are_large, (np.full((3, 3), 0.1),)),
        (pairs_of_two, (X,)),
        (by_pairs, (X, WS)),
        (sum_with_an_error, (X,)),
        (index_beyond, (X,)),
        (largest_of_some, (X, WS)),
    ])
}  # fmt: skip


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loop_with_a_generator_expression_does_what_python_does(name):
    function, args = PROGRAMS[name]
    expected, found = called(function, args), run_in_c(function, args)
    assert is_same(expected, found, True)


def narrow(x, ws):
    for i in range(len(x)):
        x[i] = sum(v for v in x[:i])


def of_texts(x, ws):
    for i in range(len(x)):
        x[i] = sum(len(w) for w in ws)


@pytest.mark.parametrize(
    ("function", "args"),
    [(narrow, (row(4, "f4"), WS)), (of_texts, (X, ["a", "bc"]))],
    ids=["narrow", "texts"],
)
def test_another_generator_expression_is_pythons(function, args):
    rolled = Rolled(function)
    assert is_same(called(rolled, args), called(function, args), True)
    assert not rolled.ran


def few_of_each(x, n):
    found = []
    for i in range(n):
        at = [j for j in range(i) if x[j] > 0.3]
        if at:
            found.append(at[-1])
        at = []
    return found, at


def squared(v):
    return v * v + 1


def first_sum(x, i):
    return sum(x[j] for j in range(i))


def by_helpers(x):
    total = 0.0
    for i in range(len(x)):
        total += sum(squared(v) for v in x[:i]) + first_sum(x, i)
        total += any(squared(v) > 1.5 for v in x[i:])
    return total


def popping(x, ws):
    total = 0.0
    for i in range(len(x)):
        total = total * 0.5 + ws[0] + sum(ws.pop() for _ in range(1)) + ws[0] + i
    return total, ws


def lists_of_lists_made(x, n):
    for i in range(n):
        y = [v * i for v in x]
        z = [y[j] + y[-1 - j] for j in range(len(y))]
        y = [a + b for a, b in zip(y, z, strict=False)]
        x[i] = sum(y)
    return x


def sums_of_sums(n):
    total = 0
    for i in range(n):
        total += sum(sum(a * b for a in range(b)) for b in range(i))
        total += max(max(a for a in range(b + 1)) for b in range(i + 1))
    return total


LATER = [
    (few_of_each, (X, 6)),
    (few_of_each, (X, 1)),
    (by_helpers, (X,)),
    (by_helpers, (np.zeros(3),)),
    (popping, (X, [1.0] * 12)),
    (popping, (X, [1.0] * 3)),
    (lists_of_lists_made, (X, 4)),
    (sums_of_sums, (5,)),
]


@pytest.mark.parametrize(
    ("function", "args"),
    [pytest.param(*c, id=f"{c[0].__name__}-{n}") for n, c in enumerate(LATER)],
)
def test_generator_expressions_within_each_other_and_in_functions_are_loops(function, args):
    assert is_same(called(function, args), run_in_c(function, args), True)


def filled(n):
    for i in range(n):
        c = n * [1.0]
        c[i] = 5.0
        c.append(2.0)
    return c


def centres(x, n):
    cs = [0.2, 0.5, 0.8]
    for _ in range(n):
        sums = [0.0] * 3
        counts = [0] * 3
        for v in x:
            b = 0
            for c in range(3):
                if abs(v - cs[c]) < abs(v - cs[b]):
                    b = c
            sums[b] += v
            counts[b] += 1
        for c in range(3):
            if counts[c]:
                cs[c] = sums[c] / counts[c]
    return cs


def of_no_length(n):
    for i in range(n):
        c = [7] * (i - 2)
    return c, len(c)


def two_joined(n):
    for i in range(n):
        c = [i] + [0, 1]  # noqa: RUF005
        c[0] += 1
    return c


FILLED = [
    (filled, (3,)),
    (centres, (X, 3)),
    (centres, (X.tolist(), 3)),
    (of_no_length, (2,)),
    (of_no_length, (5,)),
    (two_joined, (4,)),
]


@pytest.mark.parametrize(
    ("function", "args"),
    [pytest.param(*c, id=f"{c[0].__name__}-{n}") for n, c in enumerate(FILLED)],
)
def test_a_loop_makes_lists_of_so_many_items(function, args):
    assert is_same(called(function, args), run_in_c(function, args), True)
