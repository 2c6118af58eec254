"""Joins: choices between operands by the row or the column, made of whole chunks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from opweave.compiler.codegen.operands import Key
from opweave.compiler.codegen.tables import TableReads
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import Operand, Scalar, Value, is_zero
from opweave.compiler.kernels.blocks import columns_of, run_of
from opweave.compiler.kernels.kernel_parts import Joined, OperandLoad
from opweave.compiler.kernels.layout import Access
from opweave.compiler.kernels.needs import Needs

# Joins that a chunk passes through; beyond, choices element by element are done before.
MOST_JOINS = 4


class JoinedReads(TableReads):
    """Where a group chooses between operands as a whole: for a row, or from a column on."""

    def _in_chunks(self, node: Node, needs: Needs, number: int) -> bool:
        """Note what a pass reads a node's elements from, chunk by chunk; False: computes them."""
        if (turned := self._turned(node)) is not None:
            needs.windows[:0] = turned[0]
            needs.joined.insert(0, turned[1])
        elif (window := self._window(node)) is not None:
            needs.windows.insert(0, window)
        elif joined := self._joined_windows(node):
            needs.joined[:0] = joined
            needs.read(node.values[1:], number)
        else:
            return False
        return True

    def _window(
        self, node: Node, places: Sequence[Operand] = (), number: int = 0
    ) -> OperandLoad | None:
        """Of a choice by the row, too."""
        return super()._window(node, places, number) if node.tables else self._picked(node)

    def _picked(self, node: Node) -> OperandLoad | None:
        """The load of a choice, by the row alone, of operands that lie alike, else None.

        np.stack([x, y])  ->  load_chunk(window0[c], (row == 0 ? x : y) + j0, cols - j0);
        """
        found = None if self.form.kind != "map" or self.edited else self._pointer(node.result)
        if found is None or node.result.id in self.form.kept:
            return None
        return OperandLoad(f"({found[0]})", self._register(node), node.result.dtype, found[1])

    def _is_whole(self, node: Node) -> bool:
        """Whether its elements may be joined of chunks."""
        is_plain = not self.edited and self.device.is_host and self.form.kind == "map"
        return is_plain and node.result.id not in self.form.kept

    def _turned(self, node: Node) -> tuple[list[OperandLoad], Joined] | None:
        """The windows of a gather whose place is chosen by the column, and their join; else None.

        x[j < s ? j - s + n : j - s]  ->  join_chunks(window0[c], window1[c], s - j0);
        """
        places = [*node.operands[node.operator.tables :]]
        runs = [d for d, place in enumerate(places) if not self.along_row(place)]
        if not node.tables or not runs or not self._is_whole(node):
            return None
        choice = self._choice(places[runs[0]])
        if choice is None or len(choice[0]) > 1:
            return None
        ((count, is_behind),), *sides = choice
        loads = []
        for number, side in enumerate(sides):
            places[runs[0]] = side
            load = self._window(node, places, number) if run_of(self.makers, side) else None
            if load is None or load.access.kind != "window":
                return None
            loads.append(load)
        first, second = (load.register for load in loads)
        return loads, Joined(first, second, count, is_behind)

    def _choice(self, value: Operand) -> tuple[list[tuple[str, bool]], Operand, Operand] | None:
        """Which elements of a chunk are of the first of two sides, and the sides; else None."""
        node = self.makers.get(value.id) if isinstance(value, Value) else None
        if node is None or node.operator.name != "where":
            return None
        condition, one, other = node.operands
        found = self._ends(condition)
        return None if found is None else (found, one, other)

    def _joined_windows(self, node: Node) -> list[Joined]:
        """The joins of a choice by the column, of runs that nothing else reads; none of others.

        where(j < n, x[j], y[j - n])             ->  join_chunks(window0[c], window1[c], n - j0);
        where(~(j < n) & (j < m), x[j - n], 0)   ->  join_behind(window0[c], n - j0);
                                                     join_chunks(window0[c], m - j0);
        """
        choice = self._choice(node.result) if self._is_whole(node) else None
        if choice is None or not self._is_short(node.result):
            return []
        ends, one, other = choice
        first = self._chunk_of(one)
        second = "" if is_zero(other) else self._chunk_of(other)
        if first is None or second is None:
            return []
        self.windows[node.result.id, 0] = first
        return [Joined(first, second, count, is_behind) for count, is_behind in ends]

    def _is_short(self, value: Operand) -> bool:
        """Whether a chunk of a value passes through few joins."""
        joins, waiting = 0, [value]
        while waiting and joins <= MOST_JOINS:
            if (choice := self._choice(waiting.pop())) is not None:
                joins += len(choice[0])
                waiting += choice[1:]
        return joins <= MOST_JOINS

    def _chunk_of(self, value: Operand) -> str | None:
        """The registers of a window, or of joined ones, that one node reads; else None."""
        node = self.makers.get(value.id) if isinstance(value, Value) else None
        if node is None or not isinstance(value, Value) or len(self.graph.users[value.id]) > 1:
            return None
        if value in self.group.outputs:
            return None
        if not node.tables:
            joined = self._joined_windows(node)
        elif (turned := self._turned(node)) is not None:
            joined = [turned[1]]
        else:
            window = self._window(node)
            return window.register if window and window.access.kind == "window" else None
        return joined[0].register if joined else None

    def _ends(self, condition: Operand) -> list[tuple[str, bool]] | None:
        """Text of how many elements of a chunk come before each end of where a condition holds.

        With each, whether it holds behind; None for another condition.
        """
        if (count := self._before(condition)) is not None:
            return [(count, False)]
        node = self.makers.get(condition.id) if isinstance(condition, Value) else None
        if node is not None and node.operator.name == "invert":
            count = self._before(node.operands[0])
            return None if count is None else [(count, True)]
        if node is None or node.operator.name != "bitwise_and":
            return None
        first, second = map(self._ends, node.operands)
        return None if first is None or second is None else [*first, *second]

    def _before(self, condition: Operand) -> str | None:
        """Text of how many elements of a chunk come before one from which a condition is false."""
        if self.along_row(condition):
            return f"{self.text(condition, False)} ? VECTOR : 0"
        node = self.makers.get(condition.id) if isinstance(condition, Value) else None
        if node is None or node.operator.name != "less":
            return None
        place, end = node.operands
        if not isinstance(end, Scalar):
            return None
        number, start = self.text(end, False), self._run(place)
        if start is None:
            columns = columns_of(self.walk)
            row = self._row_of(columns) if len(columns) > 1 else ""
            start = self._run(place, columns[0], row) if row else None
            number = number if number == "0" else f"(index_t){number} * {row}"
        if start is None:
            return None
        shift = start.removeprefix(" - ")
        is_plain = number == "0" and start == f" - {shift}" and not {"+", "-"} & {*shift.split()}
        return f"{shift} - j0" if is_plain else f"{number} - (j0{start})"

    def _row_of(self, columns: Sequence[int]) -> str:
        """How many elements lie between two that are neighbours along the first of these."""
        extents = (self.form.space[dim] for dim in columns[1:])
        return " * ".join(str(e) if isinstance(e, int) else self._extent_of(e) for e in extents)

    def _pointer(self, value: Operand) -> tuple[str, Access] | None:
        """Text of where a row of a value begins in memory, and how it lies; None: it computes."""
        if isinstance(value, Scalar):
            return None
        if (key := Key(value.id)) in self.operands:
            found = self.access[key]
            begin = " + ".join(filter(None, (self.operands[key].name, found.base)))
            return (begin, replace(found, base="")) if found.kind == "chunk" else None
        node = self.makers.get(value.id)
        if node is None or node.operator.name != "where":
            return None
        condition, *items = node.operands
        place, sides = self._row_is(condition), [self._pointer(item) for item in items]
        known = [side for side in sides if side is not None]
        if place is None or len(known) < 2:
            return None
        (first, how), (other, as_well) = known
        aligned = how.rows_aligned and as_well.rows_aligned
        how = replace(how, rows_aligned=aligned)
        if how != replace(as_well, rows_aligned=aligned, strides=how.strides):
            return None
        return f"{place} ? {first} : {other}", how

    def _row_is(self, condition: Operand) -> str | None:
        """Text of the comparison of a row's place with a number, else None."""
        node = None if isinstance(condition, Scalar) else self.makers.get(condition.id)
        if node is None or node.operator.name != "equal":
            return None
        of, number = node.operands
        if isinstance(of, Scalar) or not isinstance(number, Scalar):
            return None
        made = self.makers.get(of.id)
        if made is None or not made.is_coordinate or self.places[of.id].kind != "splat":
            return None
        base = self.places[of.id].at("", "")
        return f"{f'({base})' if ' ' in base else base} == {self.text(number, False)}"
