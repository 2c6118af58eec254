"""Tables: operands that a kernel reads at computed places, element by element or as windows.

Where a row of the walk reads a run of consecutive places, the table is read in chunks as any
other operand: a *window*.  All that the run depends on is a value of the row.  Other places that
follow from the columns (clipped at an edge, or taken modulo the extent) are runs in most chunks:
on the host each chunk finds out whether its places are one.
"""

from __future__ import annotations

from dataclasses import replace

from opweave.compiler.codegen.lines import Table
from opweave.compiler.codegen.operands import Key, Setting
from opweave.compiler.codegen.registers import Registers
from opweave.compiler.codegen.short_numbers import Range, ranges
from opweave.compiler.codegen.vectorised import keeps_before
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import Operand, Scalar, Symbol, Value
from opweave.compiler.kernels.kernel_parts import Joined, Line, OperandLoad
from opweave.compiler.kernels.layout import Access, Places
from opweave.compiler.kernels.param import Param
from opweave.compiler.kernels.walks import Operand as ArrayOperand
from opweave.compiler.kernels.walks import Stride
from opweave.opcodes.cached import cached_property
from opweave.opcodes.codes import Phase

# Operators that shift the places of a run, and how.
SHIFTS = {"add": "+", "subtract": "-"}
# Operators of which places are made before the elements, so that these can be read in chunks.
MOST_OF_PLACES = 16


class TableReads(Registers):
    """How a group reads its tables, and which of its values are the same along a row."""

    def __init__(self, setting: Setting, number: int):
        super().__init__(setting, number)
        self.table_strides: dict[str, Stride] = {}
        self.table_extents: dict[str, Param] = {}
        self.makers = {r.id: node for node in self.nodes for r in node.results}
        self.places_of: dict[int, Places] = {}  # by the id of the places
        self.row_level = set(self.form.row_values)
        asks = self.form.kind in ("map", "scan_columns") and (self.tables or self._keeps_some())
        if asks and self.walk.outer:
            stored = {v.id for v in self.group.outputs}
            for node in self.nodes:
                if self._is_row_level(node) and not node.is_scan and node.result.id not in stored:
                    self.row_level.add(node.result.id)

    @property
    def edited(self) -> bool:
        """An op-code of a user's stands in the place of one of the template, or a step repeats.

        What these read and write they do so element by element, and each one once.
        """
        return bool(self.placed) or self.graph.repeated

    @cached_property
    def ranges(self) -> dict[int, Range]:
        """By its id what a float lies between."""
        return ranges(self.nodes)

    def _keeps_some(self) -> bool:
        """Whether a host's map takes elements of its results as they were, maybe in whole rows."""
        nodes = (self.makers.get(v.id) for v in self.group.outputs)
        return self.device.is_host and any(
            node is not None and keeps_before(node) is not None for node in nodes
        )

    def _is_row_level(self, node: Node) -> bool:
        if node.is_coordinate:
            return self.places[node.result.id].kind == "splat"
        return bool(node.pointwise) and all(map(self.along_row, node.pointwise))

    def along_row(self, operand: Operand) -> bool:
        """True for what is the same along a row."""
        if isinstance(operand, Scalar) or operand.id in self.row_level:
            return True
        found = self.access.get(Key(operand.id))
        return found is not None and found.kind == "splat"

    def _table_read(self, node: Node) -> Table:
        """The table of a gather, with an extent and a stride for each of its axes."""
        operand = self.tables[node.tables[0].id]
        shape = operand.value.shape
        strides = ["" if e == 1 else self._table_stride(operand, d) for d, e in enumerate(shape)]
        extents = [str(e) if isinstance(e, int) else self._extent_of(e) for e in shape]
        return Table(operand.name, tuple(extents), tuple(strides))

    def _table_stride(self, operand: ArrayOperand, own: int) -> str:
        if operand.has_unit_stride(own):
            return "1"
        made = operand.stride(own)
        self.table_strides[made.name] = made
        return made.name

    def _extent_of(self, extent: Symbol) -> str:
        self.table_extents[str(extent)] = Param("extent", str(extent), "index_t", (extent,))
        return str(extent)

    def _window(self, node: Node) -> OperandLoad | None:
        """The load of a gather whose places along one axis follow the columns, else None.

        So is that of a choice which a row makes between operands.
        """
        if not node.tables:
            return self._picked(node)
        places = node.operands[node.operator.tables :]
        runs = [d for d, place in enumerate(places) if not self.along_row(place)]
        found = self._along(places[runs[0]]) if len(runs) == 1 else None
        if found is None:
            return None
        kind, start = found
        (run,) = runs
        kept = node.result.id in self.form.kept
        table = self._table_read(node)
        known = [(d, self.text(p, kept)) for d, p in enumerate(places) if d != run]
        inside = " & ".join(f"is_inside({t}, {table.extents[d]})" for d, t in known)
        terms = [
            f"(index_t){t}" if table.strides[d] == "1" else f"(index_t){t} * {table.strides[d]}"
            for d, t in known
            if table.strides[d]
        ]
        extent = table.extents[run]
        access = Access(
            kind,
            " + ".join(terms),
            table.strides[run] or "1",
            extent=f"{inside} ? {extent} : 0" if inside else extent,
            start=start,
        )
        register = self.windows.setdefault(node.result.id, f"window{len(self.windows)}")
        late = any(self.form.levels.get(v.id, 0) for v in node.pointwise)
        return OperandLoad(table.pointer, register, node.result.dtype, access, late)

    def _along(self, operand: Operand) -> tuple[str, str] | None:
        """How a table is read along the columns, and where from, see ``Access``; else None."""
        start = self._run(operand)
        if start is not None:
            return "window", start
        if self.edited or not self.device.is_host or self.form.kind != "map":
            return None
        nodes = self._of_columns(operand)
        if nodes is None:
            return None
        assert isinstance(operand, Value)
        if operand.id not in self.places_of:
            lines = [line.source for n in nodes for line in self._bind(n, Phase.INDEX)]
            name = self._fresh(f"places{len(self.places_of)}")
            self.places_of[operand.id] = Places(name, tuple(lines), self.names[operand.id])
        return "places", self.places_of[operand.id].name

    def _bind(self, node: Node, phase: Phase) -> list[Line]:
        """The lines of a node: one for each op-code."""
        raise NotImplementedError  # Assembler has it

    def _of_columns(self, operand: Operand) -> list[Node] | None:
        """The nodes that make places of columns and of what a row has once, else None."""
        found: set[int] = set()
        waiting = [operand]
        while waiting:
            item = waiting.pop()
            if self.along_row(item) or (isinstance(item, Value) and item.id in found):
                continue
            node = self.makers.get(item.id) if isinstance(item, Value) else None
            if node is None or len(found) == MOST_OF_PLACES or not _is_of_columns(node):
                return None
            found.add(node.result.id)
            waiting += [] if node.is_coordinate else node.operands
        return [n for n in self.nodes if n.result.id in found]

    def _picked(self, node: Node) -> OperandLoad | None:
        """The load of a choice, by the row alone, of operands that lie alike, else None.

        np.stack([x, y])  ->  load_chunk(window0[c], (row == 0 ? x : y) + j0, cols - j0);
        """
        found = None if self.form.kind != "map" or self.edited else self._pointer(node.result)
        if found is None or node.result.id in self.form.kept:
            return None
        register = self.windows.setdefault(node.result.id, f"window{len(self.windows)}")
        return OperandLoad(f"({found[0]})", register, node.result.dtype, found[1])

    def _joined_windows(self, node: Node) -> Joined | None:
        """The join of a choice by the column, of runs that nothing else reads; else None.

        where(j < n, x[j], y[j - n])  ->  join_chunks(window0[c], window1[c], n - j0);
        """
        if self.edited or self.form.kind != "map" or node.result.id in self.form.kept:
            return None
        if node.operator.name != "where":
            return None
        condition, *sides = node.operands
        count = self._before(condition) if self.device.is_host else None
        chunks = [] if count is None else [self._chunk_of(side) for side in sides]
        if count is None or chunks[0] is None or chunks[1] is None:
            return None
        self.windows[node.result.id] = chunks[0]
        return Joined(chunks[0], chunks[1], count)

    def _chunk_of(self, value: Operand) -> str | None:
        """The registers of a window, or of joined ones, that one node reads; else None."""
        node = self.makers.get(value.id) if isinstance(value, Value) else None
        if node is None or len(self.graph.users[node.result.id]) > 1:
            return None
        if node.result in self.group.outputs:
            return None
        found = self._window(node) if node.tables else self._joined_windows(node)
        is_run = isinstance(found, Joined) or (found and found.access.kind == "window")
        return found.register if found is not None and is_run else None

    def _before(self, condition: Operand) -> str | None:
        """Text of how many elements of a chunk come before one from which a condition is false."""
        if self.along_row(condition):
            return f"{self.text(condition, False)} ? VECTOR : 0"
        node = self.makers.get(condition.id) if isinstance(condition, Value) else None
        if node is None or node.operator.name != "less":
            return None
        place, end = node.operands
        start = self._run(place) if isinstance(end, Scalar) else None
        if start is None:
            return None
        number, shift = self.text(end, False), start.removeprefix(" - ")
        is_plain = number == "0" and start == f" - {shift}" and " " not in shift
        return f"{shift} - j0" if is_plain else f"{number} - (j0{start})"

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

    def _run(self, operand: Operand) -> str | None:
        """The place in column 0 of places that rise with the columns one by one, else None."""
        node = self.makers.get(operand.id) if isinstance(operand, Value) else None
        if node is None:
            return None
        if node.is_coordinate:
            place = self.places[node.result.id]
            return "" if (place.kind, place.base) == ("chunk", "") else None
        sign = SHIFTS.get(node.operator.name)
        if sign is None or not isinstance(node.operands[1], Scalar):
            return None
        before = self._run(node.operands[0])
        return None if before is None else f"{before} {sign} {self.text(node.operands[1], False)}"


def _is_of_columns(node: Node) -> bool:
    """True for a coordinate, and for a map of its operands to one result."""
    is_map = node.is_map and len(node.results) == 1 and not node.tables
    return node.is_coordinate or (is_map and not node.operator.mixes)
