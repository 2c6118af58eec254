"""mma, ldmatrix, cp.async, mbarrier and clusters, by hand-written PTX."""

import ml_dtypes
import numpy as np
import pytest

from opweave.opcodes import errors
from tests.support.ptx import kernel, launch

RNG = np.random.default_rng(11)
NUMBERS = {"f16": np.dtype("f2"), "bf16": np.dtype(ml_dtypes.bfloat16), "tf32": np.dtype("f4"),
           "s8": np.dtype("i1"), "u8": np.dtype("u1")}  # fmt: skip
SHAPES = [
    ("f16", 16, "f32"), ("f16", 8, "f32"), ("f16", 16, "f16"), ("bf16", 16, "f32"),
    ("bf16", 8, "f32"), ("tf32", 8, "f32"), ("tf32", 4, "f32"), ("s8", 32, "s32"),
    ("s8", 16, "s32"), ("u8", 32, "s32"),
]  # fmt: skip


def a_fragment(matrix, each):
    """a_i of the ISA: row is lane / 4, or 8 more; the column by halves of the matrix."""
    registers = matrix.shape[1] // (4 * each) * 2
    made = np.zeros((registers, 32, each), matrix.dtype)
    for n in range(registers):
        for lane in range(32):
            row, column = lane // 4 + 8 * (n % 2), (lane % 4) * each + (n // 2) * 4 * each
            made[n, lane] = matrix[row, column : column + each]
    return made.view(np.uint32).reshape(registers, 32)


def b_fragment(matrix, each):
    registers = matrix.shape[0] // (4 * each)
    made = np.zeros((registers, 32, each), matrix.dtype)
    for n in range(registers):
        for lane in range(32):
            row = (lane % 4) * each + n * 4 * each
            made[n, lane] = matrix[row : row + each, lane // 4]
    return made.view(np.uint32).reshape(registers, 32)


def c_places():
    """(row, column) of the four accumulators of each lane."""
    lane = np.arange(32)
    return [(lane // 4 + 8 * (n // 2), 2 * (lane % 4) + n % 2) for n in range(4)]


@pytest.mark.parametrize(("kind", "k", "result"), SHAPES)
def test_mma_multiplies_matrices(kind, k, result):
    dtype, each = NUMBERS[kind], 4 // NUMBERS[kind].itemsize
    a, b, c = (RNG.integers(-9, 9, s) for s in ((16, k), (k, 8), (16, 8)))
    if kind == "u8":
        a, b = abs(a), abs(b)
    fa, fb = a_fragment(a.astype(dtype), each), b_fragment(b.astype(dtype), each)
    if result == "f16":
        fc = np.stack([c[c_places()[2 * n]] for n in range(2)] + [
            c[c_places()[2 * n + 1]] for n in range(2)]).astype("f2")  # fmt: skip
        fc = np.stack([fc[[0, 2]], fc[[1, 3]]]).transpose(0, 2, 1).copy().view(np.uint32)[..., 0]
    else:
        own = np.float32 if result == "f32" else np.int32
        fc = np.stack([c[place] for place in c_places()]).astype(own).view(np.uint32)
    out = np.zeros_like(fc)
    counts = len(fa), len(fb), len(fc)
    names = [[f"%r{base + n}" for n in range(count)]
             for base, count in zip((10, 20, 30), counts, strict=True)]  # fmt: skip
    loads = "mul.wide.u32 %rd10, %r0, 4;"
    for n, group in enumerate(names):
        loads += f"add.s64 %rd11, %rd{n}, %rd10;"
        loads += "".join(f"ld.global.u32 {r}, [%rd11+{128 * i}];" for i, r in enumerate(group))
    results = [f"%f{n}" if result == "f32" else f"%r{40 + n}" for n in range(counts[2])]
    shape = [f"{{{', '.join(group)}}}" for group in [results, *names]]
    types = f"{result}.{kind}.{kind}.{result}"
    store = "add.s64 %rd11, %rd3, %rd10;" + "".join(
        f"st.global.{'f32' if result == 'f32' else 'u32'} [%rd11+{128 * i}], {r};"
        for i, r in enumerate(results))  # fmt: skip
    launch(kernel(f"{loads} mma.sync.aligned.m16n8k{k}.row.col.{types} {', '.join(shape)}; {store}",
                  4), [fa.copy(), fb.copy(), fc.copy(), out])  # fmt: skip
    expected = a @ b + c
    if result == "f16":
        found = out.view(np.float16).reshape(2, 32, 2)
        parts = [found[n // 2, :, n % 2] for n in range(4)]
    else:
        parts = list(out.view(np.float32 if result == "f32" else np.int32))
    for place, part in zip(c_places(), parts, strict=True):
        np.testing.assert_array_equal(part, expected[place])


# add.cc, addc, mad.lo.cc: (body, the 64-bit number that %r1 and %r2 come to, of a and b)
CARRIES = [
    ("add.cc.u32 %r1, %r10, %r12; addc.u32 %r2, %r11, %r13;", lambda a, b: a + b),
    ("sub.cc.u32 %r1, %r10, %r12; subc.u32 %r2, %r11, %r13;", lambda a, b: a - b),
    ("mul.lo.u32 %r1, %r10, %r12; mul.hi.u32 %r2, %r10, %r12; mad.lo.cc.u32 %r1, %r10, %r13, %r1;"
     "madc.hi.u32 %r2, %r10, %r13, %r2;",
     lambda a, b: carried_product(a & M, b & M, b >> 32)),
]  # fmt: skip
M = 2**32 - 1


def carried_product(a, b, c):
    low = (a * b & M) + (a * c & M)
    return (low & M) | ((a * b >> 32) + (a * c >> 32) + (low >> 32)) << 32


@pytest.mark.parametrize(("body", "meaning"), CARRIES, ids=["add", "sub", "mad"])
def test_a_carry_goes_to_the_next_word(body, meaning):
    a, b = (
        RNG.integers(0, 2**63, 32).astype(np.uint64) * np.uint64(2) + np.uint64(1) for _ in "ab"
    )
    a[:3], b[:3] = [2**64 - 1, 2**32 - 1, 0], [1, 1, 1]
    made = np.zeros_like(a)
    text = kernel(
        f"""
    mul.wide.u32 %rd5, %r0, 8; add.s64 %rd6, %rd0, %rd5; add.s64 %rd7, %rd1, %rd5;
    ld.global.v2.u32 {{%r10, %r11}}, [%rd6]; ld.global.v2.u32 {{%r12, %r13}}, [%rd7];
    {body} add.s64 %rd8, %rd2, %rd5; st.global.v2.u32 [%rd8], {{%r1, %r2}};
    """,
        3,
    )
    launch(text, [a, b, made])

    assert [meaning(int(x), int(y)) % 2**64 for x, y in zip(a, b, strict=True)] == made.tolist()


@pytest.mark.parametrize("trans", ["", ".trans"])
@pytest.mark.parametrize("count", [1, 2, 4])
def test_ldmatrix_and_stmatrix_turn_rows_into_fragments(count, trans):
    x = RNG.integers(0, 2**16, (8 * count, 8)).astype(np.uint16)
    y, z = np.zeros((count, 32), np.uint32), np.zeros_like(x)
    words = ", ".join(f"%r{10 + n}" for n in range(count))
    copy = "\n".join(
        f"ld.global.u32 %r30, [%rd6+{128 * n}]; st.shared.u32 [%r5+{128 * n}], %r30;"
        for n in range(count))  # fmt: skip
    back = copy.replace("ld.global.u32 %r30, [%rd6", "ld.shared.u32 %r30, [%r7").replace(
        "st.shared.u32 [%r5", "st.global.u32 [%rd8")  # fmt: skip
    stores = "".join(f"st.global.u32 [%rd7+{128 * n}], %r{10 + n};" for n in range(count))
    body = f"""
    mul.wide.u32 %rd5, %r0, 4; add.s64 %rd6, %rd0, %rd5; add.s64 %rd7, %rd1, %rd5;
    add.s64 %rd8, %rd2, %rd5; shl.b32 %r4, %r0, 2; mov.u32 %r3, tile; add.u32 %r5, %r3, %r4;
    {copy} bar.sync 0; mad.lo.u32 %r6, %r0, 16, %r3;
    ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{words}}}, [%r6];
    {stores} add.u32 %r8, %r6, 1024; add.u32 %r7, %r5, 1024;
    stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 [%r8], {{{words}}};
    bar.sync 0; {back}
    """
    text = kernel(body, 3, inside=".shared .align 16 .b8 tile[2048];")
    counts = launch(text, [x, y, z], counting=True)
    m = x.reshape(count, 8, 8)
    m = m.transpose(0, 2, 1) if trans else m
    expected = m.reshape(count, 64).copy().view(np.uint32).reshape(count, 32)

    np.testing.assert_array_equal(y, expected)
    np.testing.assert_array_equal(z, x)
    for kind in ("load", "store"):  # by words, and the matrices at once
        found = counts.accesses("shared", kind)
        assert (found.requests, found.wavefronts) == (count + 1, 2 * count)
        assert (found.asked, found.conflicts) == (256 * count, 0)


COPY = """
mul.wide.u32 %rd5, %r0, 16; add.s64 %rd6, %rd0, %rd5; mov.u32 %r3, tile;
mad.lo.u32 %r4, %r0, 16, %r3;
cp.async.cg.shared.global [%r4], [%rd6], 16; cp.async.commit_group;
cp.async.ca.shared.global [%r4+512], [%rd6], 16, 4; cp.async.commit_group;
{wait}
ld.shared.v4.u32 {{%r10, %r11, %r12, %r13}}, [%r4{offset}];
add.s64 %rd7, %rd1, %rd5; st.global.v4.u32 [%rd7], {{%r10, %r11, %r12, %r13}};
"""


def copied(wait, offset=""):
    x = np.arange(1, 129, dtype=np.uint32)
    raw = np.zeros(132, np.uint32)
    y = raw[-raw.ctypes.data % 16 // 4 :][:128]
    held = np.zeros(132, np.uint32)
    a = held[-held.ctypes.data % 16 // 4 :][:128]
    a[...] = x
    text = kernel(COPY.format(wait=wait, offset=offset), 2,
                  inside=".shared .align 16 .b8 tile[1024];")  # fmt: skip
    launch(text, [a, y])
    return x.reshape(-1, 4), y.reshape(-1, 4)


def test_an_asynchronous_copy_comes_when_its_group_was_waited_for():
    x, y = copied("cp.async.wait_group 1;")
    np.testing.assert_array_equal(x, y)


def test_the_rest_of_a_short_copy_is_zero():
    x, y = copied("cp.async.wait_all;", "+512")
    np.testing.assert_array_equal(x * [1, 0, 0, 0], y)


@pytest.mark.parametrize(("wait", "offset"), [("", ""), ("cp.async.wait_group 1;", "+512"),
                                              ("cp.async.wait_group 2;", "")])  # fmt: skip
def test_a_copy_that_nobody_has_waited_for_may_not_be_read(wait, offset):
    with pytest.raises(errors.UninitialisedError, match=r"ld\.shared"):
        copied(wait, offset)


PHASES = """
mov.u32 %r3, gate; setp.eq.u32 %p1, %r0, 0;
@%p1 mbarrier.init.shared.b64 [%r3], 64; bar.sync 0;
shl.b32 %r4, %r0, 2; mov.u32 %r5, tile; add.u32 %r6, %r5, %r4;
st.shared.u32 [%r6], %r0;
mbarrier.arrive.shared.b64 %rd9, [%r3];
{wait}
xor.b32 %r7, %r4, 128; add.u32 %r8, %r5, %r7; ld.shared.u32 %r10, [%r8];
mul.wide.u32 %rd5, %r0, 4; add.s64 %rd6, %rd0, %rd5; st.global.u32 [%rd6], %r10;
"""
GATE = ".shared .align 8 .b64 gate; .shared .align 4 .b8 tile[256];"
WAITS = [
    "L: mbarrier.try_wait.shared.b64 %p2, [%r3], %rd9; @!%p2 bra L;",
    "L: mbarrier.test_wait.parity.shared.b64 %p2, [%r3], 0; @!%p2 bra L;",
]


@pytest.mark.parametrize("schedule", [0, 1, 2])
@pytest.mark.parametrize("wait", WAITS)
def test_an_mbarrier_ends_its_phase_when_all_have_arrived(wait, schedule):
    y = np.zeros(64, np.uint32)
    text = kernel(PHASES.format(wait=wait), inside=GATE)
    launch(text, [y], block=(64, 1, 1), schedule=schedule)

    np.testing.assert_array_equal(y, np.arange(64) ^ 32)


def test_an_mbarrier_that_nobody_waits_for_is_seen():
    with pytest.raises(errors.UninitialisedError):
        launch(kernel(PHASES.format(wait=""), inside=GATE), [np.zeros(64, np.uint32)],
               block=(64, 1, 1), schedule=1)  # fmt: skip


def test_a_phase_waits_for_its_bytes():
    body = """
    mov.u32 %r3, gate; mbarrier.init.shared.b64 [%r3], 1;
    mbarrier.arrive.expect_tx.shared.b64 %rd9, [%r3], 64;
    mbarrier.test_wait.shared.b64 %p1, [%r3], %rd9; selp.u32 %r1, 1, 0, %p1;
    mbarrier.complete_tx.relaxed.cta.shared.b64 [%r3], 64;
    mbarrier.test_wait.shared.b64 %p1, [%r3], %rd9; selp.u32 %r2, 1, 0, %p1;
    st.global.v2.u32 [%rd0], {%r1, %r2};
    """
    y = np.zeros(2, np.uint32)
    launch(kernel(body, inside=GATE), [y], block=(1, 1, 1))

    assert y.tolist() == [0, 1]


CLUSTER = """
mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %ctaid.x; mov.u32 %r3, tile;
shl.b32 %r4, %r0, 2; add.u32 %r5, %r3, %r4; mad.lo.u32 %r6, %r2, 100, %r0;
st.shared.u32 [%r5], %r6;
{barrier}
xor.b32 %r7, %r1, 1; mapa.shared::cluster.u32 %r8, %r5, %r7;
ld.shared::cluster.u32 %r9, [%r8];
mad.lo.u32 %r10, %r2, 32, %r0; mul.wide.u32 %rd5, %r10, 4; add.s64 %rd6, %rd0, %rd5;
st.global.u32 [%rd6], %r9;
"""
BARRIER = "barrier.cluster.arrive.release.aligned; barrier.cluster.wait.acquire.aligned;"


@pytest.mark.parametrize("schedule", [0, 1, 2, 3])
def test_blocks_of_a_cluster_read_each_others_shared_memory(schedule):
    y = np.zeros((4, 32), np.uint32)
    text = kernel(CLUSTER.format(barrier=BARRIER), inside=".shared .align 4 .b8 tile[128];")
    launch(text, [y], grid=(4, 1, 1), cluster=(2, 1, 1), schedule=schedule)

    np.testing.assert_array_equal(y, (np.arange(4)[:, None] ^ 1) * 100 + np.arange(32))


def test_clusters_along_two_axes():
    y = np.zeros((4, 4), np.uint32)
    text = kernel("""
    mov.u32 %r1, %cluster_ctarank; mov.u32 %r2, %ctaid.x; mov.u32 %r3, %ctaid.y;
    mad.lo.u32 %r4, %r3, 4, %r2; mov.u32 %r5, tile; st.shared.u32 [%r5], %r4;
    barrier.cluster.arrive; barrier.cluster.wait;
    mapa.shared::cluster.u32 %r6, %r5, 3; ld.shared::cluster.u32 %r7, [%r6];
    mul.wide.u32 %rd5, %r4, 4; add.s64 %rd6, %rd0, %rd5; st.global.u32 [%rd6], %r7;
    """, inside=".shared .align 4 .b8 tile[4];")  # fmt: skip
    launch(text, [y], grid=(4, 4, 1), block=(1, 1, 1), cluster=(2, 2, 1), schedule=3)
    row, column = np.indices((4, 4))

    np.testing.assert_array_equal(y, (row | 1) * 4 + (column | 1))


def test_a_block_that_the_cluster_has_not():
    text = kernel("mapa.shared::cluster.u32 %r1, %r2, 2; st.shared::cluster.u32 [%r1], 5;",
                  inside=".shared .align 4 .b8 tile[128];")  # fmt: skip
    with pytest.raises(errors.PtxMemoryError, match="a block that the cluster has not"):
        launch(text, [np.zeros(1, np.uint32)], grid=(2, 1, 1), cluster=(2, 1, 1))


def test_who_never_arrives_is_a_deadlock():
    text = kernel("setp.eq.u32 %p1, %r0, 0; @%p1 bra L; barrier.cluster.arrive; "
                  "L: barrier.cluster.wait; bar.sync 0;")  # fmt: skip
    with pytest.raises(errors.DeadlockError):
        launch(text, [np.zeros(1, np.uint32)], grid=(2, 1, 1), cluster=(2, 1, 1))


@pytest.mark.parametrize("opcode", [
    "mma.sync.aligned.m16n8k16.row.row.f32.f16.f16.f32", "mma.sync.aligned.m8n8k4.row.col.f64",
    "mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32", "mma.sp.sync.aligned.m16n8k16",
    "ldmatrix.sync.aligned.m8n16.x1", "wgmma.mma_async.sync", "cp.async.bulk.shared.global",
    "tcgen05.ld", "mbarrier.pending_count.b64", "cp.async.mbarrier.arrive.b64",
])  # fmt: skip
def test_what_is_not_executed_is_named(opcode):
    with pytest.raises(errors.UnknownInstructionError, match=opcode.split(".")[0]):
        launch(kernel(f"{opcode} %r1, %r2, %r3, %r4;"), [np.zeros(1, np.uint32)])
