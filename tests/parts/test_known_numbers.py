"""Numbers that follow from extents are computed once; those of a call's arguments at each call."""

import numpy as np
import pytest

import opweave as ow
from opweave.runtime.calls import plan

pytestmark = pytest.mark.host


def moved(x, scale):
    y = np.roll(x, (2, 3), (0, 1))
    y[1:-1] += scale * x[: len(x) - 2]
    return y / x.shape[0]


def shifted(x, k):
    return np.roll(x, k + x.shape[0] // 2, 0)


def over_the_rows(x):
    return x * (1.0 / (x.shape[0] - 5))


@pytest.mark.parametrize("function", [moved, shifted])
def test_calls_of_any_extents_and_numbers_are_right(function):
    fused = ow.fuse(function)
    for shape in [(7, 9), (12, 5), (7, 9), (30, 40)]:
        x = np.random.default_rng(0).standard_normal(shape)
        for number in (2, 5, 2):
            np.testing.assert_allclose(fused(x, number), function(x, number), 1e-12, 1e-12)


def test_a_call_asks_for_the_numbers_of_its_arguments_alone(monkeypatch):
    asked, fused, x = [], ow.fuse(moved), np.ones((7, 9))
    fused(x, 2.0)
    value = plan.scalar_value
    monkeypatch.setattr(plan, "scalar_value", lambda s, env: asked.append(s) or value(s, env))
    fused(x, 3.0)

    assert {leaf.op for scalar in asked for leaf in scalar.expr.leaves()} == {"argument"}


def test_an_error_in_a_number_is_raised_by_each_call():
    fused = ow.fuse(over_the_rows)
    for rows in (6, 5, 5, 7):
        x = np.ones((rows, 3))
        if rows == 5:
            with pytest.raises(ZeroDivisionError):
                fused(x)
        else:
            np.testing.assert_array_equal(fused(x), over_the_rows(x))


def caught(x, n):
    try:
        return x * (1 // n)
    except ZeroDivisionError:
        return x - 7


@pytest.mark.parametrize("numbers", [(0, 1, 2, 0), (0.0, 2.5, 1, 0), (1, 0, 2)])
def test_an_error_in_a_number_that_is_caught_is_that_of_these_numbers(numbers):
    fused, x = ow.fuse(caught), np.ones(5)
    for n in numbers:
        np.testing.assert_array_equal(fused(x, n), caught(x, n))


def powers(x, s):
    return x**s, np.power(x, s)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("number", [2.0, 2, 0.5, -1.0, 1.0])
def test_a_power_by_a_calls_number_is_the_function_that_numpy_takes(number, dtype):
    x = np.concatenate([np.random.default_rng(0).random(50), [-0.0, -np.inf]]).astype(dtype)
    fused = ow.fuse(powers)
    fused(x, 3.0)
    with np.errstate(all="ignore"):
        found, expected = fused(x, number), x**number
        np.testing.assert_array_equal(found[0].view("u1"), expected.view("u1"))
        np.testing.assert_allclose(found[1], np.power(x, number), 1e-6)


def test_numbers_that_make_no_other_function_share_a_kernel():
    x, fused = np.random.default_rng(0).random(50), ow.fuse(powers)
    for number in (2.5, 1 / 2.2, -2.0, 0.0):
        np.testing.assert_allclose(fused(x, number)[0], x**number, 1e-12)
    assert len(fused.traces) == 1


def test_the_square_of_bools_has_the_type_that_numpy_gives_it():
    x, fused = np.array([True, False]), ow.fuse(powers)
    for number in (3, 2, 2.0, 0, 2, 1, np.int64(2)):
        for found, expected in zip(fused(x, number), powers(x, number), strict=True):
            assert found.dtype == expected.dtype, number
            np.testing.assert_array_equal(found, expected)


def test_the_square_of_one_bool_is_that_of_numpys_number():
    def function(x, s):
        return x[0] ** s, x[0] ** 2, x.any() ** s, np.angle(x)

    x, fused = np.array([True, False]), ow.fuse(function)
    for number in (2, 3, 2.0, 2):
        for found, expected in zip(fused(x, number), function(x, number), strict=True):
            assert (type(found), found.dtype) == (type(expected), expected.dtype), number
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["i4", "u8", "c16"])
def test_integers_and_complex_numbers_to_a_calls_number_are_numpys(dtype):
    x, fused = np.arange(1, 9).astype(dtype), ow.fuse(powers)
    for number in (2, 3, 2.0, -1.0, 0.5):
        for found, expected in zip(fused(x, number), powers(x, number), strict=True):
            assert found.dtype == expected.dtype
            np.testing.assert_allclose(found, expected, 1e-14)


def test_bools_to_a_negative_power_are_refused_as_by_numpy():
    x, fused = np.array([True, False]), ow.fuse(lambda x, s: x**s)
    for number in (3, -1, 2, -1):
        if number > 0:
            np.testing.assert_array_equal(fused(x, number), x**number)
        else:
            with pytest.raises(ValueError, match="negative integer power"):
                fused(x, number)
