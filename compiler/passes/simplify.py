"""Simplify: identities folded, common values shared, dead nodes dropped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import replace
from typing import Any

from opweave.compiler.ir.expr import value_key
from opweave.compiler.ir.graph import FunctionGraph, Node, substitute
from opweave.compiler.ir.noted import live_and_dead
from opweave.compiler.ir.rewriting import Replaced
from opweave.compiler.ir.values import Operand, Scalar, Value, operand_key
from opweave.compiler.passes.dense import over_dense
from opweave.compiler.passes.forwarding import forward
from opweave.compiler.passes.raising import raise_views
from opweave.compiler.passes.reads import read_through
from opweave.compiler.passes.short_axes import choose_slices
from opweave.compiler.passes.views import settle_views
from opweave.opcodes import OPERATORS
from opweave.opcodes.core import Kind
from opweave.opcodes.dtypes import F32, F64
from opweave.opcodes.shapes import broadcast_shape


def simplify(graph: FunctionGraph) -> FunctionGraph:
    """Return an equal graph with less to do.

    z = power(x, 2.0)     ->  z = square(x)
    y = exp(x) + exp(x)   ->  e = exp(x); y = e + e
    y = exp(x.T)          ->  y = exp(x).T
    y = x + ones_like(x)  ->  y = x + 1
    d = (x * 2)[1:]       ->  d = x[1:] * 2
    o = dstack([x, y])    ->  o = where(c == 0, x, y)
    c = (x * 2).T.copy()  ->  c = (x.T * 2).copy()
    """
    settled = share_common(fold(fill_in(settle_views(forward(graph)))))
    looked_at = unread(settled)
    read = read_through(choose_slices(settled))
    made = drop_dead(share_common(over_dense(read)), looked_at)
    raised = raise_views(made)
    return made if raised is made else drop_dead(share_common(raised), looked_at)


def literal_of(operand: Operand) -> Any:
    """The value of a literal operand, else None."""
    if isinstance(operand, Scalar) and operand.expr.op == "literal":
        return operand.expr.args[0]
    return None


def _to_itself(node: Node) -> bool:
    (operand,) = node.operands
    return isinstance(operand, Value) and operand.dtype is node.result.dtype


def _real_to_itself(node: Node) -> bool:
    return _to_itself(node) and not node.result.dtype.is_complex


def _second_is(number: float) -> Callable[[Node], bool]:
    def check(node: Node) -> bool:
        value = literal_of(node.operands[1])
        return value is not None and value == number

    return check


def _real_second_is(number: float) -> Callable[[Node], bool]:
    """True for x * 1 and its like; not of complex numbers, where infinity times 0 is NaN."""
    return lambda node: not node.result.dtype.is_complex and _second_is(number)(node)


def _less_nothing(node: Node) -> bool:
    """True for integers and 0; of floats it matters which zero is added."""
    return node.result.dtype.kind in "iub" and _second_is(0)(node)


def _from_the_start(node: Node) -> bool:
    return node.attr("step") == 1 and _second_is(0)(node)


def _is_root(node: Node) -> bool:
    """NumPy takes the root of float32 and float64 to a power of 0.5 that is a number."""
    return _second_is(0.5)(node) and node.result.dtype in (F32, F64)


def _is_cube(node: Node) -> bool:
    return _second_is(3)(node) and node.result.dtype.is_float


# (operator, condition): the node equals its first operand, bit for bit, NaN included.
IDENTITIES: tuple[tuple[str, Callable[[Node], bool]], ...] = (
    ("cast", _to_itself),  # x.astype(x.dtype) -> x
    ("positive", _to_itself),  # +x -> x
    ("conjugate", _real_to_itself),  # x.conj() -> x
    ("multiply", _real_second_is(1)),  # x * 1 -> x
    ("divide", _real_second_is(1)),  # x / 1 -> x
    ("add", _less_nothing),  # i + 0 -> i
    ("subtract", _less_nothing),  # i - 0 -> i
    ("power", _real_second_is(1)),  # x ** 1 -> x
    ("slice", _from_the_start),  # x[0:n] -> x
)
# (operator, condition, other operator): the node equals that operator on its first operand.
REWRITES: tuple[tuple[str, Callable[[Node], bool], str], ...] = (
    ("power", _second_is(2), "square"),  # x ** 2 -> x * x, exact where pow is not
    ("power", _is_root, "sqrt"),  # x ** 0.5 -> sqrt(x)
    ("power", _is_cube, "third_power"),  # x ** 3
)


def fold(graph: FunctionGraph) -> FunctionGraph:
    """Apply the identities and rewrites in order."""
    inputs = {i.value.id for i in graph.inputs}
    kept: list[Node] = []
    replaced = Replaced()
    outputs = returned(graph)

    def memory(value: Value) -> int:
        """The value that a value's elements lie in, by what stands in the place of others."""
        base = graph.base(value)
        return memory(replaced[base.id]) if base.id in replaced else base.id

    for node in graph.nodes:
        node = rewritten(replaced.renewed(node))
        source = node.operands[0] if node.operands else None
        # An output that NumPy would copy stays a node, so that a caller never gets its own input,
        # or one array twice.
        is_returned = node.result.id in outputs
        if not (isinstance(source, Value) and is_identity(node)) or (
            is_returned and memory(source) in inputs | outputs
        ):
            kept.append(node)
            continue
        replaced[node.result.id] = source
        if is_returned:
            outputs.add(memory(source))
    return substitute(graph.with_nodes(kept), replaced)


def fill_in(graph: FunctionGraph) -> FunctionGraph:
    """Replace an array of one number by the number, where another operand has the shape."""
    fills: dict[int, Operand] = {}
    for node in graph.nodes:
        if node.operator.name == "full":
            fills[node.result.id] = node.operands[0]
        elif node.is_view and node.values[0].id in fills:
            fills[node.result.id] = fills[node.values[0].id]
    return graph.with_nodes(_filled(node, fills) for node in graph.nodes)


def _filled(node: Node, fills: Mapping[int, Operand]) -> Node:
    if node.operator.kind is not Kind.MAP or node.operator.mixes:
        return node
    operands = list(node.operands)
    for place, operand in list(enumerate(operands))[node.operator.tables :]:
        apart = (*range(node.operator.tables), place)
        others = [
            o.shape for n, o in enumerate(operands) if isinstance(o, Value) and n not in apart
        ]
        is_fill = isinstance(operand, Value) and operand.id in fills
        if is_fill and others and broadcast_shape(others) == node.result.shape:
            assert isinstance(operand, Value)
            operands[place] = fills[operand.id]
    return node.reading(operands)


def returned(graph: FunctionGraph) -> set[int]:
    """Ids of the values whose memory a caller gets."""
    return {graph.base(o).id for o in graph.outputs if isinstance(o, Value)}


def is_identity(node: Node) -> bool:
    """The node's result equals its first operand, in shape too."""
    source = node.operands[0] if node.operands else None
    return (
        isinstance(source, Value)
        and source.shape == node.result.shape
        and source.dtype is node.result.dtype
        and any(name == node.operator.name and holds(node) for name, holds in IDENTITIES)
    )


def rewritten(node: Node) -> Node:
    for name, holds, other in REWRITES:
        if node.operator.name == name and node.values[:1] == node.operands[:1] and holds(node):
            return replace(node, operator=OPERATORS[other], operands=node.operands[:1])
    return node


def share_common(graph: FunctionGraph) -> FunctionGraph:
    """Compute equal expressions once."""
    outputs = returned(graph)
    seen: dict[Any, Node] = {}
    replaced = Replaced()
    kept: list[Node] = []
    for node in map(replaced.renewed, graph.nodes):
        key = (
            node.operator,  # the operator itself: two of the same text may have two meanings
            tuple(map(operand_key, node.operands)),
            tuple((n, value_key(v)) for n, v in node.attrs),
        )
        first = seen.setdefault(key, node)
        if first is not node and _both_returned(first, node, outputs):
            first = node  # they stay two arrays, as in NumPy
        if first is node:
            kept.append(node)
        for old, new in zip(node.results, first.results, strict=True):
            replaced[old.id] = new
    return substitute(graph.with_nodes(kept), replaced)


def _both_returned(first: Node, second: Node, outputs: set[int]) -> bool:
    return all(any(r.id in outputs for r in node.results) for node in (first, second))


def unread(graph: FunctionGraph) -> set[int]:
    """Values that nobody uses; they are computed for the faults that are noted on the way.

    This is asked before reads move, since a read that moves leaves values behind.
    """
    live, _ = live_and_dead(graph.nodes, graph.outputs)
    kept = {id(node) for node in live}
    return {n.result.id for n in graph.nodes if n.operator.notes_faults and id(n) not in kept}


def drop_dead(graph: FunctionGraph, looked_at: Set[int] = frozenset()) -> FunctionGraph:
    """Drop nodes whose results nobody uses; keep what they would raise.

    y = x[i]; return x * 2       the indices are checked, and nothing is read
    x.max(); return x * 2        noted, since the maximum of no elements is an error
    """
    kept, dead = live_and_dead(graph.nodes, graph.outputs, looked_at)
    dropped = (*graph.dropped, *(node for node in dead if node.may_fail))
    return replace(graph, nodes=tuple(kept), dropped=dropped)
