"""Kernels of rows and of elements."""

from __future__ import annotations

from collections.abc import Sequence

from opweave.compiler.codegen.assembler import Assembler
from opweave.compiler.ir.values import count
from opweave.compiler.kernels.kernel_parts import OperandLoad, Pass
from opweave.compiler.kernels.walks import Walk, walk_map
from opweave.opcodes.codes import Phase
from opweave.opcodes.structural import Structural

# Columns from which a map walks rows and columns apart instead of dividing the index.
WIDE = {True: 32, False: 2048}
# Columns that 65535 blocks (the limit of gridDim.y) of 256 threads cover.
WIDEST = 65535 * 256


class RowAssembler(Assembler):
    """Rows, each by some threads of a block."""

    TURNS_IN = "memory"


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


class ReduceAssembler(Assembler):
    """Rows that several blocks share."""

    SHARES_ROWS = True

    def _cached(self, passes: Sequence[Pass]) -> tuple[OperandLoad, ...]:
        return ()
