"""Two loops, one within the other, as lines of C: what a row does before, in and behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from opweave.compiler.lines.indexing import Region
from opweave.compiler.loops.order.blocks import (
    HEAD,
    TICK,
    CodeLine,
    assigned_in,
    declared_in,
    end_of,
    line_of,
    words_in,
)
from opweave.compiler.loops.order.hoisting import OTHERS, dedented


class Section(NamedTuple):
    """Lines, and their texts without the indentation that they have in common."""

    lines: Sequence[CodeLine]
    texts: Sequence[str]

    @property
    def used(self) -> frozenset[str]:
        return words_in(self.lines)

    @property
    def assigned(self) -> set[str]:
        return assigned_in(self.lines)


class Nest(NamedTuple):
    """A loop over rows, with a loop over columns in it.

    Attributes:
        row, column: counters.
        rows: C text of where the loop over rows ends.
        first, last: C texts of the first column, and of where columns end.
        before, body, after: what a row does before its columns, at each, and behind them.
        head: how many lines stand in front of a row's own.
    """

    row: str
    column: str
    rows: str
    first: str
    last: str
    before: Section
    body: Section
    after: Section
    head: int

    @property
    def sections(self) -> tuple[Section, Section, Section]:
        return self.before, self.body, self.after

    @property
    def lines(self) -> list[CodeLine]:
        return [line for section in self.sections for line in section.lines]

    @property
    def changing(self) -> set[str]:
        """Names of what is another thing in another round."""
        return assigned_in(self.lines) | declared_in(self.lines) | {self.row, self.column}

    @property
    def begin(self) -> str:
        """C text of the first column within a sum or a product."""
        return self.first if self.first.isalnum() else f"({self.first})"

    def ends(self, rows: int) -> dict[str, tuple[str, str]]:
        """C texts of both counters in the first and in the last round of so many rows."""
        last_row = f"({self.row} + {rows - 1})"
        return {self.row: (self.row, last_row), self.column: (self.begin, f"({self.last} - 1)")}


def nest_of(lines: Sequence[CodeLine], texts: Sequence[str]) -> Nest | None:
    """The nest that lines are; None if they are none, or do more than compute."""
    outer, depth = HEAD.fullmatch(lines[0].text), lines[0].depth
    head = 1 + lines[1].text.startswith("LOOP_PAUSE(")
    at = next((n for n in range(1, len(lines)) if lines[n].text.startswith("for ")), 0)
    inner = HEAD.fullmatch(lines[at].text) if at else None
    if outer is None or inner is None or lines[at].depth != depth + 1:
        return None
    end = end_of(lines, at)
    if lines[head].text != TICK or lines[at + 1].text != TICK:
        return None
    before = [n for n in range(head + 1, at) if not lines[n].text.startswith("// for ")]
    body, after = range(at + 2, end), range(end + 1, len(lines) - 1)
    if any(OTHERS.search(lines[n].text) for n in (*before, *body, *after)):
        return None
    before_texts = dedented([texts[n] for n in before], depth + 1)
    body_texts = dedented([texts[n] for n in body], depth + 2)
    after_texts = dedented([texts[n] for n in after], depth + 1)
    return Nest(
        outer[1], inner[1], outer[3], inner[2], inner[3],
        Section([*map(line_of, before_texts)], before_texts),
        Section([*map(line_of, body_texts)], body_texts),
        Section([*map(line_of, after_texts)], after_texts),
        head,
    )  # fmt: skip


class Offset(NamedTuple):
    """An element of an array, counted from the one at both counters."""

    is_read: bool
    row: int
    column: int


def places_of(regions: Sequence[tuple[bool, Region]], nest: Nest) -> set[Offset] | None:
    """Elements by their distances from the one at both counters; None where they have none."""
    known = [region for _, region in regions if region is not None]
    if len(known) < len(regions) or not known or len({len(region) for region in known}) > 1:
        return None
    axes = dict[str, int]()
    for axis, along in enumerate(zip(*known, strict=True)):
        terms = {first.terms for first, _ in along}
        found = {name for name, _ in next(iter(terms))} & nest.changing
        if any(first != last for first, last in along) or len(terms) > 1 or len(found) > 1:
            return None
        for name in found:
            if name in axes or (name, 1) not in next(iter(terms)):
                return None
            axes[name] = axis
    if {*axes} != {nest.row, nest.column}:
        return None
    row, column = axes[nest.row], axes[nest.column]
    return {
        Offset(is_read, region[row][0].constant, region[column][0].constant)
        for is_read, region in regions
        if region is not None
    }
