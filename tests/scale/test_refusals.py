"""What blocks of dask arrays cannot do is refused before anything runs, with what to do."""

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e
from opweave.runtime.binaries import hostcc

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
pytestmark = pytest.mark.host

X = np.random.default_rng(0).random((8, 6))
GIVEN = da.from_array(X, chunks=(3, 4))
ROW = da.from_array(X[:, 0].copy(), chunks=3)
PLACES = da.from_array(np.array([0, 5]), chunks=1)


@pytest.fixture(autouse=True)
def in_this_thread():
    with dask.config.set(scheduler="sync"):
        yield


def written(x):
    x[0] = 1
    return x


def branched(x):
    return x if x.sum() > 0 else -x


# A function, its arguments, the error, and what it says.
CALLS = {
    "a scan": (np.cumsum, (ROW,), e.UnsupportedError, r"cumsum.*axis 0 of a .*a.rechunk\(\{0: -1\}\)"),
    "a sort": (lambda x: np.sort(x, axis=1), (GIVEN,), e.UnsupportedError, r"np.sort .*axis 1 of x"),
    "a whole array": (np.median, (GIVEN,), e.UnsupportedError, r"np.median.*several chunks; rechunk"),
    "places": (lambda x, i: x[i], (ROW, PLACES), e.UnsupportedError, r"gather_1d .*axis 0 of x"),
    "joined axes": (lambda x: x.reshape(-1), (GIVEN,), e.UnsupportedError, r"reshape .*rechunk"),
    "a write": (written, (ROW,), e.UnsupportedError, r"writes to x\[0\].*return that"),
    "a branch": (branched, (ROW,), e.UnsupportedError, r"one graph.*truth value.*np.where"),
    "a mask": (lambda x: x[x > 0.5], (ROW,), e.UnsupportedError, r"indexing by a mask"),
    "a method of dask's": (
        lambda x: x.rechunk(-1) + 1, (ROW,), e.TraceError, r"found .rechunk, which dask.Array has.*NumPy's"),
    "unknown chunks": (lambda x: x + 1, (ROW[ROW > 0.5],), e.InterchangeError, r"x.compute_chunk_sizes\(\)"),
    "objects": (lambda x: x + 1, (ROW.astype(object),), e.DTypeError, r"argument x: dtype object"),
    "masked blocks": (np.exp, (da.ma.masked_greater(ROW, 0.5),), e.InterchangeError, r"MaskedArray"),
    "shapes": (lambda x, y: x + y, (GIVEN, GIVEN[:5]), e.ShapeError, r"8 against 5"),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_blocks_cannot_do_is_refused(name):
    function, args, error, text = CALLS[name]
    with pytest.raises(error, match=text):
        ow.fuse(function)(*args)


@pytest.mark.parametrize("ask", ["lower", "explain", "check"])
def test_what_needs_elements_says_so(ask):
    with pytest.raises(e.InterchangeError, match=r"elements are there.*x.compute\(\)"):
        getattr(ow.fuse(lambda x: x + 1), ask)(ROW)


@pytest.mark.parametrize(
    ("settings", "text"), [({"errors": "numpy"}, "errors='numpy'"), ({"device": "cuda"}, "device")]
)
def test_settings_that_blocks_do_not_have_are_refused(settings, text):
    with ow.config(**settings), pytest.raises(e.InterchangeError, match=text):
        ow.fuse(lambda x: x + 1)(ROW)


def test_out_is_refused():
    with pytest.raises(e.InterchangeError, match=r"out=; leave it out"):
        ow.fuse(lambda x: x + 1)(ROW, out=np.empty(8))


@pytest.mark.parametrize(
    "change", [lambda b: b.astype(np.float32), lambda b: b[:1], lambda b: b.tolist()]
)
def test_a_block_that_is_not_what_its_array_says_is_refused(change):
    given = ROW.map_blocks(change, dtype=ROW.dtype, meta=np.empty(0))
    with pytest.raises(e.InterchangeError, match=r"expected float64\(\d,\) of NumPy as the array"):
        ow.fuse(lambda x: x + 1)(given).compute()


def test_an_error_of_elements_is_raised_where_they_are():
    given = da.from_array(np.array([0, 9]), chunks=1)
    found = ow.fuse(lambda x, i: x[i])(ROW.rechunk(-1), given)
    with pytest.raises(e.BoundsError, match="index 9 is out of bounds for an axis of 8"):
        found.compute()


def test_a_sum_of_nothing_is_the_number_that_numpy_gives():
    found = ow.fuse(lambda x: x.sum())(ROW[:0]).compute()
    assert (found, type(found)) == (0.0, np.float64)


def test_a_maximum_of_nothing_is_numpys_error():
    with pytest.raises(ValueError, match="zero elements"):
        ow.fuse(lambda x: x.max())(ROW[:0]).compute()


def test_where_there_is_no_compiler_numpy_computes_the_blocks(monkeypatch):
    def none():
        raise e.NoCompilerError("no C++ compiler found")

    monkeypatch.setattr(hostcc, "host_compiler", none)
    found = ow.fuse(lambda x: np.sqrt(x) * 0.123456789 - x[:1])(GIVEN)
    with pytest.warns(ow.OpweaveWarning, match="NumPy computes the blocks"):
        assert (found.compute() == np.sqrt(X) * 0.123456789 - X[:1]).all()


def test_a_reduction_of_ones_own_is_not_joined():
    own = ow.reduction("parity_of", ["acc = 0", "acc ^ x"], "same", np.bitwise_xor, replace=True)
    numbers = (X * 100).astype(np.int64)
    given = da.from_array(numbers, chunks=(3, 4))
    with pytest.raises(e.UnsupportedError, match=r"parity_of.*axis 1 of x"):
        ow.fuse(lambda x: own(x, axis=1))(given)
    found = ow.fuse(lambda x: own(x, axis=1))(given.rechunk((3, -1)))

    assert (found.compute() == np.bitwise_xor.reduce(numbers, axis=1)).all()
