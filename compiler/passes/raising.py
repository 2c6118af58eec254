"""What is copied in another order is computed in it: no temporary lies in between."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from opweave.compiler.ir.graph import FunctionGraph, Node
from opweave.compiler.ir.rewriting import Rewriter
from opweave.compiler.ir.values import Axes, Operand, Value
from opweave.compiler.passes.views import composed, is_identity
from opweave.opcodes import OPERATORS
from opweave.opcodes.core import Kind
from opweave.opcodes.shapes import viewed_shape

# Arrays of all elements that a kernel may read in another order: each takes a tile of its own.
MOST_READ = 4


def raise_views(graph: FunctionGraph) -> FunctionGraph:
    """Move the view that is copied from the result of maps to the arguments that they read.

    y = copy((f(x) + b).T)  ->  y = copy(f(x.T) + b[:, None])

    Only where nothing else reads the view, or what the maps make, and where they end at
    arguments; the graph itself where there is no such copy.  It has no nodes that nobody reads.
    """
    return _Raising(graph).graph()


@dataclass
class _Chain:
    """The maps that make a value, by their places in the graph, and the arguments they read."""

    maps: set[int] = field(default_factory=set)
    read: set[Value] = field(default_factory=set)


class _Raising(Rewriter):
    """The nodes so far."""

    def __init__(self, graph: FunctionGraph):
        super().__init__(graph)
        self.producers = graph.producers()
        self.outputs = {o.id for o in graph.outputs if isinstance(o, Value)}

    def graph(self) -> FunctionGraph:
        for index, node in enumerate(self.source.nodes):
            found = self._raised(index, node) if node.operator.name == "copy" else None
            self.add(node if found is None else node.reading([found]))
        grown = len(self.nodes) > len(self.source.nodes)
        return self.rebuilt(self.source.outputs) if grown else self.source

    def _raised(self, index: int, node: Node) -> Value | None:
        """What the copy reads then; None where it reads what it did."""
        place = self.producers.get(node.values[0].id)
        view = None if place is None else self.source.nodes[place]
        if place is None or view is None or view.operator.name != "view":
            return None
        (base,), axes = view.values, view.attr("axes")
        seen = view.result.id
        is_alone = seen not in self.outputs and self.source.users[seen] == [index]
        chain = self._chain(base, {index, place}) if is_alone and _turns(axes) else None
        if chain is None:
            return None
        made: dict[int, Value] = {}
        for number in sorted(chain.maps):
            self._add_turned(self.source.nodes[number], made, axes, len(base.shape))
        return made[base.id]

    def _chain(self, base: Value, readers: set[int]) -> _Chain | None:
        """The maps behind a value that nothing but ``readers`` reads; None for anything else."""
        chain, pending = _Chain(), [base]
        while pending:
            value = pending.pop()
            if self.source.base(value).id in self.source.arguments:
                chain.read.add(value)
                continue
            maker = self.producers[value.id]
            if not _is_plain(self.source.nodes[maker]):
                return None
            if maker not in chain.maps:
                chain.maps.add(maker)
                pending += self.source.nodes[maker].values
        results = [r.id for n in chain.maps for r in self.source.nodes[n].results]
        users = {user for r in results for user in self.source.users.get(r, ())}
        whole = sum(value.shape == base.shape for value in chain.read)
        is_alone = users <= readers | chain.maps and self.outputs.isdisjoint(results)
        return chain if chain.maps and is_alone and whole <= MOST_READ else None

    def _add_turned(self, node: Node, made: dict[int, Value], axes: Axes, rank: int) -> None:
        """A map of what the view makes of its operands."""
        operands = [self._turned(o, made, axes, rank, node) for o in node.operands]
        results = []
        for old in node.results:
            wanted = _trailing(axes, rank - len(old.shape))
            new = self.fresh(old.dtype, viewed_shape([old.shape], {"axes": wanted}))
            made[old.id] = new
            results.append(new)
        self.add(replace(node, operands=tuple(operands), results=tuple(results)))

    def _turned(
        self, operand: Operand, made: dict[int, Value], axes: Axes, rank: int, node: Node
    ) -> Operand:
        if not isinstance(operand, Value):
            return operand
        if operand.id in made:
            return made[operand.id]
        wanted, maker = _trailing(axes, rank - len(operand.shape)), self.makers.get(operand.id)
        if maker is not None and maker.operator.name == "view":
            (operand,), wanted = maker.values, composed(wanted, maker.attr("axes"))
        if is_identity(wanted, len(operand.shape)):
            return operand  # leading dimensions of extent 1 broadcast by themselves
        shape = viewed_shape([operand.shape], {"axes": wanted})
        viewed = self.fresh(operand.dtype, shape)
        self.add(Node(OPERATORS["view"], (operand,), (viewed,), (("axes", wanted),), node.where))
        return viewed


def _turns(axes: Axes) -> bool:
    """Whether dimensions change places."""
    named = [a for a in axes if a is not None]
    return named != sorted(named)


def _is_plain(node: Node) -> bool:
    row = node.operator
    stays = row.mixes or row.tables or row.notes_faults
    return row.kind is Kind.MAP and bool(node.values) and not stays


def _trailing(axes: Axes, lead: int) -> Axes:
    """The axes of a view of an operand that lacks the first dimensions."""
    found = [None if a is None or a < lead else a - lead for a in axes]
    while found and found[0] is None:
        del found[0]
    return tuple(found)
