"""``explain``: what was fused, why, and what it saves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from textwrap import wrap
from typing import Any, NamedTuple

from opweave._html.shown import Shown
from opweave._programs.interface import ProgramLike, RanLike, RolledLike, Run
from opweave._programs.rates import Rates, Regime
from opweave._programs.units import size
from opweave.compiler.ir.values import Extents
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.kernels.library import LibraryKernel
from opweave.compiler.kernels.structural_texts import edited
from opweave.compiler.parts.lazy import Break
from opweave.compiler.pipeline.driver import Lowered
from opweave.compiler.pipeline.specialise import symbol_extents
from opweave.compiler.scheduling.fuse import fuse
from opweave.compiler.scheduling.schedule import Decision
from opweave.compiler.scheduling.vendors import reasons
from opweave.compiler.scheduling.work import Work, work_of
from opweave.compiler.scheduling.writes import writes_of
from opweave.runtime.calls.filling import planned

# As much as a person reads at once.
COLUMNS, LINES = 100, 60


@dataclass(frozen=True)
class Explanation(Shown, by="_programs.pieces:explanation"):
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
        notes: what lines do that their author may not have meant, see ``notes.py``, and why C
            does not run a loop of Python.
        loops: C of the loops of Python that C runs; ``sources`` has them, too.
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
    loops: tuple[str, ...] = ()

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


class _Against(NamedTuple):
    """Kernels against one kernel for each operator."""

    launches_saved: int
    bytes_moved: int
    bytes_unfused: int

    @classmethod
    def of(cls, runs: Sequence[Run]) -> _Against:
        saved = moved = before = 0
        for lowered, extents in runs:
            unfused = fuse(lowered.schedule.graph, enabled=False)
            saved += len(unfused.groups) - len(lowered.schedule.groups)
            moved += sum(w.bytes for w in work_of(lowered.schedule, extents))
            before += sum(w.bytes for w in work_of(unfused, extents))
        return cls(saved, moved, before)


def explain(program: ProgramLike, call: Any) -> Explanation:
    """Explain a program for given arguments."""
    lowered = program.lowered
    extents = program.variant.extents(symbol_extents(list(call.types.values())))
    runs = [(lowered, extents)]
    against, work = _Against.of(runs), work_of(lowered.schedule, extents)
    lines = [
        f"{program.graph.name} for {program.target}: {_steps(lowered)}",
        f"memory traffic {size(against.bytes_moved)} instead of {size(against.bytes_unfused)}, "
        f"{against.launches_saved} launch(es) saved against one kernel per operator",
        *_temporaries(lowered, extents),
        *_calls(lowered, work),
        *reasons(lowered.schedule.graph, extents, lowered.device, program.fused.options.vendor),
        *map(str, writes_of(lowered.schedule)),
        str(Regime.of(work, Rates.of(lowered.device))),
    ]
    lines += [f"ejected: {path}" for path in lowered.ejected or () if path]
    if program.fused.options.fast:
        lines.append(
            "fast=True: contraction, approximate functions, no rounding to 16 bits within"
        )
    return _explained(runs, against, lines)


def explain_parts(name: str, ran: RanLike, why: Exception) -> Explanation:
    """Explain a function that ran in parts: its kernels, and the lines between them.

    ``why`` it is no whole: what it reads from outside, too.
    """
    runs = [(lowered, prepared.extents) for prepared, lowered in ran.segments]
    against, kernels = _Against.of(runs), sum(len(lowered.kernels) for lowered, _ in runs)
    stored = sum(line.nbytes for line in ran.breaks if line.ran)
    lines = [
        f"{name} runs in parts: {kernels} kernel(s), {len(ran.breaks)} line(s) between them "
        "that are not compiled",
        *counted("not compiled:", ([_broken(line)] for line in ran.breaks)),
        *([] if ran.breaks else [f"  {why}"]),
        "fuse(..., fullgraph=True) refuses such lines and says what to write instead",
        f"memory traffic of the kernels {size(against.bytes_moved)} instead of "
        f"{size(against.bytes_unfused)}, {against.launches_saved} launch(es) saved against one "
        f"kernel per operator; {size(stored)} stored for lines that are not compiled",
    ]
    return _explained(runs, against, lines, ran.breaks)


def explain_numpy(name: str, why: str) -> Explanation:
    """Explain a function that NumPy runs: it has no kernels."""
    return _explained([], _Against.of([]), [f"{name} runs by NumPy, not fused:", f"  {why}"])


def _cores(loops: Sequence[tuple[int, str]]) -> str:
    """How many loops C runs, and on how many cores."""
    shared = sum("LOOP_SHARE(" in source for _, source in loops)
    count = f"{len(loops)} loop(s)"
    return f"{count}, {shared} of them on all cores" if shared else f"{count}, on one core"


def explain_loops(name: str, rolled: RolledLike) -> Explanation:
    """Explain a function of which C runs loops, or kernels lines; NumPy runs the others."""
    loops, runs = rolled.in_c, [run for _, _, run in rolled.by_kernels]
    calls = rolled.called_fused
    places = dict.fromkeys((first, last) for first, last, _ in rolled.by_kernels)
    in_c = f"C runs {_cores(loops)}" if loops or not (runs or calls) else ""
    kernels = f"kernels run lines at {len(places)} place(s)" if runs else ""
    fused = f"{len(calls)} call(s) are fused themselves" if calls else ""
    lines = [
        f"{name}: {', '.join(filter(None, (in_c, kernels, fused)))}; NumPy runs the lines around "
        "them",
        *(f"  the loop at line {line}, see .sources[{n}]" for n, (line, _) in enumerate(loops)),
        *(f"  lines {first} to {last} by kernels" for first, last in places),
        *dict.fromkeys(f"  the call of {called} at line {line}" for line, called, _ in calls),
        *(["left to Python:"] if rolled.left else []),
        *(f"  the loop at line {line}: {why}" for line, why in rolled.left),
    ]
    made = _explained(runs, _Against.of(runs), lines)
    theirs = dict.fromkeys(text for *_, texts in calls for text in texts)
    sources = (*(source for _, source in loops), *theirs)
    return replace(made, sources=(*sources, *made.sources), loops=sources)


def explain_rounds(lines: Sequence[str], runs: Sequence[Run]) -> Explanation:
    """Explain a function whose rounds are launched on a GPU, given what is to be said of them."""
    return _explained(runs, _Against.of(runs), lines)


def _explained(
    runs: Sequence[Run], against: _Against, lines: Sequence[str], breaks: tuple[Break, ...] = ()
) -> Explanation:
    """An explanation that begins with some lines; kernels and decisions follow."""
    kernels = [kernel for lowered, _ in runs for kernel in lowered.kernels]
    decisions = [d for lowered, _ in runs for d in lowered.schedule.decisions]
    text = "\n".join([
        *lines,
        *decided("not fused:", (d for d in decisions if not d.fused)),
        *counted("kernels:", map(_kernel, kernels)),
        *decided("fused:", (d for d in decisions if d.fused)),
    ])  # fmt: skip
    return Explanation(
        tuple(k.name for k in kernels), *against, tuple(map(str, decisions)), text, breaks,
        tuple(source for lowered, _ in runs for source in lowered.sources),
    )  # fmt: skip


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


def _steps(lowered: Lowered) -> str:
    """How many kernels there are, and calls between them."""
    calls = sum(isinstance(kernel, LibraryKernel) for kernel in lowered.kernels)
    told = f", {calls} call(s) of NumPy's library" if calls else ""
    return f"{len(lowered.kernels) - calls} kernel(s){told}"


def _calls(lowered: Lowered, work: Sequence[Work]) -> list[str]:
    """A line for each call of NumPy's library: what no kernel computes, and where."""
    calls = [kernel for kernel in lowered.kernels if isinstance(kernel, LibraryKernel)]
    return [
        f"{call.row.name} ({call.node.where}) is NumPy's, between kernels: no kernel computes it; "
        f"{size(work[call.group].bytes)} in and out"
        for call in calls
    ]


def _kernel(kernel: Kernel) -> list[str]:
    """What a kernel is, its plan and its toggles."""
    lines = [f"{kernel.name}: {kernel.title[0].removeprefix('fused: ')}"]
    shared = f"; {kernel.shared_bytes} bytes of shared memory a block" * bool(kernel.shared_bytes)
    lines.append(f"{kernel.title[1]}; {kernel.extents_text}{shared}")
    if kernel.plan:
        lines.append(f"accumulation plan: {kernel.plan}")
    if kernel.toggles:
        lines.append(", ".join(f"{n}={v}" for n, v in kernel.toggles.items()))
    if changed := edited(kernel):
        lines.append(f"structural op-codes put in: {', '.join(changed)}")
    if kernel.fitted:
        lines.append(f"chosen to fit: {kernel.fitted}")
    if kernel.overridden:
        lines.append(f"not in this template: {', '.join(kernel.overridden)}")
    return lines


def _broken(line: Break) -> str:
    stored = f"; {size(line.nbytes)} are stored for it, in a launch of their own"
    return f"{line.where}: {line.what}" + stored * line.ran
