"""Assignments by arrays of indices to arguments are part of a whole function, as in NumPy."""

import numpy as np
import pytest

import opweave as ow
from tests.support.written import LAYOUTS, agree, laid_in_rows

U, V = np.random.default_rng(20261126).standard_normal((2, 12, 9))
I, J = np.array([3, 0, -2, 3]), np.array([1, 8, 0, -1])


def rows(u, v):
    u[I] = v[:4]


def added(u, v):
    u[I] += v[0]
    return u


def of_a_list(u, v):
    u[[1, 2, 5]] *= 2


def elements(u, v):
    u[I, J] = v[0, :4]


def between_slices(u, v):
    u[1:5, J] = 0
    u[None, :, I[:2], ...] = v[0, 0]


def of_a_grid(u, v):
    u[np.ix_(I[:2], J)] = 1.5


def of_a_triangle(u, v):
    u[np.triu_indices(9)] = 0


def at_computed_places(u, v):
    u[(np.abs(v[:, 0]) * 3).astype(np.int64)] = v
    v[0] = 1


def by_a_mask_and_by_indices(u, v):
    u[u > 1] = 1
    u[I] = 2


def behind_a_whole(u, v):
    u *= 2
    v[J[:2]] = u[0]
    u[I] = v[1]


def at(u, v):
    np.add.at(u, I, v[:4])
    np.subtract.at(v, (J, slice(1, 3)), 2)
    return u


def at_behind_a_part(u, v):
    u[0] = 1
    np.maximum.at(u, (I, J), v[0, 0])


def twice(u, v):
    u[I] = 1
    u[J[:1]] = 2
    u[0] = 3


def of_views(u, v):
    u[I] = v[2:6]
    v[I] = u[5]


def read_behind(u, v):
    u[I] = 1
    return u.sum(), u[0] * 2


def added_twice(u, v):
    u[I] += 1
    u[I] += v[0]


def read_behind_at(u, v):
    np.add.at(u, I, v[:4])
    v += u[:1] * 2
    u[0] = v[1]
    return u.mean(axis=0)


WHOLE = [
    rows, added, of_a_list, elements, between_slices, of_a_grid, of_a_triangle,
    at_computed_places, by_a_mask_and_by_indices, behind_a_whole, at, at_behind_a_part, twice,
    of_views, read_behind, added_twice, read_behind_at,
]  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("function", WHOLE, ids=lambda f: f.__name__)
def test_a_whole_function_assigns_by_indices(function, layout):
    agree(function, ow.fuse(function, fullgraph=True), lambda: (layout(U), laid_in_rows(V)))


def test_what_is_read_behind_is_named_where_no_library_is_called():
    fused = ow.fuse(read_behind, fullgraph=True)
    with pytest.raises(ow.errors.UnsupportedError, match=r"is read behind .*indices.py:\d+"):
        fused.lower(U.copy(), V, target="sm_90a")


def at_places(u, v, i):
    v[0] = 7
    u[i] = v[1]
    v *= 2


@pytest.mark.host
@pytest.mark.parametrize("places", [[1, 2], [0, 12], [-13, 0], []])
def test_a_place_that_is_not_there_leaves_what_numpy_leaves(places):
    i = np.array(places, np.int64)
    agree(at_places, ow.fuse(at_places), lambda: (U.copy(), V.copy(), i))


@pytest.mark.host
@pytest.mark.parametrize(
    ("value", "error"),
    [(np.ones(8), ValueError), (np.ones((3, 9)), ValueError), (np.ones((4, 1)), None),
     (1j, TypeError)],
)  # fmt: skip
def test_what_does_not_fit_is_numpys_error(value, error):
    def function(u, value):
        u[1] = 5
        u[I] = value

    if error is not None:
        with pytest.raises(error):
            function(U.copy(), value)
    agree(function, ow.fuse(function), lambda: (U.copy(), value))


@pytest.mark.host
@pytest.mark.parametrize(("ufunc", "dtype"), [(np.add, "int32"), (np.negative, "float64")])
def test_what_at_cannot_do_is_numpys_to_say(ufunc, dtype):
    def function(x, *more):
        x[0] = 1
        ufunc.at(x, [1, 1], *more)

    more = (2.5,) if ufunc.nin == 2 else ()
    for _ in range(2):
        x, y = np.arange(4).astype(dtype), np.arange(4).astype(dtype)
        texts = []
        for run, array in ((function, x), (ow.fuse(function), y)):
            try:
                run(array, *more)
            except TypeError as error:
                texts.append(str(error).split(" (")[0])
        np.testing.assert_array_equal(x, y)
        assert len(texts) in (0, 2)
        assert len(set(texts)) < 2


WITH_ITSELF = {
    "assigned": lambda x, i: x.__setitem__(i, x),
    "a view of all": lambda x, i: x.__setitem__(i, x[:]),
    "another view of all": lambda x, i: x.__setitem__(i, x[...]),
    "indices of their own": lambda x, i: i.__setitem__(i, i),
    "added": lambda x, i: np.add.at(x, i, x),
}


@pytest.mark.host
@pytest.mark.parametrize("name", WITH_ITSELF)
def test_an_array_is_stored_in_itself(name):
    function = WITH_ITSELF[name]

    def stored(x, i):
        function(x, i)

    agree(stored, ow.fuse(stored), lambda: (np.arange(4.0) + 1, np.array([2, 0, 3, 1])))


@pytest.mark.host
def test_explain_says_what_is_stored_by_indices():
    told = str(ow.fuse(at).explain(U.copy(), V.copy()))

    assert "np.add.at(u, indices) alone is stored, when all kernels are done" in told
    assert "np.subtract.at(v, indices, 1:3) alone is stored" in told
    assert "u[indices] alone is stored" in str(ow.fuse(rows).explain(U.copy(), V.copy()))


@pytest.mark.host
def test_a_number_of_the_call_is_stored():
    def function(x, i, n):
        x[i] = n
        x[i + 1] += n * 2

    fused = ow.fuse(function)
    for n in (2, 3.5, 300):
        agree(function, fused, lambda n=n: (np.arange(6.0), np.array([0, 2]), n))
