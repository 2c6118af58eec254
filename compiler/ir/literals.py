"""Numbers as C literals of a dtype."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from opweave.opcodes.allowed import shown
from opweave.opcodes.dtypes import BOOL, F64, DType
from opweave.opcodes.errors import DTypeError, OutOfRangeError

# Of integers by the names of their types.
SUFFIXES = {"u32": "u", "u64": "ULL", "i64": "LL"}


# Numbers below this overflow in no type of real or complex numbers of four bytes or more.
SURE = 1e38


def converted(value: Any, dtype: DType) -> Any:
    """A Python or NumPy scalar as a NumPy scalar of a dtype, as NumPy converts it.

    Raises:
        DTypeError: no number of that kind.
        OutOfRangeError: a Python integer that the dtype cannot hold.
    """
    try:
        if dtype.kind in "iu" or (
            type(value) in (int, float) and abs(value) < SURE and dtype.itemsize >= 4
        ):
            return dtype.numpy.type(value)
        with np.errstate(over="ignore"):  # this takes longer than the conversion itself
            return dtype.numpy.type(value)
    except TypeError:
        raise DTypeError(f"{shown(value)} is not a number of type {dtype.numpy_name}") from None
    except (OverflowError, ValueError):
        raise OutOfRangeError(
            f"Python integer {shown(value)} is out of bounds for {dtype.numpy_name}"
        ) from None


def c_literal(value: Any, dtype: DType) -> str:
    """Text of a number in a register of ``dtype``; negative ones in parentheses.

    >>> from opweave.opcodes.dtypes import F32, I64
    >>> c_literal(0.1, F32), c_literal(-2, I64)
    ('0.1f', '(-2LL)')
    """
    number = converted(value, dtype)
    if dtype.is_complex:
        parts = (c_literal(p, dtype.part) for p in (number.real, number.imag))
        return f"{dtype.register}{{{', '.join(parts)}}}"
    if dtype is BOOL:
        return "true" if number else "false"
    if not dtype.is_float:
        return _integer(int(number), dtype)
    as_float = float(number)
    if math.isnan(as_float):
        return f"nan<{dtype.register}>()"
    if math.isinf(as_float):
        text = f"infinity<{dtype.register}>()"
        return f"(-{text})" if as_float < 0 else text
    text = repr(as_float) if dtype is F64 else shortest(as_float)
    if not any(c in text for c in ".e"):
        text += ".0"
    text += "" if dtype is F64 else "f"
    return f"({text})" if text.startswith("-") else text


def shortest(value: float) -> str:
    """The shortest decimal that rounds to a float32, whatever ``np.set_printoptions`` says."""
    texts = (f"{value:.{digits}g}" for digits in range(1, 10))
    with np.errstate(over="ignore"):  # with a few digits the largest number may become larger
        return repr(float(next(t for t in texts if np.float32(t) == value)))


def _integer(value: int, dtype: DType) -> str:
    suffix = SUFFIXES.get(dtype.name, "")
    if dtype.kind == "u" and suffix:  # it has no sign
        return f"{value}{suffix}"
    if dtype.itemsize < 4:  # helpers deduce types from their operands
        return f"({dtype.register}){value}" if value >= 0 else f"(({dtype.register})({value}))"
    lowest = -(1 << (8 * dtype.itemsize - 1))
    if value == lowest and dtype.kind == "i":  # the number without its sign would not fit
        return f"({value + 1}{suffix} - 1)"
    return f"({value}{suffix})" if value < 0 else f"{value}{suffix}"
