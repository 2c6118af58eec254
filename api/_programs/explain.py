"""``explain``: what was fused, why, and what it saves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Any

from opweave._programs.interface import ProgramLike, RanLike
from opweave._programs.rates import Rates, Regime
from opweave.compiler.codegen.kernel import Kernel
from opweave.compiler.ir.values import Extents
from opweave.compiler.parts.lazy import Break
from opweave.compiler.pipeline.driver import Lowered
from opweave.compiler.pipeline.specialise import symbol_extents
from opweave.compiler.scheduling.fuse import fuse
from opweave.compiler.scheduling.schedule import Decision
from opweave.compiler.scheduling.work import Work, work_of
from opweave.runtime.host.plans import planned

# As much as a person reads at once.
COLUMNS, LINES = 100, 60


@dataclass(frozen=True)
class Explanation:
    """What ``explain`` found; prints as text of at most 60 lines, costs and refusals first.

    Attributes:
        kernels: names of the kernels.
        launches_saved: launches that fusion saves against one kernel per operator.
        bytes_moved: bytes that the kernels read and write.
        bytes_unfused: bytes that one kernel per operator would.
        decisions: one line per decision of the scheduler.
        text: all of it.
        breaks: lines that NumPy or CuPy runs, between fused parts.
        sources: CUDA C of the kernels.
        notes: what lines do that their author may not have meant, see ``notes.py``.
    """

    kernels: tuple[str, ...]
    launches_saved: int
    bytes_moved: int
    bytes_unfused: int
    decisions: tuple[str, ...]
    text: str
    breaks: tuple[Break, ...] = ()
    sources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def with_notes(self, notes: Sequence[str]) -> Explanation:
        """The same with notes, which its text ends in."""
        lines = [self.text, *(f"note: {note}" for note in notes)]
        return replace(self, text="\n".join(lines), notes=tuple(notes))

    @property
    def bytes_saved(self) -> int:
        """Memory traffic that fusion saves."""
        return self.bytes_unfused - self.bytes_moved

    def __str__(self) -> str:
        return shortened(self.text)


def explain(program: ProgramLike, call: Any) -> Explanation:
    """Explain a program for given arguments."""
    extents = program.variant.extents(symbol_extents(list(call.types.values())))
    schedule = program.lowered.schedule
    unfused = fuse(schedule.graph, enabled=False)
    work = work_of(schedule, extents)
    moved = sum(w.bytes for w in work)
    before = sum(w.bytes for w in work_of(unfused, extents))
    decisions = tuple(map(str, schedule.decisions))
    saved = len(unfused.groups) - len(schedule.groups)
    names = tuple(k.name for k in program.kernels)
    text = _text(program, extents, work, saved, before)
    sources = program.lowered.sources
    return Explanation(names, saved, moved, before, decisions, text, sources=sources)


def _text(
    program: ProgramLike, extents: Extents, work: Sequence[Work], saved: int, before: int
) -> str:
    total = sum(work, Work())
    lines = [
        f"{program.graph.name} for {program.target}: {len(program.kernels)} kernel(s)",
        f"memory traffic {size(total.bytes)} instead of {size(before)}, "
        f"{saved} launch(es) saved against one kernel per operator",
        *_temporaries(program.lowered, extents),
        str(Regime.of(work, Rates.of(program.lowered.device))),
    ]
    if program.fused.options.fast:
        lines.append(
            "fast=True: contraction, approximate functions, no rounding to 16 bits within"
        )
    decisions = program.lowered.schedule.decisions
    lines += decided("not fused:", (d for d in decisions if not d.fused))
    lines += counted("kernels:", (_kernel(view.data) for view in program.kernels))
    return "\n".join([*lines, *decided("fused:", (d for d in decisions if d.fused))])


def decided(title: str, decisions: Iterable[Decision]) -> list[str]:
    """Decisions by reason, with the pairs and lines that each concerns."""
    reasons: dict[str, Counter[str]] = {}
    for d in decisions:
        at = f" ({d.where})" if d.where.file else ""
        reasons.setdefault(d.reason, Counter())[f"{d.producer} -> {d.consumer}{at}"] += 1
    lines = [
        f"  {reason}: {', '.join(_times(pair, count) for pair, count in pairs.items())}"
        for reason, pairs in reasons.items()
    ]
    return [title, *lines] if lines else []


def counted(title: str, items: Iterable[Sequence[str]]) -> list[str]:
    """Items of some lines each; those that are alike once, with their number."""
    found = Counter(map(tuple, items))
    lines = [
        line
        for (first, *rest), count in found.items()
        for line in (f"  {_times(first, count)}", *(f"    {text}" for text in rest))
    ]
    return [title, *lines] if lines else []


def _times(text: str, count: int) -> str:
    return f"{count} x {text}" if count > 1 else text


def shortened(text: str) -> str:
    """At most ``COLUMNS`` and ``LINES``; the last line says what is left out.

    >>> shortened("a\\n  " + "word " * 25).split("\\n")[2]
    '      word word word word word word'
    """
    lines = [part for line in text.split("\n") for part in _wrapped(line)]
    if len(lines) <= LINES:
        return "\n".join(lines)
    left = len(lines) - LINES + 1
    hint = f"({left} more lines: print(explain(...).text), or --full on the command line)"
    return "\n".join([*lines[: LINES - 1], hint])


def _wrapped(line: str) -> list[str]:
    words = line.lstrip()
    indent = line[: len(line) - len(words)]
    return wrap(
        words, COLUMNS, initial_indent=indent, subsequent_indent=indent + "    ",
        break_on_hyphens=False,
    )  # fmt: skip


def _temporaries(lowered: Lowered, extents: Extents) -> list[str]:
    """The line about temporaries, which lie in memory besides arguments and results."""
    plan = planned(lowered.kernels, lowered.schedule, extents)
    if not plan.nbytes:
        return []
    over = f", {len(plan.in_place)} written over what they are computed from"
    text = f"temporaries: {size(plan.nbytes)} in an arena instead of {size(plan.naive)}"
    return [text + over * bool(plan.in_place)]


def _kernel(kernel: Kernel) -> list[str]:
    """What a kernel is, its plan and its toggles."""
    lines = [f"{kernel.name}: {kernel.title[0].removeprefix('fused: ')}"]
    shared = f"; {kernel.shared_bytes} bytes of shared memory a block" * bool(kernel.shared_bytes)
    lines.append(f"{kernel.title[1]}; {kernel.extents_text}{shared}")
    if kernel.plan:
        lines.append(f"accumulation plan: {kernel.plan}")
    if kernel.toggles:
        lines.append(", ".join(f"{n}={v}" for n, v in kernel.toggles.items()))
    if kernel.fitted:
        lines.append(f"chosen to fit: {kernel.fitted}")
    if kernel.overridden:
        lines.append(f"not in this template: {', '.join(kernel.overridden)}")
    return lines


def explain_parts(name: str, ran: RanLike, why: Exception) -> Explanation:
    """Explain a function that ran in parts: its kernels, and the lines between them.

    ``why`` it is no whole: what it reads from outside, too.
    """
    lowered = [found for _, found in ran.segments]
    kernels = [kernel for found in lowered for kernel in found.kernels]
    decisions = [d for found in lowered for d in found.schedule.decisions]
    saved = moved = before = 0
    for prepared, found in ran.segments:
        unfused = fuse(found.schedule.graph, enabled=False)
        saved += len(unfused.groups) - len(found.schedule.groups)
        moved += sum(w.bytes for w in work_of(found.schedule, prepared.extents))
        before += sum(w.bytes for w in work_of(unfused, prepared.extents))
    stored = sum(line.nbytes for line in ran.breaks if line.ran)
    text = "\n".join([
        f"{name} runs in parts: {len(kernels)} kernel(s), {len(ran.breaks)} line(s) between them "
        "that are not compiled",
        *counted("not compiled:", ([_broken(line)] for line in ran.breaks)),
        *([] if ran.breaks else [f"  {why}"]),
        "fuse(..., fullgraph=True) refuses such lines and says what to write instead",
        f"memory traffic of the kernels {size(moved)} instead of {size(before)}, {saved} "
        f"launch(es) saved against one kernel per operator; {size(stored)} stored for lines that "
        "are not compiled",
        *decided("not fused:", (d for d in decisions if not d.fused)),
        *counted("kernels:", map(_kernel, kernels)),
        *decided("fused:", (d for d in decisions if d.fused)),
    ])  # fmt: skip
    return Explanation(
        tuple(k.name for k in kernels), saved, moved, before, tuple(map(str, decisions)), text,
        ran.breaks, tuple(source for found in lowered for source in found.sources),
    )  # fmt: skip


def _broken(line: Break) -> str:
    stored = f"; {size(line.nbytes)} are stored for it, in a launch of their own"
    return f"{line.where}: {line.what}" + stored * line.ran


def size(count: int) -> str:
    """Bytes for people.

    >>> size(512), size(3 * 2**20)
    ('512 B', '3.0 MiB')
    """
    if count < 1024:
        return f"{count} B"
    power = min((int(count).bit_length() - 1) // 10, 4)
    return f"{count / (1 << 10 * power):.1f} {'KMGT'[power - 1]}iB"
