"""Kernels of matrix products, with what reads their result."""

from __future__ import annotations

from dataclasses import replace

from opweave.compiler.codegen.assemble_matrix import MatrixAssembler
from opweave.compiler.codegen.lines import bind_product, product_result
from opweave.compiler.codegen.operands import Key, Setting
from opweave.compiler.codegen.repeats import may_carry, multiplies_state
from opweave.compiler.ir.accumulation import ProductPlan
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import count
from opweave.compiler.kernels.addressed import Factor
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.kernels.kernel_parts import Line
from opweave.compiler.kernels.layout import Access, MatrixAddress, matrix_address
from opweave.compiler.kernels.param import Param
from opweave.compiler.kernels.walks import Operand as ArrayOperand
from opweave.compiler.kernels.walks import Stride, Walk, walk_matrices
from opweave.compiler.toggles.facts import Facts, ProductFacts
from opweave.compiler.toggles.tiles import tile_class, turning_tile
from opweave.opcodes.codes import Phase
from opweave.opcodes.dtypes import DType


class ProductAssembler(MatrixAssembler):
    """A product, with maps of its result before the store; its block may repeat it by itself."""

    LANE = "[l]"
    TURNS_IN = "memory"

    def _operands(self) -> dict[Key, ArrayOperand]:
        self.node = next(n for n in self.nodes if n.is_product)
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
        return [node for node in self.nodes if not node.is_product]

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
        accumulator = self._accumulator
        turning = self._turning_tile()
        columns = self._plan.columns if turning else 0
        tile = turning or self._tile()
        found = ProductFacts(tile, accumulator.register_bytes, columns, copies=self._may_copy)
        return replace(
            super().facts(),
            itemsize=itemsize,
            can_vectorise=aligned,
            large=False,
            product=self._with_rows(found),
        )

    @property
    def _accumulator(self) -> DType:
        assert self.node.operator.accumulator is not None
        return self.node.operator.accumulator(self.node.result.dtype)

    @property
    def _may_copy(self) -> bool:
        """Tiles may be copied without waiting, as memory has their elements."""
        accumulator = self._accumulator
        plain = all(f.value.dtype.storage == accumulator.register for f in self.factors)
        repeats = self.graph.repeated and self.alone
        wide = accumulator.register_bytes >= 4  # bytes of the shortest copy
        return self.device.copies and plain and wide and not repeats

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

    def _bind(self, node: Node, phase: Phase) -> list[Line]:
        if not node.is_product:
            return super()._bind(node, phase)
        return [product_result(self._origin(node), *self._results(node))]

    def _completed(self, kernel: Kernel) -> Kernel:
        pairs = zip(self.factors, self._addresses(), strict=True)
        x, y = (Factor(f.name, f.value.dtype, address) for f, address in pairs)
        made = bind_product(self._origin(self.node), self._result_name(), x, y)
        return replace(kernel, product=replace(made, copies=self._may_copy))

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

    def __init__(self, setting: Setting, number: int):
        super().__init__(setting, number)
        # the loops below the product read its rows like those of any other operand
        self.nodes = [n for n in self.nodes if not n.is_product]
        value = self.node.result
        operand = ArrayOperand(value, "product", "C", tuple(range(len(value.shape))))
        self.operands[Key(value.id)] = operand
        self.access[Key(value.id)] = Access("staged", "")

    def _with_rows(self, facts: ProductFacts) -> ProductFacts:
        row_bytes = self.node.result.dtype.register_bytes
        return replace(facts, columns=self._plan.columns, row_bytes=row_bytes)

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
