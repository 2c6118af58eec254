"""The executor that runs the PTX which NVRTC makes of a kernel, instruction by instruction."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from opweave.compiler.kernels.handwritten import HandwrittenKernel
from opweave.compiler.kernels.kernel import Kernel
from opweave.runtime.binaries import nvrtc
from opweave.runtime.binaries.binary import Binary
from opweave.runtime.binaries.cache import digest
from opweave.runtime.calls.arrays import pointer
from opweave.runtime.ptx.counters import LaunchCounts
from opweave.runtime.ptx.launch import BUDGET, PtxLaunch, packed, run
from opweave.runtime.ptx.machine import Shape
from opweave.runtime.ptx.memory import PtxRegion, lazily
from opweave.runtime.ptx.recorder import Recorder
from opweave.runtime.simt.executors import Launching, VerifyExecutor
from opweave.runtime.simt.regions import ALIGNMENT, memories
from opweave.templates import TEMPLATES

# Where a kernel finds its arrays: as from a GPU's allocator, so that counters do not depend on
# where the host has them.
FIRST = 1 << 40


@lru_cache(maxsize=512)
def ptx_of(source: str, arch: str, fast: bool) -> str:
    """PTX of a source, with the lines that it comes from.

    Raises:
        CompileError: NVRTC refuses the source.
        NoCompilerError: NVRTC is not installed.
    """
    return nvrtc.ptx(source, arch, nvrtc.options(fast=fast) | {"lineinfo": True}, TEMPLATES)


class PtxExecutor(VerifyExecutor):
    """Kernels lowered for an sm architecture, as NVRTC compiles them, without a GPU.

    Args:
        schedule: 0 runs the lowest instruction first, any other number is a seed.
        budget: instructions that a batch of blocks may run.
        counting: ``seen`` gets the counters of each launch.
    """

    mode = "ptx"

    def __init__(
        self, schedule: int = 0, fast: bool = False, budget: int = BUDGET, counting: bool = False
    ):
        super().__init__(schedule, fast)
        self.budget, self.counting = budget, counting
        self.seen: list[LaunchCounts] = []

    def build(self, kernel: Kernel, source: str) -> Binary:
        text = ptx_of(source, kernel.target, self.fast)
        return Binary(digest(text.encode()), "ptx", text.encode(), source, "compiled")

    def run(self, launch: Launching) -> None:
        """Run one kernel on its arrays, which it may reach and nothing else.

        Raises:
            PtxError: of each kind; results are not there then.
        """
        kernel, text = launch.kernel, launch.binary.payload.decode()
        regions, held = _memory(launch)
        slots = launch.packed([held[n] for n in range(len(launch.arrays))])
        values = [slots[at : at + 8] for at in range(0, len(slots), 8)]
        config = launch.config
        shape = Shape(_three(config.grid), _three(config.block))
        recorder = Recorder() if self.counting else None
        params = packed(text, kernel.name, values)
        run(
            PtxLaunch(text, kernel.name, shape, params, config.shared_bytes, self.schedule,
                      self.budget),
            regions, recorder,
        )  # fmt: skip
        if recorder is not None:
            self.seen.append(recorder.counts(kernel.name, shape.blocks, shape.threads))


def _three(extents: Sequence[int]) -> tuple[int, int, int]:
    x, y, z = extents
    return int(x), int(y), int(z)


def _memory(launch: Launching) -> tuple[list[PtxRegion], list[int]]:
    """A region for each piece of memory, and the addresses of the arrays."""
    kernel, arrays = launch.kernel, launch.arrays
    params = [kernel.params[slot] for slot in launch.places]
    zeroed = dict(kernel.zeroed(launch.extents))
    fresh = [
        p.kind in ("output", "partials") and slot not in zeroed and p.source not in kernel.added
        for p, slot in zip(params, launch.places, strict=True)
    ]
    pieces, where = memories(arrays, [p.name for p in params], fresh)
    writable = [False] * len(pieces)
    for number, p in zip(where, params, strict=True):
        writable[number] |= p.kind != "input" or isinstance(kernel, HandwrittenKernel)
    regions: list[PtxRegion] = []
    bases: list[int] = []
    base = FIRST
    for piece, may in zip(pieces, writable, strict=True):
        bases.append(base + piece.low % 16)
        written = lazily(piece.bytes) if piece.unwritten else None
        data = _bytes_at(piece.low, piece.bytes)
        regions.append(PtxRegion(piece.name, bases[-1], data, written, may))
        base += -(-(piece.bytes + 2 * ALIGNMENT) // ALIGNMENT) * ALIGNMENT
    return regions, [
        bases[n] + pointer(array) - pieces[n].low
        for n, array in zip(where, arrays, strict=True)
    ]  # fmt: skip


def _bytes_at(address: int, count: int) -> np.ndarray[Any, Any]:
    if not count:
        return np.empty(0, np.uint8)
    return np.ctypeslib.as_array((ctypes.c_uint8 * count).from_address(address))
