"""What a loop in C raises: the errors of Python and NumPy, of the words that it leaves."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from operator import floordiv, mod, truediv
from typing import Any

import numpy as np

from opweave.compiler.lines.clibrary import CALLED, ONE
from opweave.compiler.lines.left import FAULT_WORDS
from opweave.opcodes.dtypes import C128, DType
from opweave.opcodes.errors import OutOfRangeError

# How a loop ends; an error is behind these.
DONE, NO_ROUND, RAISED, NOT_SERVED = range(4)
# What is raised, in the order of ``LoopEnd`` of loops.cuh: texts of NumPy and Python.
FAULTS: tuple[tuple[type[Exception], str], ...] = (
    (IndexError, "index {0} is out of bounds for axis {1} with size {2}"),
    (ValueError, "operands could not be broadcast together with shapes ({0},) ({1},)"),
    (ValueError, "could not broadcast input array from shape ({0},) into shape ({1},)"),
    (ValueError, "matmul: the operands have {0} and {1} elements"),
    (ZeroDivisionError, "division by zero"),
    (
        OutOfRangeError,
        "an integer of Python left 64 bits, in a loop that C runs",
    ),
    (OverflowError, "Python integer {0} out of bounds for {1}"),
    (ValueError, "zero-size array to reduction operation which has no identity"),
    (MemoryError, "no memory for an array of the loop"),
    (
        IndexError,
        "boolean index did not match indexed array along axis {0}; size of axis is {1} but size "
        "of corresponding boolean axis is {2}",
    ),
    (IndexError, "tuple index out of range"),
    (ValueError, "cannot convert float NaN to integer"),
    (
        OutOfRangeError,
        "a power that Python has as a complex number, in a loop that C runs",
    ),
    (ValueError, "cannot reshape array of size {0} into another number of elements"),
    (ValueError, "array split does not result in an equal division"),
    (np.linalg.LinAlgError, "Singular matrix"),
    (np.linalg.LinAlgError, "Matrix is not positive definite"),
    (np.linalg.LinAlgError, "Last 2 dimensions of the array must be square"),
    (ValueError, "negative dimensions are not allowed"),
    (IndexError, "list {0}"),
    (ValueError, "no item {0}"),
    (
        UnboundLocalError,
        "cannot access local variable '{0}' where it is not associated with a value",
    ),
    (OverflowError, "complex exponentiation"),
    (ValueError, "range() arg 3 must not be zero"),
)


# What Python says of a list, by what was done to it.
LIST_FAULTS = (
    "list index out of range",
    "list assignment index out of range",
    "pop from empty list",
    "pop index out of range",
)


def number_of(bits: int, kind: Any, imaginary: int = 0) -> Any:
    """A word as Python's or NumPy's number; a complex one of two."""
    if kind in (complex, C128):
        found = complex(*struct.unpack("<2d", struct.pack("<2q", bits, imaginary)))
        return found if kind is complex else np.complex128(found)
    word = struct.pack("<q", bits)
    if isinstance(kind, DType):
        return np.frombuffer(word, kind.numpy, 1)[0]
    if kind is float:
        return struct.unpack("<d", word)[0]
    return bool(word[0]) if kind is bool else bits


def _of_zero(division: int) -> str:
    """What this Python says of a division by zero."""
    operation, one = (truediv, floordiv, mod)[division % 3], (1, 1.0, 1j)[division // 3]
    try:
        operation(one, 0)
    except ZeroDivisionError as error:
        return str(error)
    raise AssertionError


def _of_nothing(function: Any) -> Exception:
    """What this Python says of the largest of no items."""
    try:
        function([])
    except ValueError as error:
        return error
    raise AssertionError


def _of_math(place: int, *words: int) -> Exception:
    """What Python raises for a function of ``math`` or a power of floats."""
    function = CALLED[place]
    numbers: list[float] = [number_of(word, float) for word in words]
    try:
        function(*numbers[: 1 if function in ONE else 2])
    except (ArithmeticError, ValueError) as error:
        return error
    raise AssertionError


def error_of(end: int, made: Any, unbound: Sequence[str]) -> Exception:
    """``unbound``: names that may be unbound where they are read."""
    if end == NOT_SERVED + 1 + len(FAULTS):
        return _noted(_of_math(*made[1:FAULT_WORDS]), made[0])
    kind, text = FAULTS[end - NOT_SERVED - 1]
    if kind is ZeroDivisionError:
        text = _of_zero(made[1])
    numbers: list[Any] = [*made[1:FAULT_WORDS]]
    if text == "list {0}":
        return _noted(kind(LIST_FAULTS[made[1]]), made[0])
    if kind is UnboundLocalError:
        numbers[0] = unbound[made[1]]
    if text == "no item {0}":
        return _noted(_of_nothing(max if made[1] else min), made[0])
    if kind is OverflowError and "{1}" in text:
        numbers[1] = np.dtype(chr(numbers[1])).name
    return _noted(kind(text.format(*numbers)), made[0])


def _noted(error: Exception, line: int) -> Exception:
    error.add_note(f"at line {line}, in a loop that opweave has compiled")
    return error
