"""``explain``: what was fused, why, and what it saves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

from opweave.arguments import Call
from opweave.compiler.driver import Lowered
from opweave.compiler.fuse import fuse
from opweave.compiler.ir import Extents
from opweave.compiler.kernel import Kernel
from opweave.compiler.lazy import Break
from opweave.compiler.specialise import symbol_extents
from opweave.compiler.work import Work, work_of
from opweave.regimes import Rates, Regime
from opweave.runtime.plans import planned

if TYPE_CHECKING:
    from opweave.parts import Ran
    from opweave.program import Program


@dataclass(frozen=True)
class Explanation:
    """What ``explain`` found; prints as text.

    Attributes:
        kernels: names of the kernels.
        launches_saved: launches that fusion saves against one kernel per operator.
        bytes_moved: bytes that the kernels read and write.
        bytes_unfused: bytes that one kernel per operator would.
        decisions: one line per decision of the scheduler.
        breaks: lines that NumPy or CuPy runs, between fused parts.
        sources: CUDA C of the kernels.
    """

    kernels: tuple[str, ...]
    launches_saved: int
    bytes_moved: int
    bytes_unfused: int
    decisions: tuple[str, ...]
    text: str
    breaks: tuple[Break, ...] = ()
    sources: tuple[str, ...] = ()

    @property
    def bytes_saved(self) -> int:
        return self.bytes_unfused - self.bytes_moved

    def __str__(self) -> str:
        return self.text


def explain(program: Program, call: Call) -> Explanation:
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
    text = _text(program, extents, work, saved, before, decisions)
    sources = program.lowered.sources
    return Explanation(names, saved, moved, before, decisions, text, sources=sources)


def _text(
    program: Program,
    extents: Extents,
    work: Sequence[Work],
    saved: int,
    before: int,
    decisions: tuple[str, ...],
) -> str:
    lines = [f"{program.graph.name} for {program.target}: {len(program.kernels)} kernel(s)"]
    for view in program.kernels:
        lines += _kernel(view.data)
    total = sum(work, Work())
    lines.append(
        f"memory traffic {size(total.bytes)} instead of {size(before)}, "
        f"{saved} launch(es) saved against one kernel per operator"
    )
    lines += _temporaries(program.lowered, extents)
    lines.append(str(Regime.of(work, Rates.of(program.lowered.device))))
    if program.fused.options.fast:
        lines.append(
            "fast=True: contraction, approximate functions, no rounding to 16 bits within"
        )
    return "\n".join(
        [*lines, *(["decisions:"] if decisions else []), *(f"  {d}" for d in decisions)]
    )


def _temporaries(lowered: Lowered, extents: Extents) -> list[str]:
    """What lies in memory besides arguments and results."""
    plan = planned(lowered.kernels, lowered.schedule, extents)
    if not plan.nbytes:
        return []
    over = f", {len(plan.in_place)} written over what they are computed from"
    text = f"temporaries: {size(plan.nbytes)} in an arena instead of {size(plan.naive)}"
    return [text + over * bool(plan.in_place)]


def _kernel(kernel: Kernel) -> list[str]:
    """What a kernel is, its plan and its toggles."""
    lines = [f"  {kernel.name}: {kernel.title[0].removeprefix('fused: ')}"]
    lines.append(f"    {kernel.title[1]}; {kernel.extents_text}")
    if kernel.plan:
        lines.append(f"    accumulation plan: {kernel.plan}")
    lines.append("    " + ", ".join(f"{n}={v}" for n, v in kernel.toggles.items()))
    if kernel.overridden:
        lines.append(f"    not in this template: {', '.join(kernel.overridden)}")
    return lines


def explain_parts(name: str, ran: Ran, why: Exception) -> Explanation:
    """Explain a function that ran in parts: its kernels, and the lines between them.

    ``why`` it is no whole: what it reads from outside, too.
    """
    lines: list[str] = []
    names: list[str] = []
    decisions: list[str] = []
    sources: list[str] = []
    saved = moved = before = 0
    rest = iter(ran.segments)
    for line in (*ran.breaks, None):
        if line is None or line.ran:
            for prepared, lowered in islice(rest, 1):
                lines += [text for k in lowered.kernels for text in _kernel(k)]
                names += [k.name for k in lowered.kernels]
                sources += lowered.sources
                decisions += map(str, lowered.schedule.decisions)
                unfused = fuse(lowered.schedule.graph, enabled=False)
                saved += len(unfused.groups) - len(lowered.schedule.groups)
                moved += sum(w.bytes for w in work_of(lowered.schedule, prepared.extents))
                before += sum(w.bytes for w in work_of(unfused, prepared.extents))
        if line is not None:
            stored = f"; {size(line.nbytes)} are stored for it, in a launch of their own"
            lines.append(f"  {line.where}: {line.what}{stored * line.ran}")
    head = (
        f"{name} runs in parts: {len(names)} kernel(s), {len(ran.breaks)} line(s) between them "
        "that are not compiled"
    )
    if not ran.breaks:
        lines.insert(0, f"  {why}")
    tail = [
        f"memory traffic of the kernels {size(moved)} instead of {size(before)}, {saved} "
        "launch(es) saved against one kernel per operator",
        "fuse(..., fullgraph=True) refuses such lines and says what to write instead",
    ]
    text = "\n".join([head, *lines, *tail])
    return Explanation(
        tuple(names), saved, moved, before, tuple(decisions), text, ran.breaks, tuple(sources)
    )


def size(count: int) -> str:
    """Bytes for people.

    >>> size(512), size(3 * 2**20)
    ('512 B', '3.0 MiB')
    """
    number = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if number < 1024 or unit == "GiB":
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1024
    raise AssertionError("unreachable")
