"""Loops that once did something else than Python, some of them only at a second call."""

from __future__ import annotations

import weakref

import numpy as np
import pytest

from opweave._loops.rolled import Rolled
from opweave.opcodes.errors import OutOfRangeError
from tests.loops.programs import row, square
from tests.loops.test_loops_in_c import called, is_same, run_in_c

pytestmark = pytest.mark.host


def scaled_by(k):
    def scaled(v):
        return v * k

    return scaled


def item_of(w):
    def item(i):
        return w[i]

    return item


shifted = scaled_by(2)


def bump(x):
    x[0] += 1
    return 1.0


def bumped(x):
    x += 1
    return x.copy()


def first_of(x):
    return int(x[0] + 2)


def number_of_the_same_name(x, scaled, k):
    for i in range(len(x)):
        x[i] = scaled(x[i]) + k


def changed_number_of_the_same_name(x, scaled, k):
    for i in range(len(x)):
        x[i] = scaled(x[i])
        k = k + 1
    return k


def number_of_a_global_function(x, k):
    for i in range(len(x)):
        x[i] = shifted(x[i]) + k


def array_of_the_same_name(w, is_own):
    item = item_of(w if is_own else w * 2)
    total = 0.0
    for i in range(len(w)):
        total += item(i) * w[i]
    return total


def function_in_a_function(x, k):
    def shift(v):
        return v + k

    def twice(v):
        return shift(v) * 2

    for i in range(len(x)):
        x[i] = twice(x[i])


def effects_between_pick_and_store(x, places):
    for _ in range(3):
        x[places] += bump(x)


def effects_on_a_mask(x, m):
    def turned(v):
        m[:2] = ~m[:2]
        return v

    for k in range(3):
        x[m] += turned(k + 1)


def effects_between_sources(x):
    total = 0.0
    for a, b in zip(x * 2, bumped(x), strict=False):
        total += a * b
    return total


def effects_between_bound_and_source(x):
    total = 0.0
    for i, b in enumerate(zip(range(first_of(x)), bumped(x), strict=False)):
        total += i * b[1]
    return total


def effects_between_unpacked_sources(x):
    total = 0.0
    for a, b in zip(*np.split(x, 2), strict=False):
        total += a * b
    return total


def added(a, b=1.0):
    return a + b


def argument_given_twice(x):
    for i in range(len(x)):
        x[i] = added(1.0, a=2.0)


def halved(a, /):
    return a / 2


def argument_by_place_alone(x):
    for i in range(len(x)):
        x[i] = halved(a=2.0)


def order_of_picked(A, places):
    for k in range(3):
        found = A[:, places] + k
    return found


def order_of_picked_rows(A, places):
    for k in range(3):
        found = A[places] + k
    return found


def order_of_three_axes(A):
    for k in range(3):
        found = A + k
    return found


def order_of_a_sum(A):
    for _ in range(3):
        found = A.sum(axis=0)
    return found


def order_of_one_alike(A):
    for k in range(3):
        found = np.zeros_like(A)
        found[0] = k
    return found


def mask_of_one(x, m):
    for k in range(3):
        x[m] = k


def listed_places(A):
    for k in range(3):
        A[[0, 1]] = A[[1, -1]] + k
    return A


def endless_numbers(x, least):
    for i in range(len(x)):
        x[i] = min(x[i], least[i])


def integers_of_floats(x, f):
    for i in range(len(x)):
        k = int(f * i)
        x[i] = k + int(x[i] * 9) + int(x[i] > 0) + int(i > 1)
    return k


def range_of_a_float(x, f):
    for i in range(3):
        for j in range(f * i):
            x[j] += 1


def slice_by_a_float(x, f):
    for i in range(3):
        x[f * i :] += 1


def index_of_a_float(x, f):
    for i in range(3):
        x[f * i] += 1


def item_at_a_float(x, f):
    for i in range(3):
        x[i] = (1, 2, 3)[f * i]


# What each is called with, in turn.
CASES = {
    number_of_the_same_name: [
        (row(3), scaled_by(2), 2), (row(3), scaled_by(2), 3), (row(3), scaled_by(3), 2),
    ],
    changed_number_of_the_same_name: [(row(3), scaled_by(0), 0), (row(3), scaled_by(1), 0)],
    number_of_a_global_function: [(row(3), 2), (row(3), 3)],
    array_of_the_same_name: [(row(3), True), (row(3), False)],
    function_in_a_function: [(row(3), 1.0), (row(3), 2.0)],
    effects_between_pick_and_store: [
        (row(3), np.array([0, 1, 0])), (row(3), np.array([True, True, False])),
    ],
    effects_on_a_mask: [(row(3), np.array([True, False, True]))],
    effects_between_sources: [(row(3),)],
    effects_between_bound_and_source: [(row(5),)],
    effects_between_unpacked_sources: [(row(4),)],
    argument_given_twice: [(row(3),)],
    argument_by_place_alone: [(row(3),)],
    order_of_picked: [(square(3), np.array([0, 1])), (square(3), np.array([[0, 1], [1, 0]]))],
    order_of_picked_rows: [
        (square(3), np.array([0, 1])), (square(3), np.array([[0, 1], [1, 0]]).T),
        (np.asfortranarray(row(24).reshape(2, 3, 4)), np.array([0, 1])),
    ],
    order_of_three_axes: [(row(24).reshape(2, 3, 4).transpose(1, 0, 2),)],
    order_of_a_sum: [(row(24).reshape(2, 3, 4).T,)],
    order_of_one_alike: [(np.asfortranarray(square(3)),)],
    integers_of_floats: [
        (row(3), 1.7), (row(3), -1.7), (row(3), float("nan")), (np.array([0, np.nan]), 1.0),
        (row(3).astype("f4"), 2.5),
    ],
    range_of_a_float: [(row(3), 1.0), (row(3), 1)],
    slice_by_a_float: [(row(3), 1.0), (row(3), 1)],
    index_of_a_float: [(row(3), 1.0), (row(3), 1)],
    item_at_a_float: [(row(3), 1.0), (row(3), 1)],
    mask_of_one: [(row(3), np.ones(1, bool)), (row(1), np.ones(1, bool))],
    listed_places: [(square(3),)],
    endless_numbers: [(row(2), (float("inf"), float("nan")))],
}  # fmt: skip
LEFT = {
    effects_between_pick_and_store, effects_on_a_mask,
    changed_number_of_the_same_name, array_of_the_same_name, effects_between_bound_and_source,
    effects_between_unpacked_sources, argument_given_twice, argument_by_place_alone,
    order_of_picked, order_of_picked_rows, range_of_a_float, slice_by_a_float, index_of_a_float,
    item_at_a_float,
    order_of_three_axes, order_of_a_sum, order_of_one_alike,
}  # fmt: skip


def _strides(found):
    each = found if isinstance(found, tuple) else (found,)
    return [a.strides for a in each if isinstance(a, np.ndarray)]


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_it_does_what_python_does(function):
    rolled = Rolled(function)
    for args in CASES[function]:
        expected, found = called(function, args), called(rolled, args)
        if isinstance(expected[0], tuple) and isinstance(expected[0][0], type):
            assert found[0][0] is expected[0][0]
        else:
            assert is_same(expected[0], found[0], exactly=True)
        arrays = [[a for a in each[1] if type(a) is np.ndarray] for each in (expected, found)]
        for before, after in zip(*arrays, strict=True):
            np.testing.assert_array_equal(before, after)
        assert _strides(expected[0]) == _strides(found[0])
    assert function in LEFT or not any(site.left for site in rolled.sites)


@pytest.mark.parametrize("large", [1e30, -1e19])
def test_an_integer_of_a_float_that_leaves_64_bits_is_an_error(large):
    with pytest.raises(OutOfRangeError):
        Rolled(integers_of_floats)(row(3), large)


def goes_through_new_rows(n, noted):
    def made():
        rows = np.ones(n)
        noted.append(weakref.ref(rows))
        return rows

    total = 0.0
    for v in made():
        total += v
    return noted[0]() is None


def test_what_a_loop_goes_through_is_let_go_of_behind_it():
    assert goes_through_new_rows(3, [])
    assert run_in_c(goes_through_new_rows, (3, []))[0]
