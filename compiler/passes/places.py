"""Places of extremes in one pass over memory.

    m = max(x); p = min(where(x == m | isnan(x), place, n))   ->   p = argmax(x)

As NumPy's functions are written (``compiler/numpy_api/sorting.py``), what finds a place reads each
element twice.  Kernels of one reduction have a running value and its place.  A host keeps to two
passes over short rows, and down columns: what it reads again lies in the nearest cache, and either
pass is a loop of vectors.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from opweave.compiler.ir.device import Device
from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.ir.graph import FunctionGraph, Node, reduced_axes
from opweave.compiler.ir.values import (
    Extent,
    Extents,
    Operand,
    Scalar,
    Symbol,
    Value,
    extent_of,
    operand_key,
)
from opweave.compiler.passes.simplify import drop_dead, unread
from opweave.opcodes.operators.places import OPERATORS

Makers = Mapping[int, Node]  # by the ids of their results
# Elements of a row from which a host finds a place in one pass: 10^4 take 0.7 of the time of two,
# 10^3 take 1.3 (float32 and float64; one core of a Xeon with AMX, g++ 12, 27 November 2026).
LONG = 4096


def places_at_once(graph: FunctionGraph, extents: Extents, device: Device) -> tuple[int, ...]:
    """The places of extremes that pay in one pass on a device, by the number of their result."""
    if not any(node.operator.name == "min" for node in graph.nodes):
        return ()
    makers = makers_of(graph)
    return tuple(
        node.result.id
        for node in graph.nodes
        if _place(makers, node) and (not device.is_host or _is_long(node, extents))
    )


def with_places(graph: FunctionGraph, chosen: Collection[int]) -> FunctionGraph:
    """The graph with each of these places as one reduction, and without what nobody reads then."""
    if not chosen:
        return graph
    makers = makers_of(graph)
    found = {number: _place(makers, makers[number]) for number in chosen}
    nodes = (found.get(node.result.id) or node for node in graph.nodes)
    return drop_dead(graph.with_nodes(nodes), unread(graph))


def makers_of(graph: FunctionGraph) -> Makers:
    """By the id of each value the node that makes it."""
    return {result.id: node for node in graph.nodes for result in node.results}


def _is_long(node: Node, extents: Extents) -> bool:
    """Whether a row is a run of memory of which the nearest cache of a host has no copy."""
    shape, (axis,) = node.values[0].shape, reduced_axes(node)
    return axis == len(shape) - 1 and extent_of(shape[axis], extents) >= LONG


def _place(makers: Makers, node: Node) -> Node | None:
    """The reduction that a smallest place is; None for any other node."""
    if node.operator.name != "min" or len(reduced_axes(node)) != 1:
        return None
    (axis,) = reduced_axes(node)
    chosen = maker(makers, node.operands[0], "where")
    if chosen is None:
        return None
    best, place, last = chosen.operands
    source = node.values[0]
    if not _is_place(makers, place, axis, source) or not is_extent(last, source.shape[axis]):
        return None
    extreme = _extreme(makers, best, axis)
    if extreme is None:
        return None
    (source,), name = extreme.values, extreme.operator.name
    made = replace(node, operator=OPERATORS[name], operands=(source,))
    return made.varied(dtype=node.result.dtype.numpy_name)


def _extreme(makers: Makers, best: Operand, axis: int) -> Node | None:
    """The largest or smallest element along an axis, of which ``best`` says where it is."""
    either = maker(makers, best, "bitwise_or")
    equal = maker(makers, either.operands[0] if either else best, "equal")
    if equal is None:
        return None
    source, bound = equal.operands
    found = maker(makers, bound, "max") or maker(makers, bound, "min")
    if found is None or found.operands != (source,) or source.dtype.is_complex:
        return None
    if reduced_axes(found) != (axis,) or not found.attr("keepdims"):
        return None
    nan = maker(makers, either.operands[1], "isnan") if either else None
    asks = nan is not None and nan.operands == (source,)
    return found if asks is source.dtype.is_float and asks is (either is not None) else None


def _is_place(makers: Makers, place: Operand, axis: int, source: Value) -> bool:
    """Whether an operand is the coordinate along an axis."""
    node = maker(makers, place, "coordinate")
    rank = len(source.shape)
    return node is not None and rank - len(node.result.shape) == axis


def is_extent(number: Operand, extent: Extent) -> bool:
    """Whether a number is an extent, in each call."""
    known = Expr("extent", (extent.name,)) if isinstance(extent, Symbol) else literal(extent)
    return isinstance(number, Scalar) and operand_key(number.expr) == operand_key(known)


def maker(makers: Makers, operand: Operand, name: str) -> Node | None:
    """The node of that operator which makes an operand."""
    node = makers.get(operand.id) if isinstance(operand, Value) else None
    return node if node is not None and node.operator.name == name else None
