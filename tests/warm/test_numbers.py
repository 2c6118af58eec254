"""Numbers of all types reach kernels by C as by Python: templates/host/numbers.h."""

from __future__ import annotations

import itertools
import warnings

import ml_dtypes
import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import dtypes
from tests.warm.by_c import same
from tests.warm.test_warm_calls import UNKNOWN, warmed

pytestmark = pytest.mark.host
NAMES = [dtype.numpy_name for dtype in dtypes.ALL if dtype.numpy_name != "bfloat16"]
TYPES = [int, float, complex, np.longlong, np.ulonglong, *(np.dtype(name).type for name in NAMES)]


def added(x, s):
    return x + s


def values_of(kind):
    """Numbers of a type: small ones, its ends, and others next to what a format holds."""
    if kind in (int, float, complex, np.bool_):
        return [*map(kind, (0, 1, 3, 1, 0, 1))]
    dtype = np.dtype(kind)
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        return [*map(kind, (0, 1, 3, ends.max, ends.min, ends.max // 3))]
    return [*map(kind, (0.0, -0.0, 1.5, -3.25, 1e-7, 60000.0, 1 / 3))]


@pytest.mark.parametrize("name", NAMES)
def test_c_takes_numbers_of_each_type(name):
    x = np.arange(5).astype(name)
    for kind in TYPES:
        _, call = warmed(added, (x, kind(1)))
        for value in values_of(kind):
            found, expected = call(x, value), added(x, value)
            if found is UNKNOWN:
                assert is_left(kind, value, expected), (kind, value)
            else:
                assert same(found, expected), (kind, value)


def is_left(kind, value, expected):
    """Whether Python may run it: C's own types, another bool, an integer that is rounded."""
    if kind in (np.longlong, np.ulonglong) or (kind is np.bool_ and not value):
        return True
    is_rounded = expected.dtype.kind in "fc" and np.dtype(kind).kind in "iu"
    return is_rounded and abs(int(value)) > 2**53


# Halfway between two numbers, next to that, subnormal, and the largest.
HARD = [
    *(m * 2.0**e for m in (1 + 2**-11, 1 + 3 * 2**-11, 1 + 2**-11 + 2**-40) for e in (-14, 0, 9)),
    *(m * 2.0**-24 for m in (0.5, 0.5 + 2**-30, 1.0, 1.5, 2.5, 1023.5)),
    *(1 + 2**-8, 1 + 3 * 2**-8, 1 + 2**-8 + 2**-20, 1 + 2**-8 + 2**-40, 2.0**-133, 2.0**-134),
    *(65504.0, 3e38, 0.1, -0.1, -0.0, np.inf, -np.inf),
]  # fmt: skip


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float32])
def test_c_rounds_a_number_as_numpy_does(dtype):
    x = np.ones(3, dtype)
    _, call = warmed(lambda x, s: x * s, (x, 2.0))
    for value in HARD:
        with np.errstate(over="ignore"):
            expected = x * np.asarray(value).astype(dtype)
        found = call(x, value)
        if found is UNKNOWN:
            assert value > np.float64(ml_dtypes.finfo(dtype).max), value
        else:
            assert found.tobytes() == expected.tobytes(), value


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("int8", 128), ("int8", -129), ("uint8", -1), ("uint8", 256), ("uint64", -1),
        ("uint32", 2**32), ("float16", 2049), ("float16", 65520.0), ("float32", 1e39),
        ("float16", 1e300),
    ],
)  # fmt: skip
def test_c_leaves_to_python_what_does_not_fit(dtype, value):
    x = np.zeros(3, dtype)
    fused, call = warmed(added, (x, type(value)(1)))
    assert call(x, value) is UNKNOWN
    outcomes = []
    for function in (fused, added):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                outcomes.append(function(x, value).tobytes())
            except OverflowError:
                outcomes.append(OverflowError)
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(("kind", "asked"), [*itertools.product(TYPES, [(2, 3), (1, 2)])])
def test_a_number_that_selects_is_compared(kind, asked):
    """Two of one type; a complex number cannot be counted to."""
    if np.dtype(kind).kind in "cb":
        return
    first, second = map(kind, asked)
    x = np.arange(4.0)
    _, call = warmed(lambda x, n: x * 2 if n > 1.5 else x + 3 * len(range(int(n))), (x, first))
    assert call(x, first) is not UNKNOWN
    assert call(x, second) is UNKNOWN


def test_parts_of_a_complex_number():
    x = np.arange(4.0)
    for value in (1 + 2j, np.complex64(3 - 1j), np.complex128(5j)):
        fused, call = warmed(lambda x, s: x * s.imag + s, (x, value))
        assert same(call(x, value), x * value.imag + value)
        assert isinstance(fused, ow.Fused)
