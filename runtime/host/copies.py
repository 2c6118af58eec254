"""Copies of large arrays by as many threads as kernels take."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.runtime.calls.arrays import overlap, pointer
from opweave.runtime.host.launcher import runtime_library
from opweave.runtime.process.locks import Once

# Bytes of the smallest array that is worth more than one thread: NumPy copies smaller ones.
FROM_BYTES = 1 << 20


@Once
def copier() -> Callable[[int, int, int], None]:
    """``ow_copy``, called with the interpreter's lock held: it releases the lock itself."""
    kind = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_longlong)
    return kind(("ow_copy", runtime_library()))


def copy(array: np.ndarray[Any, Any], value: np.ndarray[Any, Any]) -> None:
    """Let an array hold the elements of another one of its shape."""
    if array.nbytes >= FROM_BYTES and _are_alike(array, value):
        copier()(pointer(array), pointer(value), array.nbytes)
    else:
        array[...] = value


def _are_alike(array: np.ndarray[Any, Any], value: np.ndarray[Any, Any]) -> bool:
    """Whether the bytes of one are to be those of the other, from the first to the last."""
    if (array.dtype, array.shape) != (value.dtype, value.shape):
        return False
    a, b = array.flags, value.flags
    dense = (a.c_contiguous and b.c_contiguous) or (a.f_contiguous and b.f_contiguous)
    return dense and not overlap(array, value)
