"""Truth of elements, and comparison of whole arrays."""

from __future__ import annotations

from functools import reduce
from operator import or_
from typing import Any

import numpy as np

from opweave.compiler.numpy_api.common import mask_of, reduced, same_shape
from opweave.compiler.numpy_api.registry import numpy_function
from opweave.opcodes.errors import ShapeError, UnsupportedError


def _like_decision(
    self: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *,
    where: Any = True,
) -> None:  # fmt: skip
    """The signature of ``ndarray.any`` and ``ndarray.all``."""


@numpy_function(np.any, reduces=np.logical_or)
@numpy_function(np.ndarray.any, like=_like_decision)
def any_(a: Any, axis: Any = None, *, keepdims: bool = False, where: Any = True) -> Any:
    chosen = a if where is True else np.logical_and(a, mask_of(where, a))
    return reduced("any", chosen, axis, keepdims)


@numpy_function(np.all, reduces=np.logical_and)
@numpy_function(np.ndarray.all, like=_like_decision)
def all_(a: Any, axis: Any = None, *, keepdims: bool = False, where: Any = True) -> Any:
    chosen = a if where is True else np.logical_or(a, np.logical_not(mask_of(where, a)))
    return reduced("all", chosen, axis, keepdims)


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


# Most elements to compare with: each comparison is a line of code.
MOST_TESTS = 32


@numpy_function(np.isin, arrays=("element", "test_elements"), numbers=True)
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False
) -> Any:
    """One comparison with each of the ``test_elements``.

    Raises:
        UnsupportedError: more than ``MOST_TESTS`` of them, or none.
    """
    tests = test_elements.reshape(-1)
    count = len(tests)
    if not 1 <= count <= MOST_TESTS:
        raise UnsupportedError(f"isin: {count} elements, expected 1 to {MOST_TESTS}")
    found = reduce(or_, (element == tests[number] for number in range(count)))
    found = ~found if invert else found
    return found if found.ndim else np.copy(found)  # NumPy gives an array, also of a number


numpy_function(np.isposinf)(lambda x: x == np.inf)
numpy_function(np.isneginf)(lambda x: x == -np.inf)


@numpy_function(np.isclose, arrays=("a", "b"))
def isclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    if hasattr(b, "dtype"):
        b = b.astype(np.result_type(b.dtype, 1.0))  # NumPy subtracts in a type that holds both
    elif isinstance(b, int):
        b = float(b)
    close = (abs(a - b) <= atol + rtol * abs(b)) & np.isfinite(b) | (a == b)
    return close | (np.isnan(a) & np.isnan(b)) if equal_nan else close


@numpy_function(np.allclose, arrays=("a", "b"))
def allclose(
    a: Any, b: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Any:
    close = isclose(a, b, rtol, atol, equal_nan).all()
    return close.tracer.truth(close, "allclose")
