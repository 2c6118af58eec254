"""Products of vectors and of small matrices, in the order in which kernels add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.loops.arithmetic import Arithmetic, as_computed
from opweave.compiler.loops.values import Array, Computed, Elements, Held, Number, Size, Strided
from opweave.opcodes import OPERATORS
from opweave.opcodes.codes import Phase
from opweave.opcodes.dtypes import C64, C128, F32, F64, DType
from opweave.opcodes.tokens import rename

# What products are computed in as it is.
SUMMED = (F32, F64, C64, C128)


class Products(Arithmetic):
    """Lowers ``@``."""

    def product(self, a: Held, b: Held) -> Computed:
        """``a @ b``.

        Raises:
            NoLoopError: of numbers, of stacks of matrices, and of matrices that BLAS multiplies.
        """
        x, y = as_computed(a), as_computed(b)
        if isinstance(x, Number) or isinstance(y, Number) or not 0 < x.rank < 3 > y.rank > 0:
            raise NoLoopError("a product of other than vectors and matrices")
        depth, other = x.sizes[-1], y.sizes[0]
        if depth != other:
            wrong = f"{depth.text} != {other.text}"
            self.numbers.fault(wrong, "LOOP_PRODUCT", depth.text, other.text)
            y = replace(y, sizes=(depth, *y.sizes[1:]))
        if x.rank == y.rank == 1:
            return self._of_vectors(x, y)
        return self._of_matrices(x, y)

    def _of_vectors(self, x: Array, y: Array) -> Number:
        product = self.apply("multiply", x, y)
        assert isinstance(product, Elements)
        if product.dtype not in SUMMED:
            raise NoLoopError(f"a product of {product.dtype}")
        return self.reduced("sum", product)

    def _of_matrices(self, x: Array, y: Array) -> Elements:
        """Every element is one running value, which takes the products in rising order."""
        operator = OPERATORS["matmul"]
        _, (dtype,) = operator.type_rule((x.dtype, y.dtype), ())
        sizes = (*x.sizes[:-1], *y.sizes[1:])
        if dtype not in SUMMED or not self.is_small((*x.sizes, *y.sizes[1:])):
            raise NoLoopError("a product of matrices inside a loop")
        made = self.view_in(self.room(), dtype, sizes)
        start = rename(operator.opcode(Phase.ACCUMULATE).row(dtype.kind).start, _slots(dtype))
        self.store(made, Number(dtype, f"{dtype.register}({start})"))
        self._accumulated(x, y, made)
        last = operator.opcode(Phase.REDUCE).row(dtype.kind).text

        def element(places: Sequence[str]) -> str:
            slots = {"acc": self.element(made, places), **_slots(dtype)}
            return self.text.named(dtype.register, rename(last, slots))

        return Elements(dtype, sizes, element, (made,))

    def _accumulated(self, x: Array, y: Array, made: Strided) -> None:
        """Add the products to what the elements hold, columns innermost."""
        dtype = made.dtype
        code = OPERATORS["matmul"].opcode(Phase.ACCUMULATE).row(dtype.kind)
        rows, depth = x.sizes[0].text if x.rank == 2 else "", x.sizes[-1].text
        columns = y.sizes[1].text if y.rank == 2 else ""
        i, k, j = (self.text.fresh("k") for _ in range(3))

        def step() -> None:
            own = made.at([n for n, end in ((i, rows), (j, columns)) if end])
            left = self.element(x, [i, k] if rows else [k])
            right = self.element(y, [k, j] if columns else [k])
            slots = {
                "x": self.cast(left, x.dtype, dtype),
                "y": self.cast(right, y.dtype, dtype),
                "acc": self.text.named(dtype.register, f"load({own})"),
            }
            self.text.add(f"store({own}, {rename(code.text, slots)});")

        heads = [(n, end) for n, end in ((i, rows), (k, depth), (j, columns)) if end]
        texts = [f"for (int64 {n} = 0; {n} < {end}; ++{n})" for n, end in heads]
        self.nested(texts, step, are_apart=bool(columns))  # of a vector all rounds add to one
        self.text.add(f"LOOP_TICK({' * '.join(s.factor for s in (*x.sizes, *y.sizes[1:]))});")

    def is_small(self, sizes: Sequence[Size]) -> bool:
        """Whether a product of these sizes is one that kernels compute, in every such call."""
        raise NotImplementedError


def _slots(dtype: DType) -> dict[str, str]:
    return {"T": dtype.register}
