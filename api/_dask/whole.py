"""A traced function with the extents and numbers of one call: all that its blocks follow from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
class Whole:
    """A function as a graph over whole arrays, whose extents are known.

    Attributes:
        env: extents and numbers by name.
    """

    graph: FunctionGraph
    env: Mapping[str, Any]

    def shape(self, value: Value) -> tuple[int, ...]:
        """The extents of a value."""
        return tuple(extent_of(extent, self.env) for extent in value.shape)

    def number(self, operand: Any) -> Any:
        """The value of a number, as Python computes it."""
        assert isinstance(operand, Scalar)
        return evaluate(operand.expr, self.env)

    def refused(self, node: Node, found: str, do: str) -> UnsupportedError:
        """What to raise where a node cannot be done by blocks."""
        at = f" ({node.where})" if node.where.file else ""
        return UnsupportedError(
            f"{self.graph.name}: {node.operator.name}{at}: expected what blocks of a dask array "
            f"can do, found {found}; {do}"
        )

    def along(self, node: Node, axis: int) -> UnsupportedError:
        """The same, of an axis that has to be one chunk."""
        return self.refused(
            node,
            f"axis {axis} of its operand in several chunks",
            f"rechunk that axis to one chunk: x.rechunk({{{axis}: -1}})",
        )


def act_of(node: Node) -> str:
    """How a node acts on axes, as a key of the tables."""
    if node.operator.name in BY_NAME:
        return node.operator.name
    if node.operator.tables:
        return "gather"
    return "mixes" if node.operator.mixes else BY_KIND[node.operator.kind]
