"""Build a graph again, node by node, with new nodes in between."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from opweave.compiler.ir.graph import FunctionGraph, Node, Output
from opweave.compiler.ir.values import Operand, Shape, Value, Where
from opweave.opcodes import OPERATORS
from opweave.opcodes.core import Kind
from opweave.opcodes.dtypes import DType

T = TypeVar("T")
# Maps that are read within each other; Python's own stack holds some four times as many.
DEEPEST = 60


def next_id(graph: FunctionGraph) -> int:
    """The first id that no value of a graph has."""
    ids = [i.value.id for i in graph.inputs] + [r.id for n in graph.nodes for r in n.results]
    return max(ids, default=-1) + 1


class Replaced(dict[int, Value]):
    """Values in the place of others, by the ids of those."""

    def now(self, item: T) -> T | Value:
        """What stands in the place of an operand or output; anything else as it is."""
        return self.get(item.id, item) if isinstance(item, Value) else item

    def renewed(self, node: Node) -> Node:
        """A node with its operands as they are now."""
        return node.reading(map(self.now, node.operands))


class Rewriter:
    """The nodes so far, which node makes each value, and how to make new ones."""

    def __init__(self, graph: FunctionGraph):
        self.source = graph
        self.nodes: list[Node] = []
        self.makers: dict[int, Node] = {}
        self.replaced = Replaced()
        self.next_id = next_id(graph)
        self._depth = 0

    def add(self, node: Node) -> None:
        """Append a node."""
        self.nodes.append(node)
        for value in node.results:
            self.makers[value.id] = node

    def forget(self, count: int) -> None:
        """Keep the first nodes only."""
        for lost in self.nodes[count:]:
            for value in lost.results:
                del self.makers[value.id]
        del self.nodes[count:]

    def rebuilt(self, outputs: Iterable[Output]) -> FunctionGraph:
        """The graph of the nodes so far, with these outputs, which may have added some."""
        found = tuple(outputs)
        return replace(self.source, nodes=tuple(self.nodes), outputs=found)

    def made(
        self, name: str, operands: Sequence[Operand], where: Where = Where(), **attrs: Any
    ) -> Operand | None:
        """The result of an operator; None where no operand has a shape."""
        row = OPERATORS[name]
        plain = tuple(sorted(attrs.items()))
        _, results = row.type_rule(tuple(o.dtype for o in operands), plain)
        likes = tuple(Value(-1, dtype, ()) for dtype in results)
        return self._node(Node(row, tuple(operands), likes, plain, where), operands, 0)

    def mapped(
        self, node: Node, value: Value, read: Callable[[Operand], Operand | None]
    ) -> Operand | None:
        """The map that makes a value, with its operands replaced by reads; a table stays.

        None where an operand cannot be read so, or where reads are within reads too deeply.
        """
        if self._depth >= DEEPEST:
            return None
        self._depth += 1
        try:
            tables = node.operator.tables
            found = [*node.operands[:tables], *(read(o) for o in node.operands[tables:])]
        finally:
            self._depth -= 1
        operands = [o for o in found if o is not None]
        if len(operands) < len(found):
            return None
        position = next(n for n, r in enumerate(node.results) if r.id == value.id)
        return self._node(node, operands, position)

    def varied(self, node: Node, dtype: DType, shape: Shape, /, **attrs: Any) -> Value:
        """The result of a node with other attributes."""
        made = self.fresh(dtype, shape)
        self.add(replace(node.varied(**attrs), results=(made,)))
        return made

    def _node(self, node: Node, operands: Sequence[Operand], position: int) -> Operand | None:
        shapes = [o.shape for o in operands if isinstance(o, Value)]
        if len(shapes) <= node.operator.tables and node.operator.kind is Kind.MAP:
            return None
        shape = node.operator.shape_rule.result(shapes, dict(node.attrs))
        made = tuple(self.fresh(r.dtype, shape) for r in node.results)
        self.add(replace(node, operands=tuple(operands), results=made))
        return made[position]

    def fresh(self, dtype: DType, shape: Shape) -> Value:
        """A value that nothing makes yet."""
        self.next_id += 1
        return Value(self.next_id - 1, dtype, shape)
