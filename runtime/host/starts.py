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
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import cache
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from opweave.runtime.calls.arrays import pointer
from opweave.runtime.calls.loops import Turns
from opweave.runtime.calls.prepared import Prepared
from opweave.runtime.calls.steps import Step, computed_by_numpy
from opweave.runtime.host.blas import native_product
from opweave.runtime.host.launcher import HostLaunch
from opweave.runtime.host.native import NativeSteps, Patch, Turn

NOTHING = nullcontext()
# The largest arena, in bytes, that stays with its call: making a small one anew would be felt.
MOST_KEPT = 1 << 16

# (words, arrays, numbers) -> started
Part = Callable[[Any, Sequence[Any], Sequence[Any]], None]


@cache
def held_at() -> int:
    """Offset, in bytes, of the address of the data in an array's object; 0 if it is not known.

    It lies behind the head of every object (``PyArrayObject_fields`` of NumPy's ndarraytypes.h).
    Where it is not known C starts no plan.
    """
    at, probe = object.__basicsize__, np.zeros(1)
    found = ctypes.c_void_p.from_address(id(probe) + at).value
    return at if found == probe.__array_interface__["data"][0] else 0


class _Arena(NamedTuple):
    """Memory for the temporaries of a call, its address, and arrays in it."""

    memory: Any
    address: int
    views: tuple[Any, ...]


class NativeStart:
    """Starts the plan of a prepared call on the host.

    Small arenas are kept: a call takes the spare one, and gives it back when it is done.  So calls
    of several threads at once never share one.
    """

    def __init__(self, prepared: Prepared):
        self.plan, self._layouts = prepared.plan, prepared.layouts
        nbytes = self.plan.memory.nbytes
        self._memory = prepared.executor.arena(nbytes) if nbytes else None
        self._viewed: list[int] = []  # temporaries that a library reads or writes
        self._parts = tuple(self._joined([*map(self._native, self.plan.steps)]))
        numbers = (step.formats[slot] for step in self.plan.steps for slot, _ in step.numbers)
        self._pack = struct.Struct("<" + "Q" * (self.plan.arena + 1) + "".join(numbers)).pack
        self._made = struct.Struct(f"<{len(self.plan.makes) + 2}Q")
        self._asks_numpy = not all(isinstance(part, NativeSteps) for part in self._parts)
        self._keeps = nbytes <= MOST_KEPT
        self._spare: list[_Arena] = []

    def __call__(
        self, every: Sequence[Any], numbers: Sequence[Any], bound: bytearray | None = None
    ) -> None:
        """Start all parts; ``bound``: words that have arguments and numbers already."""
        arena = self._borrowed()
        words = self._words(every, numbers, arena, bound)
        arrays = (*every, arena.memory, *arena.views)
        with np.errstate(all="ignore") if self._asks_numpy else NOTHING:
            for part in self._parts:
                part(words, arrays, numbers)
        self._give_back(arena)

    def bound(self, arrays: Sequence[Any], numbers: Sequence[Any]) -> bytearray:
        """The words of arguments and constants, and of numbers."""
        blank = [0] * (self.plan.arena + 1 - self.plan.inputs)
        return bytearray(self._pack(*map(id, arrays), *blank, *numbers))

    def many(self, turns: Turns, times: int) -> None:
        """Run that many steps of a loop by one call of C, where all of them are kernels."""
        if self.whole is None:
            turns.apart(lambda every: self(every, turns.numbers), times)
            return
        arena, spare = self._borrowed(), turns.make() if times > 1 else ()
        # the last step writes to the result
        first, second = (turns.result, spare) if times % 2 else (spare, turns.result)
        packed = self._words(turns.every(turns.state, first), turns.numbers, arena)
        others = [id(second[place]) if second else 0 for place in turns.order]
        places = [self.plan.inputs + place for place in turns.order]
        given = (Turn * len(places))(*map(Turn, range(len(places)), places, others))
        words = (ctypes.c_uint64 * (len(packed) // 8)).from_buffer_copy(packed)
        self.whole.loop(ctypes.cast(words, ctypes.c_char_p), times, given)
        self._give_back(arena)

    @property
    def whole(self) -> NativeSteps | None:
        """The only part, if it is kernels alone."""
        part = self._parts[0] if len(self._parts) == 1 else None
        return part if isinstance(part, NativeSteps) else None

    def _words(
        self, every: Sequence[Any], numbers: Sequence[Any], arena: _Arena,
        bound: bytearray | None = None,
    ) -> bytes:  # fmt: skip
        *arrays, faults = every
        last = 0 if faults is None else pointer(faults), arena.address
        if bound is None:
            return self._pack(*map(id, arrays), *last, *numbers)
        made = map(id, arrays[self.plan.inputs :])
        self._made.pack_into(bound, 8 * self.plan.inputs, *made, *last)
        return bytes(bound)

    def _borrowed(self) -> _Arena:
        """An arena for one call, which nobody else has."""
        try:
            return self._spare.pop()
        except IndexError:
            return self._new_arena()

    def _give_back(self, arena: _Arena) -> None:
        """Keep an arena for a later call."""
        if self._keeps and not self._spare:
            self._spare.append(arena)

    def _new_arena(self) -> _Arena:
        if self._memory is None:
            return _Arena(None, 0, ())
        memory = self._memory()
        shapes = ((value, *self._layouts.shapes[value]) for value in self._viewed)
        views = tuple(
            np.ndarray(shape, dtype.numpy, memory, self.plan.places[value].offset)
            for value, shape, dtype in shapes
        )
        return _Arena(memory, pointer(memory), views)

    def _native(self, step: Step) -> Step:
        """A product of a library as a step of C's, if C can ask for it."""
        is_product = step.kernel.template == "vendor"
        return (native_product(step, self._layouts) if is_product else None) or step

    def _joined(self, steps: Sequence[Step]) -> list[Part]:
        """Neighbouring kernels as one part; a product of a library as a part of its own."""
        parts: list[Part] = []
        some = [step for step in steps if step.launch is not None]
        for native, group in groupby(some, lambda step: isinstance(step.launch, HostLaunch)):
            if native:
                patched = [(step, self._patches(step)) for step in group]
                parts.append(NativeSteps(patched, self.plan.arena))
            else:
                parts += map(self._by_library, group)
        return parts

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

    def _by_library(self, step: Step) -> Part:
        compute = computed_by_numpy(step.kernel, self._layouts)
        places = [self._viewable(step, slot, array) for slot, array, _ in step.arrays]
        taken = [number for _, number in step.numbers]

        def run(words: Any, arrays: Sequence[Any], numbers: Sequence[Any]) -> None:
            compute([arrays[place] for place in places], [numbers[number] for number in taken])

        return run

    def _viewable(self, step: Step, slot: int, array: int) -> int:
        """The index of an array of NumPy's among those that ``run`` has."""
        if array < self.plan.faults:
            return array
        value = self._layouts.base_of(step.kernel.params[slot].source)
        if value not in self._viewed:
            self._viewed.append(value)
        return self.plan.arena + 1 + self._viewed.index(value)
