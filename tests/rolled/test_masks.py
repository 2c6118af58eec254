"""What masks pick in loops of C: none, few and all, in rows of any length."""

import numpy as np
import pytest

import opweave as ow
from opweave._loops.rolled import Rolled

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


# What happens to a mask between two lines that pick by it: C may note only once what it chooses.
BETWEEN = {
    "nothing": "",
    "an element": "mask[3] = not mask[3]",
    "all": "mask[:] = x > 0.5",
    "out=": "np.logical_not(mask, mask)",
    "in place": "mask ^= x > 0.3",
    "a view": "view = mask[2:]; view[:] = False",
    "a new one": "mask = x > 0.6",
    "another one's": "mask = other",
    "both": "mask, other = other, mask",
    "one branch": "if i % 3: mask[i] = True",
    "a new one by a branch": "if i % 3: mask = x > 0.2",
    "a loop": "for j in range(i % 4): mask[j] = not mask[j]",
    "itself": "mask[mask] = x[mask] > 0.7",
    "a function": "changed(mask)",
    "fewer": "x, y, other, mask = x[1:], y[1:], other[1:], mask[1:]",
}
NOT_IN_C = {"a view", "a new one by a branch", "another one's", "both", "fewer"}
PICKS = """
def picks(x, y, other, found):
    mask = x > 0.4
    for i in range(len(found)):
        found[i] = y[mask].sum()
        {0}
        y[mask] += i
        found[i] += x[mask].sum() * 100
        mask = np.logical_xor(mask, y > i)
        if i % 5 == 0:
            found[i] -= y[mask].sum()
        found[i] -= x[mask].sum()
    return mask, y
"""


def changed(mask):
    mask[4] = not mask[4]


@pytest.mark.parametrize("length", [16, 300])
@pytest.mark.parametrize("between", BETWEEN)
def test_a_mask_that_changes_picks_anew(between, length, tmp_path):
    path = tmp_path / "picks.py"
    path.write_text(PICKS.format(BETWEEN[between]))
    names = {"np": np, "changed": changed}
    exec(compile(path.read_text(), str(path), "exec"), names)
    function, rng = names["picks"], np.random.default_rng(length)
    x, y, other = rng.random(length), rng.random(length), rng.random(length) > 0.5
    given, expected = ([x.copy(), y.copy(), other.copy(), np.zeros(10)] for _ in range(2))

    rolled = Rolled(function)

    for a, b in zip(rolled(*given), function(*expected), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    for a, b in zip(given, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)
    assert rolled.ran or between in NOT_IN_C


def other_steps(x, mask, n):
    for _ in range(n):
        view = x[::3]
        view[mask] += 1
        view = x[:16:2]
        view[mask] *= 2
    return x


def other_steps_by_a_branch(x, mask, n):
    for i in range(n):
        view = x[:16:2]
        view[mask] += 1
        if i % 2:
            view = x[::3]
        view[mask] *= 2
    return x


def other_pitches(x, mask, n):
    for _ in range(n):
        view = x.reshape(8, 3)
        view[mask] += 1
        view = x[:16].reshape(8, 2)
        view[mask] *= 2
    return x


def by_a_choice(x, mask, n):
    total = 0.0
    for i in range(n):
        total += x[:8][mask].sum() if i % 2 else 1.0
        total += x[:8][mask].sum()
    return x * total


def by_both_choices(x, mask, n):
    total = 0.0
    for i in range(n):
        total += x[:8][mask].sum() if i % 2 else x[8:16][mask].sum()
    return x * total


@pytest.mark.parametrize(
    "function", [other_steps, other_steps_by_a_branch, other_pitches, by_a_choice, by_both_choices]
)
def test_a_mask_picks_from_what_lies_otherwise(function):
    mask = np.array([1, 0, 1, 0, 1, 0, 0, 1], bool)
    rolled = Rolled(function)

    np.testing.assert_array_equal(
        rolled(np.arange(24.0), mask, 4), function(np.arange(24.0), mask, 4)
    )
    assert rolled.ran or function is other_pitches


def test_what_a_mask_chooses_is_noted_once():
    def picks(x, y, found):
        for i in range(len(found)):
            mask = x > i * 0.1
            found[i] = x[mask].sum() + y[mask].sum()
            y[mask] = 0.5
        return y

    rolled = Rolled(picks)
    rolled(np.ones(9), np.ones(9), np.zeros(3))

    assert rolled.sites[0].sources[0].count("loop_note(") == 1
