"""Products of vectors and of small matrices, in the order in which kernels add."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from opweave.compiler.loops.arithmetic import Arithmetic, as_computed
from opweave.compiler.loops.values import (
    Array,
    Computed,
    Elements,
    Held,
    NoLoopError,
    Number,
    Size,
)
from opweave.opcodes import OPERATORS
from opweave.opcodes.codes import Phase
from opweave.opcodes.dtypes import F32, F64
from opweave.opcodes.tokens import rename


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
        if product.dtype not in (F32, F64):
            raise NoLoopError(f"a product of {product.dtype}")
        return self.reduced("sum", product)

    def _of_matrices(self, x: Array, y: Array) -> Elements:
        """Every element is one running value, which takes the products in rising order."""
        operator = OPERATORS["matmul"]
        _, (dtype,) = operator.type_rule((x.dtype, y.dtype), ())
        sizes = (*x.sizes[:-1], *y.sizes[1:])
        if dtype not in (F32, F64) or not self.is_small((*x.sizes, *y.sizes[1:])):
            raise NoLoopError("a product of matrices inside a loop")
        made = self.view_in(self.room(), dtype, sizes)
        code = operator.opcode(Phase.ACCUMULATE).row(dtype.kind)
        self.store(made, Number(dtype, f"{dtype.register}({code.start})"))
        rows, depth = x.sizes[0].text if x.rank == 2 else "", x.sizes[-1].text
        columns = y.sizes[1].text if y.rank == 2 else ""
        i, k, j = (self.text.fresh("k") for _ in range(3))
        heads = [(i, rows), (k, depth), (j, columns)]

        def step() -> None:
            own = [n for n, end in ((i, rows), (j, columns)) if end]
            left = self.element(x, [i, k] if rows else [k])
            right = self.element(y, [k, j] if columns else [k])
            slots = {
                "x": self.cast(left, x.dtype, dtype),
                "y": self.cast(right, y.dtype, dtype),
                "acc": self.text.named(dtype.register, f"load({made.at(own)})"),
            }
            self.text.add(f"store({made.at(own)}, {rename(code.text, slots)});")

        self.nested([f"for (int64 {n} = 0; {n} < {end}; ++{n})" for n, end in heads if end], step)
        self.text.add(f"LOOP_TICK({' * '.join(s.factor for s in (*x.sizes, *y.sizes[1:]))});")
        return self.copied(made)

    def is_small(self, sizes: Sequence[Size]) -> bool:
        """Whether a product of these sizes is one that kernels compute, in every such call."""
        raise NotImplementedError
