"""A call plan started by one call of C: temporaries in an arena, kernels one after the other.

What differs from call to call travels as *words* of eight bytes, numbered as the arrays of the
plan are: arguments, results, faults and the arena as Python's objects, and then numbers.  The
arguments of all kernels are packed once.  C patches the words in (``ow_plan`` of
templates/host/runtime.cpp), and between kernels calls the BLAS that NumPy has loaded.  A product
that only NumPy can ask of the BLAS is a step in Python, between two such runs.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any

from opweave.runtime.calls.by_numpy import Compute
from opweave.runtime.calls.loops import Turns
from opweave.runtime.calls.planned import PlannedCall
from opweave.runtime.calls.steps import Step
from opweave.runtime.host.blas import native_product
from opweave.runtime.host.native import NativeSteps, Turn

# The largest arena, in bytes, that stays with its call: making a small one anew would be felt.
MOST_KEPT = 1 << 16


class NativeStart:
    """Starts the plan of a prepared call on the host.

    Attributes:
        whole: the only part, if it is kernels alone.

    Small arenas are kept: a call takes the spare one, and gives it back when it is done.  So calls
    of several threads at once never share one.
    """

    def __init__(self, prepared: PlannedCall):
        self.plan = prepared.plan
        nbytes = self.plan.memory.nbytes
        self._memory = prepared.executor.arena(nbytes) if nbytes else None
        steps: Iterable[Step] = self.plan.steps
        if (layouts := prepared.layouts) is not None:
            steps = (native_product(step, layouts) for step in steps)
        # numbers alone may be stored: then there is a part of no kernels
        self._parts = tuple(self._joined(steps)) or (NativeSteps([], self.plan.arena),)
        alone = self._parts[0] if len(self._parts) == 1 else None
        self.whole = alone if isinstance(alone, NativeSteps) else None
        self.by_address = self.whole is not None
        self._pack_row = struct.Struct(f"<{self.plan.formats}").pack
        self._pack = struct.Struct(f"<{self.plan.arena + 1}Q{self.plan.formats}").pack
        self._keeps = nbytes <= MOST_KEPT
        self._spare: list[Any] = []

    def __call__(self, every: Sequence[Any], numbers: Sequence[Any]) -> None:
        """Start all parts."""
        arrays = (*every, self.borrowed())
        self.run(self._pack(*map(id, arrays), *numbers), arrays, numbers)

    def run(self, words: bytes, arrays: Sequence[Any], numbers: Sequence[Any]) -> None:
        """Start all parts with these words, and give the arena back, which is the last array."""
        try:
            for part in self._parts:
                if isinstance(part, NativeSteps):
                    part.start(words)
                else:
                    part(arrays, numbers)
        finally:
            self._give_back(arrays[-1])

    def many(self, turns: Turns, times: int) -> None:
        """Run that many steps of a loop by one call of C, where all of them are kernels."""
        if self.whole is None:
            turns.apart(lambda numbers, every: self(every, numbers), times)
            return
        arena, spare = self.borrowed(), turns.made_spare() if times > 1 else ()
        # the last step writes to the result
        first, second = (turns.result, spare) if times % 2 else (spare, turns.result)
        arrays = (*turns.every(turns.state, first), arena)
        packed = self._pack(*map(id, arrays), *turns.numbers(0))
        taking = [
            Turn(number, self.plan.inputs + place, id(second[place]) if second else 0)
            for number, place in enumerate(turns.order)
        ]
        rows = b"".join(self._pack_row(*turns.numbers(n)) for n in range(times * turns.differ))
        enough = None if turns.enough is None else first[turns.enough].ctypes.data
        words = ctypes.create_string_buffer(packed)
        turns.ran = self.whole.start(words, times, taking, rows, enough)
        turns.written = first if turns.ran % 2 else second
        self._give_back(arena)

    def borrowed(self) -> Any:
        """The arena of one call, or None, which nobody else has until ``run`` gives it back."""
        try:
            return self._spare.pop()
        except IndexError:
            return None if self._memory is None else self._memory()

    def _give_back(self, arena: Any) -> None:
        if self._keeps and not self._spare:
            self._spare.append(arena)

    def _joined(self, steps: Iterable[Step]) -> Iterator[NativeSteps | Compute]:
        """Neighbouring kernels as one part; a product of a library as a part of its own."""
        for computed, group in groupby(steps, lambda step: step.compute is not None):
            if computed:
                yield from (step.compute for step in group if step.compute)
            else:
                yield NativeSteps([s for s in group if s.launch is not None], self.plan.arena)
