"""Counts of kernels that a compiler made, held to what their sources say."""

import re

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes.errors import ArgumentError
from opweave.runtime.binaries.disassembly import sass_with_bits
from opweave.runtime.sass.compiled import compiled
from opweave.runtime.sass.listing import parse
from opweave.runtime.sass.pipes import OTHER, pipe_of
from tests.sass.support import everything

pytestmark = pytest.mark.nvrtc
TARGETS = ("sm_75", "sm_90a")  # the oldest; and where constants and shared memory lie elsewhere
LOADS = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum"
STORES = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum"
CONFLICTS = "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum"
WAVES = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum"
NOT_COUNTED = "opweave__inst_not_attributed_at_most.sum"


def f32(*shape):
    return np.zeros(shape, np.float32)


@ow.fuse
def polynomial(x, y):
    return ((x * y + x) * 2 - y) * x + 1


@ow.fuse
def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


@ow.fuse
def total(x):
    return x.sum()


@ow.fuse
def product(x, y):
    return x @ y


@ow.fuse
def scan(x):
    return np.cumsum(x)


# Sectors of 32 bytes that are read and written, where each array is read and written once.
ONCE = [
    (polynomial, (f32(1 << 16), f32(1 << 16)), 2 << 16 >> 3, 1 << 16 >> 3),
    (polynomial, (f32(1000), f32(1000)), 250, 125),
    (softmax, (f32(32, 1024),), 32 * 1024 >> 3, 32 * 1024 >> 3),
    (softmax, (f32(3, 64),), 3 * 64 >> 3, 3 * 64 >> 3),
]


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("function", "args", "loads", "stores"), ONCE)
def test_a_kernel_that_reads_once_asks_for_each_sector_once(target, function, args, loads, stores):
    (kernel,) = ow.profile(function, *args, target=target).kernels

    assert kernel.counters[LOADS] == loads
    assert kernel.counters[STORES] == stores
    assert not kernel.unknown
    assert kernel.counters["opweave__requests_with_addresses_from_data.sum"] == 0
    assert kernel.counters["opweave__inst_executed_pipe_unknown.sum"] == 0
    assert kernel.counters["opweave__bytes_least.sum"] <= 32 * (loads + stores)


def test_arrays_that_lie_end_to_end_are_two():
    memory = bytearray(8 << 12)
    x, y = (np.frombuffer(memory, np.float32, 1 << 12, at) for at in (0, 4 << 12))
    (kernel,) = ow.profile(polynomial, x, y, target="sm_90a").kernels

    assert kernel.counters["opweave__bytes_least.sum"] == 3 * x.nbytes


@pytest.mark.parametrize("target", ["sm_80", "sm_89", "sm_100", "sm_120"])
def test_a_map_on_the_other_architectures(target):
    (kernel,) = ow.profile(polynomial, f32(1000), f32(1000), target=target).kernels

    assert (kernel.counters[LOADS], kernel.counters[STORES]) == (250, 125)
    assert not kernel.unknown
    assert not kernel.skipped


@ow.fuse
def column_sums(x):
    return x.sum(axis=0)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("function", "shape"),
    [
        (total, (1 << 16,)),
        (column_sums, (4096, 64)),
        (column_sums, (4096, 1024)),
    ],
)
def test_blocks_that_count_themselves_are_followed_to_the_end(target, function, shape):
    report = ow.profile(function, f32(*shape), target=target)
    (kernel,) = report.kernels

    assert kernel.in_order
    assert not kernel.skipped
    assert not kernel.unknown
    assert kernel.counters[LOADS] >= np.prod(shape) / 8
    assert 0 < kernel.model.joining_us < 10
    assert "last block" in str(report)


@pytest.mark.parametrize("target", TARGETS)
def test_multiplications_of_a_product_are_all_there(target):
    (kernel,) = ow.profile(product, f32(64, 48), f32(48, 80), target=target).kernels

    assert kernel.counters["sm__inst_executed_pipe_fma.sum"] >= 64 * 48 * 80 / 32
    assert kernel.counters[NOT_COUNTED] == 0


def test_what_the_table_of_gpu_kernels_has_for_softmax_and_maps():
    # read off the disassembly by hand; softmax took 48 while it computed exponentials twice, and 27
    # while it divided them one by one
    for function, args, expected in (
        (polynomial, (f32(1 << 16), f32(1 << 16)), 12),
        (softmax, (f32(64, 1024),), 21),
    ):
        (kernel,) = ow.profile(function, *args).kernels
        found = kernel.counters["smsp__inst_executed.sum"] * 32 / args[0].size
        assert abs(found - expected) < 2, found


SOURCE = r"""
extern "C" __global__ void loop(float* x, int trips) {
    float v = x[threadIdx.x];
    #pragma unroll 1
    for (int i = 0; i < trips; ++i) v = v * v + 1.0f;
    x[threadIdx.x] = v;
}
extern "C" __global__ void copy(const float* x, float* y, int stride, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    y[i] = x[(unsigned)(i * stride) % n + (unsigned)(i * stride) / n];
}
extern "C" __global__ void turn(const float* x, float* y, int pitch) {
    __shared__ float tile[32 * 33];
    int row = threadIdx.y, col = threadIdx.x;
    tile[row * pitch + col] = x[row * 32 + col];
    __syncthreads();
    y[row * 32 + col] = tile[col * pitch + row];
}
extern "C" __global__ void gather(const float* x, const int* at, float* y) {
    y[threadIdx.x] = x[at[threadIdx.x]];
}
"""


ATOMICS = r"""
extern "C" __global__ void turns(float* y) {
    __shared__ int n;
    if (threadIdx.x == 0) n = 0;
    __syncthreads();
    if (threadIdx.x < 5) atomicAdd(&n, 1);
    __syncthreads();
    float v = y[threadIdx.x];
    int m = n;
    #pragma unroll 1
    for (int i = 0; i < m; ++i) v = v * v + 1.0f;
    y[threadIdx.x] = v;
}
extern "C" __global__ void any(float* y, int trips) {
    float v = y[threadIdx.x];
    #pragma unroll 1
    for (int i = 0; __any_sync(~0u, i < trips * (threadIdx.x % 32 + 1)); ++i) v *= v;
    y[threadIdx.x] = v;
}
extern "C" __global__ void add(double* y, float* z) {
    __shared__ int n[64];
    atomicAdd(y + threadIdx.x, 1.0);
    z[threadIdx.x] = atomicAdd(z + 64, 2.0f);
    z[threadIdx.x + 64] = atomicExch(n + threadIdx.x, 3);
}
"""


@pytest.mark.parametrize("target", TARGETS)
def test_what_an_atomic_leaves_in_shared_memory_is_not_guessed(target):
    (kernel,) = ow.profile_source(ATOMICS, "turns", 1, 64, [f32(64)], target=target).kernels
    (loop,) = (n for n, text in enumerate(ATOMICS.splitlines(), 1) if "v * v" in text)

    assert [(one.line, one.warps) for one in kernel.skipped] == [(loop, 2)]


@pytest.mark.parametrize("target", TARGETS)
def test_a_loop_ends_when_no_lane_of_the_warp_goes_on(target):
    (line,) = (n for n, text in enumerate(ATOMICS.splitlines(), 1) if "__any_sync" in text)
    found = [
        ow.profile_source(ATOMICS, "any", 1, 64, [f32(64), trips], target=target).kernels[0]
        for trips in (0, 1, 2)
    ]
    none, once, twice = (kernel.lines[line].get("fma", 0) for kernel in found)

    assert (once - none) % 64 == 0 < once - none  # 32 turns of two warps
    assert twice - once == once - none
    assert not any(kernel.skipped for kernel in found)


@pytest.mark.parametrize("target", TARGETS)
def test_atomics_are_neither_loads_nor_stores(target):
    (kernel,) = ow.profile_source(
        ATOMICS, "add", 1, 64, [np.zeros(64), f32(200)], target=target
    ).kernels
    named = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"
    found = {
        op: [kernel.counters[named.format(what, op)] for what in ("requests", "sectors")]
        + [kernel.counters[f"opweave__bytes_asked_mem_global_op_{op}.sum"]]
        for op in ("ld", "st", "atom", "red")
    }

    assert found == {"ld": [0, 0, 0], "st": [4, 16, 512], "atom": [2, 2, 256], "red": [2, 16, 512]}
    assert kernel.counters[WAVES] == 0
    assert kernel.counters[WAVES.replace("op_ld", "op_atom")] == 2


@pytest.mark.parametrize("target", TARGETS)
def test_a_loop_runs_its_trips(target):
    (line,) = (n for n, text in enumerate(SOURCE.splitlines(), 1) if "trips; ++i" in text)
    found = []
    for trips in (0, 1, 2, 9):
        (kernel,) = ow.profile_source(
            SOURCE, "loop", 1, 64, [f32(64), trips], target=target
        ).kernels
        found.append(kernel.lines.get(line, {}).get("fma", 0))

    each = found[2] - found[1]
    assert each >= 2  # a multiplication with an addition, in two warps
    assert found[3] == found[2] + 7 * each


@pytest.mark.parametrize("target", [*TARGETS, "sm_80", "sm_89", "sm_100", "sm_120"])
def test_a_loop_by_the_number_of_blocks_runs_its_trips(target):
    x = np.zeros(2**22, np.uint8)
    counted = ow.fuse(lambda x: np.bincount(x, minlength=256)).lower(x, target=target)
    (kernel,) = ow.profile(counted, x, target=target).kernels

    assert kernel.counters[LOADS] == 2**22 / 32


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("stride", "each"), [(1, 4), (2, 8), (8, 32), (32, 32)])
def test_coalescing(target, stride, each):
    args = [f32(1 << 14), f32(1 << 14), stride, 1 << 14]
    (kernel,) = ow.profile_source(SOURCE, "copy", 64, 256, args, target=target).kernels

    assert kernel.counters[LOADS] == 512 * each
    assert kernel.counters[STORES] == 512 * 4


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(("pitch", "conflicts"), [(32, 31 * 32), (33, 0)])
def test_bank_conflicts(target, pitch, conflicts):
    args = [f32(1024), f32(1024), pitch]
    (kernel,) = ow.profile_source(SOURCE, "turn", 1, (32, 32), args, target=target).kernels

    assert kernel.counters[CONFLICTS] == conflicts
    assert kernel.counters[WAVES] == 32 + conflicts


def test_addresses_that_follow_from_data_are_named():
    args = [f32(64), np.zeros(64, np.int32), f32(64)]
    report = ow.profile_source(SOURCE, "gather", 1, 64, args)

    assert report.kernels[0].counters["opweave__requests_with_addresses_from_data.sum"] == 2
    assert "2 requests have addresses that follow from data" in str(report)


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("function", [softmax, scan])
def test_lines_change_no_instruction_and_no_pipe_is_unknown(target, function):
    program = function.lower(f32(64, 64), target=target)
    for kernel in program.kernels:
        made = compiled(kernel.source, kernel.name, target)
        plain = parse(sass_with_bits(kernel.binary.payload), kernel.name)
        assert [(i.text, i.control) for i in made.listing.instructions] == [
            (i.text, i.control) for i in plain.instructions
        ]
        assert OTHER not in set(map(pipe_of, made.listing.instructions))
        assert made.resources == kernel.resources


def test_a_sample_stands_for_all_blocks(monkeypatch):
    args = f32(1 << 18), f32(1 << 18)
    sampled = ow.profile(polynomial, *args).kernels[0]
    monkeypatch.setattr("opweave.runtime.sass.sampling.MOST_LANES", 1 << 20)
    whole = ow.profile(polynomial, *args).kernels[0]

    assert sampled.sampled < sampled.blocks == whole.sampled
    assert sampled.counters == whole.counters
    assert re.search("counted on 16 of 256 blocks", str(sampled))


@pytest.mark.parametrize("function", [softmax, total, scan])
def test_what_is_left_out_decides_nothing(monkeypatch, function):
    # every register computed, not only those that branches and addresses follow from
    args = f32(32, 64) if function is softmax else f32(1 << 14)
    sliced = ow.profile(function, args)
    monkeypatch.setattr("opweave.runtime.sass.execution.deciding", everything)
    whole = ow.profile(function, args)

    for one, other in zip(sliced.kernels, whole.kernels, strict=True):
        assert one.counters == other.counters
        assert one.skipped == other.skipped


def test_a_cubin_has_the_profile_of_its_source():
    args = [f32(1 << 14), f32(1 << 14), 2, 1 << 14]
    (of_source,) = ow.profile_source(SOURCE, "copy", 64, 256, args).kernels
    cubin = compiled(SOURCE, "copy", "sm_90a").cubin
    (found,) = ow.profile_cubin(cubin, "copy", 64, 256, args, elements=1 << 14).kernels

    assert found.counters == of_source.counters
    assert found.facts.unit == "instructions an element"


def test_parameters_that_a_kernel_does_not_read_may_be_left_out():
    cubin = compiled(SOURCE, "copy", "sm_90a").cubin
    (found,) = ow.profile_cubin(cubin, "copy", 1, 32, [f32(64), f32(64)]).kernels

    assert found.counters[STORES] == 4


@pytest.mark.parametrize(
    ("cubin", "name", "says"),
    [
        (b"PK..", "copy", "expected a cubin"),
        (None, "nothing", "there is no kernel nothing: expected one of"),
    ],
)
def test_a_cubin_that_is_none_is_an_argument_error(cubin, name, says):
    cubin = cubin or compiled(SOURCE, "copy", "sm_90a").cubin
    with pytest.raises(ArgumentError, match=says):
        ow.profile_cubin(cubin, name, 1, 32, [])


BEYOND = """
extern "C" __global__ void passes(const float* x, float* y, long long each, int times) {
    float s = 0;
    x += blockIdx.x * each;
    for (long long k = threadIdx.x; k < each; k += blockDim.x) s += x[k];
    if (times > 1) for (long long k = threadIdx.x; k < each; k += blockDim.x) s = s * 3 + x[k];
    y[blockIdx.x * blockDim.x + threadIdx.x] = s;
}
extern "C" __global__ void around(const float* x, float* y, int width) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
    y[at] = x[at] + x[at + width] + x[at + 2 * width];
}
"""
MOVED, LEAST = "opweave__bytes_moved.sum", "opweave__bytes_least.sum"


@pytest.mark.parametrize(
    ("each", "times", "moved"),
    [
        (1 << 18, 1, 1),
        (1 << 18, 2, 2),  # 264 blocks of a megabyte: more than the cache holds
        (1 << 12, 1, 1),
        (1 << 12, 2, 1),
    ],
)
def test_what_a_block_comes_back_to_is_moved_again(each, times, moved):
    x, y = np.empty(264 * each, np.float32), np.empty(264 * 256, np.float32)
    (found,) = ow.profile_source(BEYOND, "passes", 264, 256, [x, y, each, times]).kernels

    assert found.counters[MOVED] == pytest.approx(moved * x.nbytes + y.nbytes, rel=0.02)


PLANTED = """
extern "C" __global__ void far(const float* x, float* y, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float near = x[i];
    y[i] = near + x[(i % 4096) * 4096 + i / 4096];  // planted: far
}
extern "C" __global__ void banks(const float* x, float* y, int n) {
    __shared__ float tile[32 * 32];
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    float s = 0;
    tile[t] = x[i];
    __syncthreads();
    for (int k = 0; k < n; ++k)
        s += tile[(t % 32) * 32 + (t / 32 + k) % 32];  // planted: banks
    y[i] = s;
}
extern "C" __global__ void few(const float* x, float* y, int n) {
    __shared__ float room[11 * 1024];  // planted: few
    int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    room[t] = x[i];
    __syncthreads();
    y[i] = room[63 - t];
}
"""


@pytest.mark.parametrize(
    ("kernel", "block", "says"),
    [
        ("far", 256, "neighbouring elements"),
        ("banks", 1024, "pad rows"),
        ("few", 64, "limited by shared memory"),
    ],
)
def test_the_first_advice_names_the_planted_line(kernel, block, says):
    n = 1 << 24
    x, y = np.empty(n, np.float32), np.empty(n, np.float32)
    (found,) = ow.profile_source(PLANTED, kernel, n // block, block, [x, y, 64]).kernels
    lines = enumerate(PLANTED.splitlines(), 1)
    (line,) = (number for number, text in lines if f"planted: {kernel}" in text)

    assert says in found.model.binds.mend
    assert f"line {line}" in found.model.binds.mend


def test_what_blocks_beside_each_other_read_is_moved_once():
    n, width = 1 << 25, 4096
    x, y = np.empty(n + 2 * width, np.float32), np.empty(n, np.float32)
    (found,) = ow.profile_source(BEYOND, "around", n // 256, 256, [x, y, width]).kernels

    # 132 multiprocessors have 8 blocks of 256 elements: 66 rows, which read 68
    assert found.counters[MOVED] == pytest.approx(x.nbytes * 68 / 66 + y.nbytes, rel=0.01)


def test_a_kernel_an_edited_one_and_a_list_have_profiles():
    x = f32(1024)
    (kernel,) = ow.fuse(lambda x: x * 2 + 1).lower(x, target="sm_80").kernels
    doubled = ow.kernel([ow.load("x"), ow.opcodes.multiply(2.0), ow.opcodes.exp, ow.store("y")])
    longer = kernel.insert(ow.opcodes.clip(0, 1), before="store")

    for report in (kernel.profile(x), ow.profile(doubled, x), longer.profile(x)):
        assert [k.counters[LOADS] for k in report.kernels] == [128]
    (before,), (after,) = kernel.profile(x).kernels, longer.profile(x).kernels
    assert after.counters["smsp__inst_executed.sum"] > before.counters["smsp__inst_executed.sum"]


def test_a_kernel_of_a_users_own_has_no_elements():
    source = 'extern "C" __global__ void half(const float* x, float* y) { y[threadIdx.x] = x[threadIdx.x] / 2; }'
    half = ow.raw_kernel(
        source, "half", outputs={"y": lambda x: x.shape}, grid=1, block=64, numpy=lambda x: x / 2
    )  # fmt: skip
    (kernel,) = ow.profile(half, f32(64)).kernels

    assert kernel.counters[LOADS] == 8
    assert kernel.facts.unit == "warp instructions"


def test_a_profile_is_the_same_each_time():
    assert str(ow.profile(total, f32(4096))) == str(ow.profile(total, f32(4096)))


MISTAKES = [
    (lambda: ow.profile(3, f32(4)), "made by ow.fuse, found int"),
    (lambda: ow.profile(total, f32(4), target="host"), "expected an sm target"),
    (lambda: ow.profile(total.lower(f32(4), target="host"), f32(4)), "found one for host"),
    (lambda: ow.profile_source(SOURCE, "turn", (1, 1, 1, 1), 32, []), "takes 3 arguments"),
    (
        lambda: ow.profile_source(SOURCE, "loop", 1, 64, [f32(64), np.int64(3)]),
        "has 4 bytes, found 8",
    ),
    (lambda: ow.profile_source(SOURCE, "loop", 1, 64, [f32(64), "3"]), "a number, found str"),
]


@pytest.mark.parametrize(("call", "says"), MISTAKES, ids=[says for _, says in MISTAKES])
def test_a_mistake_is_an_argument_error(call, says):
    with pytest.raises(ow.errors.ArgumentError, match=says):
        call()


def test_a_source_that_does_not_compile_names_its_line():
    with pytest.raises(
        ow.errors.CompileError, match=r'line 2: identifier "y" is undefined'
    ) as found:
        ow.profile_source(
            'extern "C" __global__ void f(float* x) {\n  x[0] = y; }', "f", 1, 1, [f32(1)]
        )
    assert "undefined" in found.value.log
