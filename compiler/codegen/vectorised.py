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

TRUTHS = ("bitwise_and", "bitwise_or", "logical_and", "logical_or", "invert", "logical_not")
TOGETHER = ("logical_and", "bitwise_and")  # what holds where all of them do
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


def chosen_by(made: Assembler, node: Node) -> str:
    """The function by which a choice between elements is one of registers; "" for ``? :``.

    g++ has no vectors for a condition that does not depend on the loop: it makes a loop for each
    outcome instead, where the loop is short.  It has none for a choice between two structs, and in
    a short loop none for one between eight bytes by truth values from memory.  Of two elements as
    they were read, C++ chooses the place, of which clang has no vectors.
    """
    if node.operator.name != "where":
        return ""
    dtype, by, choices = node.result.dtype, node.operands[0], node.operands[1:]
    if dtype.is_complex:
        return "chosen"
    is_same = isinstance(by, Scalar) or by.id in made.row_level
    varies = is_same and node.result.id not in made.row_level
    if varies or (dtype.itemsize == 8 and isinstance(by, Value) and by.id in made.read_truths):
        return f"select_bits<{dtype.register}>"
    return "chosen" if all(choice in made.group.inputs for choice in choices) else ""


def read_truths(nodes: Sequence[Node], read: Collection[Value]) -> set[int]:
    """The ids of truth values that are ``read``, or made of such alone."""
    found = {value.id for value in read if value.dtype.kind == "b"}
    for node in nodes:
        if node.operator.name in TRUTHS and all(v.id in found for v in node.values):
            found |= {r.id for r in node.results}
    return found


def truths_from(value: Value) -> str:
    """The type of the registers that a truth value is stored from, "" for another value's own.

    A loop that mixes comparisons with truth values from memory, and fills registers of bool, has
    no vectors by g++ 12, and takes up to ten times as long as with bytes.
    """
    return "uint8" if value.dtype.kind == "b" else ""


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
