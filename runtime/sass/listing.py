"""A disassembled kernel as data: instructions, operands, scheduling bits.

An instruction has 128 bits from sm_70 on.  From bit 105 on lie, as public disassemblers of Volta
found: 4 bits of stall, 1 of yield, 3 for the barrier that is set when the result is written, 3 for
the one that is set when operands were read (7 is none), and 6 for the barriers waited for.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

from opweave.opcodes.errors import UnsupportedError

FIRST = re.compile(r"\s*/\*([0-9a-f]{4,})\*/\s+(.*?)\s*;\s*/\* 0x([0-9a-f]{16}) \*/")
SECOND = re.compile(r"\s*/\* 0x([0-9a-f]{16}) \*/")
LABEL = re.compile(r"(\.?[\w$.]+):\s*$")
LINE = re.compile(r'\s*//## File "[^"]*", line (\d+)')
TEXT = re.compile(r"(?:@(!?)(U?P[0-6T]) )?([A-Z][A-Z0-9_]*)((?:\.[\w]+)*)\s*(.*)")
# As in "-R4.64", "|R2|", "~UR3", "!P0", "c[0x0][R2+0x160]".
REGISTER = re.compile(r"([-~!|]*)(U?[RP])(\d+|Z|T)\b\|?((?:\.\w+)*)$")
CONSTANT = re.compile(r"([-~|]*)c\[(0x[0-9a-f]+)\]\[(.*?)\]\|?((?:\.\w+)*)$")
NUMBER = re.compile(r"(-?)(0x[0-9a-f]+|\d+)$")
TARGET = re.compile(r"`\((.*)\)$")
RZ, UNIFORM, PT, UPT = 255, 256, 7, 15
NO_BARRIER = 7


class Control(NamedTuple):
    """Scheduling bits: cycles of stall, barriers set and waited for."""

    stall: int
    written: int
    read: int
    waits: int


@dataclass(frozen=True)
class SassOperand:
    """One operand.

    Attributes:
        kind: "r" (register), "p" (predicate), "c" (constant bank), "i" (number), "m" (memory),
            "t" (target of a branch), "s" (special register, or anything else).
        index: register; uniform ones begin at 256, uniform predicates at 8.
        value: the number, or the offset in a constant bank or of an address.
        sign: "-", "~", "!" or "".
        suffixes: such as ``X4`` or ``64``.
        parts: registers of an address.
        text: as written.
    """

    kind: str
    text: str
    index: int = RZ
    value: int = 0
    sign: str = ""
    suffixes: tuple[str, ...] = ()
    parts: tuple[SassOperand, ...] = ()


@dataclass(frozen=True)
class SassInstruction:
    """One instruction.

    Attributes:
        address: bytes from the beginning of the kernel.
        guard: its predicate; None for always.
        root, modifiers: ``LDG`` and ``("E", "128", "CONSTANT")``.
        line: of the kernel's source, 0 where unknown.
    """

    address: int
    text: str
    guard: SassOperand | None
    root: str
    modifiers: tuple[str, ...]
    operands: tuple[SassOperand, ...]
    control: Control
    line: int = 0

    @property
    def opcode(self) -> str:
        return ".".join((self.root, *self.modifiers))


@dataclass(frozen=True)
class Listing:
    """The instructions of one kernel and of what it calls, and where its labels stand."""

    name: str
    instructions: tuple[SassInstruction, ...]
    labels: dict[str, int]


def split(text: str) -> list[str]:
    """Operands of an instruction; a comma inside of brackets belongs to one of them.

    >>> split("R2 `(softmax_row_f32)"), split("R4, [R2.64+0x10]")
    (['R2', '`(softmax_row_f32)'], ['R4', '[R2.64+0x10]'])
    """
    parts = re.split(r",(?![^\[(]*[\])])|\s(?=`)", text)
    return [part.strip() for part in parts if part.strip()]


def operand(text: str) -> SassOperand:
    """One operand.

    >>> operand("-R4.reuse").index, operand("-R4.reuse").sign
    (4, '-')
    """
    text = text.replace(".reuse", "")
    if found := REGISTER.match(text):
        sign, kind, number, suffixes = found.groups()
        base = (UNIFORM if kind == "UR" else 8) if kind[0] == "U" else 0
        last = PT if kind[-1] == "P" else RZ
        index = base + (last if number in "ZT" else int(number))
        return SassOperand(kind[-1].lower(), text, index, sign=sign, suffixes=_suffixes(suffixes))
    if found := NUMBER.match(text):
        value = int(found[2], 0)
        return SassOperand("i", text, value=-value if found[1] else value)
    if found := CONSTANT.match(text):
        at, parts = _address(found[3])
        bank = int(found[2], 16)
        return SassOperand("c", text, bank, at, found[1], _suffixes(found[4]), parts)
    if found := TARGET.match(text):
        return SassOperand("t", found[1])
    if text.endswith("]") and "[" in text:
        at, parts = _address(text[text.rindex("[") + 1 : -1])
        return SassOperand("m", text, value=at, parts=parts)
    return SassOperand("s", text)


def _suffixes(text: str) -> tuple[str, ...]:
    return tuple(filter(None, text.split(".")))


def _address(text: str) -> tuple[int, tuple[SassOperand, ...]]:
    """The offset and the registers of ``R2.64+UR4+0x10``."""
    parts = [operand(p) for p in re.sub(r"\+-", "+-", text).split("+") if p]
    registers = tuple(p for p in parts if p.kind != "i" and p.index not in (RZ, UNIFORM + RZ))
    return sum(p.value for p in parts if p.kind == "i"), registers


def instruction(address: int, text: str, upper: int, line: int = 0) -> SassInstruction:
    """One instruction from its text and the upper half of its bits.

    Raises:
        UnsupportedError: not the text of an instruction.
    """
    found = TEXT.match(text)
    if found is None:
        raise UnsupportedError(f"SASS at {address:#06x} is not understood: {text}")
    negated, guard, root, modifiers, rest = found.groups()
    bits = upper >> 41
    control = Control(bits & 15, bits >> 5 & 7, bits >> 8 & 7, bits >> 11 & 63)
    return SassInstruction(
        address,
        text,
        operand(f"{negated}{guard}") if guard else None,
        root,
        _suffixes(modifiers),
        tuple(map(operand, split(rest))),
        control,
        line,
    )


def parse(text: str, name: str) -> Listing:
    """The kernel of a name, from ``nvdisasm -c -ndf -hex``, with ``-gi`` for lines.

    Raises:
        UnsupportedError: there is no such kernel, or a line is not understood.
    """
    section = re.search(rf"^\.text\.{re.escape(name)}:\s*$(.*?)(?=^//-----|\Z)", text, re.M | re.S)
    if section is None:
        raise UnsupportedError(f"the disassembly has no kernel {name}")
    instructions: list[SassInstruction] = []
    labels: dict[str, int] = {name: 0}
    pending: tuple[int, str] | None = None
    line = 0
    for row in section[1].splitlines():
        if found := FIRST.match(row):
            pending = int(found[1], 16), found[2]
        elif pending and (found := SECOND.match(row)):
            instructions.append(instruction(*pending, int(found[1], 16), line))
            pending = None
        elif found := LINE.match(row):
            line = int(found[1])  # of inlined calls the outermost, the kernel's own, comes last
        elif found := LABEL.match(row):
            labels[found[1]] = len(instructions)
    return Listing(name, tuple(instructions), labels)
