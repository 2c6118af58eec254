"""Op-codes over numbers and elements: their types, their lines in C, and broadcasting."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.codegen.lines import Origin, bind_map
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.literals import c_literal
from opweave.compiler.ir.values import Value
from opweave.compiler.lines.complexes import AllNumbers
from opweave.compiler.lines.text import Text
from opweave.compiler.lines.values import (
    C_TYPES,
    LEAST,
    MOST,
    Array,
    Computed,
    Elements,
    Held,
    Number,
    NumberType,
    Several,
    Size,
    Strided,
)
from opweave.opcodes import OPERATORS
from opweave.opcodes.codes import Phase
from opweave.opcodes.core import Operator
from opweave.opcodes.dtypes import BOOL, C128, F64, I64, DType
from opweave.opcodes.errors import OpweaveError

# What gives one type with a float of Python and with one of NumPy, besides NumPy's integers; and
# with complex numbers.
EITHER = frozenset((F64, C128, BOOL, int, float, complex))
# What gives one type with an integer of Python and with NumPy's int64.
WHOLE = frozenset((I64, F64, BOOL, int, float, bool))


# Instructions of an element that is computed once, however often it is read: a special function.
COSTLY = 8


class Applied:
    """Applies operators, into lines of C.

    Attributes:
        functions: those of C that fragments of statements became.
    """

    def __init__(self, text: Text, numbers: AllNumbers):
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
        frozen = frozen_attrs(operator, attrs)
        types = tuple(map(type_of, operands))
        maybe = any(isinstance(o, Number) and o.maybe for o in operands)
        if maybe and not are_alike(operands, types):
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
            if results[0].is_complex:
                text = self.text.named(results[0].register, f"loop_pair({text})")
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
        fixed = [o if isinstance(o, str) else self._once(o, sizes) for o in fixed]
        arrays = [o for o in fixed if not isinstance(o, str)]
        reads = tuple(view for a in arrays for view in reads_of(a))
        cost = operator.cost.slots + sum(a.cost for a in arrays if isinstance(a, Elements))

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

        return Elements(result, sizes, element, reads, cost)

    def _once(self, operand: Array, sizes: Sequence[Size]) -> Array:
        """An operand; in memory where it costs much, and each element is asked for many times."""
        is_repeated = operand.rank > 0 and tuple(sizes) != operand.sizes
        if isinstance(operand, Elements) and operand.cost >= COSTLY and is_repeated:
            return self.apart(operand)
        return operand

    def apart(self, value: Array) -> Strided:
        """A value in memory of its own."""
        raise NotImplementedError

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
        if number.type is complex:
            if not dtype.is_complex:
                raise NoLoopError(f"a complex number as {dtype}")
            return self.cast(number.text, C128, dtype)
        if dtype.is_complex:
            return f"{dtype.register}{{({dtype.part.register})(double){number.text}, 0}}"
        if number.type is int and dtype.kind in "iu":
            self.check_fits(number, number.low, number.high, dtype)
        if dtype.round:
            raise NoLoopError(f"a number of Python that changes, as {dtype}")
        if dtype.kind == "f" and number.type is int:
            return f"({dtype.register})(double){number.text}"  # NumPy rounds twice, too
        text = f"({dtype.register}){number.text}" if C_TYPES[number.type] != dtype.register else ""
        return text or number.text

    def check_fits(self, number: Number, least: int, most: int, dtype: DType) -> None:
        """Leave the loop with an error where an integer of these bounds is none of a dtype's."""
        low, high = bounds_of(dtype)[1:]
        is_below = [f"{number.text} < {low}LL"] if least < low else []
        is_above = [f"{number.text} > {high}LL"] if most > high else []
        if outside := " || ".join(is_below + is_above):
            kind = str(ord(dtype.numpy.char))
            self.numbers.fault(outside, "LOOP_OUT_OF_RANGE", number.text, kind)

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
            lambda places, f=f, n=len(s): along(places, f)[rank - n :]  # type: ignore[misc]
            for f, s in zip(factors, shapes, strict=True)
        ]

    def _joint(self, sizes: Sequence[Size]) -> Size:
        """The extent of an axis; it is checked where operands are not known to agree."""
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


def frozen_attrs(operator: Operator, attrs: Mapping[str, Any]) -> tuple[tuple[str, Any], ...]:
    """The attributes of a node of an operator, with the defaults of those not given."""
    given = operator.plain_attrs(attrs)
    return tuple(sorted({n: given.get(n, v) for n, v in operator.attrs}.items()))


def type_of(operand: Held) -> Any:
    """What a type rule is asked with."""
    if isinstance(operand, Number):
        return BOOL if operand.type is bool else operand.type
    if isinstance(operand, Strided | Elements):
        return operand.dtype
    raise NoLoopError("arithmetic of what is neither a number nor an array")


def reads_of(operand: Array) -> tuple[Strided, ...]:
    """What computing an array reads."""
    return (operand,) if isinstance(operand, Strided) else operand.reads


def bases_of(held: Held) -> list[str]:
    """The arrays of which something has parts, one for each part."""
    if isinstance(held, Several):
        return [base for item in held.items for base in bases_of(item)]
    return [held.base] if isinstance(held, Strided) else []


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


def along(places: Sequence[str], factors: Sequence[str]) -> list[str]:
    """Places of a result as those of an operand, by axis."""
    return [
        f if f == "0" else p if not f else f"{p} * {f}"
        for p, f in zip(places, factors, strict=True)
    ]


def are_alike(operands: Sequence[Computed], types: Sequence[Any]) -> bool:
    """Whether NumPy's functions give the same of numbers of Python and of NumPy, see ``maybe``."""
    maybe = [o for o in operands if isinstance(o, Number) and o.maybe]
    if any(o.whole for o in maybe):
        return False
    if any(o.type is I64 for o in maybe):
        return WHOLE.issuperset(types)
    return all(t in EITHER or getattr(t, "kind", "f") in "iu" for t in types)
