"""Walks: the dimensions of a loop, collapsed, and the strides of each operand along them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from opweave.compiler.ir.values import Extent, Shape, Symbol, Value, product

DimList = tuple[int, ...]


@dataclass(frozen=True)
class Operand:
    """An array operand of a kernel.

    Attributes:
        value: what it holds.
        name: its pointer's name.
        layout: layout class, see ``Input`` of ir/graph.py.
        dims: dimension of the space that each of its own dimensions runs along.
        aligned: it starts on a 16-byte boundary.
        strides: of each of its own dimensions the name of the stride, where it is one of the
            array behind a view; else "".
    """

    value: Value
    name: str
    layout: str
    dims: DimList
    aligned: bool = True
    strides: tuple[str, ...] = ()

    def own_dim(self, space_dim: int) -> int | None:
        """Its dimension along a space dimension, None where it broadcasts."""
        if space_dim not in self.dims:
            return None
        own = self.dims.index(space_dim)
        return None if self.value.shape[own] == 1 else own

    def stride(self, own: int) -> Stride:
        name = self.strides[own] if self.strides else ""
        return Stride(name or f"{self.name}_s{own}", self.name, self.value.id, own)

    def last_long_dim(self) -> int | None:
        long = [d for d, e in enumerate(self.value.shape) if e != 1]
        return long[-1] if long else None

    def merges(self, first: int, second: int) -> bool:
        """Two space dimensions look like one to this operand."""
        a, b = self.own_dim(first), self.own_dim(second)
        if a is None or b is None:
            return a is b
        between = [d for d in range(a + 1, b) if self.value.shape[d] != 1]
        return a < b and not between and (self.layout == "C" or self.layout[a] == "m")

    def has_unit_stride(self, own: int) -> bool:
        if self.layout == "C":
            return own == self.last_long_dim()
        return self.layout[own] == "u"


@dataclass(frozen=True)
class Stride:
    """A stride parameter: elements between neighbours of an operand along its own dimension."""

    name: str
    operand: str
    value: int
    dim: int


@dataclass(frozen=True)
class Walk:
    """The collapsed space of a kernel; a dimension is a list of space dimensions.

    ``on_host``: quotients are written as functions, which make them in vectors there.
    """

    shape: Shape
    outer: tuple[DimList, ...]
    inner: tuple[DimList, ...]
    on_host: bool = False

    @property
    def batch(self) -> tuple[Extent, ...]:
        """Extents outside of rows and columns; a flat walk has none."""
        return ()

    def extent_factors(self, dims: DimList) -> tuple[Extent, ...]:
        return tuple(self.shape[d] for d in dims)

    def extent_name(self, dims: DimList) -> str:
        """Text of an extent: the name of a parameter, or a number."""
        factors = self.extent_factors(dims)
        names = [str(e) for e in factors if isinstance(e, Symbol)]
        number = product(e for e in factors if isinstance(e, int))
        return "_".join([*names, *([str(number)] if number != 1 or not names else [])])

    @property
    def rows(self) -> tuple[Extent, ...]:
        return tuple(e for dims in self.outer for e in self.extent_factors(dims))

    @property
    def cols(self) -> tuple[Extent, ...]:
        return tuple(e for dims in self.inner for e in self.extent_factors(dims))

    def dense_row(self) -> str:
        """Text of the offset of a row of an array that is as the walk is, or ""."""
        return "row * cols" if self.outer else ""

    def row_coordinates(self) -> list[str]:
        """Names of the outer coordinates; ``row`` itself where there is one."""
        return ["row"] if len(self.outer) == 1 else [f"r{d}" for d in range(len(self.outer))]

    def column_coordinates(self, j: str, *, may_be_none: bool = False) -> list[str]:
        """Text of the inner coordinates from the column ``j``.

        ``may_be_none``: they are asked for where there is no column, since an extent is 0.
        """
        out: list[str] = []
        rest = j
        for dims in reversed(self.inner[1:]):
            name = self.extent_name(dims)
            if may_be_none and not name.isdecimal():
                name = f"divisor({name})"
            out.append(f"left_by({rest}, {name})" if self.on_host else f"{rest} % {name}")
            rest = f"divided({rest}, {name})" if self.on_host else f"{rest} / {name}"
        return [*reversed([*out, rest])]


class MatrixWalk(Walk):
    """A walk over tiles of matrices: the last outer dimension is the rows, the rest the batch."""

    @property
    def rows(self) -> tuple[Extent, ...]:
        return self.extent_factors(self.outer[-1])

    @property
    def batch(self) -> tuple[Extent, ...]:
        return tuple(e for dims in self.outer[:-1] for e in self.extent_factors(dims))

    def batch_coordinates(self) -> list[str]:
        count = len(self.outer) - 1
        return ["batch"] if count == 1 else [f"b{d}" for d in range(count)]

    def row_coordinates(self) -> list[str]:
        return [*self.batch_coordinates(), "row"]

    def dense_row(self) -> str:
        batches = len(self.outer) - 1
        return {0: "row * cols", 1: "(batch * rows + row) * cols"}.get(batches, "")


def collapse(dims: Sequence[int], operands: Sequence[Operand]) -> tuple[DimList, ...]:
    """Merge neighbouring dimensions that every operand sees as one."""
    out: list[DimList] = []
    for dim in dims:
        if out and all(o.merges(out[-1][-1], dim) for o in operands):
            out[-1] = (*out[-1], dim)
        else:
            out.append((dim,))
    return tuple(out)


def walk_map(shape: Shape, operands: Sequence[Operand], columns: int = 0) -> Walk:
    """Walk of a map: so many of the last dimensions as columns, if more are left; else all."""
    found = collapse([d for d, e in enumerate(shape) if e != 1], operands)
    rows = len(found) - columns
    if columns and rows > 0:
        return Walk(shape, found[:rows], found[rows:])
    return Walk(shape, (), found)


def walk_rows(shape: Shape, axes: DimList, operands: Sequence[Operand]) -> Walk:
    """Walk of a reduction: reduced axes as columns, the others as rows."""
    long = [d for d, e in enumerate(shape) if e != 1]
    outer = collapse([d for d in long if d not in axes], operands)
    return Walk(shape, outer, collapse([d for d in long if d in axes], operands))


def walk_matrices(shape: Shape, row: int, column: int, operands: Sequence[Operand]) -> MatrixWalk:
    """Walk of tiles over two dimensions of a space, the others as a batch."""
    rest = [d for d, e in enumerate(shape) if e != 1 and d not in (row, column)]
    return MatrixWalk(shape, (*collapse(rest, operands), (row,)), ((column,),))


def in_order(walk: Walk) -> bool:
    """Rows before columns, as in memory of a C-contiguous array of the space."""
    dims = [d for group in (*walk.outer, *walk.inner) for d in group]
    return dims == sorted(dims)
