"""What g++ makes vectors of: choices and truth values in a form that it has vectors for."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import Scalar, Value
from opweave.opcodes.dtypes import DType

# Of two truth values, or of one: what takes integers in their place.
LOGICAL = ("bitwise_and", "bitwise_or", "logical_and", "logical_or")
TRUTHS = (*LOGICAL, "invert", "logical_not", "where")
INTEGERS = {4: "int", 8: "int64"}  # registers


def chooses_by_row(node: Node, row_level: Collection[int]) -> bool:
    """A choice between elements by what is the same in all of a row: it has no branch.

    g++ has no vectors for a condition that does not depend on the loop.  It makes a loop for each
    outcome instead, where the loop is short.
    """
    if node.operator.name != "where" or node.result.dtype.is_complex:
        return False
    by = node.operands[0]
    is_same = isinstance(by, Scalar) or by.id in row_level
    return is_same and node.result.id not in row_level


def wide_truths(nodes: Sequence[Node], given: Sequence[Value]) -> dict[int, str]:
    """Types of the registers of truth values that are loaded beside numbers, by their ids.

    A truth value from memory is a byte, a comparison of doubles has a lane as wide as theirs: for
    what follows from both g++ 12 has no vectors, unless the byte is loaded as an integer as wide.
    """
    made = {value.id for node in nodes for value in node.results}
    sizes = {v.dtype.itemsize for n in nodes for v in (*n.results, *n.values) if _is_number(v)}
    register = INTEGERS.get(max(sizes, default=0), "")
    found = {}
    for value in given if register else ():
        readers = [node for node in nodes if value in node.values]
        meets = any(
            n.operator.name in LOGICAL and any(v.id in made for v in n.values) for n in readers
        )
        if value.dtype.kind == "b" and meets and all(_asks_truth(n, value) for n in readers):
            found[value.id] = register
    return found


def _is_number(value: Value) -> bool:
    dtype: DType = value.dtype
    return dtype.kind != "b" and not dtype.is_complex


def _asks_truth(node: Node, value: Value) -> bool:
    """Whether a node asks for nothing but the truth of a value."""
    chosen = node.operands[1:] if node.operator.name == "where" else ()
    return node.operator.name in TRUTHS and value not in chosen and value not in node.tables
