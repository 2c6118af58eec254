"""Branches, loops, barriers: how often each instruction runs, and what is counted nowhere."""

import numpy as np
import pytest

import opweave as ow
from opweave.runtime.sass.accesses import Requests, count
from opweave.runtime.sass.flow import Flow
from tests.sass.support import executor, listing

LOOP = """
    S2R R0, SR_TID.X
    MOV R1, c[0x0][0x160]
.L_1:
    FADD R2, R2, R2
    IADD3 R1, R1, -0x1, RZ
    ISETP.NE.AND P0, PT, R1, RZ, PT
    @P0 BRA `(.L_1)
    EXIT
"""


@pytest.mark.parametrize("trips", [1, 2, 17])
@pytest.mark.parametrize("block", [1, 32, 96, 100])
def test_a_loop_runs_as_often_as_the_launch_says(trips, block):
    run = executor(LOOP, block=block, grid=3, constants={0x160: trips}).run()

    warps = 3 * -(-block // 32)
    assert list(run.issued) == [warps] * 2 + [warps * trips] * 4 + [warps]
    assert not run.skipped


# ptxas leaves a loop by a call of a label, from which nothing returns; a function stands behind.
LEFT_BY_A_CALL = """
    S2R R0, SR_TID.X
    MOV R1, c[0x0][0x160]
.L_1:
    LDG.E R3, [R4.64]
    FSETP.GT.AND P1, PT, R3, RZ, PT
    @P1 BRA `(.L_3)
    MOV R2, 0x80
    CALL.REL.NOINC `(slow)
.L_3:
    IADD3 R1, R1, -0x1, RZ
    ISETP.NE.AND P0, PT, R1, RZ, PT
    @!P0 CALL.REL.NOINC `(.L_2)
    BRA `(.L_1)
.L_2:
    EXIT
slow:
    MOV R3, RZ
    RET.REL.NODEC R2 `(kernel)
"""


def test_a_call_of_a_label_is_a_jump_and_one_of_a_function_comes_back():
    run = executor(LEFT_BY_A_CALL, constants={0x160: 5}).run()

    # what data decides is left out, with the function that it calls
    assert list(run.issued) == [1, 1, 5, 5, 5, 0, 0, 5, 5, 5, 4, 1, 0, 0]
    (left_out,) = run.skipped
    assert left_out.warps == 5


CALLS = """
    MOV R2, 0x20
    CALL.REL.NOINC `(add)
    MOV R4, RZ
    EXIT
add:
    FADD R3, R3, R3
    RET.REL.NODEC R2 `(kernel)
"""


def test_a_function_returns_to_the_address_that_its_caller_has_left():
    assert list(executor(CALLS).run().issued) == [1] * 6


DIVERGES = """
    S2R R0, SR_TID.X
    BSSY B0, `(.L_3)
    ISETP.GE.AND P0, PT, R0, 0x8, PT
    @P0 BRA `(.L_1)
    MOV R1, 0x1
    BRA `(.L_2)
.L_1:
    MOV R1, 0x2
    MOV R1, 0x3
.L_2:
    BSYNC B0
.L_3:
    MOV R2, R1
    EXIT
"""


def test_lanes_that_go_two_ways_meet_at_the_barrier():
    run = executor(DIVERGES, block=64).run()

    # only the first warp goes both ways; what is behind the barrier, both run once
    assert list(run.issued) == [2, 2, 2, 2, 1, 1, 2, 2, 2, 2, 2]


LAST = DIVERGES.replace("BRA `(.L_2)", "EXIT")


def test_nobody_waits_for_lanes_that_have_left():
    assert list(executor(LAST, block=64).run().issued)[-3:] == [2, 2, 2]


DATA = """
    MOV R4, c[0x0][0x160]
    MOV R5, c[0x0][0x164]
    LDG.E R0, [R4.64]
    ISETP.GE.AND P0, PT, R0, 0x8, PT
    @P0 BRA `(.L_1)
    MOV R1, 0x1
    STG.E [R4.64], R1
.L_1:
    ISETP.NE.AND P1, PT, R1, RZ, PT
    @P1 EXIT
    EXIT
"""
CONSTANTS = {0x160: 0, 0x164: 16}


def test_a_branch_on_data_is_not_guessed():
    run = executor(DATA, constants=CONSTANTS).run()

    assert [(s.address, s.instructions, s.warps) for s in run.skipped] == [(64, 2, 1), (128, 1, 1)]
    assert list(run.issued) == [1, 1, 1, 1, 1, 0, 0, 1, 1, 0]
    assert [r.requests for r in run.requests.values()] == [1]


SPINS = ".L_1:\nBRA `(.L_1)\n"
WAITS = "S2R R0, SR_TID.X\nISETP.GE.AND P0, PT, R0, 0x20, PT\nBSSY B0, `(.L_1)\n@P0 BRA `(.L_1)\nBSYNC B0\n.L_1:\nBAR.SYNC 0x0\nEXIT"


def test_a_loop_without_end_is_an_error(monkeypatch):
    monkeypatch.setattr("opweave.runtime.sass.execution.MOST_STEPS", 1000)
    with pytest.raises(ow.errors.LaunchError, match="more than 1000"):
        executor(SPINS).run()


def test_a_block_barrier_waits_for_all_warps():
    assert list(executor(WAITS, block=64).run().issued) == [2, 2, 2, 2, 1, 2, 2]


def test_the_meeting_of_two_ways_is_the_nearest():
    flow = Flow(listing(DIVERGES))

    assert flow.meetings[0] == 8
    assert flow.between([6, 4], 8) == {4, 6}


TICKET = """
    S2R R0, SR_TID.X
    ISETP.NE.AND P0, PT, R0, RZ, PT
    MOV R4, c[0x0][0x160]
    MOV R5, c[0x0][0x164]
    MOV R6, 0x1
    @!P0 ATOMG.E.ADD.STRONG.GPU PT, R7, [R4.64], R6
    @!P0 STS [RZ], R7
    BAR.SYNC 0x0
    LDS R8, [RZ]
    ISETP.NE.AND P1, PT, R8, 0x4, PT
    @P1 EXIT
    FADD R9, R9, R9
    EXIT
"""


def test_the_last_block_goes_on_where_blocks_count_themselves():
    run = executor(TICKET, block=64, grid=5, constants=CONSTANTS, counters={1}).run()

    assert run.in_order
    assert run.issued[-2:] == (2, 2)
    assert not run.skipped


def test_a_counter_that_may_hold_anything_gives_no_number():
    run = executor(TICKET, block=64, grid=5, constants=CONSTANTS).run()

    assert not run.in_order
    assert [s.instructions for s in run.skipped] == [2]


# Memory: by lane the address, and what the hardware is asked for.

LANES = np.arange(32)
SHARED = [
    (4 * LANES, 4, 1), (8 * LANES, 4, 2), (128 * LANES, 4, 32), (132 * LANES, 4, 1),
    (0 * LANES, 4, 1), (16 * LANES, 16, 4), (8 * LANES, 8, 2), (4 * (LANES % 2 * 32), 4, 2),
]  # fmt: skip
GLOBAL = [(4 * LANES, 4, 4), (128 * LANES, 4, 32), (4 * LANES + 4, 4, 5), (16 * LANES, 16, 16),
          (0 * LANES, 4, 1), (LANES, 1, 1)]  # fmt: skip
WIDTH = {1: "LD{}.U8", 4: "LD{}", 8: "LD{}.64", 16: "LD{}.128"}


def asked(space, addresses, nbytes):
    of = executor(f"{WIDTH[nbytes].format(space)} R8, [R0]")
    m = of.machine
    m.registers[0], m.known[0:2] = addresses, True
    found = Requests("shared" if space == "S" else "global", "ld", nbytes)
    count(m, of.instructions[0], m.live, found)
    return found


@pytest.mark.parametrize(("addresses", "nbytes", "waves"), SHARED)
def test_wavefronts_of_shared_memory(addresses, nbytes, waves):
    assert asked("S", addresses, nbytes).wavefronts == waves


@pytest.mark.parametrize(("text", "waves"), [
    ("LDSM.16.M88.4 R8, [R0]", 4), ("LDSM.16.MT88.2 R8, [R0]", 2), ("STSM.16.M88 [R0], R8", 1),
])  # fmt: skip
def test_eight_lanes_name_the_rows_of_a_matrix(text, waves):
    of = executor(text)
    of.machine.registers[0], of.machine.known[0:2] = 16 * LANES, True
    of.block(0, of.machine.live.copy())
    (found,) = of.requests.values()

    assert (found.wavefronts, found.least, found.bytes) == (waves, waves, 128 * waves)


@pytest.mark.parametrize(("addresses", "nbytes", "sectors"), GLOBAL)
def test_sectors_of_global_memory(addresses, nbytes, sectors):
    found = asked("G", addresses, nbytes)

    assert found.sectors == sectors
    assert found.bytes == 32 * nbytes
