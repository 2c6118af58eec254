"""What NumPy takes for an integer, and what not: bools, floats, NumPy's numbers, extents."""

import collections
import datetime
import json
import pickle
import statistics
from decimal import Decimal

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e

X = np.arange(-3.0, 9.0, dtype=np.float32).reshape(3, 4)
I = np.arange(1, 7, dtype=np.int32).reshape(2, 3)

# NumPy refuses each, and takes the same of another function or another type.
REFUSED = {
    "a bool as axis": lambda x: x.sum(axis=True),
    "NumPy's bool as axis": lambda x: x.sum(axis=np.bool_(True)),
    "a bool among axes": lambda x: x.sum(axis=(0, True)),
    "a float as axis": lambda x: x.sum(axis=1.0),
    "a list as axis": lambda x: x.sum(axis=[0, 1]),
    "an axis beyond any": lambda x: x.max(axis=10**30),
    "a bool as axis of a scan": lambda x: np.cumsum(x, axis=True),
    "a bool as axis of a ufunc's method": lambda x: np.add.reduce(x, axis=True),
    "a float as axis of a ufunc's method": lambda x: np.add.accumulate(x, 1.0),
    "a bool as axis of places": lambda x: np.argmax(x, axis=True),
    "a float as axis of a flip": lambda x: np.flip(x, 1.0),
    "a bool as axis of parts": lambda x: np.concatenate([x, x], True),
    "NumPy's bool for keepdims": lambda x: np.sum(x, axis=0, keepdims=np.True_),
    "a bool as extent": lambda x: x.reshape(True, -1),
    "a float as extent": lambda x: x.reshape(4.0, 3),
    "a bool as extent of a new array": lambda x: np.full(True, x[0, 0]),
    "a bool as extent of a wider array": lambda x: np.broadcast_to(x[0], (True, 4)),
    "bools as order of axes": lambda x: x.transpose(True, False),
    "a float as diagonal": lambda x: np.diagonal(x, 1.0),
    "a float as digits": lambda x: np.round(x, 1.0),
    "NumPy's bool as digits": lambda x: x.round(np.bool_(True)),
    "a text as degrees of freedom": lambda x: np.var(x, ddof="1"),
    "half an extent as digits": lambda x: np.round(x, x.shape[0] / 2),
    "nothing as index": lambda x: np.take(x, None),
    "a slice as index": lambda x: np.take(x, slice(2)),
    "a list as axis to leave out": lambda x: np.squeeze(x[None], [0]),
    "the same twice": lambda x: np.var(x, ddof=1, correction=1),
    "a bool as column count": lambda x: np.vander(x[0], True),
}

# NumPy takes each.
TAKEN = {
    "a bool as shift": lambda x: np.roll(x, True, axis=True),
    "a float as diagonal": lambda x: np.triu(x, k=1.5),
    "half an extent as diagonal": lambda x: np.triu(x, x.shape[0] / 2),
    "no indices": lambda x: np.take(x, []),
    "shifts in an array": lambda x: np.roll(x, np.array([1, 2]), axis=(0, 1)),
    "extents of a new array in an array": lambda x: np.full(np.array([3, 4]), x[0, 0]),
    "a bool as index": lambda x: np.take(x, True),
    "NumPy's bool as index": lambda x: x.take(np.bool_(True)),
    "axes in a list": lambda x: np.flip(x, [0, 1]),
    "axes in an array": lambda x: x.transpose(np.array([1, 0])),
    "extents in an array": lambda x: x.reshape(np.array([4, 3])),
    "no extents": lambda x: x.reshape(None),
    "NumPy's integer as digits": lambda x: np.round(x, np.int64(1)),
    "an array as digits": lambda x: np.round(x, np.array(1)),
    "an array as axis": lambda x: x.sum(axis=np.array(1)),
    "an array as degrees of freedom": lambda x: np.std(x, ddof=np.array(1)),
    "a number for keepdims": lambda x: x.sum(axis=0, keepdims=1),
    "a float as axis of a norm": lambda x: np.linalg.norm(x, axis=1.0),
}

# Negative powers of integers.
POWERS = {
    "np.power": lambda i: np.power(i, -1),
    "np.power of NumPy's integer": lambda i: np.power(i, np.int64(-2)),
    "the operator, of NumPy's integer": lambda i: i ** np.int8(-1),
    "__pow__": lambda i: i.__pow__(-1),
    "in place": lambda i: i.__ipow__(-1),
    "by a ufunc's type": lambda i: np.power(i, -1, dtype=np.int64),
    "of extents": lambda i: np.power(i, i.shape[0] - 3),
}


def in_parts(function):
    """The same function behind a line at which it breaks into parts."""

    def broken(x):
        return function(x if x.ravel()[0] > -100 else None)

    return broken


def outcome(function, given):
    """The result, or the class of the error."""
    try:
        return function(given.copy())
    except Exception as error:
        return type(error)


@pytest.mark.parametrize("broken", [False, True], ids=["whole", "in parts"])
@pytest.mark.parametrize("name", REFUSED)
def test_what_numpy_refuses_is_refused_by_the_same_class(name, broken):
    function = in_parts(REFUSED[name]) if broken else REFUSED[name]
    found, expected = outcome(ow.fuse(function), X), outcome(function, X)
    assert issubclass(found, expected.__base__ if "UFunc" in expected.__name__ else expected)


@pytest.mark.host
@pytest.mark.parametrize("broken", [False, True], ids=["whole", "in parts"])
@pytest.mark.parametrize("name", TAKEN)
def test_what_numpy_takes_means_the_same(name, broken):
    function = in_parts(TAKEN[name]) if broken else TAKEN[name]
    found, expected = ow.fuse(function)(X), function(X)
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_what_is_no_plain_integer_is_refused_whole_as_a_type_error():
    with pytest.raises(e.IntegerError, match=r"axis must be an integer.*test_integers.py"):
        ow.fuse(REFUSED["a bool as axis"], fullgraph=True).lower(X)
    assert issubclass(e.IntegerError, TypeError)


@pytest.mark.parametrize("broken", [False, True], ids=["whole", "in parts"])
@pytest.mark.parametrize("name", POWERS)
def test_integers_to_a_negative_power_are_refused_however_they_are_written(name, broken):
    function = in_parts(POWERS[name]) if broken else POWERS[name]
    assert outcome(function, I) is ValueError
    assert outcome(ow.fuse(function), I) is e.PowerError


def test_the_sign_of_a_traced_power_belongs_to_the_guard():
    fused = ow.fuse(lambda i, n: np.power(i, n), fullgraph=True)
    fused.lower(I, 2)
    with pytest.raises(e.PowerError):
        fused.lower(I, -2)


# Extents where code in C takes integers alone.
TO_C = {
    "json": lambda x: json.dumps([x.shape, x.size / 2, x.size > 2, {x.shape[0]: x.nbytes}]),
    "Decimal": lambda x: Decimal(x.shape[0]) + Decimal(x.size / 8),
    "timedelta": lambda x: datetime.timedelta(x.shape[0]),
    "deque": lambda x: collections.deque(range(9), maxlen=x.shape[0]),
    "methods of int": lambda x: (int.to_bytes(x.shape[0], 2, "big"), int.__add__(*x.shape)),
    "methods of float": lambda x: float.hex(x.shape[0] / 2),
    "statistics": lambda x: statistics.mean(x.shape),
    "pickle": lambda x: pickle.dumps(x.shape[0]),
    "a key": lambda x: {x.shape: 1, ("a", x.shape[0]): frozenset(x.shape)},
    "types": lambda x: [type(n) is int for n in (*x.shape, x.size // 2)],
}


def kinds(value):
    """A value with the types of all that is in it."""
    if type(value) in (list, tuple, set, frozenset):
        return type(value), [kinds(item) for item in value]
    if type(value) is dict:
        return dict, [(kinds(k), kinds(v)) for k, v in value.items()]
    return type(value), value


@pytest.mark.parametrize("name", TO_C)
def test_an_extent_is_an_integer_to_code_in_c(name):
    for function in (TO_C[name], in_parts(TO_C[name])):
        assert kinds(ow.fuse(function)(X)) == kinds(TO_C[name](X))


@pytest.mark.host
def test_in_parts_a_kernel_serves_arrays_of_other_extents():
    fused = ow.fuse(in_parts(lambda x: x[: x.shape[0] // 2].reshape(2, -1) * x.shape[0]))
    for rows in (8, 12, 16):
        fused(np.ones((rows, 4), np.float32))
    assert fused._parts.compiled == 2  # the branch, and what follows
