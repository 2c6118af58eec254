"""``np.linspace`` between numbers of NumPy's, of arrays and of calls: NumPy's types and values."""

import warnings

import numpy as np
import pytest

import opweave as ow

pytestmark = pytest.mark.host


def of_an_array(x, n):
    return np.linspace(x.min(), x.max(), len(x))


def downwards(x, n):
    return np.linspace(x.max(), x.min(), 5, endpoint=False)


def from_a_number(x, n):
    return np.linspace(n, x.max(), 4)


def between_numbers(x, n):
    return np.linspace(-n, 1, 7) + x[:1]


def one_alone(x, n):
    return np.linspace(n, x.max(), 1)


def whole_numbers(x, n):
    return np.linspace(-n, x.max(), len(x), dtype=int)


def small_numbers(x, n):
    return np.linspace(-3, n, 6, dtype=np.int8), x.sum()


NUMBERS = (2, 1.5, -1, np.float32(0.1), np.int64(3), np.float16(2), np.float64(0.3), np.uint8(7))


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "u1", "i4"])
@pytest.mark.parametrize(
    "function",
    [
        of_an_array, downwards, from_a_number, between_numbers, one_alone, whole_numbers,
        small_numbers,
    ],
    ids=lambda f: f.__name__,
)  # fmt: skip
def test_steps_have_the_type_and_the_values_that_numpy_gives_them(function, dtype):
    x, fused = (np.arange(6) * 1.37 + 1).astype(dtype), ow.fuse(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in NUMBERS:
            wanted, found = function(x, number), fused(x, number)
            pairs = zip(wanted, found, strict=True) if type(wanted) is tuple else [(wanted, found)]
            for a, b in pairs:
                assert a.dtype == b.dtype, number
                close = {"e": 2e-3, "f": 1e-6}.get(a.dtype.char, 1e-14)
                np.testing.assert_allclose(b, a, close, close)


def lifted(x, n):
    return np.full(3, n), np.asarray(n), np.stack([x, x * 0 + np.asarray(n)])


def test_an_integer_beyond_64_bits_gives_no_later_call_its_type():
    fused, x = ow.fuse(lifted), np.arange(4)
    for n in (2**63, 3, -1, 2**62):
        for a, b in zip(fused(x, n), lifted(x, n), strict=True):
            assert a.dtype == b.dtype, n
            np.testing.assert_array_equal(a, b)
