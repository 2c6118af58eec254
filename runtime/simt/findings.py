"""From what the checker saw to findings: merged over schedules, with lines and sentences."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from opweave.runtime.simt.checker import Fault
from opweave.runtime.simt.fibres import LaunchConfig

# The order is that of `Fault` in fibres.h.
KINDS = (
    "shared-race", "global-race", "barrier-divergence", "out-of-bounds", "misaligned",
    "uninitialised", "warp-sync-missing", "async-wait-missing", "shuffle-mask", "stopped",
    "waits",  # no fault: a volatile read that waits for another value
)  # fmt: skip
WRITE, VOLATILE, ATOMIC, ASYNC = 1, 2, 4, 8
RACES = ("shared-race", "global-race")
MOST_THREADS_SHOWN = 4

ADVICE: Mapping[str, str] = {
    "shared-race": "put __syncthreads() between the two",
    "warp-sync-missing": "put __syncwarp() between the two: lanes of a warp do not run in step",
    "global-race": "let each thread write its own elements, use an atomic, or order the two by a "
    "barrier (one block) or by __threadfence() and an atomic flag (several)",
    "barrier-divergence": "let every thread of the block, or every lane of the mask, reach the "
    "same barrier",
    "out-of-bounds": "guard the access with the array's extent",
    "misaligned": "align the address, or access narrower elements",
    "uninitialised": "write it before it is read",
    "async-wait-missing": "wait for the copy (cp.async.wait_group, __pipeline_wait_prior) first",
    "shuffle-mask": "let exactly the lanes of the mask reach the call",
}


# The message for a launch without dynamic shared memory.
NO_DYNAMIC = "dynamic shared memory", 0
GIVE_DYNAMIC = "pass shared_bytes=BYTES"
MOST_TEXT = 160  # characters of a line that are shown


class Thread(NamedTuple):
    """A thread of a launch: index of its block and of itself in it, (x, y, z)."""

    block: tuple[int, int, int]
    thread: tuple[int, int, int]

    def __str__(self) -> str:
        return f"thread {_index(self.thread)} of block {_index(self.block)}"


@dataclass(frozen=True)
class Finding:
    """One fault of a kernel.

    Attributes:
        kind: one of ``KINDS``.
        line: 1-based line of the source; 0: it is in no line of it.
        message: what happened, and what to do.
        threads: some of the threads.
        other_line: of the two accesses of a race the one further up (``line`` is the one further
            down); the asynchronous copy; where others wait; or 0.
        kernel: name of the kernel.
        count: how often it was seen, over all schedules.
        text: the line of the source, and ``other_text`` the other one; "" where there is none.
    """

    kind: str
    line: int
    message: str
    threads: tuple[Thread, ...]
    other_line: int = 0
    kernel: str = ""
    count: int = 1
    text: str = ""
    other_text: str = ""

    def __str__(self) -> str:
        place = f"{self.kernel}:{self.line}" if self.kernel else f"line {self.line}"
        shown = "; ".join(map(str, self.threads[:MOST_THREADS_SHOWN]))
        more = ", ..." if len(self.threads) > MOST_THREADS_SHOWN else ""
        lines = {self.other_line: self.other_text, self.line: self.text}
        quoted = [f"\n{n:6} | {lines[n]}" for n in sorted(lines) if n and lines[n]]
        return f"{place}: {self.kind}: {self.message} ({shown}{more}){''.join(quoted)}"


@dataclass
class _Merged:
    first: Fault
    crosses: bool = False
    count: int = 0
    threads: dict[tuple[int, int], None] = field(default_factory=dict)


def findings(
    faults: Iterable[Fault], kernel: str, config: LaunchConfig, source: str = ""
) -> list[Finding]:
    """Merge the faults of all schedules: one finding for each kind and place of a source."""
    merged = _merged(list(faults))
    # one missing barrier shows in several arrays: in one of them it may be lanes of a warp only
    wide = {
        line
        for (kind, lines, _), m in merged.items()
        for line in lines
        if kind == "shared-race" and m.crosses
    }
    for (_, lines, _), m in merged.items():
        m.crosses |= bool(wide.intersection(lines))
    made = [_finding(key[0], m, kernel, config) for key, m in merged.items()]
    texts = source.split("\n")
    quoted = [
        replace(f, text=_text(texts, f.line), other_text=_text(texts, f.other_line)) for f in made
    ]
    return sorted(quoted, key=lambda f: (f.line, f.kind))


def _merged(faults: Sequence[Fault]) -> dict[tuple[str, tuple[int, int], str], _Merged]:
    """Faults by kind, lines and array; without what follows from others, or is meant."""
    merged: dict[tuple[str, tuple[int, int], str], _Merged] = {}
    outside = {f.line for f in faults if KINDS[f.kind] == "out-of-bounds" and not f.text}
    waits = {f.line for f in faults if KINDS[f.kind] == "waits"}
    for fault in faults:
        if KINDS[fault.kind] == "waits" or _is_flag(fault, waits):
            continue
        if fault.count == 0 or (fault.of_index and fault.line in outside):
            continue
        kind = KINDS[fault.kind]
        if kind in RACES and fault.line < fault.other_line:
            fault = fault.turned()
        place = (fault.line, fault.other_line)
        name = fault.memory[0] if fault.memory else ""
        at = merged.setdefault((kind, place, name), _Merged(fault))
        at.crosses |= fault.crosses
        at.count += fault.count
        at.threads |= dict.fromkeys(fault.threads)
    return merged


def _text(lines: Sequence[str], number: int) -> str:
    """A line of a source as it can be printed; "" where there is no such line."""
    if not 1 <= number <= len(lines):
        return ""
    text = lines[number - 1].strip().expandtabs(4)
    shown = "".join(c if c.isprintable() else "?" for c in text)
    return shown if len(shown) <= MOST_TEXT else f"{shown[:MOST_TEXT]}..."


def _is_flag(fault: Fault, waits: set[int]) -> bool:
    """True for a volatile read that waits for the volatile write that it meets: how flags work."""
    if not fault.access & fault.other_access & VOLATILE:
        return False
    reads = fault.line if not fault.access & WRITE else fault.other_line
    return reads in waits


def _finding(kind: str, m: _Merged, kernel: str, config: LaunchConfig) -> Finding:
    if kind == "shared-race" and not m.crosses:
        kind = "warp-sync-missing"
    threads = tuple(
        Thread(_unflattened(b, config.grid), _unflattened(t, config.block)) for b, t in m.threads
    )
    says = SENTENCES.get(kind, _plain)(m)
    fault = m.first
    advice = None if says.startswith("no thread can go on") else ADVICE.get(kind)
    if fault.memory == NO_DYNAMIC:
        advice = GIVE_DYNAMIC
    message = f"{says}; {advice}" if advice else says
    return Finding(kind, fault.line, message, threads, fault.other_line, kernel, m.count)


def _plain(m: _Merged) -> str:
    return m.first.text or "fault"


def _race(m: _Merged) -> str:
    f = m.first
    here, there = _verb(f.access), _verb(f.other_access, past=True)
    where = _place(f)
    other = "the same line" if f.line == f.other_line else f"line {f.other_line}"
    return f"{here} {where} that {other} {there} in another thread, with nothing to order them"


def _outside(m: _Merged) -> str:
    f = m.first
    if f.text:
        if not f.of_index:
            return f.text
        rest = "; what the kernel does after that write is not checked" if f.access & WRITE else ""
        return f"{f.text} is outside of it{rest}"
    does = f"{_verb(f.access)} {f.bytes} bytes"
    if f.memory is None:
        return f"{does} at address {f.offset:#x}, outside of every array"
    name, size = f.memory
    if f.memory == NO_DYNAMIC:
        return f"{does} of {name}, and the launch gives none"
    if f.offset < 0:
        return f"{does} {-f.offset} bytes in front of {name}"
    return f"{does} at byte {f.offset} of {name}, which has {size}"


def _unwritten(m: _Merged) -> str:
    return f"reads {_place(m.first)}, which nobody has written"


def _pending(m: _Merged) -> str:
    f = m.first
    copy = f" that line {f.other_line} began" if f.other_line else ""
    return f"{_verb(f.access)} {_place(f)}, where the asynchronous copy{copy} has not landed"


SENTENCES = {
    **dict.fromkeys((*RACES, "warp-sync-missing"), _race),
    "out-of-bounds": _outside,
    "uninitialised": _unwritten,
    "async-wait-missing": _pending,
}


def _place(f: Fault) -> str:
    name = f.memory[0] if f.memory else "memory"
    return f"{f.bytes} bytes at byte {f.offset} of {name}"


def _verb(access: int, *, past: bool = False) -> str:
    if access & ASYNC:
        return "copied asynchronously" if past else "copies asynchronously to"
    if access & ATOMIC:
        return "updated by an atomic" if past else "updates by an atomic"
    if access & WRITE:
        return "wrote" if past else "writes"
    return "read" if past else "reads"


def _unflattened(number: int, extents: Sequence[int]) -> tuple[int, int, int]:
    rest, x = divmod(number, extents[0])
    z, y = divmod(rest, extents[1])
    return x, y, z


def _index(index: tuple[int, int, int]) -> str:
    return ",".join(map(str, index))
