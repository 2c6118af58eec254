"""Sums of exp(x - max(x)) that take one pass over a row: softmax, log-softmax, logsumexp.

A row that its threads hold in registers is read once, whatever its passes need.  A longer one is
read by each pass, and where blocks share it each pass is a kernel.  There the maximum and the sum
are taken together (``opcodes/operators/exp_sums.py``).  That changes bits, so it follows from the
shape class and the target alone, before anything is fused.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from opweave.compiler.ir.accumulation import held_chunks
from opweave.compiler.ir.device import Device
from opweave.compiler.ir.graph import FunctionGraph, Node, reduced_axes
from opweave.compiler.ir.rewriting import Rewriter
from opweave.compiler.ir.values import Extents, Value, count, is_zero
from opweave.compiler.passes.simplify import simplify
from opweave.compiler.scheduling.accumulation_plans import classify
from opweave.compiler.scheduling.reduction_parts import LANES
from opweave.opcodes import OPERATORS
from opweave.opcodes.operators.exp_sums import EXP_SUM

# Rows down a column, from which on a pass is worth more than the exponentials that scale.
LONG_COLUMN = 256


class _Shifted(NamedTuple):
    """A sum of exp(x - m).

    Attributes:
        largest: what makes m.
        is_guarded: 0 is subtracted where m is not finite.
    """

    x: Value
    largest: Node
    is_guarded: bool


def exp_sums(graph: FunctionGraph, extents: Extents, device: Device) -> tuple[int, ...]:
    """The sums that are taken with the maximum, by the number of their result."""
    if device.is_host:
        return ()
    sums = [node for node in graph.nodes if node.operator.name == "sum"]
    makers = {r.id: node for node in graph.nodes for r in node.results} if sums else {}
    return tuple(
        node.result.id
        for node in sums
        if _is_long(node, extents, device) and _shifted(makers, node) is not None
    )


def with_exp_sums(graph: FunctionGraph, chosen: Collection[int]) -> FunctionGraph:
    """The graph with some sums taken together with the maximum that is subtracted.

    s = sum(exp(x - max(x)))                    ->   s = exp_sum(x)
    s = sum(exp(x - where(isfinite(m), m, 0)))  ->   s = where(isfinite(m), exp_sum(x), exp(m))
    """
    if not chosen:
        return graph
    makers = {r.id: node for node in graph.nodes for r in node.results}
    shifted = {n: found for n in chosen if (found := _shifted(makers, makers[n])) is not None}
    beside: dict[int, list[int]] = {}  # siblings that follow each other share a kernel
    for number, found in shifted.items():
        beside.setdefault(found.largest.result.id, []).append(number)
    rewriter = Rewriter(graph)
    for node in graph.nodes:
        if node.result.id not in shifted:
            rewriter.add(node)
        for number in beside.get(node.result.id, ()):
            _add(rewriter, makers[number], shifted[number])
    return simplify(graph.with_nodes(rewriter.nodes))


def _add(rewriter: Rewriter, node: Node, found: _Shifted) -> None:
    """Add what stands for a sum."""
    attrs, result, where = node.attrs, node.result, node.where
    attrs = tuple((name, value) for name, value in attrs if name != "dtype")
    if not found.is_guarded:
        return rewriter.add(Node(EXP_SUM, (found.x,), (result,), attrs, where))
    total, top = (rewriter.fresh(result.dtype, result.shape) for _ in range(2))
    rewriter.add(Node(EXP_SUM, (found.x,), (total,), attrs, where))
    rewriter.add(Node(OPERATORS["max"], (found.x,), (top,), attrs, where))
    finite, beyond = (rewriter.made(name, [top], where) for name in ("isfinite", "exp"))
    assert isinstance(finite, Value)
    assert isinstance(beyond, Value)
    rewriter.add(Node(OPERATORS["where"], (finite, total, beyond), (result,), (), where))
    return None


def _is_long(node: Node, extents: Extents, device: Device) -> bool:
    """A row that is read again by every pass."""
    found = classify(node, extents, device)
    value, axes = node.values[0], reduced_axes(node)
    cols = count((value.shape[a] for a in axes), extents)
    chunks = held_chunks(found.threads, LANES, value.dtype.itemsize)
    longest = found.threads * LANES * chunks if found.innermost else LONG_COLUMN
    return found.parts > 1 or cols > longest


def _shifted(makers: dict[int, Node], node: Node) -> _Shifted | None:
    """What a sum of exponentials adds up, if it is one below the maximum of its own row."""
    power = _made_by(makers, node, 0, "exp")
    if power is None or node.operator.name != "sum" or node.result.dtype is not power.result.dtype:
        return None
    below = _made_by(makers, power, 0, "subtract")
    if below is None:
        return None
    x, top = below.operands
    if not isinstance(x, Value) or not isinstance(top, Value) or not x.dtype.is_float:
        return None
    axes = reduced_axes(node)
    beside = tuple(1 if d in axes else e for d, e in enumerate(x.shape))
    if (1,) * (len(x.shape) - len(top.shape)) + top.shape != beside:
        return None
    maker = makers.get(top.id)
    unguarded = maker and _unguarded(makers, maker)
    largest = unguarded or maker
    if largest is None or largest.operator.name != "max" or largest.values[0].id != x.id:
        return None
    is_same = reduced_axes(largest) == axes
    return _Shifted(x, largest, unguarded is not None) if is_same else None


def _unguarded(makers: dict[int, Node], node: Node) -> Node | None:
    """The maker of m, where a node is ``where(isfinite(m), m, 0)``."""
    test = _made_by(makers, node, 0, "isfinite")
    if node.operator.name != "where" or test is None or len(node.operands) != 3:
        return None
    value, zero = node.operands[1:]
    same = isinstance(value, Value) and test.values[0].id == value.id
    return makers.get(value.id) if is_zero(zero) and same and isinstance(value, Value) else None


def _made_by(makers: dict[int, Node], node: Node, place: int, name: str) -> Node | None:
    """The node that makes an operand, if it is of that operator."""
    operand = node.operands[place] if place < len(node.operands) else None
    maker = makers.get(operand.id) if isinstance(operand, Value) else None
    return maker if maker is not None and maker.operator.name == name else None
