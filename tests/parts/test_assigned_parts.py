"""What is assigned to parts of an array is seen through every name, as in NumPy."""

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e

RNG = np.random.default_rng(20261122)
X = RNG.standard_normal((9, 40)).astype(np.float32)
V = X[0].copy()
I = np.array([3, 1, -2, 0])
J = np.array([0, 39, 4, -40])


def same(found, expected):
    found, expected = (r if isinstance(r, tuple) else (r,) for r in (found, expected))
    for a, b in zip(found, expected, strict=True):
        assert (np.asarray(a).dtype, np.shape(a)) == (np.asarray(b).dtype, np.shape(b))
        np.testing.assert_allclose(a, b, rtol=3e-6, atol=3e-6)


@pytest.mark.host
@pytest.mark.parametrize(("function", "error", "piece"), [
    (lambda x: x[I, J, I], e.ShapeError, "too many indices"),
    (lambda x: x[[1, 2], 40], e.BoundsError, "index 40 is out of bounds"),
    (lambda x: x[X[:, 0] > 0], e.UnsupportedError, "a mask"),
    (lambda x: np.concatenate([x, x[:, 1:]]), e.ShapeError, "(9, 40) and (9, 39)"),
    (lambda x: np.concatenate([x, 3]), e.ShapeError, "zero-dimensional"),
    (lambda x: np.stack([x, x[1:]]), e.ShapeError, "(9, 40) and (8, 40)"),
    (lambda x: np.roll(x, 1, 2), e.ShapeError, "axis 2 does not exist"),
    (lambda x: np.pad(x, -1), e.UnsupportedError, "at least 0"),
    (lambda x: np.pad(x, 1, mode="mean"), e.UnsupportedError, "mode='mean'"),
    (lambda x: np.pad(x[:0], 1, mode="edge"), e.ShapeError, "empty axis"),
    (lambda x: x[:0].argmax(axis=0), e.ShapeError, "empty axis"),
    (lambda x: np.take(x, [1], mode="other"), e.UnsupportedError, "mode='other'"),
    (lambda x: np.repeat(x, [1, 2], axis=0), e.UnsupportedError, "one number"),
])  # fmt: skip
def test_mistakes_are_named(function, error, piece):
    with pytest.raises(error) as caught:
        ow.fuse(function, fullgraph=True)(X)

    assert piece in str(caught.value)
    assert "test_assigned_parts.py:" in str(caught.value)


def put(key, value):
    def function(x):
        y = x * 1
        y[key] = value
        return y

    return function


@pytest.mark.host
@pytest.mark.parametrize(("key", "value", "error", "piece"), [
    (slice(1, 4), V[:7], e.ShapeError, "7 elements do not fit 40"),
    ((0, 41), 1, e.BoundsError, "index 41"),
    (X[:1] > 0, 1, e.BoundsError, "1 elements along axis 0 of size 9"),
    (0, X, e.ShapeError, "2 dimensions"),
    (0, "a", e.UnsupportedError, "a number"),
    (0, [1, 2], e.UnsupportedError, "a number"),
])  # fmt: skip
def test_what_cannot_be_assigned_is_named(key, value, error, piece):
    with pytest.raises(error) as caught:
        ow.fuse(put(key, value), fullgraph=True)(X)

    assert piece in str(caught.value)
    assert "test_assigned_parts.py:" in str(caught.value)


def an_element_kept(x):
    y = x * 1
    first, last = y[0, 0], y[-1][-1]
    y[0, 0] = 5
    y[-1] *= 2
    return y, first, last


def an_array_kept(x):
    y = x * 1
    first = y[0, 0, ...]
    y[0, 0] = 5
    return y, first


def a_sum_kept(x):
    y = np.where(x[0, 0] > 0, x[0, 0], x[1, 1])
    before = y[()]
    y += 1
    return y, before


def rows_one_by_one(x):
    y = x * 1
    for row in y:
        row += row[0]
    return y


def all_of_it(x):
    y = x * 1
    y[:] = x[0]
    z = np.empty_like(x)
    z[...] = 3
    y += 1
    return y, z


@pytest.mark.host
@pytest.mark.parametrize(
    "function", [an_element_kept, an_array_kept, a_sum_kept, rows_one_by_one, all_of_it]
)
def test_names_see_what_those_of_numpy_see(function):
    same(ow.fuse(function, fullgraph=True)(X), function(X))


@pytest.mark.host
@pytest.mark.parametrize("function", [
    lambda x: np.broadcast_to(x[0], x.shape) * 2,
    lambda x: np.broadcast_to(x, (5, 9, 40)),
    lambda x: np.broadcast_to(x[:, :1], (9, 7)),
    lambda x: np.broadcast_to(x.sum(), 5),
    lambda x: np.broadcast_arrays(x[0], x[:, :1]),
])  # fmt: skip
def test_broadcasts_are_those_of_numpy(function):
    same(ow.fuse(function, fullgraph=True)(X), function(X))


@pytest.mark.parametrize("shape", [(9, 41), (9,), (9, 1), (1, 9, 80)])
def test_what_does_not_broadcast_is_named(shape):
    with pytest.raises(e.ShapeError, match="does not broadcast to"):
        ow.fuse(lambda x: np.broadcast_to(x, shape), fullgraph=True)(X)


def through_another_shape(x):
    y = x * 1
    t = y.reshape(-1)
    t[0] = 1
    return y


def through_a_diagonal(x):
    np.einsum("ii->i", x[:, :9])[0] = 1
    return x


@pytest.mark.parametrize("function", [through_another_shape, through_a_diagonal])
def test_what_others_see_is_not_written_unseen(function):
    with pytest.raises(e.UnsupportedError, match="shares its memory|writes into an argument"):
        ow.fuse(function, fullgraph=True)(X)
