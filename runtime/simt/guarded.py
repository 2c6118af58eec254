"""Memory for verify mode: guarded copies of arrays, and results that begin with a pattern.

A copy ends at a page that may not be touched, so that reading past the end stops the kernel.  In
front of it, and in the gap that alignment leaves behind it, lies a pattern that must survive.
"""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from opweave.opcodes.dtypes import DType
from opweave.opcodes.errors import LaunchError
from opweave.runtime.calls.arrays import pointer

PAGE = mmap.PAGESIZE
PATTERN = 0xFD  # a NaN in every float type, a large number in every integer type
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass
class Guarded:
    """A guarded copy of one array.

    Attributes:
        address: address of the element that the array's own pointer points to.
        array: the original.
    """

    address: int
    array: np.ndarray[Any, Any]
    buffer: np.ndarray[Any, Any]
    start: int
    bytes: int
    low: int

    def finish(self, kernel: str) -> None:
        """Check the guards and copy the contents back.

        Raises:
            LaunchError: the kernel wrote outside the array.
        """
        before, after = self.buffer[: self.start], self.buffer[self.start + self.bytes : -PAGE]
        for name, zone in (("before", before), ("behind", after)):
            if (zone != PATTERN).any():
                raise LaunchError(f"{kernel}: wrote {name} an array of shape {self.array.shape}")
        if self.array.flags.writeable and self.bytes:
            self._view()[...] = self.buffer[self.start : self.start + self.bytes]

    def _view(self) -> np.ndarray[Any, Any]:
        """The original's memory as bytes."""
        raw = (ctypes.c_uint8 * self.bytes).from_address(pointer(self.array) + self.low)
        return np.ctypeslib.as_array(raw)


def span(array: np.ndarray[Any, Any]) -> tuple[int, int]:
    """Lowest byte offset and number of bytes that an array's elements cover."""
    if array.size == 0:
        return 0, 0
    reach = [(n - 1) * s for n, s in zip(array.shape, array.strides, strict=True)]
    low = sum(r for r in reach if r < 0)
    high = sum(r for r in reach if r > 0)
    return low, high - low + array.itemsize


def guard(array: np.ndarray[Any, Any]) -> Guarded:
    """Copy an array between guards, keeping its strides and its alignment to 16 bytes."""
    low, count = span(array)
    total = (count + PAGE + PAGE - 1) // PAGE * PAGE + PAGE
    memory = mmap.mmap(-1, total)
    buffer = np.frombuffer(memory, np.uint8)
    buffer[:] = PATTERN
    start = total - PAGE - count
    wanted = (pointer(array) + low) % 16
    start -= (buffer.ctypes.data + start - wanted) % 16
    made = Guarded(buffer.ctypes.data + start - low, array, buffer, start, count, low)
    if count:
        buffer[start : start + count] = made._view()
    _libc.mprotect(ctypes.c_void_p(buffer.ctypes.data + total - PAGE), ctypes.c_size_t(PAGE), 0)
    return made


def poisoned(make: Callable[[], Any]) -> Callable[[], Any]:
    """The same arrays filled with a pattern, which shows what a kernel does not write."""

    def made() -> Any:
        array = make()
        array.reshape(-1).view(np.uint8)[...] = PATTERN
        return array

    return made


class Poisoning:
    """Another executor, whose results begin with a pattern."""

    def __init__(self, executor: Any):
        self._executor = executor

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executor, name)

    def allocator(self, shape: tuple[int, ...], dtype: DType) -> Callable[[], Any]:
        return poisoned(self._executor.allocator(shape, dtype))

    def arena(self, nbytes: int) -> Callable[[], Any]:
        return poisoned(self._executor.arena(nbytes))


def aligned_empty(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    """An uninitialised array on a 16-byte boundary, as from a GPU's allocator."""
    count = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    raw = np.empty(count + 16, np.uint8)
    start = -raw.ctypes.data % 16
    return raw[start : start + count].view(dtype).reshape(shape)
