"""What is written to a view shows in the array, and in its other views, as in NumPy."""

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.traced.shared_memory import SharedMemory
from tests.support.written import LAYOUTS, agree, laid_in_rows

LIBRARY_IN_PARTS = True
U, V = np.random.default_rng(20261125).standard_normal((2, 6, 6))


def turned(u, v):
    u.T[0] += v[0]
    u.transpose()[:, 2:4] = v[:, 2:4]


def turned_as_a_whole(u, v):
    t = u.T
    t *= 2
    return t


def in_other_order(u, v):
    u.swapaxes(0, 1)[1:] = v[1:]
    np.moveaxis(u, 0, 1)[0, 0] = 7


def flipped(u, v):
    np.flip(u, 0)[:2] = v[:2]
    np.flip(u)[0] += 1


def new_axes(u, v):
    u[:, None, :][..., 0, 1:] = v[:, 1:]
    np.expand_dims(u, 0)[0, 2] = 3
    u[None][:, 1:2] *= 2


def new_axes_in_an_index(u, v):
    u[None, 1:] = v[1:]
    u[:, None, 0] = v[:, None, 1]
    u[2, None] = v[3, None]


def of_one_row(u, v):
    u[:1].squeeze()[2:] = v[0, 2:]
    np.squeeze(u[:, 1:2], 1).fill(2)


def split(u, v):
    a, b = np.split(u, 2)
    a += b
    b *= 2
    return a


def split_into_columns(u, v):
    for k, part in enumerate(np.hsplit(u, 3)):
        part += k


def row_by_row(u, v):
    for k, column in enumerate(u.T):
        column -= v[k]


def with_its_own_turned(u, v):
    u += u.T
    u.T[...] = u + v


def into_a_view(u, v):
    np.add(u.T, v, out=u.T)
    np.copyto(u[::2].T, v[:, :3])
    u.T.fill(1) if v.ndim > 2 else np.sqrt(np.abs(u.T), out=u.T)


def seen_from_all_sides(u, v):
    t, w = u.T, u[1:3]
    u[0] = 1
    t[2] += 1
    w *= 2
    return t, w, t[1:4].T


def of_its_own(u, v):
    y = u * 2
    t = y.T
    t[0] = v[0]
    return y, t, y.ravel()[2:5]


def in_rows(u, v):
    u.ravel()[::3] = 0
    u.reshape(-1)[:5] *= 2
    u.reshape(3, 2, 6)[:, 0] = v[:3]


def in_rows_of_its_own(u, v):
    y = u * 2
    y.reshape(-1)[3::4] = 5
    return y


def in_blocks(u, v):
    blocks = u.reshape(3, 2, 3, 2).swapaxes(1, 2)
    blocks[1, 1] = v[:2, :2]
    blocks[0] += 1
    return blocks[2, 0]


ANY_LAYOUT = [
    turned, turned_as_a_whole, in_other_order, flipped, new_axes, new_axes_in_an_index, of_one_row,
    split, split_into_columns, row_by_row, with_its_own_turned, into_a_view, seen_from_all_sides,
    of_its_own,
]  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("function", ANY_LAYOUT, ids=lambda f: f.__name__)
def test_a_whole_function_writes_through_views(function, layout):
    agree(function, ow.fuse(function, fullgraph=True), lambda: (layout(U), laid_in_rows(V)))


@pytest.mark.host
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("function", [in_rows, in_blocks], ids=lambda f: f.__name__)
def test_another_shape_is_a_view_where_it_is_numpys(function, layout):
    agree(function, ow.fuse(function), lambda: (layout(U), laid_in_rows(V)))


@pytest.mark.host
@pytest.mark.parametrize("fullgraph", [False, True])
@pytest.mark.parametrize("function", [in_rows, in_blocks], ids=lambda f: f.__name__)
def test_another_shape_of_rows_is_part_of_a_whole(function, fullgraph):
    agree(function, ow.fuse(function, fullgraph=fullgraph), lambda: (U.copy(), V.copy()))


@pytest.mark.host
def test_another_shape_of_what_is_computed_is_a_view():
    agree(in_rows_of_its_own, ow.fuse(in_rows_of_its_own), lambda: (U.copy(), V.copy()))


I, PLACES = np.array([1, 2]), np.array([3, 0])


def reshaped_part(u, v):
    u *= 2
    return u[1:3, 1:4].reshape(-1), u.T.reshape(-1)


def reshaped_rows(u, v):
    a = u[1:3].reshape(2, -1)
    a += 1
    return a


def a_row_that_an_array_names(u, v):
    a = u[PLACES[0]]
    a += 1
    u[v[:, 0].argmax()][:] = 9
    u[v.argmax() // 6].fill(3)
    return a


def a_row_in_parts(u, v):
    np.median(v)
    u[I[0]] -= v[0]
    u[PLACES[1]] *= 2
    a = u[PLACES[0]]
    a += 1
    return a


def a_row_and_all(u, v):
    x = u[v[0, 1:].argmin()]
    u += 7
    return x, x.sum()


def a_row_that_is_taken(u, v):
    a, b, c = np.take(u, 1, axis=0), u[np.array(0)], u.take(2, axis=1)
    a += 1
    b += 1
    c += 1
    u += 1
    return a, b, c


def turned_into_itself(u, v):
    u[...] = u.T
    a = v.T
    v[...] = u
    np.copyto(u, a)
    return a


def parts_before_the_whole(u, v):
    u[0] = 1
    u *= 2
    u[I] += 1
    v[I] = 1
    v.fill(3)
    v[PLACES] = 7


def rows_of_more_dimensions(u, v):
    u[I] = v[None, None, 0]
    u[0] = v[None, :1]


@pytest.mark.host
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("function", [
    reshaped_part, reshaped_rows, a_row_that_an_array_names, a_row_in_parts, a_row_and_all, a_row_that_is_taken,
    turned_into_itself, parts_before_the_whole, rows_of_more_dimensions,
], ids=lambda f: f.__name__)  # fmt: skip
def test_what_is_a_view_and_what_is_a_copy_is_numpys(function, layout):
    def make():
        return layout(U), laid_in_rows(V)

    fused = ow.fuse(function)
    for _ in range(2):
        (u, v), (x, y) = make(), make()
        found, expected = fused(u, v), function(x, y)
        for one, other in zip(
            found if isinstance(found, tuple) else (found,),
            expected if isinstance(expected, tuple) else (expected,), strict=True,
        ):  # fmt: skip
            assert one is None if other is None else np.allclose(one, other)
        np.testing.assert_allclose(u, x)
        np.testing.assert_allclose(v, y)


def spread(u, v):
    np.broadcast_to(u[0], (3, 6))[1] = 2


def on_a_diagonal(u, v):
    np.diagonal(u)[1:] = 2


def on_a_diagonal_by_subscripts(u, v):
    np.einsum("ii->i", u)[1:] = v[0, 1:]


def of_picked(u, v):
    u[[1, 2]][0] = 9
    u[u > 0].fill(3)
    return u


@pytest.mark.host
@pytest.mark.parametrize(
    "function", [spread, on_a_diagonal, on_a_diagonal_by_subscripts, of_picked]
)
def test_views_that_cannot_be_written_through_are_numpys(function):
    agree(function, ow.fuse(function), lambda: (U.copy(), V.copy()))


def first_of_rows(A):
    rows = list(A)
    rows[0][:] = rows[-1]
    return rows[1]


def rows_beside(A):
    rows = [A[i : i + 1] for i in range(A.shape[0])]
    A *= 2
    return rows[0] + rows[1]


@pytest.mark.parametrize("function", [first_of_rows, rows_beside])
def test_many_views_are_looked_at_once_for_each_write(function, monkeypatch):
    looked, relatives = [], SharedMemory.relatives

    def counted(self, array):
        looked.append(found := relatives(self, array))
        return found

    monkeypatch.setattr(SharedMemory, "relatives", counted)
    counts = []
    for rows in (10, 40):
        looked.clear()
        A, B = np.arange(rows * 3.0).reshape(rows, 3), np.arange(rows * 3.0).reshape(rows, 3)
        np.testing.assert_array_equal(ow.fuse(function)(A), function(B))
        np.testing.assert_array_equal(A, B)
        counts.append(len(looked))
        assert max(map(len, looked)) <= rows + 1
    assert counts[1] <= 4 * counts[0] + 8
