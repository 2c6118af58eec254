"""What a trace has noted is found at once, however long it is."""

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.ir import builder as builders
from opweave.compiler.ir.builder import GraphBuilder
from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.ir.noted import NotedNodes
from opweave.compiler.passes import reads
from opweave.opcodes import OPERATORS, dtypes


def noted(count):
    builder = GraphBuilder({})
    value = builder.new_input(dtypes.F32, (3,))
    for _ in range(count):
        (value,) = builder.apply(OPERATORS["negative"], [value])
    return builder.nodes


def test_the_maker_of_a_value_is_known_while_nodes_come_and_go():
    nodes, others = noted(4), noted(2)
    assert [nodes.makers[n.result.id] for n in nodes] == list(nodes)
    nodes.replace(others[:1], 2)
    assert len(nodes) == 3
    assert nodes[2] is others[0]
    assert set(nodes.makers) == {n.result.id for n in nodes}
    nodes.clear()
    assert not nodes
    assert not nodes.makers


@pytest.mark.parametrize("change", [
    lambda nodes: nodes.pop(),
    lambda nodes: nodes.extend([]),
    lambda nodes: nodes.insert(0, nodes[0]),
    lambda nodes: nodes.__setitem__(0, nodes[0]),
    lambda nodes: nodes.__delitem__(0),
])  # fmt: skip
def test_no_node_changes_behind_the_back_of_the_makers(change):
    with pytest.raises(TypeError, match="appended or replaced"):
        change(noted(2))
    assert isinstance(noted(1), NotedNodes)


def test_an_extent_that_follows_from_others_is_derived_once(monkeypatch):
    asked = []
    real = builders.expr_key
    monkeypatch.setattr(builders, "expr_key", lambda expr: asked.append(expr) or real(expr))
    builder = GraphBuilder({"n0": 100})
    exprs = [Expr("sub", (Expr("extent", ("n0",)), literal(k))) for k in range(50)]
    first = [builder.derive(expr) for expr in exprs]
    assert [builder.derive(expr) for expr in exprs] == first
    assert len(set(first)) == 50
    assert len(asked) <= 4 * 2 * 50  # a few for each, not one for each pair


def test_what_is_dear_to_compute_again_is_not_counted_to_its_end(monkeypatch):
    visited = []
    real = reads._Reads._scatters
    monkeypatch.setattr(
        reads._Reads, "_scatters", lambda self, node: visited.append(node) or real(self, node)
    )

    def diagonal(x):
        total = 0.0
        for k in range(150):
            total = total + np.tanh(x[k, k])
        return x + total

    ow.fuse(diagonal).lower(np.ones((150, 150)))
    assert 150 < len(visited) < 150 * 30  # 22,800 where each is counted to its end
