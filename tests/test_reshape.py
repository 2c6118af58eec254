"""Reshaping: other extents over the same memory, or over a copy where that is not dense."""

import numpy as np
import pytest
from data import hold, wide
from variants import aligned

import opweave as ow
from opweave.opcodes import errors as e

X = aligned(np.random.default_rng(0).standard_normal((6, 20)).astype(np.float32))
# name, function, kernels
CASES = [
    ("flat", lambda x: x.reshape(-1) * 2, 1),
    ("ravel", lambda x: np.ravel(x)[1:] - x.ravel()[:-1], 1),
    ("more axes", lambda x: x.reshape(6, 4, 5).sum(axis=1), 1),
    ("by extents", lambda x: x.reshape(x.shape[0], x.shape[1] // 2, 2).max(axis=-1), 1),
    ("what is left", lambda x: x.reshape(3, -1) * x.reshape(-1, 40), 1),
    ("a new axis", lambda x: x.reshape(*x.shape, 1) + 1, 1),
    ("nothing else", lambda x: x.reshape(120, 1), 0),
    ("and back", lambda x: x.reshape(-1).reshape(6, 20) + x, 1),
    ("turned, then reshaped", lambda x: x.T.reshape(6, -1) + 1, 2),
    ("sliced, then reshaped", lambda x: x[1:5, ::2].reshape(-1) * 2, 2),
    ("reshaped, then turned", lambda x: x.reshape(4, 30).T[::2] * 2, 1),
    ("reshaped, then sliced", lambda x: x.reshape(4, 5, 6)[1:, ::-1, 2] * 2, 1),
    ("of a map", lambda x: (x * 2).reshape(10, 12) + 1, 2),
    ("of a turned map", lambda x: (x.T * 2).reshape(-1), 2),
    ("of a sum", lambda x: np.reshape(x.sum(axis=1), (6, 1)) + x, 2),
    ("of one number", lambda x: x.sum().reshape(1, 1) + x, 2),
    ("in a product", lambda x: x.reshape(20, 6) @ x, 1),
    ("flatten copies", lambda x: x.flatten(), 1),
    ("softmax over groups", lambda x: ow.softmax(x.reshape(6, 4, 5)).reshape(x.shape), 1),
]  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0])
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_a_reshape_is_numpys(case, target):
    _, function, kernels = case
    fused = ow.fuse(function)
    program = fused.lower(X, target=target)
    made, expected = program(X), function(X)

    assert (type(made), np.shape(made)) == (type(expected), np.shape(expected))
    assert program.check(X).ok
    hold(program, (X,), function(wide(X)), made)
    assert len(program.kernels) == kernels
    assert (
        np.asarray(fused.unfused().lower(X, target=target)(X)).tobytes()
        == np.asarray(made).tobytes()
    )


@pytest.mark.host
@pytest.mark.parametrize("layout", [
    np.asfortranarray, lambda x: x[::-1], lambda x: np.broadcast_to(x[:1], x.shape),
    lambda x: np.repeat(x, 2, axis=1)[:, ::2],
])  # fmt: skip
def test_what_does_not_lie_densely_is_copied(layout):
    x = layout(X)
    fused = ow.fuse(lambda x: x.reshape(4, 5, 6)[1:] + 1)

    np.testing.assert_array_equal(fused(x), x.reshape(4, 5, 6)[1:] + 1)
    assert len(fused.lower(x).kernels) == 2
    assert fused.check(x).ok


@pytest.mark.host
def test_what_is_reshaped_last_is_a_view_as_by_numpy():
    view, copy = ow.fuse(lambda x: (x.reshape(-1), x.flatten()))(X)

    assert np.shares_memory(view, X)
    assert not np.shares_memory(copy, X)


@pytest.mark.host
def test_extents_that_follow_are_no_guard_and_divisions_are():
    fused = ow.fuse(lambda x: x.reshape(2, -1) + 1)
    for shape in ((6, 20), (4, 7), (8, 3), (64, 100)):
        x = np.random.default_rng(1).random(shape, dtype=np.float32)
        np.testing.assert_array_equal(fused(x), x.reshape(2, -1) + 1)

    assert fused._specialised.traces == 1
    with pytest.raises(e.ShapeError, match="has not as many elements as"):
        fused(np.ones((3, 3), np.float32))


@pytest.mark.parametrize(("function", "piece"), [
    (lambda x: x.reshape(7, -1), r"\(6, 20\) has not as many elements as \(7, -1\)"),
    (lambda x: x.reshape(5, 5), r"as \(5, 5\)"),
    (lambda x: x.reshape(-1, 2, -1), "-1 stands twice"),
    (lambda x: x.reshape(-2, 60), "cannot be negative, found -2"),
    (lambda x: x.reshape(1.5, 80), "must be an integer, found 1.5"),
    (lambda x: x[:0].reshape(0, -1), "could be anything"),
])  # fmt: skip
def test_a_wrong_shape_is_refused_and_named(function, piece):
    with pytest.raises(e.ShapeError, match=piece) as caught:
        ow.fuse(function)(X)

    assert "test_reshape.py:" in str(caught.value)


def test_another_order_is_refused():
    with pytest.raises(e.UnsupportedError, match="expected 'C'; transpose instead"):
        ow.fuse(lambda x: x.reshape(-1, order="F"))(X)
