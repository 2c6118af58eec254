"""Loops in which C once saw two arrays where Python has one, or memory that is none."""

from __future__ import annotations

import math
import signal
import threading

import numpy as np
import pytest

from opweave._loops.rolled import Rolled
from tests.loops.programs import row, square
from tests.loops.test_loops_in_c import called, is_same, run_in_c

pytestmark = pytest.mark.host


def in_a_list_twice(x):
    found = []
    for k in range(3):
        y = x + k
        found.append(y)
        found.append(y)
    return found


def in_a_list_in_every_turn(x):
    found = []
    for k in range(3):
        y = x + k
        for _ in range(2):
            found.append(y)
    return found


def in_a_list_and_under_another_name(x):
    found, before = [], x
    for _ in range(3):
        y = before * 2
        found.append(y)
        before = y
    return found, before


def another_name_of_another_name(x):
    b = c = x
    for _ in range(3):
        x = x * 0.5
        b = x
        c = b
    return x, c


def two_names_of_a_sum(A):
    for _ in range(3):
        a = b = A.sum(axis=0)
    return a, b


def two_names_of_a_sum_changed(A):
    out = np.zeros(4)
    for _ in range(3):
        a = b = A.sum(axis=0)
        a += 1
        out += b
    return out


def as_two(v):
    return v, v


def parts_of(v):
    return v[1:], v[:-1]


def as_one(v):
    return v


def added_to_one(v):
    w = as_one(v)
    w += 1
    return v.sum()


def returned_as_two(x):
    out = np.zeros(4)
    for k in range(3):
        a, b = as_two(x + k)
        a += 1
        out += b
    return out


def returned_as_parts(x):
    out = np.zeros(3)
    for k in range(3):
        a, b = parts_of(x + k)
        a += 1
        out += b
    return out


def rows_under_a_column_matrix(v, A):
    for _ in range(2):
        made = np.vstack([v, A.T])
    return made


ALIKE = {
    "in_a_list_twice": (in_a_list_twice, (row(4),)),
    "in_a_list_in_every_turn": (in_a_list_in_every_turn, (row(4),)),
    "in_a_list_and_under_another_name": (in_a_list_and_under_another_name, (row(4),)),
    "another_name_of_another_name": (another_name_of_another_name, (row(4),)),
    "two_names_of_a_sum": (two_names_of_a_sum, (square(4),)),
    "two_names_of_a_sum_changed": (two_names_of_a_sum_changed, (square(4),)),
    "returned_as_two": (returned_as_two, (row(4),)),
    "returned_as_parts": (returned_as_parts, (row(4),)),
    "rows_under_a_column_matrix": (rows_under_a_column_matrix, (row(4), square(4))),
}


def seen(found):
    """Which results are one array, and how each lies."""
    arrays = [a for each in found for a in (each if isinstance(each, list | tuple) else [each])]
    arrays = [a for a in arrays if isinstance(a, np.ndarray)]
    return [[a is b for b in arrays] for a in arrays], [a.strides for a in arrays]


@pytest.mark.parametrize("name", ALIKE)
def test_what_is_one_array_stays_one_array(name):
    function, args = ALIKE[name]
    found, expected = Rolled(function)(*args), function(*args)
    assert is_same(found, expected, exactly=False)
    assert seen([found]) == seen([expected])


def through_a_function(x):
    out = np.zeros(3)
    for k in range(3):
        out[k] = added_to_one(x + k)
    return out


def diagonal_of_what_changes(A):
    total = 0.0
    for _ in range(3):
        d, e, f = np.diagonal(A), np.diag(A), A.diagonal()
        A[0, 0] += 1
        total += d[0] + e[0] * 2 + f[0] * 4
    return total


def column_by_row(x, y):
    total = 0.0
    for _ in range(2):
        total += (x[:, None] @ y[None, :]).sum()
        total += (x[:, None] @ y[None, :1]).sum() + (y[:1, None] @ x[None, :]).sum()
    return total


LONG = np.sin(np.arange(40000.0))
IN_C = {
    "through_a_function": (through_a_function, (row(4),)),
    "diagonal_of_what_changes": (diagonal_of_what_changes, (square(4),)),
    "column_by_row": (column_by_row, (LONG[:9000], row(4))),
    "column_by_row_apart": (column_by_row, (LONG[::2], row(40)[::10])),
}


@pytest.mark.parametrize("name", IN_C)
def test_a_loop_in_c_reads_the_memory_that_python_reads(name):
    function, args = IN_C[name]
    assert is_same(called(function, args), run_in_c(function, args), exactly=False)


def of_extents(n):
    total = 0.0
    for _ in range(1):
        made = np.zeros((n, n))
        total += made[0, 0]
    return total


def test_an_array_of_more_bytes_than_an_integer_counts_is_an_error():
    for_few = Rolled(of_extents)
    assert for_few(2) == 0
    with pytest.raises((MemoryError, ValueError)):
        for_few(1 << 33)


def differences_of_a_stack(T):
    out = 0.0
    for _ in range(2):
        out += np.diff(T)[0, 0, 0]
    return out


def crosses(a, b, out):
    for _ in range(2):
        out += np.cross(a, b)


def whole_parts(x):
    found = []
    for k in range(len(x)):
        found.append(math.trunc(x[k]))
    return found


def rounded(x):
    found = []
    for k in range(len(x)):
        found.append(round(x[k]))
    return found


def of_a_short_type(out):
    for k in range(3):
        out += np.array([k * 100, 1], dtype=np.int8)


def of_no_number(x, out):
    for k in range(2):
        out += np.array([x[k] * np.nan, 1.0], dtype=np.int64)


def places_of(x, v):
    for _ in range(2):
        found = np.searchsorted(x, v), np.searchsorted(x, v, side="right")
    return found


STACK = row(27).reshape(3, 3, 3)
WITHIN_NUMPYS = {
    "differences_of_a_stack": (differences_of_a_stack, (STACK,)),
    "crosses_rows": (crosses, (STACK[0], STACK[1], np.zeros((3, 3)))),
    "crosses_four": (crosses, (row(4), row(4), np.zeros(3))),
    "whole_parts_f4": (whole_parts, (row(4, "f4"),)),
    "whole_parts_i8": (whole_parts, (np.arange(4),)),
    "rounded_i8": (rounded, (np.arange(4) + (1 << 60),)),
    "rounded_bool": (rounded, (np.arange(4) > 1,)),
    "of_a_short_type": (of_a_short_type, (np.zeros(2, np.int8),)),
    "places_of_a_python_float": (places_of, (np.array([0.1, 0.1, 0.3], "f4"), 0.1)),
    "of_no_number": (of_no_number, (row(4), np.zeros(2, np.int64))),
}


@pytest.mark.parametrize("name", WITHIN_NUMPYS)
def test_a_function_gives_or_raises_what_numpys_does(name):
    function, args = WITHIN_NUMPYS[name]
    assert is_same(called(function, args), called(Rolled(function), args), exactly=False)


def test_a_cross_product_is_of_three_numbers_in_every_call():
    rolled = Rolled(crosses)
    for extent in (3, 4, 3):
        args = row(extent), row(extent) + 1, np.zeros(3)
        assert is_same(called(crosses, args), called(rolled, args), exactly=False)
    assert rolled.ran


def appends_until(x, found):
    while x[0] < 2:
        x[1] += 1.0
        if x[1] < 10:
            found.append(x[1])


def test_a_list_has_what_was_appended_until_a_signal_came():
    rolled = Rolled(appends_until)
    rolled(np.array([3.0, 0.0]), [])
    found = []
    timer = threading.Timer(0.3, signal.raise_signal, [signal.SIGINT])
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            rolled(np.zeros(2), found)
    finally:
        signal.signal(signal.SIGINT, before)
    assert found == [*range(1, 10)]
