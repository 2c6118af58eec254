"""Memory of CuPy's, by a stand-in that is NumPy's: devices, moves, and what runs at once there."""

import contextlib
import sys
import types

import numpy as np
import pytest

import opweave.xp as xp


class ndarray(np.ndarray):
    """CuPy's array, as far as it is asked."""

    device = types.SimpleNamespace(id=0)
    __cuda_array_interface__ = None

    def get(self):
        return np.array(self)


def there(function):
    """A function of NumPy's whose results are arrays of CuPy's."""

    def call(*args, **kwargs):
        found = function(*args, **kwargs)
        if isinstance(found, tuple):
            return tuple(np.asarray(each).view(ndarray) for each in found)
        return found if isinstance(found, bool) else np.asarray(found).view(ndarray)

    return call


class Cupy(types.ModuleType):
    """The module."""

    ndarray, linalg, fft = ndarray, np.linalg, np.fft
    cuda = types.SimpleNamespace(
        runtime=types.SimpleNamespace(getDeviceCount=lambda: 1, getDevice=lambda: 0),
        Device=lambda number: contextlib.nullcontext(),
    )

    def __getattr__(self, name):
        return there(getattr(np, name))


@pytest.fixture
def cupy(monkeypatch, at_once):
    """CuPy is imported; no kernel runs, since there is no GPU."""
    made = Cupy("cupy")
    monkeypatch.setitem(sys.modules, "cupy", made)
    monkeypatch.setattr(type(at_once), "_is_new", lambda *_: False)
    return made


def test_arrays_stay_where_they_are(cupy):
    assert xp.__array_namespace_info__().devices() == ("cpu", "cuda:0")
    x = xp.asarray(np.arange(3.0).view(ndarray))
    made = [x, x + 1.0, xp.sum(x, keepdims=True), x[1:], xp.sort(x), xp.zeros_like(x),
            xp.ones((2,), device="cuda:0"), xp.asarray([1.0], device="cuda:0"), xp.unique_values(x)]  # fmt: skip
    xp.compute(*made)

    assert [each.device for each in made] == ["cuda:0"] * len(made)
    assert all(type(each._node.memory) is ndarray for each in made)


def test_arrays_move_only_where_somebody_says_so(cupy):
    x = xp.asarray([1.0, 2.0]) * 2.0
    y = x.to_device("cuda:0")
    for call in (lambda: x + y, lambda: np.asarray(y), lambda: xp.concat([x, y])):
        with pytest.raises(TypeError, match="to_device"):
            call()

    assert repr(y) == "Array([2., 4.], dtype=float64)"
    assert np.array_equal(np.asarray((y + 1.0).to_device("cpu")), [3, 5])
    assert (float(y[1]), x.device, xp.asarray(x, device="cuda:0").device) == (4.0, "cpu", "cuda:0")


def test_writes_there_are_seen_by_no_reader_that_was_before(cupy):
    x = xp.asarray([1.0, 2.0], device="cuda:0")
    later = x + 1.0
    x[0] = 9.0
    x[x < 5.0] = 0.0

    assert np.array_equal(np.asarray(later.to_device("cpu")), [2, 3])
    assert np.array_equal(np.asarray(x.to_device("cpu")), [9, 0])
