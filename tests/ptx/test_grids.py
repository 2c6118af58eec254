"""How the threads of a grid run: memory, barriers, warps, schedules, budgets, counters."""

import numpy as np
import pytest

from opweave.opcodes import errors
from opweave.runtime.ptx.launch import PtxLaunch, run
from opweave.runtime.ptx.machine import Shape
from opweave.runtime.ptx.memory import PtxRegion, lazily, region_of
from tests.support.ptx import HEAD, kernel, launch

SHARED = ".shared .align 4 .b8 tile[256];\n"
STORE = """
mov.u32 %r1, tile; shl.b32 %r2, %r0, 2; add.s32 %r3, %r1, %r2;
st.shared.u32 [%r3], %r0;
"""
LOAD = """
xor.b32 %r4, %r2, 128; add.s32 %r5, %r1, %r4;
ld.shared.u32 %r6, [%r5];
mul.wide.u32 %rd5, %r0, 4; add.s64 %rd6, %rd0, %rd5;
st.global.u32 [%rd6], %r6;
"""


def test_a_barrier_separates_writes_from_reads():
    for schedule in range(8):
        y = np.zeros(64, np.uint32)
        launch(kernel(STORE + "bar.sync 0;" + LOAD, inside=SHARED), [y], block=(64, 1, 1),
               schedule=schedule)  # fmt: skip
        np.testing.assert_array_equal(y, np.arange(64) ^ 32)


def test_without_the_barrier_a_schedule_reads_what_nobody_has_written():
    text = kernel(STORE + LOAD, inside=SHARED)
    launch(text, [np.zeros(64, np.uint32)], block=(64, 1, 1))  # the lowest counter hides it
    for schedule in (1, 2, 3):
        with pytest.raises(errors.UninitialisedError, match=r"ld\.shared\.u32"):
            launch(text, [np.zeros(64, np.uint32)], block=(64, 1, 1), schedule=schedule)


def of_thread(body):
    return kernel(f"mul.wide.u32 %rd5, %r0, 4; add.s64 %rd6, %rd0, %rd5;\n{body}")


MEMORY = [
    ("a read behind the end", "ld.global.u32 %r1, [%rd6+4];", errors.PtxMemoryError,
     r"thread \(31, 0, 0\) .*128 bytes behind the start of a0"),
    ("a write before the start", "st.global.u32 [%rd6+-4], %r0;", errors.PtxMemoryError,
     r"thread \(0, 0, 0\) .*4 bytes before a0"),
    ("no address", "mov.u64 %rd7, 8; ld.global.u32 %r1, [%rd7];", errors.PtxMemoryError,
     "outside every array"),
    ("not aligned", "ld.global.u64 %rd7, [%rd6+-4];", errors.PtxMemoryError, "no multiple of 8"),
    ("shared memory that is none", "st.shared.u32 [%r0], %r0;", errors.PtxMemoryError,
     "multiple of 4"),
    ("a trap", "trap;", errors.PtxLaunchError, "trap"),
    ("half of the block at a barrier",
     "setp.lt.u32 %p1, %r0, 16; @%p1 bra L; bar.sync 0, 64; L:", errors.DeadlockError,
     "16 of"),
    ("a lane that stays away",
     "setp.eq.u32 %p1, %r0, 3; @%p1 bra W; shfl.sync.idx.b32 %r1, %r0, 0, 31, -1; ret;\n"
     "W: bar.sync 1, 64;", errors.DeadlockError, "lanes of its mask"),
    ("a lane outside the mask reads",
     "setp.lt.u32 %p1, %r0, 16; @!%p1 bra L; shfl.sync.idx.b32 %r1, %r0, 20, 31, 65535; L:",
     errors.PtxLaunchError, "does not take part"),
    ("masks that do not agree",
     "setp.lt.u32 %p1, %r0, 16; selp.b32 %r2, -1, 0xFFFF0000, %p1;\n"
     "vote.sync.ballot.b32 %r1, %p1, %r2; bar.sync 0;", errors.DeadlockError, "mask 0xffffffff"),
    ("an atomic of which one thread is far away",
     "xor.b32 %r7, %r0, 31; setp.eq.u32 %p1, %r0, 5; mul.wide.u32 %rd5, %r7, 4;\n"
     "add.s64 %rd6, %rd0, %rd5; @%p1 add.s64 %rd6, %rd6, 4096;\n"
     "atom.global.add.u32 %r1, [%rd6], 1;", errors.PtxMemoryError, r"thread \(5, 0, 0\) .*behind the start of a0"),
    ("a copy of which one thread is far away",
     "setp.eq.u32 %p1, %r0, 5; @%p1 add.s64 %rd6, %rd6, 4096;\n"
     "setp.ge.u32 %p2, %r0, 3; selp.u32 %r2, 3, 0, %p2;\n"
     "cp.async.ca.shared.global [0], [%rd6], 4, %r2;", errors.PtxMemoryError,
     r"thread \(5, 0, 0\) .*behind the start of a0"),
    ("a copy of no bytes that is not aligned",
     "add.s64 %rd6, %rd6, 2; mov.u32 %r2, 0;\n"
     "cp.async.ca.shared.global [0], [%rd6], 4, %r2;", errors.PtxMemoryError, "multiple of 4"),
    ("a loop for ever", "L: add.u32 %r1, %r1, 1; bra L;", errors.BudgetError, "budget="),
    ("a wait that nobody ends",
     "L: ld.volatile.global.u32 %r1, [%rd0]; setp.eq.u32 %p1, %r1, 0; @%p1 bra L;",
     errors.DeadlockError, "nobody will write"),
]  # fmt: skip


@pytest.mark.parametrize("schedule", [0, 5])
@pytest.mark.parametrize(("body", "error", "message"), [m[1:] for m in MEMORY],
                         ids=[m[0] for m in MEMORY])  # fmt: skip
def test_a_fault_names_instruction_line_and_thread(body, error, message, schedule):
    if schedule and "thread" in message:
        message = message.partition(".*")[2]
    with pytest.raises(error, match=message) as caught:
        launch(of_thread(body), [np.zeros(32, np.uint32)], schedule=schedule, budget=20000)
    assert caught.value.instruction in body
    assert caught.value.line > 0


def test_a_read_of_what_nobody_has_written():
    with pytest.raises(errors.UninitialisedError, match="byte 0 of a0"):
        launch(of_thread("ld.global.u32 %r1, [%rd6];"), [np.zeros(32, np.uint32)], unwritten=(0,))


def test_a_write_to_what_may_not_be_written():
    x = np.zeros(32, np.uint32)
    x.flags.writeable = False
    with pytest.raises(errors.PtxMemoryError, match="may not be written"):
        launch(of_thread("st.global.u32 [%rd6], %r0;"), [x])


def test_a_warp_that_waits_for_another_one_yields():
    body = """
    setp.ge.u32 %p1, %r0, 32; @%p1 bra WRITE;
    L: ld.volatile.global.u32 %r1, [%rd0]; setp.eq.u32 %p2, %r1, 0; @%p2 bra L;
    mul.wide.u32 %rd5, %r0, 4; add.s64 %rd6, %rd0, %rd5; st.global.u32 [%rd6+4], %r1; ret;
    WRITE: mov.u32 %r2, 7; st.volatile.global.u32 [%rd0], %r2;
    """
    for schedule in (0, 1, 2):
        y = np.zeros(33, np.uint32)
        launch(kernel(body), [y], block=(64, 1, 1), schedule=schedule)
        assert (y == 7).all()


def test_a_long_loop_that_looks_at_memory_is_no_deadlock():
    body = """
    L: ld.volatile.global.u32 %r1, [%rd0]; add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 5000;
    @%p1 bra L; st.global.u32 [%rd0], %r2;
    """
    y = np.zeros(1, np.uint32)
    launch(kernel(body), [y])

    assert y[0] == 5000


def test_a_pointer_into_the_middle_of_an_array():
    text = of_thread("ld.global.u32 %r1, [%rd6]; st.global.u32 [%rd6+-128], %r1;")
    x = np.arange(64, dtype=np.uint32)
    region = region_of("x", x)
    middle = (region.base + 128).to_bytes(8, "little")
    run(PtxLaunch(text, "k", Shape((1, 1, 1), (32, 1, 1)), middle), [region])

    np.testing.assert_array_equal(x[:32], np.arange(32, 64))


@pytest.mark.parametrize(("mode", "by", "expected"), [
    ("up", 2, np.r_[0, 1, np.arange(30)]), ("down", 3, np.r_[np.arange(3, 32), 29, 30, 31]),
    ("bfly", 5, np.arange(32) ^ 5), ("idx", 9, np.full(32, 9)),
])  # fmt: skip
def test_shuffles(mode, by, expected):
    clamp = 0 if mode == "up" else 31
    y = np.zeros(32, np.uint32)
    launch(of_thread(f"shfl.sync.{mode}.b32 %r1|%p1, %r0, {by}, {clamp}, -1;"
                     "st.global.u32 [%rd6], %r1;"), [y])  # fmt: skip
    np.testing.assert_array_equal(y, expected)


TOGETHER = [
    ("vote.sync.ballot.b32 %r1, %p2, -1;", np.full(32, sum(1 << n for n in range(0, 32, 3)))),
    ("vote.sync.any.pred %p3, %p2, -1; selp.u32 %r1, 1, 0, %p3;", np.ones(32)),
    ("vote.sync.all.pred %p3, %p2, -1; selp.u32 %r1, 1, 0, %p3;", np.zeros(32)),
    ("redux.sync.add.u32 %r1, %r0, -1;", np.full(32, 496)),
    ("redux.sync.max.s32 %r1, %r0, -1;", np.full(32, 31)),
    ("shr.u32 %r3, %r0, 4; match.any.sync.b32 %r1, %r3, -1;",
     np.repeat([0xFFFF, 0xFFFF0000], 16)),
    ("activemask.b32 %r1;", np.full(32, 2**32 - 1)),
    ("mov.u32 %r1, %lanemask_lt;", (1 << np.arange(32)) - 1),
    ("@%p2 mov.u32 %r1, 5; @!%p2 mov.u32 %r1, 6;", np.where(np.arange(32) % 3, 6, 5)),
    ("atom.global.add.u32 %r1, [%rd1], 1;", np.arange(32)),
    ("atom.global.cas.b32 %r1, [%rd1], 0, 9;", np.r_[0, np.full(31, 9)]),
    ("atom.global.inc.u32 %r1, [%rd1], 3;", np.arange(32) % 4),
    ("bar.red.popc.u32 %r1, 0, %p2;", np.full(32, 11)),
]  # fmt: skip


@pytest.mark.parametrize(("body", "expected"), TOGETHER, ids=[t[0][:26] for t in TOGETHER])
def test_lanes_and_threads_together(body, expected):
    y, counter = np.zeros(32, np.uint32), np.zeros(4, np.uint32)
    head = "rem.u32 %r2, %r0, 3; setp.eq.u32 %p2, %r2, 0; mul.wide.u32 %rd5, %r0, 4;"
    launch(kernel(f"{head} add.s64 %rd6, %rd0, %rd5; {body} st.global.u32 [%rd6], %r1;", 2),
           [y, counter])  # fmt: skip
    np.testing.assert_array_equal(y, expected)


HALVES = np.where(np.arange(32) < 16, 0xFFFF, 0xFFFF0000)
APART = [
    ("vote.sync.ballot.b32 %r1, %p2, %r3;", HALVES & int("001" * 11, 2)),
    ("vote.sync.all.pred %p3, %p1, %r3; selp.u32 %r1, 1, 0, %p3;", np.arange(32) < 16),
    ("match.any.sync.b32 %r1, %r2, %r3;",
     HALVES & np.array([int("001" * 11, 2) << n for n in range(3)])[np.arange(32) % 3]),
    ("match.all.sync.b32 %r1, %r4, %r3;", HALVES),
    ("redux.sync.add.u32 %r1, %r0, %r3;", np.where(np.arange(32) < 16, 120, 376)),
    ("elect.sync %r1|%p3, %r3;", np.arange(32) // 16 * 16),
    ("shfl.sync.idx.b32 %r1, %r0, 3, 0x100f, %r3;", np.arange(32) // 16 * 16 + 3),
]  # fmt: skip


@pytest.mark.parametrize("schedule", [0, 3])
@pytest.mark.parametrize(("body", "expected"), APART, ids=[t[0][:26] for t in APART])
def test_lanes_of_two_masks_meet_apart_at_one_instruction(body, expected, schedule):
    y = np.zeros(64, np.uint32)
    head = """
    and.b32 %r5, %r0, 32; sub.u32 %r0, %r0, %r5; shr.u32 %r4, %r0, 4;
    setp.lt.u32 %p1, %r0, 16; selp.b32 %r3, 0xFFFF, 0xFFFF0000, %p1;
    rem.u32 %r2, %r0, 3; setp.eq.u32 %p2, %r2, 0;
    """
    tail = "add.u32 %r0, %r0, %r5; mul.wide.u32 %rd5, %r0, 4; add.s64 %rd6, %rd0, %rd5;"
    launch(kernel(f"{head} {body} {tail} st.global.u32 [%rd6], %r1;"), [y], block=(64, 1, 1),
           schedule=schedule)  # fmt: skip
    np.testing.assert_array_equal(y, np.tile(expected, 2))


@pytest.mark.parametrize(("space", "address", "total"), [
    ("global", "%rd0", 0), ("shared", "tile", 3), ("generic", "%rd0", 0), ("generic", "%rd3", 3),
])  # fmt: skip
def test_sums_of_subnormal_floats_are_flushed_in_global_memory_alone(space, address, total):
    y = np.array([1, 0], np.uint32)  # bits of the smallest float
    spaced = "" if space == "generic" else f".{space}"
    launch(kernel(f"""
    mov.u32 %r1, tile; cvt.u64.u32 %rd1, %r1; cvta.shared.u64 %rd3, %rd1; st.shared.u32 [%r1], 1;
    mov.b32 %f1, 0f00000002; atom{spaced}.add.f32 %f2, [{address}], %f1;
    ld{spaced}.u32 %r2, [{address}]; st.global.u32 [%rd0+4], %r2;
    """, inside=SHARED), [y], block=(1, 1, 1))  # fmt: skip

    assert y[1] == total


FUNCTION = """
.const .align 4 .b8 table[8] = {1, 0, 0, 0, 10, 0, 0, 0};
.func (.param .b32 out) twice(.param .b32 in)
{
.reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred p;
ld.param.u32 %r1, [in];
setp.lt.u32 p, %r1, 16; @p bra LOW;
mov.u64 %rd1, table; ld.const.u32 %r2, [%rd1+4];
mad.lo.u32 %r1, %r1, 2, %r2;
st.param.u32 [out+0], %r1; ret;
LOW: ld.const.u32 %r2, [table]; add.u32 %r1, %r1, %r2; st.param.u32 [out+0], %r1; ret;
}
"""


def test_calls_constants_and_scopes():
    call = """
    { .reg .b32 %r0; .param .b32 p0; .param .b32 r0; mov.u32 %r0, %tid.x;
    st.param.u32 [p0], %r0; call.uni (r0), twice, (p0); ld.param.u32 %r1, [r0]; }
    st.global.u32 [%rd6], %r1;
    """
    y, t = np.zeros(32, np.uint32), np.arange(32)
    launch(of_thread(call).replace(HEAD, HEAD + FUNCTION), [y])

    np.testing.assert_array_equal(y, np.where(t < 16, t + 1, 2 * t + 10))


@pytest.mark.parametrize(("text", "error", "message"), [
    (".version 99.1\n.target sm_90\n", errors.PtxSyntaxError, "newer"),
    (HEAD + "what is this", errors.PtxSyntaxError, "opens no declaration"),
    (HEAD + ".visible .entry k() { add.u32 %r1, %r2, 3; ret; }", errors.UnknownInstructionError, "%r2"),
    (HEAD + ".visible .entry k() { ret", errors.PtxSyntaxError, "ends in the middle"),
    (HEAD + ".visible .entry k() { bra NOWHERE; }", errors.PtxSyntaxError, "no such label"),
    (HEAD, errors.PtxLaunchError, "no kernel"),
    (HEAD + "\x00", errors.PtxSyntaxError, "no PTX"),
])  # fmt: skip
def test_text_that_is_no_kernel(text, error, message):
    with pytest.raises(error, match=message):
        run(PtxLaunch(text, "k", Shape((1, 1, 1), (32, 1, 1)), b""), [])


@pytest.mark.parametrize(("grid", "block"), [
    ((2**31, 1, 1), (1, 1, 1)), ((1, 65536, 1), (1, 1, 1)), ((1, 1, 1), (1025, 1, 1)),
    ((0, 1, 1), (1, 1, 1)),
])  # fmt: skip
def test_a_launch_that_cannot_be(grid, block):
    with pytest.raises(errors.PtxLaunchError, match="expected 1 to"):
        launch(kernel(""), [np.zeros(1, np.uint32)], grid, block)


def test_chosen_blocks_of_the_largest_grid_and_an_array_of_64_gib():
    region = PtxRegion("large", 1 << 40, lazily(2**36))
    text = kernel("""
    mov.u32 %r1, %ctaid.x; mul.wide.u32 %rd5, %r1, 32; cvt.u64.u32 %rd6, %r0;
    add.s64 %rd5, %rd5, %rd6; add.s64 %rd5, %rd0, %rd5; st.global.u8 [%rd5], 7;
    """)
    params = (1 << 40).to_bytes(8, "little")
    shape = Shape((2**31 - 1, 1, 1), (32, 1, 1))
    run(PtxLaunch(text, "k", shape, params, chosen=[0, 2**31 - 2]), [region])

    assert (region.data[[0, 31, 2**36 - 33]] == 7).all()
    assert region.data[2**36 - 32] == 0


COUNTED = [
    ("neighbours", "mul.wide.u32 %rd5, %r0, 4;", 4), ("one word", "mov.u64 %rd5, 0;", 1),
    ("apart", "mul.wide.u32 %rd5, %r0, 64;", 32), ("backwards",
     "sub.u32 %r1, 31, %r0; mul.wide.u32 %rd5, %r1, 4;", 4),
]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "sectors"), [c[1:] for c in COUNTED], ids=[c[0] for c in COUNTED]
)
def test_sectors_of_a_request(body, sectors):
    raw = np.zeros(600, np.uint32)
    x = raw[-raw.ctypes.data % 32 // 4 :][:512]
    found = launch(kernel(f"{body} add.s64 %rd6, %rd0, %rd5; ld.global.u32 %r2, [%rd6];"), [x],
                   block=(64, 1, 1) if "sub" not in body and "64" not in body else (32, 1, 1),
                   counting=True)  # fmt: skip
    loads = found.accesses("global", "load")

    assert loads.sectors_per_request == sectors
    assert loads.asked == found.threads * 4


@pytest.mark.parametrize(("stride", "conflicts"), [(1, 0), (2, 1), (32, 31), (0, 0), (33, 0)])
def test_bank_conflicts(stride, conflicts):
    body = f"mul.lo.u32 %r1, %r0, {4 * stride}; st.shared.u32 [%r1], %r0;"
    found = launch(kernel(body, inside=".shared .align 4 .b8 tile[8192];"),
                   [np.zeros(1, np.uint32)], counting=True)  # fmt: skip
    stores = found.accesses("shared", "store")

    assert (stores.requests, stores.conflicts, stores.wavefronts) == (1, conflicts, conflicts + 1)


def test_generic_accesses_count_where_they_lie_and_blocks_have_shared_memory_of_their_own():
    body = """
    mov.u32 %r1, tile; shl.b32 %r2, %r0, 2; add.u32 %r3, %r1, %r2; st.shared.u32 [%r3], %r0;
    cvt.u64.u32 %rd1, %r3; cvta.shared.u64 %rd2, %rd1; ld.u32 %r5, [%rd2]; ld.u32 %r6, [%rd0];
    atom.shared.add.u32 %r7, [%r1], 1; cvta.shared.u64 %rd2, 0; red.add.u32 [%rd2+8], 1;
    """
    found = launch(kernel(body, inside=SHARED), [np.zeros(8, np.uint32)], grid=(2, 1, 1),
                   counting=True)  # fmt: skip
    shared, far = found.accesses("shared", "load"), found.accesses("global", "load")

    assert (shared.requests, shared.wavefronts, shared.conflicts) == (2, 2, 0)
    assert (far.requests, far.sectors) == (2, 2)
    assert (found.atomics, found.most_on_one_address) == (128, 32)


def test_counts_of_a_divergent_loop():
    body = """
    L: add.u32 %r1, %r1, 1; setp.le.u32 %p1, %r1, %r0; @%p1 bra L;
    bar.sync 0; atom.global.add.u32 %r2, [%rd0], 1;
    """
    found = launch(kernel(body), [np.zeros(1, np.uint32)], counting=True)
    loop = found.basic[1]

    assert (loop.warps, loop.threads) == (32, 32 * 33 // 2)
    assert (found.barriers, found.atomics, found.most_on_one_address) == (1, 32, 32)
    assert sum(b.threads * len(b.opcodes) for b in found.basic) == found.thread_instructions
    assert loop.opcodes == ("add.u32", "setp.le.u32", "bra")
