"""Fused functions of dask arrays: what NumPy gives for the whole arrays, however they are cut."""

from itertools import product

import numpy as np
import pytest

import opweave as ow
from tests.scale.functions import FUNCTIONS, REFUSED, ROUNDED, leaves

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
pytestmark = pytest.mark.host

X = np.random.default_rng(0).random((8, 6)).astype(np.float32)
CHUNKS = [(8, 6), (3, 6), (8, 2), ((1, 4, 3), (2, 4)), ((3, 0, 5), (1, 5)), (1, 1)]


@pytest.fixture(autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="sync"):
        yield


def computed(result):
    return [np.asarray(o) for o in dask.compute(*leaves(result))]


@pytest.mark.parametrize("chunks", CHUNKS, ids=str)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_blocks_give_what_numpy_gives_for_the_whole(function, chunks):
    given = da.from_array(X, chunks=chunks)
    if function in REFUSED and len(given.chunks[1]) > 1:
        with pytest.raises(ow.errors.UnsupportedError, match=r"axis 1 of .*rechunk\(\{1: -1\}\)"):
            ow.fuse(function)(given)
        return
    found, wanted = computed(ow.fuse(function)(given)), leaves(function(X))

    for array, expected in zip(found, map(np.asarray, wanted), strict=True):
        assert (array.shape, array.dtype) == (expected.shape, expected.dtype)
        if function not in ROUNDED or array.dtype.kind not in "fc":
            assert array.tobytes() == expected.tobytes()
        else:
            allowed = 32 * np.finfo(array.dtype).eps
            largest = np.abs(expected).max(initial=0).astype(np.float64)
            np.testing.assert_allclose(array, expected, rtol=allowed, atol=allowed * largest)


@pytest.mark.parametrize(
    ("step", "start", "stop"), [*product((1, 2, 3), (0, 1, 4), (9, -1, None))][::2]
)
def test_a_slice_of_any_step_reads_what_it_needs(step, start, stop):
    x = np.arange(17.0)
    given = da.from_array(x, chunks=((4, 1, 7, 5),))

    def function(x):
        part = x[start:stop:step]
        return part[::-1] * 2 + part

    assert (computed(ow.fuse(function)(given))[0] == function(x)).all()


def test_parts_of_no_elements_read_nothing():
    x = np.arange(6.0).reshape(2, 3)  # whose inner rows are none
    found = ow.fuse(lambda x: np.gradient(x, axis=0))(da.from_array(x, chunks=(1, 2)))

    assert (computed(found)[0] == np.gradient(x, axis=0)).all()


def test_the_order_of_a_sum_follows_from_the_chunks_alone():
    x = np.random.default_rng(1).random(4000).astype(np.float32)
    sums = [computed(ow.fuse(np.sum)(da.from_array(x, chunks=37)))[0].tobytes() for _ in range(3)]
    with dask.config.set(scheduler="threads"):
        sums += [computed(ow.fuse(np.sum)(da.from_array(x, chunks=37)))[0].tobytes()]

    assert len(set(sums)) == 1


def test_arrays_of_different_chunks_meet():
    x, y = da.from_array(X, chunks=(3, 4)), da.from_array(X, chunks=(5, 2))
    found = ow.fuse(lambda x, y: x - y[:1] + y)(x, y)

    assert (computed(found)[0] == X - X[:1] + X).all()


def test_numpys_arrays_and_arrays_in_containers_stand_beside_them():
    x = da.from_array(X, chunks=(3, 4))
    found = ow.fuse(lambda p, row, s: p["x"] * row + p["more"][0] * s)(
        {"x": x, "more": [x]}, X[0], 2.0
    )

    assert (computed(found)[0] == X * X[0] + X * 2.0).all()


def test_an_argument_that_comes_back_is_the_callers_own():
    x = da.from_array(X, chunks=(3, 4))
    found = ow.fuse(lambda x: (x, x + 1))(x)

    assert found[0] is x
    assert found[1].chunks == x.chunks


def test_nothing_is_computed_before_it_is_asked_for():
    def never(block):
        raise AssertionError

    x = da.from_array(X, chunks=(3, 4)).map_blocks(never, meta=X[:0, :0])
    found = ow.fuse(lambda x: (x.T @ x).sum(axis=0))(x)

    assert isinstance(found, da.Array)
    assert found.shape == (6,)


def test_blocks_that_lie_alike_share_a_kernel():
    x = da.from_array(np.zeros((50, 40)), chunks=(10, 10))
    found = ow.fuse(lambda x: x[1:-1, 1:-1] + x[2:, 1:-1])(x)
    (stage,) = [v for k, v in dict(found.dask).items() if str(k).endswith("-stage")]

    assert len(stage.forms) <= 2  # the last row of blocks has nothing below


def test_a_halo_is_as_wide_as_the_functions_views():
    x = da.from_array(np.arange(40.0), chunks=10)
    found = ow.fuse(lambda x: x[4:] - x[:-4])(x)
    parts = [task for key, task in dict(found.dask).items() if "-part-" in str(key)]
    widths = {task[2][0].stop - task[2][0].start for task in parts}

    assert widths == {4}
    assert (found.compute() == 4).all()


@pytest.mark.parametrize("scheduler", ["sync", "threads"])
def test_other_options_come_along(scheduler):
    x = da.from_array(X, chunks=(3, 4))
    plain = ow.fuse(lambda x: np.sqrt(x) * 2)
    with dask.config.set(scheduler=scheduler):
        for fused in (plain, plain.unfused(), plain.with_toggles(USE_VECTOR_IO=0)):
            assert (fused(x).compute() == np.sqrt(X) * 2).all()


def test_an_operator_of_ones_own_and_rows_by_the_library():
    own = ow.operator("cubed_once", "x * x * x", "same", lambda x: x * x * x, replace=True)
    x = da.from_array(X, chunks=(3, 6))
    found = ow.fuse(lambda x: own(np.sort(x, axis=1)) + np.cumsum(x, axis=1))(x)
    rows = np.sort(X, axis=1)

    np.testing.assert_allclose(found.compute(), rows * rows * rows + np.cumsum(X, axis=1), 1e-5)


@pytest.mark.parametrize("dtype", ["int8", "uint16", "int64", "bool", "float16", "complex64"])
def test_sums_have_numpys_types(dtype):
    x = (X * 9).astype(dtype)
    found = ow.fuse(lambda x: (x.sum(axis=1), x.sum()))(da.from_array(x, chunks=(3, 4)))

    for array, expected in zip(computed(found), (x.sum(axis=1), x.sum()), strict=True):
        assert array.dtype == expected.dtype
        np.testing.assert_allclose(array, expected, rtol=2e-3)


def read_at_places(dtype):
    """A function that reads at places of a type, and an array."""

    def read(x):
        return x[np.arange(x.shape[0]).astype(dtype)] * 2

    return read, np.arange(400.0)


def test_places_in_a_type_that_holds_them_are_read_by_blocks():
    read, x = read_at_places(np.int16)
    np.testing.assert_array_equal(ow.fuse(read)(da.from_array(x, chunks=100)).compute(), read(x))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_places_that_wrap_in_a_narrow_type_are_refused_where_blocks_lie_apart(dtype):
    read, x = read_at_places(dtype)
    with pytest.raises(ow.errors.UnsupportedError, match=r"x\.rechunk\("):
        ow.fuse(read)(da.from_array(x, chunks=100))


def scaled_in(batch):
    batch["y"] = batch["x"] * batch["gain"]
    return batch


def test_a_container_is_the_callers_own():
    for given in (da.arange(4.0, chunks=2), np.arange(4.0)):
        batch = {"x": given, "gain": 2.0}
        assert ow.fuse(scaled_in)(batch) is batch
        assert batch["x"] is given
        np.testing.assert_array_equal(np.asarray(batch["y"]), np.arange(4.0) * 2)
        assert ow.fuse(lambda d: (d["x"] + 1, d))(batch)[1] is batch


TABLE = np.zeros(4)


def test_arrays_beside_are_taken_as_they_are_at_the_call():
    x, y = da.zeros(4, chunks=2), np.zeros(4)
    found = ow.fuse(lambda x, y: x + y + TABLE)(x, y)
    y += 1
    TABLE[:] = 5
    assert found.compute().tolist() == [0] * 4
