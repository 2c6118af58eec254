"""A call plan started by one call of C: temporaries in an arena, kernels one after the other.

What differs from call to call travels as *words* of eight bytes, numbered as the arrays of the
plan are: addresses of arguments, results, faults and the arena, and then numbers.  The arguments
of all kernels are packed once.  C patches the words in (``ow_plan`` of
templates/host/runtime.cpp), and between kernels calls the BLAS that NumPy has loaded.  A product
that only NumPy can ask of the BLAS is a step in Python, between two such runs.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import groupby
from typing import Any

import numpy as np

from opweave.runtime.calls.arrays import pointer
from opweave.runtime.calls.by_numpy import Compute
from opweave.runtime.calls.loops import Turns
from opweave.runtime.calls.prepared import Prepared
from opweave.runtime.calls.steps import Step
from opweave.runtime.host.blas import native_product
from opweave.runtime.host.native import NativeSteps, Patch, Turn

# The largest arena, in bytes, that stays with its call: making a small one anew would be felt.
MOST_KEPT = 1 << 16


def address(memory: Any) -> int:
    """The word of an arena or of faults; 0 where there are none."""
    return 0 if memory is None else pointer(memory)


@cache
def held_at() -> int:
    """Offset, in bytes, of the address of the data in an array's object; 0 if it is not known.

    It lies behind the head of every object (``PyArrayObject_fields`` of NumPy's ndarraytypes.h).
    Where it is not known C starts no plan.
    """
    at, probe = object.__basicsize__, np.zeros(1)
    found = ctypes.c_void_p.from_address(id(probe) + at).value
    return at if found == probe.__array_interface__["data"][0] else 0


# Memory for the temporaries of a call, or None, and its address.
Arena = tuple[Any, int]


class NativeStart:
    """Starts the plan of a prepared call on the host.

    Attributes:
        whole: the only part, if it is kernels alone.

    Small arenas are kept: a call takes the spare one, and gives it back when it is done.  So calls
    of several threads at once never share one.
    """

    def __init__(self, prepared: Prepared):
        self.plan, self._layouts = prepared.plan, prepared.layouts
        nbytes = self.plan.memory.nbytes
        self._memory = prepared.executor.arena(nbytes) if nbytes else None
        self._parts = tuple(self._joined([*map(self._native, self.plan.steps)]))
        alone = self._parts[0] if len(self._parts) == 1 else None
        self.whole = alone if isinstance(alone, NativeSteps) else None
        self._pack = struct.Struct(f"<{self.plan.arena + 1}Q{self.plan.formats}").pack
        self._keeps = nbytes <= MOST_KEPT
        self._spare: list[Arena] = []

    def __call__(self, every: Sequence[Any], numbers: Sequence[Any]) -> None:
        """Start all parts."""
        arena = self.borrowed()
        self.run(self._words(every, numbers, arena), every, numbers, arena)

    def run(
        self, words: bytes, every: Sequence[Any], numbers: Sequence[Any], arena: Arena
    ) -> None:
        """Start all parts with these words, and give the arena back."""
        if self.whole is not None:
            self.whole.start(words)
        else:
            arrays = (*every, arena[0])
            for part in self._parts:
                if isinstance(part, NativeSteps):
                    part.start(words)
                else:
                    part(arrays, numbers)
        self._give_back(arena)

    def many(self, turns: Turns, times: int) -> None:
        """Run that many steps of a loop by one call of C, where all of them are kernels."""
        if self.whole is None:
            turns.apart(lambda every: self(every, turns.numbers), times)
            return
        arena, spare = self.borrowed(), turns.make() if times > 1 else ()
        # the last step writes to the result
        first, second = (turns.result, spare) if times % 2 else (spare, turns.result)
        packed = self._words(turns.every(turns.state, first), turns.numbers, arena)
        self.whole.start(ctypes.create_string_buffer(packed), times, [
            Turn(number, self.plan.inputs + place, id(second[place]) if second else 0)
            for number, place in enumerate(turns.order)
        ])  # fmt: skip
        self._give_back(arena)

    def borrowed(self) -> Arena:
        """An arena for one call, which nobody else has until ``run`` gives it back."""
        try:
            return self._spare.pop()
        except IndexError:
            memory = None if self._memory is None else self._memory()
            return memory, address(memory)

    def _give_back(self, arena: Arena) -> None:
        if self._keeps and not self._spare:
            self._spare.append(arena)

    def _words(self, every: Sequence[Any], numbers: Sequence[Any], arena: Arena) -> bytes:
        *arrays, faults = every
        return self._pack(*map(id, arrays), address(faults), arena[1], *numbers)

    def _native(self, step: Step) -> Step:
        """A product of a library as a step of C's, if C can ask for it."""
        is_product = step.kernel.template == "vendor"
        return (native_product(step, self._layouts) if is_product else None) or step

    def _joined(self, steps: Sequence[Step]) -> Iterator[NativeSteps | Compute]:
        """Neighbouring kernels as one part; a product of a library as a part of its own."""
        for computed, group in groupby(steps, lambda step: step.compute is not None):
            if computed:
                yield from (step.compute for step in group if step.compute)
            else:
                some = [(step, self._patches(step)) for step in group if step.launch is not None]
                yield NativeSteps(some, self.plan.arena)

    def _patches(self, step: Step) -> list[Patch]:
        """The words that C fills in: of arrays it reads the address in the array's object."""
        held, plan = held_at(), self.plan
        return [
            *(
                Patch(8 * slot, array, held if array < plan.faults else 0, 0, offset)
                for slot, array, offset in step.arrays
            ),
            *(Patch(8 * slot, plan.arena + 1 + n, 0, 0, 0) for slot, n in step.numbers),
        ]
