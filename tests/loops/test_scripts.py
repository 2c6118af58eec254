"""Loops over several things at once: zip and enumerate."""

# ruff: noqa: B007, B905, RUF007
from __future__ import annotations

import numpy as np
import pytest

from opweave._loops.rolled import Rolled
from tests.loops.programs import row, square
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
