"""The SIMT checker from Python: memory with guards, one launch, what it found."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

from opweave.compiler.names import TEMPLATES
from opweave.runtime.build import Binary, builder
from opweave.runtime.debuginfo import DebugInfo, Variable
from opweave.runtime.fibres import LOCK, Launch, launch_of
from opweave.runtime.guarded import PATTERN, span
from opweave.runtime.host import load_library, loaded

EXAMPLES = 8
MOST_FAULTS = 2048
GUARD = 1 << 20  # bytes on either side of an array; untouched pages take no memory
ALIGNMENT = 512  # of what a GPU's allocator gives
GLOBAL, STATIC_SHARED, DYNAMIC_SHARED = range(3)
COMPILERS_OWN = 0xFFFF  # owner of what the compiler put beside the variables; see shadow.h


class _Region(ctypes.Structure):
    """Memory of a kernel, as shadow.h reads it."""

    _fields_ = (
        ("begin", ctypes.c_void_p),
        ("end", ctypes.c_void_p),
        ("low", ctypes.c_void_p),
        ("high", ctypes.c_void_p),
        ("kind", ctypes.c_int),
        ("unwritten", ctypes.c_int),
        ("owner", ctypes.c_void_p),
        ("granules", ctypes.c_void_p),
    )


class _Raw(ctypes.Structure):
    """One fault, as checker.cpp writes it."""

    _fields_ = (
        *((name, ctypes.c_int) for name in (
            "kind", "line", "other_line", "access", "other_access", "bytes", "region", "crosses",
            "count", "examples")),
        ("pc", ctypes.c_uint),
        ("other_pc", ctypes.c_uint),
        ("offset", ctypes.c_longlong),
        ("blocks", ctypes.c_longlong * EXAMPLES),
        ("variable", ctypes.c_int),
        ("threads", ctypes.c_int * EXAMPLES),
        ("text", ctypes.c_char * 256),
    )  # fmt: skip


@dataclass(frozen=True)
class Fault:
    """What the checker saw at one place of a program: the fields of ``Raw`` in checker.cpp.

    Attributes:
        kind: number of the kind, in the order of ``findings.KINDS``.
        line: line of the kernel, or 0: unknown.
        other_line: line of the other access of a race, of an asynchronous copy, or of others that
            wait.
        access: bits of the access, see shadow.h.
        crosses: the threads belong to several warps.
        offset: bytes from the start of the array, or the address where there is no array.
        memory: name and size of the array or variable, or None.
        threads: (number of the block, number of the thread in it).
        text: what there is to say besides.
    """

    kind: int
    line: int
    other_line: int
    access: int
    other_access: int
    bytes: int
    crosses: bool
    count: int
    offset: int
    memory: tuple[str, int] | None
    threads: tuple[tuple[int, int], ...]
    text: str

    def turned(self) -> Fault:
        """The same race seen from its other access."""
        return replace(
            self,
            line=self.other_line,
            other_line=self.line,
            access=self.other_access,
            other_access=self.access,
        )


@dataclass
class Memory:
    """One piece of global memory between guards; arrays that overlap share one.

    Attributes:
        name: what messages call it.
        low: address of its first byte outside.
        bytes: its size.
        unwritten: nobody has written it yet.
    """

    name: str
    low: int
    bytes: int
    unwritten: bool
    address: int = 0
    buffer: Any = None

    def fill(self) -> None:
        """Copy its contents in, or a pattern where there are none."""
        total = 2 * (GUARD + ALIGNMENT) + self.bytes
        self.buffer = mmap.mmap(-1, total)
        start = np.frombuffer(self.buffer, np.uint8).ctypes.data
        first = start + GUARD
        # vectors of up to 16 bytes need no more of an address than its remainder
        self.address = first + (-first % ALIGNMENT) + self.low % 16
        if self.unwritten:
            ctypes.memset(self.address, PATTERN, self.bytes)
        elif self.bytes:
            ctypes.memmove(self.address, self.low, self.bytes)

    def region(self) -> _Region:
        end = self.address + self.bytes
        return _Region(
            self.address, end, self.address - GUARD // 2, end + GUARD // 2, GLOBAL,
            int(self.unwritten), None, None,
        )  # fmt: skip

    def write_back(self, array: np.ndarray[Any, Any]) -> None:
        """Copy what lies under an array that may be written."""
        low, count = span(array)
        first = array.__array_interface__["data"][0] + low
        if count and array.flags.writeable:
            ctypes.memmove(first, self.address + first - self.low, count)


def memories(
    arrays: Sequence[np.ndarray[Any, Any]], names: Sequence[str], unwritten: Sequence[bool]
) -> tuple[list[Memory], list[int]]:
    """Memory for arrays, and which piece each of them lies in; what overlaps lies in one."""
    spans = []
    for array in arrays:
        low, count = span(array)
        spans.append((array.__array_interface__["data"][0] + low, count))
    made: list[Memory] = []
    ends: list[int] = []
    where = [0] * len(arrays)
    for i in sorted(range(len(arrays)), key=lambda i: spans[i]):
        low, count = spans[i]
        if made and count and low < ends[-1]:
            made[-1].name += f" and {names[i]}"
            made[-1].unwritten = made[-1].unwritten and unwritten[i]
        else:
            made.append(Memory(names[i], low, count, unwritten[i]))
            ends.append(low)
        ends[-1] = max(ends[-1], low + count)
        made[-1].bytes = ends[-1] - made[-1].low
        where[i] = len(made) - 1
    return made, where


@cache
def _library() -> ctypes.CDLL:
    """The checker of templates/host/checker.cpp; kernels find its functions in the process."""
    source = (TEMPLATES / "host" / "checker.cpp").read_text()
    return load_library(builder().build_plain(source).payload, shared=True)


@dataclass
class Checked:
    """A kernel that was built to be sanitized, with what its debug information says."""

    binary: Binary
    info: DebugInfo = field(init=False)
    library: ctypes.CDLL = field(init=False)
    base: int = field(init=False)
    device: list[Variable] = field(init=False)

    @classmethod
    def of(cls, binary: Binary) -> Checked:
        """The kernel of a binary, loaded once."""
        with LOCK:  # loading runs code of the library, which asks the checker
            if binary.key not in _checked:
                _checked[binary.key] = cls(binary)
            return _checked[binary.key]

    def parameters(self, kind: Any, most: int) -> list[Any]:
        """What the kernel takes, as structures of a kind; see cuda/signature.cuh."""
        found = (kind * most)()
        with LOCK:
            count = self.library.ow_signature(found)
        return list(found[:count])

    def __post_init__(self) -> None:
        _library()
        self.info = DebugInfo(self.binary.payload)
        self.library = loaded(self.binary)
        self.base = _base_of(ctypes.cast(self.library.ow_bind, ctypes.c_void_p).value or 0)
        self.device = [
            v for v in self.info.variables(".data", ".bss") if not v.name.startswith("ow_")
        ]

    def shared(self) -> tuple[_Region, list[Variable], Any]:
        """The static shared memory, its variables by their offset, the owner of each byte.

        It is storage of the calling thread: the launch must come from the same one.
        """
        size, found = self.info.shared()
        mark = next(v.address for v in found if v.name == "ow_gap_mark")
        self.library.ow_shared_mark.restype = ctypes.c_void_p
        begin = self.library.ow_shared_mark() - mark
        variables = [v for v in found if not v.name.startswith("ow_gap_") and not v.is_guard]
        owner = np.zeros(size + 1, np.uint16)
        for number, variable in enumerate(variables, 1):
            owner[variable.address : variable.address + variable.bytes] = number
        for variable in (v for v in found if v.is_guard):
            owner[variable.address : variable.address + variable.bytes] = COMPILERS_OWN
        end = begin + size
        region = _Region(begin, end, begin, end, STATIC_SHARED, 1, owner.ctypes.data, None)
        return region, variables, owner


_checked: dict[str, Checked] = {}


def _base_of(address: int) -> int:
    """Where the library that holds an address lies."""

    class Found(ctypes.Structure):
        _fields_ = (
            ("name", ctypes.c_char_p),
            ("base", ctypes.c_void_p),
            ("symbol", ctypes.c_char_p),
            ("value", ctypes.c_void_p),
        )

    found = Found()
    ctypes.CDLL(None).dladdr(ctypes.c_void_p(address), ctypes.byref(found))
    return int(found.base or 0)


def run_sanitized(
    kernel: Checked,
    grid: Sequence[int],
    block: Sequence[int],
    slots: Callable[[Sequence[int]], bytes],
    memory: Sequence[Memory],
    schedule: int = 0,
    shared_bytes: int = 0,
) -> list[Fault]:
    """Run one kernel under one schedule and return what the checker saw.

    Args:
        slots: packs the arguments, given the addresses of the pieces of memory.
        memory: the pieces; their contents are those after the run.

    Raises:
        KeyboardInterrupt: Ctrl-C.
    """
    with LOCK:
        return _run_locked(kernel, grid, block, slots, memory, schedule, shared_bytes)


def _run_locked(
    kernel: Checked,
    grid: Sequence[int],
    block: Sequence[int],
    slots: Callable[[Sequence[int]], bytes],
    memory: Sequence[Memory],
    schedule: int,
    shared_bytes: int,
) -> list[Fault]:
    for piece in memory:
        piece.fill()
    static, variables, owner = kernel.shared()
    kernel.library.ow_dynamic_begin.restype = ctypes.c_void_p
    first = kernel.library.ow_dynamic_begin()
    dynamic = _Region(
        first, first + shared_bytes, first, first + kernel.library.ow_dynamic_bytes(),
        DYNAMIC_SHARED, 1, None, None,
    )  # fmt: skip
    # last the library itself: its variables are __device__ memory, its constants may be read
    own = [(kernel.base + v.address, v.bytes) for v in kernel.device]
    parts = [(kernel.base + a, b - a) for a, b in kernel.info.constants()]
    inner = [_Region(a, a + n, a, a + n, GLOBAL, 0, None, None) for a, n in [*own, *parts]]
    before = [(a, ctypes.string_at(a, n)) for a, n in own]
    listed = [*(piece.region() for piece in memory), static, dynamic, *inner]
    regions = (_Region * len(listed))(*listed)
    found = (_Raw * MOST_FAULTS)()
    args = slots([piece.address for piece in memory])
    places = (static.begin, static.end), (first, shared_bytes)
    launch, _kept = launch_of(kernel.library, grid, block, args, *places, schedule)
    try:
        count = _run(launch, regions, found, kernel.base)
    finally:
        for address, contents in before:  # the next schedule begins with the same
            ctypes.memmove(address, contents, len(contents))
    del owner
    names = [(piece.name, piece.bytes) for piece in memory]
    return [_fault(kernel, raw, names, variables, shared_bytes) for raw in found[:count]]


def _run(launch: Launch, regions: Any, found: Any, base: int) -> int:
    made = _library().ow_sanitize(
        ctypes.byref(launch), regions, len(regions), found, ctypes.c_void_p(base)
    )
    if made < 0:
        raise KeyboardInterrupt
    return int(made)


LINE = 1 << 31  # marks a program counter that is a line


def _fault(
    kernel: Checked,
    raw: Any,
    names: Sequence[tuple[str, int]],
    variables: Sequence[Variable],
    shared_bytes: int,
) -> Fault:
    memory: tuple[str, int] | None = None
    offset = raw.offset
    if 0 <= raw.region < len(names):
        memory = names[raw.region]
    elif raw.region == len(names):
        number = raw.variable - 1
        memory = ("shared memory", 0)
        if number >= 0:
            variable = variables[number]
            memory = (f"shared {variable.name}", variable.bytes)
            offset -= variable.address
    elif raw.region == len(names) + 1:
        memory = ("dynamic shared memory", shared_bytes)
    elif raw.region >= len(names) + 2:
        number = raw.region - len(names) - 2
        memory = ("the constants of the kernel", 0)
        if number < len(kernel.device):
            memory = (f"__device__ {kernel.device[number].name}", kernel.device[number].bytes)
    return Fault(
        raw.kind,
        raw.line or _line(kernel, raw.pc),
        raw.other_line or _line(kernel, raw.other_pc),
        raw.access,
        raw.other_access,
        raw.bytes,
        bool(raw.crosses),
        raw.count,
        offset,
        memory,
        tuple(zip(raw.blocks[: raw.examples], raw.threads[: raw.examples], strict=True)),
        raw.text.decode(errors="replace"),
    )


def _line(kernel: Checked, pc: int) -> int:
    if pc & LINE:
        return pc & (LINE - 1)
    return kernel.info.line(pc) if pc else 0
