"""Sums of exp(x - max) of long rows: one pass with the maximum, in kernels for a GPU."""

import functools

import ml_dtypes
import numpy as np
import pytest

import opweave as ow

LONG = 33000


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def without_keepdims(x):
    e = np.exp(x - x.max(axis=1)[:, None])
    return e / e.sum(axis=1)[:, None]


def log_softmax(x):
    below = x - np.max(x, axis=-1, keepdims=True)
    return below - np.log(np.sum(np.exp(below), axis=-1, keepdims=True))


def logsumexp(x):
    top = x.max(axis=1)
    return np.log(np.exp(x - top[:, None]).sum(axis=1)) + top


def of_all(x):
    return np.log(np.sum(np.exp(x - np.max(x)))) + np.max(x)


def warm(x):
    return softmax(x / 3)


def masked(x):
    return softmax(np.where(x > -1, x, -np.inf))


def down(x):
    e = np.exp(x - x.max(axis=0))
    return e / e.sum(axis=0)


def of_own(x):
    return ow.softmax(x, axis=1)


def joined(x):
    return np.logaddexp.reduce(x, axis=1)


def cooled_later(x):
    e = np.exp((x - x.max(axis=1, keepdims=True)) / 3)
    return e / e.sum(axis=1, keepdims=True)


def of_another(x):
    return np.exp(x - np.abs(x).max(axis=1, keepdims=True)).sum(axis=1)


def along_another(x):
    return np.exp(x - x.max(axis=0)).sum(axis=1)


def draw(shape, dtype=np.float32):
    return (np.random.default_rng(1).standard_normal(shape) * 3).astype(dtype)


def is_one_pass(program):
    return any(node.operator.name == "exp_sum" for node in program.lowered.graph.nodes)


@pytest.mark.parametrize(("function", "shape", "kernels"), [
    (softmax, (3, LONG), 2), (without_keepdims, (3, LONG), 2), (log_softmax, (3, LONG), 2),
    (logsumexp, (3, LONG), 1), (of_all, (3, LONG), 1), (warm, (3, LONG), 2),
    (masked, (3, LONG), 2), (down, (LONG, 3), 2), (down, (300, 3), 1), (of_own, (3, LONG), 2),
    (joined, (3, LONG), 1), (softmax, (300, LONG), 1),
])  # fmt: skip
def test_usual_spellings_take_the_sum_with_the_maximum(function, shape, kernels):
    program = ow.fuse(function).lower(np.ones(shape, np.float32), target="sm_90a")

    assert is_one_pass(program)
    assert kernels == len(program.kernels)


@pytest.mark.parametrize(("function", "shape", "target"), [
    (softmax, (3, LONG), "host"), (softmax, (3, 32768), "sm_90a"), (down, (256, 3), "sm_90a"),
    (cooled_later, (3, LONG), "sm_90a"), (of_another, (3, LONG), "sm_90a"),
    (along_another, (LONG, LONG), "sm_90a"),
])  # fmt: skip
def test_other_sums_stay_as_they_are(function, shape, target):
    x = np.lib.stride_tricks.as_strided(np.ones(1, np.float32), shape, (4 * shape[1], 4))
    program = ow.fuse(function).lower(x, target=target)

    assert not is_one_pass(program)


CASES = [
    (softmax, "float32", "sm_75"), (softmax, "float32", "sm_90a"), (log_softmax, "float16", "sm_80"),
    (softmax, "bfloat16", "sm_75"), (softmax, "bfloat16", "sm_90a"), (logsumexp, "float64", "sm_80"),
    (joined, "float32", "sm_80"), (down, "float32", "sm_80"), (down, "bfloat16", "sm_90a"),
    (masked, "float32", "sm_80"),
]  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize(("function", "dtype", "target"), CASES)
def test_results_keep_the_bound_and_are_those_of_unfused_kernels(function, dtype, target):
    dtype = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    x = draw((1100, 3) if function is down else (2, LONG + 1), dtype)
    fused = ow.fuse(function)
    program = fused.lower(x, target=target)
    apart = fused.unfused().lower(x, target=target)

    assert is_one_pass(program)
    assert is_one_pass(apart)
    assert program.check(x).ok
    assert program(x).tobytes() == apart(x).tobytes()


@pytest.mark.host
@pytest.mark.parametrize("toggles", [
    {}, {"USE_VECTOR_IO": 0}, {"CHUNKS": 1}, {"USE_WARP_SHUFFLE": 0}, {"USE_64BIT_INDEX": 1},
])  # fmt: skip
def test_no_toggle_changes_a_bit(toggles):
    x, fused = draw((2, LONG)), ow.fuse(logsumexp)
    plain, other = (
        f.lower(x, target="sm_80")(x) for f in (fused, fused.with_toggles(**toggles))
    )  # fmt: skip

    assert plain.tobytes() == other.tobytes()


def special_rows(count):
    """Rows whose maximum is in no usual place, or is no number."""
    rows = draw((8, count))
    rows[0], rows[1] = np.linspace(-90, 90, count), np.linspace(90, -90, count)
    rows[2], rows[3, 7], rows[4, 7:99] = -np.inf, np.nan, np.inf
    rows[5, ::2], rows[6], rows[7] = -np.inf, np.finfo(np.float32).min, 1e38
    rows[6, 5], rows[7, 3] = -np.inf, -1e38
    return rows


@pytest.mark.host
@pytest.mark.parametrize("function", [softmax, log_softmax, logsumexp, joined])
def test_rows_of_infinities_and_nan_are_as_by_numpy(function):
    x = special_rows(LONG)
    fused = ow.fuse(function)
    found = fused.lower(x, target="sm_90a")(x)
    with np.errstate(all="ignore"):
        expected = function(x.astype(np.float64))

    np.testing.assert_allclose(found, expected, rtol=3e-5, atol=1e-30, equal_nan=True)
    assert fused.lower(x, target="sm_90a").check(x).ok


@pytest.mark.host
@pytest.mark.parametrize("parts", [1, 16])
def test_rows_of_one_block_and_slices_of_rows_keep_their_bounds(parts):
    x = draw((2, LONG + 3))[:, 1:]
    program = ow.fuse(softmax).with_toggles(PARTS=parts).lower(x, target="sm_80")

    assert is_one_pass(program)
    assert len(program.kernels) == 1 + (parts > 1)
    assert program.check(x).ok


@pytest.mark.parametrize("function", [softmax, logsumexp])
def test_a_row_of_no_elements_is_refused_as_by_numpy(function):
    fused, x = ow.fuse(function), np.ones((3, 0), np.float32)
    with pytest.raises(ValueError, match="zero"):
        fused.lower(x, target="sm_80")(x)


@functools.cache
def by_ptx(schedule, target="sm_80"):
    x = draw((3, 32790))
    program = ow.fuse(softmax).lower(x, target=target)
    return program.verify(x, executor="ptx", schedule=schedule).tobytes()


@pytest.mark.host
@pytest.mark.nvrtc
@pytest.mark.parametrize("schedule", [1, 2, 3])
def test_no_schedule_of_the_ptx_changes_a_bit(schedule):
    assert by_ptx(0) == by_ptx(schedule)


@pytest.mark.nvrtc
@pytest.mark.parametrize(("function", "rows", "reads"), [
    (softmax, 300, 2), (logsumexp, 300, 1), (logsumexp, 16, 1),
    (softmax, 16, 2),
])  # fmt: skip
def test_a_row_is_read_once_for_its_sum(function, rows, reads):
    x = np.empty((rows, 65536), np.float32)
    kernels = ow.profile(ow.fuse(function), x, target="H200").kernels
    sectors = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
    read = sum(kernel.counters[sectors] for kernel in kernels) * 32 / x.nbytes

    assert read == pytest.approx(reads, rel=0.03)
