"""``ow.sanitize`` and ``ow.sanitize_source``: results, arguments, messages, and bad input."""

import json

import numpy as np
import pytest

import opweave as ow
from opweave.cli import sanitizing
from opweave.cli.main import main
from opweave.cli.options import parser
from opweave.opcodes.errors import ArgumentError, CompileError, LaunchError, UnsupportedError
from tests.support.cuda_bodies import TILE, floats, kernel
from tests.support.variants import EVERY

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


def test_contents_that_depend_on_the_schedule_are_named():
    source = kernel("    if (t == 0) y[atomicAdd(n, 1)] = blockIdx.x;", "float* y, int* n")
    report = ow.sanitize_source(
        source, "k", 8, 32, [np.zeros(8, np.float32), np.zeros(1, np.int32)], schedules=4
    )

    assert report.varies == (0,)
    assert report.ok


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


@pytest.mark.parametrize("array", [
    np.array([None, 1], object), np.array(["a"]), floats(4).astype(">f4"), np.zeros(4, bool),
    np.zeros(4, "M8[s]"),
], ids=lambda a: str(a.dtype))  # fmt: skip
def test_arrays_that_a_kernel_would_misread_are_refused(array):
    with pytest.raises(ArgumentError, match="found an array of"):
        add(array, floats(4), 1.0, 1)


def test_more_faults_than_are_kept_are_said():
    reads = "\n".join(f"    y[0] += x[{n}];" for n in range(2100))
    report = ow.sanitize_source(
        kernel(reads), "k", 1, 1, [ow.uninitialised(2100, "f4"), floats(1)], schedules=1
    )

    assert not report.complete
    assert len(report.findings) > 2000
    assert "places are kept" in str(report)


def test_a_finding_reads_as_a_sentence():
    source = kernel(TILE.replace("    __syncthreads();\n", ""))
    report = ow.sanitize_source(
        source, "k", (4, 4), (16, 16), [floats(4096), np.zeros(4096, np.float32)], schedules=1
    )
    text = str(report)

    assert "k:7: shared-race: reads 4 bytes at byte" in text
    assert "of shared tile that line 6 wrote in another thread" in text
    assert "thread 0,1,0 of block" in text or "thread 1,0,0 of block" in text


@pytest.mark.parametrize("variant", EVERY, ids=lambda v: v.name)
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
