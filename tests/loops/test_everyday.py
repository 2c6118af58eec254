"""Loops of programs of every day run in C, and do what Python does."""

from __future__ import annotations

import numpy as np
import pytest

from opweave._loops.rolled import Rolled
from tests.loops.everyday import PROGRAMS, SUMMED
from tests.loops.programs import row
from tests.loops.test_loops_in_c import called, is_same, run_in_c

pytestmark = pytest.mark.host


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loop_does_what_python_does(name):
    function, args = PROGRAMS[name]
    assert is_same(called(function, args), run_in_c(function, args), name not in SUMMED)


def of_other_length(x, m):
    for k in range(3):
        x[m[: 4 - k]] = k


def too_few(x, m):
    for k in range(3):
        x[m] = x[: 2 + k]


def outside(x, places):
    for k in range(5):
        x[places + k] = k


@pytest.mark.parametrize(
    ("function", "second"),
    [(of_other_length, "m"), (too_few, "m"), (outside, "places")],
    ids=["mask_of_other_length", "too_few_values", "place_outside"],
)
def test_a_wrong_index_is_numpys_error_and_what_came_before_is_written(function, second):
    other = np.array([1, 0, 1, 1], bool) if second == "m" else np.array([0, -1, 1])
    expected, found = (run(function, (row(4), other)) for run in (called, run_in_c))
    assert expected[0][0] is found[0][0]
    np.testing.assert_array_equal(expected[1][0], found[1][0])


def scaled(x, k, shift=0.0):
    def change(v, by=shift):
        return v * k + by

    for i in range(len(x)):
        x[i] = change(x[i])
    return x


def test_a_function_inside_of_another_is_compiled_once_and_has_its_own_values():
    rolled = Rolled(scaled)
    for k, shift in ((2.0, 0.0), (3.0, 0.0), (3.0, 1.0), (2, 1.0)):
        np.testing.assert_array_equal(rolled(row(5), k, shift), scaled(row(5), k, shift))
    before = len(rolled.in_c)
    rolled(row(5), 3.0, 1.0)
    assert len(rolled.in_c) == before


def beyond_a_tuple(x):
    steps = (1, 2, 3)
    for i in range(len(x)):
        x[i] = steps[i]


def test_an_item_that_a_tuple_has_not_is_pythons_error():
    expected, found = (run(beyond_a_tuple, (row(5),)) for run in (called, run_in_c))
    assert expected[0] == found[0]
    np.testing.assert_array_equal(expected[1][0], found[1][0])


def test_no_integer_is_ordered_with_nan():
    compares = PROGRAMS["compares_exactly"][0]
    assert run_in_c(compares, (5, 1 << 40, float("nan")))[0] == 0
