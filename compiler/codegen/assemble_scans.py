"""Kernels of scans: running values along rows, or down neighbouring columns.

A scan splits what is computed for an element into *passes*: what it takes, and what takes its
result.  A value that a later pass reads than its own is kept for the elements of the tile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from opweave.compiler.codegen.assemble_matrix import MatrixAssembler
from opweave.compiler.codegen.assembler import Assembler
from opweave.compiler.codegen.lines import bind_reduction
from opweave.compiler.codegen.operands import Key, Setting
from opweave.compiler.ir.accumulation import ScanPlan
from opweave.compiler.ir.graph import Node
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.kernels.kernel_parts import Keep, Line, OperandLoad, Pass, Reduction
from opweave.compiler.kernels.needs import Needs
from opweave.compiler.kernels.walks import MatrixWalk, Walk, collapse
from opweave.compiler.toggles.facts import Facts
from opweave.compiler.toggles.scans import blocks_each
from opweave.opcodes.cached import cached_property
from opweave.opcodes.codes import Phase

# Bytes of a copy to shared memory, and threads that exchange what they have copied.
WIDE, WARP = 16, 32


class ScanAssembler(Assembler):
    """Rows that are scanned tile by tile."""

    def facts(self) -> Facts:
        narrow = any(v.dtype.round for n in self.nodes for v in (*n.values, *n.results))
        special = any(n.operator.cost.special for n in self.nodes)
        # neither how many tiles a row has nor how many elements there are changes a kernel
        return replace(super().facts(), row_chunks=1, large=False, heavy=narrow or special)

    def _passes(self) -> tuple[list[Line], list[Pass]]:
        before = self._row_lines(0)
        needs = self._all_needs()
        loads = self._loads(needs)
        passes = []
        for number in range(self._count_passes()):
            lines = self._lines(needs, number)
            scans = tuple(map(self._scan, self._scans(number)))
            keeps = self._keeps(needs, number)
            outputs = [v for v in self.group.outputs if self.form.levels[v.id] == number]
            stores = tuple(map(self._store, outputs))
            passes.append(Pass(loads, lines, (), stores, (), scans, keeps))
            loads = ()
        return before, passes

    def _count_passes(self) -> int:
        return 1 + max(self.form.levels.values())

    def _scans(self, number: int) -> list[Node]:
        """The scans that take what a pass computes."""
        levels = self.form.levels
        return [n for n in self.nodes if n.is_scan and levels[n.result.id] == number + 1]

    def _all_needs(self) -> Needs:
        """What all passes compute."""
        levels, scans = self.form.levels, [n for n in self.nodes if n.is_scan]
        return self._needs(
            [(v, levels[v.id]) for v in self.group.outputs],
            [(n, levels[n.result.id] - 1) for n in scans],
        )

    def _keeps(self, needs: Needs, number: int) -> tuple[Keep, ...]:
        """Values of a pass that a later one reads, which finds them under another name."""
        found = []
        for node in needs.nodes.get(number, ()):
            for value in node.results:
                if needs.last.get(value.id, number) > number:
                    keep = Keep(self.names[value.id], self.names[value.id], value.dtype)
                    self.names[value.id] = f"{keep.register}[l]"
                    found.append(keep)
        return tuple(found)

    def _scan(self, node: Node) -> Reduction:
        """A scan of a tile: its elements are put in place before the threads meet."""
        found, operand = self._bound_scan(node)
        text = f"{found.name}[l] = {operand};"
        return replace(found, accumulate=replace(found.accumulate, text=text, function=""))

    def _bound_scan(self, node: Node) -> tuple[Reduction, str]:
        """A scan under a name of its own, whose results are one for each lane; its operand."""
        operand = self.text(node.operands[0], False)
        name = self._running_name(node, "[l]")
        return bind_reduction(self._origin(node), operand, name, "[l]"), operand

    def _title(self) -> tuple[str, ...]:
        *lines, _ = super()._title()
        return (*lines, f"accumulation plan: {self.form.plan}")

    def _cached(self, passes: Sequence[Pass]) -> tuple[OperandLoad, ...]:
        return ()


class ScanPartsAssembler(ScanAssembler):
    """Rows that several blocks share: each adds its part up before it scans it."""

    def __init__(self, setting: Setting, number: int):
        super().__init__(setting, number)
        self.totals: list[Reduction] = []
        self.early: set[str] = set()

    @cached_property
    def template(self) -> str:
        """Tiles are copied ahead where shared memory holds those of two blocks."""
        plan, device = self.form.plan, self.device
        assert isinstance(plan, ScanPlan)
        is_plain = plan.held and device.copies and not (self.edited or self.tables)
        if not is_plain or not self.staged or not self._are_wide():
            return "scan_parts"
        return "scan_ahead" if blocks_each(device, plan, self.staged) > 1 else "scan_parts"

    def _are_wide(self) -> bool:
        """Copies of 16 bytes may be made of all that is read and written, by whole warps."""
        plan = self.form.plan
        assert plan is not None
        enough = min(self._itemsizes()) * plan.lanes >= WIDE and plan.threads >= WARP
        wanted = self.overrides.get("USE_VECTOR_IO", 1)
        return bool(enough and wanted and self._is_aligned(self._line()))

    @cached_property
    def staged(self) -> tuple[int, ...]:
        """Bytes of an element of each operand that the first pass reads; none where one has no
        chunks.
        """
        needs = self._all_needs()
        early = [key for key in self.operands if self._is_early(key, needs)]
        read = [key for key in early if not self._is_row_load(key)]
        chunked = {self.access[key].kind for key in read} == {"chunk"}
        return tuple(self.operands[k].value.dtype.itemsize for k in read) if chunked else ()

    @staticmethod
    def _is_early(key: Key, needs: Needs) -> bool:
        """The first pass reads an operand, to add a part up."""
        return key == Key(key.value) and needs.first.get(key.value) == 0

    def facts(self) -> Facts:
        wide = self._is_aligned(self._line())  # rows begin on 16 bytes, and so do chunks
        return replace(super().facts(), staged=self.staged, can_vectorise=wide)

    def _loads(self, needs: Needs) -> tuple[OperandLoad, ...]:
        early = [key for key in self.operands if self._is_early(key, needs)]
        self.early = {self._load(key).register for key in early}
        return super()._loads(needs)

    def _bound_scan(self, node: Node) -> tuple[Reduction, str]:
        found, operand = super()._bound_scan(node)
        self.totals.append(found)
        return found, operand

    def _completed(self, kernel: Kernel) -> Kernel:
        """Add the walk of the totals: what the scans take, accumulated."""
        first = kernel.passes[0]
        loads = tuple(x for x in first.loads if x.register in self.early or x.access.is_table)
        most = self.device.sms * kernel.toggles.get("BLOCKS_EACH", 0)
        assert not most or tuple(load.dtype.itemsize for load in loads) == self.staged
        totals = Pass(loads, first.lines, tuple(self.totals), (), ())
        return replace(kernel, totals=totals, most_blocks=most)


class ScanColumnsAssembler(MatrixAssembler, ScanAssembler):
    """Columns side by side: the walk goes down the scanned axis, for neighbours at once."""

    LANE = "[c][l]"

    def __init__(self, setting: Setting, number: int):
        super().__init__(setting, number)
        self.adding: tuple[Line, ...] = ()

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
        before = self._row_lines(0)
        lines: list[Line] = []
        scans: list[Reduction] = []
        needs = self._all_needs()
        loads = self._loads(needs)
        for number in range(self._count_passes()):
            lines += self._lines(needs, number)
            results: list[Line] = []
            for node in self._scans(number):
                scan, found = self._step(node)
                scans.append(scan)
                results += found
            if number == 0:
                self.adding = (*lines, *(scan.accumulate for scan in scans))
            lines += results
        stores = tuple(map(self._store, self.group.outputs))
        return before, [Pass(loads, tuple(lines), (), stores, (), tuple(scans))]

    def _completed(self, kernel: Kernel) -> Kernel:
        """Where blocks share the rows, add the walk of a part's totals."""
        kernel = super()._completed(kernel)
        if not self.shares_rows:
            return kernel
        (step,) = kernel.passes
        return replace(kernel, totals=Pass(step.loads, self.adding, step.scans, (), ()))

    def _step(self, node: Node) -> tuple[Reduction, list[Line]]:
        """A scan, the line that takes the next element, and one that rounds the result.

        cumsum0[l] = cumsum0[l] + x_v[l];
        """
        found, operand = self._bound_scan(node)
        running = self.names[node.result.id]
        text = f"{running} = {found.joined(running, operand)};"
        found = replace(found, accumulate=replace(found.accumulate, text=text, function=""))
        if not found.round:
            return found, [found.accumulate]
        name = self.names[node.result.id] = self._fresh(f"v{len(self.names)}")
        code = found.join.opcode
        rounded = self._origin(node).value(Phase.REDUCE, name, found.result(running), code)
        return found, [found.accumulate, rounded]
