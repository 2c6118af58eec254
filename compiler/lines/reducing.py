"""Rows that are reduced, all of an array or along an axis, by the plan that rows have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.codegen.lines import Origin, bind_reduction
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import Value
from opweave.compiler.kernels.kernel_parts import Reduction
from opweave.compiler.lines.applied import bounds_of, frozen_attrs, reads_of
from opweave.compiler.lines.storing import Storing
from opweave.compiler.lines.values import Array, Elements, Number, Size, Strided
from opweave.compiler.scheduling.accumulation_plans import HOST_FEW_ROWS
from opweave.opcodes import OPERATORS
from opweave.opcodes.dtypes import I64, DType

# The element of a row at a place: its text, of lines that may stand before.
PlaceOf = Callable[[str], str]


class ReducedRow(NamedTuple):
    """A row to reduce.

    Attributes:
        length: text of how many elements there are.
        place_of: of each the text.
        run: the text of what joins them, up to the type.
        few: whether there are so few rows that a long one is cut, where that is to be asked.
    """

    length: str
    place_of: PlaceOf
    run: str = "row_of"
    few: str = ""


class Reducing(Storing):
    """Lowers reductions."""

    def reduced(self, name: str, operand: Array, **attrs: Any) -> Number:
        """A reduction of all elements."""
        node = self._reduction(name, operand, attrs)
        row = ReducedRow(*self._flat(operand))
        if node.operator.needs_nonempty:
            self.numbers.fault(f"{row.length} == 0", "LOOP_EMPTY")
        found = self._joined(node, operand.dtype, row)
        self.text.add(f"LOOP_TICK({row.length});")
        return found

    def reduced_along(self, name: str, operand: Array, axis: int, keepdims: bool) -> Strided:
        """A reduction along an axis, in memory."""
        node = self._reduction(name, operand, {})
        row = self._row(operand, axis)
        if node.operator.needs_nonempty:
            self.numbers.fault(f"{row.length} == 0", "LOOP_EMPTY")
        if axis < operand.rank - 1 and not operand.sizes[-1].is_one:
            return self._by_columns(node, operand, axis, keepdims)

        def element(places: Sequence[str]) -> str:
            found = row._replace(place_of=self._along(operand, axis, keepdims, places))
            return self._joined(node, operand.dtype, found).text

        result = Elements(node.result.dtype, (), element, reads_of(operand))
        return self._each_row(operand, axis, keepdims, result)

    def first_place(self, sign: str, operand: Array) -> Number:
        """The place of the first largest (``>``) or smallest element, or of the first NaN."""
        count, place_of = self._flat(operand)
        self.numbers.fault(f"{count} == 0", "LOOP_EMPTY")
        name = self._first(sign, operand.dtype, count, place_of)
        self.text.add(f"LOOP_TICK({count});")
        return Number(I64, name, *bounds_of(I64))

    def first_places(self, sign: str, operand: Array, axis: int, keepdims: bool) -> Strided:
        """The same along an axis, in memory."""
        row = self._row(operand, axis)
        self.numbers.fault(f"{row.length} == 0", "LOOP_EMPTY")

        def element(places: Sequence[str]) -> str:
            place_of = self._along(operand, axis, keepdims, places)
            return self._first(sign, operand.dtype, row.length, place_of)

        return self._each_row(operand, axis, keepdims, Elements(I64, (), element))

    def _reduction(self, name: str, operand: Array, attrs: Any) -> Node:
        """A node of the operator: it says what is taken, and what a row gives."""
        operator = OPERATORS[name]
        frozen = frozen_attrs(operator, attrs)
        (taken, *_), results = operator.type_rule((operand.dtype,), frozen)
        if not operand.rank or len(results) != 1 or operator.toggles:
            raise NoLoopError(f"{name} of a number")
        return Node(operator, (Value(0, taken, ()),), (Value(1, results[0], ()),), frozen)

    def _row(self, operand: Array, axis: int) -> ReducedRow:
        """How each row along an axis is joined, but for its elements.

        The last axis is cut where it is long and the rows are few; any other never is.
        """
        others = [s.factor for n, s in enumerate(operand.sizes) if n != axis and not s.is_one]
        rows = " * ".join(others) or "1"
        count = operand.sizes[axis].text
        if axis == operand.rank - 1:
            return ReducedRow(count, str, "row_of_rows", f"{rows} < {HOST_FEW_ROWS}")
        return ReducedRow(count, str, "run_of")

    def _along(self, operand: Array, axis: int, keepdims: bool, places: Sequence[str]) -> PlaceOf:
        """The elements of a row, by the places along the axes of the result."""
        before, behind = places[:axis], places[axis + keepdims :]
        return lambda k: self.element(operand, [*before, k, *behind])

    def _each_row(self, operand: Array, axis: int, keepdims: bool, result: Elements) -> Strided:
        """What each row gives, in memory; ``result``: the same, whatever its shape."""
        made = self.apart(replace(result, sizes=_reduced_sizes(operand, axis, keepdims)))
        self._counted(operand)
        return made

    def _by_columns(self, node: Node, operand: Array, axis: int, keepdims: bool) -> Strided:
        """A reduction along another axis than the last: neighbours along that one at once."""
        result, count = node.result.dtype, operand.sizes[axis].text
        made = self.view_in(self.room(), result, _reduced_sizes(operand, axis, keepdims))

        def body(places: Sequence[str]) -> None:
            column, value = self.text.fresh("k"), self.text.fresh("v")
            k, x = self.text.fresh("k"), self.text.fresh("v")
            found = bind_reduction(Origin(node, 0), x, "row", "")
            acc = found.ctype
            lanes = "LOOP_LANES" if node.values[0].dtype.kind in "fc" else "1"
            head = (
                f"columns_of<{acc}, {lanes}>({operand.sizes[-1].text}, {count}, {found.identity}, "
            )
            with self.text.block(
                f"{head}[&](int64 {column}, int64 {k}, {acc}& row_acc) LOOP_INLINE",
                f"}}, []({acc} x, {acc} y) LOOP_INLINE {{ return {found.joined('x', 'y')}; }},",
            ):
                place_of = self._along(operand, axis, keepdims, [*places, column])
                self._taken(node, operand.dtype, found, x, place_of(k))
            with self.text.block(f"[&](int64 {column}, {acc} {value}) LOOP_INLINE", "});"):
                self.put_at(made, [*places, column], found.result(value))

        self.each(made.sizes[:-1], body)
        self._counted(operand)
        value = Elements(result, made.sizes, lambda _: "", reads_of(operand))
        self.lies_as(made.base, value)
        return made

    def _counted(self, operand: Array) -> None:
        longer = [s.factor for s in operand.sizes if not s.is_one]
        self.text.add(f"LOOP_TICK({' * '.join(longer) or '1'});")

    def _taken(self, node: Node, dtype: DType, found: Reduction, x: str, element: str) -> None:
        """The lines that take one element of a row."""
        taken = node.values[0].dtype
        text = self.cast(element, dtype, taken)
        self.text.add(f"const {taken.register} {x} = {text};")
        self.text.add(found.accumulate.text)
        self.functions |= dict.fromkeys(f for f in functions_of(found) if f)

    def _joined(self, node: Node, dtype: DType, row: ReducedRow) -> Number:
        """The lines that reduce a row of elements of a dtype."""
        result = node.result.dtype
        k, x = self.text.fresh("k"), self.text.fresh("v")
        found = bind_reduction(Origin(node, 0), x, "row", "")
        acc, name = found.ctype, self.text.fresh("v")
        begin = "0, " if row.run == "run_of" else f"{row.few}, " if row.few else ""
        head = f"const {acc} {name} = {row.run}<{acc}>({begin}{row.length}, {found.identity}, "
        with self.text.block(
            f"{head}[&](int64 {k}, {acc}& row_acc)", f"}}, []({acc} x, {acc} y) "
        ):
            self._taken(node, dtype, found, x, row.place_of(k))
        self.text.lines[-1] += f"{{ return {found.joined('x', 'y')}; }});"
        if (text := found.result(name)) != name:
            name = self.text.named(result.register, text)
        return Number(result, name, *bounds_of(result))

    def _first(self, sign: str, dtype: DType, count: str, place_of: PlaceOf) -> str:
        """The lines that look for the first place of an extreme."""
        if dtype.is_complex:
            raise NoLoopError("the place of an extreme of complex numbers")
        k, name, register = self.text.fresh("k"), self.text.fresh("v"), dtype.register
        head = f"const int64 {name} = first_of<{register}>({count}, [&](int64 {k})"
        with self.text.block(head, f"}}, []({register} x, {register} y) "):
            self.text.add(f"return {place_of(k)};")
        self.text.lines[-1] += f"{{ return x {sign} y; }});"
        return name

    def _flat(self, operand: Array) -> tuple[str, PlaceOf]:
        """How many elements there are, and the text of each by its place among all of them."""
        longer = [s for s in operand.sizes if not s.is_one]
        count = " * ".join(s.factor for s in longer) or "1"
        if len(longer) == 1:
            axis = operand.sizes.index(longer[0])
            rest = ["0"] * (operand.rank - axis - 1)
            return count, lambda k: self.element(operand, ["0"] * axis + [k, *rest])
        return count, lambda k: self.element(operand, self._places(operand.sizes, k))

    def _places(self, sizes: Sequence[Size], k: str) -> list[str]:
        """The places along all axes of the element that is the k-th, row by row."""
        found: list[str] = []
        for size in reversed(sizes):
            if size.is_one:
                found.append("0")
                continue
            found.append(self.text.named("int64", f"{k} % {size.factor}", "i"))
            k = self.text.named("int64", f"{k} / {size.factor}", "i")
        return found[::-1]


def _reduced_sizes(operand: Array, axis: int, keepdims: bool) -> tuple[Size, ...]:
    """The sizes of an array that is reduced along an axis."""
    one = [Size.of(1)] * keepdims
    return (*operand.sizes[:axis], *one, *operand.sizes[axis + 1 :])


def functions_of(found: Reduction) -> tuple[str, str]:
    """The functions of C that a reduction calls, "" for none."""
    return found.accumulate.function, found.join.function
