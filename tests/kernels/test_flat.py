"""A kernel's source with its toggles resolved is the same kernel to a compiler."""

import re

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.kernels.flat import flat
from opweave.compiler.toggles.choose import KNOWN
from opweave.opcodes.errors import ArgumentError
from tests.support.variants import VARIANTS, aligned

host = pytest.mark.host
nvrtc = pytest.mark.nvrtc
# One of each template, with other strategies than the compiler's where there are any.
CASES = [
    ("map f32", {}), ("bias wide", {"USE_VECTOR_IO": 0}), ("softmax 1000", {}),
    ("softmax 3000", {"USE_WARP_SHUFFLE": 0}), ("softmax 20000", {}),
    ("layer norm", {"USE_FAST_MATH": 1}), ("columns", {}), ("norm large", {}),
    ("extremes large", {"USE_RUNS": 1}), ("product", {}), ("product", {"USE_SHARED_MEMORY": 0}),
    ("product and softmax", {}), ("transpose", {}), ("transpose", {"USE_SHARED_MEMORY": 0}),
    ("picture", {}), ("windows", {}), ("scan 1000", {}), ("scan 2000", {"USE_WARP_SHUFFLE": 0}),
    ("scan 70000", {}), ("scan columns", {}), ("energy", {}), ("map f16", {"USE_64BIT_INDEX": 1}),
]  # fmt: skip


def lowered(name, toggles, target):
    variant = next(v for v in VARIANTS if v.name == name)
    fused = ow.fuse(variant.function).with_toggles(**toggles)
    return fused.lower(*variant.arguments(), target=target), variant.arguments()


def left(source):
    """The directives of a source, but for definitions, includes and loops to unroll."""
    return re.findall(r"^\s*#\s*(?!define|include|pragma)\w+.*$", source, re.MULTILINE)


@pytest.mark.parametrize(("name", "toggles"), CASES)
@pytest.mark.parametrize("target", ["sm_75", "sm_90a", "host"])
def test_no_condition_and_no_more_lines_are_left(name, toggles, target):
    program, _ = lowered(name, {} if target == "host" else toggles, target)
    for kernel in program.kernels:
        text = kernel.flat

        assert left(text) == []
        assert len(text.split("\n")) < len(kernel.source.split("\n")) or "#" not in kernel.source
        assert flat(text, kernel.toggles) == text
        code = re.sub(r"^#define.*", "", text, flags=re.MULTILINE)
        assert not set(kernel.toggles) & set(re.findall(r"\w+", code))


@host
@pytest.mark.parametrize(("name", "toggles"), CASES)
@pytest.mark.parametrize("target", ["sm_80", "host"])
def test_it_computes_the_same_bits(name, toggles, target):
    program, arguments = lowered(name, {} if target == "host" else toggles, target)
    if len(program.kernels) > 1:
        return
    one = program(*arguments)
    other = program.compile(source=program.kernels[0].flat)(*arguments)

    for a, b in zip(*(x if isinstance(x, tuple) else (x,) for x in (one, other)), strict=True):
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


@nvrtc
@pytest.mark.parametrize(("name", "toggles"), CASES)
@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_90a"])
def test_it_is_the_same_machine_code(name, toggles, target):
    program, _ = lowered(name, toggles, target)
    plain = program.kernels[0]
    resolved = program.compile(source=plain.flat).kernels[0]

    assert plain.source != resolved.source
    assert plain.ptx == resolved.ptx
    assert plain.sass == resolved.sass


X = aligned(np.random.default_rng(0).random((8, 64), dtype=np.float32))


def test_softmax_is_short():
    (kernel,) = ow.fuse(ow.softmax).lower(np.ones((7, 1000), np.float32), target="sm_90a").kernels

    assert len(kernel.source.rstrip("\n").split("\n")) <= 130
    assert len(kernel.flat.rstrip("\n").split("\n")) <= 115


@pytest.mark.parametrize(("columns", "target"), [(40000, "sm_80"), (1000, "host")])
def test_a_row_that_each_pass_reads_has_no_registers(columns, target):
    (kernel,) = (
        ow.fuse(ow.softmax).lower(np.ones((257, columns), np.float32), target=target).kernels
    )

    assert "x_row[" in kernel.source
    assert "x_row[" not in kernel.flat
    assert "hold_row" not in kernel.flat


def test_kernels_of_op_code_lists_and_of_own_operators_have_one():
    codes = [ow.load("x"), ow.opcodes.multiply(2.0), ow.opcodes.exp, ow.store("y")]
    listed = ow.kernel(codes).lower(X, target="sm_80")
    own = ow.fuse(lambda x: ow.cuda("if (x > 0) return x; return 2 * x;", x, numpy=lambda x: x))
    (kernel,) = own.lower(X, target="sm_80").kernels

    assert "x_v[CHUNKS]" in listed.source
    assert "CHUNKS]" not in listed.flat
    assert "if (x > 0) return x;" in kernel.flat


def test_a_librarys_product_is_a_name_alone():
    program = ow.fuse(lambda x, w: x @ w).lower(X, np.ones((64, 64), np.float32), target="host")

    assert program.kernels[0].flat == program.kernels[0].source


EDITS = [
    # what is asked for stays as it is
    ("#define N 4\n#ifdef N\nint a[N];\n#endif", "#define N 4\n#ifdef N\nint a[N];\n#endif"),
    ("#define N 4\n#if defined(N)\nint a[N];\n#endif", "#define N 4\n#if defined(N)\nint a[N];\n#endif"),
    ("#define N 4\n#undef N\n#define N 5\nint a[N];", "#define N 4\n#undef N\n#define N 5\nint a[N];"),
    ("#define N 4\n#define N 5\nint a[N];", "#define N 4\n#define N 5\nint a[N];"),
    ("#if MINE\n#define N 4\n#endif\nint a[N];", "#if MINE\n#define N 4\n#endif\nint a[N];"),
    ("int a[N];\n#define N 4", "int a[N];\n#define N 4"),
    ("#define N 4\n#define TEXT(x) #x N", "#define N 4\n#define TEXT(x) #x N"),
    ("#define MINE 3\nint a[MINE];", "#define MINE 3\nint a[MINE];"),
    ("#define N x + 1\nint a[N];", "#define N x + 1\nint a[N];"),
    # what only a compiler knows is left to it, with the numbers in it
    ("#define N 4\n#if __CUDA_ARCH__ > N\nint a[N];\n#endif", "#if __CUDA_ARCH__ > 4\nint a[4];\n#endif"),
    ("#define N 4\n#if MINE\n#if N > 3\na;\n#else\nb;\n#endif\n#else\nc;\n#endif", "#if MINE\na;\n#else\nc;\n#endif"),
    # comments, strings and members are none
    ('#define N 4\n// N\n/* N\n#if N\n*/ f("N", \'N\', a.N, N);', '// N\n/* N\n#if N\n*/ f("N", \'N\', a.N, 4);'),
    # expressions
    ("#define N 4\n#if N / 2 * 3 == 6 && !(N % 3 != 1) || 0\na;\n#elif N\nb;\n#endif", "a;"),
    ("#define N 4\n#if N > 4\na;\n#elif N - 1 >= 3\nb;\n#else\nc;\n#endif", "b;"),
    ("#define N 4\n#if N ? 0 : 1\na;\n#endif\nb;", "b;"),
    ("#define N 0\n#if 1 / N\na;\n#endif", "#if 1 / 0\na;\n#endif"),
    ("#define N 4\n#if N &\na;\n#endif", "#if 4 &\na;\n#endif"),
    ("#define N 010\nint a[N];", "#define N 010\nint a[N];"),
    # numbers that come of toggles are computed, as far as that is the same in C
    ("#define N 4\nint a[(N * 8 + 0) / (2 * N)][N % 3 + N / 3 - 1];", "int a[4][1];"),
    ("#define N 4\nx = a * N * 8 + (y - N * 2 - 1) / (N * 2);", "x = a * 4 * 8 + (y - 8 - 1) / 8;"),
    ("#define N 4\nx = (float)N / 8 + N / 0 + (N - 8) + N * 1.5 + N * 2u;", "x = (float)4 / 8 + 4 / 0 + (4 - 8) + 4 * 1.5 + 4 * 2u;"),
    ("#define N 4\nif (N) while (N) f(N)(N)[N] = (N) + ~N * 2 + !N + 2;", "if (4) while (4) f(4)(4)[4] = 4 + ~4 * 2 + !4 + 2;"),
    ("#define N 1\nx = a * N * 8 + b / N % N + c + 2 * 3; // N * 8", "x = a * 8 + b % 1 + c + 2 * 3; // N * 8"),
    ("#define N 65536\nx = N * N + (N - 1);", "x = 65536 * 65536 + 65535;"),
    ("#define N 4\nx = 1 + N * y + N + 2 * y;", "x = 1 + 4 * y + 4 + 2 * y;"),
    # helpers
    ("#define N 1\nstatic int f(int x)\n{\n    return x;\n}\n\n#if !N\nint y = f(2);\n#endif\nint z;", "int z;"),
    ("#define N 1\nstatic int f(int x)\n{\n    return x;\n}\n\nint y = f(N);", "static int f(int x)\n{\n    return x;\n}\n\nint y = f(1);"),
    # what no compiler takes
    ("#define N 1\n#if N\na;", "a;"),
    ("#endif\n#else\na;", "#endif\n#else\na;"),
    ("#define N 1\n#if " + "(" * 5000 + "N" + ")" * 5000 + "\na;\n#endif", "#if " + "(" * 5000 + "1" + ")" * 5000 + "\na;\n#endif"),
    ("", ""),
]  # fmt: skip


@pytest.mark.parametrize(("source", "expected"), EDITS, ids=range(len(EDITS)))
def test_only_toggles_are_resolved(source, expected):
    assert flat(source, ("N",)) == f"{expected}\n"


def test_an_edited_source_has_its_own_numbers():
    program = ow.fuse(lambda x: x * 2).lower(X, target="sm_80")
    edited = program.kernels[0].source.replace(
        "#define BLOCK             256", "#define BLOCK 128"
    )
    with pytest.raises(ArgumentError):  # another launch
        program.compile(source=edited)

    assert "__launch_bounds__(128)" in flat(edited, KNOWN)
