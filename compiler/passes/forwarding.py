"""Forwarding: who reads a part that was written before reads what was written there.

An array that is written to is a choice at each element, by its place along an axis:

    f[0] = a;  f[1] = b             f1 = where(row == 0, a, f);  f2 = where(row == 1, b, f1)
    f[0], f[5]                      f2[0] is a, f2[5] is f[5]: no choice is made
    f[0] = c                        f3 = where(row == 0, c, where(row == 1, b, f))

So a loop that replaces one row of few after the other makes one array, not one for each row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from opweave.compiler.ir.expr import Expr
from opweave.compiler.ir.graph import FunctionGraph, Node
from opweave.compiler.ir.rewriting import Rewriter
from opweave.compiler.ir.values import Operand, Scalar, Value, operand_key
from opweave.opcodes.shapes import broadcast_shape


class AxisPlace(NamedTuple):
    """A number's place along an axis: so far from its start, or from what ``end`` says."""

    axis: int
    number: int
    end: object = None


class Replacement(NamedTuple):
    """An array in which what stands at one place of an axis was replaced.

    Attributes:
        node: the choice.
        whole: it depends on no place along another axis.
    """

    node: Node
    place: AxisPlace
    whole: bool

    @property
    def made(self) -> Operand:
        return self.node.operands[1]

    @property
    def before(self) -> Value:
        found = self.node.operands[2]
        assert isinstance(found, Value)
        return found


def forward(graph: FunctionGraph) -> FunctionGraph:
    """Let parts of arrays that were written to be what was written there.

    Choices of which nobody reads anything any more are dropped with the other dead nodes.
    """
    if not any(node.operator.name == "where" for node in graph.nodes):
        return graph
    forwarding = _Forwarding(graph)
    return _Condensing(forwarding.graph(), forwarding.found).graph()


class _Replacements(Rewriter):
    """The nodes so far, and the replacements among them."""

    def __init__(self, graph: FunctionGraph):
        super().__init__(graph)
        self.found: dict[int, Replacement] = {}

    def graph(self) -> FunctionGraph:
        for node in map(self.replaced.renewed, self.source.nodes):
            made = self._instead(node)
            if made is not None:
                self.replaced[node.result.id] = made
            else:
                self.add(node)
        return self.rebuilt(map(self.replaced.now, self.source.outputs))

    def add(self, node: Node) -> None:
        """Append a node, and note a choice by one place of an axis."""
        super().add(node)
        found = self._replacement(node) if node.operator.name == "where" else None
        if found is not None:
            self.found[node.result.id] = found

    def _instead(self, node: Node) -> Value | None:
        """What stands for a node's result; None for itself."""
        raise NotImplementedError

    def _replacement(self, node: Node) -> Replacement | None:
        condition, _, before = node.operands
        if not isinstance(before, Value) or before.type != node.result.type:
            return None
        tests = list(self._tests(condition))
        places = (self._tested(test, len(before.shape)) for test in tests)
        place = next((place for place in places if place is not None), None)
        return None if place is None else Replacement(node, place, len(tests) == 1)

    def _tests(self, condition: Operand) -> Iterator[Operand]:
        """What must hold together."""
        node = self._maker(condition)
        if node is not None and node.operator.name == "logical_and":
            for operand in node.operands:
                yield from self._tests(operand)
        else:
            yield condition

    def _tested(self, test: Operand, rank: int) -> AxisPlace | None:
        """The place that coordinates along an axis are compared with; None for another test."""
        node = self._maker(test)
        if node is None or node.operator.name != "equal":
            return None
        counted, place = self._maker(node.operands[0]), node.operands[1]
        if counted is not None and counted.operator.name == "subtract" and _number(place) == 0:
            place = counted.operands[1]
            counted = self._maker(counted.operands[0])
        if counted is None or not counted.is_coordinate:
            return None
        return _place_of(rank - len(counted.result.shape), place)

    def _maker(self, operand: Operand) -> Node | None:
        return self.makers.get(operand.id) if isinstance(operand, Value) else None


class _Forwarding(_Replacements):
    """Reads of parts, and of all at its own places, become what is read."""

    def __init__(self, graph: FunctionGraph):
        super().__init__(graph)
        self.shown = _shown(graph)

    def _instead(self, node: Node) -> Value | None:
        if node.result.id in self.shown:
            return None  # a caller gets an array of its own, or a view of another that it gets
        if node.operator.name.startswith("gather"):
            return self._gathered(node)
        if node.operator.name != "slice" or node.attr("extent") != 1:
            return None
        place = _place_of(node.attr("axis"), node.operands[1])
        return None if place is None else self._part(node, place)

    def _part(self, cut: Node, place: AxisPlace) -> Value | None:
        """A slice of one element, of the last array in which it was not replaced."""
        source = cut.values[0]
        while (last := self.found.get(source.id)) is not None:
            if last.place == place and last.whole:
                return self._row(last.made, cut)
            if not _are_apart(last.place, place):
                break
            source = last.before
        if source is cut.values[0]:
            return None
        made = self.fresh(cut.result.dtype, cut.result.shape)
        self.add(replace(cut, operands=(source, *cut.operands[1:]), results=(made,)))
        return made

    def _row(self, made: Operand, cut: Node) -> Value | None:
        """A value that was assigned, with the dimensions of the slice that it is read by."""
        shape = cut.result.shape
        if not isinstance(made, Value) or made.dtype is not cut.result.dtype:
            return None
        if made.shape == shape:
            return made
        rank = len(made.shape)
        lead = len(shape) - rank
        if made.shape != shape[lead:] or any(extent != 1 for extent in shape[:lead]):
            return None  # it is broadcast along other axes
        axes = (*[None] * lead, *range(rank))
        found = self.made("view", (made,), cut.where, axes=axes)
        return found if isinstance(found, Value) else None

    def _gathered(self, node: Node) -> Value | None:
        """The table of a gather at all of its own places."""
        table, places = node.tables[0], node.operands[1:]
        if table.type != node.result.type:
            return None
        for axis, (place, extent) in enumerate(zip(places, table.shape, strict=True)):
            counted = self._maker(place)
            shape = (extent, *[1] * (len(table.shape) - 1 - axis))
            if counted is None or not counted.is_coordinate or counted.result.shape != shape:
                return None
        return table


class _Condensing(_Replacements):
    """Chains of replacements, without those that later ones make vain."""

    def __init__(self, graph: FunctionGraph, replacements: Mapping[int, Replacement]):
        super().__init__(graph)
        self.inner = _inner(graph, replacements)

    def _instead(self, node: Node) -> Value | None:
        if node.operator.name != "where" or node.result.id in self.inner:
            return None
        last = self._replacement(node)
        if last is None:
            return None
        kept, before, is_less = self._chain(last)
        if not is_less:
            return None
        while kept and before is not None:
            link = kept.pop().node
            made = self.fresh(link.result.dtype, link.result.shape)
            self.add(replace(link, operands=(*link.operands[:2], before), results=(made,)))
            before = made
        return before

    def _chain(self, last: Replacement) -> tuple[list[Replacement], Value | None, bool]:
        """The replacements that count, from the last one back, and what they replace parts of.

        Also whether that is less than there was.
        """
        axis, shape = last.place.axis, last.node.result.shape
        kept, link, count = list[Replacement](), last, 0
        seen: set[AxisPlace] = set()
        while True:
            count += 1
            if link.place not in seen:
                kept.append(link)
            seen |= {link.place} if link.whole else set()
            before = link.before
            if _is_all(seen, axis, shape[axis]) and self._stands_for_all(kept, shape):
                bottom = kept.pop().made
                assert isinstance(bottom, Value)
                return kept, bottom, True
            following = self.found.get(before.id)
            if following is None or following.place.axis != axis:
                return kept, before, len(kept) < count
            link = following

    def _stands_for_all(self, kept: Sequence[Replacement], shape: Sequence[object]) -> bool:
        """Whether the first part may stand wherever no later one does."""
        if len(kept) < 2 or not kept[-1].whole:
            return False
        made = kept[-1].made
        if not isinstance(made, Value) or made.dtype is not kept[-1].node.result.dtype:
            return False
        later = [v.shape for v in kept[-2].node.values[:-1]]
        return broadcast_shape([*later, made.shape]) == tuple(shape)


def _shown(graph: FunctionGraph) -> set[int]:
    """Values that a caller gets, and the values that these are views of."""
    found = {o.id for o in graph.outputs if isinstance(o, Value)}
    for node in reversed(graph.nodes):
        if node.is_view and node.result.id in found:
            found.add(node.values[0].id)
    return found


def _inner(graph: FunctionGraph, replacements: Mapping[int, Replacement]) -> set[int]:
    """Arrays that nobody reads but one array in which more of the same axis is replaced."""
    outputs = {o.id for o in graph.outputs if isinstance(o, Value)}
    return {
        link.before.id
        for link in replacements.values()
        if link.before.id not in outputs
        and len(graph.users[link.before.id]) == 1
        and (before := replacements.get(link.before.id)) is not None
        and before.place.axis == link.place.axis
    }


def _place_of(axis: int, start: Operand) -> AxisPlace | None:
    """A place that is a number, or a number after an extent."""
    if (number := _number(start)) is not None:
        return AxisPlace(axis, number)
    expr = start.expr if isinstance(start, Scalar) else None
    if expr is None or expr.op != "add" or (number := _number(expr.args[1])) is None:
        return None
    return AxisPlace(axis, number, operand_key(expr.args[0]))


def _number(item: Operand | Expr) -> int | None:
    """A whole number that is written out; else None."""
    expr = item.expr if isinstance(item, Scalar) else item
    found = expr.args[0] if isinstance(expr, Expr) and expr.op == "literal" else None
    return int(found) if isinstance(found, int | np.integer) else None


def _are_apart(one: AxisPlace, other: AxisPlace) -> bool:
    """Whether two places are known to be different ones of an axis."""
    return (one.axis, one.end) == (other.axis, other.end) and one.number != other.number


def _is_all(places: set[AxisPlace], axis: int, extent: object) -> bool:
    """Whether places are all that an axis has, as far as they are numbers."""
    return isinstance(extent, int) and all(AxisPlace(axis, n) in places for n in range(extent))
