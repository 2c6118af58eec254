"""Loops in C read and assign items of dicts by texts: ``state["step"] += 1``."""

from __future__ import annotations

import numpy as np
import pytest

from opweave._loops.rolled import Rolled
from tests.loops.programs import row
from tests.loops.test_loops_in_c import called, is_same, run_in_c

pytestmark = pytest.mark.host


def smoothed(p, x):
    y = np.zeros_like(x)
    for i in range(1, len(x)):
        y[i] = p["a"] * x[i] + p["b"] * y[i - 1]
    return y


def steps(state, x):
    for i in range(len(x)):
        state["step"] += 1
        state["m"] = 0.9 * state["m"] + x[i]
        state["seen"].append(state["step"])
        state["v"][i % 2] += state["m"]
    return state["m"]


def fails(state, x):
    for i in range(len(x)):
        state["step"] = i
        x[i] = 1 / (2 - i)


def sums(p):
    return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in p.items()}


STATE = {"step": 0, "m": 0.5, "seen": [], "v": np.zeros(2)}


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (smoothed, ({"a": 2.0, "b": 0.5}, row(6))),
        (smoothed, ({"a": 2, "b": np.float64(0.5)}, row(6))),
        (steps, (STATE, row(5))),
        (fails, (STATE, row(5))),
    ],
    ids=["read", "of other types", "assigned", "by an error"],
)
def test_items_of_a_dict_are_what_python_leaves(function, args):
    (expected, before), (found, after) = called(function, args), run_in_c(function, args)
    assert is_same(expected, found, True)
    assert sums(before[0]) == sums(after[0])
    assert [*map(type, before[0].values())] == [*map(type, after[0].values())]


class Mine(dict):
    def __getitem__(self, key):
        return 3.0


def given_away(p, x):
    for i in range(len(x)):
        x[i] = p["a"] + len(p)
    return x


@pytest.mark.parametrize(
    ("function", "p"),
    [(smoothed, Mine(a=1.0, b=2.0)), (smoothed, {"a": 1.0}), (given_away, {"a": 1.0})],
    ids=["a class of its own", "a key that is not there", "a dict that is used elsewhere"],
)
def test_other_dicts_are_pythons(function, p):
    rolled = Rolled(function)
    assert is_same(called(function, (p, row(4)))[0], called(rolled, (p, row(4)))[0], True)
    assert not rolled.ran


def two_names(a, b, x):
    for i in range(len(x)):
        a["n"] += 1
        x[i] = b["n"]
    return x


def test_a_dict_by_two_names_is_one():
    rolled = Rolled(two_names)
    one = {"n": 0}
    np.testing.assert_array_equal(rolled(one, one, row(4)), [1, 2, 3, 4])
    np.testing.assert_array_equal(rolled({"n": 0}, {"n": 0}, row(4)), [0, 0, 0, 0])
    assert rolled.ran
