"""Reshaping: other extents over the same memory, or over a copy where that is not dense."""

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e
from tests.support.data import like_numpy
from tests.support.variants import aligned

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
    ("of a turned map", lambda x: (x.T * 2).reshape(-1), 1),
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

    assert len(like_numpy(function, X, target=target).kernels) == kernels


SCATTERED = {
    "Fortran": np.asfortranarray,
    "backwards": lambda x: x[::-1],
    "repeated rows": lambda x: np.broadcast_to(x[:1], x.shape),
    "every other": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
}
# maps that a pass may drop, so that the array itself stands in their place
DROPPED = {
    "plus": lambda x: (+x).reshape(-1) * 2,
    "times one": lambda x: (x * 1).reshape(-1) + 1,
    "to its own type": lambda x: x.astype(x.dtype).reshape(-1) + 1,
    "times ones": lambda x: (x * np.ones_like(x)).reshape(-1) + 1,
    "returned as it is": lambda x: (+x).reshape(-1),
    "turned before": lambda x: (+(x.T)).reshape(-1) + 1,
    "turned behind": lambda x: (+x).T.reshape(-1) + 1,
    "sliced before": lambda x: (x[1:, ::3] * 1).reshape(-1) + 1,
    "twice": lambda x: (+x).reshape(-1) - (x * 1).T.reshape(-1),
    "reduced": lambda x: (+x).reshape(-1, 4).sum(axis=1),
}  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("layout", [lambda x: x, *SCATTERED.values()], ids=["rows", *SCATTERED])
@pytest.mark.parametrize("name", DROPPED)
def test_what_stands_in_a_maps_place_is_reshaped_as_rows(layout, name):
    like_numpy(DROPPED[name], layout(X), target="sm_80")


@pytest.mark.host
@pytest.mark.parametrize("layout", SCATTERED.values(), ids=SCATTERED)
def test_what_does_not_lie_densely_is_copied(layout):
    x = layout(X)
    fused = ow.fuse(lambda x: x.reshape(4, 5, 6)[1:] + 1)

    np.testing.assert_array_equal(fused(x), x.reshape(4, 5, 6)[1:] + 1)
    assert len(fused.lower(x).kernels) == 2
    assert fused.check(x).ok


def test_an_edit_leaves_rows_where_a_reshape_needs_them():
    def function(x):
        y = x * 2
        return y.reshape(-1) + 1, y + 1

    kernel = ow.fuse(function).lower(np.asfortranarray(X), target="sm_80").kernels[0]
    with pytest.raises(e.EditError, match="a reshape needs its result in rows"):
        kernel.remove("multiply")


@pytest.mark.host
def test_what_is_reshaped_last_is_a_view_as_by_numpy():
    view, copy = ow.fuse(lambda x: (x.reshape(-1), x.flatten()))(X)

    assert np.shares_memory(view, X)
    assert not np.shares_memory(copy, X)


@pytest.mark.host
@pytest.mark.parametrize("part", [
    np.real, np.imag, lambda z: z.imag, np.diagonal, lambda z: z.real[..., None],
    lambda z: z.real.reshape(-1, 1), lambda z: z.real.T,
])  # fmt: skip
@pytest.mark.parametrize("flat", [np.ravel, np.ascontiguousarray, lambda v: v.ravel()])
@pytest.mark.parametrize("shape", [(3, 3), (6, 2), (1, 4), (6, 1)])
def test_what_numpy_has_with_gaps_is_copied_where_it_copies(part, flat, shape):
    z = np.arange(np.prod(shape)).reshape(shape) * (1 + 2j)

    def both(z):
        v = part(z)
        return flat(v), v

    found, wanted = ow.fuse(both, fullgraph=True)(z), both(z)

    assert np.shares_memory(*found) == np.shares_memory(*wanted)
    np.testing.assert_array_equal(found[0], wanted[0])


@pytest.mark.host
@pytest.mark.parametrize("flat", [
    lambda v: v.ravel("K"), lambda v: v.flatten("K"), lambda v: v.reshape(-1, order="A"),
    lambda v: np.reshape(v, -1, copy=False),
])  # fmt: skip
def test_parts_of_complex_numbers_keep_the_order_of_their_elements(flat):
    z = np.arange(6).reshape(2, 3) * (1 + 2j)

    found = ow.fuse(lambda z: flat((z * 2).real), fullgraph=True)(z)

    np.testing.assert_array_equal(found, flat((z * 2).real))


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
    (lambda x: x.reshape(-2, 2, -3), "stands twice"),
    (lambda x: x[:0].reshape(0, -1), "could be anything"),
])  # fmt: skip
def test_a_wrong_shape_is_refused_and_named(function, piece):
    with pytest.raises(e.ShapeError, match=piece) as caught:
        ow.fuse(function)(X)

    assert "test_reshape.py:" in str(caught.value)


def test_an_order_that_follows_from_how_an_array_lies_is_refused():
    with pytest.raises(e.UnsupportedError, match="order='K': expected C or F"):
        ow.fuse(lambda x: x.T.ravel(order="K"), fullgraph=True)(X)


# Windows that slide along an array: kernels read the elements that windows share anew.
WAVE = np.random.default_rng(20261129).standard_normal(50)
PIXELS = np.arange(63.0).reshape(7, 9)
windows = np.lib.stride_tricks.sliding_window_view

WINDOWS = {
    "a mean": (lambda x: windows(x, 5).mean(axis=-1), WAVE),
    "bands": (lambda x: windows(x, 20).mean(1) - 2 * windows(x, 20).std(1), WAVE),
    "a median": (lambda x: np.median(windows(np.pad(x, 2, "edge"), 5), axis=1), WAVE),
    "of two axes": (lambda x: windows(x, (3, 2)).max(axis=(2, 3)), PIXELS),
    "of one axis": (lambda x: windows(x, 3, axis=1) * 2, PIXELS),
    "of the last axis": (lambda x: windows(x, window_shape=4, axis=-1).sum(-1), PIXELS),
    "of axes in another order": (lambda x: windows(x, (2, 4), (1, 0)).min((-1, -2)), PIXELS),
    "a product": (lambda x: windows(x, 3) @ np.array([1.0, -2.0, 1.0]), WAVE),
    "of what is computed": (lambda x: windows(x * x, 3)[::2, 1], WAVE),
    "as long as all": (lambda x: windows(x, x.shape[0]) + 1, WAVE),
    "none": (lambda x: windows(x, 0).sum(), WAVE),
    "itself": (lambda x: windows(x, 3), WAVE),
    "of bytes": (lambda x: windows(x.astype(np.uint8), (3, 3)).sum((2, 3)), PIXELS),
}


@pytest.mark.parametrize("name", WINDOWS)
def test_windows_are_numpys(name):
    function, x = WINDOWS[name]
    fused = ow.fuse(function, fullgraph=True)
    for given in (x, x[:-1] * 3, x[::-1]):
        found, expected = fused(given), function(given)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)


NO_WINDOWS = {
    "longer than the array": (lambda x: windows(x, 51), e.ShapeError),
    "below 0": (lambda x: windows(x, -1), e.ShapeError),
    "too many": (lambda x: windows(x, (2, 2)), e.UnsupportedError),
    "an axis that is not there": (lambda x: windows(x, 2, 1), e.AxisError),
    "no integer": (lambda x: windows(x, 2.5), e.IntegerError),
}


@pytest.mark.parametrize("name", NO_WINDOWS)
def test_windows_that_numpy_refuses_are_refused(name):
    function, error = NO_WINDOWS[name]
    with pytest.raises((ValueError, TypeError)):
        function(WAVE)
    with pytest.raises(error, match="sliding_window_view"):
        ow.fuse(function, fullgraph=True)(WAVE)


@pytest.mark.parametrize("view", [
    lambda x: windows(x * 1, 3), lambda x: np.broadcast_to(x * 1, (4, *x.shape)),
    lambda x: np.diagonal(np.outer(x, x)),
])  # fmt: skip
def test_a_view_that_is_read_only_is_not_written_to(view):
    def stored(x):
        v = view(x)
        v[0] = 5
        return v

    def added(x):
        v = view(x)
        v += 5
        return v

    for function in (stored, added):
        for run in (function, ow.fuse(function)):
            with pytest.raises(ValueError, match="read-only"):
                run(WAVE.copy())
        with pytest.raises(e.LockedViewError, match=r"read-only \(test_reshape.py:\d+\)"):
            ow.fuse(function, fullgraph=True)(WAVE.copy())


def test_a_view_that_can_be_written_to_is_named():
    with pytest.raises(ow.errors.UnsupportedError, match="writeable"):
        ow.fuse(lambda x: windows(x, 3, writeable=True), fullgraph=True)(WAVE)
