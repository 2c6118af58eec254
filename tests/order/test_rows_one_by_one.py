"""Rows that wait for themselves and are computed one by one: side by side they may be others."""

from __future__ import annotations

import numpy as np
import pytest

from tests.loops.test_loops_in_c import called, is_same, run_in_c
from tests.order.sources import BY_SIDE, drawn, sources, whole

__all__ = ["sources"]  # a fixture

pytestmark = pytest.mark.host


def carried(u):
    left = 0.0
    for i in range(1, u.shape[0]):
        for j in range(1, u.shape[1]):
            left = 0.5 * (left + u[i - 1, j])
            u[i, j] = left + u[i, j - 1]


def counted(x, y):
    for i in range(x.shape[0]):
        n = 0
        for j in range(x.shape[1]):
            n += x[i, j]
        y[i] = n


def counted_on(x, y, counts):
    for i in range(x.shape[0]):
        s = x[i, 0]
        c = int(counts[i])
        for j in range(1, x.shape[1]):
            c += 1
            s += x[i, j]
        y[i] = s
    return c


def left_early(x, y, most):
    for i in range(x.shape[0]):
        s = x[i, 0]
        for j in range(1, x.shape[1]):
            s += x[i, j]
        y[i] = s
        if s > most:
            break
    return i


def listed(x, found):
    for i in range(x.shape[0]):
        found.append(x[i, 0])
        s = x[i, 0]
        for j in range(1, x.shape[1]):
            s += x[i, j]
        found.append(s)


def multiplied(A, B, C):
    for i in range(A.shape[0]):
        for j in range(B.shape[1]):
            for k in range(A.shape[1]):
                C[i, j] += A[i, k] * B[k, j]


def far_back(u):
    for i in range(u.shape[0]):
        for j in range(5, u.shape[1]):
            u[i, j] += u[i, j - 5] * 0.5


def solved(L, x):
    for i in range(x.shape[0]):
        s = x[i]
        for j in range(L.shape[1]):
            s -= L[i, j] * x[j]
        x[i] = s


def going_on(x, y):
    s = 0.0
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            s += x[i, j]
        y[i] = s


def beside_a_row(u, n):
    for t in range(n):
        row = u[t + 1]
        for i in range(1, u.shape[0]):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = 0.5 * u[i, j - 1] + row[j + 1]


def beside_rows(u):
    for row in u:
        for i in range(1, u.shape[0]):
            for j in range(1, u.shape[1] - 1):
                u[i, j] = 0.5 * u[i, j - 1] + row[j + 1]


def from_a_part(u, y, n):
    for _ in range(n):
        a = y[1:]
        for i in range(2, u.shape[0]):
            s = a[i - 2]
            for j in range(u.shape[1]):
                s += u[i, j]
            y[i] = s


def of_shorter_rows(u, y, k):
    b = 0.0
    for i in range(u.shape[1]):
        s = 0.0
        for j in range(k):
            s += u[i, i:][j]
        b = b * 0.5 + s
        y[i] = s
    return b


def of_columns_behind(u, y, k):
    for i in range(k):
        s = u[i, 0]
        for j in range(20):
            s += u[i, j:][i]
        y[i] = s


def into_shorter_rows(u, v, k):
    for i in range(1, u.shape[0]):
        for j in range(1, k):
            u[i, j] = u[i, j - 1] + 1.0
            v[i, i:][j] = 7.0


def last_of_some(u):
    found = -1.0
    for i in range(1, u.shape[0]):
        for j in range(1, u.shape[1]):
            u[i, j] += u[i, j - 1]
            if u[i, j] > 0:
                found = u[i, j]
    return found


def triangle(u):
    for i in range(1, u.shape[0]):
        for j in range(i, u.shape[1]):
            u[i, j] += u[i, j - 1] * 0.5


def ended(u):
    for i in range(1, u.shape[0]):
        for j in range(1, u.shape[1]):
            u[i, j] += u[i, j - 1] * 0.5
        u[i, 0] = u[i, 5]


def begun(u):
    for i in range(1, u.shape[0]):
        u[i, 0] = u[i - 1, 7]
        for j in range(1, u.shape[1]):
            u[i, j] += u[i, j - 1] * 0.5


def from_above(u):
    for i in range(1, u.shape[0]):
        for j in range(1, u.shape[1] - 1):
            u[i, j] = u[i - 1, j - 1] + u[i - 1, j + 1]


def far_behind(u):
    for i in range(1, u.shape[0]):
        for j in range(1, u.shape[1] - 12):
            u[i, j] += u[i - 1, j + 12] + u[i, j - 1]


def in_a_ring(u):
    m = u.shape[1]
    for i in range(1, u.shape[0]):
        for j in range(m):
            u[i, j] = u[i - 1, (j + 1) % m] + u[i, j - 1]


def in_places(u, places):
    for i in range(1, u.shape[0]):
        for j in range(1, u.shape[1]):
            u[i, j] = u[places[i], j] + u[i, j - 1]


def of_all(u):
    for i in range(1, u.shape[0]):
        for j in range(1, u.shape[1]):
            u[i, j] = u[i, j - 1] + u[i - 1].max()


def on_the_diagonal(u):
    for i in range(1, u.shape[0] - 70):
        for j in range(1, 70):
            u[i + j, j] = u[i + j - 1, j - 1] * 0.5 + u[i + j, j]


def in_one_row(row, x):
    for i in range(x.shape[0]):
        for j in range(1, row.shape[0]):
            row[j] = 0.5 * (row[j - 1] + row[j]) + x[i]


def divided(u, x):
    for i in range(1, u.shape[0]):
        for j in range(1, u.shape[1]):
            u[i, j] = u[i, j - 1] + 100 // (i - j + 200) + x


ONE_BY_ONE = {
    "carried": (carried, (drawn(30, 50),)),
    "counted": (counted, (whole(30, 50), np.zeros(30, int))),
    "counted on": (counted_on, (drawn(30, 50), np.zeros(30), np.full(30, 2**62 - 9))),
    "left early": (left_early, (drawn(30, 50), np.zeros(30), 12.0)),
    "listed": (listed, (drawn(30, 50), [])),
    "integers": (multiplied, (whole(5, 40), whole(40, 21), np.zeros((5, 21), int))),
    "far back": (far_back, (drawn(30, 50),)),
    "solved": (solved, (drawn(30, 30), drawn(30))),
    "going on": (going_on, (drawn(30, 50), np.zeros(30))),
    "a row": (beside_a_row, (drawn(40, 50), 6)),
    "rows": (beside_rows, (drawn(40, 50),)),
    "a part": (from_a_part, (drawn(30, 50), drawn(30), 2)),
    "shorter rows": (of_shorter_rows, (drawn(64, 64), np.zeros(64), 40)),
    "columns behind": (of_columns_behind, (drawn(64, 64), np.zeros(64), 40)),
    "columns behind, too far": (of_columns_behind, (drawn(64, 64), np.zeros(64), 50)),
    "into shorter rows": (into_shorter_rows, (drawn(64, 64), drawn(64, 64), 20)),
    "last of some": (last_of_some, (drawn(30, 50),)),
    "triangle": (triangle, (drawn(40, 90),)),
    "ended": (ended, (drawn(30, 50),)),
    "begun": (begun, (drawn(30, 50),)),
    "from above": (from_above, (drawn(30, 50),)),
    "far behind": (far_behind, (drawn(30, 500),)),
    "ring": (in_a_ring, (drawn(30, 50),)),
    "places": (in_places, (drawn(30, 50), whole(30))),
    "all": (of_all, (drawn(30, 50),)),
    "diagonal": (on_the_diagonal, (drawn(100, 80),)),
    "one row": (in_one_row, (drawn(50), drawn(30))),
    "divided": (divided, (drawn(30, 50), 1.5)),
}


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_rows_that_may_not_or_need_not_are_one_by_one(name, sources):
    function, args = ONE_BY_ONE[name]
    assert is_same(called(function, args), run_in_c(function, args), exactly=True)
    assert BY_SIDE not in sources[0]
