"""Known calls are found by one look-up, and by nothing that has changed since."""

from dataclasses import dataclass

import numpy as np
import pytest

import opweave as ow

pytestmark = pytest.mark.host
X = np.arange(6, dtype=np.float32)


def found(fused, *args):
    """What the quick look-up finds for arguments, after they were called once."""
    fused(*args)
    return fused._calls.quickly(args)


FACTOR = np.float32(2)
WEIGHTS = np.ones(6, np.float32)


def scaled(x):
    return x * FACTOR + WEIGHTS


@pytest.mark.parametrize(("function", "args"), [
    (lambda x: x + 1, (X,)),
    (lambda x, s: x * s, (X, 2.0)),
    (lambda x, s: x * s, (X, np.float32(2))),
    (lambda x: np.exp(x), (X[::2],)),
    (scaled, (X,)),
    (lambda x, s=2.0: x * s, (X,)),
    (lambda x, kind: x * 2 if kind == "twice" else x, (X, "twice")),
    (ow.fuse(lambda x, n: x * n, static_argnames="n"), (X, 2)),
])  # fmt: skip
def test_arrays_numbers_and_texts_take_the_quick_way(function, args):
    fused = function if isinstance(function, ow.Fused) else ow.fuse(function)
    assert found(fused, *args) is not None


@dataclass
class Scale:
    by: float


@pytest.mark.parametrize(("fused", "args"), [
    (ow.fuse(lambda d: d["x"] + 1), ({"x": X},)),
    (ow.fuse(lambda x, scale: x * scale.by), (X, Scale(2.0))),
    (ow.fuse(lambda *xs: xs[0] + 1), (X,)),
    (ow.fuse(lambda x: np.unique(x)), (X,)),
])  # fmt: skip
def test_other_calls_do_not(fused, args):
    assert found(fused, *args) is None


@pytest.mark.parametrize("other", [
    X.astype(np.float64), X[:5], np.stack([X, X], 1)[:, 0], X.reshape(2, 3),
    np.frombuffer(bytes(1) + X.tobytes(), np.uint8)[1:].view(np.float32),
])  # fmt: skip
def test_another_array_is_another_call(other):
    fused = ow.fuse(lambda x: x + 1)

    assert found(fused, X) is not None
    assert fused._calls.quickly((other,)) is None


def test_a_float_is_no_integer():
    fused = ow.fuse(lambda x, s: x * s)
    whole = np.arange(4)

    assert found(fused, whole, 2) is not None
    assert fused._calls.quickly((whole, 2.0)) is None
    assert fused(whole, 2.0).dtype == np.float64


def test_a_branch_on_a_number_is_asked_again():
    fused = ow.fuse(lambda x, s: x + 1 if s > 0 else x - 1)
    fused(X, 1.0)
    fused(X, -1.0)

    np.testing.assert_array_equal(fused(X, 2.0), X + 1)
    np.testing.assert_array_equal(fused(X, -2.0), X - 1)


def test_a_global_that_changes_is_read_again(monkeypatch):
    fused = ow.fuse(scaled)
    fused(X)
    fused(X)
    monkeypatch.setattr(f"{__name__}.FACTOR", np.float32(3))

    np.testing.assert_array_equal(fused(X), X * 3 + 1)


def test_an_array_from_outside_is_read_as_it_is():
    weights = np.ones(6, np.float32)
    fused = ow.fuse(lambda x: x * weights)
    fused(X)
    fused(X)
    weights[:] = 5

    np.testing.assert_array_equal(fused(X), X * 5)


def test_an_array_from_outside_that_changes_its_shape_is_another_call():
    weights = np.ones((6, 1), np.float32)
    fused = ow.fuse(lambda x: x * weights)
    assert fused(X).shape == (6, 6)
    assert fused(X).shape == (6, 6)

    weights.shape = (6,)

    assert fused(X).shape == (6,)


def test_numpy_arrays_run_where_the_configuration_says():
    fused = ow.fuse(lambda x: x + 1)
    fused(X)
    with ow.config(device="cuda"), pytest.raises(ow.errors.NoDeviceError):
        fused(X)


def test_a_default_that_is_left_out_is_known_too():
    fused = ow.fuse(lambda x, s=2.0: x * s)
    fused(X)

    np.testing.assert_array_equal(fused(X), X * 2)
    np.testing.assert_array_equal(fused(X, 3.0), X * 3)
    np.testing.assert_array_equal(fused(X), X * 2)


def test_results_go_to_given_arrays_by_the_same_way():
    fused = ow.fuse(lambda x: (x + 1, x * 2))
    fused(X)
    a, b = np.empty_like(X), np.empty_like(X)
    made = fused(X, out=(a, b))

    assert made[0] is a
    np.testing.assert_array_equal(a, X + 1)
    np.testing.assert_array_equal(b, X * 2)
