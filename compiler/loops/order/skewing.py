"""Rows that wait for themselves: several are computed side by side.

for i in range(1, n):                                   8 rows at once, each some columns behind
    for j in range(1, m):                               the one above it:
        u[i, j] = f(u[i - 1, j], u[i, j - 1])     ->        for t: for r: u[i + r, t - r] = ...

A row of a Gauss-Seidel sweep, of a table of dynamic programming or of a recurrence, and a sum that
is built up along a row, is one chain of numbers, each of which waits for the one before it.  A
processor computes several such chains in the time of one.  This is loop skewing (M. Wolfe, "Loop
skewing: the wavefront method revisited", 1986), of some rows at a time; where rows have nothing of
each other, unroll-and-jam.  Each element is still computed of the same numbers in the same order,
so to the same bits, as long as arrays that are written to have no second name.  What is asked of a
round is asked before, for all of them, as in hoisting.py.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import product

from opweave.compiler.lines.indexing import Region
from opweave.compiler.loops.order.blocks import (
    begins_with,
    declared_in,
    end_of,
    indented,
    line_of,
    mentions,
    words_of,
)
from opweave.compiler.loops.order.hoisting import quickened
from opweave.compiler.loops.order.nests import Nest, Offset, nest_of, places_of
from opweave.compiler.loops.order.sharing import ArrayUses, is_by_rounds, varies

# Rows at a time, and the most lines of a round, of which there are as many.  A sweep of five
# elements took 3.9 ns for each by one row, 3.6, 1.8, 1.7 and 1.4 by 2, 4, 6 and 8 (an AMD EPYC).
ROWS, LONGEST = 8, 60
# What a row may be behind the one above it; and how far back the element of its own lies that it
# waits for: of one further back the compiler of C computes several at once.
MOST_BEHIND, MOST_CHAIN = 8, 3
# Types of which C keeps the order of sums.
FLOATS = ("float", "double", "complex64", "complex128", "float16", "bfloat16")
# What rows side by side do not have: another end, an error, and what is not their own; and in
# their columns branches, since one that was foretold wrongly would hold up all rows.
NEVER = re.compile(r"\b(LOOP_\w+|return|break|continue|watch|made)\b")
BRANCH = re.compile(r"^(if|else)\b")
# An element that is looked at.
ELEMENT = re.compile(r"\b(?:load|store)\((\w+)")
# A line that parts one section from the next.
PART = "// -"


# Lines of a row before its columns, at each, and behind them.
Parts = Sequence[Sequence[str]]


class Skewing:
    """Finds such loops in the lines of a function, and puts rows of them side by side."""

    def __init__(self, variables: Mapping[str, str], alone: Collection[str], arrays: ArrayUses):
        """As of ``Sharing``."""
        self.variables, self.alone, self.arrays = variables, frozenset(alone), arrays
        self._used = frozenset[str]()

    def skewed(self, texts: Sequence[str]) -> list[str]:
        """The lines of a function, with rows side by side."""
        lines = [line_of(text) for text in texts]
        self._used = frozenset(self.variables).union(*(line.words for line in lines))
        made: list[str] = []
        at = 0
        while at < len(texts):
            end = end_of(lines, at)
            nest = nest_of(lines[at : end + 1], texts[at : end + 1]) if end > at + 1 else None
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
        is_short = sum(bool(line.words) for line in nest.lines) <= LONGEST
        own = self._own(nest) if is_short else None
        behind = None if own is None else self._behind(nest, own)
        if own is None or behind is None:
            return []
        parted = [*nest.before.texts, PART, *nest.body.texts, PART, *nest.after.texts]
        quick = quickened([line_of(text) for text in parted], parted, nest.ends(ROWS))
        code = [line.text for line in map(line_of, quick.lines) if line.words]
        first, second = (n for n, text in enumerate(quick.lines) if text == PART)
        body = quick.lines[first + 1 : second]
        if any(map(NEVER.search, code)) or any(BRANCH.search(text.lstrip()) for text in body):
            return []
        begin, end = quick.lines[:first], quick.lines[second + 1 :]
        return self._written(nest, behind, [begin, body, end], own, quick.asked)

    def _written(
        self, nest: Nest, behind: int, parts: Parts, own: Sequence[str], asked: Sequence[str]
    ) -> list[str]:
        """The lines of rows side by side."""
        i, first, last = nest.row, nest.first, nest.last
        by = f"loop_skewed<{ROWS}, {behind}>({i}, {first}, {last}, [&](const int64 {i}) OW_INLINED"
        is_long = f"loop_skews<{ROWS}, {behind}>({i}, {nest.rows}, {first}, {last})"
        return [
            f"// {ROWS} rows side by side, each {behind} columns behind the one above it",
            f"if ({' && '.join([is_long, *asked])}) {{",
            *indented(
                f"LOOP_TICK({ROWS} * ({last} - ({first}) + 1));",
                f"{by} {{",
                *indented(*parts[0], *self._row(nest, parts, own)),
                "});",
                f"{i} += {ROWS - 1};",
                "continue;",
            ),
            "}",
        ]

    def _row(self, nest: Nest, parts: Parts, own: Sequence[str]) -> list[str]:
        """The lines of what computes a column of a row, or ends it."""
        _, body, end = parts
        left = [name for name in own if name in self.variables]
        captured = ["&", nest.row, *(f"&{self._left}{v} = {v}" for v in left)]
        captured += [f"{v} = {v}" for v in own]
        leaves = [*end, *(f"{self._left}{v} = {v};" for v in left)]
        ends = ["if constexpr (!is_column) {", *indented(*leaves, "return;"), "}"]
        ends = ends if leaves else ["if constexpr (!is_column) return;"]
        head = f"(auto is_column, const int64 {nest.column}) OW_INLINED_MUTABLE {{"
        return [f"return [{', '.join(captured)}]{head}", *indented(*ends, *body), "};"]

    @property
    def _left(self) -> str:
        """What names begin with that stand for the variables of the whole function."""
        found = "left_"
        while any(name.startswith(found) for name in self._used):
            found += "_"
        return found

    def _own(self, nest: Nest) -> list[str] | None:
        """What each row has for itself: what it gives a value before its columns, or keeps for
        what is behind them. None where a row begins with what another one left."""
        before, body, after = nest.sections
        used = before.used | body.used | after.used
        bounds = words_of(f"{nest.rows} {nest.first} {nest.last}")
        assigned = before.assigned | body.assigned | after.assigned
        if used & self.alone or bounds & nest.changing or not self._are_of_the_call(nest):
            return None
        if not assigned <= declared_in(nest.lines) | {*self.variables}:
            return None
        own = sorted(declared_in(before.lines) & (body.used | after.used))
        for name in filter(used.__contains__, self.variables):
            if self.variables[name] == "LoopRoom":
                return None
            where = [name in section.used for section in nest.sections]
            if name not in assigned or where in ([True, False, False], [False, False, True]):
                continue  # sections of the same kind run in the order of rows
            is_early, is_here = name in before.assigned, name in body.assigned
            if self.variables[name].endswith("*") or not begins_with(nest.lines, name):
                return None
            if is_here and not is_early and not begins_with(body.lines, name):
                return None
            if is_early or where[2]:
                own.append(name)
        return own

    def _are_of_the_call(self, nest: Nest) -> bool:
        """Whether all that is looked at are elements of the call's arrays, by their own names: a
        pointer of another name may point into one that is written to."""
        known = self.arrays.given.keys()
        code = " ".join(line.text for line in nest.lines if line.words)
        elements = set(ELEMENT.findall(code))
        others = words_of(ELEMENT.sub("", code))
        pointers = {name for name, kind in self.variables.items() if kind.endswith("*")}
        makes_arrays = any("[" in line.text for line in nest.before.lines if line.words)
        return elements <= known and not others & (known | pointers) and not makes_arrays

    def _behind(self, nest: Nest, own: Collection[str]) -> int | None:
        """How many columns a row is behind the one above it; None where nothing waits for what a
        row computed before, or the lines do not say."""
        behind = 0
        waits = any(
            name in own and self.variables.get(name) in FLOATS and not begins_with(body, name)
            for body in [nest.body.lines]
            for name in nest.body.assigned
        )
        for name in self._targets(nest):
            regions = self._regions(nest, name)
            if regions is None:
                return None
            places = places_of(regions, nest)
            are_in_body = name not in nest.before.used | nest.after.used
            if places is not None and are_in_body:
                needs = _needs(places)
                waits, behind = waits or needs[1], max(behind, needs[0])
            elif not is_by_rounds(regions, nest.row, nest.changing, self.arrays.are_below):
                return None
            else:
                waits = waits or self._adds_up(nest, name)
        return behind if waits and behind <= MOST_BEHIND else None

    def _targets(self, nest: Nest) -> list[str]:
        """Arrays that are written to; but for those seen before columns alone, or behind them
        alone, which rows do in their order."""
        names = {n for line in nest.lines for n in re.findall(r"\bstore\((\w+)", line.text)}
        names |= {n for line in nest.lines for n in line.words} & {*self.arrays.written}
        found = []
        for name in sorted(names):
            uses = [each for line in nest.lines for each in mentions(line, name)]
            where = [name in section.used for section in nest.sections]
            if all(is_read for is_read, _ in uses):
                continue
            if where not in ([True, False, False], [False, False, True]):
                found.append(name)
        return found

    def _regions(self, nest: Nest, name: str) -> list[tuple[bool, Region]] | None:
        """What is looked at of an array of the call; None of another one."""
        if name not in self.arrays.given:
            return None
        uses = [each for line in nest.lines for each in mentions(line, name)]
        return [(is_read, r) for is_read, text in uses for r in self.arrays.regions(text)]

    def _adds_up(self, nest: Nest, name: str) -> bool:
        """Whether columns of a row change one number of an array, one after the other."""
        if self.arrays.given[name].rstrip("*") not in FLOATS:
            return False
        uses = [each for line in nest.body.lines for each in mentions(line, name)]
        regions = [r for _, text in uses for r in self.arrays.regions(text) if r is not None]
        is_changed = {is_read for is_read, _ in uses} == {True, False}
        changing = nest.changing - {nest.row}
        return is_changed and not any(varies(f, changing) for r in regions for f, _ in r)


def _needs(places: Collection[Offset]) -> tuple[int, bool]:
    """How far behind the row above a row has to be, and whether an element waits for its row."""
    behind, waits = 0, False
    for written, other in product(places, places):
        if written.is_read:
            continue
        rows, columns = written.row - other.row, written.column - other.column
        if rows < 0:
            rows, columns = -rows, -columns
        if rows:  # what comes first in rounds in order does so here
            behind = max(behind, -columns // rows + 1)
        waits |= not rows and other.is_read and 0 < columns <= MOST_CHAIN
    return behind, waits
