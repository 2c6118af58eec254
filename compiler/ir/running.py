"""Types of running values."""

from __future__ import annotations

from opweave.compiler.ir.graph import Node
from opweave.opcodes.dtypes import DType
from opweave.opcodes.operators.places import finds_place, running_place


def running_type(node: Node) -> DType:
    """The type of a running value of a reduction, scan or product."""
    operator, made = node.operator, node.result.dtype
    if finds_place(operator):
        return running_place(operator.name, node.values[0].dtype, made)
    assert operator.accumulator is not None
    return operator.accumulator(made)
