"""The launches of a call, noted instead of run: grids, parameters, and the arrays behind them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from opweave.compiler.ir.values import Extents
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.scheduling.memory import MemoryPlan
from opweave.compiler.scheduling.schedule import Schedule
from opweave.runtime.calls.arrays import pointer
from opweave.runtime.calls.by_numpy import Compute, Operand
from opweave.runtime.calls.filling import each_apart
from opweave.runtime.calls.layouts import Layouts
from opweave.runtime.calls.starts import StepwiseStart
from opweave.runtime.calls.steps import Launch
from opweave.runtime.host.executor import HostExecutor
from opweave.runtime.sass.accesses import ARRAY_SHIFT

POINTERS = ("input", "output", "partials", "counter", "faults")


@dataclass(frozen=True)
class Noted:
    """One launch.

    Attributes:
        slots: the parameters' bytes; an array's address begins at its number << 36.
        arrays: bytes of each array, by its number.
        counters: numbers of the arrays that are zero before the launch.
        elements: results of the launch, or steps where it reduces; 0 where nobody knows.
    """

    kernel: Kernel
    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    shared_bytes: int
    slots: tuple[bytes, ...]
    arrays: dict[int, int]
    counters: frozenset[int]
    elements: int


class NotingExecutor(HostExecutor):
    """Starts no kernel; results are arrays that nobody has written.

    Attributes:
        seen: the launches, in order.
    """

    mode, passes_arrays, also = "note", True, ()
    start = staticmethod(StepwiseStart)

    def __init__(self) -> None:
        super().__init__(False)
        self.seen: list[Noted] = []

    def build(self, kernel: Kernel, source: str) -> Any:
        """Nothing is started, so nothing is built."""

    def memory(self, kernels: Any, schedule: Schedule, extents: Extents) -> MemoryPlan:
        return each_apart(kernels, schedule, extents)

    def computed(
        self, kernel: Kernel, layouts: Layouts, operands: Sequence[Operand], taken: Sequence[int]
    ) -> Compute:
        """Nobody reads what a library would compute."""
        return lambda arrays, numbers: None

    def holds(self, words: Any) -> bool:
        return False  # nobody has written them

    def launcher(self, kernel: Kernel, source: str, extents: Extents) -> Launch:
        # of a kernel that someone wrote nobody knows what an element is
        elements = 0 if kernel.template == "handwritten" else prod(kernel.elements(extents))

        def launch(slots: Any, arrays: Sequence[Any]) -> None:
            words = bytes(slots)
            made = [words[8 * n : 8 * n + 8] for n in range(len(kernel.params))]
            sizes = placed(kernel, made, arrays)
            self.seen.append(Noted(
                kernel, kernel.grid(extents), kernel.block, kernel.dynamic_bytes(extents),
                tuple(made), sizes, _counters(kernel, made), elements,
            ))  # fmt: skip

        return launch


def placed(kernel: Kernel, slots: list[bytes], arrays: Sequence[Any]) -> dict[int, int]:
    """Put addresses of our own in the place of those of the arrays; returns their sizes.

    Arrays begin at multiples of what any allocation on a GPU does, and views where they lie in
    their array, so that the counts of two runs are the same.
    """
    bases: dict[int, int] = {}
    sizes: dict[int, int] = {}
    roots = [_root(array) for array in arrays if isinstance(array, np.ndarray)]
    for slot, param in enumerate(kernel.params):
        if param.kind not in POINTERS:
            continue
        address = int.from_bytes(slots[slot], "little")
        around = (r for r in roots if 0 <= address - pointer(r) <= r.nbytes)
        root = max(around, key=pointer, default=None)  # where one ends another one may begin
        start = address if root is None else pointer(root)
        number = bases.setdefault(start, len(bases) + 1)
        sizes[number] = 0 if root is None else root.nbytes
        slots[slot] = ((number << ARRAY_SHIFT) + address - start).to_bytes(8, "little")
    return sizes


def _counters(kernel: Kernel, slots: Sequence[bytes]) -> frozenset[int]:
    """Numbers of the arrays in which blocks count."""
    named = [n for n, param in enumerate(kernel.params) if param.kind == "counter"]
    return frozenset(int.from_bytes(slots[n], "little") >> ARRAY_SHIFT for n in named)


def _root(array: Any) -> Any:
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array
