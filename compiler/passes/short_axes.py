"""Places along a short last axis: what is read there is a choice between slices.

    np.concatenate([x, y], axis=1), of two columns each
        where(c < 2, gather(x, row, c), gather(y, row, c - 2))
    ->  where(c < 2, where(c == 0, x[:, 0:1], x[:, 1:2]), where(c == 2, y[:, 0:1], y[:, 1:2]))

A loop over pixels (``compiler/scheduling/pixels.py``) has each column in a register of its own,
and of the choices nothing is left: a compiler knows every ``c``.  What a gather reads outside of
its table is discarded, see ``reads.py``; so any element may stand for it here.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opweave.compiler.ir.expr import literal
from opweave.compiler.ir.graph import FunctionGraph, Node, Output
from opweave.compiler.ir.rewriting import Rewriter
from opweave.compiler.ir.values import Operand, Scalar, Shape, Value, is_short
from opweave.opcodes import OPERATORS
from opweave.opcodes.dtypes import I32, I64


def choose_slices(graph: FunctionGraph) -> FunctionGraph:
    """Read tables of a short last axis as slices, where maps alone compute with them.

    The graph itself where there is no such table.
    """
    return _Choosing(graph).graph()


class _Choosing(Rewriter):
    """The nodes so far."""

    def __init__(self, graph: FunctionGraph):
        super().__init__(graph)
        self.mapped_only: dict[int, bool] = {}

    def graph(self) -> FunctionGraph:
        for node in reversed(self.source.nodes):
            self.mapped_only[node.result.id] = all(map(self._is_mapped, self._users(node)))
        for node in self.source.nodes:
            made = self._chosen(node) if node.tables else None
            if made is not None:
                self.replaced[node.result.id] = made
            else:
                self._add_renewed(node)
        outputs = [self.replaced.now(o) for o in self.source.outputs]
        same = all(_alike(*pair) for pair in zip(outputs, self.source.outputs, strict=True))
        return self.rebuilt(outputs) if self.replaced and same else self.source

    def _add_renewed(self, node: Node) -> None:
        """A node with its operands as they are now, of which some may have one channel for all."""
        now = self.replaced.renewed(node)
        if now is not node and node.is_map:
            shapes = [o.shape for o in now.operands if isinstance(o, Value)]
            shape = node.operator.shape_rule.result(shapes, dict(node.attrs))
            if shape != node.result.shape:
                results = tuple(self.fresh(r.dtype, shape) for r in node.results)
                self.replaced |= {r.id: v for r, v in zip(node.results, results, strict=True)}
                now = replace(now, results=results)
        self.add(now)

    def _users(self, node: Node) -> list[Node]:
        return [self.source.nodes[u] for u in self.source.users.get(node.result.id, ())]

    def _is_mapped(self, user: Node) -> bool:
        """Whether a value that a node reads leads to maps of elements, and through them alone."""
        plain = user.is_map and not user.tables and not user.operator.mixes
        shape = user.result.shape
        return plain and bool(shape) and is_short(shape[-1]) and self.mapped_only[user.result.id]

    def _chosen(self, node: Node) -> Value | None:
        """What a gather is as a choice between slices; None where it is none."""
        (table,), shape = node.tables, node.result.shape
        if len(shape) < 2 or not is_short(shape[-1]) or not self.mapped_only[node.result.id]:
            return None
        *others, last = node.operands[1:]
        places, extent = self._numbers(last), table.shape[-1]
        if len(table.shape) != len(shape) or places is None or not isinstance(extent, int):
            return None
        if not all(self._stays(d, p, shape, table) for d, p in enumerate(others)):
            return None
        inside = [n if 0 <= n < extent else None for n in places.tolist()]
        read = self.replaced.now(table)
        slices = {n: self._slice(read, n, node) for n in inside if n is not None}
        return self._choice([None if n is None else slices[n] for n in inside], node)

    def _stays(self, axis: int, place: Operand, shape: Shape, table: Value) -> bool:
        """Whether the places along another axis than the last are the result's own."""
        if table.shape[axis] == 1:
            return shape[axis] == 1
        made = self.makers.get(place.id) if isinstance(place, Value) else None
        own = (table.shape[axis], *[1] * (len(shape) - 1 - axis))
        return made is not None and made.is_coordinate and made.result.shape == own

    def _numbers(self, operand: Operand) -> Any:
        """What follows from the places along the last axis and from numbers; None for others."""
        if isinstance(operand, Scalar):
            known = operand.expr.op == "literal"
            return operand.dtype.numpy.type(operand.expr.args[0]) if known else None
        node = self.makers.get(operand.id)
        if node is None or len(operand.shape) > 1 or node.tables:
            return None
        if node.is_coordinate:
            extent = operand.shape[0]
            assert isinstance(extent, int)  # of a short axis
            return np.arange(extent, dtype=operand.dtype.numpy)
        found = [self._numbers(o) for o in node.operands]
        if not node.is_map or not found or any(f is None for f in found):
            return None
        return node.operator.numpy(*found, **dict(node.attrs))

    def _slice(self, table: Value, place: int, node: Node) -> Value:
        """An element of the last axis of a table."""
        if table.shape[-1] == 1:
            return table
        row, start = OPERATORS["slice"], Scalar(literal(place), I64)
        made = self.fresh(table.dtype, (*table.shape[:-1], 1))
        attrs = (("axis", len(table.shape) - 1), ("extent", 1), ("step", 1))
        self.add(Node(row, (table, start), (made,), attrs, node.where))
        return made

    def _choice(self, items: Sequence[Value | None], node: Node) -> Value | None:
        """The item of each place along the last axis, anything where there is none."""
        known = [(place, item) for place, item in enumerate(items) if item is not None]
        if not known:
            return None
        counted = self.fresh(I32, (len(items),))
        attrs = (("dtype", I32.numpy_name), ("shape", counted.shape))
        self.add(Node(OPERATORS["coordinate"], (), (counted,), attrs, node.where))
        *before, (_, found) = known
        for place, item in reversed(before):
            if item != found:
                here = self._made("equal", (counted, Scalar(literal(place), I32)), node)
                found = self._made("where", (here, item, found), node)
        return found

    def _made(self, name: str, operands: Sequence[Operand], node: Node) -> Value:
        made = self.made(name, operands, node.where)
        assert isinstance(made, Value)
        return made


def _alike(output: Output, other: Output) -> bool:
    if isinstance(output, Value) and isinstance(other, Value):
        return output.shape == other.shape
    return output is other
