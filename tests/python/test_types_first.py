"""NumPy asks whether an array can hold a result before it asks of shapes, and so do we."""

import numpy as np
import pytest

import opweave as ow

WHOLE, REAL, COMPLEX = np.arange(4), np.ones(4), np.ones(4, complex)
TABLE, WHOLE_TABLE, TRUTH = np.ones((2, 3)), np.ones((2, 3), int), np.ones(4, bool)


def subtracted(a, b):
    a -= b
    return a


def divided(a, b):
    a /= b
    return a


def raised(a, b):
    a **= b
    return a


def shifted(a, b):
    a <<= b
    return a


def into(a, b):
    return np.add(a, b, out=a)


def multiplied(a, b):
    return np.matmul(a, b, out=a)


def caught(a, b):
    """What a function does that knows of NumPy's exceptions."""
    try:
        a -= b
    except TypeError:
        return a * 10
    except ValueError:
        return a * 20
    return a


FUNCTIONS = (subtracted, divided, raised, shifted, into, multiplied, caught)
PAIRS = {
    "no cast, no shape": (WHOLE, TABLE),
    "no cast, a shape": (WHOLE, REAL),
    "no cast, a number": (WHOLE, 2.5),
    "no cast, longer": (WHOLE[:1], REAL),
    "complex": (REAL, COMPLEX),
    "truth": (TRUTH, TABLE),
    "a cast, no shape": (WHOLE, WHOLE_TABLE),
    "a cast, longer": (REAL[:1], REAL),
    "a cast": (REAL, TRUTH),
}


def own(function):
    """The function on an array of its own, which is not written to from outside."""
    return lambda a, b: function(a * a.dtype.type(1), b)


@pytest.mark.filterwarnings("ignore::opweave.OpweaveWarning")
@pytest.mark.parametrize("made", [lambda function: function, own], ids=["an argument", "its own"])
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_exception_is_numpys(function, pair, made):
    a, b = PAIRS[pair]
    asked = made(function)
    try:
        expected = asked(a.copy(), b)
    except (TypeError, ValueError) as error:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        with pytest.raises(kind):
            ow.fuse(asked)(a.copy(), b)
        return
    found = ow.fuse(asked)(a.copy(), b)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
