"""Which pass of a kernel computes what, and what it reads in chunks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import Value
from opweave.compiler.kernels.kernel_parts import Joined, OperandLoad


@dataclass
class Needs:
    """What the passes compute, found from what is read last to what is read first.

    A value belongs to the earliest pass that reads it.

    Attributes:
        first, last: by the id of a value, the first and the last pass that reads it.
        reduced: ids of values that a reduction or scan follows from.
        nodes: of each pass, in order.
        windows: gathers that are read in chunks.
        joined: choices by the column between them.
    """

    first: dict[int, int] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)
    reduced: set[int] = field(default_factory=set)
    nodes: dict[int, list[Node]] = field(default_factory=dict)
    windows: list[OperandLoad] = field(default_factory=list)
    joined: list[Joined] = field(default_factory=list)

    @classmethod
    def of(cls, stored: Iterable[tuple[Value, int]], reduced: Iterable[tuple[Node, int]]) -> Needs:
        """Of what is stored, and reduced or scanned, each with the pass that it is in."""
        found = cls()
        for value, number in stored:
            found.read([value], number)
        for node, number in reduced:
            found.read(node.values, number, is_reduced=True)
        return found

    def read(self, values: Sequence[Value], number: int, *, is_reduced: bool = False) -> None:
        """Note that a pass reads values."""
        for value in values:
            self.first[value.id] = min(number, self.first.get(value.id, number))
            self.last[value.id] = max(number, self.last.get(value.id, number))
            if is_reduced:
                self.reduced.add(value.id)

    def pass_of(self, node: Node) -> int | None:
        """The pass that a node's results belong to; None where nothing reads them."""
        return min((self.first[r.id] for r in node.results if r.id in self.first), default=None)

    def is_reduced(self, node: Node) -> bool:
        """A reduction or scan follows from the node."""
        return any(r.id in self.reduced for r in node.results)

    def compute(self, node: Node, number: int) -> None:
        """Note that a pass computes a node, and reads its operands."""
        self.nodes.setdefault(number, []).insert(0, node)
        self.read(node.pointwise, number, is_reduced=self.is_reduced(node))
