"""Tables: operands that a kernel reads at computed places, element by element or as windows.

Where a row of the walk reads a run of consecutive places, or whole rows of the table that lie one
behind the other, the table is read in chunks as any other operand: a *window*. All that the run
depends on is a value of the row. Other places that follow from the columns (clipped at an edge,
or taken modulo the extent) are runs in most chunks: on the host each chunk finds out whether its
places are one.
"""

from __future__ import annotations

from collections.abc import Sequence

from opweave.compiler.codegen.lines import Table
from opweave.compiler.codegen.operands import Key, Setting
from opweave.compiler.codegen.registers import Registers
from opweave.compiler.codegen.short_numbers import Range, ranges
from opweave.compiler.codegen.vectorised import keeps_before
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import Operand, Scalar, Symbol, Value
from opweave.compiler.kernels.blocks import columns_of, rises, run_of
from opweave.compiler.kernels.kernel_parts import Line, OperandLoad
from opweave.compiler.kernels.layout import Access, Places
from opweave.compiler.kernels.param import Param
from opweave.compiler.kernels.walks import Operand as ArrayOperand
from opweave.compiler.kernels.walks import Stride
from opweave.opcodes.cached import cached_property
from opweave.opcodes.codes import Phase

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
        if asks:
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
            own = self.coordinates[node.result.id].own_dim
            return all(own(dim) is None for dim in columns_of(self.walk))
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

    def _window(
        self, node: Node, places: Sequence[Operand] = (), number: int = 0
    ) -> OperandLoad | None:
        """The load of a gather whose places along the last axes follow the columns, else None.

        With ``places`` in the place of its own; ``number`` tells such loads apart.
        """
        places = places or node.operands[node.operator.tables :]
        runs = [d for d, place in enumerate(places) if not self.along_row(place)]
        table = self._table_read(node)
        found = self._along(node, table, places, runs)
        if found is None:
            return None
        kind, start = found
        kept = node.result.id in self.form.kept
        known = [(d, self.text(p, kept)) for d, p in enumerate(places) if d not in runs]
        inside = " & ".join(f"is_inside({t}, {table.extents[d]})" for d, t in known)
        terms = [
            f"(index_t){t}" if table.strides[d] == "1" else f"(index_t){t} * {table.strides[d]}"
            for d, t in known
            if table.strides[d]
        ]
        extent = " * ".join(table.extents[d] for d in runs)
        access = Access(
            kind,
            " + ".join(terms),
            table.strides[runs[-1]] or "1",
            extent=f"{inside} ? {extent} : 0" if inside else extent,
            start=start,
        )
        register = self._register(node, number)
        late = any(self.form.levels.get(v.id, 0) for v in node.pointwise)
        return OperandLoad(table.pointer, register, node.result.dtype, access, late)

    def _along(
        self, node: Node, table: Table, places: Sequence[Operand], runs: Sequence[int]
    ) -> tuple[str, str] | None:
        """How a table is read along the columns, and where from, see ``Access``; else None.

        ``runs``: the axes of the table whose places follow the columns.
        """
        if len(runs) != 1:
            start = self._block(node, table.extents, places, runs)
            return None if start is None else ("window", start)
        operand = places[runs[0]]
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
            self.places_of[operand.id] = Places(
                name, tuple(lines), self.names[operand.id], rises(self.makers, operand)
            )
        return "places", self.places_of[operand.id].name

    def _block(
        self, node: Node, extents: Sequence[str], places: Sequence[Operand], runs: Sequence[int]
    ) -> str | None:
        """The place in column 0 of a table whose last axes are the columns, as of the walk.

        x[i - 1, j, k] for the columns j, k  ->  the row i - 1 of x[n, m * k] from 0 on;
        for the columns i, j, k  ->  x[n * m * k] from -m * k on.
        """
        block, columns = self.blocks.by_result.get(node.result.id), columns_of(self.walk)
        first = len(extents) - len(columns)
        if block is None or not block.is_run(columns) or [*runs] != [*range(first, len(extents))]:
            return None
        return self._run(places[first], columns[0], " * ".join(extents[first + 1 :]))

    def _register(self, node: Node, number: int = 0) -> str:
        """The registers of a window."""
        return self.windows.setdefault((node.result.id, number), f"window{len(self.windows)}")

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

    def _run(self, operand: Operand, dim: int = -1, row: str = "") -> str | None:
        """The place in column 0 of places that rise with the columns one by one, else None.

        With ``dim``, that where the coordinate of this is 0, of places that rise with it; so many
        elements as ``row`` says lie between two.
        """
        found = run_of(self.makers, operand)
        if found is None:
            return None
        coordinate, shifts = found
        place = self.places[coordinate.id]
        rises = (place.kind, place.base) == ("chunk", "")
        if not (rises if dim < 0 else self.coordinates[coordinate.id].own_dim(dim) == 0):
            return None
        terms = ((sign, self.text(by, False)) for sign, by in shifts)
        each = f" {{}} (index_t){{}} * {row}" if row else " {} {}"
        return "".join(each.format(*term) for term in terms)


def _is_of_columns(node: Node) -> bool:
    """True for a coordinate, and for a map of its operands to one result."""
    is_map = node.is_map and len(node.results) == 1 and not node.tables
    return node.is_coordinate or (is_map and not node.operator.mixes)
