"""A form of an instruction: its modifiers, each of which somebody has to understand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from opweave.opcodes.errors import UnknownInstructionError
from opweave.runtime.isa.instruction import TYPES, Array, Instruction


@dataclass(frozen=True)
class Operation:
    """What an instruction computes from registers alone.

    Attributes:
        sources: PTX types as which the operands behind the results are read.
        results: PTX types of the results.
        compute: arrays of the sources' dtypes to a new array, or to a tuple of them; the first
            extent of each is 1 (a value that all threads share) or the number of threads.
        approximate: hardware gives less exact results than this.
    """

    sources: tuple[str, ...]
    results: tuple[str, ...]
    compute: Callable[..., Any]
    approximate: bool = False


class InstructionForm:
    """The modifiers of an instruction; what is taken is understood, what is left is refused."""

    def __init__(self, instruction: Instruction):
        self.instruction = instruction
        self._left = list(instruction.modifiers)

    def unknown(self, why: str = "") -> UnknownInstructionError:
        """The error of a form that is not executed."""
        one = self.instruction
        text = f"PTX line {one.line}: {one.opcode} is not executed"
        error = UnknownInstructionError(f"{text}{f': {why}' if why else ''}; see docs/ptx.md")
        error.at(one.opcode, one.line, "")
        return error

    def flag(self, name: str) -> bool:
        """Take a modifier if it is there."""
        if name not in self._left:
            return False
        self._left.remove(name)
        return True

    def one_of(self, names: Iterable[str], default: str | None = None) -> str:
        """Take the one of these that is there.

        Raises:
            UnknownInstructionError: none is, and there is no default.
        """
        for name in names:
            if self.flag(name):
                return name
        if default is None:
            raise self.unknown()
        return default

    def drop(self, starts: tuple[str, ...]) -> None:
        """Take all modifiers that begin so: hints, which change no result."""
        self._left = [m for m in self._left if not m.startswith(starts)]

    def type(self, allowed: str = "") -> str:
        """Take the last modifier, a type; ``allowed`` are names between spaces.

        Raises:
            UnknownInstructionError: it is no type, or none of these.
        """
        kind = self._left.pop() if self._left else ""
        if kind not in TYPES or (allowed and kind not in allowed.split()):
            raise self.unknown()
        return kind

    def finish(self) -> None:
        """Hold the form to have no modifier that nobody has taken.

        Raises:
            UnknownInstructionError: names the instruction.
        """
        if self._left:
            raise self.unknown(f"nobody knows what .{self._left[0]} means here")


Row = Callable[[InstructionForm], Operation]


def same(function: Callable[..., Array], count: int, types: str) -> Row:
    """A row whose operands and result have the one type that the instruction names."""

    def row(form: InstructionForm) -> Operation:
        kind = form.type(types)
        return Operation((kind,) * count, (kind,), function)

    return row


def size_of(kind: str) -> int:
    """Bits of a type."""
    return TYPES[kind].itemsize * 8
