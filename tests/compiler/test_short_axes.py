"""Tables of few columns: joins and choices of columns are loops over rows, no place is computed."""

import numpy as np
import pytest

import opweave as ow

RNG = np.random.default_rng(20261127)
BOXES = RNG.standard_normal((301, 4)).astype(np.float32)
LEFT, RIGHT = RNG.standard_normal((2, 57, 23)).astype(np.float32)
LINE, OTHER = RNG.integers(-99, 99, (2, 200)).astype(np.int16)


def corners(b):
    half = b[:, 2:] * 0.5
    return np.concatenate([b[:, :2] - half, b[:, :2] + half], axis=1)


def columns_filled(b):
    made = np.empty_like(b)
    made[:, 0], made[:, 1] = b[:, 1], b[:, 0] + 1
    made[:, 2], made[:, 3] = b[:, 3], -b[:, 2]
    return made


def a_column_changed(b):
    made = b * 2
    made[:, -1] += b[:, 0]
    return made


def with_ones(b):
    return np.concatenate([b, np.ones((b.shape[0], 1), b.dtype)], axis=1)


def every_second(x, y):
    made = np.zeros(x.shape[0] * 2, x.dtype)
    made[::2], made[1::2] = x, y
    return made


def every_second_of_rows(x, y):
    made = np.empty((x.shape[0], 2 * x.shape[1]), x.dtype)
    made[:, 1::2], made[:, ::2] = x, y * 2
    return made


def one_of_three(x, y):
    made = np.full(x.shape[0] * 3, 7, x.dtype)
    made[1::3] = x - y
    return made


def joined_twice(x, y):
    few = np.concatenate([x[:, :1], y[:, :2]], axis=1)
    more = np.concatenate([few * 2, x[:, 3:4]], axis=1)
    return np.roll(more, 1, axis=1)


def of_some_rows(x):
    made = x * 2
    made[1:, ::2] = 3
    return made


def into_an_argument(x, y):
    x[::2] = y[::2]
    return x


def of_rows_and_steps(b):
    return np.stack([b[1::2, 3], b[:-1:2, 0] + b[1::2, 1]], axis=1)


# Each is one kernel over pixels.
OF_PIXELS = {
    "corners of boxes": (corners, BOXES),
    "columns filled one by one": (columns_filled, BOXES),
    "a column changed": (a_column_changed, BOXES),
    "columns exchanged": (lambda b: np.roll(b, 1, axis=1) + 0, BOXES),
    "a column of ones": (with_ones, BOXES[:, :3].copy()),
    "padded columns": (lambda b: np.pad(b, ((0, 0), (1, 2))), BOXES),
    "joined in depth": (lambda x, y: np.dstack([x, y, x * y]), LEFT, RIGHT),
    "columns side by side": (lambda x, y: np.column_stack([x, y, x + y]), LINE, OTHER),
    "stacked, of functions": (lambda x, y: np.stack([np.sin(x), np.cos(y)], -1), LEFT, RIGHT),
    "and scaled behind": (lambda x, y: np.stack([x, y], -1) * [2, 3], LINE, OTHER),
    "joins of joins": (joined_twice, BOXES, BOXES[::-1].copy()),
    "columns of some rows": (of_rows_and_steps, BOXES[:300].copy()),
    "every second element": (every_second, LINE, OTHER),
    "every second column": (every_second_of_rows, LEFT, RIGHT),
    "every third over a number": (one_of_three, LINE, OTHER),
}
# What the same rule must leave to loops over elements or rows.
OF_OTHERS = {
    "halves of a line": (lambda x, y: np.concatenate([x, y]), LINE, OTHER),
    "wide halves": (lambda x, y: np.concatenate([x, y], axis=1), LEFT, RIGHT),
    "a row of each": (lambda x, y: np.stack([x, y]), LINE, OTHER),
    "summed along the columns": (lambda b: np.roll(b, 1, axis=1).sum(axis=1), BOXES),
    "rows by numbers from memory": (lambda b: b[np.abs(b[:, 0]).astype(int) % 9], BOXES),
    "in steps that leave a rest": (lambda x, y: _in_steps(x, y, 3), LINE, OTHER),
    "every second column of some rows": (of_some_rows, BOXES),
    "into an argument in steps": (into_an_argument, LINE, OTHER),
    "columns at places from memory": (
        lambda x, y: np.stack([x[np.abs(y) % 5], y], -1),
        LINE,
        OTHER,
    ),
    "an argument in steps": (lambda x, y: x[::2] - y[::2], LINE, OTHER),
}


def _in_steps(x, y, step):
    made = x * 1
    made[::step] = y[::step]
    return made


def forms(function, arguments):
    return [k.data.template for k in ow.fuse(function).lower(*arguments).kernels]


@pytest.mark.parametrize("name", OF_PIXELS)
def test_tables_of_few_columns_are_one_loop_over_rows(name):
    function, *arguments = OF_PIXELS[name]

    assert forms(function, arguments) == ["pixel"]


@pytest.mark.parametrize("name", OF_OTHERS)
def test_other_joins_are_none(name):
    function, *arguments = OF_OTHERS[name]

    assert "pixel" not in forms(function, arguments)


@pytest.mark.host
@pytest.mark.parametrize("name", OF_PIXELS | OF_OTHERS)
def test_elements_are_those_of_numpy(name):
    function, *arguments = (OF_PIXELS | OF_OTHERS)[name]
    fused = ow.fuse(function)
    made, wanted, one_by_one = (
        of(*(a.copy() for a in arguments)) for of in (fused, function, fused.unfused())
    )

    assert made.dtype == wanted.dtype
    np.testing.assert_allclose(made, wanted, rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(made, one_by_one)


@pytest.mark.host
@pytest.mark.parametrize("name", OF_PIXELS)
def test_a_gpus_threads_make_the_same(name):
    function, *arguments = OF_PIXELS[name]
    program = ow.fuse(function).lower(*arguments, target="sm_80")

    np.testing.assert_allclose(
        program.verify(*arguments), function(*arguments), rtol=1e-6, atol=1e-6
    )


def test_a_table_of_as_many_columns_is_read_once_by_wide_accesses():
    source = ow.fuse(corners).lower(BOXES, target="sm_90a").kernels[0].source

    assert source.count("__restrict__") == 2
    assert "load_pixels(b_v[c]" in source


def test_what_is_one_kernel_in_the_end_is_not_said_to_be_refused():
    program = ow.fuse(corners).lower(BOXES, target="sm_90a")

    assert len(program.kernels) == 1
    assert "not fused" not in str(ow.fuse(corners).explain(BOXES, target="sm_90a"))


def test_columns_that_are_summed_over_are_read_one_by_one():
    (kernel,) = ow.fuse(lambda b: np.roll(b, 1, axis=1).sum(axis=1)).lower(BOXES).kernels

    assert kernel.source.count("const float* __restrict__") == 1


@pytest.mark.host
def test_columns_are_fixed_for_a_call_and_not_for_the_next():
    fused = ow.fuse(with_ones)

    for columns in (3, 2, 40, 3, 7, 8, 1):
        b = RNG.standard_normal((5, columns))
        np.testing.assert_array_equal(fused(b), with_ones(b))


@pytest.mark.host
def test_rows_of_steps_are_whole_or_none():
    def every_third(x):
        made = x * 2
        made[1::3] = 0
        made[2::3] += x[2::3]
        return made

    fused = ow.fuse(every_third)
    for extent in (9, 10, 11, 12, 3, 2, 300, 0):
        x = RNG.standard_normal(extent)
        np.testing.assert_array_equal(fused(x), every_third(x))


@pytest.mark.host
def test_what_is_assigned_in_steps_has_to_fit():
    def too_many(x, y):
        made = x * 2
        made[::2] = y
        return made

    x, y = np.zeros((2, 8))
    with pytest.raises(ValueError, match="do not fit|broadcast"):
        ow.fuse(too_many)(x, y)


# Columns that are all alike, and what reads single ones of them.
def alike(x, count=3):
    return np.repeat(x, count, axis=1)


ALIKE = {
    "turned around": lambda x: np.flip(alike(x), 1).sum(1),
    "shifted": lambda x: np.roll(alike(x, 4) * 2.0, 2, axis=1).std(1),
    "rows shifted": lambda x: np.roll(alike(x), 1, axis=0).sum(1),
    "rows by numbers": lambda x: (alike(x) * 2)[[1, 0]],
    "rows backwards": lambda x: np.repeat(x[..., None], 3, axis=2)[::-1] * 2,
    "turned": lambda x: alike(x).T + 1,
    "multiplied": lambda x: np.pad(x, ((0, 0), (1, 1)), mode="edge").T @ np.ones(len(x)),
    "every second row": lambda x: np.pad(x, ((0, 0), (0, 3)), mode="edge")[::2] * 3,
    "repeated again": lambda x: alike(alike(x, 2), 2).sum(1),
    "joined": lambda x: np.concatenate([alike(x), x * 2], 1).sum(1),
    "taken": lambda x: np.take_along_axis(alike(x), np.array([[0, 2]] * 5), 1),
    "of two results": lambda x: np.divmod(alike(x), 2)[1].sum(1),
    "returned": lambda x: alike(x) + alike(x),
}


@pytest.mark.host
@pytest.mark.parametrize("name", ALIKE)
def test_columns_that_are_alike_are_as_many(name):
    x = np.arange(1.0, 6).reshape(5, 1)
    fused, wanted = ow.fuse(ALIKE[name]), ALIKE[name](x)

    for made in (fused(x), fused.unfused()(x)):
        assert made.shape == wanted.shape
        np.testing.assert_allclose(made, wanted)


# Tables of three columns, all of whose rows are one: what is chosen has their rows, too.
OF_ONE_ROW = {
    "tiled": lambda c: np.tile(np.broadcast_to(c, (2, 3)), 2),
    "tiled behind a scan": lambda c: np.tile(np.broadcast_to(np.cumsum(c), (2, 3)), 2),
    "of three dimensions": lambda c: np.tile(np.broadcast_to(c * 2, (5, 2, 3)), 2),
    "joined": lambda c: np.concatenate(
        [np.broadcast_to(np.cumsum(c), (4, 3)), np.broadcast_to(c + 1, (4, 3))], axis=1
    ),
    "rolled": lambda c: np.roll(np.broadcast_to(np.cumsum(c), (4, 3)), 1, axis=1),
    "rolled twice": lambda c: np.roll(
        np.roll(np.broadcast_to(c * 2, (4, 3)), 1, axis=1), 1, axis=0
    ),
    "rows that differ": lambda c: np.tile(
        np.broadcast_to(c, (2, 3)) * np.array([[1], [2]], "f4"), 2
    ),
}


@pytest.mark.parametrize("target", ["host", "sm_80"])
@pytest.mark.parametrize("case", OF_ONE_ROW)
def test_rows_that_are_one(case, target):
    function, c = OF_ONE_ROW[case], np.array([1, 2, 5], np.float32)
    found = ow.fuse(function).lower(c, target=target)(c)

    assert found.shape == function(c).shape
    np.testing.assert_array_equal(found, function(c))
