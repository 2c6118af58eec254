"""Places along a short last axis: what is read there is a choice between slices.

    np.concatenate([x, y], axis=1), of two columns each
        where(c < 2, gather(x, row, c), gather(y, row, c - 2))
    ->  where(c < 2, where(c == 0, x[:, 0:1], x[:, 1:2]), where(c == 2, y[:, 0:1], y[:, 1:2]))

What only such choices read is made column by column as well: no table of it lies in memory.

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
from opweave.compiler.ir.graph import FunctionGraph, Node
from opweave.compiler.ir.values import Operand, Scalar, Shape, Value, is_short
from opweave.compiler.passes.index_values import places_of
from opweave.compiler.passes.partial_reads import PartialReader
from opweave.opcodes import OPERATORS
from opweave.opcodes.core import Kind
from opweave.opcodes.dtypes import I32, I64


def choose_slices(graph: FunctionGraph) -> FunctionGraph:
    """Read tables of a short last axis as slices, where maps alone compute with them.

    The graph itself where there is no such table.
    """
    return _Choosing(graph).graph()


class _Choosing(PartialReader):
    """The nodes so far."""

    def __init__(self, graph: FunctionGraph):
        super().__init__(graph)
        self.by_id = {r.id: node for node in graph.nodes for r in node.results}
        self.returned = {o.id for o in graph.outputs if isinstance(o, Value)}
        self.mapped_only: dict[int, bool] = {}
        self.may_shrink: dict[int, bool] = {}  # its columns are alike, and nobody counts them
        self.of_places = places_of(graph)
        self.places: dict[int, list[int]] = {}  # by the id of a gather that becomes a choice
        self.dissolved: set[int] = set()  # what is made element by element, and never as a whole
        self.is_dissolved = False  # of the nodes that are added now
        self.counted: set[int] = set()  # what follows from places and numbers

    def graph(self) -> FunctionGraph:
        for node in reversed(self.source.nodes):
            leads = (self._is_mapped(node.result, user) for user in self._users(node))
            self.mapped_only[node.result.id] = all(leads)
            shrinks = all(self._broadcasts(node.result, user) for user in self._users(node))
            shown = any(r.id in self.returned for r in node.results)
            self.may_shrink[node.result.id] = shrinks and not shown and len(node.results) == 1
        for node in self.source.nodes:
            if node.tables and (found := self._places(node)) is not None:
                self.places[node.result.id] = found
        for node in reversed(self.source.nodes) if self.places else ():
            if self._dissolves(node):
                self.dissolved.add(node.result.id)
        for node in self.source.nodes if self.places else ():
            self._add_chosen(node)
        outputs = [self.replaced.now(o) for o in self.source.outputs]
        return self.rebuilt(outputs) if self.replaced else self.source

    def add(self, node: Node) -> None:
        super().add(node)
        made = {r.id for r in node.results}
        if node.is_map and all(v.id in self.counted for v in node.values):
            self.counted |= made
        elif not self.is_dissolved:
            self.stored |= made

    def _add_chosen(self, node: Node) -> None:
        self.is_dissolved = node.result.id in self.dissolved
        places = self.places.get(node.result.id)
        made = None if places is None else self._chosen(node, places)
        if made is None:
            self._add_renewed(node)
        else:
            self.replaced[node.result.id] = made

    def _dissolves(self, node: Node) -> bool:
        """Whether only choices read a map, of whose results each element is made once for them."""
        users = self._users(node)
        is_plain = node.is_map and node.operator.kind is Kind.MAP and len(node.results) == 1
        odd = bool(node.operator.mixes) or node.operator.notes_faults
        reads = bool(node.tables) and node.result.id not in self.places
        if not is_plain or odd or reads or not users or node.result.id in self.returned:
            return False
        shape = node.result.shape
        return (
            bool(shape)
            and is_short(shape[-1])
            and all(
                (user.tables == (node.result,) and user.result.id in self.places)
                or (user.result.id in self.dissolved and user.result.shape[-1:] == shape[-1:])
                for user in users
            )
        )

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

    def _is_mapped(self, value: Value, user: Node) -> bool:
        """Whether a value leads to maps of elements, and through them alone, or lies in memory."""
        if user.is_view or user.tables == (value,):
            return True
        plain = user.is_map and not user.tables and not user.operator.mixes
        shape = user.result.shape
        return plain and bool(shape) and is_short(shape[-1]) and self.mapped_only[user.result.id]

    def _broadcasts(self, value: Value, user: Node) -> bool:
        """Whether a node makes the same of a value with one column for all."""
        plain = user.is_map and not user.tables and not user.operator.mixes
        last = value.shape[-1:]
        others = (v for v in user.values if v.id in self.of_places)
        keeps = any(other.shape[-1:] == last for other in others)
        return plain and (keeps or self.may_shrink[user.result.id])

    def _places(self, node: Node) -> list[int] | None:
        """The places along the last axis that a gather reads; None where it is no choice."""
        (table,), shape = node.tables, node.result.shape
        if len(shape) < 2 or not is_short(shape[-1]) or not self.mapped_only[node.result.id]:
            return None
        *others, last = node.operands[1:]
        places, extent = self._numbers(last), table.shape[-1]
        if len(table.shape) != len(shape) or not isinstance(extent, int):
            return None
        if np.shape(places) != shape[-1:] or places.max() < 0 or places.min() >= extent:
            return None
        stay = all(self._stays(d, p, shape, table) for d, p in enumerate(others))
        return places.tolist() if stay else None

    def _stays(self, axis: int, place: Operand, shape: Shape, table: Value) -> bool:
        """Whether the places along another axis than the last are the result's own."""
        if table.shape[axis] == 1:
            return shape[axis] == 1
        made = self.by_id.get(place.id) if isinstance(place, Value) else None
        own = (table.shape[axis], *[1] * (len(shape) - 1 - axis))
        return made is not None and made.is_coordinate and made.result.shape == own

    def _numbers(self, operand: Operand) -> Any:
        """What follows from the places along the last axis and from numbers; None for others."""
        if isinstance(operand, Scalar):
            return self._number_of(operand)
        node = self.by_id.get(operand.id)
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

    @staticmethod
    def _number_of(operand: Operand) -> Any:
        """The value of a literal, as its type; None for others."""
        if not isinstance(operand, Scalar) or operand.expr.op != "literal":
            return None
        return operand.dtype.numpy.type(operand.expr.args[0])

    def _chosen(self, node: Node, places: list[int]) -> Value | None:
        """What a gather is as a choice between slices; anything where the table has no place."""
        table, extent = self.replaced.now(node.tables[0]), node.tables[0].shape[-1]
        assert isinstance(table, Value)
        assert isinstance(extent, int)
        inside = [n for n, place in enumerate(places) if 0 <= place < extent]
        items = {n: self._slice(table, places[n], node) for n in inside}
        counted = self.fresh(I32, (len(places),))
        attrs = (("dtype", I32.numpy_name), ("shape", counted.shape))
        self.add(Node(OPERATORS["coordinate"], (), (counted,), attrs, node.where))
        found = items[inside[-1]]
        for n in reversed(inside[:-1]):
            item = items[n]
            if found is not None and item is not None and item != found:
                here = self._made("equal", (counted, Scalar(literal(n), I32)), node)
                found = self._made("where", (here, item, found), node)
        if not isinstance(found, Value) or None in items.values():
            return None
        kept = (
            -1 if self.may_shrink[node.result.id] else None
        )  # axes: the last may become one column
        return found if found.shape[:kept] == node.result.shape[:kept] else None

    def _slice(self, table: Value, place: int, node: Node) -> Operand | None:
        """An element of the last axis of a table; None where it cannot be made by itself."""
        if table.shape[-1] == 1:
            return table
        row, start = OPERATORS["slice"], Scalar(literal(place), I64)
        attrs = (("axis", len(table.shape) - 1), ("extent", 1), ("step", 1))
        result = replace(table, shape=(*table.shape[:-1], 1))
        return self.part(Node(row, (table, start), (result,), attrs, node.where), table)

    def _counted(self, cut: Node, node: Node) -> Operand | None:
        """The place of one element is a number."""
        start = cut.operands[1]
        assert isinstance(start, Scalar)
        return Scalar(start.expr, node.result.dtype)

    def _node(self, node: Node, operands: Sequence[Operand], position: int) -> Operand | None:
        """A map of one element of each axis; a number, or an operand, where it is that."""
        known = [self._number_of(operand) for operand in operands]
        if node.operator.name == "where" and known[0] is not None:
            return operands[1 if known[0] else 2]
        if None not in known and len(node.results) == 1 and node.operator.kind is Kind.MAP:
            made = node.operator.numpy(*known, **dict(node.attrs))
            dtype = node.result.dtype
            return Scalar(literal(dtype.numpy.type(made)), dtype)
        return super()._node(node, operands, position)

    def _made(self, name: str, operands: Sequence[Operand], node: Node) -> Value:
        made = self.made(name, operands, node.where)
        assert isinstance(made, Value)
        return made
