"""Products of vectors and matrices: in the order in which kernels add, or by NumPy's BLAS.

Which of the two is what ``compiler/scheduling/vendors.py`` says of a product of these sizes, so
that a loop has the bits of the same lines unrolled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.arithmetic import Arithmetic, as_computed
from opweave.compiler.lines.values import Array, Computed, Elements, Held, Number, Size, Strided
from opweave.compiler.scheduling.vendors import BLAS_COLUMNS, BLAS_DEPTH, BLAS_FROM
from opweave.opcodes import OPERATORS
from opweave.opcodes.codes import Phase
from opweave.opcodes.dtypes import C64, C128, F32, F64, DType
from opweave.opcodes.tokens import rename

# What products are computed in as it is; their places are the library's kinds.
SUMMED = (F32, F64, C64, C128)
# The parameter of a loop that has the routines.
LIBRARY = "const ProductLibrary*"
# What the library multiplies and adds while a loop takes a step: a guess, for Ctrl-C.
STEPS = 8


class Sizes(NamedTuple):
    """Of a product: a vector on the left is one row, on the right one column."""

    rows: Size
    depth: Size
    columns: Size

    @property
    def by_library(self) -> str:
        """C text: whether it goes to BLAS; ``is_for_blas`` of vendors.py says so of numbers."""
        m, k, n = (size.factor for size in self)
        return f"(({k} >= {BLAS_DEPTH} || {n} < {BLAS_COLUMNS}) && {m} * {k} * {n} >= {BLAS_FROM})"


class Products(Arithmetic):
    """Lowers ``@``."""

    def product(self, a: Held, b: Held) -> Computed:
        """``a @ b``.

        Raises:
            NoLoopError: of numbers, of stacks of matrices, and of types that nobody multiplies.
        """
        x, y = as_computed(a), as_computed(b)
        if isinstance(x, Number) or isinstance(y, Number) or not 0 < x.rank < 3 > y.rank > 0:
            raise NoLoopError("a product of other than vectors and matrices")
        _, (dtype,) = OPERATORS["matmul"].type_rule((x.dtype, y.dtype), ())
        if dtype not in SUMMED:
            raise NoLoopError(f"a product of {dtype}")
        depth, other = x.sizes[-1], y.sizes[0]
        if depth != other:
            wrong = f"{depth.text} != {other.text}"
            self.numbers.fault(wrong, "LOOP_PRODUCT", depth.text, other.text)
            y = replace(y, sizes=(depth, *y.sizes[1:]))
        x, y = self._read_again(x, dtype), self._read_again(y, dtype)
        if x.rank == y.rank == 1:
            return self._of_vectors(x, y, dtype)
        made = self.view_in(self.room(), dtype, (*x.sizes[:-1], *y.sizes[1:]))
        self._chosen(x, y, made.pointer, dtype, lambda: self._accumulated(x, y, made))
        return self.copied(made)

    def _read_again(self, operand: Array, dtype: DType) -> Array:
        """An operand in memory, unless it is a vector or lies there: it is read more than once."""
        if isinstance(operand, Strided) or operand.rank == 1:
            return operand
        return self.apart(operand)

    def _of_vectors(self, x: Array, y: Array, dtype: DType) -> Number:
        if self.by_library(Sizes(Size.of(1), x.sizes[0], Size.of(1))) is False:
            return self._summed(x, y)
        found = self.text.variable(dtype.register, self.text.fresh("product"))
        self._chosen(
            x, y, f"&{found}", dtype,
            lambda: self.text.add(f"{found} = {self._summed(x, y).text};"),
        )  # fmt: skip
        return Number(dtype, self.text.named(dtype.register, found))

    def _summed(self, x: Array, y: Array) -> Number:
        product = self.apply("multiply", x, y)
        assert isinstance(product, Elements)
        return self.reduced("sum", product)

    def _chosen(
        self, x: Array, y: Array, out: str, dtype: DType, ours: Callable[[], None]
    ) -> None:
        """A product by the library or by lines of ours: where sizes change C decides."""
        one = Size.of(1)
        rows, columns = x.sizes[0] if x.rank == 2 else one, y.sizes[1] if y.rank == 2 else one
        sizes = Sizes(rows, x.sizes[-1], columns)
        found = self.by_library(sizes)
        if found is None:
            with self.text.block(f"if ({sizes.by_library})"):
                self._multiplied(x, y, out, dtype, sizes)
            with self.text.block("else"):
                ours()
        elif found:
            self._multiplied(x, y, out, dtype, sizes)
        else:
            ours()

    def _multiplied(self, x: Array, y: Array, out: str, dtype: DType, sizes: Sizes) -> None:
        """The product by the library."""
        names = []
        for operand in (x, y):
            names.append(self._matrix(operand, dtype, is_row=operand is x))
            room = self.room()
            self.numbers.fault(f"!{names[-1]}.served_by({room})", "LOOP_NO_MEMORY")
        kind = SUMMED.index(dtype)
        self.text.add(f"loop_multiply(*{self.library()}, {kind}, {', '.join(names)}, {out});")
        self.text.add(f"LOOP_TICK({' * '.join(s.factor for s in sizes)} / {STEPS});")

    def _matrix(self, operand: Array, dtype: DType, is_row: bool) -> str:
        """The name of a ``LoopMatrix``."""
        if isinstance(operand, Elements) or operand.dtype != dtype:
            operand = self.apart(self.as_type(operand, dtype))
        lines = [size.text for size in operand.sizes], list(operand.strides)
        (rows, *columns), (line, *apart) = lines
        if not columns:
            rows, columns = ("1", [rows]) if is_row else (rows, ["1"])
            line, apart = ("0", [line]) if is_row else (line, ["0"])
        name = self.text.fresh("matrix")
        parts = ", ".join((operand.pointer, rows, *columns, line, *apart))
        self.text.add(f"LoopMatrix<{dtype.storage}> {name} = {{{parts}}};")
        return name

    def as_type(self, operand: Array, dtype: DType) -> Array:
        """The elements of an array in a type that holds them."""
        if operand.dtype == dtype:
            return operand
        found = self.apply("cast", operand, dtype=dtype.numpy_name)
        assert isinstance(found, Elements)
        return found

    def _accumulated(self, x: Array, y: Array, made: Strided) -> None:
        """Every element is one running value, which takes the products in rising order.

        They are added to what the elements hold, columns innermost.
        """
        dtype, operator = made.dtype, OPERATORS["matmul"]
        code = operator.opcode(Phase.ACCUMULATE).row(dtype.kind)
        self.store(made, Number(dtype, f"{dtype.register}({rename(code.start, _slots(dtype))})"))
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
        self._finished(made)

    def _finished(self, made: Strided) -> None:
        """What kernels do to a running value at its end."""
        last = OPERATORS["matmul"].opcode(Phase.REDUCE).row(made.dtype.kind).text
        if last == "acc":
            return

        def finish(places: Sequence[str]) -> None:
            slots = {"acc": self.element(made, places), **_slots(made.dtype)}
            self.put_at(made, places, rename(last, slots))

        self.each(made.sizes, finish)

    def by_library(self, sizes: Sizes) -> bool | None:
        """Whether BLAS computes a product in every such call; None where that may change."""
        raise NotImplementedError

    def library(self) -> str:
        """The parameter that has the routines."""
        raise NotImplementedError


def _slots(dtype: DType) -> dict[str, str]:
    return {"T": dtype.register}
