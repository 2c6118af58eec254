"""Rows that wait for themselves: several are computed side by side.

for i in range(1, n):                                   8 rows at once, each some columns behind
    for j in range(1, m):                               the one above it:
        u[i, j] = f(u[i - 1, j], u[i, j - 1])     ->        for t: for r: u[i + r, t - r] = ...

A row of a Gauss-Seidel sweep, of a table of dynamic programming or of a recurrence is one chain of
numbers, each of which waits for the one before it.  A processor computes several such chains in
the time of one.  This is loop skewing (M. Wolfe, "Loop skewing: the wavefront method revisited",
1986), of some rows at a time.  Each element is still computed of the same numbers, so to the same
bits.  What is asked of a round is asked before, for all of them, as in hoisting.py.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import product
from typing import NamedTuple

from opweave.compiler.lines.indexing import Region
from opweave.compiler.loops.blocks import (
    HEAD,
    TICK,
    CodeLine,
    assigned_in,
    begins_with,
    declared_in,
    end_of,
    indented,
    line_of,
    mentions,
    words_in,
    words_of,
)
from opweave.compiler.loops.hoisting import OTHERS, dedented, quickened
from opweave.compiler.loops.sharing import ArrayUses

# Rows at a time, and the most lines of a round, of which there are as many.  A sweep of five
# elements took 3.9 ns for each by one row, 3.6, 1.8, 1.7 and 1.4 by 2, 4, 6 and 8 (an AMD EPYC).
ROWS, LONGEST = 8, 60
# What a row may be behind the one above it; and how far back the element of its own lies that it
# waits for: of one further back the compiler of C computes several at once.
MOST_BEHIND, MOST_CHAIN = 8, 3
# What a round does not have: another end, an error, what is not its own; and branches, since one
# that was foretold wrongly would hold up all rows.
NEVER = re.compile(r"\b(if|LOOP_\w+|return|break|continue|watch|made)\b")


class Nest(NamedTuple):
    """Two loops, the outer of which does nothing behind the inner one.

    Attributes:
        outer, inner: counters.
        rounds: C text of where the outer one ends; the others are bounds of the inner one.
        before: what an outer round does before the inner loop.
        body: what an inner round does.
        texts: of all these lines, without their indentation.
        head: how many lines stand in front of the outer round's own.
    """

    outer: str
    inner: str
    rounds: str
    first: str
    last: str
    before: Sequence[CodeLine]
    body: Sequence[CodeLine]
    texts: Sequence[str]
    head: int

    @property
    def changing(self) -> set[str]:
        """Names of what is another thing in another round."""
        lines = [*self.before, *self.body]
        return assigned_in(lines) | declared_in(lines) | {self.outer, self.inner}

    @property
    def ends(self) -> dict[str, tuple[str, str]]:
        """C texts of both counters in the first and in the last of the rounds side by side."""
        first = self.first if self.first.isalnum() else f"({self.first})"
        last_row = f"({self.outer} + {ROWS - 1})"
        return {self.outer: (self.outer, last_row), self.inner: (first, f"({self.last} - 1)")}


class Place(NamedTuple):
    """An element of an array, counted from the one at both counters."""

    is_read: bool
    row: int
    column: int


class Skewing:
    """Finds such loops in the lines of a function, and puts rows of them side by side."""

    def __init__(self, variables: Mapping[str, str], alone: Collection[str], arrays: ArrayUses):
        """As of ``Sharing``."""
        self.variables, self.alone, self.arrays = variables, frozenset(alone), arrays
        self._count = 0

    def skewed(self, texts: Sequence[str]) -> list[str]:
        """The lines of a function, with rows side by side."""
        lines = [line_of(text) for text in texts]
        made: list[str] = []
        at = 0
        while at < len(texts):
            end = end_of(lines, at)
            nest = _nest(lines[at : end + 1], texts[at : end + 1]) if end > at else None
            rows = [] if nest is None else self._rows(nest)
            if nest is None or not rows:
                made.append(texts[at])
                at += 1
            else:
                inside = at + nest.head
                made += [*texts[at:inside], *indented(*rows, by=lines[at].depth + 1)]
                made += texts[inside : end + 1]
                at = end + 1
        return made

    def _rows(self, nest: Nest) -> list[str]:
        """Rows side by side; nothing where that is not the same, or no faster."""
        lines = [*nest.before, *nest.body]
        is_short = sum(bool(line.words) for line in lines) <= LONGEST
        behind = self._behind(nest) if is_short and self._are_own(nest) else None
        if behind is None:
            return []
        quick = quickened(lines, nest.texts, nest.ends)
        if any(line.words and NEVER.search(line.text) for line in map(line_of, quick.lines)):
            return []
        i, j, first, last = nest.outer, nest.inner, nest.first, nest.last
        name, self._count = f"row{self._count}", self._count + 1
        is_long = f"loop_skews<{ROWS}, {behind}>({i}, {nest.rounds}, {first}, {last})"
        return [
            f"// {ROWS} rows side by side, each {behind} columns behind the one above it",
            f"if ({' && '.join([is_long, *quick.asked])}) {{",
            *indented(
                f"LOOP_TICK({ROWS} * ({last} - ({first}) + 1));",
                f"const auto {name} = [&](const int64 {i}, const int64 {j}) OW_INLINED {{",
                *indented(*quick.lines),
                "};",
                f"loop_skewed<{ROWS}, {behind}>({name}, {i}, {first}, {last});",
                f"{i} += {ROWS - 1};",
                "continue;",
            ),
            "}",
        ]

    def _are_own(self, nest: Nest) -> bool:
        """Whether every round has its variables anew."""
        lines = [*nest.before, *nest.body]
        used, assigned, early = words_in(lines), assigned_in(lines), assigned_in(nest.before)
        bounds = words_of(f"{nest.rounds} {nest.first} {nest.last}")
        if used & self.alone or bounds & nest.changing:
            return False
        if not assigned <= declared_in(lines) | {*self.variables}:
            return False
        for name in filter(assigned.__contains__, self.variables):
            begins = begins_with(nest.before if name in early else nest.body, name)
            if not begins or self.variables[name].endswith("*"):
                return False
        kinds = {self.variables[name] for name in filter(used.__contains__, self.variables)}
        return "LoopRoom" not in kinds and not early & assigned_in(nest.body)

    def _behind(self, nest: Nest) -> int | None:
        """How many columns a row is behind the one above it; None where no element waits for one
        of its row, or the lines do not say."""
        lines = [*nest.before, *nest.body]
        behind, waits = 0, False
        for places in self._written(lines, nest):
            if places is None:
                return None
            for written, other in product(places, places):
                if written.is_read:
                    continue
                rows, columns = written.row - other.row, written.column - other.column
                if rows < 0:
                    rows, columns = -rows, -columns
                if rows:  # what comes first in rounds in order does so here
                    behind = max(behind, -columns // rows + 1)
                waits |= not rows and other.is_read and 0 < columns <= MOST_CHAIN
        return behind if waits and behind <= MOST_BEHIND else None

    def _written(self, lines: Sequence[CodeLine], nest: Nest) -> Iterator[set[Place] | None]:
        """Of each array that is written to the places that are looked at; None: not known."""
        names = {name for line in lines for name in re.findall(r"\bstore\((\w+)", line.text)}
        names |= words_in(lines) & {*self.arrays.written}
        for name in names:
            found = [each for line in lines for each in mentions(line, name)]
            if all(is_read for is_read, _ in found):
                continue
            regions = [(is_read, r) for is_read, text in found for r in self.arrays.regions(text)]
            yield _places(regions, nest) if name in self.arrays.given else None


def _nest(lines: Sequence[CodeLine], texts: Sequence[str]) -> Nest | None:
    """The loop that lines are, if it is of this kind."""
    outer, depth = HEAD.fullmatch(lines[0].text), lines[0].depth
    head = 1 + lines[1].text.startswith("LOOP_PAUSE(")
    at = next((n for n in range(1, len(lines)) if lines[n].text.startswith("for ")), 0)
    inner = HEAD.fullmatch(lines[at].text) if at else None
    if outer is None or inner is None or end_of(lines, at) != len(lines) - 2:
        return None
    if lines[head].text != TICK or lines[at + 1].text != TICK or lines[at].depth != depth + 1:
        return None
    before = [n for n in range(head + 1, at) if lines[n].words]
    body = range(at + 2, len(lines) - 2)
    if any(OTHERS.search(lines[n].text) for n in (*before, *body)):
        return None
    own = [*dedented([texts[n] for n in before], depth + 1)]
    own += dedented([texts[n] for n in body], depth + 2)
    counters = outer[1], inner[1], outer[3], inner[2], inner[3]
    return Nest(*counters, [lines[n] for n in before], [lines[n] for n in body], own, head)


def _places(regions: Sequence[tuple[bool, Region]], nest: Nest) -> set[Place] | None:
    """Elements by their distances from the one at both counters; None where they have none."""
    known = [region for _, region in regions if region is not None]
    if len(known) < len(regions) or not known or len({len(region) for region in known}) > 1:
        return None
    axes = dict[str, int]()
    for axis, along in enumerate(zip(*known, strict=True)):
        if any(first != last for first, last in along):
            return None
        terms = {first.terms for first, _ in along}
        found = {name for name, _ in next(iter(terms))} & nest.changing
        if len(terms) > 1 or len(found) > 1:
            return None
        for name in found:
            if name in axes or (name, 1) not in next(iter(terms)):
                return None
            axes[name] = axis
    if {*axes} != {nest.outer, nest.inner}:
        return None
    row, column = axes[nest.outer], axes[nest.inner]
    return {
        Place(is_read, region[row][0].constant, region[column][0].constant)
        for is_read, region in regions
        if region is not None
    }
