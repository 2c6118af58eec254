"""Exceptions that a function raises are those of the plain function."""

import numpy as np
import pytest

import opweave as ow
from tests.support.differential import does_the_same

LIBRARY_IN_PARTS = True
X = np.arange(6.0, dtype=np.float32) + 1
STATE = {"n": 0, "last": None}


class Oops(Exception):
    pass


RAISING = {
    "raised": lambda x: raising(Oops("mine")),
    "raised behind an effect": lambda x: (print("before"), raising(Oops("mine")))[1],
    "a key": lambda x: x * {}["nothing"],
    "an index": lambda x: x * [1, 2][x.shape[0]],
    "a division": lambda x: x * (1 / (x.ndim - 1)),
    "a division that nobody reads": lambda x: (1 / (x.shape[0] - 6), x * 2)[1],
    "an attribute": lambda x: x.nothing,
    "a call of an array": lambda x: x(1),
    "a method of int": lambda x: x * int.bit_length(x.shape[0]),
    "an assertion": lambda x: asserted(x),
    "a number's index": lambda x: np.int64(2)[0],
    "a view of memory": lambda x: x * memoryview(x).nbytes,
    "raised and caught": lambda x: x * caught_within(),
}


def raising(error):
    raise error


def asserted(x):
    assert x.ndim == 2, "two dimensions"


def caught_within():
    try:
        raising(Oops("inner"))
    except Oops as error:
        return len(str(error))


@pytest.mark.host
@pytest.mark.parametrize("name", RAISING)
def test_exceptions_are_those_of_the_plain_function(name):
    does_the_same(RAISING[name], X)


@pytest.mark.host
def test_a_container_of_the_arguments_is_returned_as_itself():
    given = {"w": X}
    for fn in (lambda x, d: d, lambda x, d: (np.sort(x), d)[1]):
        assert ow.fuse(fn)(X, given) is given
    assert ow.fuse(lambda x: (STATE, x))(X)[0] is STATE


# Texts of Python's own errors name the class of a value.
NAMED = {
    "an array": lambda x: x + {},
    "an array that is called": lambda x: x(),
    "an extent": lambda x: len(x.shape[0]),
    "an extent that is called": lambda x: x.size(),
    "an extent and a text": lambda x: x.shape[0] + "a",
    "a shape": lambda x: x.shape + 1,
    "a number": lambda x: sorted([x.shape[0], "a"]),
}


@pytest.mark.host
@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("first", [lambda x: x, np.sort], ids=["whole", "in parts"])
def test_texts_of_pythons_errors_name_pythons_classes(name, first):
    def text(x):
        x = first(x)
        try:
            return NAMED[name](x)
        except TypeError as error:
            return str(error), x * 2

    if name != "an array":
        does_the_same(text, X)
    assert "Traced" not in ow.fuse(text)(X)[0]


def unread_quotient(x, k):
    y = x / k + 1 // k  # noqa: F841 - what is tried
    return x * 2


def unread_remainder(x, k):
    y, z = x + 1, x * (3 % k)
    y = z - y if k > 99 else x
    return x * 2


def unread_power(x, k):
    y = x * 0.5 + 1e200 ** (2 - k)  # noqa: F841 - what is tried
    return x * 2


def unread_shift(x, k):
    1 << (k - 1)
    return x * 2


@pytest.mark.host
@pytest.mark.parametrize(("function", "raised"), [
    (unread_quotient, ZeroDivisionError), (unread_remainder, ZeroDivisionError),
    (unread_power, OverflowError), (unread_shift, ValueError),
])  # fmt: skip
def test_a_number_that_nobody_reads_raises_as_pythons(function, raised):
    fused = ow.fuse(function, fullgraph=True)
    np.testing.assert_array_equal(fused(X, 2), X * 2)
    with pytest.raises(raised):
        fused(X, 0)
    np.testing.assert_array_equal(fused(X, 3), X * 2)


def power_of_ten(x, s):
    try:
        y = 10.0**s
    except OverflowError:
        y = 7.0
    return x * y


def quotient(x, s):
    try:
        y = 1 // s
    except ZeroDivisionError:
        y = 7
    return x + y


def shifted(x, s):
    try:
        y = 1 << s
    except ValueError:
        y = 7
    return x + y


def small_integers(x, s):
    try:
        return x.astype(np.int8) + s
    except OverflowError:
        return x - 1


def above(x, s):
    try:
        return x.astype(np.int8) > s
    except OverflowError:
        return x


# A function that catches what a number raises, and numbers in the order of its calls.
CATCHING = {
    power_of_ten: (300, 400, 2, 401),
    quotient: (2, 0, 3, 0),
    shifted: (2, -1, 3, -2),
    small_integers: (3, 300, 4, -129, 128, 127),
    above: (3, 300, -300),
}


@pytest.mark.host
@pytest.mark.parametrize("first", [lambda x: x, np.sort], ids=["whole", "in parts"])
@pytest.mark.parametrize("function", CATCHING, ids=lambda f: f.__name__)
def test_a_number_of_another_call_raises_what_the_function_catches(function, first):
    fused = ow.fuse(lambda x, s: function(first(x), s))
    for number in CATCHING[function]:
        found, expected = fused(X, number), function(X, number)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)
