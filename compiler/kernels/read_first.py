"""Elements that a host reads one by one are read first, in a loop of their own.

    for l: v1 = left_by(j, n); v2 = read_at(x, v1); v3 = exp(v2); out[l] = v3     all one by one

    for l: v1 = left_by(j, n); v2 = read_at(x, v1); v2_v[l] = v2                  one by one
    for l: v2 = v2_v[l]; v3 = exp(v2); out[l] = v3                                in vectors

g++ and clang make vectors of a loop as a whole or not at all.  Of few additions the second loop
gains less than what it stores and loads again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from opweave.opcodes.tokens import tokens

if TYPE_CHECKING:
    from opweave.compiler.kernels.kernel_parts import Line

# Reads of single elements, by the function that they call.
READS = {"read_at"}
# Operations of an operator that pays for a loop of its own, such as a special function.
HEAVY = 8
DEFINED = re.compile(r"const (\w+) (\w+) = [^;]*;")


def names_column(lines: Sequence[Line]) -> bool:
    """Whether lines name the column ``j``, or note faults of elements that are ``here``."""
    return any({"j", "index_of"} & set(tokens(line.text)) for line in lines)


def notes_faults(lines: Sequence[Line]) -> bool:
    """Whether lines note indices that have no element."""
    return any("index_of" in tokens(line.text) for line in lines)


def columns_of(lines: Sequence[Line], end: str) -> list[str]:
    """The column of an element, and whether the array has it, as far as lines ask."""
    column = ["const index_t j = j0 + l;"] if names_column(lines) else []
    return [*column, *([f"const bool here = j < {end};"] if notes_faults(lines) else [])]


class Crossing(NamedTuple):
    """A register that the second loop takes from the first one."""

    ctype: str
    name: str

    @property
    def array(self) -> str:
        return f"{self.name}_v"


@dataclass(frozen=True)
class ReadFirst:
    """The lines of two loops."""

    reads: tuple[Line, ...]
    crossing: tuple[Crossing, ...]
    rest: tuple[Line, ...]

    def index(self, end: str) -> list[str]:
        """What the second loop asks of the column."""
        return columns_of(self.rest, end)


def read_first(lines: Sequence[Line], stored: Sequence[str]) -> ReadFirst | None:
    """Two loops of one; None where there is nothing to read, or little to compute.

    Args:
        stored: texts of the results.
    """
    words = [set(tokens(line.text)) for line in lines]
    makers = {name: n for n, line in enumerate(lines) for name in line.results}
    asked = [n for n, used in enumerate(words) if used & READS]
    first = set[int]()
    while asked:
        first.add(n := asked.pop())
        asked += {makers[w] for w in words[n] if w in makers} - first
    rest = [n for n in range(len(lines)) if n not in first]
    if not first or not any(lines[n].slots >= HEAVY for n in rest):
        return None
    later = set().union(*(words[n] for n in rest), *(tokens(text) for text in stored))
    found = [DEFINED.fullmatch(lines[n].text) for n in sorted(first)]
    if not all(found):
        return None
    crossing = (Crossing(m[1], m[2]) for m in found if m and m[2] in later)
    return ReadFirst(
        tuple(lines[n] for n in sorted(first)), tuple(crossing), tuple(lines[n] for n in rest)
    )
