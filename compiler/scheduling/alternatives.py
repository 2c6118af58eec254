"""Choices between values by the place alone: which values are stored before a choice is made.

    np.stack([f(x), g(x)])    where(row == 1, g(x), f(x)): each row computes both, and needs one

Where the values cost more than to store and load them, kernels of their own compute them; then a
row reads the one that it needs.  The values of a chain of choices count together.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from opweave.compiler.ir.graph import FunctionGraph, Node
from opweave.compiler.ir.values import Operand, Value
from opweave.compiler.passes.index_values import places_of
from opweave.compiler.scheduling.forms import Form
from opweave.opcodes.core import Kind

# Operations for each element that may be in vain: about the cost of storing and loading a float
# on a CPU (10 GB/s, 40 Gflop/s a core).
MOST_IN_VAIN = 40
# A special function, and a read at a computed place, in operations.
SPECIAL = 16
READ = 5
# The axis along which rows go, counted from the last.
LAST = 0
# Of so many values a row of a reduction may choose one at each step, by reading all of them.
MOST_OF_A_ROW = 3


@dataclass(frozen=True)
class Alternatives:
    """The choices of a graph by the place alone.

    Attributes:
        apart: of a choice, the nodes that make its values, where these are stored first.
        many: choices of more values than a row of a reduction may choose from.
    """

    apart: dict[int, frozenset[int]]
    many: frozenset[int]

    @classmethod
    def of(cls, graph: FunctionGraph) -> Alternatives:
        return _Choices(graph).found()

    def objection(self, members: Iterable[int], form: Form) -> str:
        """Why nodes should not share a kernel of a form; "" where they may."""
        chosen = set(members)
        if form.kind != "map" and not self.many.isdisjoint(chosen):
            return "a row would read all the values that each of its steps chooses from"
        for number in self.apart.keys() & chosen:
            if not self.apart[number].isdisjoint(chosen):
                return "each row would compute what it does not choose: that is stored first"
        return ""


class _Choices:
    """The choices by the place alone, in chains."""

    def __init__(self, graph: FunctionGraph):
        self.graph = graph
        self.places = places_of(graph)
        self.producers = graph.producers()
        self.chains: dict[int, list[int]] = {}  # of a choice, all of its chain up to it
        for number, node in enumerate(graph.nodes):
            if self._is_choice(node):
                before = [self.producers.get(v.id) for v in node.values[1:]]
                links = [n for n in before if n in self.chains]
                self.chains[number] = [*(self.chains[links[-1]] if links else ()), number]

    def found(self) -> Alternatives:
        apart: dict[int, frozenset[int]] = {}
        many: set[int] = set()
        longest: dict[int, list[int]] = {}
        for chain in self.chains.values():  # later ones are longer
            longest |= dict.fromkeys(chain, chain)
        for chain in {id(c): c for c in longest.values()}.values():
            makers = {n: frozenset(self._makers(n)) for n in chain}
            if len(chain) >= MOST_OF_A_ROW:
                many |= set(chain)
            if sum(map(self._cost, frozenset().union(*makers.values()))) > MOST_IN_VAIN:
                apart |= makers
        return Alternatives(apart, frozenset(many))

    def _is_choice(self, node: Node) -> bool:
        """True where a value that is chosen does not vary along the axes of the condition.

        Nor is it the same along a row, of which it would be computed once.
        """
        if node.operator.name != "where" or not isinstance(node.operands[0], Value):
            return False
        return node.operands[0].id in self.places and any(self._chosen(node))

    def _chosen(self, node: Node) -> Iterator[Value]:
        asked = _axes(node.operands[0])
        for operand in node.operands[1:] if asked else ():
            if not isinstance(operand, Value) or operand.id in self.places:
                continue
            if asked.isdisjoint(varied := _axes(operand)) and LAST in varied:
                yield operand

    def _makers(self, number: int) -> Iterator[int]:
        """The maps that make what a choice chooses from."""
        for value in self._chosen(self.graph.nodes[number]):
            maker = self.producers.get(self.graph.base(value).id)
            if maker is not None and self.graph.nodes[maker].operator.kind is Kind.MAP:
                yield maker

    def _cost(self, number: int) -> int:
        """Operations for one element of a value, from what lies in memory on."""
        pending, seen, total = [number], {number}, 0
        while pending and total <= MOST_IN_VAIN:
            node = self.graph.nodes[pending.pop()]
            cost = node.operator.cost
            total += cost.flops + SPECIAL * cost.special + READ * len(node.tables)
            for value in node.pointwise:
                maker = self.producers.get(value.id)
                if maker is None or maker in seen or value.id in self.places:
                    continue
                if self.graph.nodes[maker].operator.kind is Kind.MAP:
                    seen.add(maker)
                    pending.append(maker)
        return total


def _axes(operand: Operand) -> set[int]:
    """The axes along which a value has more than one element, counted from the last."""
    if not isinstance(operand, Value):
        return set()
    return {d for d, extent in enumerate(reversed(operand.shape)) if extent != 1}
