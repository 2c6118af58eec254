"""A traced function with the extents and numbers of one call: all that its blocks follow from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opweave.compiler.ir.expr import evaluate
from opweave.compiler.ir.graph import FunctionGraph, Node
from opweave.compiler.ir.values import Scalar, Value, extent_of
from opweave.opcodes.core import Kind
from opweave.opcodes.errors import UnsupportedError

# How an operator acts on the axes of its operands.  The tables of chunks.py, regions.py and
# local.py have a row for each of these names.
BY_NAME = ("view", "reshape", "slice", "coordinate", "full")
BY_KIND = {
    Kind.MAP: "map", Kind.REDUCE: "reduce", Kind.SCAN: "scan", Kind.CONTRACT: "product",
    Kind.LIBRARY: "library", Kind.HANDWRITTEN: "handwritten",
}  # fmt: skip


@dataclass(frozen=True)
class WholeCall:
    """A function as a graph over whole arrays, whose extents are known.

    Attributes:
        name: what the user calls it.
        env: extents and numbers by name.
    """

    name: str
    graph: FunctionGraph
    env: Mapping[str, Any]
    _shapes: dict[int, tuple[int, ...]] = field(default_factory=dict)
    _numbers: dict[int, Any] = field(default_factory=dict)  # by identities of operands

    def shape(self, value: Value) -> tuple[int, ...]:
        """The extents of a value."""
        found = self._shapes.get(value.id)
        if found is None:
            found = tuple(extent_of(extent, self.env) for extent in value.shape)
            self._shapes[value.id] = found
        return found

    def number(self, operand: Any) -> Any:
        """The value of a number, as Python computes it."""
        assert isinstance(operand, Scalar)
        if id(operand) not in self._numbers:
            self._numbers[id(operand)] = evaluate(operand.expr, self.env)
        return self._numbers[id(operand)]

    def refused(self, node: Node, found: str, do: str) -> UnsupportedError:
        """What to raise where a node cannot be done by blocks."""
        at = f" ({node.where})" if node.where.file else ""
        return UnsupportedError(
            f"{self.name}: {node.operator.name}{at}: expected what blocks of a dask array can "
            f"do, found {found}; {do}"
        )

    def along(self, node: Node, axis: int, operand: int = 0) -> UnsupportedError:
        """The same, of an axis of an operand that has to be one chunk."""
        argument = self.graph.arguments.get(node.values[operand].id)
        called, of = ("x", " of what it is made of") if argument is None else (argument.name, "")
        return self.refused(
            node,
            f"axis {axis} of {'an operand' if argument is None else called} in several chunks",
            f"rechunk that axis{of} to one chunk: {called}.rechunk({{{axis}: -1}}), or the array, "
            f"{called}.rechunk(-1), where it is moved or flattened",
        )


def act_of(node: Node) -> str:
    """How a node acts on axes, as a key of the tables."""
    if node.operator.name in BY_NAME:
        return node.operator.name
    if node.operator.tables:
        return "gather"
    return "mixes" if node.operator.mixes else BY_KIND[node.operator.kind]
