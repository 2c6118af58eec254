"""Arrow's arrays as arguments: numbers without nulls, read where they lie."""

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes import errors as e
from tests.foreign.tables import IN_PLACE, ROW, SCALED, address, scaled

pyarrow = pytest.importorskip("pyarrow")
pytestmark = pytest.mark.host
DTYPES = ("float64", "float32", "float16", "int8", "uint16", "int64")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("part", [slice(None), slice(2, 5), slice(0)])
def test_the_result_is_numpys_as_an_arrow_array(dtype, part):
    row = ROW.astype(dtype)
    given = pyarrow.array(row)[part]
    for _ in range(2):
        found = SCALED(given)
        assert isinstance(found, pyarrow.Array)
        assert (found.to_numpy() == scaled(row[part])).all()


def test_other_results_are_arrow_scalars_and_bits():
    given = pyarrow.array(ROW)
    found = ow.fuse(lambda x: (x.sum(), x > 2, x))(given)
    assert isinstance(found[0], pyarrow.Scalar)
    assert found[0].as_py() == ROW.sum()
    assert found[1].to_pylist() == (ROW > 2).tolist()
    assert found[2] is given


def test_a_scalar_of_arrows_is_taken_as_a_result_is_given():
    given = pyarrow.array(ROW)
    mean = ow.fuse(lambda x: x.mean())(given)
    found = ow.fuse(lambda x, m: x - m)(given, mean)
    assert (found.to_numpy() == ROW - ROW.mean()).all()


@pytest.mark.parametrize(("scalar", "found"), [
    (pyarrow.scalar(None, pyarrow.float64()), "null"), (pyarrow.scalar("a"), "string")
])  # fmt: skip
def test_a_scalar_that_is_no_number_is_refused(scalar, found):
    with pytest.raises(e.InterchangeError, match=found):
        SCALED(scalar)


def test_neither_arguments_nor_results_are_copied():
    from opweave._interchange.arrow_arrays import give, view

    given = pyarrow.array(np.ones(1 << 24, np.float32))
    assert address(view(given)) == given.buffers()[1].address
    made = SCALED(view(given))
    assert give(made, given).buffers()[1].address == address(made)


def test_an_array_sliced_off_its_nulls_is_taken():
    assert SCALED(pyarrow.array([1.0, 2.0, None])[:2]).to_pylist() == [3, 5]


REFUSED = {
    "nulls": (lambda: pyarrow.array([1.0, None]), "found one with 1 nulls", "x.fill_null(0)"),
    "chunks": (
        lambda: pyarrow.chunked_array([[1.0], [2.0]]), "chunks lie apart", "x.combine_chunks()"),
    "texts": (lambda: pyarrow.array(["a"]), "StringArray", "x.to_numpy(zero_copy_only=False)"),
    "bits": (lambda: pyarrow.array([True]), "BooleanArray", "x.to_numpy(zero_copy_only=False)"),
    "dates": (
        lambda: pyarrow.array([1], pyarrow.date32()), "date32", "x.cast(pyarrow.int32())"),
    "times": (
        lambda: pyarrow.array([1], pyarrow.time64("us")), "time64", "x.cast(pyarrow.int64())"),
    "zones": (lambda: pyarrow.array([1], pyarrow.timestamp("ns", "America/New_York")), "units of time",
              "x.cast(pyarrow.int64())"),
    "codes": (lambda: pyarrow.array([1, 1]).dictionary_encode(), "DictionaryArray", "x.to_numpy"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_row_of_numbers_is_refused(name):
    make, found, do = REFUSED[name]
    with pytest.raises(e.InterchangeError) as caught:
        SCALED(make())
    assert found in str(caught.value)
    assert f"; pass {do}" in str(caught.value)


@pytest.mark.parametrize(("function", "found"), [
    (lambda x: x.reshape(2, 3) + 1, "2 dimensions"), (lambda x: x * 1j, "complex"),
    (lambda x: np.array([1, "a"], object), "Could not convert 'a'"),
])  # fmt: skip
def test_what_arrow_cannot_have_as_a_result_is_refused(function, found):
    with pytest.raises(e.InterchangeError, match=f"the result: .*{found}.*pass x.to_numpy"):
        ow.fuse(function)(pyarrow.array(ROW))


def test_a_function_that_writes_to_one_is_refused():
    with pytest.raises(e.ReadOnlyError):
        IN_PLACE(pyarrow.array(ROW))


def test_an_array_that_others_have_stays_theirs():
    table = np.arange(3.0)
    given = pyarrow.array([1.0, 2.0, 3.0])
    for fused in (ow.fuse(lambda x: (x + 1, table)), ow.fuse(lambda x: (x + 1, table, repr(x)))):
        for first in range(8):
            table[0] = first
            found = fused(given)[1]
            table[0] = -1
            assert found.to_pylist() == [first, 1, 2]
