"""Kernels of rows and of elements."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from opweave.compiler.codegen.assembler import Assembler
from opweave.compiler.codegen.kept_rows import keeping
from opweave.compiler.codegen.vectorised import untouched
from opweave.compiler.ir.values import count
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.kernels.kernel_parts import Line, OperandLoad, Pass
from opweave.compiler.kernels.walks import Walk, walk_map
from opweave.opcodes.codes import Phase
from opweave.opcodes.dtypes import DType
from opweave.opcodes.structural import Structural

# Columns from which a map walks rows and columns apart instead of dividing the index.
WIDE = {True: 32, False: 2048}
# Columns that 65535 blocks (the limit of gridDim.y) of 256 threads cover.
WIDEST = 65535 * 256
# Operations of a value, see ``Cost.slots``, from which on a row keeps it on the host.
WORTH_KEEPING = 8


class RowAssembler(Assembler):
    """Rows, each by some threads of a block."""

    TURNS_IN = "memory"

    def _passes(self) -> tuple[list[Line], list[Pass]]:
        before, passes = super()._passes()
        if not self.device.is_host or self.form.plan is None:
            return before, passes
        elements = self.facts().row_chunks * self.form.plan.lanes
        return before, keeping(passes, self._worth_keeping, elements)

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

    def _walk(self) -> Walk:
        operands = self._walked()
        walk = walk_map(self.form.space, operands, wide=True)
        cols = count(walk.cols, self.extents)
        wide = WIDE[self.device.is_host] <= cols <= WIDEST and not self._index
        return walk if wide else walk_map(self.form.space, operands, wide=False)

    @property
    def _index(self) -> Structural | None:
        """A user's index op-code, which knows of elements alone."""
        return next((code for code in self.placed if code.phase is Phase.INDEX), None)

    def _longest(self) -> int:
        """The step of a loop leads beyond the last element by as much again at most."""
        return super()._longest() * (2 if self._index else 1)

    def _cached(self, passes: Sequence[Pass]) -> tuple[OperandLoad, ...]:
        return ()

    def _completed(self, kernel: Kernel) -> Kernel:
        return replace(kernel, untouched=untouched(self) if kernel.has_rows else "")


class ReduceAssembler(Assembler):
    """Rows that several blocks share."""

    SHARES_ROWS = True

    def _cached(self, passes: Sequence[Pass]) -> tuple[OperandLoad, ...]:
        return ()
