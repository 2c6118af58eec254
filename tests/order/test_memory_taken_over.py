"""A name takes over the memory of a value that is made whole; what others read of it stays."""

from __future__ import annotations

import numpy as np
import pytest

import opweave as ow
from opweave._loops.rolled import Rolled
from tests.loops.test_loops_in_c import called, is_same, run_in_c

pytestmark = pytest.mark.host


def shrinking(x, y, m):
    """Both are picked before either name gets another array."""
    for i in range(5):
        mask = x < 6 - i
        x, y = x[mask], y[mask] + i
    return x, y


def turned(x, y, m):
    for _ in range(5):
        x, y = np.sort(y), np.cumsum(x)
    return x, y


def picked_places(x, y, m):
    """The places of a mask are noted once for lines that follow."""
    for i in range(5):
        mask = m > i
        k = np.flatnonzero(mask)
        k *= 0
        y[mask] += i + 1.0
        x[k] += 1.0
        y[mask] *= 2.0
    return k


def ordered(v):
    w = np.sort(v)
    w[-1] += 0.25
    return w


def of_a_function(x, y, m):
    for i in range(5):
        z = ordered(x)
        v = ordered(y)
        z[0] = i
        x = z + v
        y = v * 1
    return x, y


def multiplied(x, y, m):
    square = np.outer(x, y) / 100
    for _ in range(5):
        x = square @ x
        y = y @ square
        x[0] += y[-1]
    return x, y


def kept(x, y, m):
    """What was made in the round before is read beside what this one makes."""
    before = y
    for i in range(5):
        now = np.cumsum(x)
        x[:] = now - before + i
        before = now
    return before


def joined(x, y, m):
    for i in range(5):
        z = np.concatenate((x[i:], y[:i]))
        x, y = z * 1, z[::-1] * 1
    return x, y, z


def beside(v):
    w = np.array(v)
    u = v.copy()
    w[0] += 1
    u[-1] += 2
    return v.sum() + w.sum() * 3 + u.sum() * 5


def with_a_parameter_s_name(x, y, m):
    total = 0.0
    for i in range(5):
        total += beside(np.sort(x)) + beside(np.cumsum(y) + i)
    return total


def rows(x, y, m):
    both = np.stack((x, y))
    for i in range(5):
        x, y = both * 0.5 + i
        x[0] += i
        both[0] = y
        both[1] = x
    return x, y


def parts(x, y, m):
    for i in range(5):
        a = np.sort(x)[::2]
        b = np.cumsum(x)[1:]
        c = np.outer(x, y).T
        a[0] = i
        x = np.concatenate((a, b))[: len(y)] + c[0]
    return x


FUNCTIONS = (
    shrinking, turned, picked_places, of_a_function, multiplied, kept, joined,
    with_a_parameter_s_name, rows, parts,
)  # fmt: skip


# Some index five elements.
LENGTHS = {kept: (6, 300), joined: (6, 300)}
CASES = [(f, length) for f in FUNCTIONS for length in LENGTHS.get(f, (1, 6, 300))]


@pytest.mark.parametrize(("function", "length"), CASES)
def test_names_that_take_over_hold_what_numpy_s_do(function, length):
    rng = np.random.default_rng(length)
    args = [rng.integers(0, 9, length) + 0.0 for _ in "xy"] + [rng.integers(0, 9, length)]

    found, own = run_in_c(function, args)
    expected, wanted = called(function, args)

    assert is_same(found, expected, exactly=function is not multiplied)
    assert is_same(own, wanted, exactly=function is not multiplied)


def stores(function, *args):
    """How many loops over elements the C text of a function's loop has."""
    fused = ow.fuse(function)
    fused(*args)
    (source,) = [s for s in fused.explain(*args).sources if "LOOP_TICK" in s]
    return source.split("while", 1)[-1].count("store(")


def picked_apart(x, y, m):
    for i in range(5):
        mask = x < 6 - i
        x = x[mask]
        y = y[mask] + i
    return x, y


def test_two_names_at_once_cost_no_copies():
    args = np.arange(9.0), np.arange(9.0), np.arange(9)

    assert stores(shrinking, *args) == stores(picked_apart, *args)


def beside_a_tuple(p):
    a = np.array(p[0])
    a[0] = 100
    return p[0][0] + a.sum()


def longer_than_before(p, n):
    a = p[0]
    a = a + 1
    a = np.zeros(n)
    return p[0][-1] + a.sum()


def twice(v):
    return v, np.array(v)


def in_tuples(x, y, m):
    """What a tuple of an argument has stays its own."""
    total = 0.0
    for i in range(5):
        total += beside_a_tuple((np.sort(x), i)) + beside_a_tuple(twice(np.cumsum(y)))
        total += longer_than_before((np.sort(x) * 2, 1), 1000)
    return total


def written_by_another_name(p):
    a = p[0]
    a[0] = 99
    return p[0].sum()


def first_of(p):
    return p[0]


def written_by_a_returned_one(p):
    a = first_of(p)
    a[0] = 9
    a = a + 1
    return p[0].sum() + a.sum()


def of_one_array(x, y, m):
    """Another name for what a tuple has writes to it."""
    total = 0.0
    for i in range(5):
        total += written_by_another_name((np.sort(x), i))
        total += written_by_a_returned_one((np.cumsum(y), i))
    return total


def written_meanwhile(p, x):
    x[0] += 1
    return p[0].sum()


def of_values_as_they_were(x, y, m):
    total = 0.0
    for _ in range(5):
        total += written_meanwhile((x * 2, 1), x)
    return total


def of_extents_as_they_were(x, y, m):
    """The second value has as many elements as its operand had before it got another one."""
    for i in range(5):
        a = x[x > i]
        a, b = np.concatenate((a, y)), np.sort(a)
        b += 1.0
        y[: len(b)] += b[: len(y)]
        a, b = a[a > i], a * 2
    return a, b


@pytest.mark.parametrize("length", [6, 300])
@pytest.mark.parametrize(
    "function", [in_tuples, of_one_array, of_values_as_they_were, of_extents_as_they_were]
)
def test_values_are_those_of_their_time(function, length):
    rng = np.random.default_rng(length)
    args = [rng.integers(0, 9, length) + 0.0 for _ in "xy"] + [rng.integers(0, 9, length)]

    assert is_same(run_in_c(function, args), called(function, args), exactly=True)


def two_tuples(x, y, m):
    for i in range(3):
        (a, b) = (c, d) = np.sort(x), np.sort(y)
        a[0] = i - 5
        x[1] += c[0] + d[0] + b[1]
    return x


def test_two_tuples_of_one_array_are_left_to_python():
    rolled = Rolled(two_tuples)
    args = [np.arange(6.0), np.arange(6.0), np.arange(6)]

    assert is_same(called(rolled, args), called(two_tuples, args), exactly=True)
    assert not rolled.ran
