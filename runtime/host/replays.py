"""A prepared call that is repeated: its arguments are bound once, and only changes are read.

On the host a replay is a plan (``plans.py``) whose words stay packed.  Arguments stay where their
owner has them, and are read there at each call.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

from opweave.runtime.calls.arrays import pointer
from opweave.runtime.calls.prepared import Prepared
from opweave.runtime.host.launcher import runtime_library
from opweave.runtime.host.native import Turn
from opweave.runtime.host.plans import HostCallPlan, held_at


class HeldArrays:
    """NumPy arrays that are used again and again, with the layouts that they had when bound.

    They are held, so that nobody frees them in between.
    """

    def __init__(self, arrays: Sequence[Any]):
        self.arrays = list(arrays)
        self._ids = (ctypes.c_uint64 * len(self.arrays))(*map(id, self.arrays))
        layouts = [*map(_layout, self.arrays)]
        self._like = bytearray(b"".join(layouts))
        self._at = [0, *accumulate(map(len, layouts))]
        self._differs = runtime_library().ow_differs

    def bind(self, number: int, array: Any) -> None:
        """Another array, of the same number of dimensions."""
        self.arrays[number] = array
        self._ids[number] = id(array)
        self._like[self._at[number] : self._at[number + 1]] = _layout(array)

    def changed(self) -> int:
        """The index of the first array with another shape, type or layout since, or -1."""
        at = held_at()
        if not at:
            now = ((n, _layout(a)) for n, a in enumerate(self.arrays))
            return next((n for n, a in now if a != self._like[slice(*self._at[n : n + 2])]), -1)
        behind = at + ctypes.sizeof(ctypes.c_void_p)
        return int(self._differs(self._ids, behind, bytes(self._like), len(self.arrays)))


def _layout(array: Any) -> bytes:
    """Dimensions, dtype, extents and strides, as ``ow_differs`` takes them."""
    numbers = array.ndim, id(array.dtype), *array.shape, *array.strides
    return struct.pack(f"<{len(numbers)}q", *numbers)


class HostReplay:
    """A prepared call on the host whose arguments stay packed.

    Only one thread at a time may bind and take; calls that were taken may run at the same time.
    """

    def __init__(self, prepared: Prepared, arrays: Sequence[Any]):
        self.prepared = prepared
        self.plan = HostCallPlan(prepared)
        self._arrays = [*arrays, *prepared.constants]
        self._made = len(self._arrays)
        self._env = prepared.extents
        blank = [0] * (len(self.plan.makes) + 2)
        numbers = self.plan.packed_numbers(self._env)
        self._words = bytearray(self.plan.pack(*map(id, self._arrays), *blank, *numbers))

    def bind(self, number: int, array: Any) -> None:
        """Another array, of the same layout, for an argument."""
        self._arrays[number] = array
        struct.pack_into("<Q", self._words, 8 * number, id(array))

    def taken(self) -> Callable[[], list[Any]]:
        """A call with what is bound now; its results are new arrays."""
        return partial(self._run, self._words.copy(), tuple(self._arrays))

    def _run(self, words: bytearray, arrays: Sequence[Any]) -> list[Any]:
        faults = self.prepared.executor.faults() if self.prepared.notes_faults else None
        made = [make() for _, make in self.plan.makes]
        arena = self.plan.borrowed()
        every = (*arrays, *made, *arena.views)
        last = (0 if faults is None else pointer(faults), arena.address)
        struct.pack_into(f"<{len(made) + 2}Q", words, 8 * self._made, *map(id, made), *last)
        self.plan.start(bytes(words), every)
        self.plan.give_back(arena)
        held = dict(zip(self.plan.places, every, strict=False))
        return self.prepared.results(held, self._env, faults)


class HostLoop:
    """A prepared call whose results are the first arguments of the next, run many times by C.

    Where one of its products can only be asked by NumPy, Python runs the parts one by one.
    """

    def __init__(self, prepared: Prepared):
        """The results of the call must be all that it writes; see ``Prepared.loop``."""
        self.prepared = prepared
        self.plan = HostCallPlan(prepared)
        self.places = [self.plan.places[value].word for value in prepared.outputs]

    def __call__(self, arrays: Sequence[Any], env: Mapping[str, Any], times: int) -> list[Any]:
        """The state after so many steps, in new arrays."""
        plan, arena = self.plan, self.plan.borrowed()
        makes = [make for _, make in plan.makes]
        first, spare = [make() for make in makes], [make() for make in makes] if times > 1 else []
        every = [*arrays, *self.prepared.constants, *first, *arena.views]
        count = plan.words.faults
        faults = self.prepared.executor.faults() if self.prepared.notes_faults else None
        packed = plan.pack(
            *map(id, every[:count]), 0 if faults is None else pointer(faults), arena.address,
            *plan.packed_numbers(env),
        )  # fmt: skip
        words = (ctypes.c_uint64 * (len(packed) // 8)).from_buffer_copy(packed)
        by_id = {id(array): array for array in (*first, *spare)}
        others = [id(spare[place - count + len(makes)]) if spare else 0 for place in self.places]
        turns = (Turn * len(others))(*map(Turn, range(len(others)), self.places, others))
        self._run(words, every, turns, times, by_id)
        plan.give_back(arena)
        held = dict(zip(plan.places, every, strict=False))
        self.prepared.results(held, env, faults)  # raises what kernels noted
        return [by_id[words[number]] for number in range(len(turns))]

    def _run(self, words: Any, every: list[Any], turns: Any, times: int, by_id: Any) -> None:
        as_bytes = ctypes.cast(words, ctypes.c_char_p)
        if self.plan.whole is not None:
            self.plan.whole.loop(as_bytes, times, turns)
            return
        for _ in range(times):
            self.plan.start(as_bytes, every)
            _turned(words, every, turns, by_id)


def _turned(words: Any, every: list[Any], turns: Any, by_id: Mapping[int, Any]) -> None:
    """What ``turn`` of runtime.cpp does, and the same of the arrays."""
    for turn in turns:
        was = words[turn.in_]
        words[turn.in_] = words[turn.out]
        words[turn.out] = turn.spare or was
        turn.spare = 0
        every[turn.in_] = by_id[words[turn.in_]]
        every[turn.out] = by_id.get(words[turn.out])
