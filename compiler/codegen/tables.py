"""Tables: operands that a kernel reads at computed places, element by element or as windows.

Where a row of the walk reads a run of consecutive places, the table is read in chunks as any
other operand: a *window*.  All that the run depends on is a value of the row.
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
from opweave.compiler.kernels.kernel_parts import OperandLoad, Param
from opweave.compiler.kernels.layout import Access
from opweave.compiler.kernels.walks import Operand as ArrayOperand
from opweave.compiler.kernels.walks import Stride
from opweave.opcodes.cached import cached_property

# Operators that shift the places of a run, and how.
SHIFTS = {"add": "+", "subtract": "-"}


class TableReads(Registers):
    """How a group reads its tables, and which of its values are the same along a row."""

    def __init__(self, setting: Setting, number: int):
        super().__init__(setting, number)
        self.table_strides: dict[str, Stride] = {}
        self.table_extents: dict[str, Param] = {}
        self.makers = {r.id: node for node in self.nodes for r in node.results}
        self.row_level = set(self.form.row_values)
        asks = self.form.kind in ("map", "scan_columns") and (self.tables or self._keeps_some())
        if asks and self.walk.outer:
            stored = {v.id for v in self.group.outputs}
            for node in self.nodes:
                if self._is_row_level(node) and not node.is_scan and node.result.id not in stored:
                    self.row_level.add(node.result.id)

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
        start = self._run(places[runs[0]]) if len(runs) == 1 else None
        if start is None:
            return None
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
        found = Access(
            "window",
            " + ".join(terms),
            table.strides[run] or "1",
            extent=f"{inside} ? {extent} : 0" if inside else extent,
            start=start,
        )
        register = self.windows.setdefault(node.result.id, f"window{len(self.windows)}")
        late = any(self.form.levels.get(v.id, 0) for v in node.pointwise)
        return OperandLoad(table.pointer, register, node.result.dtype, found, late)

    def _picked(self, node: Node) -> OperandLoad | None:
        """The load of a choice, by the row alone, of operands that lie alike, else None.

        np.stack([x, y])  ->  load_chunk(window0[c], (row == 0 ? x : y) + j0, cols - j0);
        """
        edited = self.placed or self.graph.repeated
        found = None if self.form.kind != "map" or edited else self._pointer(node.result)
        if found is None or node.result.id in self.form.kept:
            return None
        register = self.windows.setdefault(node.result.id, f"window{len(self.windows)}")
        return OperandLoad(f"({found[0]})", register, node.result.dtype, found[1])

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
