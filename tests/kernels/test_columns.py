"""Reductions down columns on the host: bands of columns keep the plan of a row, bit for bit."""

import numpy as np
import pytest

import opweave as ow
from tests.support.data import dtype_of

pytestmark = pytest.mark.host


def standardise(x):
    return (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-6)


def extremes(x):
    return x.max(axis=0), x.min(axis=0), np.abs(x).sum(axis=0)


def extremes_of_rows(x):
    return x.max(axis=1), x.min(axis=1) - x.mean(axis=1)


def softmax(x):
    e = np.exp(x - x.max(axis=0))
    return e / e.sum(axis=0)


def chosen_batches(x):
    y = np.where(np.arange(x.shape[0])[:, None, None] % 3 > 0, x, 2 * x)
    return y / np.sqrt((y * y).sum(axis=-1, keepdims=True))


def numbers(*shape, dtype="float32"):
    kind = dtype_of(dtype)
    rng = np.random.default_rng(len(shape))
    if kind.kind in "iub":
        return rng.integers(0, 3, shape).astype(kind)
    return (rng.standard_normal(shape) * 2).astype(kind)


X = numbers(77, 45)
# function and arguments: what a band reads, keeps and stores
CASES = {
    "sum": (lambda x: x.sum(axis=0), X),
    "several passes": (standardise, X),
    "several reductions": (extremes, X),
    "keepdims": (lambda x: x / x.sum(axis=0, keepdims=True), X),
    "fewer rows than lanes": (standardise, X[:5].copy()),
    "one row more than lanes": (standardise, X[:33].copy()),
    "columns of a slice": (standardise, numbers(40, 90)[:, 10:31]),
    "many columns": (softmax, numbers(40, 1003)),
    "a batch": (lambda x: x - x.mean(axis=1, keepdims=True), numbers(3, 50, 21)),
    "a batch of two axes": (lambda x: x.max(axis=2), numbers(2, 3, 50, 21)),
    "a batch behind": (lambda x, w: (x * w).sum(axis=0), numbers(40, 3, 21), numbers(3, 1)),
    "two axes at once": (lambda x: x.var(axis=(0, 1)), numbers(4, 30, 33)),
    "a weight a row": (lambda x, w: (x * (w + 1)).sum(axis=0), X, numbers(77, 1)),
    "a weight a column": (lambda x, w: (x * w).sum(axis=0) + w, X, numbers(45)),
    "one number for all": (lambda x, w: (x * w).sum(axis=0), X, numbers(1, 1)),
    "two results a column": (lambda x: np.modf(x.sum(axis=0)), X),
    "a function a column": (lambda x: x - np.heaviside(x.mean(axis=0), 0.5), X),
    "places of rows": (lambda x: x.argmax(axis=0), X),
    "short rows": (lambda x: x / np.sqrt((x * x).sum(axis=1, keepdims=True)), numbers(77, 3)),
    "short rows of batches": (
        lambda x, y: (x * y).sum(axis=2),
        numbers(5, 1, 4),
        numbers(1, 9, 4),
    ),
    "short rows of few columns": (
        lambda x, y: np.einsum("nij,nj->ni", x, y) / (x * y[:, None]).max(axis=2),
        numbers(77, 3, 3),
        numbers(77, 3),
    ),
    "short rows of few columns of batches": (
        lambda x, y: (x * y[:, :, None] + np.arange(5)).argmax(axis=3),
        numbers(3, 70, 2, 5),
        numbers(3, 70, 5),
    ),
    "short rows of a slice": (extremes_of_rows, numbers(50, 12)[::2, 1:9:3]),
    "places in short rows": (lambda x: x.argmin(axis=-1), numbers(77, 5, dtype="float64")),
    "rows just below a chunk": (lambda x: x.var(axis=-1), numbers(77, 31, dtype="float64")),
    "float16": (standardise, numbers(77, 45, dtype="float16")),
    "bfloat16": (lambda x: x.sum(axis=0), numbers(77, 45, dtype="bfloat16")),
    "float64": (standardise, numbers(77, 45, dtype="float64")),
    "int8": (lambda x: x.sum(axis=0), numbers(77, 45, dtype="int8")),
    "bool": (lambda x: (x.any(axis=0), x.all(axis=0)), numbers(77, 45, dtype="bool")),
    "products": (lambda x: x.prod(axis=0), numbers(77, 45, dtype="int32")),
    "places of batches": (chosen_batches, numbers(9, 21, 3)),
    "places of batches and rows": (
        lambda x: (x * (np.arange(x.shape[0])[:, None, None] + np.arange(x.shape[2]))).max(axis=2),
        numbers(9, 21, 3),
    ),
    "places of columns": (
        lambda x: (x * np.arange(x.shape[1])).sum(axis=0),
        numbers(77, 130),
    ),
    "distances but one's own": (
        lambda x: np.where(
            np.arange(x.shape[0])[:, None] == np.arange(x.shape[0]),
            np.inf,
            ((x[:, None] - x) ** 2).sum(axis=-1),
        ).min(axis=0),
        numbers(70, 3),
    ),
}
names = pytest.mark.parametrize("name", CASES)


def lowered(name, **toggles):
    function, *args = CASES[name]
    return ow.fuse(function).with_toggles(**toggles).lower(*args, target="host"), args


def made(run, args):
    result = run(*args)
    return [np.asarray(r) for r in (result if isinstance(result, tuple) else (result,))]


def same(some, others):
    return all(a.tobytes() == b.tobytes() for a, b in zip(some, others, strict=True))


@names
def test_columns_side_by_side_and_short_rows_are_walked_in_bands(name):
    program, _ = lowered(name)

    assert {k.template for k in program.lowered.kernels} == {"columns"}


@names
def test_bands_keep_their_bounds(name):
    function, *args = CASES[name]

    assert ow.fuse(function).check(*args).ok


@names
def test_fused_bands_are_bitwise_those_of_single_operators(name):
    function, *args = CASES[name]
    fused = ow.fuse(function)

    assert same(made(fused, args), made(fused.unfused(), args))


@names
@pytest.mark.parametrize("columns", [1, 4, 128])
def test_how_many_columns_go_together_changes_no_bit(name, columns):
    program, args = lowered(name)
    others, _ = lowered(name, COLUMNS=columns)

    assert same(made(program, args), made(others, args))


@pytest.mark.parametrize("function", [standardise, extremes, softmax])
def test_columns_that_lie_apart_are_rows_with_the_same_bits(function):
    x, fused = numbers(77, 45), ow.fuse(function)
    apart = np.asfortranarray(x)
    program = fused.lower(apart, target="host")

    assert {k.template for k in program.lowered.kernels} == {"row"}
    assert same(made(fused, [x]), made(fused, [apart]))


@pytest.mark.parametrize("function", [
    lambda x: np.stack([x, x + x, x])[2:5].min(axis=3, keepdims=True),
    lambda x: (x * np.arange(1, x.shape[-1] + 1)).sum(axis=-1),
    lambda x: (x.T * np.arange(x.shape[0])).sum(axis=0),
    lambda x: (x + np.arange(x.shape[0])[:, None, None]).max(axis=-1),
])  # fmt: skip
def test_coordinates_of_columns_are_those_of_each(function):
    x = numbers(7, 256, 13)

    assert same(made(ow.fuse(function, fullgraph=True), [x]), made(function, [x]))


@pytest.mark.parametrize("rows", [2, 3, 8, 31, 32])
def test_short_rows_have_the_bits_of_columns(rows):
    x = numbers(rows, 77)
    across, down = (ow.fuse(lambda x, a=axis: (x * x).sum(axis=a)) for axis in (1, 0))

    assert same(made(across, [np.ascontiguousarray(x.T)]), made(down, [x]))


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "bool", "float16"])
@pytest.mark.parametrize("axis", [0, 1])
def test_narrow_numbers_are_reduced(dtype, axis):
    x = numbers(77, 100, dtype=dtype)
    fused = ow.fuse(lambda x: (x.max(axis=axis), x.min(axis=axis)))

    for ours, numpys in zip(fused(x), (x.max(axis=axis), x.min(axis=axis)), strict=True):
        np.testing.assert_array_equal(numpys, ours)


def test_the_parts_of_a_long_row_are_runs_on_the_host():
    x = numbers(200_003)
    program = ow.fuse(lambda x: x.sum()).lower(x, target="host")

    assert "accumulation plan: 16 runs x 1 thread x 32 lanes" in program.source
    assert program.kernels[0].toggles["USE_RUNS"] == 1


@pytest.mark.parametrize("target", ["host", "sm_80"])
@pytest.mark.parametrize("runs", [0, 1])
@pytest.mark.parametrize("count", [40_000, 65_537, 70_001])
def test_parts_that_are_runs_or_not_keep_the_bound(target, runs, count):
    fused = ow.fuse(lambda x: (x * x).sum()).with_toggles(USE_RUNS=runs)

    assert fused.check(numbers(count), target=target).ok


@pytest.mark.parametrize(
    ("shape", "axis"), [((77, 7), 0), ((77, 45), 1), ((5, 7, 45), (0, 2)), ((5, 9, 45), (1, 2))]
)
def test_few_columns_or_long_rows_make_a_row_kernel(shape, axis):
    program = ow.fuse(lambda x: x.sum(axis=axis)).lower(numbers(*shape), target="host")

    assert [k.template for k in program.lowered.kernels] == ["row"]


def test_the_sum_of_no_rows_is_zero():
    x = np.empty((0, 45), np.float32)
    np.testing.assert_array_equal(ow.fuse(lambda x: x.sum(axis=0))(x), np.zeros(45, np.float32))


def test_no_columns_give_an_empty_result():
    fused = ow.fuse(lambda x: x.sum(axis=0))
    fused(numbers(77, 45))

    assert fused(np.empty((77, 0), np.float32)).shape == (0,)


def test_a_nan_and_an_infinity_stay_in_their_columns():
    x = numbers(77, 45)
    x[3, 4], x[70, 9], x[0, 44] = np.nan, np.inf, -np.inf
    with np.errstate(invalid="ignore"):
        for ours, numpys in zip(ow.fuse(extremes)(x), extremes(x), strict=True):
            np.testing.assert_array_equal(np.isnan(numpys), np.isnan(ours))
            np.testing.assert_array_equal(np.isinf(numpys), np.isinf(ours))


def test_one_program_serves_other_rows_and_columns():
    fused = ow.fuse(standardise)
    for shape in ((77, 45), (1, 45), (300, 46), (64, 64)):
        x = numbers(*shape)
        np.testing.assert_allclose(fused(x), standardise(x), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("rows", [2, 3, 4, 5, 8, 9, 31, 32, 33, 65])
def test_few_rows_have_the_same_bits_however_they_are_walked(rows):
    x = numbers(rows, 70)
    found = ow.fuse(standardise)
    toggles = found.lower(x, target="host").kernels[0].data.toggles
    plain = found.with_toggles(ROWS=0, USE_OWN_LANES=0)

    assert (toggles["ROWS"], toggles["USE_OWN_LANES"]) == (rows * (rows <= 4), rows <= 32)
    assert found(x).tobytes() == plain(x).tobytes()
    assert found.with_toggles(ROWS=0)(x).tobytes() == plain(x).tobytes()


@pytest.mark.parametrize(
    ("shape", "dtype", "columns", "ahead"),
    [
        ((77, 45), "f4", 64, 0),  # a band has whole rows
        ((33, 65), "f4", 64, 4),
        ((32, 2000), "f4", 64, 0),  # few rows: the next band comes soon
        ((90, 1030), "f4", 128, 4),
        ((90, 1030), "f8", 64, 4),  # its running values would fill the nearest cache
    ],
)
def test_where_a_band_asks_for_memory_changes_no_bit(shape, dtype, columns, ahead):
    x = numbers(*shape).astype(dtype)
    found = ow.fuse(standardise)
    toggles = found.lower(x, target="host").kernels[0].data.toggles
    other = found.with_toggles(ROWS_AHEAD=16 if not ahead else 0, COLUMNS=32)

    assert (toggles["COLUMNS"], toggles["ROWS_AHEAD"]) == (columns, ahead)
    assert found(x).tobytes() == other(x).tobytes()


@pytest.mark.parametrize(
    ("toggles", "reason"), [({"ROWS": 3}, "other rows"), ({"USE_OWN_LANES": 1}, "more rows")]
)
def test_rows_that_a_matrix_has_not_are_refused(toggles, reason):
    with pytest.raises(ow.errors.ToggleError, match=reason):
        ow.fuse(standardise).with_toggles(**toggles).lower(numbers(40, 45), target="host")
