"""What is counted from PTX, and what from SASS, of the same kernels on the same arrays."""

import functools

import numpy as np
import pytest

import opweave as ow
from opweave.runtime.ptx.launch import PtxLaunch, packed, run
from opweave.runtime.ptx.machine import Shape
from opweave.runtime.ptx.memory import region_of
from opweave.runtime.sass.accesses import address, width
from opweave.runtime.sass.compiled import compiled
from opweave.runtime.sass.cubins import constants
from opweave.runtime.sass.execution import WarpExecutor
from opweave.runtime.sass.flow import Flow
from opweave.runtime.sass.machine import DeviceLaunch
from opweave.runtime.simt.by_ptx import PtxExecutor, ptx_of
from tests.sass.support import everything

pytestmark = [pytest.mark.host, pytest.mark.nvrtc]
GLOBAL = "l1tex__t_{}_pipe_lsu_mem_global_op_{}.sum"


def softmax(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def zeros(*shape):
    return np.zeros(shape, np.float32)


PROGRAMS = {
    "map": (lambda x: x * 2 + 1, (zeros(1000),)),
    "softmax": (softmax, (zeros(8, 1000),)),
    "tile": (lambda x: x.T.copy(), (zeros(70, 50),)),
    "product": (lambda x, y: x @ y, (zeros(40, 33), zeros(33, 50))),
    "total": (lambda x: x.sum(), (zeros(20, 50),)),
}


@functools.cache
def counted(name, target):
    """The counts of a program's only kernel by PTX, its profile, and its instructions."""
    function, args = PROGRAMS[name]
    program = ow.fuse(function).lower(*args, target=target)
    executor = PtxExecutor(counting=True)
    program.run_by(executor, program.arguments(args, {}))
    (kernel,) = ow.profile(program, *args, target=target).kernels
    (counts,) = executor.seen
    return counts, kernel, compiled(kernel.source, kernel.name, target).listing.instructions


def every(test):
    test = pytest.mark.parametrize("target", ["sm_80", "sm_90a"])(test)
    return pytest.mark.parametrize("name", PROGRAMS)(test)


@every
def test_requests_sectors_and_bytes_of_global_memory_agree(name, target):
    counts, kernel, _ = counted(name, target)
    for op, kind in (("ld", "load"), ("st", "store"), ("atom", "atomic")):
        found = counts.accesses("global", kind)
        assert found.requests == kernel.counters[GLOBAL.format("requests", op)]
        assert found.sectors == kernel.counters[GLOBAL.format("sectors", op)]
        assert found.asked == kernel.counters[f"opweave__bytes_asked_mem_global_op_{op}.sum"]
    assert (
        counts.accesses("global", "load").requests > 0 < counts.accesses("global", "store").asked
    )
    assert kernel.counters[GLOBAL.format("requests", "red")] == 0
    assert kernel.counters["opweave__requests_with_addresses_from_data.sum"] == 0


@every
def test_wavefronts_and_conflicts_of_shared_memory_agree(name, target):
    counts, kernel, instructions = counted(name, target)
    for op, kind, root in (("ld", "load", "LDS"), ("st", "store", "STS")):
        found = counts.accesses("shared", kind)
        waves = kernel.counters[f"l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{op}.sum"]
        conflicts = kernel.counters[f"l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{op}.sum"]
        # Of 8 and 16 bytes PTX counts each half or quarter of a warp for itself, and SASS the
        # least, as if hardware merged all parts that ask for the same words; it merges some.
        parts = max((width(one) // 4 for one in instructions if one.root == root), default=1)
        assert waves <= found.wavefronts <= parts * waves
        assert found.conflicts == conflicts
        if name == "tile":
            assert (parts, conflicts) == (1, 0) < (1, waves)
        if name == "product" and op == "ld":  # half a warp reads what the other half does
            assert (parts, found.wavefronts) == (2, 2 * waves)


# Instructions that both execute, of a and b (any bits, zeros among the b) and c (0 to 93).
INTEGERS = [
    "div.u32 %0, %1, %2", "rem.u32 %0, %1, %2", "div.s32 %0, %1, %2", "rem.s32 %0, %1, %2",
    "shl.b32 %0, %1, %3", "shr.u32 %0, %1, %3", "shr.s32 %0, %1, %3",
    "shf.l.clamp.b32 %0, %1, %2, %3", "shf.r.clamp.b32 %0, %1, %2, %3",
    "shf.l.wrap.b32 %0, %1, %2, %3", "shf.r.wrap.b32 %0, %1, %2, %3",
    "prmt.b32 %0, %1, %2, %3", "lop3.b32 %0, %1, %2, %3, 0x6a", "mul.hi.u32 %0, %1, %2",
    "mul.hi.s32 %0, %1, %2", "mad.hi.s32 %0, %1, %2, %3", "min.s32 %0, %1, %2",
    "max.u32 %0, %1, %2", "mul24.hi.u32 %0, %1, %2", "popc.b32 %0, %1", "clz.b32 %0, %3",
    "bfind.u32 %0, %1", "cnot.b32 %0, %3", "abs.s32 %0, %1", "slct.u32.s32 %0, %1, %2, %3",
    "set.lt.u32.s32 %0, %1, %2",
]  # fmt: skip
SOURCE = """
extern "C" __global__ void integers(unsigned* y, unsigned seed) {
    unsigned i = threadIdx.x, c = 3 * i, r;
    unsigned a = i * 0x9E3779B1u ^ seed, b = (i * 0x85EBCA6Bu + seed) >> (i & 31);
    if (i == 7) b = 0;
    if (i == 9) { a = 0x80000000u; b = 0xffffffffu; }
    if (i == 11) a = b = 0;
""" + "".join(
    f'    asm volatile("{text};" : "=r"(r) : "r"(a), "r"(b), "r"(c)); y[{32 * n} + i] = r;\n'
    for n, text in enumerate(INTEGERS)
) + "}\n"  # fmt: skip
SEED = (12345).to_bytes(4, "little")


class Storing(WarpExecutor):
    """Also keeps what the stores of integers store, by place; all of it has to be known."""

    def __init__(self, *given):
        super().__init__(*given)
        self.deciding, self.stored = (
            everything(self.flow),
            np.zeros((len(INTEGERS), 32), np.uint32),
        )

    def _memory(self, n, one, active):
        if one.root == "STG":
            register, m = one.operands[-1].index, self.machine
            where, known = address(m, one)
            assert (known & m.known[register]).all(), one.text
            self.stored.flat[(where % (1 << 36) // 4).astype(int)] = m.registers[register]
        super()._memory(n, one, active)


@pytest.mark.parametrize("target", ["sm_80", "sm_90a"])
def test_integers_are_those_of_the_code_that_ptxas_writes(target):
    found = np.zeros((len(INTEGERS), 32), np.uint32)
    text = ptx_of(SOURCE, target, False)
    params = packed(text, "integers", [found.ctypes.data.to_bytes(8, "little"), SEED])
    run(PtxLaunch(text, "integers", Shape((1, 1, 1), (32, 1, 1)), params),
        [region_of("y", found)])  # fmt: skip
    made = compiled(SOURCE, "integers", target)
    bank = constants(
        made.parameters, [(1 << 36).to_bytes(8, "little"), SEED], (1, 1, 1), (32, 1, 1)
    )
    executor = Storing(Flow(made.listing), DeviceLaunch((1, 1, 1), (32, 1, 1), bank))
    executor.run()

    for name, one, other in zip(INTEGERS, found, executor.stored, strict=True):
        np.testing.assert_array_equal(one, other, name)
    assert (found != 0).any(axis=1).all()
