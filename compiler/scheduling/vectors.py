"""Products with one column, where no library computes them: sums along rows.

A tile of a product has many columns, of which such a product would fill only one, and one block
would take a row from end to end.  A row kernel reads a row with all of its threads, and a long row
with many blocks.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from opweave.compiler.ir.device import Device
from opweave.compiler.ir.graph import FunctionGraph, Node
from opweave.compiler.ir.rewriting import Rewriter
from opweave.compiler.ir.values import Extents, Value, Where
from opweave.compiler.passes.simplify import simplify
from opweave.compiler.scheduling.accumulation_plans import plan_product
from opweave.opcodes import OPERATORS
from opweave.opcodes.dtypes import BF16, BOOL, F16, F32, I64, U64, DType


def column_products(
    graph: FunctionGraph, extents: Extents, device: Device, vendor: bool | None
) -> tuple[int, ...]:
    """The products that are sums along rows on a device, by the number of their result."""
    return tuple(
        node.result.id
        for node in graph.nodes
        if node.is_product
        and node.result.shape[-1] == 1
        and plan_product(node, graph, extents, device, vendor).unit == "fma"
    )


def as_sums(graph: FunctionGraph, chosen: Collection[int]) -> FunctionGraph:
    """The graph with some products of one column as sums along rows.

    z = x @ y   ->   z = sum(x * y.T, axis=-1, keepdims=True), or any of truths
    """
    if not chosen:
        return graph
    rewriter = Rewriter(graph)
    named = _named(graph, chosen)
    dropping = {view.result.id for view in named.values()}
    for number, node in enumerate(graph.nodes):
        if node.result.id in chosen:
            rewriter.add(_sum(rewriter, node, named.get(number)))
        elif node.result.id not in dropping:
            rewriter.add(node)
    return simplify(graph.with_nodes(rewriter.nodes))


def _named(graph: FunctionGraph, chosen: Collection[int]) -> dict[int, Node]:
    """The only reader of such a product, if it is a view that drops the column."""
    found = {}
    returned = {o.id for o in graph.outputs if isinstance(o, Value)}
    for number, node in enumerate(graph.nodes):
        users = [graph.nodes[u] for u in graph.users.get(node.result.id, ())]
        is_named = node.result.id in chosen and node.result.id not in returned and len(users) == 1
        if is_named and users[0].operator.name == "view":
            axes = users[0].attr("axes")
            kept = [a for a in axes if a is not None]
            if len(kept) == len(axes) and kept == sorted(kept) and _last(node) not in kept:
                found[number] = users[0]
    return found


def _last(node: Node) -> int:
    return len(node.result.shape) - 1


def _sum(rewriter: Rewriter, node: Node, view: Node | None) -> Node:
    """Add the nodes that compute a product, or the view of it, as a sum; return the last node.

    Terms and sums have the type in which products accumulate, so terms are not rounded to float16.
    """
    dtype, where = node.result.dtype, node.where
    wide = _accumulator(dtype)
    x, y = (_cast(rewriter, value, wide, where) for value in node.values)
    rank = len(y.shape)
    row = _made(rewriter, "view", y, where, axes=(*range(rank - 2), rank - 1, rank - 2))
    terms = rewriter.made("multiply", [x, row], where)
    assert isinstance(terms, Value)
    kept = range(_last(node)) if view is None else view.attr("axes")
    dropped = [d for d in range(len(terms.shape)) if d not in kept]
    attrs = {"axis": tuple(dropped), "keepdims": view is None}
    name = "any" if dtype is BOOL else "sum"
    if name == "sum":
        attrs["dtype"] = None
    result = (view or node).result
    if wide is dtype:
        return Node(OPERATORS[name], (terms,), (result,), tuple(attrs.items()), where)
    total = _made(rewriter, name, terms, where, **attrs)
    return Node(OPERATORS["cast"], (total,), (result,), (("dtype", dtype.numpy_name),), where)


def _cast(rewriter: Rewriter, value: Value, dtype: DType, where: Where) -> Value:
    if value.dtype is dtype:
        return value
    return _made(rewriter, "cast", value, where, dtype=dtype.numpy_name)


def _made(rewriter: Rewriter, name: str, value: Value, where: Where, **attrs: Any) -> Value:
    made = rewriter.made(name, [value], where, **attrs)
    assert isinstance(made, Value)
    return made


def _accumulator(dtype: DType) -> DType:
    if dtype in (F16, BF16):
        return F32
    return {"i": I64, "u": U64}.get(dtype.kind, dtype)
