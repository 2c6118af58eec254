"""Counts of elements by their values: ``np.bincount``, on a GPU by shared memory and atomics."""

import re
from dataclasses import replace

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.ir.device import ARCHITECTURES, DEVICES
from opweave.compiler.kernels.counting import MOST_COUNTED
from opweave.opcodes import errors
from opweave.runtime.simt.by_ptx import PtxExecutor
from tests.support.variants import ON_GPU

pytestmark = [pytest.mark.host, pytest.mark.nvrtc]
RNG = np.random.default_rng(11)
SMALL = replace(DEVICES["T4"], name="small", shared_bytes=16 * 1024)
ONE = replace(SMALL, name="one", sms=1)
NUMBERS = RNG.integers(0, 200, 5003)


def counts(x):
    return np.bincount(x, minlength=200)


def of(bins):
    return lambda x: np.bincount(x, minlength=bins)


def lowered(function, x, target="sm_80", **toggles):
    return ow.fuse(function, fullgraph=True).with_toggles(**toggles).lower(x, target=target)


def verified(program, x):
    """The result by each way to run a kernel without a GPU, which all are the same."""
    ways = (
        {},
        {"schedule": 1},
        {"schedule": 5},
        {"executor": "ptx"},
        {"executor": "ptx", "schedule": 3},
    )
    first, *others = (program.verify(x, **way) for way in ways)
    assert all(other.tobytes() == first.tobytes() for other in others)
    return first


KINDS = {
    **{dtype: NUMBERS.astype(dtype) for dtype in ("u1", "i2", "u2", "i4", "u4", "i8")},
    "bool": NUMBERS > 60,
    "int8": (NUMBERS // 2).astype("i1"),
    "every third": NUMBERS[::3],
    "backwards": NUMBERS[::-1],
    "misaligned": NUMBERS.astype("i4")[1:],
    "nothing": NUMBERS[:0],
    "one": NUMBERS[:1],
    "a column": NUMBERS[:5000].reshape(100, 50)[:, 7],
    "all the same": np.full(4099, 7),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", ["sm_75", "sm_90a"])
def test_counts_of_any_type_and_layout_are_numpys(kind, target):
    x = KINDS[kind]
    found = verified(lowered(counts, x, target), x)

    assert found.dtype == np.int64
    np.testing.assert_array_equal(found, np.bincount(x, minlength=200))


LENGTHS = [1, 2, 511, 512, 513, 1023, 1025, 4096, 4097]


@pytest.mark.parametrize("length", LENGTHS)
def test_any_number_of_elements_is_counted(length):
    x = RNG.integers(0, 9, length).astype(np.int32)

    for toggles in ({}, {"CHUNKS": 4, "BLOCK": 32}, {"USE_SHARED_MEMORY": 0}):
        program = lowered(of(9), x, **toggles)
        np.testing.assert_array_equal(program.verify(x), np.bincount(x, minlength=9))


# Bins, device, copies, whether they lie in shared memory.
PLACES = [
    (1, "sm_80", 32, 1), (2, "sm_80", 32, 1), (256, "sm_80", 32, 1), (256, "sm_75", 16, 1),
    (5000, "sm_80", 2, 1), (12_287, "sm_80", 1, 1), (12_288, "sm_80", 1, 0), (70_000, "sm_90a", 1, 0),
    (256, SMALL, 4, 1), (1000, SMALL, 2, 1), (3839, SMALL, 1, 1), (3840, SMALL, 1, 0), (256, ONE, 4, 1),
]  # fmt: skip


@pytest.mark.parametrize(("bins", "target", "copies", "shared"), PLACES)
def test_bins_lie_in_shared_memory_where_they_fit(bins, target, copies, shared):
    x = RNG.integers(0, bins, 3001)
    program = lowered(of(bins), x, target)
    kernel = program.lowered.kernels[0]

    assert (kernel.toggles["COPIES"], kernel.toggles["USE_SHARED_MEMORY"]) == (copies, shared)
    assert kernel.shared_bytes <= getattr(target, "shared_bytes", 48 * 1024)
    np.testing.assert_array_equal(program.verify(x), np.bincount(x, minlength=bins))


def test_a_device_of_one_multiprocessor_counts_in_few_blocks():
    x = RNG.integers(0, 99, 2**17).astype(np.uint8)
    program = lowered(of(256), x, ONE, BLOCK=512)

    assert program.lowered.kernels[0].grid({"n0": 2**17}) == (4, 1, 1)
    np.testing.assert_array_equal(program.verify(x), np.bincount(x, minlength=256))


@pytest.mark.parametrize(("elements", "blocks"), [(0, 1), (2**36, 32), (2**40, 512)])
def test_a_block_counts_no_more_than_its_counters_hold(elements, blocks):
    kernel = lowered(of(256), np.zeros(100, np.uint8), ONE).lowered.kernels[0]

    assert kernel.grid({"n0": elements}) == (blocks, 1, 1)
    assert elements // blocks <= MOST_COUNTED


def test_elements_beyond_31_bits_take_indices_of_64():
    x = np.lib.stride_tricks.as_strided(np.zeros(1, np.uint8), (2**31,), (0,))
    toggles = lowered(of(256), x).lowered.kernels[0].toggles

    assert toggles["USE_64BIT_INDEX"] == 1
    wide = lowered(counts, NUMBERS, USE_64BIT_INDEX=1)
    np.testing.assert_array_equal(verified(wide, NUMBERS), counts(NUMBERS))


@pytest.mark.parametrize("variant", ON_GPU, ids=lambda v: v.name)
def test_counts_are_one_kernel_for_every_architecture(variant):
    for target in ARCHITECTURES:
        (kernel,) = lowered(variant.function, *variant.arguments(), target).lowered.kernels
        assert kernel.template == "count"


MAPS = {
    "of a quotient": lambda x: np.bincount(x // 3, minlength=99),
    "of a table": lambda x: np.bincount(np.array([3, 1, 2] * 70)[x], minlength=4),
    "of a picture": lambda x: np.bincount(
        (x.reshape(-1, 1) + np.arange(3)).ravel(), minlength=300
    ),
    "of bits": lambda x: np.bincount(x > 3, minlength=2),
    "then more": lambda x: np.bincount(x, minlength=256).cumsum() / x.size,
    "of two": lambda x: np.bincount(x, minlength=256) - np.bincount(x // 2, minlength=256),
    "twice": lambda x: np.bincount(np.bincount(x, minlength=200) % 50, minlength=50),
}


@pytest.mark.parametrize("name", MAPS)
def test_counts_are_a_part_of_a_whole(name):
    function = MAPS[name]
    program = lowered(function, NUMBERS)

    np.testing.assert_array_equal(verified(program, NUMBERS), function(NUMBERS))
    assert program.check(NUMBERS).ok


def test_maps_before_a_count_share_its_kernel():
    (kernel,) = lowered(lambda x: np.bincount(x * 3 % 7 + 1, minlength=8), NUMBERS).kernels

    assert kernel.data.template == "count"
    assert [line.name for line in kernel.opcodes if line.where.line][-1] == "bincount"
    assert "a block counts one array" in str(
        ow.fuse(MAPS["of two"]).explain(NUMBERS, target="sm_80")
    )


BAD = {
    "negative": NUMBERS - 1,
    "the lowest": np.array([3, np.iinfo(np.int64).min]),
    "too large": NUMBERS + 1,
    "the largest": np.array([3, np.iinfo(np.int64).max]),
    "beyond 32 bits": np.array([3, 2**32 + 5]),
    "a small negative": np.array([3, -1], np.int8),
    "a large uint32": np.array([3, 2**32 - 1], np.uint32),
}


@pytest.mark.parametrize("kind", BAD)
@pytest.mark.parametrize("toggles", [{}, {"USE_SHARED_MEMORY": 0}], ids=str)
def test_an_element_without_a_bin_is_noted_wherever_kernels_run(kind, toggles):
    program = lowered(counts, BAD[kind], **toggles)

    for executor in ("simt", "ptx"):
        with pytest.raises(
            errors.BoundsError, match=r"none of the 200 bins that are counted \(test_counts.py:"
        ):
            program.verify(BAD[kind], executor=executor)
    with pytest.raises(errors.BoundsError, match="none of the 200 bins that are counted"):
        program.reference(BAD[kind])


@pytest.mark.parametrize(("dtype", "bins", "notes"), [
    ("u1", 256, False), ("u1", 300, False), ("u1", 255, True), ("u2", 65_536, False),
    ("bool", 2, False), ("bool", 1, True), ("i1", 256, True), ("i8", 10**6, True),
])  # fmt: skip
def test_only_what_may_have_no_bin_is_looked_at(dtype, bins, notes):
    program = lowered(of(bins), np.zeros(9, dtype))

    assert ("outside" in program.source) is notes
    assert program.lowered.kernels[0].refuses is notes


REFUSED = {
    "no number of bins": lambda x: np.bincount(x),
    "bins by data": lambda x: np.bincount(x, minlength=0),
    "weights": lambda x: np.bincount(x, x, 200),
    "a matrix": lambda x: np.bincount(x.reshape(1, -1), minlength=200),
    "floats": lambda x: np.bincount(x / 2, minlength=200),
    "uint64": lambda x: np.bincount(x.astype(np.uint64), minlength=200),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_no_kernel_counts_is_refused(name):
    with pytest.raises((errors.UnsupportedError, errors.DTypeError), match="bincount"):
        lowered(REFUSED[name], NUMBERS)


@pytest.mark.parametrize("kind", KINDS)
def test_counts_on_the_host_are_numpys(kind):
    x = KINDS[kind]
    fused, program = ow.fuse(counts), lowered(counts, x, "host")

    assert [kernel.data.template for kernel in program.kernels] == ["count"]
    for found in (program(x), fused(x), fused(x), fused.unfused()(x)):
        assert found.dtype == np.int64
        np.testing.assert_array_equal(found, counts(x))


@pytest.mark.parametrize(
    "toggles", [{"USE_RUNS": 0}, {"USE_SHARED_MEMORY": 0}, {"COPIES": 32}, {}], ids=str
)
@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 32768, 100_000, 1_000_001])
def test_blocks_of_the_host_have_runs_or_take_turns(toggles, length):
    x = RNG.integers(0, 90, length)
    program = lowered(of(90), x, "host", **toggles)
    np.testing.assert_array_equal(program(x), np.bincount(x, minlength=90))


def test_bins_that_no_cache_holds_are_numpys():
    x = RNG.integers(0, 2**17, 5000)
    assert ow.fuse(of(2**17))(x).tobytes() == of(2**17)(x).tobytes()
    with pytest.raises(errors.UnsupportedError, match="from 1 to 65536, found 131072"):
        lowered(of(2**17), x, "host")
    assert lowered(of(2**16), x, "host")(x % 2**16).sum() == len(x)


ELSEWHERE = {"negative": -1, "too large": 200, "much too large": 2**40}


@pytest.mark.parametrize("kind", ELSEWHERE)
def test_an_element_without_a_bin_leaves_the_call_to_numpy(kind):
    """Also of calls that C knows, which write nothing before."""

    def tallied(x, y):
        y[:] = y + x[:3]
        return np.bincount(x, minlength=200), np.bincount(x // 2, minlength=200)

    x, fused = NUMBERS.copy(), ow.fuse(tallied)
    for wrong in (False,) * 6 + (True,) * 3 + (False,):
        given = x.copy()
        given[4000] = ELSEWHERE[kind] if wrong else 7
        ys = np.ones(3, int), np.ones(3, int)
        if wrong and kind != "too large":
            error = ValueError if kind == "negative" else MemoryError
            with pytest.raises(error):
                tallied(given, ys[0])
            with pytest.raises(error):
                fused(given, ys[1])
        else:
            for found, expected in zip(fused(given, ys[1]), tallied(given, ys[0]), strict=True):
                np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(*ys)


def test_a_function_that_catches_what_numpy_raises_is_no_whole():
    def caught(x):
        try:
            return np.bincount(x, minlength=4)
        except ValueError:
            return x

    with pytest.raises(errors.OpweaveError, match="bincount, where the function may catch"):
        lowered(caught, NUMBERS)
    assert lowered(lambda x: np.bincount(x, minlength=256), NUMBERS.astype("u1")).verify(
        NUMBERS.astype("u1")
    ).sum() == len(NUMBERS)


def counted_by_ptx(x, bins, **toggles):
    program, executor = lowered(of(bins), x, **toggles), PtxExecutor(counting=True)
    program.run_by(executor, program.arguments((x,), {}))
    return executor.seen[0]


def test_copies_keep_the_threads_of_a_warp_from_one_address():
    """Of 2,048 elements that are all the same, by one block."""
    same = np.full(2048, 3, np.uint8)
    most = {copies: counted_by_ptx(same, 256, COPIES=copies).most_on_one_address
            for copies in (1, 8, 32)}  # fmt: skip

    assert most == {1: 2048, 8: 256, 32: 64}
    assert counted_by_ptx(same, 256, USE_SHARED_MEMORY=0).most_on_one_address == 2048


def test_a_block_adds_to_memory_once_for_each_bin_that_it_has():
    x = np.arange(4096).astype(np.int32) % 256
    seen = counted_by_ptx(x, 256, BLOCK=128, CHUNKS=1)

    assert seen.blocks == 8
    assert seen.accesses("global", "atomic").asked == 8 * 8 * 256
    assert seen.accesses("shared", "atomic").asked == 4 * 4096
    assert seen.accesses("shared", "atomic").conflicts == 0


@pytest.mark.parametrize("copies", [1, 2, 4, 8, 16, 32])
def test_no_two_threads_of_a_warp_meet_in_a_bank_when_copies_are_added_up(copies):
    seen = counted_by_ptx(np.arange(512).astype(np.uint8), 256, COPIES=copies)

    assert seen.accesses("shared", "load").conflicts == 0
    assert seen.accesses("shared", "store").conflicts == 0


@pytest.mark.parametrize("number", [0, 1])
def test_a_barrier_taken_out_is_found(number):
    program = lowered(counts, NUMBERS)
    parts = program.source.split("__syncthreads();")
    assert len(parts) == 3
    joined = [*["__syncthreads();"] * 2]
    joined[number] = ";"
    source = parts[0] + joined[0] + parts[1] + joined[1] + parts[2]
    report = ow.sanitize(program.compile(source=source), NUMBERS, schedules=2)

    assert "shared-race" in {f.kind for f in report.findings}


def test_a_count_that_is_no_atomic_is_found():
    program = lowered(counts, NUMBERS)
    plain = re.sub(r"atomicAdd_block\((.*), 1u\);", r"*(\1) += 1u;", program.source)
    assert plain != program.source
    report = ow.sanitize(program.compile(source=plain), NUMBERS, schedules=2)

    assert "shared-race" in {f.kind for f in report.findings}
