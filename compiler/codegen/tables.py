"""Tables: operands that a kernel reads at computed places, element by element or as windows.

Where a row of the walk reads a run of consecutive places, the table is read in chunks as any
other operand: a *window*.  All that the run depends on is a value of the row.
"""

from __future__ import annotations

from opweave.compiler.codegen.lines import Table
from opweave.compiler.codegen.operands import Key, Setting
from opweave.compiler.codegen.registers import Registers
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import Operand, Scalar, Symbol, Value
from opweave.compiler.kernels.kernel_parts import OperandLoad, Param
from opweave.compiler.kernels.layout import Access
from opweave.compiler.kernels.walks import Operand as ArrayOperand
from opweave.compiler.kernels.walks import Stride

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
        if self.form.kind in ("map", "scan_columns") and self.tables and self.walk.outer:
            stored = {v.id for v in self.group.outputs}
            for node in self.nodes:
                if self._is_row_level(node) and not node.is_scan and node.result.id not in stored:
                    self.row_level.add(node.result.id)

    def _is_row_level(self, node: Node) -> bool:
        if node.is_coordinate:
            return self.places[node.result.id].kind == "splat"
        return bool(node.pointwise) and all(map(self._along_row, node.pointwise))

    def _along_row(self, operand: Operand) -> bool:
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
        """The load of a gather whose places along one axis follow the columns, else None."""
        if not node.tables:
            return None
        places = node.operands[node.operator.tables :]
        runs = [d for d, place in enumerate(places) if not self._along_row(place)]
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
