"""Zeros around an array: a gather has 0 outside of its table, so nobody puts one there.

    where((i < 0) | ~(i - n < 0), 0, gather(x, i))   ->   gather(x, i)

As ``np.pad`` and ``np.convolve`` are written.  This is the last pass over a graph: before it reads
move through maps (``reads.py``), and what a map makes of the zero that is read outside is not 0.
"""

from __future__ import annotations

import numpy as np

from opweave.compiler.ir.graph import FunctionGraph, Node, substitute
from opweave.compiler.ir.rewriting import Replaced
from opweave.compiler.ir.values import Operand, Value
from opweave.compiler.passes.places import Makers, is_extent, maker, makers_of
from opweave.compiler.passes.simplify import drop_dead, literal_of, returned, unread

OR = ("logical_or", "bitwise_or")
NOT = ("logical_not", "invert")


def without_zeros(graph: FunctionGraph) -> FunctionGraph:
    """The graph without choices of 0 where a gather has it; the graph itself if there is none."""
    if not any(node.operator.name.startswith("gather") for node in graph.nodes):
        return graph
    makers, outputs, replaced = makers_of(graph), returned(graph), Replaced()
    kept: list[Node] = []
    for node in map(replaced.renewed, graph.nodes):
        gather = _gather(makers, node)
        if gather is None or {gather.result.id, node.result.id} <= outputs:
            kept.append(node)
            continue
        replaced[node.result.id] = gather.result
        if node.result.id in outputs:
            outputs.add(gather.result.id)
    if not replaced:
        return graph
    return drop_dead(substitute(graph.with_nodes(kept), replaced), unread(graph))


def _gather(makers: Makers, node: Node) -> Node | None:
    """The gather that a choice between 0 and it equals; None of any other node."""
    if node.operator.name != "where":
        return None
    condition, fill, taken = node.operands
    gather = makers.get(taken.id) if isinstance(taken, Value) else None
    if gather is None or gather.operator.name != f"gather_{len(gather.operands) - 1}d":
        return None
    number = literal_of(fill)
    is_zero = number is not None and not any(np.asarray(number, node.result.dtype.numpy).tobytes())
    same = gather.result.type == node.result.type
    return gather if is_zero and same and _is_outside(makers, condition, gather) else None


def _is_outside(makers: Makers, condition: Operand, gather: Node) -> bool:
    """Whether all elements of which a condition is true are read outside of the table."""
    node = makers.get(condition.id) if isinstance(condition, Value) else None
    if node is None:
        return False
    if node.operator.name in OR:
        return all(_is_outside(makers, side, gather) for side in node.operands)
    if node.operator.name in NOT:
        return _is_behind(makers, node.operands[0], gather)
    return _is_below_0(makers, condition, gather.operands[1:])


def _is_below_0(makers: Makers, condition: Operand, places: tuple[Operand, ...]) -> bool:
    node = maker(makers, condition, "less")
    return node is not None and literal_of(node.operands[1]) == 0 and node.operands[0] in places


def _is_behind(makers: Makers, condition: Operand, gather: Node) -> bool:
    """Whether what is not so is behind the end of an axis: ``place - extent < 0``."""
    node = maker(makers, condition, "less")
    if node is None or literal_of(node.operands[1]) != 0:
        return False
    counted = maker(makers, node.operands[0], "subtract")
    return counted is not None and any(
        counted.operands[0] == place and is_extent(counted.operands[1], extent)
        for place, extent in zip(gather.operands[1:], gather.tables[0].shape, strict=True)
    )
