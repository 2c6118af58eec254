"""Which arrays of a graph NumPy may lay out otherwise than row by row, as kernels do.

NumPy's ufuncs keep the order of their operands: a sum of transposed arrays lies column by column.
Nobody sees that in a kernel.  Who is given the array does: ``y.reshape(-1)`` is a view or a copy.
"""

from __future__ import annotations

from opweave.compiler.ir.graph import FunctionGraph, Input, Node
from opweave.compiler.ir.values import Value
from opweave.opcodes.core import Kind

# Layouts of arguments whose order is that of rows: of "s" nothing is known but that it is long.
MOST_STRIDED = 1


def out_of_rows(graph: FunctionGraph) -> frozenset[int]:
    """The ids of values that may not lie row by row where NumPy computes them.

    A value of one dimension lies in rows, and so does a product of matrices.  What is made of no
    array, as by ``zeros_like``, may follow any array that does not.
    """
    found = {i.value.id for i in graph.inputs if not _is_in_rows(i)}
    makers = {result.id: node for node in graph.nodes for result in node.results}
    turned = any(map(_turns, graph.nodes)) or bool(found)
    for node in graph.nodes:
        given = [value for value in node.values if _is_wide(value)]
        follows = turned if not given else any(value.id in found for value in given)
        if _turns(node) or _takes_columns(node, makers) or follows:
            found |= {r.id for r in node.results if _is_wide(r) and not _is_matrix(node, r)}
    return frozenset(found)


def _is_wide(value: Value) -> bool:
    """Whether it has an order: two dimensions, or more, that are not of extent 1."""
    return sum(extent != 1 for extent in value.shape) > 1


def _is_matrix(node: Node, result: Value) -> bool:
    """Whether it is a product of two matrices, which NumPy stores row by row."""
    return node.operator.kind is Kind.CONTRACT and len(result.shape) == 2


def _is_in_rows(given: Input) -> bool:
    """Whether an argument is known to have longer strides before shorter ones."""
    letters = given.layout.replace("b", "")
    is_known = letters.endswith("u") and letters.count("s") <= MOST_STRIDED
    return not _is_wide(given.value) or letters == "C" or is_known


def _turns(node: Node) -> bool:
    """Whether it is a view with its operand's dimensions in another order."""
    if not node.is_view or node.operator.name != "view":
        return False
    axes = [axis for axis in node.attr("axes") if axis is not None]
    return axes != sorted(axes)


def _takes_columns(node: Node, makers: dict[int, Node]) -> bool:
    """Whether an index array stands behind a whole dimension: its own come first in memory."""
    names = [makers[v.id].operator.name for v in node.pointwise if v.id in makers]
    is_gather = node.operator.tables > 0 and "coordinate" in names and "index" in names
    return is_gather and "index" in names[names.index("coordinate") :]
