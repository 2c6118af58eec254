"""Numbers of a call that are stored in arrays whose type may not hold them."""

import warnings

import numpy as np
import pytest

import opweave as ow

pytestmark = pytest.mark.host
KEYS = {
    "a place": 1, "a slice": slice(2, None), "all": ..., "rows": slice(0, 4, 2),
    "a mask": np.array([True, False, True, True, False]),
    "places": np.array([0, 2]),
}  # fmt: skip
NUMBERS = (
    7, 127, 128, -129, 255, 256, -1, 2**31, 2**40, 2**63, 2**64, True, 7.9, 300.0, -1.5, 1e30,
    float("nan"), float("inf"), np.int64(7), np.int64(300), np.int16(-300), np.uint8(200),
    np.float64(7.9), np.float32(300),
)  # fmt: skip


def told(function, *args):
    """What a function gives, or what it raises of Python's, and what its first argument holds."""
    try:
        given = function(*args)
    except (OverflowError, ValueError, TypeError) as error:
        kinds = (OverflowError, ValueError, TypeError)
        given = next(kind for kind in kinds if isinstance(error, kind))
    values = np.stack(given).tolist() if isinstance(given, np.ndarray | tuple) else given
    return values, args[0].tolist()


def assigned(x, number, key):
    x += 1
    x[key] = number
    return x


def assigned_inside(x, number, key):
    y = x + 1
    y[key] = number
    x += 1
    return y


def caught(x, number, key):
    try:
        x[key] = number
    except (OverflowError, ValueError):
        x -= 1
    return x


def added_as(x, number, key):
    return np.add(x, number, dtype=x.dtype), np.multiply(3, x, dtype=np.int64)


def filled(x, number, key):
    x.fill(number)
    return x


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
@pytest.mark.parametrize("function", [assigned, assigned_inside, caught, filled, added_as])
def test_a_number_is_stored_or_refused_as_by_numpy(function, key, dtype):
    fused = ow.fuse(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in NUMBERS:
            x, y = np.arange(5).astype(dtype), np.arange(5).astype(dtype)
            with np.errstate(all="ignore"):
                wanted = told(function, x, number, key)
            assert told(fused, y, number, key) == wanted, number


def assigned_in_a_loop(x, number, key):
    for k in range(len(x)):
        if x[k] >= 0:
            x[k] = number


def parts_assigned_in_a_loop(x, number, key):
    for k in range(len(x)):
        if x[k] >= 0:
            x[k:] = number + k


def added_in_a_loop(x, number, key):
    total = np.int64(0)
    for k in range(len(x)):
        if x[k] >= 0:
            total += number
            x[k] = total


def masked_in_a_loop(x, number, key):
    for k in range(len(x)):
        if x[k] >= 0:
            x[x == k] = number


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64"])
@pytest.mark.parametrize(
    "function",
    [assigned_in_a_loop, parts_assigned_in_a_loop, added_in_a_loop, masked_in_a_loop],
)
def test_loops_store_numbers_or_refuse_them_as_numpy(function, dtype):
    test_a_number_is_stored_or_refused_as_by_numpy(function, None, dtype)
