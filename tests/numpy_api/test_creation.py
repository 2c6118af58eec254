"""Creation inside a fused function: fused where the shape is traced, an input where it is not."""

import numpy as np
import pytest

import opweave as ow
from tests.support.data import like_numpy
from tests.support.variants import aligned

X = aligned(np.random.default_rng(0).standard_normal((6, 20)).astype(np.float32))
# name, function, kernels
CASES = [
    ("zeros_like", lambda x: np.zeros_like(x) + x, 1),
    ("ones_like alone", lambda x: np.ones_like(x), 1),
    ("full_like of another type", lambda x: np.full_like(x, 2.5, dtype=np.int32), 1),
    ("full_like of another shape", lambda x: np.full_like(x, 7, shape=(3, x.shape[0])), 1),
    ("by the shape", lambda x: np.zeros(x.shape) + x, 1),
    ("by an extent", lambda x: np.ones((x.shape[1], 3), np.float32).sum(axis=0) * x[0, 0], 1),
    ("of an extent", lambda x: (np.full(x.shape, x.shape[0]) + x).sum(axis=1), 1),
    ("a number into integers", lambda x: np.full(x.shape[0], 2.7, dtype=int) * 2, 1),
    ("in where", lambda x: np.where(x > 0, x, np.zeros_like(x)), 1),
    ("in a product", lambda x: x @ np.ones((x.shape[1], 2), np.float32), 2),
    ("no dimensions", lambda x: np.full((), 3.0), 1),
    ("of nothing traced", lambda x: np.eye(3), 1),
    ("of nothing traced, used", lambda x: x[:3, :3] * np.eye(3, dtype=np.float32), 1),
    ("of integers", lambda x: np.arange(4)[1:] + np.linspace(0, 1, 3), 1),
    ("a row value", lambda x: x.sum(axis=1) + np.ones(x.shape[0], np.float32), 1),
    ("softmax of ones", lambda x: ow.softmax(np.ones_like(x) * x), 1),
]  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0])
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_what_is_made_is_numpys(case, target):
    _, function, kernels = case

    assert len(like_numpy(function, X, target=target).kernels) == kernels


def test_an_array_of_one_number_is_the_number_where_a_shape_is_there():
    fused = ow.fuse(lambda x: (x + np.ones_like(x)) * np.full(x.shape[0], 3, np.float32)[:, None])

    assert [n.operator.name for n in fused.lower(X).graph.nodes] == ["add", "multiply"]


@pytest.mark.host
def test_a_shape_is_no_guard_and_a_number_may_differ():
    fused = ow.fuse(lambda x, s: np.full_like(x, s) + np.ones(x.shape, np.float32))
    for n, s in ((3, 1.5), (7, -2.0), (300, 0.1)):
        x = np.zeros((n, 4), np.float32)
        np.testing.assert_array_equal(fused(x, s), np.full_like(x, s) + 1)

    assert fused._specialised.traces == 1


@pytest.mark.host
def test_what_is_returned_is_new_at_each_call():
    fused = ow.fuse(lambda x: (np.eye(3), np.zeros_like(x)))
    first, _ = fused(X)
    first[...] = 7

    np.testing.assert_array_equal(fused(X)[0], np.eye(3))


@pytest.mark.host
@pytest.mark.parametrize("dtype", ["float16", "int64", "uint8", "bool"])
@pytest.mark.parametrize("fill", [0, 1, 2.9, True, -1])
def test_numbers_are_converted_as_by_numpy(dtype, fill):
    x = X.astype(dtype)
    try:
        expected = np.full_like(x, fill)
    except OverflowError:
        with pytest.raises((OverflowError, ow.errors.DTypeError)):
            ow.fuse(lambda x: np.full_like(x, fill))(x)
        return
    made = ow.fuse(lambda x: np.full_like(x, fill))(x)

    assert made.dtype == expected.dtype
    np.testing.assert_array_equal(made, expected)


@pytest.mark.host
@pytest.mark.parametrize("fill", [300, -1, 7, 2.7])
def test_a_traced_number_beyond_the_type_is_refused_as_by_numpy(fill):
    x = np.zeros(3, np.uint8)
    fused = ow.fuse(lambda x, s: np.full_like(x, s))
    try:
        expected = np.full_like(x, fill)
    except OverflowError:
        with pytest.raises((OverflowError, ow.errors.DTypeError)):
            fused(x, fill)
        return
    np.testing.assert_array_equal(fused(x, fill), expected)


@pytest.mark.host
@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("function", [
    lambda x: np.sqrt(np.negative(np.full(x.shape, 2.5, np.float32))),
    lambda x: x + np.log(np.zeros(3, np.float32)),
])  # fmt: skip
def test_what_numpy_computes_while_tracing_warns_of_nothing(function):
    x = np.ones((), np.float32)
    made = ow.fuse(function)(x)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(made, function(x))


def used_before(a):
    v = np.zeros(3)
    b = a + v
    v[0] = 1
    return b


def used_before_and_after(a):
    v = np.zeros(3)
    v[0] = 1
    b = a * v
    v[:] = 0
    return b, a * v


def changed_by_a_loop(a):
    w, found = np.ones(3), []
    for _ in range(3):
        found.append(a * w)
        w *= 2
    return tuple(found)


def places_changed(a):
    i = np.array([0, 1])
    b = a[i] * 1
    i[0] = 2
    return b


def returned_too(a):
    v = np.zeros(3)
    b = a + v
    v *= -1  # a sign of zero
    return b, v


def changed_under_a_view(a):
    v = np.zeros(4)
    b = a + v[1:]
    v[2] = 1
    return b


def written_first(a):
    v = np.zeros(3)
    v[0] = 1
    return a + v, v


@pytest.mark.host
@pytest.mark.parametrize(("function", "is_whole"), [
    (used_before, True), (used_before_and_after, True), (changed_by_a_loop, True),
    (places_changed, True), (returned_too, True), (changed_under_a_view, True),
    (written_first, True),
])  # fmt: skip
def test_an_array_of_the_functions_own_is_read_as_it_was(function, is_whole):
    a = np.arange(3.0)
    fused, whole = ow.fuse(function), ow.fuse(function, fullgraph=True)
    for _ in range(3):
        made, expected = fused(a), function(a)
        made, expected = (r if isinstance(r, tuple) else (r,) for r in (made, expected))
        for x, y in zip(made, expected, strict=True):
            assert x.tobytes() == y.tobytes()
    if is_whole:
        whole(a)
        return
    with pytest.raises(ow.errors.UnsupportedError, match="written to after it was used"):
        whole(a)


@pytest.mark.host
@pytest.mark.parametrize("write", [
    lambda a: np.sum(a, out=a[0]), lambda a: np.add(a.sum(), 1, out=a.max()),
])  # fmt: skip
def test_a_number_is_nothing_to_write_to(write):
    a = np.arange(3.0)
    for function in (write, ow.fuse(write)):
        with pytest.raises(TypeError, match="return arrays must be of ArrayType"):
            function(a)
    with pytest.raises(ow.errors.UnsupportedError, match="found a number"):
        ow.fuse(write, fullgraph=True)(a)
    np.testing.assert_array_equal(a, np.arange(3.0))


@pytest.mark.host
@pytest.mark.parametrize("key", [0, (), ..., (..., [0]), slice(None)])
def test_a_number_has_no_elements_to_assign_to(key):
    def function(a):
        total = a.sum()
        total[key] = 1
        return total

    for called in (function, ow.fuse(function)):
        with pytest.raises(TypeError, match="does not support item assignment"):
            called(np.arange(3.0))
    with pytest.raises(ow.errors.UnsupportedError, match="found a number"):
        ow.fuse(function, fullgraph=True)(np.arange(3.0))


def test_sparse_grids_that_share_memory_come_in_a_list():
    grids = ow.fuse(lambda v: np.meshgrid(v, v, sparse=True, copy=False), fullgraph=True)

    assert type(grids.lower(X[0]).reference(X[0])) is list


def test_a_negative_number_of_samples_is_refused():
    with pytest.raises(ValueError, match="no negative number"):
        ow.fuse(lambda v: np.linspace(v[0], 1, -1)).lower(X[0])
