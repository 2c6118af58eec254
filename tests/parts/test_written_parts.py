"""Writes to few rows or columns of an argument store these alone, in the function's order."""

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.arrays import part_writes
from opweave.compiler.ir.parts import Span, bounded, is_thin, part_of, shown
from tests.support.written import LAYOUTS, agree, laid_in_rows

U, V = np.random.default_rng(20261125).standard_normal((2, 12, 9))


def borders(u, v):
    u[0, :] = u[-2, :]
    u[-1, :] = u[1, :]
    u[:, 0] = 0
    u[:, -1] = u[:, -2]


def rows(u, v):
    u[0] = 1
    u[1] += v[1]
    u[-2:] = v[:2] * 2


def by_all_kinds_of_indices(u, v):
    u[0, ::-1] = v[0]
    u[None, 1] = v[1]
    u[..., -1] = 3
    u[2:4, None, :2] = v[0, :2]
    u[5, 5] = v.sum()


def that_overlap(u, v):
    u[:2] = u[1:3]
    u[1:3] = u[:2]


def kept_before(u, v):
    kept, same = u[1].copy(), u[3] * 1
    u[1] = 5
    u[3] = 6
    u[2] = kept
    u[4] = same


def in_turn(u, v):
    u[0] = v[1]
    v[1] = u[2]
    u[2] = v[1]
    v[2], u[3] = u[3], v[2]


def swapped(u, v):
    u[0], u[1] = u[1].copy(), u[0].copy()


def of_an_argument_that_is_written(u, v):
    u[0] = v[1]
    v *= 2
    u[1] = v[1]


def read_later(u, v):
    u[0] = v[0]
    v += u
    u[:, 0] = v[:, 0]
    return u.sum(axis=0), u[0, 1], u


def before_the_whole(u, v):
    u[0] = 1
    u *= 2
    v *= 3
    v[0] = 1
    v[-1] = v[1]


def through_a_part(u, v):
    w = u[2:5]
    w[0] = 7
    w[1] += v[1]
    r = u[6]
    r[:] = v[6]
    return w, r


def one_by_one(u, v):
    for i in range(10):
        u[i] = v[i] * i


def returned(u, v):
    made = v[0] * 2
    u[0] = made
    u[1] = u[0]
    return made, u[1], v[0]


FUNCTIONS = [
    borders, rows, by_all_kinds_of_indices, that_overlap, kept_before, in_turn, swapped,
    of_an_argument_that_is_written, read_later, before_the_whole, through_a_part, one_by_one,
    returned,
]  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda f: f.__name__)
@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: f.__name__)
def test_parts_hold_what_numpy_leaves_there(function, layout):
    agree(function, ow.fuse(function, fullgraph=True), lambda: (layout(U), laid_in_rows(V)))


def numbers(x, n):
    x[0] = n
    x[1] = n * 2
    x[2] = 2.7
    x[3] = True


@pytest.mark.host
@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8", "bool", "complex64"])
def test_what_is_stored_has_the_arguments_type(dtype):
    def computed(x, v):
        x[0] = v[0] * 2
        x[1] = v[1]

    x = np.arange(12).astype(dtype)
    for n in (3, 2.5):
        agree(numbers, ow.fuse(numbers), lambda n=n: (x.copy(), n))
    agree(computed, ow.fuse(computed), lambda: (x.copy(), np.arange(3.0) + 1.6))


@pytest.mark.host
def test_arrays_without_elements_have_parts():
    def columns(u):
        u[:, 0] = 1
        u[:, -1] = u[:, 1]

    agree(columns, ow.fuse(columns), lambda: (np.zeros((0, 9)),))


def faulty(u, i):
    u[0] = 4
    u[1] = u[i, 0]


@pytest.mark.host
def test_an_index_without_an_element_leaves_what_numpy_leaves():
    fused = ow.fuse(faulty)
    for places in (np.arange(9), np.arange(9) + 4):
        agree(faulty, fused, lambda places=places: (U.copy(), places))


@pytest.mark.host
def test_explain_names_the_parts_and_no_kernel_passes_over_all():
    told = str(ow.fuse(borders).explain(U.copy(), V))

    assert "bc for host" not in told
    assert "0 kernel(s)" in told
    for part in ("u[0, :]", "u[-1, :]", "u[:, 0]", "u[:, -1]"):
        assert f"{part} alone is stored, when all kernels are done" in told


@pytest.mark.host
def test_tools_know_parts():
    u, v = U.copy(), V.copy()
    program = ow.fuse(rows).lower(u, v, target="host")
    program.check(u, v)
    program.reference(u, v)

    assert "u[1] = " in str(program.variant.graph)
    np.testing.assert_array_equal(u, U)


@pytest.mark.host
@pytest.mark.parametrize(("most", "writes"), [(2, 1), (8, 3)])
def test_many_parts_are_written_as_a_whole(monkeypatch, most, writes):
    monkeypatch.setattr(part_writes, "MOST_PARTS", most)
    program = ow.fuse(rows).lower(U, V, target="host")

    assert len(program.variant.graph.written) == writes
    agree(rows, ow.fuse(rows), lambda: (U.copy(), V.copy()))


@pytest.mark.parametrize(("key", "shape", "thin"), [
    (0, (9, 9), True),
    (0, (2, 9), False),
    ((slice(None), -1), (9, 9), True),
    (slice(1, -1), (9, 9), False),
    (slice(2, 5), (99, 9), True),
    (slice(None, 3), (99,), True),
    (slice(-3, None), (99,), True),
    (slice(-3, -1), (99,), True),
    (slice(2, -1), (4, 9), False),
    (slice(None, 50), (999, 9), False),
    (slice(5, 1, -1), (99, 9), False),
    ((0, slice(None)), (9, 9), True),
    ((..., 0), (9, 9, 3), True),
    ((..., 0), (9, 9, 2), False),
    (..., (9, 9), False),
])  # fmt: skip
def test_a_thin_part_is_few_rows_of_many(key, shape, thin):
    assert is_thin(part_of(key), shape) == thin


def short(u, v):
    u[3:13] *= 2
    u[:, -20:-8] += v[:, -20:-8] * u[:, 5:17]
    u[1:9, 1:9] = v[:8, :8].sum()


@pytest.mark.host
def test_parts_of_long_axes_are_stored_alone_and_of_short_ones_with_the_whole():
    fused, sizes = ow.fuse(short), [(24, 33), (200, 70), (35, 200), (13, 26), (60, 60), (31, 90)]
    for shape in sizes:
        u = np.arange(1.0, 1 + np.prod(shape)).reshape(shape)
        told = fused.explain(u.copy(), u / 7).text
        are_long = shape[0] >= 30 and shape[1] >= 36
        assert ("u[3:13] alone is stored" in told) is are_long
        agree(short, fused, lambda u=u: (u.copy(), u / 7))


@pytest.mark.parametrize(("key", "axes"), [
    (slice(10, 30), [(0, 20)]),
    ((slice(None), slice(-9, None)), [(1, 9)]),
    ((..., slice(5), slice(7, 2)), [(1, 5), (2, 0)]),
    ((None, slice(6), 3, slice(4, 10)), [(0, 6), (2, 6)]),
    ((slice(0, 4), slice(1, -1), slice(None, None, 2)), []),
])  # fmt: skip
def test_axes_are_bounded_by_what_a_slice_says(key, axes):
    assert [*bounded(part_of(key), 3)] == [(axis, most) for axis, most in axes if most > 4]


@pytest.mark.parametrize(("key", "text"), [
    (0, "0"),
    ((slice(1, -1), None, ...), "1:-1, None, ..."),
    (slice(None, None, -2), "::-2"),
])  # fmt: skip
def test_a_part_is_shown_as_it_is_written(key, text):
    assert shown(part_of(key)) == text


def test_other_indices_are_no_parts():
    assert part_of(np.arange(3)) is None
    assert part_of((True, 1)) is None
    assert part_of(slice(np.int64(1), None)) is None
    assert part_of(slice(1, 3)) == (Span(1, 3, None),)
