"""Verify mode gives CUDA C its meaning on a CPU, and reports what a GPU would hang on."""

import numpy as np
import pytest

import opweave as ow
from tests.support.simt import line_of, run_source

pytestmark = pytest.mark.host
SCHEDULES = [0, 1, 2, 3, 99]

ROTATE = """
extern "C" __global__ void rotate(const int* x, int* y)
{
    __shared__ int tile[64];
    tile[threadIdx.x] = x[blockIdx.x * blockDim.x + threadIdx.x];
    __syncthreads();
    y[blockIdx.x * blockDim.x + threadIdx.x] = tile[(threadIdx.x + 1) % blockDim.x];
}
"""


@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_barrier_separates_writes_from_reads(schedule):
    x = np.arange(256, dtype=np.int32)
    _, y = run_source(ROTATE, "rotate", 4, 64, [x, np.zeros_like(x)], schedule=schedule)

    np.testing.assert_array_equal(np.roll(x.reshape(4, 64), -1, 1).reshape(-1), y)


def test_without_the_barrier_some_schedule_gives_another_result():
    x = np.arange(256, dtype=np.int32)
    expected = np.roll(x.reshape(4, 64), -1, 1).reshape(-1)
    broken = ROTATE.replace("__syncthreads();", "")
    runs = [run_source(broken, "rotate", 4, 64, [x, x * 0], schedule=s)[1] for s in SCHEDULES]

    assert any((run != expected).any() for run in runs)


BAD = """
extern "C" __global__ void bad(int* y)
{
    y[1 << 30] = 1;
}
"""
SHUFFLES = [
    ("__shfl_sync(0xffffffffu, v, 3)", lambda v: np.full(32, v[3])),
    ("__shfl_sync(0xffffffffu, v, 1, 8)", lambda v: np.repeat(v.reshape(4, 8)[:, 1], 8)),
    ("__shfl_down_sync(0xffffffffu, v, 4)", lambda v: np.r_[v[4:], v[28:]]),
    ("__shfl_up_sync(0xffffffffu, v, 2)", lambda v: np.r_[v[:2], v[:-2]]),
    ("__shfl_xor_sync(0xffffffffu, v, 1)", lambda v: v.reshape(16, 2)[:, ::-1].reshape(-1)),
    ("(int)__ballot_sync(0xffffffffu, v % 3 == 0)", lambda v: np.full(
        32, np.int64(sum(1 << i for i in range(32) if v[i] % 3 == 0)).astype(np.int32))),
    ("__any_sync(0xffffffffu, v == 7)", lambda v: np.full(32, (v == 7).any())),
    ("__all_sync(0xffffffffu, v == 7)", lambda v: np.full(32, (v == 7).all())),
]  # fmt: skip


@pytest.mark.parametrize(("expression", "meaning"), SHUFFLES, ids=[s[0][:28] for s in SHUFFLES])
@pytest.mark.parametrize("schedule", [0, 1, 5])
def test_warp_functions_exchange_between_lanes(expression, meaning, schedule):
    source = f"""
extern "C" __global__ void warp(const int* x, int* y)
{{
    const int v = x[threadIdx.x];
    y[threadIdx.x] = {expression};
}}
"""
    x = np.arange(32, dtype=np.int32) * 5 % 32
    _, y = run_source(source, "warp", 1, 32, [x, x * 0], schedule=schedule)

    np.testing.assert_array_equal(meaning(x).astype(np.int32), y)


def test_lanes_of_a_partial_mask_meet_without_the_others():
    source = """
extern "C" __global__ void half_warp(int* y)
{
    int v = threadIdx.x;
    if (threadIdx.x < 16) v = __shfl_xor_sync(0x0000ffffu, v, 8);
    y[threadIdx.x] = v;
}
"""
    (y,) = run_source(source, "half_warp", 1, 32, [np.zeros(32, np.int32)])

    np.testing.assert_array_equal(np.r_[np.arange(16) ^ 8, np.arange(16, 32)], y)


@pytest.mark.parametrize(("function", "expected"), [
    ("atomicAdd(y, (int)threadIdx.x)", 64 * 63 // 2 * 3),
    ("atomicMax(y, (int)threadIdx.x)", 63),
    ("atomicMin(y, -(int)threadIdx.x)", -63),
    ("atomicExch(y, 7)", 7),
    ("atomicCAS(y, 0, 5)", 5),
])  # fmt: skip
def test_atomics(function, expected):
    source = f'extern "C" __global__ void count(int* y)\n{{\n    {function};\n}}\n'
    (y,) = run_source(source, "count", 3, 64, [np.zeros(1, np.int32)], schedule=4)

    assert expected == y[0]


def test_dynamic_shared_memory():
    source = """
extern "C" __global__ void reverse(int* y, const int n)
{
    DYNAMIC_SHARED(int, tile);
    tile[threadIdx.x] = y[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[n - 1 - threadIdx.x];
}
"""
    x = np.arange(48, dtype=np.int32)
    (y,) = run_source(source, "reverse", 1, 48, [x], [48], shared_bytes=48 * 4)

    np.testing.assert_array_equal(x[::-1], y)


def test_shared_memory_begins_with_a_pattern():
    source = """
extern "C" __global__ void peek(unsigned* y)
{
    __shared__ unsigned tile[32];
    y[threadIdx.x] = tile[threadIdx.x];
}
"""
    (y,) = run_source(source, "peek", 1, 32, [np.zeros(32, np.uint32)])

    assert (y == 0xFDFDFDFD).all()


FAULTS = [
    ("half the threads skip a barrier",
     "if (threadIdx.x < 32) __syncthreads();", "divergent barrier"),
    ("two barriers at once",
     "if (threadIdx.x < 32) { __syncthreads(); }\n    else { __syncthreads(); }",
     "divergent barrier"),
    ("one thread returns before a barrier",
     "if (threadIdx.x == 5) return;\n    __syncthreads();", "1 have returned"),
    ("a lane of the mask stays away",
     "if (threadIdx.x != 3) __syncwarp();", "divergent warp meeting"),
    ("a lane stands at another shuffle",
     "int v = 0;\n    if (threadIdx.x == 1) v = __shfl_sync(0xffffffffu, v, 0);\n"
     "    else v = __shfl_sync(0xffffffffu, v, 0);", "divergent warp meeting"),
    ("a shuffle reads outside its mask",
     "int v = 0;\n    if (threadIdx.x < 16) v = __shfl_sync(0x0000ffffu, v, 20);\n    y[0] = v;",
     "outside its mask"),
    ("a read far outside", "y[0] = y[1LL << 40];", "outside every array"),
    ("a read just behind the end", "y[0] = y[64];", "outside every array"),
    ("a write just before the start", "y[-1] = 3;", "wrote before"),
]  # fmt: skip


@pytest.mark.parametrize(("body", "message"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS])
@pytest.mark.parametrize("schedule", [0, 1, 6])
def test_a_faulty_kernel_stops_with_its_reason(body, message, schedule):
    source = f'extern "C" __global__ void faulty(int* y)\n{{\n    {body}\n}}\n'

    with pytest.raises(ow.errors.LaunchError, match=message):
        run_source(source, "faulty", 1, 64, [np.zeros(64, np.int32)], schedule=schedule)


def test_a_divergent_barrier_names_its_line_and_threads():
    source = (
        'extern "C" __global__ void faulty(int* y)\n{\n    if (threadIdx.x) __syncthreads();\n}\n'
    )
    line = line_of("__syncthreads", source)

    with pytest.raises(ow.errors.LaunchError, match=f"line {line}: .*63 of 64 threads wait"):
        run_source(source, "faulty", 1, 64, [np.zeros(64, np.int32)])


def test_a_fault_leaves_the_executor_usable():
    with pytest.raises(ow.errors.LaunchError):
        run_source(BAD, "bad", 1, 64, [np.zeros(64, np.int32)])
    x = np.arange(64, dtype=np.int32)
    _, y = run_source(ROTATE, "rotate", 1, 64, [x, x * 0])

    np.testing.assert_array_equal(np.roll(x, -1), y)


def test_a_misaligned_wide_access_is_reported():
    x = np.zeros(1028, np.float32)
    start = (-x.ctypes.data % 16) // 4
    program = ow.fuse(lambda x: x + 1).lower(x[start : start + 1024], target="sm_80")
    odd = x[start + 1 : start + 1025]

    with pytest.raises(ow.errors.ArgumentError, match="another guard"):
        program(odd)
    assert program.kernels[0].toggles["USE_VECTOR_IO"] == 1


def test_who_waits_in_a_helper_waits_at_the_kernels_line():
    x = np.ones((6, 3000), np.float32)
    program = ow.fuse(ow.softmax).lower(x, target="sm_80")
    call = "    const float max0 = join_row("
    source = program.source.replace(call, f"    if (threadIdx.x % 64 == 5) return;\n{call}")
    line = next(n for n, text in enumerate(source.split("\n"), 1) if text.startswith(call))

    with pytest.raises(ow.OpweaveError, match=f"line {line}: divergent warp"):
        program.compile(source=source)(x)
    assert {f.line for f in ow.sanitize(program.compile(source=source), x).findings} == {line}
