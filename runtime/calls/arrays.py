"""Where the elements of an array lie: its address, its layout, and whether others share them."""

from __future__ import annotations

import sys
from ctypes import c_size_t
from functools import cache
from typing import Any

import numpy as np

from opweave.compiler.ir.plain_arrays import is_cupy


def layout_of(array: Any) -> str:
    """Layout class of an array, see ``Input`` of compiler/ir/graph.py."""
    if array.flags.c_contiguous:
        return "C"
    out: list[str] = []
    following: tuple[int, int] | None = None  # (stride, extent) of the next longer dimension
    for extent, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        if extent == 1:
            out.append("b")
            continue
        if following is not None and stride == following[0] * following[1]:
            out.append("m")
        elif stride == array.itemsize:
            out.append("u")
        else:
            out.append("s")
        following = (stride, extent)
    return "".join(reversed(out))


@cache
def held_at() -> int:
    """Offset, in bytes, of the address of the data in an array's object; 0 if it is not known.

    It lies behind the head of every object (``PyArrayObject_fields`` of NumPy's ndarraytypes.h).
    Where it is not known C starts no plan.
    """
    at, probe = object.__basicsize__, np.zeros(1)
    found = c_size_t.from_address(id(probe) + at).value
    return at if found == probe.__array_interface__["data"][0] else 0


_HELD_AT = held_at()
_word_at = c_size_t.from_address


def pointer(array: Any, offset: int = 0) -> int:
    """Address of an array's first element, or of so many bytes from there."""
    if not isinstance(array, np.ndarray):
        return int(array.data.ptr) + offset
    if _HELD_AT:  # many times as quick as asking NumPy
        return _word_at(id(array) + _HELD_AT).value + offset
    return int(array.__array_interface__["data"][0]) + offset


def assigned(array: Any, value: Any) -> None:
    """Let an array hold the elements of another one."""
    array[...] = value


def overlap(a: Any, b: Any) -> bool:
    """True if two arrays may share bytes."""
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        return bool(np.may_share_memory(a, b))
    if is_cupy(a) and is_cupy(b):
        return bool(sys.modules["cupy"].may_share_memory(a, b))
    return False


def overlaps_itself(array: Any) -> bool:
    """True unless the strides alone show that no two elements share bytes."""
    if array.flags.c_contiguous:
        return False
    reach = array.itemsize
    steps = [(abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1]
    for stride, extent in sorted(steps):
        if stride < reach:
            return bool(array.size)
        reach += stride * (extent - 1)
    return False


def span(array: Any) -> int:
    """Largest offset of an array's layout from its first element, in elements."""
    steps = zip(array.shape, array.strides, strict=True)
    return int(sum(abs(s) * max(0, n - 1) for n, s in steps)) // int(array.itemsize)
