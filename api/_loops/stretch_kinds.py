"""Kinds of values that lines take which kernels may run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from operator import add, mul
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from opweave.compiler.captures.operations import lengthening_lines, operations_in
from opweave.compiler.ir.pace import saved_by_names
from opweave.runtime.calls.arrays import layout_of

# Leaves that a stretch takes, besides arrays and numbers; all that is in them stays as it is.
BY_VALUE = (bool, str, type(None), np.bool_, np.str_, np.bytes_)
BY_OBJECT = (ModuleType, type, np.dtype, np.ufunc)
# Of an extent, what is as steady: with some more or fewer elements, halves, doubles.
STEPS: tuple[Callable[[int], int], ...] = (
    *(partial(add, n) for n in (-2, -1, 0, 1, 2)), partial(mul, 2), lambda n: n // 2,
)  # fmt: skip
# Extents below this are.
MOST_SHORT = 17


def kind_of(value: Any) -> Any:
    """A key of values that a stretch treats alike: types, layouts, extents by powers of two."""
    if type(value) is np.ndarray:
        flags, sizes = value.flags, tuple(extent.bit_length() for extent in value.shape)
        layout = "C" if flags.c_contiguous else layout_of(value)
        return value.dtype, sizes, layout, flags.aligned, flags.writeable
    if type(value) in BY_VALUE:
        return type(value), value
    if type(value) is tuple:
        return tuple, *map(kind_of, value)
    return (type(value), id(value)) if isinstance(value, BY_OBJECT) else type(value)


def is_known(value: Any) -> bool:
    """Whether it is an array, a number, a text, a type or a module, or a tuple of such."""
    if type(value) is tuple:
        return all(map(is_known, value))
    numbers = type(value) in (int, float, complex) or isinstance(value, np.generic)
    return numbers or type(value) in (np.ndarray, *BY_VALUE) or isinstance(value, BY_OBJECT)


class Extents:
    """Extents that a call begins with, and what follows from them in short steps.

    Arrays of other extents, such as what a mask selects, may have others at each call.
    """

    def __init__(self, values: Iterable[Any]):
        self._given = [v.shape if type(v) is np.ndarray else (v,) for v in values if _says(v)]
        self._steady: frozenset[int] | None = None

    def are_of(self, arrays: Iterable[Any]) -> bool:
        """Whether arrays have no others."""
        if self._steady is None:  # asked of few calls that note them
            given = {extent for shape in self._given for extent in shape}
            made = {f(extent) for extent in given for f in STEPS}
            self._steady = frozenset({*range(MOST_SHORT), *made})
        return all(self._steady.issuperset(array.shape) for array in arrays)


def _says(value: Any) -> bool:
    return type(value) is np.ndarray or type(value) is int


def most_saved(function: FunctionType, values: Sequence[Any]) -> float:
    """Seconds that kernels may save, by the names in the code and how long arrays are."""
    code = function.__code__
    names = operations_in(code)
    integers = [abs(v) for v in values if type(v) is int]
    longest = max([0, *integers, *(v.size for v in values if type(v) is np.ndarray)])
    longest **= 2 if lengthening_lines(code) else 1
    return len(names) * saved_by_names(names, 1, longest)
