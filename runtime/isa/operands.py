"""Operands of PTX text, and the scopes that their names lie in."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from opweave.opcodes.errors import PtxSyntaxError, UnknownInstructionError
from opweave.runtime.isa.instruction import (
    Address,
    Function,
    Immediate,
    Instruction,
    Name,
    Not,
    PtxVariable,
    ResultPair,
    Vector,
)
from opweave.runtime.isa.lexer import PtxToken, Words

Renamed = Callable[[str], str]


def integer(token: PtxToken) -> int:
    """A number without a fraction.

    Raises:
        PtxSyntaxError: it is none.
    """
    try:
        return int(token.text.rstrip("U"), 0 if token.text[:1] == "0" and token.text[1:] else 10)
    except ValueError:
        if token.text.rstrip("U").isdigit():  # octal
            return int(token.text.rstrip("U"), 8)
        raise PtxSyntaxError(
            f"PTX line {token.line}: expected an integer, found {token.text!r}"
        ) from None


def operand(words: Words, renamed: Renamed, opcode: PtxToken) -> Any:
    """The next operand of an instruction.

    Raises:
        PtxSyntaxError: it follows no form that an operand has.
        UnknownInstructionError: an address with coordinates, of tensors.
    """
    if words.found("{") or words.next == "(":
        return _vector(words, renamed, opcode)
    if words.found("["):
        base = operand(words, renamed, opcode)
        if words.next == ",":
            raise UnknownInstructionError(
                f"PTX line {opcode.line}: {opcode.text}: addresses with coordinates are not "
                "executed"
            )
        words.expect("]")
        if isinstance(base, Name):
            return Address(Name(base.text), base.offset)
        return Address(base, 0)
    if words.found("!"):
        return Not(Name(renamed(words.take().text)))
    made = _simple(words, renamed)
    if words.found("|"):
        return ResultPair(made, _simple(words, renamed))
    return made


def _vector(words: Words, renamed: Renamed, opcode: PtxToken) -> Vector:
    end = ")" if words.found("(") else "}"
    parts = []
    while not words.found(end):
        parts.append(operand(words, renamed, opcode))
        words.found(",")
    return Vector(tuple(parts))


def _simple(words: Words, renamed: Renamed) -> Name | Immediate:
    sign = -1 if words.found("-") else 1
    token = words.take()
    if token.kind == "number":
        return _number(token, sign)
    if token.kind != "word":
        raise PtxSyntaxError(f"PTX line {token.line}: {token.text!r} is no operand")
    offset = 0
    while words.next in ("+", "-"):
        by = -1 if words.take().text == "-" else 1
        by *= -1 if words.found("-") else 1
        offset += by * integer(words.take())
    return Name(renamed(token.text), offset)


def _number(token: PtxToken, sign: int) -> Immediate:
    text = token.text
    if text[:2] in ("0f", "0F"):
        return Immediate("f32", int(text[2:], 16) ^ (1 << 31 if sign < 0 else 0))
    if text[:2] in ("0d", "0D"):
        return Immediate("f64", int(text[2:], 16) ^ (1 << 63 if sign < 0 else 0))
    if "." in text:
        return Immediate("f64", int.from_bytes(struct.pack("<d", sign * float(text)), "little"))
    return Immediate("int", sign * integer(token))


class NameScopes:
    """Names by braces: an inner ``{ .reg .pred p; }`` declares another ``p``."""

    def __init__(self, function: Function):
        self.function = function
        self.depth = 0
        self._count = 0
        self._open: list[tuple[str, dict[str, str]]] = [("", {})]
        self._labels: dict[tuple[str, str], int] = {}
        self._paths: list[tuple[str, ...]] = []

    def open(self) -> None:
        self._note()
        self._count += 1
        self._open.append((f"@{self._count}", {}))
        self.depth += 1

    def close(self) -> None:
        self._note()
        self._open.pop()
        self.depth -= 1

    def _note(self) -> None:
        """Instructions so far that have no path lie in the scopes that are open now."""
        missing = len(self.function.code) - len(self._paths)
        self._paths += [tuple(key for key, _ in self._open)] * missing

    def _declare(self, name: str) -> str:
        key, names = self._open[-1]
        names[name] = name + key
        return name + key

    def register(self, name: str, kind: str) -> None:
        """Declare a register."""
        self.function.registers[self._declare(name)] = kind

    def variable(self, made: PtxVariable) -> PtxVariable:
        """Declare a variable; returns it with its own name."""
        return replace(made, name=self._declare(made.name))

    def label(self, name: str) -> None:
        """A label at the next instruction."""
        self._labels[self._open[-1][0], name] = len(self.function.code)

    def name(self, text: str) -> str:
        """What a name stands for here."""
        for _, names in reversed(self._open):
            if text in names:
                return names[text]
        return text

    def resolved(self, code: list[Instruction]) -> list[Instruction]:
        """The code with each branch to the label of its own scope."""
        self._note()
        for (key, name), at in self._labels.items():
            self.function.labels[name + key] = at
        return [
            self._branched(one, path) if one.root in ("bra", "brx") else one
            for one, path in zip(code, self._paths, strict=True)
        ]

    def _branched(self, one: Instruction, path: tuple[str, ...]) -> Instruction:
        target = one.operands[0]
        for key in reversed(path):
            if isinstance(target, Name) and (key, target.text) in self._labels:
                return replace(one, operands=(Name(target.text + key),))
        raise PtxSyntaxError(f"PTX line {one.line}: {one.opcode}: there is no such label")
