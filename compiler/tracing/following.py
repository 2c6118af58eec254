"""NumPy arrays beside CuPy arrays: whether a graph uses them as CuPy lets a function do."""

from __future__ import annotations

from collections.abc import Collection, Set

from opweave.compiler.ir.graph import FunctionGraph, Node
from opweave.compiler.ir.values import Value
from opweave.opcodes.operators.unnamed_calls import INDEX


def follow(graph: FunctionGraph, hosts: Collection[int], gives_numbers: bool = False) -> bool:
    """Whether inputs of the host are no values beside the others.

    CuPy takes NumPy's arrays as indices, whatever NumPy has computed them from.  It takes numbers
    of NumPy's as values, too.  A result of the host alone is NumPy's, which no kernel returns.

    Args:
        hosts: ids of the inputs that NumPy's arrays are given for.
        gives_numbers: a number of NumPy's may be a result, since a line of Python gets it.
    """
    here, numbers = set(hosts), set[int]()
    there = {i.value.id for i in graph.inputs} - here
    for node in graph.nodes:
        read = {value.id for value in _values_read(node, there)}
        if not here.isdisjoint(read):
            if not there.isdisjoint(read):
                return False
            # without dimensions it is no array to NumPy
            computed = [here if value.shape else numbers for value in node.results]
        elif not there.isdisjoint(read):
            computed = [there] * len(node.results)
        elif not numbers.isdisjoint(read):
            computed = [numbers] * len(node.results)
        else:
            continue
        for kind, value in zip(computed, node.results, strict=True):
            kind.add(value.id)
    refused = here if gives_numbers else here | numbers
    return not any(isinstance(o, Value) and o.id in refused for o in graph.outputs)


def _values_read(node: Node, there: Set[int]) -> tuple[Value, ...]:
    """The array operands of a node, without those that are indices, and masks of what is there."""
    name, operands = node.operator.name, node.operands
    if name == "index":  # what makes places of indices
        return ()
    if name == "assigned":
        operands = operands[: len(operands) - node.attr("key").count(INDEX)]
    if name == "where":  # also what an assignment by a mask is
        chosen = tuple(o for o in operands[1:] if isinstance(o, Value))
        if any(value.id in there for value in chosen):
            return chosen
    return tuple(o for o in operands if isinstance(o, Value))
