"""Objects that give NumPy their memory, and code that asks an array for its own."""

import array
import zlib

import numpy as np
import pytest

import opweave as ow

X = np.arange(-3.0, 9.0, dtype=np.float32).reshape(3, 4)
I = np.arange(1, 7, dtype=np.int32).reshape(2, 3)
ROW = np.arange(4.0)


class ByMethod:
    def __array__(self, dtype=None, copy=None):
        return ROW if dtype is None else ROW.astype(dtype)


class ByInterface:
    __array_interface__ = ROW.__array_interface__


class ByStruct:
    @property
    def __array_struct__(self):
        return ROW.__array_struct__


class ByCapsule:
    def __dlpack__(self, **kwargs):
        return ROW.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return ROW.__dlpack_device__()


class ByOperators:
    __array_ufunc__ = None

    def __radd__(self, other):
        return "mine"


class ByOverride:
    def __array_ufunc__(self, ufunc, method, *args, **kwargs):
        return ufunc.__name__, method, len(args)

    def __array_function__(self, function, types, args, kwargs):
        return function.__name__


GIVING = {
    "__array__": lambda x: x + ByMethod(),
    "__array__, on the left": lambda x: np.maximum(ByMethod(), x),
    "__array__ among arrays": lambda x: np.stack([x[0], ByMethod()]),
    "__array__ in a choice": lambda x: np.where(x > 0, ByMethod(), x),
    "__array_interface__": lambda x: x * ByInterface(),
    "__array_struct__": lambda x: np.concatenate([x[0], ByStruct()]),
    "__dlpack__": lambda x: np.from_dlpack(ByCapsule()) + x,
    "a view of memory": lambda x: x + memoryview(ROW),
    "Python's array": lambda x: np.vstack([x, array.array("d", [1, 2, 3, 4])]),
    "no ufuncs": lambda x: x + ByOperators(),
    "an override of ufuncs": lambda x: np.add(x, ByOverride()),
    "an override of functions": lambda x: np.concatenate([x, ByOverride()]),
}
ASKING = {
    "bytes": lambda x: bytes(x[0]),
    "bytearray": lambda x: bytearray(x[0]),
    "memoryview": lambda x: memoryview(x).tolist(),
    "np.frombuffer": lambda x: np.frombuffer(x, np.uint8),
    "np.from_dlpack": lambda x: np.from_dlpack(x) + 1,
    "a checksum": lambda x: zlib.crc32(x),
    "__dlpack_device__": lambda x: x.__dlpack_device__(),
    "bytearray as a class": lambda x: (
        isinstance(bytearray(2), bytearray),
        bytearray.fromhex("01"),
    ),
    "a method of the class": lambda x: np.ndarray.max(x),
    "a method of the class as a value": lambda x: list(map(np.ndarray.sum, [x, x * 2])),
    "a ufunc's argument by name": lambda x: np.add.reduce(array=x, axis=1),
    "a ufunc's places by name": lambda x: np.add.reduceat(x, indices=[0, 1]),
}


def in_parts(function):
    """The same function behind a line at which it breaks into parts."""

    def broken(x):
        return function(x if x.ravel()[0] > -100 else None)

    return broken


def checked(function, given):
    expected = function(given)
    for tried in (function, in_parts(function)):
        found = ow.fuse(tried)(given)
        assert type(found) is type(expected)
        assert getattr(found, "dtype", None) == getattr(expected, "dtype", None)
        assert (
            np.array_equal(found, expected) if isinstance(found, np.ndarray) else found == expected
        )


@pytest.mark.host
@pytest.mark.parametrize("name", GIVING)
def test_what_gives_numpy_its_memory_is_an_array_to_numpys_functions(name):
    checked(GIVING[name], X)


@pytest.mark.host
@pytest.mark.filterwarnings("ignore::opweave.OpweaveWarning")
@pytest.mark.parametrize("name", ASKING)
def test_what_asks_an_array_for_its_memory_gets_it(name):
    checked(ASKING[name], I)
