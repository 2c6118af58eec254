"""Rows that are reduced, all of an array or along an axis, by the plan that rows have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
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

# The element of a row by its places along the axes that are reduced: its text, of lines that may
# stand before.
PlaceOf = Callable[[Sequence[str]], str]


class ReducedRow(NamedTuple):
    """A row to reduce, along one axis or several.

    Attributes:
        sizes: of the axes.
        place_of: the element by its places.
        run: the text of what joins them, up to the type.
        few: whether there are so few rows that a long one is cut, where that is to be asked.
    """

    sizes: Sequence[Size]
    place_of: PlaceOf
    run: str = "row_of"
    few: str = ""

    @property
    def length(self) -> str:
        """Text of how many elements there are."""
        return counted(self.sizes)

    def taking(self, parameters: Sequence[str], k: str) -> tuple[str, str, list[str]]:
        """A function that takes an element into ``parameters``' last: its text up to the body and
        behind it, and the texts of the places."""
        if len(self.sizes) == 1:
            *before, acc = parameters
            return f"[&]({', '.join((*before, f'int64 {k}', acc))})", "}", [k]
        *before, acc = parameters
        at = f"{k}_at"
        head = f"[&]({', '.join((*before, f'const int64* {at}', f'int64 {k}', acc))})"
        sizes = ", ".join(s.text for s in self.sizes)
        places = [f"{at}[{n}]" for n in range(len(self.sizes) - 1)]
        return f"along_axes({{{sizes}}}, {head}", "})", [*places, k]


@dataclass(frozen=True)
class AlongAxes:
    """An array, and the axes that it is reduced along.

    Attributes:
        axes: in rising order.
        keepdims: they stay, with one element.
    """

    operand: Array
    axes: tuple[int, ...]
    keepdims: bool = False

    @classmethod
    def whole(cls, operand: Array) -> AlongAxes:
        """All axes, for a number."""
        return cls(operand, tuple(range(operand.rank)))

    @property
    def is_number(self) -> bool:
        """Whether the result is a number."""
        return len(self.axes) == self.operand.rank and not self.keepdims

    @property
    def longer(self) -> tuple[int, ...]:
        """Those that have more than one element; there is always one."""
        found = [axis for axis in self.axes if not self.operand.sizes[axis].is_one]
        return tuple(found) or self.axes[:1]

    @property
    def reduced(self) -> tuple[Size, ...]:
        """The sizes of these."""
        return tuple(self.operand.sizes[axis] for axis in self.longer)

    @property
    def is_to_last(self) -> bool:
        return self.axes[-1] == self.operand.rank - 1

    @property
    def kept(self) -> tuple[Size, ...]:
        """The sizes of the axes that are not reduced."""
        return tuple(s for n, s in enumerate(self.operand.sizes) if n not in self.axes)

    @property
    def sizes(self) -> tuple[Size, ...]:
        """The sizes of the result."""
        if not self.keepdims:
            return self.kept
        sizes = enumerate(self.operand.sizes)
        return tuple(Size.of(1) if n in self.axes else size for n, size in sizes)

    def places(self, outside: Sequence[str], inside: Sequence[str]) -> list[str]:
        """The places of an element, by those of the result and of ``longer``."""
        rank = self.operand.rank
        kept = [n for n in range(rank) if n not in self.axes]
        if self.keepdims:
            outside = [outside[n] for n in kept]
        found = dict(zip((*kept, *self.longer), (*outside, *inside), strict=True))
        return [found.get(n, "0") for n in range(rank)]


class Reducing(Storing):
    """Lowers reductions."""

    def reduced(self, name: str, along: AlongAxes, **attrs: Any) -> Number | Strided:
        """A reduction: a number, or an array in memory."""
        operand = along.operand
        node = self._reduction(name, operand, attrs)
        if node.operator.needs_nonempty:
            self.numbers.fault(f"{counted(along.reduced)} == 0", "LOOP_EMPTY")
        if not along.is_to_last and not operand.sizes[-1].is_one:
            return self._by_columns(node, along)
        return self._each_row(
            along, node.result.dtype, lambda row: self._joined(node, operand.dtype, row)
        )

    def first_place(self, sign: str, along: AlongAxes) -> Number | Strided:
        """The place of the first largest (``>``) or smallest element, or of the first NaN."""
        self.numbers.fault(f"{counted(along.reduced)} == 0", "LOOP_EMPTY")
        return self._each_row(along, I64, lambda row: self._first(sign, along.operand.dtype, row))

    def _reduction(self, name: str, operand: Array, attrs: Any) -> Node:
        """A node of the operator: it says what is taken, and what a row gives."""
        operator = OPERATORS[name]
        frozen = frozen_attrs(operator, attrs)
        (taken, *_), results = operator.type_rule((operand.dtype,), frozen)
        if not operand.rank or len(results) != 1 or operator.toggles:
            raise NoLoopError(f"{name} of a number")
        return Node(operator, (Value(0, taken, ()),), (Value(1, results[0], ()),), frozen)

    def _row(self, along: AlongAxes, places: Sequence[str]) -> ReducedRow:
        """One of the rows of an array, by the places of the result.

        The last axis is cut where it is long and the rows are few; any other never is.
        """
        place_of = self._elements_of(along, places)
        if along.is_number:
            return ReducedRow(along.reduced, place_of)
        if not along.is_to_last:
            return ReducedRow(along.reduced, place_of, "run_of")
        few = f"{counted(along.kept)} < {HOST_FEW_ROWS}"
        return ReducedRow(along.reduced, place_of, "row_of_rows", few)

    def _elements_of(self, along: AlongAxes, places: Sequence[str]) -> PlaceOf:
        """The elements of a row, by the places of the result."""
        return lambda inside: self.element(along.operand, along.places(places, inside))

    def _each_row(
        self, along: AlongAxes, dtype: DType, joined: Callable[[ReducedRow], Number]
    ) -> Number | Strided:
        """What each row gives: a number of a single one, else an array in memory."""

        def element(places: Sequence[str]) -> str:
            return joined(self._row(along, places)).text

        if along.is_number:
            found: Number | Strided = joined(self._row(along, ()))
        else:
            found = self.apart(Elements(dtype, along.sizes, element, reads_of(along.operand)))
        self.text.add(f"LOOP_TICK({counted(along.operand.sizes)});")
        return found

    def _by_columns(self, node: Node, along: AlongAxes) -> Strided:
        """A reduction along others than the last axis: neighbours along that one at once."""
        operand, result, count = along.operand, node.result.dtype, counted(along.reduced)
        made = self.view_in(self.room(), result, along.sizes)

        def body(places: Sequence[str]) -> None:
            column, value = self.text.fresh("k"), self.text.fresh("v")
            k, x = self.text.fresh("k"), self.text.fresh("v")
            found = bind_reduction(Origin(node, 0), x, "row", "")
            acc = found.ctype
            lanes = "LOOP_LANES" if node.values[0].dtype.kind in "fc" else "1"
            row = ReducedRow(along.reduced, self._elements_of(along, [*places, column]))
            taking, end, inside = row.taking((f"int64 {column}", f"{acc}& row_acc"), k)
            head = (
                f"columns_of<{acc}, {lanes}>({operand.sizes[-1].text}, {count}, {found.identity}, "
            )
            with self.text.block(
                f"{head}{taking} LOOP_INLINE",
                f"{end}, []({acc} one, {acc} other) LOOP_INLINE "
                f"{{ return {found.joined('one', 'other')}; }},",
            ):
                self._taken(node, operand.dtype, found, x, row.place_of(inside))
            with self.text.block(f"[&](int64 {column}, {acc} {value}) LOOP_INLINE", "});"):
                self.put_at(made, [*places, column], found.result(value))

        self.each(made.sizes[:-1], body)
        self.text.add(f"LOOP_TICK({counted(operand.sizes)});")
        value = Elements(result, made.sizes, lambda _: "", reads_of(operand))
        self.lies_as(made.base, value)
        return made

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
        taking, end, inside = row.taking((f"{acc}& row_acc",), k)
        with self.text.block(f"{head}{taking}", f"{end}, []({acc} one, {acc} other) "):
            self._taken(node, dtype, found, x, row.place_of(inside))
        self.text.lines[-1] += f"{{ return {found.joined('one', 'other')}; }});"
        if (text := found.result(name)) != name:
            name = self.text.named(result.register, text)
        return Number(result, name, *bounds_of(result))

    def _first(self, sign: str, dtype: DType, row: ReducedRow) -> Number:
        """The lines that look for the first place of an extreme."""
        if dtype.is_complex:
            raise NoLoopError("the place of an extreme of complex numbers")
        k, name, register = self.text.fresh("k"), self.text.fresh("v"), dtype.register
        head = f"const int64 {name} = first_of<{register}>({row.length}, [&](int64 {k})"
        with self.text.block(head, f"}}, []({register} one, {register} other) "):
            self.text.add(f"return {row.place_of(self._places(row.sizes, k))};")
        self.text.lines[-1] += f"{{ return one {sign} other; }});"
        return Number(I64, name, *bounds_of(I64))

    def _places(self, sizes: Sequence[Size], k: str) -> list[str]:
        """The places along some axes of the element that is the k-th, row by row."""
        found = [k]
        for size in reversed(sizes[1:]):
            found[:1] = (
                self.text.named("int64", f"{found[0]} / {size.factor}", "i"),
                self.text.named("int64", f"{found[0]} % {size.factor}", "i"),
            )
        return found


def counted(sizes: Sequence[Size]) -> str:
    """Text of how many elements there are."""
    return " * ".join(s.factor for s in sizes if not s.is_one) or "1"


def functions_of(found: Reduction) -> tuple[str, str]:
    """The functions of C that a reduction calls, "" for none."""
    return found.accumulate.function, found.join.function
