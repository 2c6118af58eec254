"""What is counted from PTX, and what from SASS, of the same kernels on the same arrays."""

import functools

import numpy as np
import pytest

import opweave as ow
from opweave.runtime.sass.accesses import width
from opweave.runtime.sass.compiled import compiled
from opweave.runtime.simt.by_ptx import PtxExecutor

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
