"""NumPy's functions that ask what an array is, and those that tell arrays apart."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from opweave.compiler.arrays.complexes import is_complex
from opweave.compiler.arrays.reshaping import counted_axes
from opweave.compiler.numpy_api.registry import numpy_function
from opweave.opcodes.errors import ShapeError, UnsupportedError

numpy_function(np.shape)(lambda a: a.shape)
numpy_function(np.ndim)(lambda a: a.ndim)


@numpy_function(np.size)
def size(a: Any, axis: Any = None) -> Any:
    axes = counted_axes("size", axis, a.ndim)
    return reduce(lambda total, d: a.shape[d] * total, axes, 1) if axis is not None else a.size


@numpy_function(np.real_if_close)
def real_if_close(a: Any, tol: float = 100) -> Any:
    if is_complex(a):
        raise UnsupportedError("real_if_close: its dtype follows from the elements")
    return np.copy(a) if a.tracer.is_number(a.value) else a  # of a number an array


def same_shape(first: Any, second: Any) -> bool:
    """Whether two arrays have one shape, which is part of the guard."""
    if first.ndim != second.ndim:
        return False
    return all(bool(m == n) for m, n in zip(first.shape, second.shape, strict=True))


@numpy_function(np.array_equal, arrays=("a1", "a2"), numbers=True)
def array_equal(a1: Any, a2: Any, equal_nan: bool = False) -> Any:
    if not same_shape(a1, a2):
        return False
    same = a1 == a2
    if equal_nan:
        same = same | ((a1 != a1) & (a2 != a2))
    return a1.tracer.truth(same.all(), "array_equal")


@numpy_function(np.array_equiv, arrays=("a1", "a2"), numbers=True)
def array_equiv(a1: Any, a2: Any) -> Any:
    try:
        same = a1 == a2
    except ShapeError:
        return False
    return a1.tracer.truth(same.all(), "array_equiv")


# So many comparisons become code.
MOST_TESTS = 32


@numpy_function(np.isin, arrays=("element", "test_elements"), numbers=True)
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False
) -> Any:
    """One comparison with each of a few elements.

    Raises:
        UnsupportedError: too many to become code.
    """
    tests = test_elements.reshape(-1)
    count = len(tests)
    if not 1 <= count <= MOST_TESTS:
        raise UnsupportedError(f"isin: {count} elements, expected 1 to {MOST_TESTS}")
    found = reduce(or_, (element == tests[number] for number in range(count)))
    found = ~found if invert else found
    return found if found.ndim else np.copy(found)  # NumPy gives an array, also of a number
