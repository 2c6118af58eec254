"""Kernels of rows and of elements."""

from __future__ import annotations

from collections.abc import Sequence

from opweave.compiler.codegen.assembler import Assembler
from opweave.compiler.ir.values import count
from opweave.compiler.kernels.kernel_parts import Load, Pass
from opweave.compiler.kernels.walks import Walk, walk_map

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
        wide = WIDE[self.device.is_host] <= cols <= WIDEST
        return walk if wide else walk_map(self.form.space, operands, wide=False)

    def _cached(self, passes: Sequence[Pass]) -> tuple[Load, ...]:
        return ()


class ReduceAssembler(Assembler):
    """Rows that several blocks share."""

    SHARES_ROWS = True

    def _cached(self, passes: Sequence[Pass]) -> tuple[Load, ...]:
        return ()
