"""Kinds of calls of a loop: what one source in C serves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

# Types whose values have a say only by their type.
BY_TYPE = frozenset((bool, int, float))


def kinds_of(values: Mapping[str, Any]) -> tuple[Any, ...]:
    """What of the values of names a loop in C depends on.

    Of arrays: dtype, rank, which axes lie side by side, and which extents are equal.  Of numbers
    the type, of all else which object it is.
    """
    extents: dict[int, int] = {1: -1}
    return tuple(_kind(value, extents) for value in values.values())


def _kind(value: Any, extents: dict[int, int]) -> Any:
    kind = type(value)
    if kind is np.ndarray:
        flags = value.flags
        equal = tuple(extents.setdefault(e, len(extents)) for e in value.shape)
        sides = () if flags.c_contiguous else tuple(s == value.itemsize for s in value.strides)
        return value.dtype, equal, sides
    if kind in BY_TYPE or isinstance(value, np.generic):
        return kind
    return id(value), kind


def is_served(value: np.ndarray[Any, Any]) -> bool:
    """Whether C can read an array: its elements lie aligned, a whole number of them apart."""
    if not value.flags.aligned or not value.dtype.isnative:
        return False
    return value.flags.c_contiguous or not any(s % value.itemsize for s in value.strides)


def share_memory(written: Iterable[Any], arrays: Iterable[Any]) -> bool:
    """Whether an array that is written to may share memory with another one."""
    others = list(arrays)
    return any(
        other is not array and np.may_share_memory(array, other)
        for array in written
        for other in others
    )
