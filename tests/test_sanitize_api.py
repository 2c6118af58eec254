"""``ow.sanitize`` and ``ow.sanitize_source``: results, arguments, messages, and bad input."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sanitized import ASYNC, ASYNC_PTX, CORRECT, TILE, floats, kernel
from variants import VARIANTS

import opweave as ow
from opweave.cli import sanitizing
from opweave.cli.main import main
from opweave.cli.options import parser
from opweave.opcodes.errors import ArgumentError, CompileError, LaunchError, UnsupportedError
from opweave.runtime.binaries import clang_ir
from opweave.runtime.simt import checker
from opweave.runtime.simt.handwritten import Handwritten

pytestmark = pytest.mark.host
ADD = kernel("    if (i < n) y[i] = x[i] + a;", "const float* x, float* y, float a, int n")


def add(*args, **more):
    return ow.sanitize_source(ADD, "k", 4, 64, args, schedules=2, **more)


def test_arrays_come_back_as_the_kernel_left_them_and_the_given_ones_stay():
    x, y = floats(256), np.zeros(256, np.float32)
    report = add(x, y, 2.0, 250)

    np.testing.assert_array_equal(np.r_[x[:250] + np.float32(2), y[250:]], report.args[1])
    assert not y.any()
    assert report.args[2:] == [2.0, 250]
    assert report.ok
    assert report.varies == ()


def test_arguments_that_overlap_do_so_for_the_kernel():
    both = floats(512)
    report = add(both[:256], both[128:384], 1.0, 128)

    assert [f.kind for f in report.findings] == []
    np.testing.assert_array_equal(report.args[0][128:], report.args[1][:128])
    assert "global-race" in {f.kind for f in add(both[:256], both[1:257], 1.0, 256).findings}


def test_strided_and_empty_arrays():
    x = floats(512)
    report = add(x[::2], np.zeros(256, np.float32), 0.0, 0)

    assert report.ok
    np.testing.assert_array_equal(x[::2], report.args[0])
    assert add(x[:0], x[:0].copy(), 0.0, 0).ok


def test_a_kernel_that_repeats_a_step_takes_several_turns():
    x = np.random.default_rng(1).standard_normal((40, 40), np.float32)
    w = x[::-1].copy()
    repeated = ow.repeat(lambda x, w: np.tanh(x @ w), 5)
    program = repeated.lower(x, w, target="sm_80")
    turn = "__syncthreads();  // results are whole before they are operands"
    broken = program.compile(program.source.replace(turn, ""))

    assert turn in program.source
    assert ow.sanitize(repeated, x, w, schedules=2).ok
    assert ow.sanitize(program, x, w, schedules=2).ok
    assert ow.sanitize(repeated, x, w=w, schedules=2).ok
    found = ow.sanitize(broken, x, w, schedules=2)
    assert {f.kind for f in found.findings} == {"global-race"}


def test_contents_that_depend_on_the_schedule_are_named():
    source = kernel("    if (t == 0) y[atomicAdd(n, 1)] = blockIdx.x;", "float* y, int* n")
    report = ow.sanitize_source(
        source, "k", 8, 32, [np.zeros(8, np.float32), np.zeros(1, np.int32)], schedules=4
    )

    assert report.varies == (0,)
    assert report.ok


def test_ldmatrix_and_mma_give_the_product():
    case = next(c for c in CORRECT if c.name == "ldmatrix and mma")
    report = ow.sanitize_source(case.source, "k", 1, 32, case.arguments(), schedules=1)
    x = case.arguments()[0].astype(np.float64)
    expected = x[:256].reshape(16, 16) @ x[256:384].reshape(16, 8)

    np.testing.assert_allclose(expected, report.args[1][:128].reshape(16, 8), rtol=1e-6)


MMA = """    unsigned a[4] = {{0x01020304u * (t % 4 + 1), 0, 0, 0}}, b[2] = {{0x01010101u, 0x01010101u}};
    {ctype} d[4] = {{0, 0, 0, 0}};
    asm volatile("mma.sync.aligned.{shape}.row.col.{types} {{%0,%1,%2,%3}}, {{{a}}}, {{{b}}}, {{%0,%1,%2,%3}};"
        : "+{c}"(d[0]), "+{c}"(d[1]), "+{c}"(d[2]), "+{c}"(d[3]) : {inputs});
    y[t] = d[0];"""  # fmt: skip


@pytest.mark.parametrize(("shape", "types", "a", "b", "expected"), [
    ("m16n8k32", "s32.s8.s8.s32", 4, 2, 10 * (1 + 2 + 3 + 4)),
    ("m16n8k16", "s32.u8.u8.s32", 2, 1, 10 * (1 + 2 + 3 + 4)),
])  # fmt: skip
def test_mma_of_integers(shape, types, a, b, expected):
    """Row 0 of A holds 1..4 times the bytes 4, 3, 2, 1; B is all ones."""
    names = [f'"r"(a[{n}])' for n in range(a)] + [f'"r"(b[{n}])' for n in range(b)]
    body = MMA.format(
        ctype="int", shape=shape, types=types, c="r", inputs=", ".join(names),
        a=",".join(f"%{4 + n}" for n in range(a)), b=",".join(f"%{4 + a + n}" for n in range(b)),
    )  # fmt: skip
    report = ow.sanitize_source(
        kernel(body, "int* y"), "k", 1, 32, [np.zeros(32, np.int32)], schedules=1
    )

    assert (report.args[0] == expected).all()


def test_zero_fill_of_an_asynchronous_copy():
    source = kernel(ASYNC, before=ASYNC_PTX).replace(
        '16;\\n" :: "r"(at), "l"(from));', '16, %2;\\n" :: "r"(at), "l"(from), "r"(4));'
    )
    x = floats(256)
    report = ow.sanitize_source(source, "k", 1, 64, [x, np.zeros(256, np.float32)])

    assert report.ok, str(report)
    expected = np.where(np.arange(256) % 4 == 0, x, 0)[::-1][:64]
    np.testing.assert_array_equal(expected, report.args[1][:64])


@pytest.mark.parametrize(("args", "more", "message"), [
    (("x", "y", 1.0), {}, "takes 4 arguments: found 3"),
    (("x", "y", 1.0, 2.5), {}, "argument 3 .signed integer of 4 bytes.: found 2.5"),
    (("x", "y", 1.0, 2**40), {}, "does not fit"),
    (("x", "y", np.float64(1), 3), {}, "found a scalar of float64; pass np.float32"),
    (("x", "y", "x", 3), {}, "expected a number, found an array"),
    ((3, "y", 1.0, 3), {}, "expected an array"),
    ((floats(4).astype(np.float64), "y", 1.0, 3), {}, "found an array of float64"),
    (("x", "y", 1.0, "3"), {}, "found '3'"),
    (("x", "y", 1.0, 3), {"shared_bytes": -1}, "shared_bytes=-1"),
    (("x", "y", 1.0, 3), {"shared_bytes": 1 << 20}, "up to 232448"),
])  # fmt: skip
def test_arguments_that_do_not_fit_are_refused(args, more, message):
    known = {"x": floats(256), "y": np.zeros(256, np.float32)}
    given = [known.get(a, a) if isinstance(a, str) else a for a in args]

    with pytest.raises(ArgumentError, match=message):
        add(*given, **more)


@pytest.mark.parametrize(("kernel_name", "grid", "block", "schedules", "message"), [
    ("nothing", 1, 32, 1, "no __global__ function called 'nothing': it has k"),
    ("k; rm", 1, 32, 1, "expected the name of a __global__ function"),
    ("k", 0, 32, 1, "grid=0"),
    ("k", 1, 1025, 1, "block=1025"),
    ("k", 1, (32, 33), 1, "at most 1024 threads"),
    ("k", (1, 2, 3, 4), 32, 1, "up to three"),
    ("k", 1.5, 32, 1, "grid=1.5"),
    ("k", 1, 32, 0, "schedules=0"),
])  # fmt: skip
def test_launches_that_no_gpu_takes_are_refused(kernel_name, grid, block, schedules, message):
    with pytest.raises(ArgumentError, match=message):
        ow.sanitize_source(ADD, kernel_name, grid, block, [1], schedules=schedules)


@pytest.mark.parametrize(("body", "message"), [
    ('    asm("fma.rn.f32 %0, %0, %0, %0;" : "+f"(y[i]));', "line 4: the PTX instruction 'fma.rn"),
    ('    asm("bar.sync 1, 64;");', "line 4: the PTX instruction 'bar.sync 1, 64'"),
    ('    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0}, {%1}, {%1}, {%0};"\n'
     '        : "+d"(y[0]) : "d"(1.0));', "'mma.sync.aligned.m8n8k4"),
    ('    asm("mov.u32 %0, %clock;" : "=r"(y[i]));', "mov.u32 %0, %clock"),
    ("    extern __shared__ float a[4][4];", "expected dynamic shared memory as one array"),
])  # fmt: skip
def test_what_is_not_understood_is_named_with_its_line(body, message):
    with pytest.raises(UnsupportedError, match=message):
        ow.sanitize_source(kernel(body), "k", 1, 32, [floats(32), floats(32)])


def test_an_unknown_header_is_named():
    with pytest.raises(UnsupportedError, match=r"line 2: the header 'cub/cub.cuh'"):
        ow.sanitize_source("\n#include <cub/cub.cuh>\n" + ADD, "k", 1, 32, [])


@pytest.mark.parametrize(("source", "message"), [
    (ADD.replace("x[i] + a", "x[i] + b"), "line 4|kernel.cu:4:.*was not declared|undeclared"),
    ("#if 1\n" + ADD, "preprocessor refuses"),
])  # fmt: skip
def test_a_source_that_does_not_compile_says_where(source, message):
    with pytest.raises(CompileError, match=message) as raised:
        ow.sanitize_source(source, "k", 1, 32, [1, 2, 3, 4])
    assert raised.value.log


@pytest.mark.parametrize(("body", "message"), [
    ("    assert(i < 3);", "line 4|k:4.*an assertion"),
    ("    if (t == 3) __trap();", "__trap"),
])  # fmt: skip
def test_a_kernel_that_stops_itself_is_an_error(body, message):
    with pytest.raises(LaunchError, match=message):
        ow.sanitize_source(kernel(body), "k", 1, 32, [floats(32), floats(32)])


@pytest.mark.parametrize(("statement", "expected"), [
    ('asm("mov.b32 %0, %1;" : "=r"(u) : "f"(1.5f));', 0x3FC00000),
    ('asm(R"(mov.u32 %0, 5;)" : "=r"(u));', 5),
    ('asm("{ .reg .u32 t; mov.u32 t, %1; mov.u32 %0, t; } // copy" : "=r"(u) : "r"(9u));', 9),
])  # fmt: skip
def test_moves_copy_bits(statement, expected):
    source = kernel(f"    unsigned u = 7;\n    {statement}\n    y[i] = u;", "unsigned* y")
    report = ow.sanitize_source(source, "k", 1, 1, [np.zeros(1, np.uint32)], schedules=1)

    assert report.args[0][0] == expected


@pytest.mark.parametrize("statement", [
    'asm("mov.b64 %0, {%1, %2};" : "=l"(w) : "r"(1), "r"(2));',
    'asm(R"(frobnicate.u32 %0, %%laneid;)" : "=r"(u));',
])  # fmt: skip
def test_what_would_be_translated_wrongly_is_refused(statement):
    source = kernel(
        f"    unsigned u = 7; unsigned long w = 0;\n    {statement}\n    y[i] = u + w;"
    )

    with pytest.raises(UnsupportedError, match="line 5: the PTX instruction"):
        ow.sanitize_source(source, "k", 1, 1, [floats(1), floats(1)])


@pytest.mark.parametrize("array", [
    np.array([None, 1], object), np.array(["a"]), floats(4).astype(">f4"), np.zeros(4, bool),
    np.zeros(4, "M8[s]"),
], ids=lambda a: str(a.dtype))  # fmt: skip
def test_arrays_that_a_kernel_would_misread_are_refused(array):
    with pytest.raises(ArgumentError, match="found an array of"):
        add(array, floats(4), 1.0, 1)


def test_threads_may_check_at_once(tmp_path):
    """In a process of its own with an empty cache, so that all of it is built by two threads."""
    code = f"""
import sys, threading
sys.path.insert(0, {str(Path(__file__).parent)!r})
from sanitized import FAULTY
import opweave as ow
case, found = FAULTY[0], []
def check():
    report = ow.sanitize_source(case.source, "k", 2, 64, case.arguments(), schedules=2)
    found.append(report.ok)
threads = [threading.Thread(target=check) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
assert found == [False] * 4, found
"""
    environment = os.environ | {"OPWEAVE_CACHE_DIR": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )

    assert ran.returncode == 0, ran.stderr


ENDLESS = """
import os, signal, threading, time
import opweave as ow
signal.signal(signal.SIGINT, signal.default_int_handler)
source = 'extern "C" __global__ void k(float* y) {{ while (true) {body} }}'
threading.Timer(3, lambda: {action}).start()
try:
    ow.sanitize_source(source, "k", 1, 64, [__import__("numpy").zeros(1, "f4")])
except KeyboardInterrupt:
    print("stopped")
"""


@pytest.mark.parametrize("body", ["{}", "__syncthreads();"])  # in a thread, among the threads
def test_ctrl_c_stops_a_kernel_that_never_ends(body):
    code = ENDLESS.format(body=body, action="os.kill(os.getpid(), signal.SIGINT)")
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=100
    )

    assert ran.stdout == "stopped\n", ran.stderr


def test_a_fault_of_another_thread_is_not_taken_for_the_kernels():
    fault = "signal.pthread_kill(threading.get_ident(), signal.SIGSEGV)"
    ran = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", ENDLESS.format(body="{}", action=fault)],
        capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip

    assert ran.returncode == -signal.SIGSEGV
    assert "Segmentation fault" in ran.stderr


def test_more_faults_than_are_kept_are_said():
    reads = "\n".join(f"    y[0] += x[{n}];" for n in range(2100))
    report = ow.sanitize_source(
        kernel(reads), "k", 1, 1, [ow.uninitialised(2100, "f4"), floats(1)], schedules=1
    )

    assert not report.complete
    assert len(report.findings) > 2000
    assert "places are kept" in str(report)


def test_every_launch_starts_from_the_same_device_variables():
    source = kernel(
        "    if (t == 0) y[0] = atomicAdd(&hits, 1);", before="__device__ int hits = 7;"
    )
    for _ in range(2):
        report = ow.sanitize_source(source, "k", 1, 32, [floats(1), floats(1)], schedules=3)
        assert report.args[1][0] == 7


# Each block fills its shared memory and waits for the next one before it looks at it again.
RESIDENT = """
extern "C" __global__ void k(volatile int* done, int* wrong, int count) {
    extern __shared__ int mine[];
    const int b = blockIdx.x, t = threadIdx.x;
    for (int n = t; n < count; n += blockDim.x) mine[n] = b + n;
    __syncthreads();
    if (t == 0 && b + 1 < gridDim.x) while (!done[b + 1]) {}
    __syncthreads();
    for (int n = t; n < count; n += blockDim.x) wrong[b * blockDim.x + t] += mine[n] != b + n;
    __syncthreads();
    __threadfence();
    if (t == 0) done[b] = 1;
}
"""


def test_blocks_that_wait_keep_their_shared_memory_whatever_ran_before():
    for count in (8, 20000, 8):
        arrays = [np.zeros(8, np.int32), np.zeros(256, np.int32)]
        report = ow.sanitize_source(
            RESIDENT, "k", 8, 32, [*arrays, count], shared_bytes=4 * count, schedules=3
        )

        assert report.ok, str(report)
        assert not report.args[1].any()


LIMITED = """
import resource
import numpy as np, opweave as ow
from opweave.opcodes.errors import OutOfMemoryError
x = np.ones((64, 64), np.float32)
program = ow.fuse(lambda x: x.T * 2 + x).lower(x, target="sm_80")
if {before}:
    {run}
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + (600 << 20), resource.RLIM_INFINITY))
try:
    {run}
    print("no error")
except OutOfMemoryError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
{run}
"""


@pytest.mark.parametrize(("run", "before"), [
    ("program.verify(x)", False),
    ("ow.sanitize(program, x)", False),
    ("ow.sanitize(program, x)", True),  # the fibres have their stacks by then
])  # fmt: skip
def test_a_limit_on_address_space_is_named(run, before):
    x = np.ones((64, 64), np.float32)  # compilers shall find all of it in the cache
    program = ow.fuse(lambda x: x.T * 2 + x).lower(x, target="sm_80")
    program.verify(x)
    ow.sanitize(program, x)
    ran = subprocess.run(
        [sys.executable, "-c", LIMITED.format(before=before, run=run)],
        capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip

    assert ran.returncode == 0, ran.stderr
    assert "its threads need more address space" in ran.stdout


def test_a_finding_reads_as_a_sentence():
    source = kernel(TILE.replace("    __syncthreads();\n", ""))
    report = ow.sanitize_source(
        source, "k", (4, 4), (16, 16), [floats(4096), np.zeros(4096, np.float32)], schedules=1
    )
    text = str(report)

    assert "k:7: shared-race: reads 4 bytes at byte" in text
    assert "of shared tile that line 6 wrote in another thread" in text
    assert "thread 0,1,0 of block" in text or "thread 1,0,0 of block" in text


@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: v.name)
def test_no_finding_in_any_kernel_that_the_compiler_can_choose(variant):
    arguments = variant.arguments()
    if sum(getattr(a, "size", 0) for a in arguments) > 200_000:
        pytest.skip("a smaller variant takes the same path")
    report = ow.sanitize(ow.fuse(variant.function), *arguments, schedules=2)

    assert report.ok, str(report)
    assert report.varies == ()


def test_a_barrier_taken_out_of_a_fused_kernel_is_found():
    fused = ow.fuse(lambda x: x.T * 2 + x)
    x = floats(4096).reshape(64, 64)
    program = fused.lower(x, target="sm_80")
    racy = program.compile(source=program.source.replace("__syncthreads();", ";", 1))
    report = ow.sanitize(racy, x, schedules=2)

    assert {f.kind for f in report.findings} == {"shared-race"}
    assert report.findings[0].kernel == program.kernels[0].name
    assert ow.sanitize(program, x, schedules=2).ok


@pytest.mark.parametrize("wrong", [np.exp, "source", None])
def test_sanitize_takes_fused_functions(wrong):
    with pytest.raises(ArgumentError, match="expected a function made by ow.fuse"):
        ow.sanitize(wrong, floats(4))


# What a group's threads get of their values: the operator, NumPy's, threads of a group.
REDUCED = [
    ("plus", np.add, 32), ("plus", np.add, 4), ("less", np.minimum, 8), ("greater", np.maximum, 16),
    ("bit_and", np.bitwise_and, 2), ("bit_or", np.bitwise_or, 32), ("bit_xor", np.bitwise_xor, 8),
]  # fmt: skip
GROUPS = "#include <cooperative_groups/reduce.h>\nnamespace cg = cooperative_groups;"


def reduced(body, parameters, *arrays, before=GROUPS):
    report = ow.sanitize_source(
        kernel(body, parameters, before), "k", 2, 64, list(arrays), schedules=2
    )
    assert report.ok, str(report)
    assert report.varies == ()
    return report.args


@pytest.mark.parametrize(("name", "of_numpy", "size", "dtype"), [
    (*row, dtype) for row in REDUCED for dtype in ("i4", "u8", "f4", "f8")
    if not (dtype[0] == "f" and row[0].startswith("bit"))
])  # fmt: skip
def test_a_reduction_of_a_tile_is_that_of_numpy(name, of_numpy, size, dtype):
    x = np.random.default_rng(size).integers(0, 1000, 128).astype(dtype)
    ctype = {"i4": "int", "u8": "unsigned long long", "f4": "float", "f8": "double"}[dtype]
    body = f"""    auto tile = cg::tiled_partition<{size}>(cg::this_thread_block());
    y[i] = cg::reduce(tile, x[i], cg::{name}<{ctype}>());"""
    made = reduced(body, f"const {ctype}* x, {ctype}* y", x, np.zeros_like(x))[1]

    np.testing.assert_array_equal(made, np.repeat(of_numpy.reduce(x.reshape(-1, size), 1), size))


def test_a_reduction_of_lanes_that_are_together_and_of_structs():
    x = np.random.default_rng(1).permutation(128).astype(np.int32)
    body = """    if (x[i] & 1) y[i] = cg::reduce(cg::coalesced_threads(), x[i], cg::plus<int>());
    cg::thread_block_tile<32> warp = cg::tiled_partition<32>(cg::this_thread_block());
    cg::thread_block_tile<8> part = cg::tiled_partition<8>(warp);
    auto larger = [](P a, P b) { return a.value < b.value ? b : a; };
    best[i] = cg::reduce(part, P{(double)x[i], i, i + 1}, larger).at;"""
    before = f"{GROUPS}\nstruct P {{ double value; int at, next; }};"
    _, sums, best = reduced(
        body, "const int* x, int* y, int* best", x, np.zeros_like(x), np.zeros_like(x),
        before=before,
    )  # fmt: skip
    odd = np.where(x & 1, x, 0).reshape(-1, 32).sum(1)
    at = x.reshape(-1, 8).argmax(1) + np.arange(16) * 8

    np.testing.assert_array_equal(sums, np.where(x & 1, np.repeat(odd, 32), 0))
    np.testing.assert_array_equal(best, np.repeat(at, 8))


def test_tiles_of_more_than_a_warp_are_refused_not_guessed():
    source = kernel("    cg::tiled_partition<64>(cg::this_thread_block());", before=GROUPS)
    with pytest.raises(CompileError, match="a tile has 1, 2, 4, 8, 16 or 32 threads"):
        ow.sanitize_source(source, "k", 1, 64, [floats(64), floats(64)])


DYNAMIC = kernel("    extern __shared__ float s[];\n    s[t] = x[i];\n    y[i] = s[t];")


def test_a_launch_without_dynamic_shared_memory_is_told_how_to_give_some(tmp_path, capsys):
    report = ow.sanitize_source(DYNAMIC, "k", 1, 64, [floats(64), floats(64)], schedules=1)
    found = report.findings

    assert [(f.kind, f.line) for f in found] == [("out-of-bounds", 5), ("out-of-bounds", 6)]
    assert all("the launch gives none; pass shared_bytes=BYTES" in f.message for f in found)
    path = tmp_path / "dynamic.cu"
    path.write_text(DYNAMIC)
    launch = [
        "--kernel",
        "k",
        "--grid",
        "1",
        "--block",
        "64",
        "--arg",
        "f32[64]",
        "--arg",
        "f32[64]",
    ]
    assert main(["sanitize", str(path), *launch]) == 1
    shown = capsys.readouterr().out
    assert shown.count("pass --shared BYTES") == 2
    assert "shared_bytes" not in shown
    assert main(["sanitize", str(path), *launch, "--shared", "256"]) == 0


def test_a_finding_shows_its_lines():
    source = kernel(
        "    __shared__ float s[64];\n\ts[t] = x[i];  // \x1b[31m\n    y[i] = s[63 - t];"
    )
    report = ow.sanitize_source(source, "k", 1, 64, [floats(64), floats(64)], schedules=1)
    (found,) = report.findings

    assert (found.text, found.other_text) == ("y[i] = s[63 - t];", "s[t] = x[i];  // ?[31m")
    assert str(report).split("\n")[1:3] == [
        "     5 | s[t] = x[i];  // ?[31m", "     6 | y[i] = s[63 - t];",
    ]  # fmt: skip


def test_a_finding_in_a_fused_kernel_shows_its_line():
    fused = ow.fuse(lambda x: x.T * 2 + x)
    x = floats(4096).reshape(64, 64)
    program = fused.lower(x, target="sm_80")
    racy = program.compile(source=program.source.replace("__syncthreads();", ";", 1))
    found = ow.sanitize(racy, x, schedules=1).findings[0]

    assert found.text
    assert found.text == racy.source.split("\n")[found.line - 1].strip()


def test_what_follows_a_write_outside_of_a_local_array_is_not_reported():
    body = """    float r[4];
    for (int j = 0; j < 9; ++j) r[j] = x[t];
    y[0] = r[0];"""
    report = ow.sanitize_source(kernel(body), "k", 1, 64, [floats(64), floats(64)], schedules=1)
    (found,) = report.findings

    assert (found.kind, found.line) == ("out-of-bounds", 5)
    assert "what the kernel does after that write is not checked" in found.message


# Of clang's IR, as old and as new compilers write it: what the checker is told instead.
COPIED = {
    "  call void @llvm.memcpy.p0.p0.i64(ptr align 16 %v, ptr align 4 %q, i64 16, i1 false), !dbg !4":
        "  call void @ow_copy_aligned(ptr align 16 %v, ptr align 4 %q, i64 16, i32 16, i32 4), !dbg !4",
    "  call void @llvm.memmove.p0i8.p0i8.i64(i8* align 8 %1, i8* getelementptr (i8, i8* @k, i64 4), i64 3, i1 true)":
        "  call void @ow_copy_aligned(i8* align 8 %1, i8* getelementptr (i8, i8* @k, i64 4), i64 3, i32 8, i32 1)",
    "  call void @llvm.memset.p0.i64(ptr align 16 %v, i8 0, i64 16, i1 false), !dbg !4":
        "  call void @ow_fill_aligned(ptr align 16 %v, i8 0, i64 16, i32 16), !dbg !4",
    "  store i32 %bf.set, ptr %1, align 4": "  store i32 %bf.set, ptr %1, align 4",
}  # fmt: skip


@pytest.mark.parametrize("line", COPIED)
def test_copies_in_ir_tell_their_alignment(line):
    made = clang_ir.told(f"define void @k() {{\n{line}\n}}\n").split("\n")

    assert made[1] == COPIED[line]
    assert ("declare void @ow_" in "".join(made)) == ("@llvm." in line)


def test_of_a_bit_field_the_write_is_told_and_not_what_it_reads_beside():
    read = "  %bf.load3 = load i32, ptr %8, align 4"
    write = ["  %bf.clear4 = and i32 %bf.load3, -241", "  %bf.set5 = or i32 %bf.clear4, %bf.shl"]
    used = ["  %bf.clear4 = and i32 %bf.load3, 15", "  store i32 %bf.clear4, ptr %p, align 4"]
    for rest, told in ((write, ", !nosanitize !{}"), (used, "")):
        made = clang_ir.told("\n".join(["define void @k() {", read, *rest, "}"]))
        assert made.split("\n")[1] == read + told


CUDA = kernel("    __shared__ float s[64];\n    s[t] = x[i];\n    y[i] = s[63 - t];")
RUN = ["--kernel", "k", "--grid", "2", "--block", "64", "--arg", "f32[128]=random"]


@pytest.mark.parametrize(("argv", "status", "says"), [
    ([*RUN, "--arg", "f32[128]"], 1, "k:6: shared-race"),
    ([*RUN, "--arg", "f32[128]=uninitialised", "--json"], 1, '"kind": "shared-race"'),
    ([*RUN], 2, "takes 2 arguments: found 1"),
    ([*RUN, "--arg", "g32[128]"], 2, "g32 is no dtype"),
    ([*RUN, "--arg", "f32[128]=rubbish"], 2, "=rubbish: expected random"),
    ([*RUN, "--arg", "f32[128]", "--schedules", "0"], 2, "schedules=0"),
    ([*RUN[2:], "--arg", "f32[128]"], 2, "--kernel is missing"),
    ([*RUN, "--grid", "x"], 2, "--grid 'x': expected numbers"),
    ([*RUN, "--toggle", "A=1"], 2, "belong to a Python function"),
])  # fmt: skip
def test_the_command_line_checks_a_cuda_file(tmp_path, capsys, argv, status, says):
    path = tmp_path / "kernel.cu"
    path.write_text(CUDA)

    assert main(["sanitize", str(path), *argv]) == status
    assert says in "".join(capsys.readouterr())


def test_the_command_line_checks_a_function(tmp_path, capsys):
    path = tmp_path / "one_of_checker.py"
    path.write_text("def norm(x, y):\n    return x / x.sum(axis=-1, keepdims=True) + y\n")
    argv = ["sanitize", f"{path}:norm", "--arg", "f32[8,64]=ones", "--arg", "2.0", "--json"]

    assert main([*argv, "--schedules", "1"]) == 0
    assert json.loads(capsys.readouterr().out)["findings"] == []
    assert main([*argv, "--grid", "4"]) == 2
    assert "belongs to a .cu file" in capsys.readouterr().err


def test_contents_belong_to_the_argument_that_is_named(tmp_path):
    path = tmp_path / "two_of_checker.py"
    path.write_text("def take(x, y):\n    return x + y\n")
    given = {}

    def seen(fused, x, y, **options):
        given.update(x=x, y=y)
        return ow.sanitize(fused, x, y, schedules=1)

    options = parser().parse_args(
        ["sanitize", f"{path}:take", "--arg", "y=f32[8]=zeros", "--arg", "x=f32[8]=ones"]
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sanitizing, "sanitize", seen)
        assert sanitizing.of_function(options).ok

    assert (given["x"] == 1).all()
    assert (given["y"] == 0).all()


def test_ctrl_c_leaves_device_variables_as_they_were():
    source = kernel(
        "    if (t == 0) y[0] = atomicAdd(&hits, 1);", before="__device__ int hits = 7;"
    )
    launch = Handwritten(source, "k", 1, 32, [floats(1), floats(1)], 0)
    with pytest.MonkeyPatch.context() as patch:
        run = checker._run

        def stopped(*args):
            run(*args)
            raise KeyboardInterrupt

        patch.setattr(checker, "_run", stopped)
        with pytest.raises(KeyboardInterrupt):
            launch.run(0)

    assert launch.run(0)[1][1][0] == 7
