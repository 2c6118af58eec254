"""Kernels of scans: running values along rows, or down neighbouring columns.

A scan splits what is computed for an element into *passes*: what it takes, and what takes its
result.  A value belongs to the earliest pass that reads it; one that a later pass reads too is
kept for the elements of the tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from opweave.compiler.codegen.assemble_matrix import MatrixAssembler
from opweave.compiler.codegen.assembler import Assembler
from opweave.compiler.codegen.kernel import Kernel
from opweave.compiler.codegen.kernel_parts import Keep, Line, Load, Param, Pass, Reduction
from opweave.compiler.codegen.lines import bind_reduction, comment_for
from opweave.compiler.codegen.walks import MatrixWalk, Walk, collapse
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import Value
from opweave.compiler.toggles.facts import Facts
from opweave.opcodes.core import Phase


@dataclass
class Needs:
    """Which pass computes what.

    Attributes:
        first, last: by the id of a value, the first and the last pass that reads it.
        nodes: of each pass, with their indices, in order.
        windows: gathers that are read in chunks.
    """

    first: dict[int, int] = field(default_factory=dict)
    last: dict[int, int] = field(default_factory=dict)
    nodes: dict[int, list[tuple[int, Node]]] = field(default_factory=dict)
    windows: list[Load] = field(default_factory=list)

    def read(self, values: Sequence[Value], number: int) -> None:
        """Note that a pass reads values."""
        for value in values:
            self.first[value.id] = min(number, self.first.get(value.id, number))
            self.last[value.id] = max(number, self.last.get(value.id, number))


class ScanAssembler(Assembler):
    """Rows that are scanned tile by tile."""

    def facts(self) -> Facts:
        narrow = any(v.dtype.round for _, n in self.nodes for v in (*n.values, *n.results))
        special = any(n.operator.cost.special for _, n in self.nodes)
        # neither how many tiles a row has nor how many elements there are changes a kernel
        return replace(super().facts(), row_chunks=1, large=False, heavy=narrow or special)

    def _passes(self) -> tuple[list[Line], list[Pass]]:
        before = self._row_lines()
        needs = self._needs()
        loads = self._loads(needs)
        passes = []
        for number in range(self._count_passes()):
            lines = self._lines(needs, number)
            scans = tuple(self._scan(i, n) for i, n in self._scans(number))
            keeps = self._keeps(needs, number)
            stores = tuple(
                self._store(v) for v in self.group.outputs if self.form.levels[v.id] == number
            )
            passes.append(Pass(loads, tuple(lines), (), stores, (), scans, keeps))
            loads = ()
        return before, passes

    def _row_lines(self) -> list[Line]:
        """What is the same along a row of the walk; no scan is."""
        here = [(i, n) for i, n in self.nodes if n.result.id in self.row_level]
        return [self._bind(i, n, Phase.PROLOGUE) for i, n in here]

    def _count_passes(self) -> int:
        return 1 + max(self.form.levels.values())

    def _scans(self, number: int) -> list[tuple[int, Node]]:
        """The scans that take what a pass computes."""
        return [
            (i, n)
            for i, n in self.nodes
            if n.is_scan and self.form.levels[n.result.id] == number + 1
        ]

    def _needs(self) -> Needs:
        """Which pass computes which elements, from the last node to the first."""
        found = Needs()
        for value in self.group.outputs:
            found.read([value], self.form.levels[value.id])
        for index, node in reversed(self.nodes):
            if node.is_scan:
                found.read(node.values, self.form.levels[node.result.id] - 1)
                continue
            read = [found.first[r.id] for r in node.results if r.id in found.first]
            if not read or node.result.id in self.row_level:
                continue
            window = self._window(node)
            if window is not None:
                found.windows.insert(0, window)
                continue
            found.nodes.setdefault(min(read), []).insert(0, (index, node))
            found.read(node.pointwise, min(read))
        return found

    def _loads(self, needs: Needs) -> tuple[Load, ...]:
        """What is read in chunks, once for all passes."""
        keys = [
            key
            for key in self.operands
            if not key.is_output and key.value in needs.first and self.access[key].kind != "splat"
        ]
        return (*map(self._load, keys), *needs.windows)

    def _lines(self, needs: Needs, number: int) -> list[Line]:
        phase = Phase.PROLOGUE if self._scans(number) else Phase.EPILOGUE
        return [self._bind(i, n, phase) for i, n in needs.nodes.get(number, ())]

    def _keeps(self, needs: Needs, number: int) -> tuple[Keep, ...]:
        """Values of a pass that a later one reads, which finds them under another name."""
        found = []
        for _, node in needs.nodes.get(number, ()):
            for value in node.results:
                if needs.last.get(value.id, number) > number:
                    keep = Keep(self.names[value.id], self.names[value.id], value.dtype)
                    self.names[value.id] = f"{keep.register}[l]"
                    found.append(keep)
        return tuple(found)

    def _scan(self, index: int, node: Node) -> Reduction:
        """A scan of a tile: its elements are put in place before the threads meet."""
        found, operand = self._bound_scan(index, node)
        return replace(
            found, accumulate=replace(found.accumulate, text=f"{found.name}[l] = {operand};")
        )

    def _bound_scan(self, index: int, node: Node) -> tuple[Reduction, str]:
        """A scan under a name of its own, whose results are one for each lane; its operand."""
        operand = self.text(node.operands[0], False)
        name = self._fresh(f"{node.operator.name}{self._count(node.operator.name)}")
        self.names[node.result.id] = f"{name}[l]"
        return bind_reduction(node, index, operand, name, "[l]"), operand

    def _title(self) -> tuple[str, ...]:
        *lines, _ = super()._title()
        return (*lines, f"accumulation plan: {self.form.plan}")

    def _cached(self, passes: Sequence[Pass]) -> tuple[Load, ...]:
        return ()


class ScanPartsAssembler(ScanAssembler):
    """Rows that several blocks share: each adds its part up before it scans it."""

    def __init__(self, *arguments: Any):
        super().__init__(*arguments)
        self.totals: list[Reduction] = []
        self.early: set[str] = set()

    def _loads(self, needs: Needs) -> tuple[Load, ...]:
        self.early = {
            self._load(key).register
            for key in self.operands
            if not key.is_output and needs.first.get(key.value) == 0
        }
        return super()._loads(needs)

    def _bound_scan(self, index: int, node: Node) -> tuple[Reduction, str]:
        found, operand = super()._bound_scan(index, node)
        self.totals.append(found)
        return found, operand

    def _completed(self, kernel: Kernel) -> Kernel:
        """Add the walk of the totals: what the scans take, accumulated."""
        first = kernel.passes[0]
        loads = tuple(
            x for x in first.loads if x.register in self.early or x.access.kind == "window"
        )
        return replace(kernel, totals=Pass(loads, first.lines, tuple(self.totals), (), ()))

    def _extents(self) -> list[Param]:
        meeting = [
            Param("partials", "partials", "void*"),
            Param("counter", "counter", "unsigned*"),
        ]
        return [*meeting, *super()._extents()]


class ScanColumnsAssembler(MatrixAssembler, ScanAssembler):
    """Columns side by side: the walk goes down the scanned axis, for neighbours at once."""

    LANE = "[c][l]"

    def _walk(self) -> Walk:
        (axis,), shape = self.form.axes, self.form.space
        operands = self._walked()
        long = [d for d, e in enumerate(shape) if e != 1 and d != axis]
        *between, columns = collapse([d for d in long if d > axis], operands)
        batch = [d for d in long if d < axis] + [d for dims in between for d in dims]
        return MatrixWalk(shape, (*collapse(batch, operands), (axis,)), (columns,))

    def facts(self) -> Facts:
        return replace(super().facts(), can_vectorise=self._is_aligned(self._line()))

    def _passes(self) -> tuple[list[Line], list[Pass]]:
        """One pass: every element goes through all scans before the next row."""
        before, lines, scans = self._row_lines(), [], []
        needs = self._needs()
        loads = self._loads(needs)
        for number in range(self._count_passes()):
            lines += self._lines(needs, number)
            for index, node in self._scans(number):
                scan, results = self._step(index, node)
                scans.append(scan)
                lines += results
        stores = tuple(map(self._store, self.group.outputs))
        return before, [Pass(loads, tuple(lines), (), stores, (), tuple(scans))]

    def _extents(self) -> list[Param]:
        return [*super()._extents(), *self.table_extents.values()]

    def _step(self, index: int, node: Node) -> tuple[Reduction, list[Line]]:
        """A scan, the line that takes the next element, and one that rounds the result.

        cumsum0[l] = cumsum0[l] + x_v[l];
        """
        found, operand = self._bound_scan(index, node)
        running = self.names[node.result.id]
        text = f"{running} = {found.joined(running, operand)};"
        found = replace(found, accumulate=replace(found.accumulate, text=text))
        if not found.round:
            return found, [found.accumulate]
        name = self.names[node.result.id] = self._fresh(f"v{len(self.names)}")
        result = Line(
            Phase.REDUCE,
            node.operator.name,
            f"const {node.result.dtype.register} {name} = {found.result(running)};",
            comment_for(node),
            (name,),
            found.join.opcode,
            index,
            node.where,
        )
        return found, [found.accumulate, result]
