"""Reductions over outer axes on a GPU: threads down columns, and blocks that share their rows."""

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.ir.device import ARCHITECTURES
from opweave.compiler.scheduling.reduction_parts import ACROSS, ALONG, BAND, FILLING
from tests.support.data import dtype_of

pytestmark = pytest.mark.host


def standardise(x):
    return (x - x.mean(axis=0)) / (x.std(axis=0) + 1e-6)


def extremes(x):
    return x.max(axis=0), x.min(axis=0), np.abs(x).sum(axis=0)


def numbers(*shape, dtype="float32"):
    kind, rng = dtype_of(dtype), np.random.default_rng(len(shape))
    if kind.kind in "iub":
        return rng.integers(0, 3, shape).astype(kind)
    return (rng.standard_normal(shape) * 2).astype(kind)


X, LONG = numbers(77, 45), numbers(1061, 20)
# function and arguments: what a block and several read, keep and store
CASES = {
    "several passes": (standardise, X),
    "several passes of many rows": (standardise, LONG),
    "several reductions": (extremes, X),
    "several reductions of many rows": (extremes, LONG),
    "keepdims": (lambda x: x / x.sum(axis=0, keepdims=True), X),
    "columns of a slice": (standardise, numbers(40, 90)[:, 10:31]),
    "every other row": (lambda x: x.sum(axis=0), numbers(2300, 12)[::2]),
    "a batch": (lambda x: x - x.mean(axis=1, keepdims=True), numbers(3, 50, 21)),
    "a batch of two axes": (lambda x: x.max(axis=2), numbers(2, 3, 50, 20)),
    "a batch of many rows": (lambda x: x.sum(axis=1), numbers(3, 1061, 4)),
    "two axes at once": (lambda x: x.var(axis=(0, 1)), numbers(40, 30, 12)),
    "a weight a row": (lambda x, w: (x * (w + 1)).sum(axis=0), LONG, numbers(1061, 1)),
    "a weight a column": (lambda x, w: (x * w).sum(axis=0) + w, LONG, numbers(20)),
    "an unaligned weight": (lambda x, w: (x * w).sum(axis=0) + w, LONG, numbers(21)[1:]),
    "one number for all": (lambda x, w: (x * w).sum(axis=0), LONG, numbers(1, 1)),
    "two results a column": (lambda x: np.modf(x.sum(axis=0)), X),
    "places of rows": (lambda x: x.argmax(axis=0), X),
    "places of many rows": (lambda x: x.argmin(axis=0), LONG),
    "columns of a transposed array": (lambda x: x.sum(axis=1), numbers(45, 77).T),
    "float16": (standardise, numbers(1061, 24, dtype="float16")),
    "bfloat16": (lambda x: x.sum(axis=0), numbers(1061, 24, dtype="bfloat16")),
    "float64": (standardise, numbers(77, 46, dtype="float64")),
    "int8": (lambda x: x.sum(axis=0), numbers(1061, 48, dtype="int8")),
    "bool": (lambda x: (x.any(axis=0), x.all(axis=0)), numbers(1061, 48, dtype="bool")),
    "a dtype beside another": (
        lambda x, y: (x * y).max(axis=0),
        numbers(300, 8),
        numbers(300, 8, dtype="uint8"),
    ),
    "complex": (lambda x: (x * (1 + 2j)).sum(axis=0), LONG),
}
names = pytest.mark.parametrize("name", CASES)


def lowered(name, target="sm_80", **toggles):
    function, *args = CASES[name]
    return ow.fuse(function).with_toggles(**toggles).lower(*args, target=target), args


def made(run, args, **how):
    result = run(*args, **how)
    return [np.asarray(r) for r in (result if isinstance(result, tuple) else (result,))]


def same(some, others):
    return all(a.tobytes() == b.tobytes() for a, b in zip(some, others, strict=True))


@names
def test_columns_side_by_side_are_reduced_by_threads_side_by_side(name):
    program, _ = lowered(name)

    assert "outer" in {k.template for k in program.lowered.kernels}
    assert "row" not in {k.template for k in program.lowered.kernels}


@names
def test_results_keep_their_bounds_under_every_schedule(name):
    program, args = lowered(name)

    for schedule in (0, 1, 7):
        assert program.check(*args, schedule=schedule).ok


@names
def test_fused_bits_are_those_of_single_operators(name):
    function, *args = CASES[name]
    program, _ = lowered(name, "sm_90a")
    apart = ow.fuse(function).unfused().lower(*args, target="sm_90a")

    assert same(made(program, args), made(apart, args))


TOGGLES = [{"COLUMNS": 1}, {"ACROSS": 4}, {"USE_WARP_SHUFFLE": 0}, {"USE_64BIT_INDEX": 1}]


@names
@pytest.mark.parametrize("toggles", TOGGLES, ids=lambda t: next(iter(t)))
def test_no_toggle_but_the_plans_changes_a_bit(name, toggles):
    program, args = lowered(name)
    other, _ = lowered(name, **toggles)

    assert same(made(program, args), made(other, args))


@pytest.mark.parametrize("function", [standardise, extremes, lambda x: x.argmax(axis=0)])
@pytest.mark.parametrize("x", [X, LONG], ids=["a block", "several"])
def test_columns_that_lie_apart_are_rows_with_the_same_bits(function, x):
    fused, apart = ow.fuse(function), np.asfortranarray(x)
    program, other = (fused.lower(each, target="sm_80") for each in (x, apart))

    assert "outer" not in {k.template for k in other.lowered.kernels}
    assert same(made(program, [x]), made(other, [apart]))


# one below and above: rows of a thread, of the threads of a class, of a block, of parts
@pytest.mark.parametrize(
    "rows", [0, 1, 3, 4, 5, 31, 32, 33, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 1153, 2311]
)
@pytest.mark.parametrize("columns", [1, 2, 31, 33, 36])
def test_every_number_of_rows_and_columns_is_reduced(rows, columns):
    x = numbers(rows, columns, dtype="int64")
    fused = ow.fuse(lambda x: (x.sum(axis=0), (x + 1).prod(axis=0)))

    total, product = made(fused.lower(x, target="sm_80"), [x])
    assert np.array_equal(total, x.sum(axis=0))
    assert np.array_equal(product, (x + 1).prod(axis=0))


@pytest.mark.parametrize("shape", [(0, 5), (5, 0), (0, 0), (3, 0, 4), (3, 4, 0), (0, 4, 4)])
def test_nothing_is_reduced_as_numpy_does(shape):
    x = numbers(*shape)
    axis = len(shape) - 2

    (found,) = made(ow.fuse(lambda x: x.sum(axis=axis)).lower(x, target="sm_80"), [x])
    assert found.shape == x.sum(axis=axis).shape
    assert not found.any()


@pytest.mark.parametrize(("axis", "shape"), [(0, (5000, 300)), (1, (7, 90_000)), (0, (200, 40))])
def test_a_plan_is_that_of_every_architecture(axis, shape):
    fused = ow.fuse(lambda x: x.sum(axis=axis))
    plans = {
        str(fused.lower(numbers(*shape), target=arch).kernels[0].data.plan)
        for arch in ARCHITECTURES
    }

    assert len(plans) == 1


@pytest.mark.parametrize("cols", [32769, 65536, 2**20, 2**30])
def test_few_long_rows_and_many_fill_a_device_alike(cols):
    for rows in range(1, FILLING + 1):
        parts, whole = ALONG.parts(rows, cols), 2 * cols // (2 * 1024)
        assert rows * parts <= FILLING
        assert 2 * rows * parts > FILLING or 2 * parts > whole // 2

    assert {ALONG.parts(rows, cols) for rows in (FILLING, 10**5)} == {1}


@pytest.mark.parametrize("rows", [1025, 4096, 65536, 2**25])
def test_few_long_columns_and_many_fill_a_device_alike(rows):
    for bands in range(1, FILLING + 1):
        parts = ACROSS.parts(bands * BAND, rows)
        assert bands * parts <= FILLING
        assert 2 * bands * parts > FILLING or 2 * parts > rows // 256

    assert ACROSS.parts(BAND * FILLING * 100, rows) == 1


def test_many_bands_are_counted_along_the_first_axis_of_a_grid():
    x = np.broadcast_to(np.float32(1), (70_000, 3, 2))
    (kernel,) = ow.fuse(lambda x: x.sum(axis=1)).lower(np.array(x), target="sm_80").kernels

    assert kernel.data.template == "outer"
    assert kernel.data.grid({"n0": 70_000, "n1": 3, "n2": 2}) == (70_000, 1, 1)


def test_runs_of_rows_replace_the_plan():
    x = numbers(1061, 20)
    fused = ow.fuse(lambda x: x.sum(axis=0))
    program = fused.with_toggles(USE_RUNS=1).lower(x, target="sm_80")

    assert str(program.kernels[0].data.plan) == "4 runs x 32 threads x 4 lanes"
    assert program.check(x, schedule=1).ok


def test_a_row_has_several_chunks_on_their_way():
    x = numbers(3, 70_001)
    fused = ow.fuse(lambda x: x.sum(axis=1))
    usual, one = (fused.with_toggles(**t).lower(x, target="sm_80") for t in ({}, {"CHUNKS": 1}))

    assert (usual.kernels[0].toggles["CHUNKS"], one.kernels[0].toggles["CHUNKS"]) == (4, 1)
    assert same(made(usual, [x]), made(one, [x]))
