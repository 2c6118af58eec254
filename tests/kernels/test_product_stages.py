"""Stages of a product: tiles on their way while others are multiplied, as the device has room."""

from dataclasses import replace

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.ir.device import DEVICES
from opweave.opcodes import errors as e
from tests.support.factors import bits
from tests.support.variants import aligned

KIB = 1024
LARGE = {"BLOCK_M": 128, "BLOCK_N": 128, "THREAD_M": 8, "THREAD_N": 8}
RNG = np.random.default_rng(7)


def array(*shape, dtype=np.float32):
    return aligned((RNG.standard_normal(shape) * 9).astype(dtype))


def chosen(rows, dtype, target, **toggles):
    x, w = np.empty((rows, 64), dtype), np.empty((64, rows), dtype)
    fused = ow.fuse(lambda x, w: x @ w).with_toggles(USE_VENDOR=0, **toggles)
    return fused.lower(x, w, target=target).kernels[0]


def card(kib):
    return replace(DEVICES["H100"], name="a card", shared_bytes=kib * KIB)


# Rows, dtype; by the KiB of a block: BLOCK_M, BLOCK_K, STAGES, and the bytes of a launch.
FOLLOWS = [
    (4096, "float32", {
        16: (128, 8, 1, 0), 48: (128, 16, 1, 0), 99: (128, 16, 2, 0), 163: (128, 16, 4, 67584),
        227: (128, 16, 4, 67584),
    }),
    (1000, "float32", {16: (64, 16, 1, 0), 48: (64, 16, 1, 0), 99: (64, 16, 3, 0),
                       227: (64, 16, 4, 0)}),
    (4096, "float64", {48: (64, 16, 1, 0), 163: (64, 16, 3, 52224), 227: (64, 16, 4, 69632)}),
    (4096, "float16", {48: (128, 16, 1, 0), 227: (128, 16, 1, 0)}),
    (200, "float32", {48: (32, 16, 1, 0), 227: (32, 16, 1, 0)}),
]  # fmt: skip


@pytest.mark.parametrize(("rows", "dtype", "found"), FOLLOWS)
def test_stages_follow_the_shared_memory_of_a_block(rows, dtype, found):
    def toggles(kernel):
        t = kernel.toggles
        return t["BLOCK_M"], t["BLOCK_K"], t["STAGES"], kernel.data.opted_bytes

    assert {kib: toggles(chosen(rows, dtype, card(kib))) for kib in found} == found


CARDS = {"T4": 1, "A100": 4, "RTX 4090": 2, "H100": 4, "B200": 4}


@pytest.mark.parametrize("name", CARDS)
def test_the_cards_that_are_known(name):
    kernel = chosen(4096, "float32", name)

    assert kernel.toggles["STAGES"] == CARDS[name]
    reason = kernel.data.fitted
    assert reason == "" or "STAGES=4 would take 67584 bytes for each of 2 blocks" in reason
    assert bool(reason) is (name == "RTX 4090")


# Functions and what they are called with: factors along rows and columns, strided, of few steps.
FORMS = {
    "dense": (lambda x, w: x @ w, (array(40, 70), array(70, 48))),
    "turned": (lambda x, w: x.T @ w.T, (array(70, 40), array(48, 70))),
    "strided": (lambda x, w: x @ w, (array(40, 140)[:, ::2], array(70, 96)[:, ::2])),
    "unaligned": (lambda x, w: x @ w + 1, (array(37, 71), array(71, 43))),
    "batched": (lambda x, w: x @ w, (array(3, 33, 20), array(3, 20, 35))),
    "one step": (lambda x, w: x @ w, (array(5, 1), array(1, 9))),
    "no step": (lambda x, w: x @ w, (array(5, 0), array(0, 9))),
    "a tile of steps": (lambda x, w: x @ w, (array(20, 16), array(16, 20))),
    "rows": (lambda x, w: ow.softmax(x @ w), (array(36, 70), array(70, 50))),
    "doubles": (lambda x, w: x @ w, (array(40, 70, dtype="f8"), array(70, 48, dtype="f8"))),
    "integers": (lambda x, w: x @ w, (array(40, 70, dtype="i4"), array(70, 48, dtype="i4"))),
    "complex": (lambda x, w: x @ w, (array(40, 70, dtype="c8"), array(70, 48, dtype="c8"))),
}


@pytest.mark.host
@pytest.mark.parametrize("name", FORMS)
def test_no_number_of_stages_changes_a_bit(name):
    function, args = FORMS[name]
    fused = ow.fuse(function)
    expected = bits(fused.lower(*args, target="sm_75")(*args))

    for stages in (2, 3, 4):
        program = fused.with_toggles(STAGES=stages).lower(*args, target="sm_80")
        assert program.kernels[0].toggles["STAGES"] == stages
        assert bits(program(*args)) == expected


@pytest.mark.host
def test_a_large_tile_of_four_stages_is_checked_too():
    x, w = array(40, 150), array(150, 48)
    ours = ow.fuse(lambda x, w: x @ w).with_toggles(USE_VENDOR=0)
    fused = ours.with_toggles(**LARGE, STAGES=4)
    program = fused.lower(x, w, target="sm_90a")

    assert program.kernels[0].data.opted_bytes == 67584
    assert bits(program(x, w)) == bits(ours.lower(x, w, target="sm_80")(x, w))
    assert program.check(x, w).ok
    assert ow.sanitize(program, x, w, schedules=2).ok


def half_an_element_off(*shape, dtype):
    """An array of complex numbers that begins with half a number's bytes: NumPy calls it aligned."""
    item = np.dtype(dtype).itemsize
    whole = aligned(np.zeros(int(np.prod(shape)) * item + item, np.uint8))
    made = whole[item // 2 : item // 2 - item].view(dtype).reshape(shape)
    made[...] = array(*shape, dtype=dtype)
    return made


@pytest.mark.host
@pytest.mark.parametrize("dtype", ["c8", "c16"])
def test_halves_of_complex_numbers_are_copied_where_they_are_aligned(dtype):
    x, w = half_an_element_off(20, 33, dtype=dtype), half_an_element_off(33, 18, dtype=dtype)
    assert x.flags.aligned
    fused = ow.fuse(lambda x, w: x @ w)
    program = fused.with_toggles(STAGES=2).lower(x, w, target="sm_90a")

    assert ow.sanitize(program, x, w, schedules=1).findings == []
    assert bits(program(x, w)) == bits(fused.lower(x, w, target="sm_75")(x, w))


@pytest.mark.host
def test_what_stands_outside_is_that_of_the_product():
    x, w = np.full((3, 5), -0.0, np.float32), np.ones((5, 7), np.float32)
    codes = ["acc = -0.0f", "acc + x * y"]
    times = ow.product("staged", codes, "same", (np.multiply, np.add), replace=True)
    fused = ow.fuse(lambda x, w: times(x, w)).with_toggles(STAGES=3)

    assert np.signbit(fused.lower(x, w, target="sm_80")(x, w)).all()


@pytest.mark.host
def test_a_barrier_that_is_left_out_is_a_race():
    x, w = array(40, 70), array(70, 48)
    program = ow.fuse(lambda x, w: x @ w).with_toggles(STAGES=2).lower(x, w, target="sm_80")
    text = program.source.replace("        __syncthreads();  // by every thread", "//", 1)
    findings = ow.sanitize(program.compile(source=text), x, w, schedules=1).findings

    assert {f.kind for f in findings} == {"shared-race"}


@pytest.mark.host
@pytest.mark.parametrize("line", ["copies_done<STAGES - 2>();", "copies_begun();"])
def test_copies_that_nobody_waits_for_are_not_there(line):
    function, (x, w) = FORMS["unaligned"]
    program = ow.fuse(function).with_toggles(STAGES=3).lower(x, w, target="sm_80")
    assert line in program.source
    changed = program.compile(source=program.source.replace(line, ";"))

    assert bits(changed(x, w)) != bits(program(x, w))
    assert not ow.sanitize(changed, x, w, schedules=1).ok


@pytest.mark.host
def test_an_op_code_of_a_load_is_kept_beside_copies():
    x, w = array(40, 70), array(70, 48)
    fused = ow.fuse(lambda x, w: x @ w).with_toggles(STAGES=3)
    kernel = fused.lower(x, w, target="sm_80").kernels[0]
    made = kernel.replace("load w", ow.opcodes.read_only)

    assert bits(made(x, w)) == bits(kernel(x, w))
    assert "load_chunk_by<ReadOnly>(chunk, w" in made.flat
    assert "copy_chunk<1>(to, x" in made.flat


REFUSED = [
    ("sm_75", "float32"), ("host", "float32"), ("sm_80", "float16"), ("sm_90a", "int16"),
]  # fmt: skip


@pytest.mark.parametrize(("target", "dtype"), REFUSED)
def test_what_cannot_be_copied_without_waiting_is_refused(target, dtype):
    if dtype == "float32" and target == "host":
        dtype = "int32"  # no library's
    with pytest.raises(e.ToggleError, match="STAGES=2 cannot hold: .*from sm_80 on, where memory"):
        chosen(4096, dtype, target, STAGES=2)
    with pytest.raises(e.ToggleError, match="STAGES=5: expected 1, 2, 3 or 4"):
        chosen(4096, dtype, target, STAGES=5)


def test_a_block_that_repeats_its_product_has_one_stage():
    x, w = array(64, 64), array(64, 64)
    loop = ow.repeat(lambda x, w: np.maximum(x @ w, 0), 3)

    assert loop.lower(x, w, target="sm_90a").kernels[0].toggles["STAGES"] == 1
    with pytest.raises(e.ToggleError, match="no loop of the kernel's own"):
        loop.step.with_toggles(STAGES=2).lower(x, w, target="sm_90a")


@pytest.mark.nvrtc
@pytest.mark.parametrize("target", ["sm_80", "sm_89", "sm_90a"])
@pytest.mark.parametrize(("rows", "blocks"), [(4096, 2), (1000, 3)])
def test_copies_are_such_and_leave_registers_for_the_blocks(rows, blocks, target):
    x, w = aligned(np.empty((rows, 64), np.float32)), aligned(np.empty((64, rows), np.float32))
    fused = ow.fuse(lambda x, w: x @ w).with_toggles(USE_VENDOR=0)
    kernel = fused.lower(x, w, target=target).compile().kernels[0]

    assert kernel.toggles["STAGES"] > 1
    assert "LDGSTS.E.128" in kernel.sass
    assert "LDGDEPBAR" in kernel.sass
    assert kernel.resources.stack_bytes == 0
    assert kernel.registers * kernel.data.threads * blocks <= 65536
