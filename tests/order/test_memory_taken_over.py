"""A name takes over the memory of a value that is made whole; what others read of it stays."""

from __future__ import annotations

import numpy as np
import pytest

import opweave as ow
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


@pytest.mark.parametrize("length", [1, 6, 300])
@pytest.mark.parametrize("function", FUNCTIONS)
def test_names_that_take_over_hold_what_numpy_s_do(function, length):
    if length == 1 and function in (kept, joined):
        pytest.skip("they index five elements")
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
