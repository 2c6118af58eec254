"""Arrays of NumPy's and CuPy's own classes, known without an import of CuPy."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

# NumPy's classes of arrays that a kernel can take, and their names in a trace.
LIBRARIES = {np.ndarray: "numpy", np.memmap: "memmap"}


def is_plain(kind: type) -> bool:
    """True for NumPy's and CuPy's own classes of arrays, and for files in memory.

    A kernel would lose what other classes add, for example by ``__array_ufunc__``.
    """
    cupy = sys.modules.get("cupy")
    return kind in LIBRARIES or (cupy is not None and kind is cupy.ndarray)


def is_cupy(value: Any) -> bool:
    """True for a CuPy array; does not import CuPy."""
    kind = type(value)
    if kind is np.ndarray:
        return False
    cupy = sys.modules.get("cupy")
    return cupy is not None and issubclass(kind, cupy.ndarray)


def is_array(value: Any) -> bool:
    """True for an array of NumPy's or CuPy's."""
    # not isinstance: a traced array says that it is one
    return issubclass(type(value), np.ndarray) or is_cupy(value)
