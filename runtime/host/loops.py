"""Loops of Python in C: compiled, and started on what their names hold."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence
from operator import floordiv, mod, truediv
from typing import Any

import numpy as np

from opweave.compiler.loops.given import (
    LARGEST_GIVEN,
    Lowered,
    Parameter,
    Result,
    computed_outside,
    multiplied,
    value_of,
)
from opweave.compiler.loops.kinds import is_served, share_memory
from opweave.compiler.scheduling.accumulation_plans import BLAS_FROM
from opweave.opcodes.dtypes import DType
from opweave.opcodes.errors import OutOfRangeError
from opweave.runtime.binaries.build import builder
from opweave.runtime.host.launcher import load_library, runtime_library
from opweave.runtime.process.locks import Once

# Words that say what went wrong.
FAULT_WORDS = 4
DONE, NO_ROUND, RAISED = range(3)
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
    (OverflowError, "Python integer {0} out of bounds"),
    (ValueError, "zero-size array to reduction operation which has no identity"),
    (MemoryError, "no memory for an array of the loop"),
)


class NotServedError(Exception):
    """A call that the loop was not made for."""


class HostLoop:
    """A loop in C, ready to run.

    Attributes:
        lowered: what it is.
    """

    def __init__(self, lowered: Lowered):
        self.lowered = lowered
        binary = builder().build_plain(lowered.source)
        self._library = load_library(binary.payload)
        self._address = ctypes.cast(self._library.loop, ctypes.c_void_p).value
        self._start = starter()

    def __call__(self, values: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """Run it; what the names of its results hold afterwards, None where it had no round.

        Raises:
            NotServedError: it was made for other values; nothing has happened.
            IndexError, ValueError, ZeroDivisionError, OverflowError: as the loop in Python.
        """
        lowered = self.lowered
        arrays = {n: v for n, v in values.items() if type(v) is np.ndarray}
        written = [arrays[name] for name in lowered.written]
        if not all(map(is_served, arrays.values())) or share_memory(written, arrays.values()):
            raise NotServedError
        if not all(array.flags.writeable for array in written):
            raise NotServedError
        given = b"".join(_word(p, values) for p in lowered.parameters)
        self._check_required(values)
        made = (ctypes.c_longlong * max(FAULT_WORDS, sum(len(r.words) for r in lowered.results)))()
        end = self._start(self._address, given, made)
        if end == NO_ROUND:
            return None
        if end != DONE:
            raise _error(end, made)
        words = iter(made)
        return tuple(_left(r, [next(words) for _ in r.words]) for r in lowered.results)

    def _check_required(self, values: Mapping[str, Any]) -> None:
        required, small = self.lowered.required, self.lowered.small
        if not required and not small:
            return
        extents = {
            p.c_name: values[p.name].shape[p.axis]
            for p in self.lowered.parameters
            if p.part == "size"
        }
        is_large = any(multiplied(sizes, extents) >= BLAS_FROM for sizes in small)
        if is_large or any(value_of(size, extents) < least for size, least in required):
            raise NotServedError


@Once
def starter() -> Callable[[Any, bytes, Any], int]:
    """``ow_loop``, called with the interpreter's lock held: it releases the lock itself."""
    address = ctypes.c_void_p
    kind = ctypes.PYFUNCTYPE(ctypes.c_int, address, ctypes.c_char_p, address)
    return kind(("ow_loop", runtime_library()))


def _word(parameter: Parameter, values: Mapping[str, Any]) -> bytes:
    """Eight bytes of what C gets."""
    if parameter.part == "outside":
        try:
            value = computed_outside(parameter.code, values)
        except ArithmeticError:
            raise NotServedError from None
        if type(value) is not parameter.type:
            raise NotServedError
        return _packed(value)
    value = values[parameter.name]
    if parameter.part == "pointer":
        return struct.pack("<q", value.__array_interface__["data"][0])
    if parameter.part == "size":
        return struct.pack("<q", value.shape[parameter.axis])
    if parameter.part == "stride":
        return struct.pack("<q", value.strides[parameter.axis] // value.itemsize)
    return _packed(value)


def _packed(value: Any) -> bytes:
    if type(value) is float:
        return struct.pack("<d", value)
    if isinstance(value, np.generic):
        return value.tobytes().ljust(8, b"\0")
    if not -LARGEST_GIVEN <= value <= LARGEST_GIVEN:
        raise NotServedError
    return struct.pack("<q", value)


def _left(result: Result, words: Sequence[int]) -> Any:
    """What a name holds, of its words."""
    if result.rank < 0:
        is_numpys = len(words) == 1 or words[1] & 1
        return _number(words[0], result.type if is_numpys else float)
    assert isinstance(result.type, DType)
    made = np.empty(tuple(words[1:]), result.type.numpy)
    ctypes.memmove(made.ctypes.data, words[0], made.nbytes)
    _free()(words[0])
    return made


def _number(bits: int, kind: Any) -> Any:
    """A word as Python's or NumPy's number."""
    word = struct.pack("<q", bits)
    if isinstance(kind, DType):
        return np.frombuffer(word, kind.numpy, 1)[0]
    if kind is float:
        return struct.unpack("<d", word)[0]
    return bool(word[0]) if kind is bool else bits


@Once
def _free() -> Callable[[int], None]:
    """``free`` of the library that loops take memory from."""
    return ctypes.CFUNCTYPE(None, ctypes.c_void_p)(("free", ctypes.CDLL(None)))


def _of_zero(division: int) -> str:
    """What this Python says of a division by zero."""
    operation = (truediv, floordiv, mod)[division % 3]
    try:
        operation(1.0, 0.0) if division > 2 else operation(1, 0)
    except ZeroDivisionError as error:
        return str(error)
    raise AssertionError


def _error(end: int, made: Any) -> Exception:
    kind, text = FAULTS[end - RAISED - 1]
    if kind is ZeroDivisionError:
        text = _of_zero(made[1])
    error = kind(text.format(*made[1:FAULT_WORDS]))
    error.add_note(f"at line {made[0]}, in a loop that opweave has compiled")
    return error
