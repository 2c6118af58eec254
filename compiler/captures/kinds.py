"""Kinds of calls of a loop: what one source in C serves."""

from __future__ import annotations

from collections.abc import Mapping
from types import CellType, FunctionType
from typing import Any

import numpy as np

# Types whose values have a say only by their type.
BY_TYPE = frozenset((bool, int, float, complex))
LONGEST_TUPLE = 64


def exactly(values: Mapping[str, Any]) -> tuple[Any, ...]:
    """A key of calls that are served alike, found fast: more than ``kinds_of`` asks for."""
    return tuple(_exact(value, values) for value in values.values())


def _exact(value: Any, values: Mapping[str, Any]) -> Any:
    kind = type(value)
    if kind is np.ndarray:
        return value.dtype, value.shape, value.strides, value.flags.num
    if kind in BY_TYPE or isinstance(value, np.generic):
        return kind
    if kind is list:  # which names have it
        return list, *(name for name, other in values.items() if other is value)
    return _other(value, values)


def _other(value: Any, values: Mapping[str, Any]) -> Any:
    """A key of what is no number and no array: a text, or which object it is.

    A function inside of another one is made anew at each call: its code says what it does.
    """
    if is_made_anew(value):
        free = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
        cells = tuple(_held(name, cell, values) for name, cell in free)
        given = tuple(map(_constant, value.__defaults__ or ()))
        return FunctionType, value.__code__, id(value.__globals__), given, cells
    if type(value) is tuple and is_constant(value):
        return tuple, repr(value)
    return value if type(value) is str else id(value), type(value)


def is_made_anew(value: Any) -> bool:
    """Whether it is a function inside of another one, or a lambda."""
    if type(value) is not FunctionType:
        return False
    return "<locals>" in value.__qualname__ or value.__name__ == "<lambda>"


def is_constant(value: Any) -> bool:
    """Whether it is a number of Python, or a short tuple of such: its text is its key."""
    if type(value) is tuple:
        return len(value) <= LONGEST_TUPLE and all(map(is_constant, value))
    return type(value) in BY_TYPE


def _held(name: str, cell: CellType, values: Mapping[str, Any]) -> Any:
    """A key of what a function has from around it: whether a name of the call holds it, too."""
    try:
        value = cell.cell_contents
    except ValueError:  # it is empty
        return None
    return name if name in values and values[name] is value else _constant(value)


def _constant(value: Any) -> Any:
    """A key of what a function has itself: of arrays, which it may not use, the type alone."""
    if type(value) in BY_TYPE:
        return type(value), repr(value)
    return type(value) if type(value) is np.ndarray else (id(value), type(value))


def kinds_of(values: Mapping[str, Any]) -> tuple[Any, ...]:
    """What of the values of names a loop in C depends on.

    Of arrays: dtype, rank, which axes lie side by side, which extents are equal, and whether they
    may be written to.  Of numbers the type, of texts the text, of all else which object it is.
    """
    extents: dict[int, int] = {1: -1}
    lists: dict[int, int] = {}
    return tuple((n, _kind(v, values, extents, lists)) for n, v in values.items())


def _kind(
    value: Any, values: Mapping[str, Any], extents: dict[int, int], lists: dict[int, int]
) -> Any:
    kind = type(value)
    if kind is np.ndarray:
        flags = value.flags
        equal = tuple(extents.setdefault(e, len(extents)) for e in value.shape)
        sides = () if flags.c_contiguous else tuple(s == value.itemsize for s in value.strides)
        lies = is_served(value), is_row_by_row(value)
        return value.dtype, equal, sides, lies, flags.writeable
    if kind in BY_TYPE or isinstance(value, np.generic):
        return kind
    if kind is list:  # which of the lists of a call it is
        return kind, lists.setdefault(id(value), len(lists))
    return _other(value, values)


def is_served(value: np.ndarray[Any, Any]) -> bool:
    """Whether C can read an array: its elements lie aligned, a whole number of them apart."""
    if not value.flags.aligned or not value.dtype.isnative:
        return False
    if value.flags.c_contiguous:
        return True
    is_whole = not any(s % value.itemsize for s in value.strides)
    return is_whole and not (value.flags.writeable and _overlaps_itself(value))


def is_row_by_row(value: np.ndarray[Any, Any]) -> bool:
    """Whether NumPy lays out what it computes of an array row by row."""
    axes = zip(value.strides, value.shape, strict=True)
    longer = [abs(stride) for stride, extent in axes if extent > 1]
    return longer == sorted(longer, reverse=True)


def _overlaps_itself(value: np.ndarray[Any, Any]) -> bool:
    """Whether elements may share memory: each axis has to step over all shorter ones."""
    axes = sorted((abs(s), n) for s, n in zip(value.strides, value.shape, strict=True) if n > 1)
    reached = value.itemsize
    for stride, extent in axes:
        if stride < reached:
            return True
        reached += stride * (extent - 1)
    return False
