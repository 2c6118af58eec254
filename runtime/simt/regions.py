"""Memory of a kernel that is checked: pieces between guards, and regions of it."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opweave.runtime.calls.arrays import pointer
from opweave.runtime.simt.guarded import PATTERN, span

GUARD = 1 << 20  # bytes on either side of an array; untouched pages take no memory
ALIGNMENT = 512  # as of memory from a GPU's allocator
GLOBAL, STATIC_SHARED, DYNAMIC_SHARED = range(3)


class Region(ctypes.Structure):
    """Memory of a kernel, as shadow.h reads it."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in ("begin", "end", "low", "high")),
        *((name, ctypes.c_int) for name in ("kind", "unwritten")),
        *((name, ctypes.c_void_p) for name in ("owner", "granules")),
    )


@dataclass
class GuardedMemory:
    """One piece of global memory between guards; arrays that overlap share one.

    Attributes:
        name: what messages call it.
        low: address of its first byte outside.
        bytes: its size.
        unwritten: nobody has written it yet.
    """

    name: str
    low: int
    bytes: int
    unwritten: bool
    address: int = 0
    buffer: Any = None

    def fill(self) -> None:
        """Copy its contents in, or a pattern where there are none."""
        total = 2 * (GUARD + ALIGNMENT) + self.bytes
        self.buffer = mmap.mmap(-1, total)
        start = np.frombuffer(self.buffer, np.uint8).ctypes.data
        first = start + GUARD
        # for vectors of up to 16 bytes only the remainder of the address matters
        self.address = first + (-first % ALIGNMENT) + self.low % 16
        if self.unwritten:
            ctypes.memset(self.address, PATTERN, self.bytes)
        elif self.bytes:
            ctypes.memmove(self.address, self.low, self.bytes)

    def region(self) -> Region:
        end = self.address + self.bytes
        return Region(
            self.address, end, self.address - GUARD // 2, end + GUARD // 2, GLOBAL,
            int(self.unwritten), None, None,
        )  # fmt: skip

    def address_of(self, array: np.ndarray[Any, Any]) -> int:
        """Where the first element of an array lies that it holds."""
        return self.address + pointer(array) - self.low

    def write_back(self, array: np.ndarray[Any, Any]) -> None:
        """Copy the memory of an array back, if the array may be written."""
        low, count = span(array)
        if count and array.flags.writeable:
            ctypes.memmove(pointer(array) + low, self.address_of(array) + low, count)


def memories(
    arrays: Sequence[np.ndarray[Any, Any]], names: Sequence[str], unwritten: Sequence[bool]
) -> tuple[list[GuardedMemory], list[int]]:
    """Memory for arrays, and the piece that each lies in; overlapping arrays share a piece."""
    covered = ((array, *span(array)) for array in arrays)
    spans = [(pointer(array) + low, count) for array, low, count in covered]
    made: list[GuardedMemory] = []
    ends: list[int] = []
    where = [0] * len(arrays)
    for i in sorted(range(len(arrays)), key=lambda i: spans[i]):
        low, count = spans[i]
        if made and count and low < ends[-1]:
            made[-1].name += f" and {names[i]}"
            made[-1].unwritten = made[-1].unwritten and unwritten[i]
        else:
            made.append(GuardedMemory(names[i], low, count, unwritten[i]))
            ends.append(low)
        ends[-1] = max(ends[-1], low + count)
        made[-1].bytes = ends[-1] - made[-1].low
        where[i] = len(made) - 1
    return made, where
