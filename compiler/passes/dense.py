"""What is reshaped, or read by a kernel that someone wrote, lies densely in rows.

What does not is copied before.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from opweave.compiler.ir.graph import FunctionGraph, Node
from opweave.compiler.ir.rewriting import next_id
from opweave.opcodes import OPERATORS


def over_dense(graph: FunctionGraph) -> FunctionGraph:
    """Reshape only what lies densely in rows, and a copy of anything else.

    y = reshape(x.T, (n,))  ->  t = copy(x.T); y = reshape(t, (n,))
    y = kernel(x.T)         ->  t = copy(x.T); y = kernel(t)

    After all passes that put one value in the place of another: an input in the place of a map of
    it may lie in any order.
    """
    dense = {i.value.id for i in graph.inputs if i.layout == "C"}
    fresh = count(next_id(graph))
    nodes: list[Node] = []
    for node in graph.nodes:
        if node.operator.name == "reshape" or node.is_handwritten:
            for source in {v.id: v for v in node.values if v.id not in dense}.values():
                copied = replace(source, id=next(fresh))
                nodes.append(Node(OPERATORS["copy"], (source,), (copied,), (), node.where))
                operands = tuple(copied if o == source else o for o in node.operands)
                node = node.reading(operands)
        if not node.is_view or node.operator.name == "reshape" or _keeps_rows(node, dense):
            dense |= {r.id for r in node.results}
        nodes.append(node)
    return graph.with_nodes(nodes)


def _keeps_rows(node: Node, dense: set[int]) -> bool:
    """A view of rows that only adds or drops dimensions of extent 1."""
    source = node.values[0]
    if node.operator.name != "view" or source.id not in dense:
        return False
    kept = [a for a in node.attr("axes") if a is not None and source.shape[a] != 1]
    return kept == sorted(kept)
