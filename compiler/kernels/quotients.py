"""Quotients of a chunk by a value of its row, which are made before its other op-codes.

On a GPU a division of float32 takes ten instructions, of which a branch and its two ends look for
numbers at the ends of the range.  ``divide_chunk`` in ``templates/rows.cuh`` takes four for each
number, and one branch for all of a chunk.  What a dividend follows from is computed in a loop of
its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from opweave.compiler.kernels.read_first import columns_of
from opweave.opcodes.tokens import rename, tokens

if TYPE_CHECKING:
    from opweave.compiler.kernels.kernel_parts import Line, Pass


# How a line ends that reads what an earlier pass has kept.
KEPT = "_kept[c][l];"


class Division(NamedTuple):
    """Texts of both operands, of one element and of the row."""

    dividend: str
    divisor: str


@dataclass(frozen=True)
class Quotients:
    """One division of a chunk.

    Attributes:
        line: what divides one element.
        lines: what the dividend follows from.
    """

    line: Line
    lines: tuple[Line, ...]
    of: Division

    @property
    def name(self) -> str:
        """Of the quotient of one element."""
        return self.line.results[0]

    @property
    def register(self) -> str:
        """The quotients of a chunk."""
        return f"{self.name}_chunk"

    @property
    def dividends(self) -> str:
        """The registers that have the dividends of a chunk as they are, "" for none."""
        registers, _, index = self.of.dividend.rpartition("[")
        return registers if index == "l]" else ""

    def index(self, end: str) -> list[str]:
        """The column of an element, and whether the array has it, as far as lines ask."""
        return columns_of(self.lines, end)


def listed(quotients: Sequence[Quotients], lines: Sequence[Line]) -> tuple[Line, ...]:
    """The op-codes of a pass, each once."""
    before = (line for made in quotients for line in (*made.lines, made.line))
    return tuple(dict.fromkeys((*before, *lines)))


def by_chunks(step: Pass, divisions: Mapping[str, Division]) -> Pass:
    """A pass whose divisions are made a chunk at a time.

    Args:
        divisions: by the name of the quotient of one element.
    """
    found: list[Quotients] = []
    lines: list[Line] = []
    names: dict[str, str] = {}
    for line in step.lines:
        division = divisions.get(line.results[0]) if line.results else None
        if division is None or line.text.endswith(KEPT):
            lines.append(_renamed(line, names))
            continue
        kept = {x.results: x.text for x in lines if x.text.endswith(KEPT)}
        text = kept.get((division.dividend,), "= " + rename(division.dividend, names))
        of = division._replace(dividend=text.partition("= ")[2].rstrip(";"))
        found.append(Quotients(_renamed(line, names), _needed(lines, tokens(of.dividend)), of))
        names[found[-1].name] = f"{found[-1].register}[l]"
    made = replace(step, lines=tuple(lines), quotients=tuple(found))
    return _read_there(made, names) if found else step


def _read_there(step: Pass, names: dict[str, str]) -> Pass:
    """A pass that reads quotients in the registers of their chunks, without unneeded lines."""
    stores = tuple(replace(s, value=rename(s.value, names)) for s in step.stores)
    keeps = tuple(replace(k, value=rename(k.value, names)) for k in step.keeps)
    reductions = [replace(r, accumulate=_renamed(r.accumulate, names)) for r in step.reductions]
    asked = [s.value for s in stores] + [k.value for k in keeps]
    asked += [r.accumulate.text for r in reductions]
    lines = _needed(step.lines, [token for text in asked for token in tokens(text)])
    return replace(step, lines=lines, stores=stores, keeps=keeps, reductions=tuple(reductions))


def _renamed(line: Line, names: dict[str, str]) -> Line:
    return replace(line, text=rename(line.text, names)) if names else line


def _needed(lines: Sequence[Line], asked: Sequence[str]) -> tuple[Line, ...]:
    """The lines that something asked for follows from, in order."""
    needed = set(asked)
    found: list[Line] = []
    for line in reversed(lines):
        if needed & set(line.results):
            found.insert(0, line)
            needed |= set(tokens(line.text))
    return tuple(found)
