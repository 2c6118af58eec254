"""Kernels of rows and of elements, and those that count elements by their values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from opweave.compiler.codegen.assembler import Assembler
from opweave.compiler.codegen.kept_rows import MOST_BYTES, MOST_REGISTERS, keeping
from opweave.compiler.codegen.operands import Key, Setting
from opweave.compiler.codegen.short_numbers import divides_by_row
from opweave.compiler.codegen.structure import RESIDENT_THREADS
from opweave.compiler.codegen.vectorised import untouched
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import count
from opweave.compiler.kernels.blocks import Blocks, columns_of
from opweave.compiler.kernels.counting import OUTSIDE, CountKernel
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.kernels.kernel_parts import Carried, Line, OperandLoad, OperandStore, Pass
from opweave.compiler.kernels.layout import Access
from opweave.compiler.kernels.param import Param
from opweave.compiler.kernels.quotients import Division, by_chunks
from opweave.compiler.kernels.walks import Operand as ArrayOperand
from opweave.compiler.kernels.walks import Walk, collapse, walk_map
from opweave.compiler.toggles.choose import choose
from opweave.compiler.toggles.facts import Facts
from opweave.compiler.toggles.rows import HOST_CHUNK, MOST_ELEMENTS, bins_fit, power_below
from opweave.opcodes.cached import cached_property
from opweave.opcodes.codes import Phase
from opweave.opcodes.dtypes import DType
from opweave.opcodes.structural import Structural

# Columns from which a map walks rows and columns apart instead of dividing the index.
WIDE = {True: 8, False: 2048}
# Columns below which a host's map takes a longer row, if that is read by chunks all the same.
SHORT = 512
# Bytes of elements of which the chunks of rows of so many columns are longer: a roll of uint8 or
# int16 takes 0.7 to 0.9 of the time.
NARROW, LONG_ROW = 2, 512
# Columns that 65535 blocks (the limit of gridDim.y) of 256 threads of a GPU cover.
WIDEST = 65535 * 256
# Operations of a value, see ``Cost.slots``, from which on a row keeps it.
WORTH_KEEPING = 8
# What a kernel notes elements without a bin in.
OUTSIDE_PARAM = Param("partials", OUTSIDE, "int64*")


class RowAssembler(Assembler):
    """Rows, each by some threads of a block."""

    TURNS_IN = "memory"

    def __init__(self, setting: Setting, number: int):
        super().__init__(setting, number)
        self.divisions: dict[str, Division] = {}

    def _bind(self, node: Node, phase: Phase) -> list[Line]:
        lines = super()._bind(node, phase)
        if not self.device.is_host and divides_by_row(self, node):
            of, by = (self.text(o, node.result.id in self.form.kept) for o in node.operands)
            self.divisions[lines[-1].results[0]] = Division(of, by)
        return lines

    def facts(self) -> Facts:
        """On a GPU rows that fill their chunks are a class of their own: they take no guards."""
        found, plan = super().facts(), self.form.plan
        if self.device.is_host or plan is None:
            return found
        cols = count(self.walk.cols, self.extents)
        return replace(found, fills=cols == found.row_chunks * plan.lanes * plan.threads)

    def _is_aligned(self, width: int) -> bool:
        """Wide accesses on a GPU are of whole chunks: none stands beside a branch for its rest."""
        cols = count(self.walk.cols, self.extents)
        whole = self.device.is_host or cols % width == 0
        return whole and super()._is_aligned(width)

    def _passes(self) -> tuple[list[Line], list[Pass]]:
        before, passes = super()._passes()
        if self.form.plan is not None and (self.device.is_host or self._holds_rows()):
            elements = self.facts().row_chunks * self.form.plan.lanes
            most = MOST_BYTES if self.device.is_host else MOST_REGISTERS * 4
            passes = keeping(passes, self._worth_keeping, elements, most)
        if self.divisions and not self._chosen("USE_FAST_MATH"):
            passes = [by_chunks(step, self.divisions) for step in passes]
        return before, passes

    def _holds_rows(self) -> bool:
        """On a GPU: the threads of a row have all of it in registers, in all passes."""
        return self._chosen("USE_REGISTER_ROW") and not self.graph.repeated

    def _chosen(self, toggle: str) -> bool:
        return bool(choose(self.template, self.facts(), self.overrides).toggles[toggle])

    def _completed(self, kernel: Kernel) -> Kernel:
        if self.device.is_host or self.form.plan is None or not self._holds_rows():
            return kernel
        found = self.facts()  # of this class are rows longer than half the chunks
        inner = found.row_chunks if found.fills else found.row_chunks // 2
        return replace(kernel, inner_chunks=inner)

    def _worth_keeping(self, line: Line) -> DType | None:
        """The dtype of what a line computes, if that takes longer than to read it again.

        Operators of several op-codes have no line that computes all, and others in each pass.
        """
        node = self.graph.nodes[line.node] if line.node >= 0 else None
        if node is None or len(node.operator.opcodes) > 1:
            return None
        return node.result.dtype if node.operator.cost.slots >= WORTH_KEEPING else None


class MapAssembler(Assembler):
    """Elementwise: one walk; wide last dimensions stand alone as columns."""

    LANE = "[c][l]"
    TURNS_IN = "registers"

    @cached_property
    def template(self) -> str:
        """A stencil where rows share what they read, and a GPU's caches can serve them."""
        is_plain = self.form.kind == "map" and not (self.device.is_host or self.edited)
        shares = is_plain and not self.tables and self.walk.rows and self._rows_share()
        return "stencil" if shares else self.form.kind

    def _rows_share(self) -> bool:
        """Whether two operands are one array, from different rows on."""
        views = [self.graph.views.get(o.value.id) for o in self.operands.values()]
        starts: dict[int, set[Any]] = {}
        for view in filter(None, views):
            starts.setdefault(view.base.id, set()).add(view.starts[:-1])
        return any(len(found) > 1 for found in starts.values())

    def _walk(self) -> Walk:
        """As few columns as are wide, of dimensions that blocks of tables let be one."""
        seen = [o for o in self._walked() if o.value.id not in self.blocks.passing]
        tables = [block.table for block in self.blocks.by_result.values()]
        walk = self._walk_of([*seen, *tables])
        if not self.blocks.fits(walk):
            return self._walk_of(self._walked())
        while (longer := self._with_longer_rows(walk, [*seen, *tables])) is not None:
            walk = longer
        return walk

    def _with_longer_rows(self, walk: Walk, operands: Sequence[ArrayOperand]) -> Walk | None:
        """A walk with one more dimension as columns, where rows are short and runs stay runs."""
        if not self.blocks.by_result or not walk.outer or count(walk.cols, self.extents) >= SHORT:
            return None
        made = walk_map(self.form.space, operands, len(walk.inner) + 1)
        is_one = len(collapse(columns_of(made), [*self.operands.values()])) == 1
        is_run = is_one and self.blocks.fits(made)
        return made if is_run and self.blocks.are_joined(made) else None

    def _walk_of(self, operands: Sequence[ArrayOperand]) -> Walk:
        """The last dimension as columns if it is wide; a host takes two with coordinates."""
        most = 0 if self._index else 2 if self.device.is_host and self.coordinates else 1
        for columns in range(1, most + 1):
            walk = walk_map(self.form.space, operands, columns)
            cols = count(walk.cols, self.extents)
            if WIDE[self.device.is_host] <= cols and (self.device.is_host or cols <= WIDEST):
                return walk
        return walk_map(self.form.space, operands)

    def _blocks(self) -> Blocks:
        is_plain = self.device.is_host and not self.placed and not self.graph.repeated
        if not is_plain or not self.tables:
            return super()._blocks()
        return Blocks(self.form.space, self.nodes, self.coordinates, self.tables)

    @property
    def _index(self) -> Structural | None:
        """A user's index op-code, which knows of elements alone."""
        return next((code for code in self.placed if code.phase is Phase.INDEX), None)

    def _row_elements(self, cols: int) -> int:
        if not self.device.is_host or not self.walk.rows:
            return 0
        if cols < HOST_CHUNK:
            return power_below(cols)
        tables = (table.value.dtype.itemsize for table in self.tables.values())
        is_narrow = max(self._itemsize(), *tables, 0) <= NARROW and cols >= LONG_ROW
        return MOST_ELEMENTS if is_narrow and self.blocks.are_joined(self.walk) else 0

    def _longest(self) -> int:
        """The step of a loop leads beyond the last element by as much again at most."""
        return super()._longest() * (2 if self._index else 1)

    def _cached(self, passes: Sequence[Pass]) -> tuple[OperandLoad, ...]:
        return ()

    def _completed(self, kernel: Kernel) -> Kernel:
        if not kernel.has_rows:
            return kernel
        return replace(kernel, untouched=untouched(self), walks_back=self._walks_back(kernel))

    def _walks_back(self, kernel: Kernel) -> str:
        """What is stored of a chunk that begins before the last one ends: "all" of it, or the
        "rest", where a result may lie where an operand does; "" where no element is read twice.
        """
        if self.edited or not self.device.is_host:
            return ""
        if not self._in_place():
            return "all"
        stores = [store for step in kernel.passes for store in step.stores]
        return "" if any(s.walked != "chunk" for s in stores) else "rest"


class ReduceAssembler(Assembler):
    """Rows that several blocks share."""

    def _cached(self, passes: Sequence[Pass]) -> tuple[OperandLoad, ...]:
        return ()


class CountAssembler(Assembler):
    """Counts: elements are walked as a map walks them, and no thread owns a count."""

    LANE = "[c][l]"

    @property
    def _count(self) -> Node:
        return next(node for node in self.nodes if node.is_count)

    @property
    def _bins(self) -> int:
        (bins,) = self._count.result.shape
        assert isinstance(bins, int)
        return bins

    def _walked(self) -> list[ArrayOperand]:
        return [o for o in super()._walked() if o.value.id != self._count.result.id]

    def _walk(self) -> Walk:
        return walk_map(self.form.space, self._walked())

    def _accessed(self, key: Key, operand: ArrayOperand) -> Access:
        return Access("splat", "") if key.is_output else super()._accessed(key, operand)

    def _longest(self) -> int:
        """The step of the loop leads beyond the last element by as much again at most."""
        return super()._longest() * 2

    def _one_by_one(self) -> int:
        """Without reads of tables: those of histograms are short, and lie in the caches."""
        return super()._one_by_one() - sum(len(node.tables) for node in self.nodes)

    def facts(self) -> Facts:
        """One chunk at a time where tables are read, or counts lie in memory: addresses take
        registers, and a device is to hold as many threads.
        """
        found = replace(super().facts(), bins=self._bins + self._count.refuses)
        return replace(found, large=found.large and not self.tables and bins_fit(found))

    def _passes(self) -> tuple[list[Line], list[Pass]]:
        needs = self._needs([], [(self._count, 0)])
        lines, loads = self._lines(needs, 0), self._loads(needs)
        places = tuple(self.places_of.values())
        return [], [Pass(loads, (*lines, self._bin()), (), (), (), places=places)]

    def _bin(self) -> Line:
        """The line that says which bin an element has."""
        (operand,) = self._count.values
        text = f"bins[l] = {self.text(operand, False)};"
        return self._origin(self._count).line(Phase.ACCUMULATE, text, ("bins[l]",))

    def _row_stores(self) -> tuple[OperandStore, ...]:
        """What a list says of the counts; the template stores them."""
        made = self._count.result
        out = self.operands[Key(made.id, False, True)]
        return (OperandStore(out.name, "the counts of bins", made.dtype, Access("splat", "")),)

    def _cached(self, passes: Sequence[Pass]) -> tuple[OperandLoad, ...]:
        return ()

    def _params(self, carried: Carried) -> tuple[Param, ...]:
        params = super()._params(carried)
        return (*params, OUTSIDE_PARAM) if self._count.refuses else params

    def _completed(self, kernel: Kernel) -> Kernel:
        most = max(1, self.device.sms * RESIDENT_THREADS // kernel.threads)
        node = self._count
        at = f" ({node.where})" if node.where.file else ""
        (operand,) = node.values
        is_short = operand.dtype.itemsize < 4 or operand.dtype.numpy_name == "int32"
        return CountKernel.of(
            kernel, bins=self._bins, refuses=node.refuses, at=at, most_blocks=most,
            bin_type="int" if is_short else "int64",
        )  # fmt: skip
