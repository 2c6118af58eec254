"""Kernels that reduce down columns: neighbouring columns side by side in the lanes of a vector.

On the host a row kernel whose columns are no run of memory (``x.sum(axis=0)``) would read one
element of every line that it touches.  Here a block takes a band of columns and goes down its
rows, each column by the accumulation plan that a row kernel keeps: the bits are the same.  Short
rows (``x.sum(axis=-1)`` of three columns) are columns of their transposed matrix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from opweave.compiler.codegen.assemble_matrix import MatrixAssembler
from opweave.compiler.codegen.assembler import Assembler
from opweave.compiler.codegen.lines import COLUMN, bind_coordinate
from opweave.compiler.codegen.operands import Key
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import count
from opweave.compiler.kernels.kernel_parts import Line
from opweave.compiler.kernels.walks import DimList, MatrixWalk, Walk, collapse
from opweave.compiler.kernels.walks import Operand as ArrayOperand
from opweave.compiler.toggles.columns import MOST_FEW
from opweave.compiler.toggles.facts import Facts
from opweave.opcodes.codes import Phase

# Columns from which a vector's lanes are worth filling with them.
COLUMNS_FROM = 8
# Longest rows that are walked side by side though each of them is a run of memory.
SHORT = 31  # less than a chunk of lanes, which is read at once
# Most threads of a GPU that go down a column together.
MOST_DOWN = 32
# Threads of its block, and most columns of each, whose running values take so many bytes: with
# more the registers hold fewer loads in flight (sums of float16 take 1.4 times as long by the
# model).
BLOCK = 256
MOST_EACH = 4
RUNNING_BYTES = 128
# Columns of a band.  It is wide where the running values of a reduction, LANES for each column,
# take half of the nearest cache at most: of memory each shorter row would open a page.
MOST_COLUMNS, MOST_COLUMNS_WIDE, WIDE_FROM = 64, 128, 1024
RUNNING_OF_BAND = 1 << 14
# Rows below that a band asks memory for, where a matrix has many: sums of 4000 rows of 5000
# numbers take 0.6 of their time.  One row is too late, and sixteen do not stay in the cache.
ROWS_AHEAD, MANY_ROWS = 4, 33


class Bands(NamedTuple):
    """Dimensions of a space: those outside, the reduced ones as rows, and the columns."""

    batch: tuple[DimList, ...]
    rows: DimList
    columns: DimList


def bands_of(assembler: Assembler) -> Bands | None:
    """How a row group is walked in bands of columns; None where there are no rows or columns."""
    space, axes = assembler.form.space, assembler.form.axes
    operands = assembler._walked()
    long = [d for d, e in enumerate(space) if e != 1]
    rows = collapse([d for d in long if d in axes], operands)
    kept = list(collapse([d for d in long if d not in axes], operands))
    if len(rows) != 1 or not kept:
        return None
    columns = kept.pop(_band_of([_count(assembler, dims) for dims in kept], assembler, rows[0]))
    return Bands(tuple(kept), rows[0], columns)


def _band_of(counts: Sequence[int], assembler: Assembler, rows: DimList) -> int:
    """Which of the dimensions outside become columns: the last, or on a host others of short rows.

    ``np.einsum("nij,nj->ni", a, b)`` of 3 x 3 matrices: three columns, or one for each matrix.
    """
    short = assembler.device.is_host and _count(assembler, rows) <= SHORT
    return counts.index(max(counts)) if short and counts[-1] < COLUMNS_FROM else len(counts) - 1


def _count(assembler: Assembler, dims: DimList) -> int:
    return count((assembler.form.space[d] for d in dims), assembler.extents)


def columns_assembler(assembler: Assembler) -> type[ColumnsAssembler] | None:
    """What walks a row group in bands of columns; None where it is better off row by row.

    Its columns lie side by side, or on the host its rows are shorter than a vector.
    """
    if assembler.tables or assembler._notes_faults() or assembler.placed:
        return None
    bands, plan, on_host = bands_of(assembler), assembler.form.plan, assembler.device.is_host
    if bands is None or plan is None or plan.threads > MOST_DOWN:
        return None
    rows, columns = _count(assembler, bands.rows), _count(assembler, bands.columns)
    own = [(o, o.own_dim(bands.columns[-1])) for o in assembler.operands.values()]
    side_by_side = all(d is None or o.has_unit_stride(d) for o, d in own)
    if not on_host:
        along = any(_is_along(o, bands.columns) for o in assembler.coordinates.values())
        return OuterAssembler if side_by_side and not along else None
    short = rows <= SHORT and bands.rows[-1] > bands.columns[-1]
    fits = columns >= COLUMNS_FROM and (side_by_side or short) and plan.parts == 1
    return ColumnsAssembler if fits else None


def _is_along(operand: ArrayOperand, dims: DimList) -> bool:
    """Whether an operand has some of the dimensions."""
    return any(operand.own_dim(d) is not None for d in dims)


class ColumnsAssembler(MatrixAssembler):
    """A row group on the host that is walked in bands of columns; its row values are arrays."""

    RUNNING = "[k][l]"
    ROW_VALUE = "[l]"
    PLACE = "row"

    @property
    def template(self) -> str:
        return "columns"

    def _walk(self) -> Walk:
        found = bands_of(self)
        assert found is not None
        return MatrixWalk(self.form.space, (*found.batch, found.rows), (found.columns,))

    def _is_row_load(self, key: Key) -> bool:
        """It is the same in every row, so that a band reads it once."""
        return self.operands[key].own_dim(self.walk.outer[-1][-1]) is None

    def facts(self) -> Facts:
        columns = 1 << (count(self.walk.cols, self.extents) - 1).bit_length()
        rows = count(self.walk.rows, self.extents)
        found = super().facts()
        assert found.plan is not None
        own = self.device.is_host and 0 < rows <= found.plan.lanes
        few = rows if own and rows <= MOST_FEW else 0
        most = self._most_columns(columns, found.plan.lanes * max(found.joined), own)
        bounded = min(max(columns, COLUMNS_FROM), most)
        return replace(
            found, large=False, row_chunks=1, columns=bounded, few_rows=few, own_lanes=own,
            rows_ahead=ROWS_AHEAD * (columns > bounded and rows >= MANY_ROWS),
        )  # fmt: skip

    @staticmethod
    def _most_columns(columns: int, running_bytes: int, own: bool) -> int:
        """Of a band; few rows, with running values of their own, gain nothing by more."""
        is_wide = columns >= WIDE_FROM and MOST_COLUMNS_WIDE * running_bytes <= RUNNING_OF_BAND
        return MOST_COLUMNS_WIDE if is_wide and not own else MOST_COLUMNS

    def _chooses(self, reduced: Sequence[Node]) -> bool:
        return False  # all elements of a column are inside

    def _bind(self, node: Node, phase: Phase) -> list[Line]:
        own = self.coordinates.get(node.result.id)
        if own is not None and _is_along(own, self.walk.inner[0]):
            return [self._own_coordinate(node)]
        if node.result.id not in self.row_level or node.is_coordinate:
            return super()._bind(node, phase)
        names = [self._fresh(f"v{len(self.names) + n}") for n, _ in enumerate(node.results)]
        for value, name in zip(node.results, names, strict=True):
            self.names[value.id] = f"{name}{self.ROW_VALUE}"
        operands = [self.text(o, node.result.id in self.form.kept) for o in node.operands]
        return self._mapped(node, phase, operands, names, COLUMN)

    def _own_coordinate(self, node: Node) -> Line:
        """The coordinate of each column: an array, as other values of columns are."""
        name = self._fresh(f"v{len(self.names)}")
        self.names[node.result.id] = f"{name}{self.ROW_VALUE}"
        return bind_coordinate(self._origin(node), self.places[node.result.id], name, COLUMN)


class OuterAssembler(ColumnsAssembler):
    """A row group on a GPU whose columns lie side by side, by one block or several."""

    RUNNING = "[l][k]"

    @property
    def template(self) -> str:
        return "outer"

    def facts(self) -> Facts:
        """As many columns a thread as whole chunks of 16 bytes have and registers hold."""
        found, plan = super().facts(), self.form.plan
        assert plan is not None
        cols = max(1, count(self.walk.cols, self.extents))
        held = RUNNING_BYTES // (plan.lanes * max(found.joined))
        columns = max(1, min(self._line(), held, MOST_EACH, cols & -cols))
        side = 1 << (-(-cols // columns) - 1).bit_length()
        across = max(32 // plan.threads, min(BLOCK // plan.threads, side))
        aligned = self._is_aligned(columns)
        return replace(found, columns=columns, across=across, can_vectorise=aligned)

    def _is_aligned(self, width: int) -> bool:
        """A width that divides the columns, too."""
        dense = self.walk.dense_row()
        return all(
            (o.aligned and (a.rows_aligned or a.base == dense)) or self._starts_aligned(o, width)
            for o, a in self._chunked
        )

    def _is_element(self, key: Key) -> bool:
        return True  # what a column has is read and written in chunks as well

    def _line(self) -> int:
        """Elements of 16 bytes of what is read in each row, whatever the results take."""
        read = [
            o.value.dtype.itemsize
            for key, o in self.operands.items()
            if not key.is_output and self.access[key].kind == "chunk"
        ]
        return max(1, 16 // min(read, default=4))
