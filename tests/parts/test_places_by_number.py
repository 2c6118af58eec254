"""Parts that a number names: the number is no part of the guard where it is written to."""

import numpy as np
import pytest

import opweave as ow
from tests.support.written import agree, outcome

U, V = np.arange(60.0).reshape(6, 10), np.arange(10.0)
pytestmark = pytest.mark.host


def row(u, i):
    u[i] = 7


def row_of(u, i, v):
    u[i] = v
    return u.mean(axis=0)


def column_of(u, i, v):
    u[:, i] = v[:6]


def element(u, i):
    u[i, i + 1] = 5
    return u * 2


def beside_a_slice(u, i, v):
    u[i, 2:5] = v[:3]


def computed(u, i):
    u[(i + 1) % len(u)] = u[0]
    return u.sum()


def of_its_own(u, i):
    v = u * 2
    v[i] = 1
    return v


def two(u, i):
    u[i] = 1
    u[i - 1] = 2


def behind_a_change_of_all(u, i):
    u *= 2
    u[i] = 1
    return u.sum()


def before_a_change_of_all(u, i):
    u[i] = 1
    u += u[0]
    return u


def more_than_eight(u, i):
    for n in range(10):
        u[i - 1, n] = n
    return u


def from_the_end(u):
    u[u.shape[0] - 2] = 9
    return u[0]


WITH_NUMBERS = {row: (), row_of: (V,), column_of: (V,), element: (), beside_a_slice: (V,),
                computed: (), of_its_own: (), two: (),
                behind_a_change_of_all: (), before_a_change_of_all: (), more_than_eight: ()}  # fmt: skip


@pytest.mark.parametrize("function", WITH_NUMBERS, ids=lambda f: f.__name__)
def test_each_number_writes_where_numpys_does_by_one_trace(function):
    fused = ow.fuse(function, fullgraph=True)
    for i in (1, 2, 3, 4):
        agree(function, fused, lambda i=i: (U.copy(), i, *WITH_NUMBERS[function]))
    assert len(fused.traces) == 1
    for i in (0, -1, -2, np.int64(3), np.int32(-3)):
        agree(function, fused, lambda i=i: (U.copy(), i, *WITH_NUMBERS[function]))
    assert len(fused.traces) <= 5  # of other sides, and of other types


def test_the_last_but_one_row_is_one_trace_for_all_lengths():
    fused = ow.fuse(from_the_end)
    for n in (3, 4, 6, 9):
        agree(from_the_end, fused, lambda n=n: (np.ones((n, 5)),))
    assert len(fused.traces) == 1


@pytest.mark.parametrize("shape", [(3, 0), (0, 3), (1, 1)])
def test_arrays_without_elements_do_what_numpy_does(shape):
    fused = ow.fuse(row)
    for i in (0, -1, 2):
        found, wanted = (outcome(f, np.ones(shape), i) for f in (fused, row))
        assert found[0] == wanted[0] or issubclass(found[0], wanted[0])
        np.testing.assert_array_equal(found[1][0], wanted[1][0])


@pytest.mark.parametrize("i", [6, -7, 10**12, 2**40])
@pytest.mark.parametrize("first", [2, -2])
def test_a_number_without_a_place_writes_nothing(i, first):
    fused = ow.fuse(row_of)
    fused(U.copy(), first, V)
    u = U.copy()
    with pytest.raises(IndexError, match=f"index {i} is out of bounds for axis 0 of size 6"):
        fused(u, i, V)
    np.testing.assert_array_equal(u, U)


@pytest.mark.parametrize("i", [True, 1.0, "1", None])
def test_what_is_no_place_does_what_numpy_does(i):
    for make in (lambda: (U.copy(), i),):
        found, wanted = outcome(ow.fuse(row), *make()), outcome(row, *make())
        assert found[0] == wanted[0] or issubclass(found[0], wanted[0])
        np.testing.assert_array_equal(found[1][0], wanted[1][0])


def test_a_thin_row_alone_is_stored():
    u = np.zeros((100, 1000))
    text = ow.fuse(row).explain(u, 3).text
    assert "u[i_] alone is stored, when all kernels are done" in text


def test_the_loads_of_a_row_that_is_assigned_are_those_of_a_band():
    program = ow.fuse(row_of).lower(np.zeros((8, 4000)), 3, np.zeros(4000))
    assert "template columns.cu.j2" in program.source
    assert "gather" not in program.source


def test_a_saved_program_writes_where_the_number_says(tmp_path):
    ow.fuse(row_of).lower(U.copy(), 2, V).save(tmp_path / "row")
    loaded = ow.load_program(tmp_path / "row")
    for i in (1, 4):
        u, wanted = U.copy(), U.copy()
        np.testing.assert_allclose(loaded(u, i, V), row_of(wanted, i, V))
        np.testing.assert_array_equal(u, wanted)
    with pytest.raises(ow.errors.ArgumentError, match="i_ < 6 = True"):
        loaded(U.copy(), 6, V)


def read_by(u, i):
    return u[i] * 2 + u[i:][0]


@pytest.mark.filterwarnings("ignore::opweave.OpweaveWarning")
def test_in_parts_another_place_that_is_read_by_is_no_other_segment(monkeypatch):
    from opweave.compiler.pipeline import specialise

    lowered, finish = [], specialise.finish
    monkeypatch.setattr(specialise, "finish", lambda *a: lowered.append(1) or finish(*a))
    with ow.config(recompile_limit=1):
        fused = ow.fuse(read_by)
        for n, i in enumerate((1, 2, 3, 4, -1, 0)):
            np.testing.assert_array_equal(fused(U, i), read_by(U, i))
            lowered = lowered if n > 1 else []
    assert not lowered


@pytest.mark.filterwarnings("ignore::opweave.OpweaveWarning")
def test_in_parts_views_of_an_argument_see_what_is_written_to_it():
    def function(u, i):
        row, rest = u[i], u[i + 1 :]
        u[i] += 1
        row *= 2
        rest[0] = row
        u[i + 1, 0] = 7
        return row + rest[0], rest.sum(), u[i], np.unique(row)

    with ow.config(recompile_limit=1):
        fused = ow.fuse(function)
        for i in (0, 1, 2, 3):
            agree(function, fused, lambda i=i: (U.copy(), i))
