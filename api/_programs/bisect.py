"""Bisection: the first operator of a function whose result leaves its bound.

print(fused.bisect(x, y))        # the operator, the user's line, and how far off it is

Every value of the graph becomes an output in its turn, in the order of the graph, some at a time.
Kernels that store more than before fuse otherwise, but strict arithmetic gives the same bits; so
what is found is an op-code that differs from its NumPy meaning, or arithmetic that was relaxed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from opweave._programs.interface import Arguments, ProgramLike
from opweave._programs.report import run_judged
from opweave.bounds import Judgement, judge
from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.ir.values import Value
from opweave.compiler.passes.simplify import drop_dead
from opweave.compiler.pipeline.specialise import Variant, lowered_for

# Values that are stored by one set of kernels: few enough to compile, and to stop early.
AT_A_TIME = 16


@dataclass(frozen=True)
class Culprit:
    """The first operator whose result leaves its bound.

    Attributes:
        operator: its name.
        number: its place in the graph, as in the op-code list.
        where: the user's line.
        text: the node, with the values that it takes.
        judgement: its result against the bound.
        before: how many operators come before it in the graph, whose results keep their bounds.
    """

    operator: str
    number: int
    where: str
    text: str
    judgement: Judgement
    before: int

    def __str__(self) -> str:
        return (
            f"{self.operator} ({self.where}) is the first whose result leaves its bound:\n"
            f"  {self.text}\n  {self.judgement}\n"
            f"  {self.before} operators before it keep theirs"
        )


@dataclass(frozen=True)
class Bisection:
    """What a bisection found.

    Attributes:
        operators: how many were judged, up to the culprit.
        culprit: None where every result keeps its bound.
    """

    operators: int
    culprit: Culprit | None = None

    @property
    def ok(self) -> bool:
        """Every result keeps its bound."""
        return self.culprit is None

    def __str__(self) -> str:
        if self.culprit is not None:
            return str(self.culprit)
        return f"the results of all {self.operators} operators keep their bounds"


def bisect(program: ProgramLike, call: Arguments) -> Bisection:
    """Judge the values of a program's graph in order; see ``Fused.bisect``."""
    graph = program.variant.graph
    nodes = [(n, node) for n, node in enumerate(graph.nodes) if not node.is_view]
    for start in range(0, len(nodes), AT_A_TIME):
        some = nodes[start : start + AT_A_TIME]
        values = [(n, node, r) for n, node in some for r in node.results]
        judged = _judged(program, call, graph, [value for *_, value in values])
        for (number, node, _), judgement in zip(values, judged, strict=True):
            if not judgement.ok:
                before = nodes.index((number, node))
                name, where = node.operator.name, str(node.where)
                culprit = Culprit(name, number, where, repr(node), judgement, before)
                return Bisection(before + 1, culprit)
    return Bisection(len(nodes))


def _judged(
    program: ProgramLike, call: Arguments, graph: FunctionGraph, values: Sequence[Value]
) -> list[Judgement]:
    none = frozenset[int]()
    shown = replace(graph, outputs=tuple(values), boxed=none, truths=none, written=())
    shown = drop_dead(shown)
    variant = Variant(program.variant.trace, shown, program.variant.static)
    options, found = program.fused.options, program.found
    lowered = lowered_for(variant, found.extents, found.spans, program.lowered.device, options)
    bounds, outputs = run_judged(lowered, call, program.executor(call))
    pairs = zip(bounds[: len(values)], outputs, strict=False)
    return [judge(replace(bound, name="result"), output) for bound, output in pairs]
