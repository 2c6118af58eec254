"""Loops in C read and change lists of lists, and leave them as Python does."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from opweave._loops.rolled import Rolled
from tests.loops.test_loops_in_c import called, is_same, run_in_c

pytestmark = pytest.mark.host


def doubled_sum(g):
    t = 0.0
    for i in range(len(g)):
        for j in range(len(g[i])):
            t += g[i][j] * 2
    return t


def first_of_each_row(g):
    for row in g:
        for v in row:
            if v > 3:
                row[0] = v


def common(a, b):
    dp = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            if a[i - 1] == b[j - 1]:
                dp[i][j] = dp[i - 1][j - 1] + 1
            else:
                dp[i][j] = max(dp[i - 1][j], dp[i][j - 1])
    return dp[-1][-1], dp


def breadths(graph, n):
    dist = [-1] * n
    dist[0] = 0
    queue = [0]
    while queue:
        u = queue.pop(0)
        for v in graph[u]:
            if dist[v] < 0:
                dist[v] = dist[u] + 1
                queue.append(v)
    return dist


def shortest(graph, n):
    best = [1e9] * n
    best[0] = 0.0
    for _ in range(n):
        for u in range(n):
            for v, w in graph[u]:
                if best[u] + w < best[v]:
                    best[v] = best[u] + w
    return best


def scaled(g):
    for i, row in enumerate(g):
        m = max(row)
        for j in range(len(row)):
            row[j] = row[j] / m
        g[i][0] += sum(row) + len(g)
    return g


def column(g, k):
    t = 0
    for i in range(len(g)):
        t += g[i][k]
        g[i][-1] = t
    return t


def all_shortest(g):
    n = len(g)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                if g[i][k] + g[k][j] < g[i][j]:
                    g[i][j] = g[i][k] + g[k][j]


def squares(g):
    t = 0
    for i in range(len(g)):
        t += sum(v * v for v in g[i]) + sum(g[i][j] for j in range(i))
    return t


def rows_exchanged(g):
    for i in range(len(g)):
        g[i] = [1, 2]


def rows_appended(g, out):
    for i in range(len(g)):
        out.append(g[i])


def into_the_first(g):
    a = g[0]
    for i in range(1, len(g)):
        for j in range(len(a)):
            a[j] += g[i][j]
    return a


def swapped(g, h):
    for r, s in zip(g, h, strict=False):
        for j in range(len(r)):
            r[j], s[j] = s[j], r[j]
    return g, h


def counted(g):
    c = 0
    for row in g:
        if 3 in row:
            c += 1
        if row:
            c += len(row)
    return c


def rows_that_grow(g):
    for i in range(len(g)):
        g[i].append(i)


def inverses(g):
    for i in range(len(g)):
        for j in range(len(g[i])):
            g[i][j] = 1 / (g[i][j] - 3)


RECT = [[1.0, 2.0, 5.0], [3.0, 4.0, 1.0], [0.5, 1.0, 9.0]]
INTS = [[1, 2, 3], [4, 5, 6], [7, 8, 9]]
RAGGED = [[1, 2], [3], [4, 5, 6], [2]]
ONE_ROW = [[1, 2]] * 3
MIXED = [[1, 2.5], [np.float64(3), 4]]
NUMPYS = [[np.float64(1.5), np.float64(2.5)], [np.float64(-1.0)]]
IN_C = [
    (doubled_sum, (RECT,)),
    (doubled_sum, (INTS,)),
    (doubled_sum, (RAGGED,)),
    (doubled_sum, (MIXED,)),
    (doubled_sum, (NUMPYS,)),
    (doubled_sum, ([[], [1.0]],)),
    (first_of_each_row, (RECT,)),
    (first_of_each_row, (RAGGED,)),
    (first_of_each_row, ([[1], [], [5]],)),
    (common, ([1, 2, 3, 4, 2], [2, 4, 1, 2])),
    (breadths, ([[1, 2], [3], [3, 0], [1]], 4)),
    (breadths, ([[1, 2], [3], [], [9]], 4)),
    (shortest, ([[(1, 2.0), (2, 5.0)], [(2, 1.0)], [(0, 1.0)]], 3)),
    (column, (INTS, 1)),
    (column, (RECT, 2)),
    (column, (INTS, -4)),
    (column, (RAGGED, 1)),
    (all_shortest, (RECT,)),
    (all_shortest, (INTS,)),
    (all_shortest, (RAGGED,)),
    (squares, (RECT,)),
    (squares, (INTS,)),
    (swapped, (INTS, copy.deepcopy(INTS))),
    (counted, (INTS,)),
    (counted, (RAGGED,)),
    (inverses, (RECT,)),
]
PYTHONS = [
    (doubled_sum, (ONE_ROW,)),
    (doubled_sum, ([[1], ["a"]],)),
    (doubled_sum, ([[1 << 70]],)),
    (doubled_sum, ([[1 << 50]],)),
    (doubled_sum, ([[1], 2],)),
    (doubled_sum, ([[[1]]],)),
    (first_of_each_row, (ONE_ROW,)),
    (rows_exchanged, (INTS,)),
    (rows_appended, (INTS, [])),
    (into_the_first, (INTS,)),
    (swapped, (INTS, INTS)),
    (rows_that_grow, (INTS,)),
]


def named(cases):
    return [pytest.param(*c, id=f"{c[0].__name__}-{n}") for n, c in enumerate(cases)]


@pytest.mark.parametrize(("function", "args"), named(IN_C))
def test_a_loop_over_lists_of_lists_does_what_python_does(function, args):
    assert is_same(called(function, args), run_in_c(function, args), True)


@pytest.mark.parametrize(("function", "args"), named(PYTHONS))
def test_other_lists_of_lists_are_pythons(function, args):
    rolled = Rolled(function)
    found, expected = (called(f, args) for f in (rolled, function))
    assert is_same(found, expected, True)


def test_lists_of_other_lengths_take_the_same_loop():
    rolled = Rolled(doubled_sum)
    for grid in (RECT, [[1.0]], [[2.0] * 5, [3.0]], [], RAGGED, RECT):
        assert is_same(called(rolled, (grid,)), called(doubled_sum, (grid,)), True)
    assert not any(site.left for site in rolled.sites if site.compiled == 0)


def test_a_list_is_the_object_that_it_was():
    rows = copy.deepcopy(INTS)
    one = rows[1]
    Rolled(column)(rows, 0)
    assert rows[1] is one
    assert one[-1] == 5


def windows(x, k):
    out = []
    for i in range(len(x) - k + 1):
        out.append(sum(x[i : i + k]) / k)
    return out


def spreads(x, k):
    out = []
    for i in range(0, len(x), k):
        part = x[i : i + k]
        out.append(max(part) - min(part))
    return out


def ends(x, a, b):
    t = 0
    for _ in range(3):
        for v in x[a:b]:
            t += v
        t += len(x[:a]) + len(x[b:]) * 10
        if x[a:]:
            t += x[-1:][0]
    return t


def parts_of_rows(g):
    t = 0
    for i in range(len(g)):
        t += sum(g[i][1:]) + max(g[i][:2])
    return t


def any_so_far(x):
    c = 0
    for i in range(len(x)):
        if any(x[:i]):
            c += 1
        if all(x[i:]):
            c += 10
    return c


def changed_behind(x):
    for i in range(len(x) - 1):
        part = x[i : i + 2]
        x[i] = part[1]
    return x


def changed_itself(x):
    for i in range(len(x) - 1):
        part = x[i : i + 2]
        part[0] = 5.0
    return x, part


FLOATS = [0.5, 2.5, 1.0, -1.0, 4.0, 3.0]
SLICES = [
    (windows, (FLOATS, 3)),
    (windows, (np.array(FLOATS), 3)),
    (windows, (FLOATS, 9)),
    (spreads, (FLOATS, 4)),
    (spreads, (np.array(FLOATS), 4)),
    (spreads, ([3, 1, 2], 2)),
    *((ends, (FLOATS, a, b)) for a, b in ((2, 5), (-3, 100), (5, 2), (20, 30), (-50, -5))),
    (ends, ([1, 2, 3], -1, -5)),
    (parts_of_rows, (INTS,)),
    (parts_of_rows, ([[1, 2, 3], []],)),
    (any_so_far, (np.array([0.0, 0, 1, 1]),)),
    (any_so_far, (np.array([0, 2, 3]),)),
]


@pytest.mark.parametrize(("function", "args"), named(SLICES))
def test_a_slice_of_a_list_is_read_as_python_reads_it(function, args):
    assert is_same(called(function, args), run_in_c(function, args), True)


@pytest.mark.parametrize("function", [changed_behind, changed_itself])
def test_a_slice_of_a_list_that_changes_is_pythons(function):
    rolled = Rolled(function)
    assert is_same(called(rolled, (FLOATS,)), called(function, (FLOATS,)), True)
    assert not rolled.ran
