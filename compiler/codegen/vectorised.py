"""What g++ makes vectors of: choices and truth values in a form that it has vectors for.

And rows of which a kernel changes no element: written in place, they need no work.

    u[:n] *= 2      out = where(row < n, u * 2, u): nothing to do where row >= n and out is u

Whether a result lies where an operand does is known when a call is made, and is asked there.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from opweave.compiler.codegen.operands import Key
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.running import running_type
from opweave.compiler.ir.values import Operand, Scalar, Value
from opweave.opcodes.operators.places import finds_place

if TYPE_CHECKING:
    from opweave.compiler.codegen.assembler import Assembler

# Of two truth values, or of one: what takes integers in their place.
TRUTHS = (
    "bitwise_and", "bitwise_or", "logical_and", "logical_or", "invert", "logical_not", "where",
)  # fmt: skip
TOGETHER = ("logical_and", "bitwise_and")  # what holds where all of them do
WIDE = "int64"  # a register
NARROW = ("int8", "uint8", "int16", "uint16")  # registers


def chooses_elements(reduced: Sequence[Node]) -> bool:
    """Whether reductions take each element of a chunk and choose whether it counts.

    What a branch writes is a masked store to a CPU, which waits for that before it loads again.
    Over a choice between narrow numbers g++ 12 fails; but passes that find places run by whole
    chunks, without a choice.
    """
    if any(finds_place(node.operator) for node in reduced):
        return True
    return bool(reduced) and not any(running_type(n).register in NARROW for n in reduced)


def chosen_by(node: Node, row_level: Collection[int]) -> str:
    """The function by which a choice between elements is one of registers; "" for ``? :``.

    g++ has no vectors for a condition that does not depend on the loop.  It makes a loop for each
    outcome instead, where the loop is short.  Nor has it any for a choice between two structs.
    """
    if node.operator.name != "where":
        return ""
    dtype, by = node.result.dtype, node.operands[0]
    if dtype.is_complex:
        return "chosen"
    is_same = isinstance(by, Scalar) or by.id in row_level
    varies = is_same and node.result.id not in row_level
    return f"select_by_row<{dtype.register}>" if varies else ""


def wide_truths(nodes: Sequence[Node], given: Sequence[Value]) -> dict[int, str]:
    """Types of the registers of truth values that are loaded and choose, by their ids.

    A truth value from memory is a byte, of which g++ 12 has no vectors that choose between eight
    bytes, unless it is loaded as an integer as wide.
    """
    chooses = any(n.operator.name == "where" and n.result.dtype.itemsize == 8 for n in nodes)
    return {
        value.id: WIDE
        for value in given
        if chooses
        and value.dtype.kind == "b"
        and all(_asks_truth(n, value) for n in nodes if value in n.values)
    }


def _asks_truth(node: Node, value: Value) -> bool:
    """Whether a node asks for nothing but the truth of a value."""
    chosen = node.operands[1:] if node.operator.name == "where" else ()
    return node.operator.name in TRUTHS and value not in chosen and value not in node.tables


def keeps_before(node: Node) -> Value | None:
    """The array like its result of which a choice keeps some elements."""
    before = node.operands[-1] if node.operator.name == "where" else None
    return before if isinstance(before, Value) and before.type == node.result.type else None


def untouched(made: Assembler) -> str:
    """The condition under which a row stays as it is, given the lines before it; "" for never."""
    if not made.device.is_host or any(node.operator.notes_faults for node in made.nodes):
        return ""
    makers = {r.id: node for node in made.nodes for r in node.results}
    found = [_unchanged(made, makers, value) for value in made.group.outputs]
    return "" if None in found else " && ".join(dict.fromkeys(t for t in found if t))


def _unchanged(made: Assembler, makers: Mapping[int, Node], output: Value) -> str | None:
    """Likewise of one result; None for never."""
    tests, value = list[str](), output
    while (node := makers.get(value.id)) is not None:
        before = keeps_before(node)
        test = " && ".join(_row_tests(made, makers, node.operands[0]))
        if before is None or not test:
            return None
        tests.append(f"!({test})" if " " in test else f"!{test}")
        value = before
    operand = made.operands.get(Key(value.id))
    if not tests or operand is None or operand.layout != "C":
        return None
    result = made.operands[Key(output.id, False, True)]
    return " && ".join([f"{result.name} == {operand.name}", *tests])


def _row_tests(made: Assembler, makers: Mapping[int, Node], condition: Operand) -> Iterator[str]:
    """What must hold of a row for a condition to hold of one of its elements."""
    node = makers.get(condition.id) if isinstance(condition, Value) else None
    if isinstance(condition, Value) and condition.id in made.row_level:
        yield made.text(condition, False)
    elif node is not None and node.operator.name in TOGETHER:
        for operand in node.operands:
            yield from _row_tests(made, makers, operand)
