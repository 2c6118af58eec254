"""The standard's dtypes: kinds of them, and what two of them, or one and a number, promote to."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any

import numpy as np

from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import DTypeError, OutOfRangeError
from opweave.xp.lines import at_line

DType = np.dtype[Any]
Number = bool | int | float | complex

NAMES = {
    "b": ("bool",),
    "i": ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    "f": ("float32", "float64"),
    "c": ("complex64", "complex128"),
}
DTYPES: dict[str, DType] = {name: np.dtype(name) for names in NAMES.values() for name in names}
# The letter of a dtype's kind, here and in tables: truths, integers, real and complex floats.
LETTER: dict[DType, str] = {DTYPES[n]: letter for letter, names in NAMES.items() for n in names}
SAID = {"b": "bool", "i": "integers", "f": "real floats", "c": "complex floats"}
BOOL, FLOAT64, COMPLEX128 = DTYPES["bool"], DTYPES["float64"], DTYPES["complex128"]
INT64, UINT64 = DTYPES["int64"], DTYPES["uint64"]
COMPLEX_OF = {DTYPES["float32"]: DTYPES["complex64"], FLOAT64: COMPLEX128}
REAL_OF = {made: of for of, made in COMPLEX_OF.items()}
# The dtype that an array of numbers gets which names none.
DEFAULTS = {bool: BOOL, int: INT64, float: FLOAT64, complex: COMPLEX128}


def dtype_of(given: Any, what: str) -> DType:
    """A dtype of the standard's.

    Raises:
        DTypeError: it is none.
    """
    try:
        found: DType | None = np.dtype(given)
    except TypeError:
        found = None
    if given is None or found not in LETTER:
        raise DTypeError(
            f"{what}: expected a dtype of the standard, found {shown(given)}{at_line()}"
        )
    return found


def said(kinds: str) -> str:
    """Kinds in words, for a message."""
    return ", ".join(SAID[letter] for letter in kinds)


@cache
def promoted(first: DType, second: DType) -> DType | None:
    """What two dtypes promote to; None where the standard does not say it."""
    if first == second:
        return first
    kinds = LETTER[first] + LETTER[second]
    found: DType = np.result_type(first, second)
    is_one_kind: bool = kinds == "ii" and LETTER[found] == "i"  # uint64 and int64 are of none
    return found if is_one_kind or set(kinds) <= {"f", "c"} else None


def promoted_all(dtypes: Iterable[DType], what: str) -> DType:
    """What several dtypes promote to.

    Raises:
        DTypeError: the standard does not say it.
    """
    first, *rest = dtypes
    for dtype in rest:
        found = promoted(first, dtype)
        if found is None:
            raise DTypeError(
                f"{what}: {first} and {dtype} are of kinds that do not promote"
                f"{at_line()}: cast one by astype"
            )
        first = found
    return first


def with_number(dtype: DType, number: Number, what: str) -> DType:
    """What an array and a number of Python's promote to.

    Raises:
        DTypeError: the number is of a kind that the array's dtype cannot hold.
        OutOfRangeError: an integer that it cannot hold.
    """
    kind = type(number)
    letter = LETTER[dtype]
    if kind is complex and letter == "f":
        return COMPLEX_OF[dtype]
    if letter not in TAKES[kind]:
        raise DTypeError(
            f"{what}: {dtype} and {shown(number)}, a Python {kind.__name__}, are of kinds that "
            f"do not promote{at_line()}: cast the array by astype"
        )
    if isinstance(number, int) and letter == "i" and not _least(dtype) <= number <= _most(dtype):
        raise OutOfRangeError(f"{what}: {dtype} cannot hold {shown(number)}{at_line()}")
    return dtype


# Kinds of arrays, by the class of a number that they take as it is.
TAKES: dict[type, str] = {bool: "b", int: "ifc", float: "fc", complex: "c"}


@cache
def _least(dtype: DType) -> int:
    return int(np.iinfo(dtype).min)


@cache
def _most(dtype: DType) -> int:
    return int(np.iinfo(dtype).max)


def summed(dtype: DType) -> DType:
    """The dtype of a sum: of integers the widest that is as signed as they are."""
    if LETTER[dtype] != "i":
        return dtype
    return UINT64 if dtype.kind == "u" else INT64
