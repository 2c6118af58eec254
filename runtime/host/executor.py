"""The executor on the host: kernels as shared objects, their blocks on all cores."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from opweave.runtime.calls.arrays import held_at, pointer
from opweave.runtime.calls.by_numpy import by_numpy
from opweave.runtime.calls.outcomes import array_scalar
from opweave.runtime.calls.starts import StepwiseStart
from opweave.runtime.calls.steps import Started, Step, packer, starting
from opweave.runtime.host.copies import copy
from opweave.runtime.host.launcher import HostLaunch, runtime_library
from opweave.runtime.host.pool import allocator, arena
from opweave.runtime.host.starts import NativeStart
from opweave.runtime.process.locks import Once

if TYPE_CHECKING:
    from opweave.compiler.ir.values import Extents
    from opweave.compiler.kernels.kernel import Kernel
    from opweave.compiler.scheduling.memory import MemoryPlan
    from opweave.compiler.scheduling.schedule import Schedule
    from opweave.opcodes.dtypes import DType
    from opweave.runtime.binaries.binary import Binary
    from opweave.runtime.calls.interface import Launchable, Start
    from opweave.runtime.calls.planned import PlannedCall
    from opweave.runtime.calls.steps import Launch


class HostExecutor:
    """Kernels lowered for the target ``host``, on all cores."""

    mode, passes_arrays, as_arrays = "run", False, False
    also: tuple[Once[Any], ...] = (runtime_library,)

    def __init__(self, fast: bool = False, cached: bool = True):
        """``cached``: binaries are taken from memory or disk where they are there."""
        self.fast = fast
        self.cached = cached
        self._built: dict[Any, Binary] = {}

    def allocator(self, shape: tuple[int, ...], dtype: DType) -> Callable[[], Any]:
        return allocator(shape, dtype.numpy)

    arena = staticmethod(arena)
    computed = staticmethod(by_numpy)

    def memory(self, kernels: Any, schedule: Schedule, extents: Extents) -> MemoryPlan:
        from opweave.runtime.calls.filling import each_apart, planned  # no saved program needs it

        return (planned if held_at() else each_apart)(kernels, schedule, extents)

    def start(self, prepared: PlannedCall) -> Start:
        return NativeStart(prepared) if held_at() else StepwiseStart(prepared)

    def workspace(
        self, kernel: Kernel, partials: int, counters: int
    ) -> Callable[[], tuple[Any, Any]]:
        return lambda: (np.empty(partials, np.uint8), np.zeros(counters // 4, np.uint32))

    def faults(self) -> np.ndarray[Any, Any]:
        return np.zeros(1, np.uint64)

    def noted(self, faults: np.ndarray[Any, Any]) -> int:
        return int(faults[0])

    def holds(self, words: np.ndarray[Any, Any]) -> bool:
        return bool(words.any())

    def build(self, kernel: Kernel, source: str) -> Binary:
        if self.cached:
            return self._build(kernel, source)
        from opweave.runtime.binaries.build import common_source

        key = common_source(kernel, source, self.mode)
        if key not in self._built:  # else it was built together with others
            self._built[key] = self._build(kernel, source)
        return self._built[key]

    def _build(self, kernel: Kernel, source: str) -> Binary:
        from opweave.runtime.binaries.build import build_kernel  # no saved program needs it

        return build_kernel(kernel, source, fast=self.fast, mode=self.mode, cached=self.cached)

    def launcher(self, kernel: Kernel, source: str, extents: Extents) -> Launch:
        return self.launched(kernel, self.build(kernel, source), extents)

    def launched(self, kernel: Launchable, binary: Binary, extents: Extents) -> Launch:
        """The same of a binary."""
        return HostLaunch.of(kernel, binary, extents)

    packer, address = staticmethod(packer), staticmethod(pointer)

    def starting(self, step: Step) -> Started | None:
        return starting(step, self.address)

    def result(self, array: np.ndarray[Any, Any], boxed: bool) -> Any:
        return array_scalar(array, boxed)

    copy = staticmethod(copy)
