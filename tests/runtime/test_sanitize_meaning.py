"""What the SIMT checker makes of CUDA, PTX and clang's IR: moves, products, groups, copies."""

import numpy as np
import pytest

import opweave as ow
from opweave.opcodes.errors import CompileError, UnsupportedError
from opweave.runtime.binaries import clang_ir
from tests.support.cuda_bodies import ASYNC, ASYNC_PTX, floats, kernel
from tests.support.sanitized import CORRECT

pytestmark = pytest.mark.host


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
