"""Kinds of arrays of other libraries: how each is known, seen as NumPy's, and given back.

No library is imported to know its arrays: who has one has imported it.  A class is looked up once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np


class ArrayKind(NamedTuple):
    """A kind of array.

    Attributes:
        label: what people call one.
        view: an array of NumPy's (on a GPU, CuPy's) on the memory of one.  It raises ``NotTaken``.
        give: one of this kind, like another one, that has the elements of an array of NumPy's or
            CuPy's, on the same memory where that can be; it raises ``NotTaken``.  None where
            nobody knows how: results stay NumPy's, and such arrays mix with others.
        convert: what to write to have one of another array, with ``{x}`` for that.
        is_lazy: one has no elements yet; only a fused function is called with such arrays.
        is_immutable: one never changes: ``give`` gets memory that nobody else has.
    """

    label: str
    view: Callable[[Any], Any]
    give: Callable[[Any, Any], Any] | None = None
    convert: str = "arrays of one kind"
    is_lazy: bool = False
    is_immutable: bool = False


class NotTaken(Exception):
    """An array that cannot be taken, or given back.

    Attributes:
        found: what it is.
        do: what to write, with ``{x}`` for the array.
    """

    def __init__(self, found: str, do: str):
        super().__init__(found)
        self.found, self.do = found, do


# (library, class, module here): whose ``kind_of`` says what is known of the class, or one derived
# from it.  Every other class is asked for protocols.
ROWS = (
    ("torch", "Tensor", "torch_tensors"),
    ("jax", "Array", "jax_arrays"),
    ("dask.array", "Array", "dask_arrays"),
    ("pyarrow", "Array", "arrow_arrays"),
    ("pyarrow", "ChunkedArray", "arrow_arrays"),
    ("pyarrow", "Scalar", "arrow_arrays"),
)
# Types of most values, which are no arrays of others.
COMMON = (np.ndarray, float, int, bool, str, type(None), tuple, list, dict, np.float64, np.float32)
MOST_CLASSES = 1024

known: dict[type, ArrayKind | None] = dict.fromkeys(COMMON)
_plain = set(COMMON)  # types of neither arrays of others nor stand-ins


def kind_of(cls: type) -> ArrayKind | None:
    """The kind of a class; None for what is no array of another library."""
    try:
        return known[cls]
    except KeyError:
        pass
    if len(known) >= MOST_CLASSES:
        known.clear()
        _plain.clear()
    found = known[cls] = _found(cls)
    if found is None and not hasattr(cls, "__opweave_traced__"):
        _plain.add(cls)
    return found


def are_plain(values: Iterable[Any]) -> bool:
    """Whether values are known to be neither arrays of other libraries nor stand-ins."""
    return _plain.issuperset(map(type, values))


def hold_foreign(values: Sequence[Any]) -> bool:
    """Whether some of these values are arrays of other libraries."""
    return not are_plain(values) and any(kind_of(type(value)) is not None for value in values)


def _found(cls: type) -> ArrayKind | None:
    for library, name, module in ROWS:
        base = getattr(sys.modules.get(library), name, None)
        if base is not None and issubclass(cls, base):
            return _asked(module, cls)
    return _asked("protocols", cls)


def _asked(module: str, cls: type) -> ArrayKind | None:
    found: ArrayKind | None = import_module(f"opweave._interchange.{module}").kind_of(cls)
    return found


def refusing(label: str, found: str, do: str) -> ArrayKind:
    """A kind none of which is taken."""

    def view(value: Any) -> Any:
        raise NotTaken(found, do)

    return ArrayKind(label, view)
