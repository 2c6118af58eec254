"""The executors that check: verify mode, and the sanitizer's."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opweave.compiler.ir.values import Extents
from opweave.compiler.kernels.handwritten import HandwrittenKernel
from opweave.compiler.kernels.kernel import Kernel
from opweave.opcodes.allowed import shown
from opweave.opcodes.dtypes import DType
from opweave.opcodes.errors import ArgumentError, LaunchError
from opweave.runtime.binaries.binary import Binary
from opweave.runtime.calls.arrays import pointer
from opweave.runtime.calls.filling import each_apart
from opweave.runtime.calls.starts import StepwiseStart
from opweave.runtime.calls.steps import Launch
from opweave.runtime.host.executor import HostExecutor
from opweave.runtime.simt.checked import CheckedKernel
from opweave.runtime.simt.checker import Fault, run_sanitized
from opweave.runtime.simt.fibres import LaunchConfig, run_verify
from opweave.runtime.simt.findings import findings
from opweave.runtime.simt.guarded import PATTERN, Guarded, aligned_empty, poisoned
from opweave.runtime.simt.regions import memories

# Parameters whose memory is passed last, in this order.
LATE = ("partials", "counter", "faults")


@dataclass(frozen=True)
class Launching:
    """One launch of a kernel.

    Attributes:
        packed: the arguments, given the addresses of the arrays.
        arrays: in the order of ``places``, the slots of their parameters.
    """

    kernel: Kernel
    binary: Binary
    config: LaunchConfig
    packed: Callable[[Sequence[int]], bytes]
    arrays: Sequence[np.ndarray[Any, Any]]
    places: Sequence[int]
    extents: Extents


class VerifyExecutor(HostExecutor):
    """Kernels lowered for an sm architecture, byte for byte, each thread a fibre.

    Args:
        schedule: order of threads and blocks: 0 forward, 1 reverse, else a seed.
    """

    mode, passes_arrays, also = "verify", True, ()

    def __init__(self, schedule: int = 0, fast: bool = False, cached: bool = True):
        super().__init__(fast, cached)
        if type(schedule) is not int or not -(2**31) <= schedule < 2**31:
            raise ArgumentError(
                f"schedule={shown(schedule)}: expected 0, 1 or another 32-bit integer"
            )
        self.schedule = schedule

    def allocator(self, shape: tuple[int, ...], dtype: DType) -> Callable[[], Any]:
        return poisoned(lambda: aligned_empty(shape, dtype.numpy))

    memory, start = staticmethod(each_apart), staticmethod(StepwiseStart)

    def workspace(
        self, kernel: Kernel, partials: int, counters: int
    ) -> Callable[[], tuple[Any, Any]]:
        return lambda: (np.full(partials, PATTERN, np.uint8), np.zeros(counters // 4, np.uint32))

    def launcher(self, kernel: Kernel, source: str, extents: Extents) -> Launch:
        binary = self.build(kernel, source)
        shared = kernel.dynamic_bytes(extents)
        config = LaunchConfig(kernel.grid(extents), kernel.block, self.schedule, shared)
        kinds = ("input", "output", *LATE)
        places = _in_order(kernel, [n for n, p in enumerate(kernel.params) if p.kind in kinds])
        zeroed = [places.index(slot) for slot, _ in kernel.zeroed(extents)]
        counter = next((n for n, s in enumerate(places) if kernel.params[s].kind == "counter"), -1)

        def launch(slots: bytes, arrays: Sequence[Any]) -> None:
            def packed(addresses: Sequence[int]) -> bytes:
                made = bytearray(slots)
                for slot, address, array in zip(places, addresses, arrays, strict=True):
                    word = slice(8 * slot, 8 * slot + 8)
                    offset = int.from_bytes(made[word], "little") - pointer(array)
                    made[word] = (address + offset).to_bytes(8, "little")
                return bytes(made)

            for place in zeroed:
                arrays[place][...] = 0
            self.run(Launching(kernel, binary, config, packed, arrays, places, extents))
            if counter >= 0 and arrays[counter].any():
                raise LaunchError(f"{kernel.name}: the counters are not ready for the next launch")

        return launch

    def run(self, launch: Launching) -> None:
        """Launch one kernel on copies of its arrays."""

        if isinstance(launch.kernel, HandwrittenKernel):
            _refuse(launch, _sanitized(launch))
            return

        def slots(copies: Sequence[Guarded]) -> bytes:
            return launch.packed([copy.address for copy in copies])

        run_verify(launch.kernel.name, launch.binary, launch.config, slots, launch.arrays)


@dataclass(frozen=True)
class SeenLaunch:
    """What the checker saw of one launch."""

    kernel: Kernel
    config: LaunchConfig
    faults: list[Fault]


class SanitizeExecutor(VerifyExecutor):
    """As in verify mode, with every access checked; faults are collected, not raised.

    Attributes:
        seen: the launches, in order.
    """

    mode = "sanitize"

    def __init__(self, schedule: int = 0, fast: bool = False):
        super().__init__(schedule, fast)
        self.seen: list[SeenLaunch] = []

    def run(self, launch: Launching) -> None:
        self.seen.append(SeenLaunch(launch.kernel, launch.config, _sanitized(launch)))


def _sanitized(launch: Launching) -> list[Fault]:
    """Launch a kernel that was built to be checked, and return what was seen."""
    kernel, arrays = launch.kernel, launch.arrays
    params = [kernel.params[slot] for slot in launch.places]
    zeroed = dict(kernel.zeroed(launch.extents))
    fresh = ("output", "partials")
    unwritten = [
        p.kind in fresh and slot not in zeroed and p.source not in kernel.added
        for p, slot in zip(params, launch.places, strict=True)
    ]
    memory, where = memories(arrays, [p.name for p in params], unwritten)
    held = [(memory[piece], array) for piece, array in zip(where, arrays, strict=True)]

    def slots() -> bytes:
        return launch.packed([piece.address_of(array) for piece, array in held])

    faults = run_sanitized(CheckedKernel.of(launch.binary), launch.config, slots, memory)
    for piece, array in held:
        piece.write_back(array)
    return faults


def _refuse(launch: Launching, faults: list[Fault]) -> None:
    """Raise what was seen of a kernel that someone wrote.

    Raises:
        LaunchError: it has races, or leaves its arrays.
    """
    assert isinstance(launch.kernel, HandwrittenKernel)
    name, source = launch.kernel.name, launch.kernel.source
    found = findings(faults, name, launch.config, source)
    if found:
        raise LaunchError("\n".join(map(str, found)))


def _in_order(kernel: Kernel, places: Sequence[int]) -> list[int]:
    """Slots of the arrays in the order in which a prepared call passes them."""
    late = {kind: number + 1 for number, kind in enumerate(LATE)}
    return sorted(places, key=lambda slot: late.get(kernel.params[slot].kind, 0))
