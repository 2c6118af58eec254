"""What a running value begins with: the text of an accumulate op-code, read as a number."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np

from opweave.opcodes.dtypes import DType
from opweave.opcodes.errors import DTypeError

# A literal of C, with a sign and a cast to the running type.
LITERAL = re.compile(
    r"(?:\(T\)\s*)?(-?)\s*(true|false|(?:\d[\d.]*|\.\d+)(?:[eE][-+]?\d+)?)[fFuUlL]*"
)
INFINITE = {"infinity<T>()": np.inf, "-infinity<T>()": -np.inf}
LIMITS = {"lowest<T>()": "min", "highest<T>()": "max"}


@cache
def number_of(text: str, dtype: DType) -> Any:
    """The number of ``dtype`` that a text stands for; None for a text that is not read here.

    Raises:
        DTypeError: the type has no such number.
    """
    if text in INFINITE or text in LIMITS:
        return _end(text, dtype)
    found = LITERAL.fullmatch(text)
    if found is None or dtype.is_complex:
        return None
    sign, digits = found.groups()
    if digits in ("true", "false"):
        number: Any = int(digits == "true")
    else:
        number = int(digits) if digits.isdigit() else float(digits)
    number = -number if sign else number
    if not _holds(dtype, number):
        raise DTypeError(
            f"it begins with {text}, which {dtype.numpy_name} does not hold: take another number, "
            "or give it a row for this kind of dtype"
        )
    return dtype.numpy.type(number)


def is_read(text: str) -> bool:
    """Whether ``number_of`` reads a text."""
    return text in INFINITE or text in LIMITS or LITERAL.fullmatch(text) is not None


def _end(text: str, dtype: DType) -> Any:
    """An infinity, or the limit of a type of integers."""
    if dtype.kind in "fc" and text in INFINITE:
        return dtype.numpy.type(INFINITE[text])
    if dtype.kind == "b" and text in LIMITS:
        return np.bool_(LIMITS[text] == "max")
    if dtype.kind in "iu" and text in LIMITS:
        return dtype.numpy.type(getattr(np.iinfo(dtype.numpy), LIMITS[text]))
    instead = "lowest<T>() or highest<T>()" if dtype.kind in "iub" else "infinity<T>()"
    raise DTypeError(f"it begins with {text}, which {dtype.numpy_name} has not: take {instead}")


def _holds(dtype: DType, number: Any) -> bool:
    """Whether a type has a number; floats round it, if it is not too large."""
    if dtype.is_float:
        with np.errstate(over="ignore"):
            return bool(np.isfinite(dtype.numpy.type(number)))
    if dtype.kind == "b":
        return number in (0, 1)
    limits = np.iinfo(dtype.numpy)
    return bool(number == int(number) and limits.min <= number <= limits.max)
