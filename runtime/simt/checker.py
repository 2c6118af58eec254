"""The SIMT checker from Python: memory with guards, one launch, what it found."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from opweave.runtime.binaries.debuginfo import Variable
from opweave.runtime.simt.checked import CheckedKernel, Name, checker_library
from opweave.runtime.simt.fibres import LOCK, Launch, LaunchConfig, launch_of, outcome
from opweave.runtime.simt.regions import GuardedMemory, Region

EXAMPLES = 8
MOST_FAULTS = 2048
OF_AN_INDEX = -2  # the region of a fault of an index
WRITE = 1  # of an access, see shadow.h


class _Raw(ctypes.Structure):
    """One fault, as checker.cpp writes it."""

    _fields_ = (
        *((name, ctypes.c_int) for name in (
            "kind", "line", "other_line", "access", "other_access", "bytes", "region", "crosses",
            "count", "examples")),
        *((name, ctypes.c_uint) for name in ("pc", "other_pc")),
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
            self, line=self.other_line, other_line=self.line,
            access=self.other_access, other_access=self.access,
        )  # fmt: skip


def run_sanitized(
    kernel: CheckedKernel,
    config: LaunchConfig,
    slots: Callable[[], bytes],
    memory: Sequence[GuardedMemory],
) -> list[Fault]:
    """Run one kernel under one schedule and return what the checker saw.

    Args:
        slots: packs the arguments, once each piece of memory has its address.
        memory: the pieces; their contents are those after the run.

    Raises:
        KeyboardInterrupt: Ctrl-C.
        OutOfMemoryError: no address space for its threads, or for what is known of its memory.
    """
    with LOCK:
        return _run_locked(kernel, config, slots, memory)


def _run_locked(
    kernel: CheckedKernel,
    config: LaunchConfig,
    slots: Callable[[], bytes],
    memory: Sequence[GuardedMemory],
) -> list[Fault]:
    for piece in memory:
        piece.fill()
    static, variables, owner = kernel.shared()
    dynamic = kernel.dynamic(config.shared_bytes)
    named: list[tuple[Region, Name]] = [
        *((piece.region(), (piece.name, piece.bytes)) for piece in memory),
        (static, ("shared memory", 0)),
        (dynamic, ("dynamic shared memory", config.shared_bytes)),
        *kernel.inner(),
    ]
    regions = (Region * len(named))(*(region for region, _ in named))
    found = (_Raw * MOST_FAULTS)()
    shared = static.begin, static.end
    launch, _kept = launch_of(kernel.library, config, slots(), shared, dynamic.begin)
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
    made = checker_library().ow_sanitize(
        ctypes.byref(launch), regions, len(regions), found, ctypes.c_void_p(base)
    )
    return outcome(made, "sanitize")


LINE = 1 << 31  # marks a program counter that is a line


def _fault(
    kernel: CheckedKernel, raw: Any, names: Sequence[Name], variables: Sequence[Variable]
) -> Fault | None:
    """What the checker saw; None for an index that no access in its line belongs to."""
    line = raw.line or _line(kernel, raw.pc)
    other_line = raw.other_line or _line(kernel, raw.other_pc)
    of_index = raw.region == OF_AN_INDEX
    if of_index and line != other_line:
        return None
    memory, offset = _memory(raw, names, variables)
    threads = zip(raw.blocks[: raw.examples], raw.threads[: raw.examples], strict=True)
    return Fault(
        raw.kind, line, 0 if of_index else other_line, raw.access, raw.other_access, raw.bytes,
        bool(raw.crosses), raw.count, offset, memory, tuple(threads),
        raw.text.decode(errors="replace"), of_index,
    )  # fmt: skip


def _memory(
    raw: Any, names: Sequence[Name], variables: Sequence[Variable]
) -> tuple[Name | None, int]:
    """Where an access went: the name of the memory, and the bytes from its start."""
    if 0 < raw.variable <= len(variables):  # beyond: the compiler's own
        variable = variables[raw.variable - 1]
        return (f"shared {variable.name}", variable.bytes), raw.offset - variable.address
    return (names[raw.region] if raw.region >= 0 else None), raw.offset


def _line(kernel: CheckedKernel, pc: int) -> int:
    if pc & LINE:
        return pc & (LINE - 1)
    return kernel.info.line(pc) if pc else 0
