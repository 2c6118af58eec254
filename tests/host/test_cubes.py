"""``x ** 3`` of floats is a cube: one operator, however it is written."""

import numpy as np
import pytest

import opweave as ow

SPECIAL = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-12, -3e4, 2.5, 1e30, 1e155]


def in_a_loop(x):
    y = np.zeros_like(x)
    for i in range(3):
        y[i:] = x[i:] ** 3
    return y


@pytest.mark.host
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
@pytest.mark.parametrize(
    "function",
    [lambda x, n: x**3, lambda x, n: x**3.0, lambda x, n: np.power(x, 3), lambda x, n: x**n,
     lambda x, n: in_a_loop(x)],
    ids=["an operator", "by a float", "a function", "an argument", "a loop"],
)  # fmt: skip
def test_a_cube_is_the_nearest_number_but_for_a_hundredth(function, dtype):
    x = np.concatenate([SPECIAL, np.random.default_rng(0).normal(0, 3, 500)]).astype(dtype)
    cubes, wide = ow.fuse(function)(x, 3), x.astype(np.longdouble) ** 3

    assert cubes.dtype == x.dtype
    assert np.array_equal(cubes, ow.fuse(lambda x: x**3)(x), equal_nan=True)
    assert np.array_equal(np.signbit(cubes[:4]), np.signbit(x[:4]))
    beyond = np.abs(wide) > np.finfo(dtype).max
    assert np.array_equal(cubes[beyond], wide[beyond].astype(dtype))
    kept = ~beyond & ~np.isnan(x)
    off = np.abs(cubes[kept] - wide[kept]) / np.spacing(np.abs(cubes[kept]))
    assert off.max() < 0.51


def test_other_types_have_powers():
    for x in (np.arange(-4, 5), np.ones(3) * 1j, np.array([True, False])):
        assert np.array_equal(ow.fuse(lambda x: x**3)(x), x**3)
        assert ow.fuse(lambda x: x**3)(x).dtype == (x**3).dtype
