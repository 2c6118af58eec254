"""Kernels of tiles: matrix products, and maps that read an operand across their loop."""

from __future__ import annotations

from dataclasses import replace

from opweave.compiler.codegen.assemble_rows import MapAssembler, MemoryLoopAssembler
from opweave.compiler.codegen.assembler import Assembler
from opweave.compiler.codegen.kernel import Kernel
from opweave.compiler.codegen.kernel_parts import Factor, Line, Load, Param, Product
from opweave.compiler.codegen.layout import Access, MatrixAddress, matrix_address
from opweave.compiler.codegen.lines import bind_product
from opweave.compiler.codegen.operands import Key
from opweave.compiler.codegen.repeats import may_carry, multiplies_state
from opweave.compiler.codegen.walks import MatrixWalk, Stride, Walk, walk_matrices
from opweave.compiler.codegen.walks import Operand as ArrayOperand
from opweave.compiler.ir.accumulation import ProductPlan
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import count, extent_of
from opweave.compiler.toggles.facts import Facts, ProductFacts
from opweave.compiler.toggles.tiles import tile_class, turning_tile
from opweave.opcodes.core import Phase

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
        return out

    def _starts_aligned(self, operand: ArrayOperand, width: int) -> bool:
        """Lines of an operand, along its unit stride, start at multiples of ``width``."""
        view = self.graph.views.get(operand.value.id)
        given = self._given(operand.value)
        shape = view.shape_of_base if view else operand.value.shape
        long = [e for e in shape if e != 1]
        dense = given is None or given.layout == "C"
        fits = len(long) < 2 or extent_of(long[-1], self.extents) % width == 0
        return operand.aligned and dense and fits


class ProductAssembler(MatrixAssembler, MemoryLoopAssembler):
    """A product, with maps of its result before the store; its block may repeat it by itself."""

    LANE = "[l]"

    def _operands(self) -> dict[Key, ArrayOperand]:
        self.number_of_product, self.node = next((i, n) for i, n in self.nodes if n.is_product)
        rank = len(self.node.result.shape)
        x, y = self.node.values
        inner = rank  # the inner dimension stands beside those of the space
        self.factors = tuple(
            self._operand(value, self._name(value), dims)
            for value, dims in (
                (x, (*range(rank - len(x.shape), rank - 2), rank - 2, inner)),
                (y, (*range(rank - len(y.shape), rank - 2), inner, rank - 1)),
            )
        )
        return super()._operands()

    def _readers(self) -> list[Node]:
        return [node for _, node in self.nodes if not node.is_product]

    def _walk(self) -> Walk:
        rank = len(self.form.space)
        operands = [*self.operands.values(), *self.factors]
        return walk_matrices(self.form.space, rank - 2, rank - 1, operands)

    def _addresses(self) -> tuple[MatrixAddress, MatrixAddress]:
        rank = len(self.form.space)
        x, y = self.factors
        return (
            matrix_address(x, self.walk, rank - 2, rank),
            matrix_address(y, self.walk, rank - 1, rank),
        )

    def facts(self) -> Facts:
        itemsize = self._itemsize()
        width = self._line()
        aligned = self._is_aligned(width) and all(
            self._starts_aligned(f, width) for f in self.factors
        )
        assert self.node.operator.accumulator is not None
        accumulator = self.node.operator.accumulator(self.node.result.dtype)
        turning = self._turning_tile()
        columns = self._plan.columns if turning else 0
        found = ProductFacts(turning or self._tile(), accumulator.register_bytes, columns)
        return replace(
            super().facts(),
            itemsize=itemsize,
            can_vectorise=aligned,
            large=False,
            product=self._with_rows(found),
        )

    def _tile(self) -> str:
        m, n = (count(e, self.extents) for e in (self.walk.rows, self.walk.cols))
        return tile_class(m, n, count(self.walk.batch, self.extents), self.device)

    def _turning_tile(self) -> str:
        """The table of tiles of a product of a state, which its block repeats; else ""."""
        repeats = self.graph.repeated and self.alone and may_carry(self.graph)
        if not (repeats and multiplies_state(self.graph, *self.node.values)):
            return ""
        m, batch = (count(e, self.extents) for e in (self.walk.rows, self.walk.batch))
        return turning_tile(m, self._plan.columns, batch, self.device)

    @property
    def _plan(self) -> ProductPlan:
        assert isinstance(self.node.plan, ProductPlan)
        return self.node.plan

    def _with_rows(self, facts: ProductFacts) -> ProductFacts:
        """Add what the rows that a block holds take."""
        return facts

    def _itemsizes(self) -> list[int]:
        return [*super()._itemsizes(), *(f.value.dtype.itemsize for f in self.factors)]

    def _longest(self) -> int:
        factors = [count(f.value.shape, self.extents) for f in self.factors]
        spans = [self.spans.get(self.graph.base(f.value).id, 0) for f in self.factors]
        return max([super()._longest(), *factors, *spans])

    def _bind(self, index: int, node: Node, phase: Phase) -> Line:
        if not node.is_product:
            return super()._bind(index, node, phase)
        self.names[node.result.id] = self._fresh(f"v{len(self.names)}")
        return bind_product(node, index, self.names[node.result.id]).result

    def _completed(self, kernel: Kernel) -> Kernel:
        bound = bind_product(self.node, self.number_of_product, self._result_name())
        x, y = self._addresses()
        made = Product(
            Factor(self.factors[0].name, self.factors[0].value.dtype, x),
            Factor(self.factors[1].name, self.factors[1].value.dtype, y),
            bound.ctype,
            bound.identity,
            bound.accumulate,
            bound.result,
            self.node.result.dtype.register,
            self.node.values[0].shape[-1],
        )
        return super()._completed(replace(kernel, product=made))

    def _result_name(self) -> str:
        return self.names[self.node.result.id]

    def _all(self) -> list[tuple[Key, ArrayOperand]]:
        found: dict[str, tuple[Key, ArrayOperand]] = {}
        for factor in self.factors:
            found.setdefault(factor.name, (Key(factor.value.id), factor))
        for key, operand in self.operands.items():
            if self.access[key].kind != "staged":
                found.setdefault(operand.name, (key, operand))
        return list(found.values())

    def _extents(self) -> list[Param]:
        depth = (self.node.values[0].shape[-1],)
        return [*super()._extents(), Param("extent", "depth", "index_t", depth)]

    def _strides(self) -> list[Stride]:
        return [*super()._strides(), *(s for a in self._addresses() for s in a.strides)]

    def _title(self) -> tuple[str, ...]:
        first, *rest = super()._title()
        return (first, *rest, f"accumulation plan of the product: {self.node.plan}")


class ProductRowsAssembler(ProductAssembler):
    """A product whose rows a block holds in shared memory, reduces and maps as a row kernel."""

    def __init__(self, *arguments: object):
        super().__init__(*arguments)  # type: ignore[arg-type]
        # the loops below the product read its rows like those of any other operand
        self.nodes = [(i, n) for i, n in self.nodes if not n.is_product]
        value = self.node.result
        operand = ArrayOperand(value, "product", "C", tuple(range(len(value.shape))))
        self.operands[Key(value.id)] = operand
        self.access[Key(value.id)] = Access("staged", "")

    def _with_rows(self, facts: ProductFacts) -> ProductFacts:
        joins = {
            (n.operator.name, n.operator.accumulator(n.result.dtype))
            for _, n in self.nodes
            if n.is_reduction and n.operator.accumulator is not None
        }
        return replace(
            facts,
            columns=self._plan.columns,
            row_bytes=self.node.result.dtype.register_bytes,
            join_bytes=sum(dtype.register_bytes for _, dtype in joins),
        )

    def _result_name(self) -> str:
        return "v"

    def _is_element(self, key: Key) -> bool:
        return super()._is_element(key) and key.value != self.node.result.id

    def _title(self) -> tuple[str, ...]:
        first, *rest = super()._title()
        return (first.replace("fused: ", "fused: matmul, ", 1), *rest)


class VendorAssembler(ProductAssembler):
    """A product that a library computes; the kernel is only a name for it."""

    def facts(self) -> Facts:
        return Facts(self.device, 4, False, False, False)

    def _strides(self) -> list[Stride]:
        return []

    def _extents(self) -> list[Param]:
        return []


def reads_across(assembler: MapAssembler) -> tuple[int, int] | None:
    """Row and column dimension of the tiles of a map with an operand in another order, if any.

    The operand's unit stride runs along the rows of the tiles, that of the outputs along their
    columns; both are long enough that a tile pays.
    """
    space = assembler.form.space
    long = [d for d, e in enumerate(space) if e != 1]
    if len(long) < 2:
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
        registers = [o.value.dtype.register_bytes for o in across]
        aligned = found.can_vectorise and all(self._starts_aligned(o, width) for o in across)
        return replace(found, can_vectorise=aligned, large=False, staged_bytes=sum(registers))

    def _itemsizes(self) -> list[int]:
        return [*super()._itemsizes(), *(o.value.dtype.itemsize for o, _ in self._across())]

    def _load(self, key: Key) -> Load:
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
