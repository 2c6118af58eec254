"""What masks pick in loops of C: none, few and all, in rows of any length."""

import numpy as np
import pytest

import opweave as ow

pytestmark = pytest.mark.host

LENGTHS = (0, 1, 7, 8, 9, 255, 256, 257, 1000)
ROUNDS = 70


def picked(x, y, marks, found):
    for i in range(len(found)):
        chosen = np.logical_and(marks[i] <= x, x < marks[i] + 0.5)
        value = y[chosen]
        found[i] = value.sum() + value.size
    return value, chosen


def put(x, y, marks, found):
    for i in range(len(found)):
        mask = np.logical_or(x < marks[i] - 1, x > marks[i])
        y[mask] = y[mask] * 0.5 + i
        found[i] = y.sum()
    return (mask,)


def rows(x, y, marks, found):
    for i in range(len(found)):
        mask = np.logical_and(x > marks[i], y < 50)
        lines = y[mask] + 1
        y[mask] = lines
        found[i] = lines.sum()
    return (lines,)


@pytest.mark.parametrize("lines", [None, 3])
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("function", [picked, put, rows])
def test_masks_pick_what_numpy_picks(function, length, lines):
    shape = length if lines is None else (lines, length)
    x = np.random.default_rng(length).random(shape)
    # all, about a half, one element, and none
    marks = np.concatenate([np.linspace(-0.6, 1.1, ROUNDS - 1), [x.max(initial=0)]])
    given, expected = ((x, np.ones(shape), marks, np.zeros(ROUNDS)) for _ in range(2))
    fused = ow.fuse(function)

    results, wanted = fused(*given), function(*expected)

    assert "C runs 1 loop(s)" in str(fused.explain(*expected))
    for a, b in zip((*results, *given), (*wanted, *expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
