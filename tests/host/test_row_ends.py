"""Rows that are no whole number of chunks: their ends, and runs of two places in one chunk."""

import numpy as np
import pytest

import opweave as ow

pytestmark = pytest.mark.host
RNG = np.random.default_rng(5)
LENGTHS = (1, 2, 7, 8, 9, 15, 16, 20, 31, 33, 63, 64, 65, 96, 100, 127, 129, 200)


def given(columns, dtype="f4", rows=6):
    return (RNG.random((rows, columns)) * 9).astype(dtype)


def joined(x):
    return np.concatenate([x[:, -1:], x, x[:, :1]], axis=1)


def chosen_by_column(x):
    return np.where(np.arange(x.shape[1]) < 5, np.roll(x, 2, 1), np.roll(x, -2, 1))


def chosen_by_row(x):
    return np.where((np.arange(len(x)) < 3)[:, None], np.roll(x, 2, 1), np.roll(x, -2, 1))


def read_twice(x):
    moved = np.roll(x, 1, 1)
    return moved, moved + x


FUNCTIONS = {
    "a row for all": lambda x: x + x[0],
    "a column for all": lambda x: x * x[:, :1] + x[0],
    "backwards": lambda x: x[:, ::-1] + x[:, :1],
    "rows above one another": lambda x: np.concatenate([x, x[:2]]),
    "beside one another": lambda x: np.concatenate([x, x, x[:, ::-1]], axis=1),
    "with what was computed": lambda x: np.concatenate([x, x + x[0]], axis=1),
    "joined": joined,
    "in joined": lambda x: joined(joined(x)),
    "around": lambda x: np.roll(x, 3, 1),
    "around, the other way": lambda x: np.roll(x, -2, 1) * x,
    "around both axes": lambda x: np.roll(x, (1, 2), (0, 1)),
    "twice around": lambda x: np.roll(np.roll(x, 1, 1), 2, 1),
    "a stencil": lambda x: sum(np.roll(x, k, axis) for k in (1, -1) for axis in (0, 1)),
    "compared": lambda x: np.roll(x, 1, 1) == x,
    "by column": chosen_by_column,
    "by row": chosen_by_row,
    "read twice": read_twice,
    "runs of two choices": lambda x: np.delete(x, 0, 1) + np.delete(x, x.shape[1] // 2, 1),
}


@pytest.mark.parametrize("dtype", ["f4", "f8", "u1", "f2", "i4", "?", "c8"])
@pytest.mark.parametrize("columns", LENGTHS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_rows_of_every_length_are_numpys(name, columns, dtype):
    function, x = FUNCTIONS[name], given(columns, dtype)
    for a, b in zip(np.atleast_2d(function(x)), np.atleast_2d(ow.fuse(function)(x)), strict=True):
        np.testing.assert_array_equal(b, a)


def scaled(x):
    x *= x[0].copy()
    return x


def shifted(x):
    x[:, 1:] = x[:, :-1] * 2
    return x


def moved_around(x):
    x[...] = np.roll(x, 1, 1)
    return x


def turned_over(x):
    x[:, :] = x[:, ::-1] + x
    return x


def added_to(x, row=3):
    x += row
    return x


@pytest.mark.parametrize("function", [scaled, added_to, shifted, moved_around, turned_over])
def test_no_element_in_place_is_computed_twice(function):
    fused = ow.fuse(function)
    for columns in LENGTHS:
        x = given(columns)
        y = x.copy()
        np.testing.assert_array_equal(fused(y), function(x), f"{columns} columns")
        np.testing.assert_array_equal(y, x, f"{columns} columns")


def kernel_of(function, *args):
    (kernel,) = ow.fuse(function).lower(*args).kernels
    return kernel


def replaced(places, table):
    places[...] = table[places]
    return places


def test_faults_are_those_of_elements_as_they_were():
    table = np.arange(9) + 1000
    for columns in (20, 100):
        places = given(columns, "i8") % 9
        wanted = table[places]
        np.testing.assert_array_equal(ow.fuse(replaced)(places, table), wanted)


def test_the_last_chunk_of_a_row_is_whole():
    x, row = given(100), given(100)[0]
    added = kernel_of(lambda x, row: x + row, x, row)
    assert "whole_from<VECTOR>" in added.source
    assert "store_rest" not in added.source
    in_place = kernel_of(added_to, x, row)
    assert "whole_from<VECTOR>" in in_place.source
    assert "store_rest" in in_place.source
    on_gpu = ow.fuse(lambda x, row: x + row).lower(x, row, target="sm_90a").kernels[0]
    assert "whole_from" not in on_gpu.source


@pytest.mark.parametrize(
    ("columns", "chunk", "chunks"),
    [(8, 8, 1), (9, 8, 2), (15, 8, 2), (16, 16, 1), (20, 16, 2), (33, 32, 2), (63, 32, 2),
     (64, 64, 1), (65, 64, 1), (1000, 64, 1)],
)  # fmt: skip
@pytest.mark.parametrize("function", [lambda x, row: x + row, added_to])
def test_a_short_row_has_whole_chunks_that_are_read_before_one_is_stored(
    function, columns, chunk, chunks
):
    x = given(columns)
    toggles = kernel_of(function, x, x[0]).toggles
    assert (toggles["VECTOR"], toggles["CHUNKS"]) == (chunk, chunks)


@pytest.mark.parametrize(
    "toggles", [{"VECTOR": 64}, {"CHUNKS": 1}, {"CHUNKS": 2}, {"VECTOR": 8, "CHUNKS": 4}]
)
@pytest.mark.parametrize("function", [lambda x, row: np.roll(x, 3, 1) + row, added_to])
def test_chunks_of_other_sizes_change_nothing(function, toggles):
    fused = ow.fuse(function).with_toggles(**toggles)
    for columns in (9, 20, 32, 100, 300):
        x = given(columns)
        wanted = function(x.copy(), x[0].copy())
        np.testing.assert_array_equal(fused(x, x[0].copy()), wanted, f"{columns} columns")


def test_what_is_added_to_memory_is_added_once():
    moved = ow.kernel([
        ow.load("x"), ow.opcodes.neighbour(step=-1, bounds="wrap"),
        ow.store("y", by=ow.opcodes.accumulate),
    ])  # fmt: skip
    for columns in (9, 20, 100):
        x = given(columns, "i4")
        y = np.ones_like(x)
        moved(x, out=y)
        np.testing.assert_array_equal(y, 1 + np.roll(x, 1, 1))


def test_a_choice_between_runs_is_made_for_a_chunk_at_once():
    kernel = kernel_of(FUNCTIONS["around"], given(100))
    assert kernel.source.count("join_chunks(") == 1
    assert "less" not in kernel.source.split("extern")[1]
    assert "join window" in str(kernel.opcodes)


def test_what_two_read_is_not_joined():
    kernel = kernel_of(lambda x: (x[:, ::-1][:, ::-1], np.roll(x, 1, 1)), given(100))
    assert kernel.source.count("join_chunks(") == 1
    x = given(100)
    for f in (read_twice, chosen_by_column):
        for a, b in zip(np.atleast_3d(ow.fuse(f)(x)), np.atleast_3d(f(x)), strict=True):
            np.testing.assert_array_equal(a, b)


def beside(x):
    y = np.zeros((len(x), 2 * x.shape[1] + 3), x.dtype)
    y[:, : x.shape[1]] = x
    y[:, -x.shape[1] :] = x[::-1]
    return y


def below(x):
    y = np.zeros((2 * len(x) + 1, x.shape[1]), x.dtype)
    y[: len(x)] = x[::-1]
    y[-len(x) :] = x
    return y + 1


def blocks(x):
    m, n = x.shape
    y = np.empty((2 * m, 2 * n), x.dtype)
    y[:m, :n] = x
    y[:m, n:] = x[::-1]
    y[m:, :n] = x * 2
    y[m:, n:] = x
    return y


def inside(x):
    y = np.zeros((len(x), x.shape[1] + 4), x.dtype)
    y[:, 2:-2] = x
    return y, y * 2


def above_one_another(x):
    y = np.zeros((len(x), x.shape[1] + 9), x.dtype)
    y[:, 4:-5] = x
    y[:, 7:-2] = x[::-1]
    return y


def over_ones(x):
    y = np.ones((len(x) + 1, x.shape[1] + 1), x.dtype)
    y[1:, 1:] = x
    return y


def in_the_middle(x):
    cube = np.stack([x, x + 1, x * 2])
    return np.concatenate([cube, cube[:, ::-1]], axis=1) * 2


def in_the_middle_beside_a_row(x):
    cube = np.stack([x, x + 1])
    return np.concatenate([cube, cube[:, 1:]], axis=1) + x[0]


def filled_in_the_middle(x):
    y = np.empty((3, 2 * len(x), x.shape[1]), x.dtype)
    y[:, : len(x)] = x
    y[:, len(x) :] = np.stack([x, x + 1, x * 2])
    return y


FILLED = [
    beside, below, blocks, inside, above_one_another, over_ones, in_the_middle,
    in_the_middle_beside_a_row, filled_in_the_middle,
]  # fmt: skip


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "u1"])
@pytest.mark.parametrize("function", FILLED, ids=lambda f: f.__name__)
def test_parts_of_a_new_array_are_filled(function, dtype):
    fused = ow.fuse(function, fullgraph=True)
    for columns in (1, 5, 8, 20, 63, 65, 130, 300):
        x = given(columns, dtype, rows=1 + columns % 7)
        for found, wanted in zip(np.atleast_3d(fused(x)), np.atleast_3d(function(x)), strict=True):
            np.testing.assert_array_equal(found, wanted, f"{columns} columns")


def test_a_part_that_is_filled_begins_and_ends_within_chunks():
    source = kernel_of(inside, given(100)).source
    assert source.count("join_behind(") == source.count("join_chunks(") == 1
    assert kernel_of(below, given(100)).source.count("join_") == 2
    assert kernel_of(blocks, given(100)).source.count("join_") == 0


def test_short_rows_that_are_joined_in_the_middle_are_one_row():
    x = given(30).reshape(6, 6, 5)
    kernel = kernel_of(lambda x: np.concatenate([x, x], axis=1), x)
    assert "columns n2 * n1" in kernel.source or "columns n3 * n2" in kernel.source
    assert "divided" not in kernel.source


# A grid of a GPU has 65,535 blocks along y; a host counts its chunks itself.
LONG = {
    "stacked": lambda x: np.stack([x[:9_000_000], x[:9_000_000] + np.uint8(1)]),
    "backwards": lambda x: x.reshape(2, -1)[:, ::-1] + np.uint8(1),
    "rolled": lambda x: np.roll(x.reshape(2, -1), 7, 1),
    "padded": lambda x: np.pad(x.reshape(2, -1), ((0, 0), (3, 3))),
}


@pytest.mark.parametrize("of", LONG)
def test_a_row_may_have_more_chunks_than_a_grid_of_a_gpu_has_blocks(of):
    x = np.arange(2 * 65_536 * 128, dtype=np.uint32).astype(np.uint8)

    np.testing.assert_array_equal(ow.fuse(LONG[of])(x), LONG[of](x))


# Of a single row, its number is a value of the row as well.
SINGLE = {
    "rolled": lambda x: np.roll(x, 3, -1),
    "rolled along one": lambda x: np.roll(x, 1, 0),
    "joined": lambda x: np.concatenate([x, x + 1], -1),
    "taken": lambda x: x[np.arange(len(x))[::-1]],
    "repeated": lambda x: np.tile(x, 2),
}


@pytest.mark.parametrize("shape", [(1, 130), (1, 1, 130), (1, 5, 130)])
@pytest.mark.parametrize("of", SINGLE)
def test_a_single_row_is_read_in_chunks(of, shape):
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    fused = ow.fuse(SINGLE[of])
    sources = [kernel.source for kernel in fused.lower(x, target="host").kernels]

    np.testing.assert_array_equal(fused(x), SINGLE[of](x))
    assert not any("read_at" in source for source in sources)
