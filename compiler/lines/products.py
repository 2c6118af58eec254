"""Products of vectors and matrices: in the order in which kernels add, or by NumPy's BLAS.

Which of the two is what ``compiler/scheduling/vendors.py`` says of a product of these sizes, so
that a loop has the bits of the same lines unrolled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.codegen.lines import Origin, bind_map, bind_reduction
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import Value
from opweave.compiler.lines.applied import bounds_of, frozen_attrs
from opweave.compiler.lines.arithmetic import Arithmetic, as_computed
from opweave.compiler.lines.reducing import AlongAxes
from opweave.compiler.lines.served import Served, Sizes
from opweave.compiler.lines.values import Array, Computed, Elements, Held, Number, Size, Strided
from opweave.compiler.scheduling.accumulation_plans import HOST_FEW_ROWS
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


class Products(Arithmetic):
    """Lowers ``@``.

    Attributes:
        served: what is known of the call that a loop is lowered for.
    """

    served: Served

    def product(self, a: Held, b: Held) -> Computed:
        """``a @ b``.

        Raises:
            NoLoopError: of numbers, of stacks of matrices, and of types that nobody multiplies.
        """
        x, y = as_computed(a), as_computed(b)
        if isinstance(x, Number) or isinstance(y, Number) or not 0 < x.rank < 3 > y.rank > 0:
            raise NoLoopError("a product of other than vectors and matrices")
        _, (dtype,) = OPERATORS["matmul"].type_rule((x.dtype, y.dtype), ())
        if dtype not in SUMMED and dtype.kind not in "iu":
            raise NoLoopError(f"a product of {dtype}")
        depth, other = x.sizes[-1], y.sizes[0]
        if depth != other:
            wrong = f"{depth.text} != {other.text}"
            self.numbers.fault(wrong, "LOOP_PRODUCT", depth.text, other.text)
            y = replace(y, sizes=(depth, *y.sizes[1:]))
        if x.rank == y.rank == 1:
            return self._of_vectors(x, y, dtype)
        made = self.view_in(self.room(), dtype, (*x.sizes[:-1], *y.sizes[1:]))
        self._multiplied(x, y, made, dtype)
        return self.copied(made)

    def _of_vectors(self, x: Array, y: Array, dtype: DType) -> Number:
        """Long ones by the library, short ones as a sum; where lengths change C decides."""
        one = Size.of(1)
        sizes = Sizes(one, x.sizes[0], one)
        if dtype not in SUMMED:
            return self._of_integers(x, y, dtype)
        by_library = self.served.by_library(sizes)
        if by_library is False:
            return self._summed(x, y)
        found = self.text.variable(dtype.register, self.text.fresh("product"))
        self._either(
            by_library, sizes.by_library,
            lambda: self._by_library(x, y, f"&{found}", dtype),
            lambda: self.text.add(f"{found} = {self._summed(x, y).text};"),
        )  # fmt: skip
        return Number(dtype, self.text.named(dtype.register, found))

    def _of_integers(self, x: Array, y: Array, dtype: DType) -> Number:
        """They stay in their type, which sums leave, and are the same in any order."""
        found = self.text.variable(dtype.storage, self.text.fresh("product"))
        self._by_ours(x, y, f"&{found}", dtype)
        return Number(dtype, self.text.named(dtype.register, found), None, *bounds_of(dtype)[1:])

    def _summed(self, x: Array, y: Array) -> Number:
        product = self.apply("multiply", x, y)
        assert isinstance(product, Elements)
        found = self.reduced("sum", AlongAxes.whole(product))
        assert isinstance(found, Number)
        return found

    def _multiplied(self, x: Array, y: Array, made: Strided, dtype: DType) -> None:
        """A product with a matrix: by the library, by ours, or as C decides by the sizes."""
        one = Size.of(1)
        rows, columns = x.sizes[0] if x.rank == 2 else one, y.sizes[1] if y.rank == 2 else one
        sizes = Sizes(rows, x.sizes[-1], columns)
        if dtype not in SUMMED:
            self._by_ours(x, y, made.pointer, dtype)
            return
        self._either(
            self.served.by_library(sizes), sizes.by_library,
            lambda: self._by_library(x, y, made.pointer, dtype),
            lambda: self._by_ours(x, y, made.pointer, dtype),
        )  # fmt: skip

    def _either(
        self, known: bool | None, asked: str, one: Callable[[], None], other: Callable[[], None]
    ) -> None:
        """The lines of one of two ways, or of both where C asks."""
        if known is not None:
            (one if known else other)()
            return
        with self.text.block(f"if ({asked})"):
            one()
        with self.text.block("else"):
            other()

    def _by_ours(self, x: Array, y: Array, out: str, dtype: DType) -> None:
        matrices = ", ".join(self._matrices(x, y, dtype))
        self.text.add(f"loop_multiply_here<{self._adder(dtype)}>({matrices}, {out});")
        self.text.add(f"LOOP_TICK({' * '.join(s.factor for s in (*x.sizes, *y.sizes[1:]))});")

    def _by_library(self, x: Array, y: Array, out: str, dtype: DType) -> None:
        self._passed(self._matrices(x, y, dtype), out, dtype)
        sizes = (*x.sizes, *y.sizes[1:])
        self.text.add(f"LOOP_TICK({' * '.join(s.factor for s in sizes)} / {STEPS});")

    def _passed(self, matrices: Sequence[str], out: str, dtype: DType) -> None:
        """Pass two matrices to the library, in strides that it takes."""
        for matrix in matrices:
            self.numbers.fault(f"!{matrix}.served_by({self.room()})", "LOOP_NO_MEMORY")
        kind = SUMMED.index(dtype)
        self.text.add(f"loop_multiply(*{self.library()}, {kind}, {', '.join(matrices)}, {out});")

    def _matrices(self, x: Array, y: Array, dtype: DType) -> tuple[str, str]:
        return self._matrix(x, dtype, is_row=True), self._matrix(y, dtype, is_row=False)

    def _adder(self, dtype: DType) -> str:
        """The name of a struct: where a running value begins, how it takes a product, its end."""
        operator, slots = OPERATORS["matmul"], {"T": dtype.register}
        added = operator.opcode(Phase.ACCUMULATE).row(dtype.kind)
        last = operator.opcode(Phase.REDUCE).row(dtype.kind)
        name = f"Product_{dtype.name}"
        lines = (
            f"struct {name} {{",
            f"    using T = {dtype.register};",
            f"    static T start() {{ return {rename(added.start, slots)}; }}",
            f"    static T add(T x, T y, T acc) {{ return {rename(added.text, slots)}; }}",
            f"    static T last(T acc) {{ return {rename(last.text, slots)}; }}",
            f"    static constexpr int64 few_rows = {HOST_FEW_ROWS if dtype in SUMMED else 0};",
            *(f"    {line}" for line in row_of_products(dtype) if dtype in SUMMED),
            "};",
        )
        self.functions["\n".join(lines)] = None
        return name

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

    def library(self) -> str:
        """The parameter that has the routines."""
        raise NotImplementedError


def row_of_products(dtype: DType) -> Iterator[str]:
    """Members of a struct: by one column, kernels sum the products of each row."""
    x, y, term = (Value(n, dtype, ()) for n in range(3))
    product = Node(OPERATORS["multiply"], (x, y), (term,), ())
    (line,), _ = bind_map(Origin(product, 0), Phase.EPILOGUE, ["x", "y"], ["term"], str)
    operator = OPERATORS["sum"]
    sums = Node(operator, (term,), (Value(3, dtype, ()),), frozen_attrs(operator, {}))
    found = bind_reduction(Origin(sums, 0), "term", "row", "")
    acc = found.ctype
    yield f"using Acc = {acc};"
    yield f"static Acc zero() {{ return {found.identity}; }}"
    yield f"static void take(T x, T y, Acc& row_acc) {{ {line.text} {found.accumulate.text} }}"
    yield f"static Acc joined(Acc x, Acc y) {{ return {found.joined('x', 'y')}; }}"
    yield f"static T total(Acc acc) {{ return {found.result('acc')}; }}"
