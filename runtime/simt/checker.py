"""The SIMT checker from Python: memory with guards, one launch, what it found."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from opweave.runtime.binaries.build import Binary, builder
from opweave.runtime.binaries.debuginfo import DebugInfo, Variable
from opweave.runtime.host.launcher import load_library, loaded
from opweave.runtime.process.locks import Once
from opweave.runtime.simt.fibres import LOCK, Launch, launch_of, outcome
from opweave.runtime.simt.regions import DYNAMIC_SHARED, GLOBAL, STATIC_SHARED, Memory, Region
from opweave.templates import TEMPLATES

EXAMPLES = 8
MOST_FAULTS = 2048
OF_AN_INDEX = -2  # the region of a fault of an index
WRITE = 1  # of an access, see shadow.h
COMPILERS_OWN = 0xFFFF  # owner of what the compiler put beside the variables; see shadow.h

Name = tuple[str, int]  # a region's name in messages, and its bytes


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
        text: further words for the message.
        of_index: an index outside of its array type, and the access hit no memory with a name.
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
    of_index: bool = False

    def turned(self) -> Fault:
        """The same race seen from its other access."""
        return replace(
            self,
            line=self.other_line,
            other_line=self.line,
            access=self.other_access,
            other_access=self.access,
        )


@Once
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

    def shared(self) -> tuple[Region, list[Variable], Any]:
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
        region = Region(begin, end, begin, end, STATIC_SHARED, 1, owner.ctypes.data, None)
        return region, variables, owner

    def dynamic(self, size: int) -> Region:
        """The dynamic shared memory; as with the static one, of the calling thread."""
        self.library.ow_dynamic_begin.restype = ctypes.c_void_p
        first = self.library.ow_dynamic_begin()
        high = first + self.library.ow_dynamic_bytes()
        return Region(first, first + size, first, high, DYNAMIC_SHARED, 1, None, None)

    def inner(self) -> list[tuple[Region, Name]]:
        """Regions of the library itself: its ``__device__`` variables, and constants to read."""
        named = [(v.address, v.bytes, (f"__device__ {v.name}", v.bytes)) for v in self.device]
        for begin, end in self.info.constants():
            named.append((begin, end - begin, ("the constants of the kernel", 0)))
        return [
            (Region(a, a + size, a, a + size, GLOBAL, 0, None, None), name)
            for a, size, name in ((self.base + a, size, name) for a, size, name in named)
        ]

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Give ``__device__`` variables their contents back, for the next schedule."""
        places = [(self.base + v.address, v.bytes) for v in self.device]
        before = [(a, ctypes.string_at(a, size)) for a, size in places]
        try:
            yield
        finally:
            for address, contents in before:
                ctypes.memmove(address, contents, len(contents))


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
        OutOfMemoryError: no address space for its threads, or for what is known of its memory.
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
    dynamic = kernel.dynamic(shared_bytes)
    named: list[tuple[Region, Name]] = [
        *((piece.region(), (piece.name, piece.bytes)) for piece in memory),
        (static, ("shared memory", 0)),
        (dynamic, ("dynamic shared memory", shared_bytes)),
        *kernel.inner(),
    ]
    regions = (Region * len(named))(*(region for region, _ in named))
    found = (_Raw * MOST_FAULTS)()
    args = slots([piece.address for piece in memory])
    places = (static.begin, static.end), (dynamic.begin, shared_bytes)
    launch, _kept = launch_of(kernel.library, grid, block, args, *places, schedule)
    with kernel.restored():
        count = _run(launch, regions, found, kernel.base)
    del owner  # the checker has read it till now
    names = [name for _, name in named]
    seen = (_fault(kernel, raw, names, variables) for raw in found[:count])
    return _that_mean_something([fault for fault in seen if fault is not None])


def _that_mean_something(faults: list[Fault]) -> list[Fault]:
    """Faults, without those that were first seen after a write outside of a local array.

    It changes other variables of its thread; which ones is the compiler's choice.
    """
    first = next((n for n, f in enumerate(faults) if f.of_index and f.access & WRITE), len(faults))
    return [f for n, f in enumerate(faults) if n <= first or f.of_index]


def _run(launch: Launch, regions: Any, found: Any, base: int) -> int:
    made = _library().ow_sanitize(
        ctypes.byref(launch), regions, len(regions), found, ctypes.c_void_p(base)
    )
    return outcome(made, "sanitize")


LINE = 1 << 31  # marks a program counter that is a line


def _fault(
    kernel: Checked, raw: Any, names: Sequence[Name], variables: Sequence[Variable]
) -> Fault | None:
    """What the checker saw; None for an index that no access in its line belongs to."""
    memory, offset = None, raw.offset
    line = raw.line or _line(kernel, raw.pc)
    other_line = raw.other_line or _line(kernel, raw.other_pc)
    if raw.region == OF_AN_INDEX:
        if line != other_line:
            return None
        other_line = 0
    if 0 < raw.variable <= len(variables):  # beyond: the compiler's own
        variable = variables[raw.variable - 1]
        memory = (f"shared {variable.name}", variable.bytes)
        offset -= variable.address
    elif raw.region >= 0:
        memory = names[raw.region]
    return Fault(
        raw.kind,
        line,
        other_line,
        raw.access,
        raw.other_access,
        raw.bytes,
        bool(raw.crosses),
        raw.count,
        offset,
        memory,
        tuple(zip(raw.blocks[: raw.examples], raw.threads[: raw.examples], strict=True)),
        raw.text.decode(errors="replace"),
        raw.region == OF_AN_INDEX,
    )


def _line(kernel: Checked, pc: int) -> int:
    if pc & LINE:
        return pc & (LINE - 1)
    return kernel.info.line(pc) if pc else 0
