"""Views of one memory: what is written through one name is seen through the others, as in NumPy.

A whole trace refuses what it cannot follow; then the function runs in parts, on NumPy's own views.
"""

import numpy as np
import pytest

import opweave as ow

LIBRARY_IN_PARTS = True
pytestmark = pytest.mark.host


def rows():
    return np.arange(12).reshape(4, 3)


def columns():
    return np.asfortranarray(rows())


def square():
    return np.arange(9).reshape(3, 3)


def line():
    return np.arange(4)


def backwards():
    return np.arange(4)[::-1]


def turned():
    return rows()[::-1, ::-1]


def numbers():
    return rows() * (1 + 2j)


def added(view):
    """Write through the view; returns what is read through the array, and the view."""

    def function(a):
        w = view(a)
        w += 1
        return a * 1, w * 1

    return function


def written(view):
    """Write through the array."""

    def function(a):
        w = view(a)
        a += 1
        return a * 1, w * 1

    return function


def of_part(view):
    """Write through a part of a view of an array of the function's own."""

    def function(a):
        v = a[0] * 2
        w = view(v)
        w[1:] -= 1
        return v, w * 1

    return function


def of_copy(reshaped):
    """Write into parts of what NumPy may have to copy."""

    def function(a):
        v = reshaped(a)
        v[1:] += 1
        w = v[::2]
        w *= 10
        return a * 1, v * 1

    return function


def two_parts_of_a_copy(a):
    v = a.T.reshape(-1)
    p, q = v[1:], v[:4]
    del v
    p += 1
    return a * 1, q * 1


def row_of_another(a):
    row = a[0] * 2
    left = row[:2]
    a += 1
    row += 5
    return a * 1, left * 1


def of_element(made):
    """Write into what a number that was read from an array was made into."""

    def function(a):
        s = a[0]
        w = made(s)
        w[...] = 9
        return s, w, a * 1

    return function


def of_list(numbers):
    """Write into an array of a list, of which there is a view that a kernel would copy."""

    def function(a):
        v = np.array(numbers(a))
        w = np.diagonal(np.atleast_2d(v))
        v += 1
        return a * 1, v * 1, w * 1

    return function


def of_number(made):
    """Two arrays of one number that was computed: each has memory of its own."""

    def function(a):
        s = a.sum()
        v, w = made(s, a), made(s, a)
        v[...] = 9
        return s, v, w

    return function


def swapped_behind(opened):
    """Numbers are read before others are written, though somebody holds the array itself."""

    def function(a):
        opened(a)
        a[0], a[-1] = a[-1], a[0]
        s = a[0]
        a[...] = 7
        return s, a * 1

    return function


def written_in_rows(a):
    v = np.diagonal(a)
    w = np.ascontiguousarray(v)
    w += 1
    return a * 1, v * 1, w


def behind_flat(view):
    """A view that is taken while somebody holds the array itself."""

    def function(a):
        a.flat[0] = 3
        w = view(a)
        np.clip(a, 0, 2, out=a)
        return a * 1, w * 1

    return function


CASES = {
    "diagonal behind flat": (behind_flat(np.diagonal), square),
    "broadcast_to behind flat": (behind_flat(lambda a: np.broadcast_to(a, (2, 4))), line),
    "ravel behind flat": (behind_flat(np.ravel), rows),
    "part behind flat": (behind_flat(lambda a: a[1:].T), rows),
    "real part behind flat": (behind_flat(np.real), line),
    "element with an axis": (of_element(lambda s: s[None]), line),
    "element as a line": (of_element(np.atleast_1d), line),
    "element reshaped": (of_element(lambda s: s.reshape(1, 1)), line),
    "list of a sum": (of_list(lambda a: [a.sum()]), line),
    "list of an element": (of_list(lambda a: [a[0]]), line),
    "list of a row": (of_list(lambda a: [a[0]]), rows),
    "list of two sums": (of_list(lambda a: [a.sum(), a.max()]), line),
    "number as an array": (of_number(lambda s, a: np.asarray(s)), line),
    "number as an array of a type": (of_number(lambda s, a: np.asarray(s, np.float32)), line),
    "number in a line": (of_number(lambda s, a: np.ravel(s)), line),
    "number spread": (of_number(lambda s, a: np.broadcast_arrays(s, a)[0]), line),
    "elements exchanged": (swapped_behind(lambda a: None), line),
    "elements exchanged behind flat": (swapped_behind(lambda a: a.flat), line),
    "elements exchanged behind a sort": (swapped_behind(np.sort), line),
    "ravel of rows backwards": (added(lambda a: a[::-1, ::-1].ravel()), rows),
    "ravel, rows given backwards": (added(np.ravel), turned),
    "reshape, rows given backwards": (added(lambda a: a.reshape(-1)), turned),
    "in rows, of a diagonal": (written_in_rows, square),
    "broadcast_arrays, written": (added(lambda a: np.broadcast_arrays(a, a)[0]), line),
    "reshape of a part": (of_copy(lambda a: a[:, :2].reshape(-1)), rows),
    "reshape of a transpose": (of_copy(lambda a: a.T.reshape(-1)), rows),
    "two rows of a transpose": (of_copy(lambda a: a.T.reshape(2, 6)), rows),
    "reshape of columns": (of_copy(lambda a: a.reshape(-1)), columns),
    "ravel of a part": (of_copy(lambda a: a[:, :2].ravel()), rows),
    "two parts of a copy": (two_parts_of_a_copy, rows),
    "transposed row": (of_part(lambda v: v.T), rows),
    "row with an axis": (of_part(lambda v: v[:, None]), rows),
    "squeezed row": (of_part(lambda v: v.squeeze()), rows),
    "row of another": (row_of_another, rows),
    "ravel of a line": (added(np.ravel), line),
    "ravel, backwards": (added(np.ravel), backwards),
    "ravel of what is backwards": (added(lambda a: a[::-1].ravel()), line),
    "ravel of a run": (added(lambda a: a[1:].ravel()), line),
    "ravel of each second": (added(lambda a: a[::2].ravel()), line),
    "in rows, of rows": (added(np.ascontiguousarray), rows),
    "in rows, of columns": (added(np.ascontiguousarray), columns),
    "in rows, of a transpose": (added(lambda a: np.ascontiguousarray(a.T)), rows),
    "broadcast_to": (written(lambda a: np.broadcast_to(a, (2, 4))), line),
    "broadcast_arrays": (written(lambda a: np.broadcast_arrays(a, np.ones((2, 4)))[0]), line),
    "meshgrid": (written(lambda a: np.meshgrid(a, a, copy=False)[0]), line),
    "meshgrid of copies": (written(lambda a: np.meshgrid(a, a)[0]), line),
    "sparse meshgrid of copies": (written(lambda a: np.meshgrid(a, a, sparse=True)[0]), line),
    "diagonal": (written(lambda a: a.diagonal()), square),
    "diag": (written(lambda a: np.diag(a, 1)), square),
    "einsum": (added(lambda a: np.einsum("ii->i", a)), square),
    "einsum of a transpose": (added(lambda a: np.einsum("ij->ji", a)), rows),
    "real": (written(np.real), numbers),
    ".imag": (added(lambda a: a.imag), numbers),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_written_is_seen_as_by_numpy(name):
    function, make = CASES[name]
    given, plain = make(), make()

    found, expected = ow.fuse(function)(given), function(plain)

    assert np.array_equal(given, plain)
    for have, want in zip(found, expected, strict=True):
        assert type(have) is type(want)
        assert np.array_equal(have, want)


@pytest.mark.parametrize(("view", "make"), [
    (lambda a: np.broadcast_to(a, (2, 4)), line),
    (lambda a: a.diagonal(), square),
], ids=["broadcast_to", "diagonal"])  # fmt: skip
def test_what_numpy_gives_out_to_read_is_not_written_to(view, make):
    with pytest.raises(ValueError, match="read-only"):
        ow.fuse(added(view))(make())


@pytest.mark.parametrize("made", [
    lambda a: (np.full(2, 3),) * 2, lambda a: (v := np.arange(4.0), v[1:]), lambda a: (v := a * 2, v),
    lambda a: (v := np.eye(3), v.T),
], ids=["full", "arange", "computed", "eye"])  # fmt: skip
def test_results_that_share_memory_by_numpy_do(made):
    fused = ow.fuse(made)

    for _ in range(2):
        first, second = fused(line())
        assert np.shares_memory(first, second)


@pytest.mark.parametrize("made", [
    lambda a: ((v := a + 1) * 1, v * 1), lambda a: (np.conj(v := a + 1), v * 1), lambda a: (a + 1, a + 1),
    lambda a: ((v := a + 1)[None], v * 1), lambda a: (a * 1, a * 1),
    lambda a: (a, +np.conj(a)[3:]), lambda a: ((v := a + 1), (v * 1)[2:] * 1),
], ids=[
    "two copies", "conj", "alike", "a view", "of an argument", "a copy's view of an argument",
    "a copy's view",
])  # fmt: skip
def test_results_that_share_no_memory_by_numpy_share_none(made):
    first, second = ow.fuse(made)(line())

    assert not np.shares_memory(first, second)


@pytest.mark.parametrize("made", [
    lambda a: (v := np.full(2, 3.0), {"k": [v]}, a * 2), lambda a: (v := np.array(3.0), v, a * 2),
    lambda a: (v := np.ones((1, 2), np.int8), v, np.full(2, 3.0), a * 2),
], ids=["in a dict", "without dimensions", "beside another"])  # fmt: skip
def test_an_array_of_no_argument_that_is_returned_twice_is_one_in_a_whole_trace(made):
    fused = ow.fuse(fullgraph=True)(made)
    kept, *_ = fused(line())
    kept[...] = 7  # a call of its own
    results = fused(line())

    arrays = [x["k"][0] if isinstance(x, dict) else x for x in results]
    shared = [np.shares_memory(arrays[0], other) for other in arrays[1:]]
    assert shared == [True, *[False] * (len(arrays) - 2)]
    assert np.array_equal(arrays[0], made(line())[0])


def test_results_that_are_views_of_one_array_share_its_memory():
    def function(a):
        v = a[0] * 2
        return v.T, v[1:]

    v, w = ow.fuse(function)(rows())

    v[1] = 99
    assert w[0] == 99


# A reduction, itself with the axis that it lost, and views of that: one array.
WITH_ITS_AXIS = [
    lambda a: (s := a.sum(axis=-1), s[:, None]),
    lambda a: (s := a.max(axis=0), s[None]),
    lambda a: (s := a.sum(axis=-1), s[:, None], s[..., None]),
    lambda a: (s := a.sum(axis=-1), (v := s[:, None]), v.T, v[1:], v[::-1], v[:, 0]),
    lambda a: ((v := a.sum(axis=-1)[:, None]), v.T),
    lambda a: ((s := a.sum(axis=-1))[:, None], s[..., None]),
    lambda a: ((v := a.max(axis=0)[None]), v.swapaxes(0, 1), v[:, 1:]),
    lambda a: (s := a.sum(axis=-1, keepdims=True), s[:, 0], s.reshape(-1)),
    lambda a: (s := a[None].sum(axis=(0, 2)), s[None, :, None]),
]


@pytest.mark.parametrize("function", WITH_ITS_AXIS)
def test_a_reduction_shares_its_memory_with_its_views(function):
    for called in (function, ow.fuse(function)):
        first, *others = called(rows())

        assert all(np.shares_memory(first, other) for other in others)


def test_a_reduction_is_computed_once_for_its_views():
    def function(a):
        s = a.sum(axis=-1)
        return s, s[:, None], a / s[:, None], s[..., None] * 2

    (kernel,) = ow.fuse(function).lower(rows()).kernels

    assert kernel.source.count("_acc[LANES];") == 1


VIEWS = {
    "axis": lambda s: s[:, None], "turned": lambda s: s[:, None].T, "part": lambda s: s[:, None][1:],
    "row": lambda s: s[None], "backwards": lambda s: s[..., None][::-1], "first": lambda s: s[:, None][:, 0],
}  # fmt: skip


@pytest.mark.parametrize("name", VIEWS)
@pytest.mark.parametrize("write", [
    lambda s: s.real.__setitem__(..., 2), lambda s: s.sort(), lambda s: s.flat.__setitem__(0, 5),
    lambda s: np.cumsum(s, axis=0, out=s), lambda s: s.__setitem__(0, 7),
])  # fmt: skip
@pytest.mark.parametrize("through", [lambda s: s, lambda s: s[:, None]])
def test_what_is_written_to_a_reduction_is_seen_through_its_view(write, name, through):
    def function(z):
        s = z.sum(axis=-1)
        view, written = VIEWS[name](s), through(s)
        write(written)
        return view * 1, s * 1

    for made, expected in zip(ow.fuse(function)(numbers()), function(numbers()), strict=True):
        np.testing.assert_array_equal(made, expected)


def spread_before_a_loop(x):
    v = x * 2
    seen = np.broadcast_to(v, (2, *v.shape))
    for k in range(1, len(v)):
        v[k] += v[k - 1]
    return seen, v


def diagonal_before_a_loop(x):
    v = x * 2
    seen = np.diag(v)
    w = v + 1
    v[1] = 50
    for k in range(1, len(w)):
        v[k] += w[k - 1]
    return seen, w


def grid_before_a_loop(x):
    v = x * 2
    seen = np.meshgrid(v[:, 0], v[0], copy=False)[0]
    for k in range(1, len(v)):
        v[k] += v[k - 1]
    return seen, v


@pytest.mark.host
@pytest.mark.parametrize(
    "function", [spread_before_a_loop, diagonal_before_a_loop, grid_before_a_loop]
)
def test_a_view_that_kernels_would_copy_shows_what_a_loop_behind_writes(function):
    x, fused = np.arange(16.0).reshape(4, 4), ow.fuse(function)
    for _ in range(2):
        for found, expected in zip(fused(x), function(x), strict=True):
            np.testing.assert_array_equal(found, expected)
