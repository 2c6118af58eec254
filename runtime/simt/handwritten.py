"""A kernel that someone wrote by hand, built and launched for the checker."""

from __future__ import annotations

import ctypes
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opweave.compiler.ir.plain_arrays import is_array, is_cupy
from opweave.opcodes.errors import ArgumentError, CompileError
from opweave.opcodes.handwritten.launch_limits import MOST_BLOCKS, MOST_SHARED, check_block, three
from opweave.runtime.binaries.build import builder
from opweave.runtime.binaries.dialect import host_source
from opweave.runtime.calls.arrays import pointer
from opweave.runtime.simt.checked import CheckedKernel
from opweave.runtime.simt.checker import Fault, run_sanitized
from opweave.runtime.simt.fibres import LaunchConfig
from opweave.runtime.simt.guarded import aligned_empty
from opweave.runtime.simt.regions import GuardedMemory, memories

MOST_PARAMETERS = 128
KINDS = {"i": "signed integer", "u": "unsigned integer", "f": "float", "s": "struct"}
# Names of C types, by the kinds of NumPy dtypes.
OF_DTYPE = {"i": "i", "u": "u", "f": "f", "b": "u"}


@dataclass(frozen=True)
class Uninitialised:
    """An array argument that nobody has written; see ``opweave.uninitialised``."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class _Parameter(ctypes.Structure):
    """One parameter of a kernel, as cuda/signature.cuh gives it."""

    _fields_ = tuple(
        (name, ctypes.c_int) for name in ("kind", "bytes", "element_kind", "element_bytes")
    )

    def __str__(self) -> str:
        if chr(self.kind) != "p":
            return f"{KINDS[chr(self.kind)]} of {self.bytes} bytes"
        return f"pointer to {KINDS.get(chr(self.element_kind), 'struct')} of {self.element_bytes}"


class Handwritten:
    """A kernel with its arguments, ready to run under any schedule.

    Attributes:
        config: grid, block and shared memory.

    Raises:
        ArgumentError, CompileError, UnsupportedError: see ``opweave.sanitize_source``.
    """

    def __init__(
        self, source: str, kernel: str, grid: Any, block: Any, args: Any, shared_bytes: int
    ):
        blocks, threads = three("grid", grid, MOST_BLOCKS), check_block("block", block)
        if math.prod(blocks) >= 2**31:
            raise ArgumentError(f"grid={grid!r}: expected fewer than 2**31 blocks")
        if not isinstance(shared_bytes, int) or not 0 <= shared_bytes <= MOST_SHARED:
            raise ArgumentError(
                f"shared_bytes={shared_bytes!r}: expected a number of bytes up to {MOST_SHARED}"
            )
        self.config = LaunchConfig(blocks, threads, shared_bytes=shared_bytes)
        self.name = kernel
        self.checked = CheckedKernel.of(_built(source, kernel))
        if not isinstance(args, (list, tuple)):
            raise ArgumentError(f"args={args!r}: expected a list of the kernel's arguments")
        self.args = list(args)
        self.scalars: dict[int, bytes] = {}
        self.given: dict[int, np.ndarray[Any, Any]] = {}
        self.unwritten: set[int] = set()
        self._bind()

    def _bind(self) -> None:
        parameters = self.checked.parameters(_Parameter, MOST_PARAMETERS)
        if len(parameters) != len(self.args):
            raise ArgumentError(
                f"{self.name} takes {len(parameters)} arguments: found {len(self.args)}"
            )
        for number, (value, parameter) in enumerate(zip(self.args, parameters, strict=True)):
            where = f"{self.name}: argument {number} ({parameter})"
            if isinstance(value, Uninitialised):
                self.unwritten.add(number)
                value = aligned_empty(value.shape, value.dtype)
            elif is_cupy(value):
                value = value.get()
            if is_array(value) and value.ndim == 0 and chr(parameter.kind) != "p":
                value = value[()]
            if is_array(value):
                _check_array(value, parameter, where)
                self.given[number] = value
            else:
                self.scalars[number] = _scalar(value, parameter, where)

    def run(self, schedule: int) -> tuple[list[Fault], list[Any]]:
        """Run under one schedule; returns what was seen, and the arguments after the run."""
        numbers = list(self.given)
        arrays = [self.given[n] for n in numbers]
        names = [f"argument {n}" for n in numbers]
        memory, where = memories(arrays, names, [n in self.unwritten for n in numbers])
        held = {n: memory[piece] for n, piece in zip(numbers, where, strict=True)}

        def slots() -> bytes:
            addresses = {n: held[n].address_of(array) for n, array in self.given.items()}
            packed = {n: address.to_bytes(8, "little") for n, address in addresses.items()}
            return b"".join(value for _, value in sorted((packed | self.scalars).items()))

        config = replace(self.config, schedule=schedule)
        faults = run_sanitized(self.checked, config, slots, memory)
        given = ((n, self.given.get(n), value) for n, value in enumerate(self.args))
        return faults, [v if a is None else _after(held[n], a) for n, a, v in given]


def _built(source: str, kernel: str) -> Any:
    text = host_source(source, kernel)
    try:
        return builder().build(text, kernel, "host", mode="sanitize")
    except CompileError as error:
        first = next((t.strip() for t in error.log.split("\n") if "error" in t), "")
        if "deduce" in first and "auto" in first:
            first = f"it is a template or overloaded: ask for an instance, '{kernel}<float, 256>'"
        numbered = "\n".join(f"{n:4} {t}" for n, t in enumerate(source.split("\n"), 1))
        raise CompileError(
            f"the host compiler refuses {kernel}: {first}; the error's .source and .log have the "
            "rest",
            source=numbered,
            log=error.log,
        ) from None


def _check_array(array: np.ndarray[Any, Any], parameter: _Parameter, where: str) -> None:
    """Refuse an array whose elements the parameter would misread.

    Raises:
        ArgumentError: says what was expected and found.
    """
    if chr(parameter.kind) != "p":
        raise ArgumentError(f"{where}: expected a number, found an array of {array.dtype}")
    kind, element = chr(parameter.element_kind), OF_DTYPE.get(array.dtype.kind)
    dtype = array.dtype
    if dtype.hasobject or dtype.kind not in "iufbcV" or not dtype.isnative:
        raise ArgumentError(
            f"{where}: found an array of {dtype}; expected numbers in native order"
        )
    if kind == "s" or dtype in (np.uint8, np.int8) or parameter.element_bytes == 1:
        return  # a struct, or plain bytes
    integers = kind in ("i", "u") and element in ("i", "u")
    if array.dtype.itemsize != parameter.element_bytes or not (kind == element or integers):
        raise ArgumentError(
            f"{where}: found an array of {array.dtype}; convert it, or pass its .view(np.uint8) "
            "if the kernel means its bytes"
        )


def _scalar(value: Any, parameter: _Parameter, where: str) -> bytes:
    """A number as the 8 bytes of its slot.

    Raises:
        ArgumentError: it is no number, or not one of the parameter's type.
    """
    kind, size = chr(parameter.kind), parameter.bytes
    if kind == "p" and value is None:
        return bytes(8)
    if kind == "s":
        raise ArgumentError(f"{where}: structs by value cannot be passed; pass an array of them")
    if kind not in "iuf":
        raise ArgumentError(f"{where}: found {type(value).__name__}; expected an array")
    wanted = np.dtype(f"{kind}{size}")
    if isinstance(value, (bool, np.bool_)):
        value = int(value)
    if isinstance(value, np.generic) or is_array(value):
        found = np.asarray(value)[()].dtype
        if found.itemsize != size or OF_DTYPE.get(found.kind) != kind:
            raise ArgumentError(f"{where}: found a scalar of {found}; pass np.{wanted}(...)")
        return np.asarray(value).tobytes().ljust(8, b"\0")
    if not isinstance(value, int if kind in "iu" else (int, float)):
        raise ArgumentError(f"{where}: found {value!r}; expected a number of that type")
    try:
        with np.errstate(over="raise"):
            return np.array(value, wanted).tobytes().ljust(8, b"\0")
    except (OverflowError, ValueError, FloatingPointError):
        raise ArgumentError(f"{where}: {value!r} does not fit") from None


def _after(memory: GuardedMemory, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """A copy of an array as the kernel left it."""
    offset = pointer(array) - memory.low
    if not array.size:
        return array.copy()
    raw = np.frombuffer(ctypes.string_at(memory.address, memory.bytes), np.uint8)
    made = np.ndarray(array.shape, array.dtype, raw.data, offset, array.strides)
    return made.copy()
