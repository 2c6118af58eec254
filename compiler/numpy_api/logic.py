"""NumPy's functions that ask what an array is, and those that tell arrays apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.compiler.arrays.complexes import is_complex
from opweave.compiler.arrays.lifting import lifted, tracer_of
from opweave.compiler.arrays.reshaping import counted_axis
from opweave.opcodes.errors import ShapeError, UnsupportedError


def _size(a: Any, axis: Any = None) -> Any:
    if axis is None:
        return a.size
    total: Any = 1
    for one in axis if isinstance(axis, tuple) else (axis,):
        total = a.shape[counted_axis("size", one, a.ndim)] * total
    return total


def _real_if_close(a: Any, tol: float = 100) -> Any:
    if is_complex(a):
        raise UnsupportedError("real_if_close: its dtype follows from the elements")
    return np.copy(a) if a.tracer.is_number(a.value) else a  # of a number an array


def same_shape(first: Any, second: Any) -> bool:
    """Whether two arrays have one shape, which is part of the guard."""
    if first.ndim != second.ndim:
        return False
    return all(bool(m == n) for m, n in zip(first.shape, second.shape, strict=True))


def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    tracer = tracer_of(a1, a2)
    first, second = lifted(tracer, a1), lifted(tracer, a2)
    if not same_shape(first, second):
        return False
    same = first == second
    if equal_nan:
        same = same | ((first != first) & (second != second))
    return tracer.truth(same.all(), "array_equal")


def array_equiv(a1: Any, a2: Any) -> Any:
    tracer = tracer_of(a1, a2)
    first, second = lifted(tracer, a1), lifted(tracer, a2)
    try:
        same = first == second
    except ShapeError:
        return False
    return tracer.truth(same.all(), "array_equiv")


def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False
) -> Any:
    """By a comparison with each of a few.

    Raises:
        UnsupportedError: of too many to become code.
    """
    tracer = tracer_of(element, test_elements)
    x, tests = lifted(tracer, element), lifted(tracer, test_elements).reshape(-1)
    count = len(tests)
    if not 1 <= count <= MOST_TESTS:
        raise UnsupportedError(f"isin: {count} elements, expected 1 to {MOST_TESTS}")
    found = x == tests[0]
    for number in range(1, count):
        found = found | (x == tests[number])
    found = ~found if invert else found
    return found if found.ndim else np.copy(found)  # an array, also of a number


# So many comparisons become code.
MOST_TESTS = 32

KINDS: dict[str, Callable[..., Any]] = {
    "shape": lambda a: a.shape,
    "ndim": lambda a: a.ndim,
    "size": _size,
    "real_if_close": _real_if_close,
    "array_equal": array_equal,
    "array_equiv": array_equiv,
    "isin": isin,
}
