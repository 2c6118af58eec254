"""Places: values that follow from coordinates and numbers alone, such as ``(c - 3) < 0``.

They cost next to nothing, so every kernel computes its own places.  No kernel stores them for
another, and two kernels that need the same places do not depend on each other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import count

from opweave.compiler.ir.graph import FunctionGraph, Node
from opweave.compiler.ir.rewriting import Replaced, next_id
from opweave.compiler.ir.values import Operand, Value, operand_key


def places_of(graph: FunctionGraph) -> set[int]:
    """Ids of the values that are made of coordinates and numbers alone."""
    found: set[int] = set()
    for node in graph.nodes:
        pure = node.is_map and not node.operator.mixes and not node.operator.notes_faults
        if pure and all(v.id in found for v in node.values):
            found |= {r.id for r in node.results}
    return found


def apart(graph: FunctionGraph) -> FunctionGraph:
    """Give every node that reads places its own copies of the nodes that make them."""
    places = places_of(graph)
    if not places:
        return graph
    needed = {o.id for o in graph.outputs if isinstance(o, Value)}
    needed |= {v.id for n in graph.nodes if n.is_view for v in n.values}
    kept = _cone(graph, needed & places)
    copies = _Copies(graph, places)
    for node in graph.nodes:
        if node.result.id in places:
            copies.nodes += [node] if node.result.id in kept else []
        elif node.is_view:
            copies.nodes.append(node)
        else:
            known: dict[int, Value] = {}
            operands = tuple(copies.own(o, known) for o in node.operands)
            copies.nodes.append(replace(node, operands=operands))
    return graph.with_nodes(copies.nodes)


class _Copies:
    """The nodes so far, with copies of those that make places."""

    def __init__(self, graph: FunctionGraph, places: set[int]):
        self.places = places
        self.makers = {r.id: n for n in graph.nodes for r in n.results if r.id in places}
        self.fresh = count(next_id(graph))
        self.nodes: list[Node] = []

    def own(self, operand: Operand, known: dict[int, Value]) -> Operand:
        """An operand of a node whose own copies are ``known``."""
        if isinstance(operand, Value) and operand.id in self.places:
            return self._copied(operand, known)
        return operand

    def _copied(self, value: Value, known: dict[int, Value]) -> Value:
        if value.id not in known:
            node = self.makers[value.id]
            operands = tuple(self.own(o, known) for o in node.operands)
            for result in node.results:
                known[result.id] = replace(result, id=next(self.fresh))
            results = tuple(known[r.id] for r in node.results)
            self.nodes.append(replace(node, operands=operands, results=results))
        return known[value.id]


def _cone(graph: FunctionGraph, wanted: set[int]) -> set[int]:
    """Values, and what they are made of."""
    found = set(wanted)
    for node in reversed(graph.nodes):
        if any(r.id in found for r in node.results):
            found |= {v.id for v in node.values} | {r.id for r in node.results}
    return found


def together(
    graph: FunctionGraph, partition: Sequence[set[int]]
) -> tuple[FunctionGraph, list[set[int]]]:
    """Compute equal places once in each part: the graph without the others, and its parts."""
    places = places_of(graph)
    group_of = {index: number for number, part in enumerate(partition) for index in part}
    returned = {o.id for o in graph.outputs if isinstance(o, Value)}
    seen: dict[object, Node] = {}
    replaced = Replaced()
    nodes: list[Node] = []
    parts: list[set[int]] = [set() for _ in partition]
    for index, node in enumerate(map(replaced.renewed, graph.nodes)):
        if node.result.id in places and not returned & {r.id for r in node.results}:
            key = (group_of[index], node.operator, *map(operand_key, node.operands), node.attrs)
            first = seen.setdefault(key, node)
            if first is not node:
                pairs = zip(node.results, first.results, strict=True)
                replaced |= {old.id: new for old, new in pairs}
                continue
        if index in group_of:
            parts[group_of[index]].add(len(nodes))
        nodes.append(node)
    return graph.with_nodes(nodes), parts
