"""A prepared call that is repeated: its arguments are bound once, and only changes are read.

On the host the words of a plan (``starts.py``) stay packed.  Arguments stay where their owner has
them, and are read there at each call.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

from opweave.runtime.calls.arrays import held_at
from opweave.runtime.calls.prepared import Prepared
from opweave.runtime.host.launcher import runtime_library
from opweave.runtime.host.starts import NativeStart


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
        self.prepared, self.start = prepared, NativeStart(prepared)
        plan = prepared.plan
        self._arrays = [*arrays, *prepared.constants]
        self._numbers = plan.numbers(prepared.extents)
        # words of what is bound, of what each call makes, and of numbers
        self._first = bytearray(struct.pack(f"<{plan.inputs}Q", *map(id, self._arrays)))
        self._made = struct.Struct(f"<{len(plan.makes) + 2}Q").pack
        self._last = struct.pack("<" + plan.formats, *self._numbers)

    def bind(self, number: int, array: Any) -> None:
        """Another array, of the same layout, for an argument."""
        self._arrays[number] = array
        struct.pack_into("<Q", self._first, 8 * number, id(array))

    def taken(self) -> Callable[[], list[Any]]:
        """A call with what is bound now; its results are new arrays."""
        return partial(self._run, bytes(self._first), tuple(self._arrays))

    def _run(self, first: bytes, arrays: Sequence[Any]) -> list[Any]:
        prepared, start = self.prepared, self.start
        made = (*prepared.plan.made(), prepared.new_faults(), start.borrowed())
        every = (*arrays, *made)
        start.run(first + self._made(*map(id, made)) + self._last, every, self._numbers)
        return prepared.results(every, prepared.extents)
