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

from opweave.compiler.loops.order.blocks import (
    CodeLine,
    begins_with,
    declared_in,
    indented,
    line_of,
    rewritten,
    stored_to,
    words_in,
    words_of,
)
from opweave.compiler.loops.order.choices import without_branches
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
# their columns branches that are no choices: one that was foretold wrongly holds up all rows.
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
        self._used = words_in([line_of(text) for text in texts]) | self.variables.keys()

        def others(lines: Sequence[CodeLine], at: int, end: int) -> list[str]:
            own = texts[at : end + 1]
            nest = nest_of(lines[at : end + 1], own)
            rows = [] if nest is None else self._rows(nest)
            if nest is None or not rows:
                return []
            inside = indented(*rows, by=lines[at].depth + 1)
            return [*own[: nest.head], *inside, *own[nest.head :]]

        return rewritten(texts, others)

    def _rows(self, nest: Nest) -> list[str]:
        """Rows side by side; nothing where that is not the same, or no faster."""
        is_short = sum(bool(line.words) for line in nest.lines) <= LONGEST
        own = self._own(nest) if is_short else None
        behind = None if own is None else self._behind(nest)
        if own is None or behind is None or not self._waits(nest, own):
            return []
        parted = [*nest.before.texts, PART, *nest.body.texts, PART, *nest.after.texts]
        quick = quickened([line_of(text) for text in parted], parted, nest.ends(ROWS))
        code = [line.text for line in map(line_of, quick.lines) if line.words]
        first, second = (n for n, text in enumerate(quick.lines) if text == PART)
        body = without_branches(quick.lines[first + 1 : second], self.variables)
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
        columns = f"{behind} column{'s' * (behind > 1)}"
        how = f", each {columns} behind the one above it" if behind else ""
        return [
            f"// {ROWS} rows side by side{how}",
            f"if ({' && '.join([is_long, *asked])}) {{",
            *indented(
                f"LOOP_TICK({ROWS} * ({last} - {nest.begin} + 1));",
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
            where = [name in section.used for section in nest.sections]
            if name not in assigned or where in ([True, False, False], [False, False, True]):
                continue  # sections of the same kind run in the order of rows
            if not begins_with(nest.lines, name):
                return None
            if name in before.assigned or where[2]:
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

    def _behind(self, nest: Nest) -> int | None:
        """How many columns a row is behind the one above it, which has by then what it reads; None
        where rows have more of each other, or the lines do not say."""
        behind = 0
        for name in self._targets(nest):
            if (places := self._places(nest, name)) is not None:
                behind = max(behind, _distance(places))
                continue
            uses = self.arrays.uses(nest.lines, name)
            if not is_by_rounds(uses, nest.row, nest.changing, self.arrays.are_below):
                return None
        return behind if behind <= MOST_BEHIND else None

    def _waits(self, nest: Nest, own: Collection[str]) -> bool:
        """Whether a number waits for the one before it in its row; where none does, the compiler
        of C computes several columns at once."""
        lines = nest.body.lines
        floats = (n for n in nest.body.assigned if self.variables.get(n) in FLOATS and n in own)
        return any(not begins_with(lines, name) for name in floats) or any(
            self._adds_up(nest, name) or _is_chain(self._places(nest, name) or ())
            for name in self._targets(nest)
        )

    def _targets(self, nest: Nest) -> list[str]:
        """Arrays that are written to; but for those seen before columns alone, or behind them
        alone, which rows do in their order."""
        names = sorted(stored_to(nest.lines))
        where = {n: [n in section.used for section in nest.sections] for n in names}
        return [n for n in names if where[n] not in ([True, False, False], [False, False, True])]

    def _places(self, nest: Nest, name: str) -> set[Offset] | None:
        """What is looked at of an array, where all of it is counted from a column's element."""
        return places_of(self.arrays.uses(nest.lines, name), nest)

    def _adds_up(self, nest: Nest, name: str) -> bool:
        """Whether columns of a row change one number of an array, one after the other."""
        uses = self.arrays.uses(nest.body.lines, name)
        regions = [region for _, region in uses if region is not None]
        is_float = self.arrays.given[name].rstrip("*") in FLOATS
        is_changed = {is_read for is_read, _ in uses} == {True, False}
        changing = nest.changing - {nest.row}
        is_one = not any(varies(first, changing) for r in regions for first, _ in r)
        return is_float and is_changed and is_one


def _distance(places: Collection[Offset]) -> int:
    """How far behind the row above it a row has to be: of two rounds in other rows, one of which
    writes what the other looks at, the first comes first here too, by a column at least."""
    found = (
        (other.column - written.column) // (written.row - other.row) + 1
        for written, other in product(places, places)
        if not written.is_read and written.row != other.row
    )
    return max(found, default=0)


def _is_chain(places: Collection[Offset]) -> bool:
    """Whether an element is computed of one that lies a few columns before it."""
    return any(
        other.is_read
        and not written.is_read
        and written.row == other.row
        and 0 < written.column - other.column <= MOST_CHAIN
        for written, other in product(places, places)
    )
