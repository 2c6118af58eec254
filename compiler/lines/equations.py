"""Systems of equations inside of a loop: by the LAPACK that NumPy has, as ``numpy.linalg`` asks.

One of a few unknowns is most of what a filter does in a round, and costs NumPy some 10 us.
"""

from __future__ import annotations

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.arithmetic import as_computed
from opweave.compiler.lines.products import Products
from opweave.compiler.lines.values import Array, Computed, Elements, Held, Number
from opweave.opcodes.dtypes import F32, F64


class Equations(Products):
    """Lowers ``numpy.linalg.solve``, ``inv``, ``cholesky`` and ``det``."""

    def solved(self, a: Held, b: Held) -> Computed:
        """``solve``: a vector, or a matrix whose columns are solved for."""
        y = as_computed(b)
        if isinstance(y, Number) or not 0 < y.rank < 3:
            raise NoLoopError("solve for other than a vector or a matrix")
        x = self._square(a, y)
        if y.sizes[0] != x.sizes[0]:
            wrong = f"{y.sizes[0].text} != {x.sizes[0].text}"
            self.numbers.fault(wrong, "LOOP_PRODUCT", x.sizes[0].text, y.sizes[0].text)
        return self._back(self._by_solving(x, y), x, y)

    def inverted(self, a: Held) -> Computed:
        """``inv``: it is solved for the columns of the identity."""
        x = self._square(a)
        sizes = (x.sizes[0], x.sizes[0])
        identity = Elements(F64, sizes, lambda p: f"({p[0]} == {p[1]} ? 1.0 : 0.0)")
        return self._back(self._by_solving(x, identity), x)

    def cholesky(self, a: Held) -> Computed:
        """``cholesky``: the lower triangle."""
        x = self._square(a)
        made = self.view_in(self.room(), F64, x.sizes)
        matrix = self._matrix(x, F64, is_row=False)
        call = f"loop_cholesky(*{self.library()}, {matrix}, {made.pointer}, {self.room()})"
        self._called(call, "LOOP_NOT_DEFINITE", x)
        return self._back(self.copied(made), x)

    def determinant(self, a: Held) -> Computed:
        """``det``."""
        x = self._square(a)
        found = self.text.variable("double", self.text.fresh("determinant"))
        matrix = self._matrix(x, F64, is_row=False)
        call = f"loop_determinant(*{self.library()}, {matrix}, {found}, {self.room()})"
        self.numbers.fault(f"!{call}", "LOOP_NO_MEMORY")
        self._cubed(x)
        return self._back(Number(F64, self.text.named("double", found)), x)

    def _by_solving(self, x: Array, y: Array) -> Elements:
        made = self.view_in(self.room(), F64, y.sizes)
        matrices = ", ".join(self._matrix(operand, F64, is_row=False) for operand in (x, y))
        call = f"loop_solve(*{self.library()}, {matrices}, {made.pointer}, {self.room()})"
        self._called(call, "LOOP_SINGULAR", x)
        return self.copied(made)

    def _called(self, call: str, fault: str, x: Array) -> None:
        info = self.text.named("int64", call, "info")
        self.numbers.fault(f"{info} < 0", "LOOP_NO_MEMORY")
        self.numbers.fault(f"{info} > 0", fault)
        self._cubed(x)

    def _cubed(self, x: Array) -> None:
        size = x.sizes[0].factor
        self.text.add(f"LOOP_TICK({size} * {size} * {size});")

    def _square(self, a: Held, *others: Array) -> Array:
        """A square matrix; everything is computed in doubles, as by NumPy."""
        x = as_computed(a)
        if isinstance(x, Number) or x.rank != 2:
            raise NoLoopError("linear algebra of other than a matrix")
        for dtype in (x.dtype, *(other.dtype for other in others)):
            if dtype.is_complex or (dtype.is_float and dtype.itemsize < F32.itemsize):
                raise NoLoopError("linear algebra of other than real numbers")
        rows, columns = x.sizes
        if rows != columns:
            self.numbers.fault(f"{rows.text} != {columns.text}", "LOOP_NOT_SQUARE")
        return x

    def _back(self, made: Number | Elements, *operands: Array) -> Computed:
        """A result in the operands' type: floats, where all are."""
        if any(operand.dtype != F32 for operand in operands):
            return made
        return self.apply("cast", made, dtype="float32")
