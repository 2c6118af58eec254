"""Tiles of more shared memory than a kernel may declare: the launch opts in to it, no bit changes."""

import re
from dataclasses import replace

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.ir.device import DEVICES
from opweave.opcodes import errors as e
from tests.support.factors import bits

KIB = 1024
LARGE = {"BLOCK_M": 128, "BLOCK_N": 128, "THREAD_M": 8, "THREAD_N": 8}


def array(*shape, dtype=np.float32):
    return np.random.default_rng(sum(shape)).integers(-9, 9, shape).astype(dtype)


# Functions, what they are called with, toggles, the bytes that the launch says, and those declared.
CASES = {
    "product": (
        lambda x, w: x @ w + 1, (array(40, 70), array(70, 48)), {**LARGE, "BLOCK_K": 64}, 67584, 0),
    "product of halves": (
        lambda x, w: x @ w, (array(40, 70, dtype="f2"), array(70, 48, dtype="f2")),
        {**LARGE, "BLOCK_K": 64}, 67584, 0),
    "rows": (
        lambda x, w: ow.softmax(x @ w), (array(40, 20), array(20, 100)),
        {"BLOCK_M": 128, "THREAD_M": 16}, 84480, 0),
    "rows without shuffles": (
        lambda x, w: (x @ w).sum(axis=1), (array(40, 20), array(20, 100)),
        {"BLOCK_M": 128, "THREAD_M": 16, "USE_WARP_SHUFFLE": 0}, 84480, 1024),
    "rows straight from memory": (
        lambda x, w: (x @ w).max(axis=1), (array(40, 20), array(20, 100)),
        {"BLOCK_M": 128, "THREAD_M": 16, "USE_SHARED_MEMORY": 0}, 67584, 0),
    "transpose": (lambda x, y: x.T + y, (array(96, 96), array(96, 96)), {"TILE": 128}, 66048, 0),
    "tiles of two types": (
        lambda x, y, w: x.T * w + y.T, (array(96, 96), array(96, 96, dtype="f8"), array(96, 96)),
        {"TILE": 64}, 49920, 0),
}  # fmt: skip


def lowered(name, target="sm_90a", **more):
    function, args, toggles, *_ = CASES[name]
    fused = ow.fuse(function).with_toggles(**{**toggles, **more})
    return fused.lower(*args, target=target)


@pytest.mark.parametrize("name", CASES)
def test_what_a_launch_says_is_what_the_tiles_take(name):
    *_, opted, declared = CASES[name]
    program = lowered(name)
    (kernel,) = program.kernels

    assert kernel.data.opted_bytes == kernel.data.dynamic_bytes(program.found.extents) == opted
    assert kernel.data.shared_bytes == opted + declared
    assert kernel.source.count("DYNAMIC_SHARED(char, tiles);") == 1
    assert "__shared__" not in kernel.source
    assert f"; {opted + declared} bytes of shared memory a block" in (
        program.explain(*CASES[name][1]).text
    )


@pytest.mark.host
@pytest.mark.parametrize("name", CASES)
def test_no_bit_depends_on_where_tiles_lie(name):
    function, args, *_ = CASES[name]
    expected = bits(ow.fuse(function).lower(*args, target="sm_90a")(*args))

    assert bits(lowered(name)(*args)) == expected
    assert ow.sanitize(lowered(name).kernels[0], *args, schedules=1).ok


@pytest.mark.host
def test_the_checker_finds_what_runs_over_the_tiles_and_what_races():
    program = lowered("product")
    for right, wrong, kind in (
        ("left_tile + STAGES * BLOCK_K)", "left_tile + 2 * BLOCK_K)", "out-of-bounds"),
        ("        __syncthreads();\n", "\n", "shared-race"),
    ):
        assert right in program.source
        edited = program.compile(source=program.source.replace(right, wrong, 1))
        findings = ow.sanitize(edited, *CASES["product"][1], schedules=1).findings
        assert {f.kind for f in findings} == {kind}
        assert "dynamic shared memory" in str(findings[0])


@pytest.mark.nvrtc
@pytest.mark.parametrize("target", ["sm_75", "sm_80", "sm_89", "sm_90a"])
@pytest.mark.parametrize("name", CASES)
def test_the_compiler_allocates_none_of_it(name, target):
    *_, opted, declared = CASES[name]
    if target == "sm_75" and opted > 63 * KIB:
        with pytest.raises(e.ToggleError, match=r"has 64512 \(of 65536\)"):
            lowered(name, target)
        return
    (kernel,) = lowered(name, target).compile().kernels
    kept = KIB * (target == "sm_90a")

    assert kernel.shared_bytes == kept + declared


ROOMS = [(48, False), (64, False), (67, True), (227, True)]


@pytest.mark.parametrize(("kib", "fits"), ROOMS)
def test_an_override_may_take_what_the_device_has(kib, fits):
    card = replace(DEVICES["H100"], name="a card", shared_bytes=kib * KIB)
    if fits:
        assert lowered("product", card).kernels[0].data.opted_bytes == 67584
        return
    room = (kib - 1) * KIB
    with pytest.raises(
        e.ToggleError, match=rf"takes 67584 bytes .* has {room} \(of {kib * KIB}\)"
    ):
        lowered("product", card)


def test_no_kernel_of_the_host_opts_in():
    function, args, toggles, *_ = CASES["transpose"]
    fused = ow.fuse(function).with_toggles(**toggles, USE_SHARED_MEMORY=1)

    assert fused.lower(*args, target="host").kernels[0].data.opted_bytes == 0


def test_a_raw_kernel_says_it():
    made = lowered("product").kernels[0].raw_kernel()

    assert made.shared_bytes == 67584
    assert "kernel.max_dynamic_shared_size_bytes = 67584" in made.launcher
    assert re.search(r"\), shared_mem=67584\)$", made.launcher)
