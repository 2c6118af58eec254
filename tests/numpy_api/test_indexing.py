"""Basic indexing: views that cost no kernel and no copy, under guards of their own."""

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e
from tests.support.data import dtype_of, like_numpy
from tests.support.variants import aligned

X = aligned(np.random.default_rng(0).standard_normal((9, 24)).astype(np.float32))
CUBE = aligned(np.random.default_rng(1).standard_normal((4, 5, 6)).astype(np.float32))

# name, function of (x, cube), kernels
CASES = [
    ("rows", lambda x, c: x[1:] * 2, 1),
    ("columns", lambda x, c: x[:, 1:] - x[:, :-1], 1),
    ("backwards", lambda x, c: x[::-1] + x, 1),
    ("steps", lambda x, c: x[::2, ::-3] * 2, 1),
    ("a row", lambda x, c: x[0] + x[-1], 1),
    ("a column", lambda x, c: x[:, 3] * x[:, -1], 1),
    ("an element", lambda x, c: x[1, 2] * 2, 1),
    ("an element broadcast", lambda x, c: x * x[1, 2], 1),
    ("new axes", lambda x, c: x[:, None, :3] + x[None, :, :3], 1),
    ("ellipsis", lambda x, c: c[..., 1] + c[1, ..., 1], 1),
    ("too far", lambda x, c: x[2:100, -100:3] + 1, 1),
    ("nothing", lambda x, c: x[5:2] + 1, 1),
    ("nothing of a new axis", lambda x, c: x[None, :-1, ::-3][1:, ::-3, :-1] + 1, 1),
    ("of a slice", lambda x, c: x[1:][1:-1][::-2] * 2, 1),
    ("of a transpose", lambda x, c: x.T[2:5, ::-1] * 1.5, 1),
    ("then transposed", lambda x, c: x[2:5].T + 1, 1),
    ("transposed twice", lambda x, c: np.exp(x.T[1:].T[2:].T) + 1, 1),
    ("of a map", lambda x, c: (x * 2)[1:3, ::-1], 1),
    ("of a map, and read", lambda x, c: (x * 2)[1:] + x[:-1], 2),
    ("stencil", lambda x, c: x[1:-1, 1:-1] * 4 - x[:-2, 1:-1] - x[2:, 1:-1] - x[1:-1, :-2], 1),
    ("taps", lambda x, c: sum(x[:, k : x.shape[1] - 4 + k] * (k + 1) for k in range(4)), 1),
    ("row sums", lambda x, c: x[:, 2:8].sum(axis=1), 1),
    ("column sums", lambda x, c: x[1:4, ::2].sum(axis=0), 1),
    ("whole sum", lambda x, c: c[1:, ::-1, ::2].sum(), 1),
    ("softmax", lambda x, c: ow.softmax(x[:, 3:]), 1),
    ("of a sum", lambda x, c: x.mean(axis=0)[3:] + 1, 2),
    ("product", lambda x, c: x[1:, 1:9] @ x[:-1, 1:9].T, 1),
    ("batched product", lambda x, c: c[1:, :, :3] @ c[:-1, :3, 1:], 1),
    ("by extents", lambda x, c: x[: x.shape[0] // 2] - x[x.shape[0] // 2 + 1 :], 1),
    ("numpy integers", lambda x, c: x[np.int64(1) :, np.int32(2)] + 1, 1),
    ("an iteration", lambda x, c: sum(row * k for k, row in enumerate(x)), 1),
    ("unpacked", lambda x, c: (lambda a, b, *rest: a * b - rest[0])(*x), 1),
    ("enough for len", lambda x, c: x * len(x), 1),
    ("and a view of it", lambda x, c: np.expand_dims(x[2:4], 1).squeeze(1) * 2, 1),
]  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0])
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_an_index_is_numpys(case, target):
    _, function, kernels = case

    assert len(like_numpy(function, X, CUBE, target=target).kernels) <= kernels


LAYOUTS = {
    "C": lambda a: a,
    "Fortran": np.asfortranarray,
    "transposed": lambda a: np.ascontiguousarray(a.T).T,
    "every other": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
    "backwards": lambda a: np.ascontiguousarray(a[::-1, ::-1])[::-1, ::-1],
    "repeated rows": lambda a: np.broadcast_to(a[:1], a.shape),
    "unaligned": lambda a: np.pad(a, [(0, 0)] * (a.ndim - 1) + [(1, 0)])[..., 1:],
}


@pytest.mark.host
@pytest.mark.parametrize("target", ["host", "sm_90a"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_any_layout_can_be_indexed(layout, target):
    x, cube = LAYOUTS[layout](X), LAYOUTS[layout](CUBE)
    for _, function, _ in CASES[1:14]:
        made = ow.fuse(function).lower(x, cube, target=target)(x, cube)
        np.testing.assert_array_equal(np.asarray(made), function(x, cube))


@pytest.mark.host
def test_what_is_indexed_last_is_a_view_as_by_numpy():
    fused = ow.fuse(lambda x: (x[1:, ::2], x[0], x[1, 2], x[1, 2, ...], (x + 1)[2:]))
    rows, row, element, boxed, part = fused(X)
    for nothing in (
        lambda x: x[None][1:],
        lambda x: x[:, None, ::2][1:, :0],
        lambda x: x[None, 5:5],
    ):
        assert ow.fuse(nothing)(X).shape == nothing(X).shape

    assert np.shares_memory(rows, X)
    assert np.shares_memory(row, X)
    assert rows.strides == X[1:, ::2].strides
    assert (type(element), type(boxed)) == (np.float32, np.ndarray)
    assert (element, boxed) == (X[1, 2], X[1, 2])
    np.testing.assert_array_equal(part, (X + 1)[2:])


@pytest.mark.host
def test_extents_that_follow_from_others_are_no_guard():
    fused = ow.fuse(lambda x, y: x[1:, :-2] * y + x[-1, 0])
    for n, m in ((5, 7), (9, 24), (300, 33), (3, 4), (64, 100)):
        x, y = np.random.default_rng(n).random((2, n, m), dtype=np.float32)
        y = y[1:, 2:]
        np.testing.assert_array_equal(fused(x, y), x[1:, :-2] * y + x[-1, 0])

    assert fused._specialised.traces == 2  # y is a view: C-contiguous at n = 2 only


@pytest.mark.host
def test_what_an_index_asks_of_an_extent_is_a_guard():
    fused = ow.fuse(lambda x: x[2:] + x[:1])
    for n, traces in ((9, 1), (5, 1), (3, 2), (4, 2), (2, 2), (1, 3), (3, 3)):
        x = np.arange(n, dtype=np.float32)
        np.testing.assert_array_equal(fused(x), x[2:] + x[:1])
        assert fused._specialised.traces == traces, n

    row = ow.fuse(lambda x: x[3] * 2)
    assert row(np.arange(5.0)) == 6
    with pytest.raises(e.ShapeError, match="index 3 is out of bounds for axis 0 of size 3"):
        row(np.arange(3.0))


@pytest.mark.host
def test_a_number_that_indexes_is_part_of_the_guard():
    fused = ow.fuse(lambda x, i, n: x[i, :n] * 2)
    for i, n in ((0, 3), (2, 5), (-1, -2), (0, 3)):
        np.testing.assert_array_equal(fused(X, i, n), X[i, :n] * 2)

    assert fused._specialised.traces == 3


@pytest.mark.host
@pytest.mark.parametrize(("function", "error", "piece"), [
    (lambda x: x[9], e.ShapeError, "index 9 is out of bounds for axis 0 of size 9"),
    (lambda x: x[0, -25], e.ShapeError, "index -25 is out of bounds for axis 1 of size 24"),
    (lambda x: x[0, 0, 0], e.ShapeError, "too many indices: 3 for an array of 2 dimensions"),
    (lambda x: x[..., 0, ...], e.BoundsError, "one ellipsis"),
    (lambda x: x[::0], e.ShapeError, "the step of a slice is 0"),
    (lambda x: x[1.5], e.TraceError, "must be an integer, a slice, None or ..., found 1.5"),
    (lambda x: x["a"], e.TraceError, "found 'a'"),
    (lambda x: x[1.5:], e.TraceError, "found 1.5"),
    (lambda x: x[True], e.UnsupportedError, "indexing by bool"),
    (lambda x: x[x > 0], e.UnsupportedError, "np.where"),
    (lambda x: x[[1.5, 2]], e.BoundsError, "of integers, found float64"),
    (lambda x: x[np.array([True, False])], e.UnsupportedError, "indexing by a mask"),
    (lambda x: sum((x[:, :1] @ np.ones((1, 1025), np.float32)).T), e.TraceError,
     "iteration over 1025 rows"),
])  # fmt: skip
def test_a_wrong_index_is_refused_and_named(function, error, piece):
    with pytest.raises(error, match=piece) as caught:
        ow.fuse(function, fullgraph=True)(X)

    assert "test_indexing.py:" in str(caught.value)


@pytest.mark.host
@pytest.mark.parametrize("target", ["sm_75", "sm_80"])
def test_the_checker_finds_nothing(target):
    fused = ow.fuse(lambda x: x[1:-1, 1:-1] * 4 - x[:-2, 1:-1] - x[2:, 1:-1])

    assert ow.sanitize(fused, X, target=target).ok
    assert "x_2_1" in fused.lower(X, target=target).source


@pytest.mark.host
@pytest.mark.parametrize("name", ["float16", "bfloat16", "float64", "int64", "uint8", "bool"])
def test_every_dtype_can_be_indexed(name):
    x = X.astype(dtype_of(name))
    made = ow.fuse(lambda x: (x[1:, ::-2], np.where(x[0] > x[1], x[2], x[3])))(x)

    np.testing.assert_array_equal(made[0], x[1:, ::-2])
    np.testing.assert_array_equal(made[1], np.where(x[0] > x[1], x[2], x[3]))


def chosen_later(x):
    y = x + 1
    return y[x > 0]


def test_a_mask_that_is_refused_is_at_its_own_line():
    line = chosen_later.__code__.co_firstlineno + 2
    with pytest.raises(e.UnsupportedError, match=rf"by a mask.*test_indexing.py:{line}"):
        ow.fuse(chosen_later, fullgraph=True)(np.ones(4))
