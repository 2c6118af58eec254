"""The report of a check: errors in ULP and in units of the derived bound."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opweave._html.shown import Shown
from opweave.bounds import Bound, Judgement, judge
from opweave.compiler.bounds.bounds import run_bounded
from opweave.compiler.bounds.handwritten_bounds import boundaries
from opweave.compiler.ir.graph import FunctionGraph, Output
from opweave.compiler.ir.plain_arrays import is_cupy
from opweave.compiler.ir.values import Value
from opweave.compiler.pipeline.driver import Lowered
from opweave.opcodes.errors import CheckError
from opweave.runtime.simt.guarded import Poisoning


@dataclass(frozen=True)
class Report(Shown, by="_programs.pieces:report"):
    """What a check found, a row per output.

    Attributes:
        rows: the judgements.
        relaxed: arithmetic is fast, and the bounds are for information.
        others: for other values of the user's toggles (``ow.toggle``), such as
            ``"USE_TABLE=1"``, the report with them; None where all bits are the same.
    """

    rows: tuple[Judgement, ...]
    relaxed: bool = False
    others: tuple[tuple[str, Report | None], ...] = ()

    @property
    def ok(self) -> bool:
        """Every output keeps its bound, with every value of the user's toggles."""
        own = all(row.ok for row in self.rows)
        return own and all(report.ok for _, report in self.others if report is not None)

    @property
    def max_ulp(self) -> float:
        """Largest error in units in the last place."""
        return max((row.ulp for row in self.rows), default=0.0)

    @property
    def max_bounds(self) -> float:
        """Largest error in units of the derived bound."""
        return max((row.bounds for row in self.rows), default=0.0)

    @property
    def tight(self) -> tuple[Judgement, ...]:
        """Outputs with results over half of the bound: no fault, but worth a look.

        Results within half a ULP never count.
        """
        return tuple(row for row in self.rows if row.tight)

    def __str__(self) -> str:
        lines = list(map(str, self.rows))
        if self.tight and self.ok:
            shown = ", ".join(
                f"{row.tight} of {row.elements} elements of {row.name} (up to {row.bounds:.3g})"
                for row in self.tight
            )
            lines.append(f"over half of the bound: {shown}")
        if self.relaxed:
            lines.append("fast arithmetic: the strict bound is for information")
        for name, report in self.others:
            found = ["the same bits"] if report is None else map(str, report.rows)
            lines += [f"{name}: {line}" for line in found]
        return "\n".join(lines)


def compare(bounds: Sequence[Bound], outputs: Sequence[Any], *, relaxed: bool) -> Report:
    """Judge outputs by their bounds.

    Raises:
        CheckError: an element lies outside its bound (strict arithmetic only).
    """
    rows = tuple(judge(b, o) for b, o in zip(bounds, outputs, strict=True))
    report = Report(rows, relaxed)
    if not report.ok and not relaxed:
        raise CheckError(f"a result lies outside its derived bound\n{report}")
    return report


def run_judged(lowered: Lowered, call: Any, executor: Any) -> tuple[list[Bound], list[Any]]:
    """Bounds of a program's outputs, and what they are; the same of what kernels that someone
    wrote take and make, which are held to their meanings one by one."""
    graph, places = lowered.graph, boundaries(lowered.graph)
    returned = {o.id for o in graph.outputs if isinstance(o, Value)}
    more = {n: pair for n, pair in places.items() if n not in returned}
    if more:
        shown = replace(graph, outputs=(*graph.outputs, *(v for _, v in more.values())))
        boxed = graph.boxed | {*range(len(graph.outputs), len(shown.outputs))}
        shown = replace(shown, boxed=frozenset(boxed))
        schedule = replace(lowered.schedule, graph=shown)
        lowered = replace(lowered, graph=shown, schedule=schedule)
    outputs = call.run(lowered, Poisoning(executor))
    known = {
        o.id: np.asarray(a.get() if is_cupy(a) else a)
        for o, a in zip(lowered.graph.outputs, outputs, strict=True)
        if isinstance(o, Value) and o.id in places
    }
    # the instructions that NVRTC makes are of CUDA's functions, wherever they run
    kind = "cuda" if executor.mode == "ptx" else call.kind
    found = run_bounded(lowered.graph, call.on_host, call.known, call.extents, kind, known)
    names = output_names(graph)
    names |= {len(graph.outputs) + n: name for n, (name, _) in enumerate(more.values())}
    bounds = [bound_of(name, lowered.graph.outputs[n], found[n]) for n, name in names.items()]
    return bounds, [outputs[n] for n in names]


def output_names(graph: FunctionGraph) -> dict[int, str]:
    """What outputs are called, by their places: ``out``, or numbered.

    What an argument holds afterwards has its name, and no other output that lies in it has one.
    """
    stored = {w.output: w.shown(graph).removesuffix("[...]") for w in graph.written}
    held = {graph.inputs[w.place].value.id for w in graph.written}
    many = graph.returned > 1

    def lies_held(output: Output) -> bool:
        return isinstance(output, Value) and graph.base(output).id in held

    return {
        n: stored.get(n, f"out{n}" if many else "out")
        for n, output in enumerate(graph.outputs)
        if (n < graph.returned or n in stored) and not lies_held(output)
    }


def bound_of(name: str, output: Any, found: Any) -> Bound:
    """The bound of a graph's output: of a value, or of a number that the host computes."""
    if isinstance(output, Value):
        return Bound(name, output.dtype.numpy, found.value, found.error)
    return Bound(name, None, found, np.zeros(()))
