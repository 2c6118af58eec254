"""Registers that go to local memory for a while are counted, and kernels have none to speak of."""

from pathlib import Path

import numpy as np
import pytest

import opweave as ow
from opweave.runtime.binaries.disassembly import resources
from opweave.runtime.binaries.nvrtc import compile_cuda

pytestmark = pytest.mark.nvrtc
TARGETS = ["sm_75", "sm_80", "sm_90a", "sm_100"]
# Eighty sums, each of which takes part in all: more than 32 registers hold.
MANY = """
extern "C" __global__ void __launch_bounds__(1024, 2) many(float* x, int n) {
    float held[80];
#pragma unroll
    for (int k = 0; k < 80; ++k) held[k] = x[k * n];
    for (int i = 0; i < n; ++i) {
#pragma unroll
        for (int k = 0; k < 80; ++k) held[k] += held[(k + 1) % 80] * x[i];
    }
#pragma unroll
    for (int k = 0; k < 80; ++k) x[k * n] = held[k];
}
"""
INDEXED = """
extern "C" __global__ void indexed(float* x, const int* places, int n) {
    float held[64];
    for (int k = 0; k < 64; ++k) held[k] = 0;
    for (int i = 0; i < n; ++i) held[places[i] & 63] += x[i];
    for (int i = 0; i < n; ++i) x[i] = held[places[n + i] & 63];
}
"""
PLAIN = """
extern "C" __global__ void plain(float* x) { x[threadIdx.x] *= 2; }
"""


@pytest.mark.parametrize(("source", "name", "spills"), [
    (MANY, "many", True), (INDEXED, "indexed", False), (PLAIN, "plain", False),
])  # fmt: skip
@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_registers_on_the_stack_are_spills_and_arrays_that_are_indexed_are_not(
    source, name, spills, target
):
    found = resources(compile_cuda(source, target, {}, Path()), name)

    assert (found.spill_bytes > 0) == spills
    assert found.spill_bytes <= found.stack_bytes
    assert (found.stack_bytes > 0) == (source is not PLAIN)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_each_kernel_of_a_binary_is_counted_by_itself(target):
    cubin = compile_cuda(MANY + INDEXED, target, {}, Path())

    assert resources(cubin, "many").spill_bytes > 0
    assert resources(cubin, "indexed").spill_bytes == 0


def several(x, y, z):
    return (x * y).sum(), (y * z).sum(), (x * z).sum()


# A function, how many operands it has, and bytes that a thread may spill: a register of a place;
# with functions of doubles, of some forty operations each, some constants.
REDUCTIONS = {
    "sum": (lambda x: x.sum(), 1, 4),
    "of exp": (lambda x: np.exp(x).sum(), 1, 32),
    "of sin": (lambda x: np.sin(x).sum(), 1, 20),
    "of three": (lambda x, y, z: (x * y * z).sum(), 3, 0),
    "several": (several, 3, 0),
}


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("dtype", ["f4", "f8", "i4", "i8", "c16"])
@pytest.mark.parametrize("name", REDUCTIONS)
def test_a_long_reduction_has_the_registers_that_it_takes(name, dtype, target):
    function, count, most = REDUCTIONS[name]
    args = [np.ones(1 << 22, dtype)] * count

    for kernel in ow.fuse(function).lower(*args, target=target).kernels:
        assert kernel.spill_bytes <= most


def test_with_more_blocks_a_thread_has_fewer_registers():
    args = [np.ones(1 << 22)] * 3
    fused = ow.fuse(several)
    (own,) = fused.lower(*args, target="sm_80").kernels
    (few,) = fused.with_toggles(BLOCKS_EACH=5).lower(*args, target="sm_80").kernels

    assert (own.toggles["BLOCKS_EACH"], own.spill_bytes) == (4, 0)
    assert few.registers <= 48 < own.registers
    assert few.spill_bytes > 0
