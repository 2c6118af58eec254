"""Memory that shows what a kernel leaves unwritten: it begins with a pattern."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.opcodes.dtypes import DType
from opweave.runtime.simt.guarded import PATTERN


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
