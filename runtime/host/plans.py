"""The steps of a prepared call as one: temporaries in an arena, kernels started by one call of C.

What differs from call to call travels as *words* of eight bytes: addresses of arguments, results
and the arena, and numbers.  The arguments of all kernels are packed once.  C patches the words in
(``ow_plan`` of templates/host/runtime.cpp), and between kernels calls the BLAS that NumPy has
loaded.  A product that only NumPy can ask of the BLAS is a step in Python, between two such runs.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cache
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from opweave.compiler.ir.values import Extents
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.scheduling.memory import MemoryPlan, memory_plan
from opweave.compiler.scheduling.schedule import Schedule
from opweave.runtime.calls.arrays import pointer
from opweave.runtime.calls.steps import Step, computed_by_numpy, scalar_value, workspace
from opweave.runtime.host.blas import native_product
from opweave.runtime.host.launcher import HostLaunch
from opweave.runtime.host.native import NativeSteps, Patch

if TYPE_CHECKING:
    from opweave.runtime.calls.prepared import Prepared


NOTHING = nullcontext()
# The largest arena, in bytes, that stays with its call: making a small one anew would be felt.
MOST_KEPT = 1 << 16


def planned(kernels: Sequence[Kernel], schedule: Schedule, extents: Extents) -> MemoryPlan:
    """The memory plan of a schedule, with what its kernels need for themselves."""
    needs = {n: sum(workspace(kernel, extents)) for n, kernel in enumerate(kernels)}
    return memory_plan(schedule, extents, {n: nbytes for n, nbytes in needs.items() if nbytes})


@cache
def held_at() -> int:
    """Offset, in bytes, of the address of the data in an array's object; 0 if it is not known.

    It lies behind the head of every object (``PyArrayObject_fields`` of NumPy's ndarraytypes.h).
    Where it is not known nothing is planned.
    """
    at, probe = object.__basicsize__, np.zeros(1)
    found = ctypes.c_void_p.from_address(id(probe) + at).value
    return at if found == probe.__array_interface__["data"][0] else 0


class Address(NamedTuple):
    """Where a value lies: in the array behind a word, or so many bytes into the arena."""

    word: int
    offset: int = 0


@dataclass
class _Words:
    """The words of a call: arguments, results, faults, the arena, and numbers."""

    inputs: int
    outputs: int
    formats: list[str] = field(default_factory=list)

    @property
    def faults(self) -> int:
        return self.inputs + self.outputs

    @property
    def arena(self) -> int:
        return self.faults + 1

    def number(self, format: str) -> int:
        """Add a word for a number; returns its index."""
        self.formats.append(format)
        return self.arena + len(self.formats)

    def packer(self) -> Callable[..., bytes]:
        return struct.Struct("<" + "Q" * (self.arena + 1) + "".join(self.formats)).pack


Part = Callable[[Any, Sequence[Any]], None]


class _Arena(NamedTuple):
    """Memory for the temporaries of a call, its address, and arrays in it."""

    memory: Any
    address: int
    views: tuple[Any, ...]


class HostCallPlan:
    """How a prepared call runs on the host.

    Small arenas are kept: a call takes the spare one, and gives it back when it is done.  So calls
    of several threads at once never share one.
    """

    def __init__(self, prepared: Prepared):
        self.prepared = prepared
        kernels = [step.kernel for step in prepared.steps]
        self.memory = planned(kernels, prepared.schedule, prepared.extents)
        makes = [pair for makes in prepared.makes for pair in makes]
        self.makes = tuple(pair for pair in makes if pair[0] not in self.memory.places)
        self.words = _Words(len(prepared.inputs), len(self.makes))
        known = (*prepared.inputs, *(value for value, _ in self.makes))
        self.places = {value: Address(n) for n, value in enumerate(known)}
        self.places |= {v: Address(self.words.arena, at) for v, at in self.memory.places.items()}
        self.numbers: list[Any] = []
        self._viewed: list[int] = []  # temporaries that a library reads or writes
        packed = [self._packed(n, step) for n, step in enumerate(prepared.steps)]
        self._parts = tuple(self._joined(packed))
        self.pack = self.words.packer()
        self._asks_numpy = not all(isinstance(part, NativeSteps) for part in self._parts)
        self._keeps = self.memory.nbytes <= MOST_KEPT
        self._spare: list[_Arena] = []

    def __call__(
        self, arrays: Sequence[Any], env: Mapping[str, Any], out: Mapping[int, Any], faults: Any
    ) -> dict[int, Any]:
        """Run with these arguments; the arrays of arguments and results by value."""
        made = [out[v] if v in out else make() for v, make in self.makes]
        arena = self.borrowed()
        every = (*arrays, *made, *arena.views)
        words = self.pack(
            *map(id, every[: self.words.faults]),
            0 if faults is None else pointer(faults),
            arena.address,
            *self.packed_numbers(env),
        )
        self.start(words, every)
        self.give_back(arena)
        return dict(zip(self.places, every, strict=False))

    def packed_numbers(self, env: Mapping[str, Any]) -> list[Any]:
        """The numbers of a call, in the order of their words."""
        return [scalar_value(scalar, env) for scalar in self.numbers]

    @property
    def whole(self) -> NativeSteps | None:
        """The only part, if it is kernels alone."""
        part = self._parts[0] if len(self._parts) == 1 else None
        return part if isinstance(part, NativeSteps) else None

    def start(self, words: Any, every: Sequence[Any]) -> None:
        """Run all parts; ``every``: arguments, results, and arrays in the arena."""
        with np.errstate(all="ignore") if self._asks_numpy else NOTHING:
            for part in self._parts:
                part(words, every)

    def borrowed(self) -> _Arena:
        """An arena for one call, which nobody else has."""
        try:
            return self._spare.pop()
        except IndexError:
            return self.new_arena()

    def give_back(self, arena: _Arena) -> None:
        """Keep an arena for a later call."""
        if self._keeps and not self._spare:
            self._spare.append(arena)

    def new_arena(self) -> _Arena:
        """Memory for the temporaries of one call at a time."""
        nbytes = self.memory.nbytes
        if not nbytes:
            return _Arena(None, 0, ())
        memory = self.prepared.executor.arena(nbytes)()
        shapes = ((value, *self.prepared.shapes[value]) for value in self._viewed)
        views = tuple(
            np.ndarray(shape, dtype.numpy, memory, self.places[value].offset)
            for value, shape, dtype in shapes
        )
        return _Arena(memory, pointer(memory), views)

    def _packed(self, number: int, step: Step) -> tuple[Step, list[Patch], tuple[int, int]]:
        """A step, what of its arguments a call fills in, and what of the arena begins at zero."""
        held, words = held_at(), self.words
        if step.kernel.template == "vendor":
            step = native_product(step, self.prepared.layouts) or step
        patches = []
        for slot, value, offset in step.pointers:
            word, at = self.places[value]
            in_array = held if word < words.faults else 0
            patches.append(Patch(8 * slot, word, in_array, 0, at + offset))
        for slot, scalar in step.scalars:
            self.numbers.append(scalar)
            patches.append(Patch(8 * slot, words.number(step.formats[slot]), 0, 0, 0))
        zero = (0, 0)
        if step.partials >= 0 and step.launch is not None:  # a grid without blocks needs none
            at = self.memory.workspaces[number]
            partials, counters = workspace(step.kernel, self.prepared.extents)
            patches.append(Patch(8 * step.partials, words.arena, 0, 0, at))
            patches.append(Patch(8 * step.counter, words.arena, 0, 0, at + partials))
            zero = (at + partials, counters)
        if step.faults >= 0:
            patches.append(Patch(8 * step.faults, words.faults, 0, 0, 0))
        return step, patches, zero

    def _joined(self, packed: Sequence[Any]) -> list[Part]:
        """Neighbouring kernels as one part; a product of a library as a part of its own."""
        parts: list[Part] = []
        some = [p for p in packed if p[0].launch is not None]
        for native, group in groupby(some, lambda p: isinstance(p[0].launch, HostLaunch)):
            if native:
                parts.append(NativeSteps(list(group), self.words.arena))
            else:
                parts += [self._by_library(step, patches) for step, patches, _ in group]
        return parts

    def _by_library(self, step: Step, patches: Sequence[Patch]) -> Part:
        compute = computed_by_numpy(step.kernel, self.prepared.layouts)
        places = [self._array(value) for _, value, _ in step.pointers]
        word_of = {patch.at: 8 * patch.word for patch in patches}
        numbers = [(word_of[8 * n], "<" + step.formats[n]) for n, _ in step.scalars]

        size = max((at + 8 for at, _ in numbers), default=0)

        def run(words: Any, every: Sequence[Any]) -> None:
            held = ctypes.string_at(words, size)
            found = [struct.unpack_from(format, held, at)[0] for at, format in numbers]
            compute([every[place] for place in places], found)

        return run

    def _array(self, value: int) -> int:
        """The index of a value's array among the arrays of a call."""
        place = self.places[value].word
        if place < self.words.faults:
            return place
        if value not in self._viewed:
            self._viewed.append(value)
        return self.words.faults + self._viewed.index(value)
