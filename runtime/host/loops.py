"""Loops of Python in C: compiled, and started on what their names hold."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Mapping, Sequence
from operator import floordiv, mod, truediv
from typing import Any

import numpy as np

from opweave.compiler.lines.clibrary import CALLED, ONE
from opweave.compiler.lines.lists import Appended, KeptName
from opweave.compiler.loops.given import (
    FAULT_WORDS,
    LARGEST_GIVEN,
    LoweredLoop,
    Parameter,
    Result,
    checked,
    computed_outside,
    place_of_steps,
    places_of,
    places_of_kept,
)
from opweave.opcodes.dtypes import BOOL, F64, I64, DType
from opweave.opcodes.errors import OutOfRangeError
from opweave.runtime.binaries.build import builder
from opweave.runtime.calls.arrays import pointer
from opweave.runtime.host.blas import product_library
from opweave.runtime.host.launcher import load_library, runtime_library
from opweave.runtime.process.locks import Once

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
)


# Numbers of Python that a word holds as NumPy's.
PYTHONS: Mapping[Any, type] = {F64: float, I64: int, BOOL: bool}
# What a name holds that is not bound.
UNBOUND = object()


class NotServedError(Exception):
    """A call that the loop was not made for."""


class HostLoop:
    """A loop in C, ready to run.

    Attributes:
        lowered: what it is.
        holds: whether what it read of globals and modules is what it was.
        steps: of all calls.
    """

    def __init__(self, lowered: LoweredLoop):
        self.lowered = lowered
        binary = builder().build_plain(lowered.source)
        self._library = load_library(binary.payload)
        self._address = ctypes.cast(self._library.loop, ctypes.c_void_p).value
        self._start, self._pack = starter(), packer(lowered.parameters)
        self.holds = checked(lowered.asked)
        self._places = tuple(places_of(lowered.results, lowered.lists))
        self._kept = tuple(places_of_kept(lowered.results, lowered.lists, lowered.kept))
        self._last = place_of_steps(lowered.results, lowered.lists, lowered.kept)
        self._words = ctypes.c_longlong * (self._last + 1)
        self.steps = 0

    def __call__(self, values: dict[str, Any]) -> tuple[Any, ...] | None:
        """Run it; what the names of its results hold afterwards, None where it had no round.

        Of names that are kept ``values`` has what they hold then, also where it raises.

        Raises:
            NotServedError: it was made for other values; nothing has happened.
            IndexError, ValueError, ZeroDivisionError, OverflowError: as the loop in Python.
        """
        made = self._words()
        given = self._pack(values)
        try:
            end = self._start(self._address, given, made)
        finally:  # a signal's handler may have raised
            for each, at in self._places:
                values[each.name].extend(_items(each, *made[at : at + each.words]))
            for name, at in self._kept:
                if made[at]:
                    values[name.name] = _kept(name, made[at : at + name.words])
        if end != DONE:
            if end == NO_ROUND:
                return None
            raise NotServedError if end == NOT_SERVED else _error(end, made)
        self.steps += made[self._last]
        results = self.lowered.results
        if not results:
            return ()
        words, linked = iter(made), self.lowered.linked
        left = [_left(r, [next(words) for _ in r.words]) for r in results]
        if linked:
            return tuple(
                values[linked[r.name]][-1] if r.name in linked else x
                for r, x in zip(results, left, strict=True)
            )
        return tuple(left)


@Once
def starter() -> Callable[[Any, bytes, Any], int]:
    """``ow_loop``, called with the interpreter's lock held: it releases the lock itself."""
    address = ctypes.c_void_p
    kind = ctypes.PYFUNCTYPE(ctypes.c_int, address, ctypes.c_char_p, address)
    return kind(("ow_loop", runtime_library()))


def packer(parameters: Sequence[Parameter]) -> Callable[[Mapping[str, Any]], bytes]:
    """A function that packs what C gets, a word each: made as text, so that it takes no time."""
    known: dict[str, Any] = {"integer": _integer, "outside": _outside, "pointer": pointer}
    if any(p.part == "library" for p in parameters):
        known["library"] = product_library()
    kinds, parts = [], []
    for n, p in enumerate(parameters):
        known |= {f"code{n}": p.code, f"type{n}": p.type}
        text = WORDS[p.part].format(name=f"values[{p.name!r}]", axis=p.axis, n=n)
        kinds.append("d" if p.c_type == "double" and p.type is float else "q")
        if p.part == "number" and isinstance(p.type, DType):
            kinds[-1], text = "8s", f"{text}.tobytes()"
        elif p.part in ("number", "outside") and p.type is int:
            text = f"integer({text})"
        parts.append(text)
    known["pack"] = struct.Struct(f"<{''.join(kinds)}").pack
    text = f"lambda values: pack({', '.join(parts)})"
    made: Callable[[Mapping[str, Any]], bytes] = eval(text, known)
    return made


# How Python finds a word.
WORDS = {
    "pointer": "pointer({name})",
    "size": "{name}.shape[{axis}]",
    "stride": "{name}.strides[{axis}] // {name}.itemsize",
    "number": "{name}",
    "outside": "outside(values, code{n}, type{n})",
    "library": "library",
}


def _integer(value: int) -> int:
    if -LARGEST_GIVEN <= value <= LARGEST_GIVEN:
        return value
    raise NotServedError


def _outside(values: Mapping[str, Any], code: Any, kind: type) -> Any:
    """What Python computes before the loop."""
    try:
        value = computed_outside(code, values)
    except Exception:  # which Python may never come to
        raise NotServedError from None
    if type(value) is not kind:
        raise NotServedError
    return value


def _left(result: Result, words: Sequence[int]) -> Any:
    """What a name holds, of its words."""
    if result.perhaps:
        return _number(words[0], result.type) if words[1] & 1 else UNBOUND
    if result.rank < 0:
        is_numpys = len(words) == 1 or words[1] & 1
        kind = result.type if is_numpys else PYTHONS[result.type]
        found = _number(words[0], kind)
        return int(found) if len(words) > 2 and words[2] & 1 else found
    return _array(result.type, *words)


def _array(kind: Any, at: int, *shape: int) -> Any:
    """An array that a loop has made; its memory is given back."""
    made = np.empty(shape, kind.numpy)
    ctypes.memmove(made.ctypes.data, at, made.nbytes)
    _free()(at)
    return made


def _kept(name: KeptName, words: Sequence[int]) -> Any:
    """What a name holds that is kept, of its words."""
    kind, rank = name.kinds[words[0] - 1]
    if rank < 0:
        return _number(words[1], kind)
    return _array(kind, words[1], *words[2 : 2 + rank])


def _items(each: Appended, at: int, count: int, *shape: int) -> list[Any]:
    """What a loop has appended to a list; its memory is given back."""
    if not count:
        return []
    kind = each.type.numpy if isinstance(each.type, DType) else each.type
    made = np.empty((count, *shape), kind)
    ctypes.memmove(made.ctypes.data, at, made.nbytes)
    _free()(at)
    if each.kind is not None:
        rows = made if isinstance(each.type, DType) else made.tolist()
        return [each.kind(row) for row in rows]
    if shape:
        return [row.copy() for row in made]
    return list(made) if isinstance(each.type, DType) else made.tolist()


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


def _of_math(place: int, *words: int) -> Exception:
    """What Python raises for a function of ``math`` or a power of floats."""
    function = CALLED[place]
    numbers: list[float] = [_number(word, float) for word in words]
    try:
        function(*numbers[: 1 if function in ONE else 2])
    except (ArithmeticError, ValueError) as error:
        return error
    raise AssertionError


def _error(end: int, made: Any) -> Exception:
    if end == NOT_SERVED + 1 + len(FAULTS):
        return _noted(_of_math(*made[1:FAULT_WORDS]), made[0])
    kind, text = FAULTS[end - NOT_SERVED - 1]
    if kind is ZeroDivisionError:
        text = _of_zero(made[1])
    numbers = [*made[1:FAULT_WORDS]]
    if kind is OverflowError:
        numbers[1] = np.dtype(chr(numbers[1])).name
    return _noted(kind(text.format(*numbers)), made[0])


def _noted(error: Exception, line: int) -> Exception:
    error.add_note(f"at line {line}, in a loop that opweave has compiled")
    return error
