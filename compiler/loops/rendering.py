"""The text in C of a loop that is lowered."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Mapping, Sequence

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.kernels.render import rendered
from opweave.compiler.lines.left import (
    Result,
    place_of_steps,
    places_of,
    places_of_items,
    places_of_kept,
)
from opweave.compiler.lines.values import Held, Strided
from opweave.compiler.loops.entering import Entering
from opweave.compiler.loops.given import FUNCTION, LoopCall, Parameter
from opweave.compiler.loops.order.first_rounds import FirstRounds
from opweave.compiler.loops.order.hoisting import hoisted
from opweave.compiler.loops.order.sharing import ArrayUses, Sharing
from opweave.compiler.loops.order.skewing import Skewing


class Rendering(Entering):
    """Writes a loop.

    Attributes:
        call: what it was lowered for.
        parameters: what C gets.
        first: what names hold before the loop.
        names: of Python, by the C names of arrays.
        writes: C names of arrays that are written to.
        one_base: of arrays that names get in turns, the name of the one that C knows.
    """

    call: LoopCall
    parameters: list[Parameter]
    first: dict[str, Held]
    names: dict[str, str]
    writes: set[str]
    one_base: dict[str, str]

    def rendered(self, node: ast.For | ast.While, results: Sequence[Result]) -> str:
        appended, kept = self.lists.appended.values(), self.kept.values()
        items = tuple(self.item_lists.all.values())
        lists = places_of(results, appended)
        variables = self._variables(results)
        alone = [*(a.c_name for a in appended), *(k.c_name for k in kept)]
        alone += [x.c_name for x in items]
        lines = self._shared({name: kind for kind, name in variables}, alone, results)
        is_shared = any("LOOP_SHARE(" in line for line in lines)
        cores = "all cores share some of" if is_shared else "one core runs"
        return rendered(
            "host/loop.cu.j2",
            name=FUNCTION,
            has_products=any("LoopMatrix" in line for line in self.text.lines),
            about=[f"the loop at line {node.lineno}: {cores} its rounds"],
            functions=list(self.functions),
            parameters=[(p.c_type, p.c_name) for p in self.parameters],
            variables=variables,
            guards=self._guards(),
            lines=lines,
            results=[word for result in results for word in result.words],
            lists=[(a.c_type, a.c_name, at, [s.text for s in a.sizes]) for a, at in lists],
            kept=[(k.c_name, at) for k, at in places_of_kept(results, appended, kept)],
            items=[
                (x.c_name, x.words, at, x.given)
                for x, at in places_of_items(results, appended, kept, items)
            ],
            steps=place_of_steps(results, appended, kept, items),
        )

    def _variables(self, results: Sequence[Result]) -> list[tuple[str, str]]:
        """Types and names of those that are used: others were of lines that were taken back."""
        words = {word for result in results for word in result.words}
        used = set(re.findall(r"\w+", "\n".join([*self.text.lines, *words])))
        return [(t, name) for name, t in self.text.declared.items() if name in used]

    def _guards(self) -> list[str]:
        """What must not hold of a call, or else C leaves it at once."""
        found = list(self.served.guards)
        found += [f"!{p.c_name}" for p in self.parameters if p.part == "library"]
        written = [b for b in self.names if self.one_base.get(b, b) in self.writes]
        for base in written:
            if not self.call.values[self.names[base]].flags.writeable:
                raise NoLoopError(f"{self.names[base]}, which is read-only")
        pairs = {tuple(sorted((a, b))) for a in written for b in self.names if a != b}
        return found + [f"loop_overlap({', '.join(map(self._span, p))})" for p in sorted(pairs)]

    def _span(self, base: str) -> str:
        """C text of the memory of an array."""
        array = self.first[self.names[base]]
        assert isinstance(array, Strided)
        sizes, strides = ", ".join(s.text for s in array.sizes), ", ".join(array.strides)
        return f"loop_span({base}, {{{sizes}}}, {{{strides}}})"

    def _shared(
        self, variables: Mapping[str, str], alone: Collection[str], results: Sequence[Result]
    ) -> list[str]:
        """The lines, with loops whose rounds all cores may share, and rows side by side."""
        pointers = {p.c_name: p.c_type for p in self.parameters if p.part == "pointer"}
        memory = ArrayUses(
            pointers if not self.one_base else {},
            self.writes,
            self.indexing.views,
            self._span,
            self.facts.is_below,
        )
        behind = " ".join(word for result in results for word in result.words)
        lines = FirstRounds(variables, behind).joined(self.text.lines)
        lines = Sharing(variables, alone, memory, behind).shared(lines)
        return hoisted(Skewing(variables, alone, memory).skewed(lines))
