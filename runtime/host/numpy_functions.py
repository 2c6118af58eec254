"""Functions of NumPy's C interface, by their place in its table (numpy_api.py of its sources)."""

from __future__ import annotations

import ctypes

import numpy as np

EMPTY, SCALAR, SET_HANDLER = 184, 60, 304  # PyArray_Empty, PyArray_Scalar, PyDataMem_SetHandler


def numpy_function(place: int) -> int:
    """The address of one of them."""
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.argtypes = [ctypes.py_object, ctypes.c_char_p]
    pointer.restype = ctypes.c_void_p
    # a private module, of which type checkers know nothing: NumPy's own C extensions find it so
    table = pointer(np._core._multiarray_umath._ARRAY_API, None)  # type: ignore[attr-defined]
    return ctypes.c_size_t.from_address(table + place * ctypes.sizeof(ctypes.c_void_p)).value
