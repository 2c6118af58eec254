"""Kernels of tiles of matrices, such as maps that read an operand across their loop."""

from __future__ import annotations

from dataclasses import replace

from opweave.compiler.codegen.assemble_rows import MapAssembler
from opweave.compiler.codegen.assembler import Assembler
from opweave.compiler.codegen.operands import Key
from opweave.compiler.ir.values import extent_of
from opweave.compiler.kernels.addressed import Factor
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.kernels.kernel_parts import OperandLoad
from opweave.compiler.kernels.layout import MatrixAddress, matrix_address
from opweave.compiler.kernels.param import Param
from opweave.compiler.kernels.walks import MatrixWalk, Stride, Walk, walk_matrices
from opweave.compiler.kernels.walks import Operand as ArrayOperand
from opweave.compiler.toggles.facts import Facts

# Extents from which reading across the loop is worth a tile.
TILE_FROM = 32


class MatrixAssembler(Assembler):
    """What walks tiles of matrices: rows and columns are one dimension of the space each."""

    walk: MatrixWalk

    def _coordinates(self) -> tuple[str, ...]:
        """Batch coordinates from ``batch``, where there are several."""
        return self._divided("batch", self.walk.outer[:-1], self.walk.batch_coordinates())

    def _extents(self) -> list[Param]:
        out = [Param("extent", "rows", "index_t", self.walk.rows)]
        out.append(Param("extent", "cols", "index_t", self.walk.cols))
        if self._coordinates():
            out += self._named(self.walk.outer[1:-1])
        return [*out, *self.table_extents.values()]

    def _starts_aligned(self, operand: ArrayOperand, width: int) -> bool:
        """Lines of an operand, along its unit stride, start at multiples of ``width``."""
        view = self.graph.views.get(operand.value.id)
        given = self._given(operand.value)
        shape = view.shape_of_base if view else operand.value.shape
        long = [e for e in shape if e != 1]
        dense = given is None or given.layout == "C"
        fits = len(long) < 2 or extent_of(long[-1], self.extents) % width == 0
        return operand.aligned and dense and fits


def reads_across(assembler: MapAssembler) -> tuple[int, int] | None:
    """Row and column dimension of the tiles of a map with an operand in another order, if any.

    The operand's unit stride runs along the rows of the tiles, that of the outputs along their
    columns; both are long enough that a tile pays.
    """
    space = assembler.form.space
    long = [d for d, e in enumerate(space) if e != 1]
    if len(long) < 2 or assembler.tables or assembler.coordinates:
        return None
    column = long[-1]
    for key, operand in assembler.operands.items():
        row = _unit_dim(operand)
        crosses = row is not None and row != column and operand.own_dim(column) is not None
        if key.is_output or not crosses or row is None:
            continue
        sizes = (extent_of(space[d], assembler.extents) for d in (row, column))
        if min(sizes) >= TILE_FROM:
            return row, column
    return None


def _unit_dim(operand: ArrayOperand) -> int | None:
    """The dimension of the space along which an operand is contiguous."""
    for own, dim in enumerate(operand.dims):
        if operand.value.shape[own] != 1 and operand.has_unit_stride(own):
            return dim
    return None


class TileAssembler(MatrixAssembler, MapAssembler):
    """A map over tiles: operands that run along the rows come through shared memory."""

    LANE = "[l]"
    TURNS_IN = ""

    @property
    def template(self) -> str:
        return "tile"

    def _walk(self) -> Walk:
        found = reads_across(self)
        assert found is not None
        return walk_matrices(self.form.space, *found, list(self.operands.values()))

    def _across(self) -> list[tuple[ArrayOperand, MatrixAddress]]:
        """Operands whose unit stride runs along the rows of the tiles."""
        row, column = self.walk.outer[-1][0], self.walk.inner[0][0]
        return [
            (o, matrix_address(o, self.walk, row, column))
            for key, o in self.operands.items()
            if not key.is_output and _unit_dim(o) == row and o.own_dim(column) is not None
        ]

    def facts(self) -> Facts:
        found, width = super().facts(), self._line()
        across = [o for o, _ in self._across()]
        staged = tuple(o.value.dtype.register_bytes for o in across)
        aligned = found.can_vectorise and all(self._starts_aligned(o, width) for o in across)
        return replace(found, can_vectorise=aligned, large=False, staged=staged)

    def _itemsizes(self) -> list[int]:
        return [*super()._itemsizes(), *(o.value.dtype.itemsize for o, _ in self._across())]

    def _load(self, key: Key) -> OperandLoad:
        found = super()._load(key)
        names = {o.name for o, _ in self._across()}
        if found.name in names and not key.is_output:
            return replace(found, access=replace(found.access, kind="across"))
        return found

    def _strides(self) -> list[Stride]:
        return [*super()._strides(), *(s for _, a in self._across() for s in a.strides)]

    def _completed(self, kernel: Kernel) -> Kernel:
        across = tuple(Factor(o.name, o.value.dtype, a) for o, a in self._across())
        return replace(kernel, across=across)
