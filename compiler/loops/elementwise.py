"""Op-codes over numbers and elements: broadcasting, loops over elements, rows that are reduced."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opweave.compiler.codegen.lines import Origin, bind_map, bind_reduction
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.literals import c_literal
from opweave.compiler.ir.values import Value
from opweave.compiler.kernels.kernel_parts import Reduction
from opweave.compiler.loops.numbers import Numbers, check_exact
from opweave.compiler.loops.text import Text
from opweave.compiler.loops.values import (
    C_TYPES,
    LEAST,
    MOST,
    Elements,
    Held,
    NoLoopError,
    Number,
    NumberType,
    Size,
    View,
)
from opweave.opcodes import OPERATORS
from opweave.opcodes.codes import Phase
from opweave.opcodes.core import Operator
from opweave.opcodes.dtypes import BOOL, F64, DType
from opweave.opcodes.errors import OpweaveError

Array = View | Elements
Computed = Number | View | Elements


class Elementwise:
    """Applies operators, into lines of C.

    Attributes:
        functions: those of C that fragments of statements became.
    """

    def __init__(self, text: Text, numbers: Numbers):
        self.text = text
        self.numbers = numbers
        self.functions: dict[str, None] = {}

    def apply(self, name: str, *operands: Computed, **attrs: Any) -> Number | Elements:
        """The result of an operator: a number of numbers, else elements that nobody computes yet.

        Raises:
            NoLoopError: its op-codes need more than registers.
        """
        operator = OPERATORS[name]
        if operator.notes_faults or operator.mixes or operator.tables or operator.toggles:
            raise NoLoopError(f"{name} inside a loop")
        given = operator.plain_attrs(attrs)
        frozen = tuple(sorted({n: given.get(n, v) for n, v in operator.attrs}.items()))
        types = tuple(map(type_of, operands))
        if any(isinstance(o, Number) and o.maybe for o in operands):
            if not set(types) <= {F64, BOOL, int, float}:
                raise NoLoopError(f"{name} of a float of Python or of NumPy")
        try:
            loop, results = operator.type_rule(types, frozen)
        except OpweaveError as error:
            raise NoLoopError(str(error)) from None
        if len(results) != 1:
            raise NoLoopError(f"{name}, which has several results")
        fixed = [
            self.converted(o, dtype) if isinstance(o, Number) else o
            for o, dtype in zip(operands, loop, strict=True)
        ]
        if all(isinstance(o, str) for o in fixed):
            text = self._registers(operator, loop, results[0], frozen, [str(o) for o in fixed])
            return Number(results[0], text, *bounds_of(results[0]))
        return self._elements(operator, loop, results[0], frozen, fixed)

    def _elements(
        self,
        operator: Operator,
        loop: Sequence[DType],
        result: DType,
        attrs: Any,
        fixed: Sequence[str | Array],
    ) -> Elements:
        arrays = [o for o in fixed if not isinstance(o, str)]
        sizes, places_of = self.broadcast([a.sizes for a in arrays])
        reads = tuple(view for a in arrays for view in reads_of(a))

        def element(places: Sequence[str]) -> str:
            texts, number = [], 0
            for operand, dtype in zip(fixed, loop, strict=True):
                if isinstance(operand, str):
                    texts.append(operand)
                    continue
                found = self.element(operand, places_of[number](places))
                texts.append(self.cast(found, operand.dtype, dtype))
                number += 1
            return self._registers(operator, loop, result, attrs, texts)

        return Elements(result, sizes, element, reads)

    def element(self, operand: Array, places: Sequence[str]) -> str:
        """C text of an element of an array."""
        if isinstance(operand, Elements):
            return operand.element(places)
        return self.text.named(operand.dtype.register, f"load({operand.at(places)})")

    def converted(self, number: Number, dtype: DType) -> str:
        """C text of a number in a register of a dtype, as NumPy converts it.

        A Python integer that the dtype cannot hold leaves the loop with an error.
        """
        if isinstance(number.type, DType):
            return self.cast(number.text, number.type, dtype)
        if number.known is not None:
            try:
                return c_literal(number.known, dtype)
            except OpweaveError as error:
                raise NoLoopError(str(error)) from None
        if dtype.is_complex:
            return f"{dtype.register}{{({dtype.part.register}){number.text}, 0}}"
        if number.type is int and dtype.kind in "iu":
            low, high = bounds_of(dtype)[1:]
            if number.low < low or number.high > high:
                outside = f"{number.text} < {low}LL || {number.text} > {high}LL"
                self.numbers.fault(outside, "LOOP_OUT_OF_RANGE", number.text)
        elif number.type is int:
            check_exact(number)
        if dtype.round:
            raise NoLoopError(f"a number of Python that changes, as {dtype}")
        text = f"({dtype.register}){number.text}" if C_TYPES[number.type] != dtype.register else ""
        return text or number.text

    def cast(self, text: str, source: DType, target: DType) -> str:
        """C text of a register of one dtype as one of another."""
        if source is target:
            return text
        attrs = (("dtype", target.numpy_name),)
        return self._registers(OPERATORS["cast"], [source], target, attrs, [text])

    def _registers(
        self,
        operator: Operator,
        loop: Sequence[DType],
        result: DType,
        attrs: Any,
        texts: list[str],
    ) -> str:
        """An operator over registers: its lines, and the name of its result."""
        operands = tuple(Value(n, dtype, ()) for n, dtype in enumerate(loop))
        node = Node(operator, operands, (Value(len(operands), result, ()),), attrs)
        name = self.text.fresh("v")
        lines, function = bind_map(
            Origin(node, 0), Phase.EPILOGUE, texts, [name], lambda _: self.text.fresh("v")
        )
        if function:
            self.functions[function] = None
        for line in lines:
            self.text.add(line.text)
        return name

    def broadcast(
        self, shapes: Sequence[Sequence[Size]]
    ) -> tuple[tuple[Size, ...], list[Callable[[Sequence[str]], list[str]]]]:
        """The shape that shapes become, and for each of them which places of it are read."""
        rank = max(map(len, shapes))
        sizes: list[Size] = []
        factors: list[list[str]] = [[] for _ in shapes]
        for axis in range(-rank, 0):
            asked = [s[axis] if -axis <= len(s) else Size.of(1) for s in shapes]
            size = self._joint([s for s in asked if not s.is_one])
            sizes.append(size)
            for factor, own in zip(factors, asked, strict=True):
                factor.append("0" if own.is_one else "" if own == size else f"({own.text} != 1)")
        return tuple(sizes), [
            lambda places, f=f, n=len(s): _along(places, f)[rank - n :]  # type: ignore[misc]
            for f, s in zip(factors, shapes, strict=True)
        ]

    def _joint(self, sizes: Sequence[Size]) -> Size:
        """The extent of an axis; that of operands whose own are not known to be equal is checked."""
        found = Size.of(1)
        for size in sizes:
            if found.is_one:
                found = size
            elif size != found:
                wrong = f"{found.text} != {size.text} && {found.text} != 1 && {size.text} != 1"
                self.numbers.fault(wrong, "LOOP_SHAPES", found.text, size.text)
                value = f"{found.text} == 1 ? {size.text} : {found.text}"
                found = Size.of(self.text.named("int64", value, "n"))
        return found

    def store(self, target: View, value: Computed) -> None:
        """Assign to the elements of an array; what is read is read before anything is written."""
        if isinstance(value, Number):
            text = self.converted(value, target.dtype)
            self._each(target.sizes, lambda places: self._put(target, places, text))
            return
        places_of = self._onto(target, value)
        if any(self._disturbs(target, read) for read in reads_of(value)):
            value = self.apart(value)
            places_of = self._onto(target, value)
        held = value

        def put(places: Sequence[str]) -> None:
            found = self.element(held, places_of(places))
            self._put(target, places, self.cast(found, held.dtype, target.dtype))

        self._each(target.sizes, put)

    def _onto(self, target: View, value: Array) -> Callable[[Sequence[str]], list[str]]:
        """Which places of a value are read for those of a target."""
        if value.rank > target.rank:
            raise NoLoopError("an assignment of more dimensions than there are")
        factors: list[str] = []
        for size, own in zip(target.sizes[target.rank - value.rank :], value.sizes, strict=True):
            factors.append("0" if own.is_one else "" if own == size else f"({own.text} != 1)")
            if factors[-1] not in ("", "0"):
                wrong = f"{own.text} != {size.text} && {own.text} != 1"
                self.numbers.fault(wrong, "LOOP_ASSIGNED", own.text, size.text)
        lead = target.rank - value.rank
        return lambda places: _along(places[lead:], factors)

    def _put(self, target: View, places: Sequence[str], text: str) -> None:
        self.text.add(f"store({target.at(places)}, {text});")

    def _each(self, sizes: Sequence[Size], body: Callable[[Sequence[str]], None]) -> None:
        """Loops over all elements, the last axis innermost."""
        places: list[str] = []
        heads = []
        for size in sizes:
            places.append("0" if size.is_one else self.text.fresh("k"))
            if not size.is_one:
                k = places[-1]
                heads.append(f"for (int64 {k} = 0; {k} < {size.text}; ++{k})")
        self._nested(heads, lambda: body(places))
        if heads:
            counted = " * ".join(s.factor for s in sizes if not s.is_one)
            self.text.add(f"LOOP_TICK({counted});")

    def _nested(self, heads: Sequence[str], body: Callable[[], None]) -> None:
        if not heads:
            body()
            return
        if len(heads) == 1:
            self.text.add("#pragma GCC ivdep")
        with self.text.block(heads[0]):
            if len(heads) == 1:
                body()
            else:
                self._nested(heads[1:], body)

    def _disturbs(self, target: View, read: View) -> bool:
        """Whether a read may find what was written for another element."""
        if read.base != target.base:
            return False
        same = (read.pointer, read.strides) == (target.pointer, target.strides)
        if same and read.sizes == target.sizes:
            return False
        return not self.are_apart(target, read)

    def are_apart(self, a: View, b: View) -> bool:
        """Whether two views of an array are known to share no element."""
        raise NotImplementedError

    def apart(self, value: Array) -> View:
        """A value in memory of its own."""
        room = self.room()
        made = self.view_in(room, value.dtype, value.sizes)

        def put(places: Sequence[str]) -> None:
            self._put(made, places, self.element(value, places))

        self._each(value.sizes, put)
        return made

    def room(self) -> str:
        """Memory that is there as long as the loop runs."""
        return self.text.variable("LoopRoom", self.text.fresh("room"))

    def view_in(self, room: str, dtype: DType, sizes: Sequence[Size]) -> View:
        """An array in a room, of which nobody reads what it had."""
        base = self.text.fresh("t")
        counted = " * ".join(s.factor for s in sizes if not s.is_one) or "1"
        self.text.add(f"{dtype.storage}* const {base} = {room}.of<{dtype.storage}>({counted});")
        self.numbers.fault(f"{base} == 0", "LOOP_NO_MEMORY")
        return View(base, dtype, base, tuple(sizes), dense_strides(sizes))

    def reduced(self, name: str, operand: Array, **attrs: Any) -> Number:
        """A reduction of all elements of a row, by the plan that every row has on the host."""
        operator = OPERATORS[name]
        given = operator.plain_attrs(attrs)
        frozen = tuple(sorted({n: given.get(n, v) for n, v in operator.attrs}.items()))
        loop, results = operator.type_rule((operand.dtype,), frozen)
        if not operand.rank or len(results) != 1 or operator.toggles:
            raise NoLoopError(f"{name} of a number")
        taken, result = loop[0], results[0]
        count, place_of = self._flat(operand)
        if operator.needs_nonempty:
            self.numbers.fault(f"{count} == 0", "LOOP_EMPTY")
        node = Node(operator, (Value(0, taken, ()),), (Value(1, result, ()),), frozen)
        k, x = self.text.fresh("k"), self.text.fresh("v")
        found = bind_reduction(Origin(node, 0), x, "row", "")
        acc, name = found.ctype, self.text.fresh("v")
        head = f"const {acc} {name} = row_of<{acc}>({count}, {found.identity}, "
        with self.text.block(
            f"{head}[&](int64 {k}, {acc}& row_acc)", f"}}, []({acc} x, {acc} y) "
        ):
            text = self.cast(place_of(k), operand.dtype, taken)
            self.text.add(f"const {taken.register} {x} = {text};")
            self.text.add(found.accumulate.text)
        self.text.lines[-1] += f"{{ return {found.joined('x', 'y')}; }});"
        self.functions |= dict.fromkeys(f for f in functions_of(found) if f)
        self.text.add(f"LOOP_TICK({count});")
        if (text := found.result(name)) != name:
            name = self.text.named(result.register, text)
        return Number(result, name, *bounds_of(result))

    def _flat(self, operand: Array) -> tuple[str, Callable[[str], str]]:
        """How many elements there are, and the text of each by its place among all of them."""
        longer = [s for s in operand.sizes if not s.is_one]
        count = " * ".join(s.factor for s in longer) or "1"
        if len(longer) == 1:
            axis = operand.sizes.index(longer[0])
            return count, lambda k: self.element(
                operand, ["0"] * axis + [k, *self._rest(operand, axis)]
            )
        return count, lambda k: self.element(operand, self._places(operand.sizes, k))

    def _rest(self, operand: Array, axis: int) -> list[str]:
        return ["0"] * (operand.rank - axis - 1)

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


def type_of(operand: Held) -> Any:
    """What a type rule is asked with."""
    if isinstance(operand, Number):
        return BOOL if operand.type is bool else operand.type
    if isinstance(operand, View | Elements):
        return operand.dtype
    raise NoLoopError("arithmetic of what is neither a number nor an array")


def reads_of(operand: Array) -> tuple[View, ...]:
    """What computing an array reads."""
    return (operand,) if isinstance(operand, View) else operand.reads


def functions_of(found: Reduction) -> tuple[str, str]:
    """The functions of C that a reduction calls, "" for none."""
    return found.accumulate.function, found.join.function


def bounds_of(dtype: NumberType) -> tuple[None, int, int]:
    """The size, which is not known, and the bounds of integers of a dtype."""
    if not isinstance(dtype, DType) or dtype.kind not in "iub":
        return None, LEAST, MOST
    if dtype.kind == "b":
        return None, 0, 1
    bits = 8 * dtype.itemsize
    if dtype.kind == "u":
        return None, 0, (1 << bits) - 1
    return None, -(1 << bits - 1), (1 << bits - 1) - 1


def dense_strides(sizes: Sequence[Size]) -> tuple[str, ...]:
    """Strides of an array that lies row by row."""
    found: list[str] = []
    for axis in range(len(sizes)):
        behind = [s.factor for s in sizes[axis + 1 :] if not s.is_one]
        found.append(" * ".join(behind) or "1")
    return tuple(found)


def _along(places: Sequence[str], factors: Sequence[str]) -> list[str]:
    """Places of a result as those of an operand, by axis."""
    return [
        f if f == "0" else p if not f else f"{p} * {f}"
        for p, f in zip(places, factors, strict=True)
    ]
