"""Parts and properties of complex numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from opweave.compiler.arrays.complexes import conjugated, is_complex
from opweave.compiler.numpy_api.registry import numpy_function
from opweave.opcodes import OPERATORS
from opweave.opcodes.errors import UnsupportedError


@numpy_function(np.real, np.ndarray.real)
def real(val: Any) -> Any:
    """The real part: to the user a view, as by NumPy; of a real array the array itself."""
    return _part("real", val) if is_complex(val) else val


@numpy_function(np.imag, np.ndarray.imag)
def imag(val: Any) -> Any:
    """The imaginary part, likewise a view; of a real array zeros, of a real number 0."""
    if is_complex(val):
        return _part("imag", val)
    return np.zeros_like(val)[() if val.tracer.is_number(val.value) else ...]


def _part(name: str, array: Any) -> Any:
    made = array.tracer.apply(OPERATORS[name], [array])
    if array.ndim or not array.tracer.is_number(array.value):
        array.tracer.alias(array, made, lambda a, _: getattr(a, name))
        array.tracer.spaced(made)
    return made


@numpy_function(np.angle)
def angle(z: Any, deg: bool = False) -> Any:
    if is_complex(z):
        found = np.arctan2(OPERATORS["imag"](z), OPERATORS["real"](z))
    else:
        found = np.arctan2(0, z)
    return found * (180 / np.pi) if deg else found


@numpy_function(np.ndarray.conj, np.ndarray.conjugate)
def conjugate(a: Any) -> Any:
    """The conjugate; of a real array the array itself, as by NumPy."""
    return conjugated(a)


@numpy_function(np.real_if_close)
def real_if_close(a: Any, tol: float = 100) -> Any:
    if is_complex(a):
        raise UnsupportedError("real_if_close: its dtype follows from the elements")
    return np.copy(a) if a.tracer.is_number(a.value) else a  # NumPy makes an array of a number


@numpy_function(np.iscomplex)
def iscomplex(x: Any) -> Any:
    return OPERATORS["imag"](x) != 0 if is_complex(x) else _throughout(x, False)


@numpy_function(np.isreal)
def isreal(x: Any) -> Any:
    return OPERATORS["imag"](x) == 0 if is_complex(x) else _throughout(x, True)


def _throughout(x: Any, value: bool) -> Any:
    """The same truth for each element; of an array without dimensions a NumPy bool."""
    return np.full_like(x, value, dtype=np.bool_)[... if x.ndim else ()]


numpy_function(np.iscomplexobj)(lambda x: is_complex(x))
numpy_function(np.isrealobj)(lambda x: not is_complex(x))
