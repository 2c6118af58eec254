"""Kernels of rows and of elements, some of which repeat a step by themselves."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from opweave.compiler.codegen.assembler import RESTRICT, Assembler
from opweave.compiler.codegen.kernel import Kernel
from opweave.compiler.codegen.kernel_parts import Load, Param, Pass
from opweave.compiler.codegen.repeats import Carried, carried
from opweave.compiler.codegen.walks import Walk, walk_map
from opweave.compiler.ir.expr import Expr
from opweave.compiler.ir.values import TURNS, Scalar, count
from opweave.opcodes.dtypes import I32

# Columns from which a map walks rows and columns apart instead of dividing the index.
WIDE = {True: 32, False: 2048}
# Columns that 65535 blocks (the limit of gridDim.y) of 256 threads cover.
WIDEST = 65535 * 256


class LoopAssembler(Assembler):
    """Kernels that may repeat a step by themselves: rows, or elements."""

    carried: Carried = ()

    def _completed(self, kernel: Kernel) -> Kernel:
        loops = self.graph.repeated and self.alone
        self.carried = carried(self.graph, self.operands, kernel) if loops else ()
        return replace(kernel, carried=self.carried)

    def _params(self) -> tuple[Param, ...]:
        turns = Param("scalar", "turns", "int", Scalar(Expr("argument", (TURNS,)), I32))
        return (*super()._params(), *([turns] if self.carried else []))


class MemoryLoopAssembler(LoopAssembler):
    """Kernels whose loop finds in memory what its last turn has stored."""

    def _params(self) -> tuple[Param, ...]:
        """Without a promise that turns would break: one reads what the last one has written.

        Behind it NVRTC reads through the cache of what no kernel writes (``ld.global.nc``).
        """
        names = {item.name for pair in self.carried for item in pair}
        return tuple(
            replace(p, ctype=p.ctype.removesuffix(RESTRICT)) if p.name in names else p
            for p in super()._params()
        )


class RowAssembler(MemoryLoopAssembler):
    """Rows, each by some threads of a block."""


class MapAssembler(LoopAssembler):
    """Elementwise: one walk; wide last dimensions stand alone as columns."""

    LANE = "[c][l]"

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

    def _extents(self) -> list[Param]:
        meeting = [
            Param("partials", "partials", "void*"),
            Param("counter", "counter", "unsigned*"),
        ]
        return [*meeting, *super()._extents()]

    def _cached(self, passes: Sequence[Pass]) -> tuple[Load, ...]:
        return ()
