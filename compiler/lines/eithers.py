"""Numbers that are Python's or NumPy's by the way that led there: one value, and what says which.

best = 0                       best: a double; whether it is NumPy's; whether it is an integer
for v in x:
    if v > best: best = v
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import NamedTuple

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.again import UnknownError
from opweave.compiler.lines.numbers import BITS, CHECKED, EXACT, SIGNS, is_exact, zero
from opweave.compiler.lines.reducing import Reducing
from opweave.compiler.lines.values import (
    Computed,
    Held,
    Mixed,
    Number,
    NumberType,
    Size,
)
from opweave.opcodes.dtypes import BOOL, C128, F64, I64, DType


class OneOf(NamedTuple):
    """Types that one name may hold, and the one of NumPy's among them."""

    kinds: frozenset[NumberType]
    dtype: DType


GROUPS: dict[str, OneOf] = {
    "either": OneOf(frozenset((float, F64)), F64),
    "whole": OneOf(frozenset((int, I64)), I64),
    "truth": OneOf(frozenset((bool, BOOL)), BOOL),
    "real": OneOf(frozenset((int, float, F64)), F64),
    "pair": OneOf(frozenset((complex, C128)), C128),
}
INTEGERS = (int, bool)  # of Python, in arithmetic
OF_NUMPYS: dict[NumberType, type] = {F64: float, I64: int, BOOL: bool, C128: complex}


def kinds_of(held: Held) -> frozenset[NumberType]:
    """The types that something may be of; none of what is no number."""
    if isinstance(held, Mixed):
        return GROUPS[held.what].kinds
    if not isinstance(held, Number):
        return frozenset()
    if not held.maybe:
        return frozenset((held.type,))
    dtype = held.type
    assert isinstance(dtype, DType)
    return frozenset((dtype, OF_NUMPYS[dtype], *([int] if held.whole else [])))


def group_of(several: Iterable[Held]) -> str | None:
    """The group of numbers of several types; None where there is none."""
    each = [kinds_of(held) for held in several]
    if not all(each):
        return None
    kinds = frozenset[NumberType]().union(*each)
    return next((what for what, group in GROUPS.items() if kinds <= group.kinds), None)


def said_of(number: Number) -> str:
    """C text: whether a number is NumPy's."""
    return number.maybe or ("true" if isinstance(number.type, DType) else "false")


def whole_of(number: Number) -> str:
    """C text: whether a number is an integer of Python that is held as a double.

    Raises:
        NoLoopError: it may be longer than that.
    """
    if number.type is int and not is_exact(number):
        raise UnknownError("an integer of Python, or a float, that may be longer than 53 bits")
    return number.whole or ("true" if number.type in INTEGERS else "false")


def is_strong(operand: Computed) -> bool:
    """Of an operand that makes NumPy's float64 of either float, or its like of complex numbers."""
    dtype = operand.type if isinstance(operand, Number) else operand.dtype
    if getattr(operand, "maybe", ""):
        return False
    return dtype in (F64, C128) or (isinstance(dtype, DType) and dtype.kind in "iub")


def settled(operand: Computed) -> Computed:
    """A number of which it does not matter whose it is."""
    if not isinstance(operand, Number):
        return operand
    return replace(operand, maybe="", whole="")


def _beside(operand: Computed, other: Computed) -> Computed:
    """An operand beside a strong one, where that makes one type of either.

    Raises:
        NoLoopError: it does not.
    """
    dtype = other.type if isinstance(other, Number) else other.dtype
    if isinstance(operand, Number) and operand.maybe:
        if operand.type is BOOL or (operand.whole and dtype is not F64):
            raise NoLoopError(f"a number of several types beside {dtype}")
        if operand.type is I64 and dtype not in (I64, F64):
            raise NoLoopError(f"an integer of Python or of NumPy beside {dtype}")
    return settled(operand)


class Eithers(Reducing):
    """Arithmetic of such numbers."""

    def of_either(self, op: type[ast.operator], a: Computed, b: Computed) -> Held:
        """What an operator gives where an operand is one."""
        if any(is_strong(o) for o in (a, b)):
            return self.binary(op, _beside(a, b), _beside(b, a))
        if not isinstance(a, Number) or not isinstance(b, Number):
            raise NoLoopError(f"{op.__name__} of a number of Python or of NumPy")
        if not all(o.type in OF_NUMPYS and o.type is not BOOL if o.maybe else o.is_python
                   for o in (a, b)):  # fmt: skip
            raise NoLoopError(f"{op.__name__} of a number of Python or of NumPy")
        said = self.text.named("bool", " || ".join(o.maybe for o in (a, b) if o.maybe))
        if all(o.type in (int, I64) for o in (a, b)):
            return self._of_wholes(op, a, b, said)
        if any(o.type in (complex, C128) for o in (a, b)):
            return self._of_pairs(op, a, b, said)
        return self._of_reals(op, a, b, said)

    def _of_wholes(self, op: type[ast.operator], a: Number, b: Number, said: str) -> Held:
        """Of integers: Python's end the loop where they leave 64 bits, NumPy's wrap."""
        if op in CHECKED:
            name, over = self.text.fresh("v"), self.text.fresh("over")
            call = f"__builtin_{CHECKED[op]}_overflow((int64){a.text}, (int64){b.text}, &{name})"
            self.text.add(f"int64 {name};")
            self.text.add(f"const bool {over} = {call};")
            self.numbers.fault(f"{over} && !({said})", "LOOP_OVERFLOW")
            return Number(I64, name, Size.of(name), maybe=said)
        if op in (ast.FloorDiv, ast.Mod):
            fault = f"!({said}) && {b.text} == "
            if b.low <= 0 <= b.high:
                self.numbers.fault(f"{fault}0", "LOOP_ZERO_DIVISION", zero(op, int))
            if b.low < 0 and op is ast.FloorDiv:
                self.numbers.fault(f"{fault}-1 && {a.text} == lowest<int64>()", "LOOP_OVERFLOW")
        elif op not in BITS and not (op is ast.RShift and 0 <= (b.known or -1) < 63):
            raise NoLoopError(f"{op.__name__} of an integer of Python or of NumPy")
        found = self.binary(op, *(self._as_i64(o) for o in (a, b)))
        assert isinstance(found, Number)
        return replace(found, maybe=said)

    def _as_i64(self, number: Number) -> Number:
        if number.known is not None:
            return number
        return Number(I64, number.text, number.size, number.low, number.high)

    def _of_pairs(self, op: type[ast.operator], a: Number, b: Number, said: str) -> Held:
        """Of complex numbers, of which sums and products are the same to both."""
        if op not in CHECKED:
            return self._by_type(op, a, b, said)
        x, y = (_as_pythons(o.type, o.text) if o.maybe else o for o in (a, b))
        found = self.numbers.binary(op, x, y)
        return Number(C128, found.text, maybe=said)

    def _of_reals(self, op: type[ast.operator], a: Number, b: Number, said: str) -> Held:
        """Of floats and integers, as doubles."""
        if op not in SIGNS:
            return self._by_type(op, a, b, said)
        whole = self._whole_result(op, a, b)
        x, y = (o if o.type in (float, F64) else self.numbers.as_float(o) for o in (a, b))
        if op is ast.Div:
            self._check_quotient(said, whole, y)
            whole = ""
        text = self.text.named("double", f"{x.text} {SIGNS[op]} {y.text}")
        if whole:  # of an integer there is one zero
            self.numbers.fault(f"{whole} && fabs({text}) > {EXACT}.0", "LOOP_OVERFLOW")
            text = self.text.named("double", f"{whole} ? {text} + 0.0 : {text}")
        return Number(F64, text, maybe=said, whole=whole)

    def _by_type(self, op: type[ast.operator], a: Number, b: Number, said: str) -> Held:
        """By NumPy's operator, or by Python's: their bits and their errors are different ones."""
        dtype = C128 if any(o.type in (complex, C128) for o in (a, b)) else F64
        kinds = (float, int, F64, complex, dtype)
        if a.whole or b.whole or not all(o.type in kinds for o in (a, b)):
            raise NoLoopError(f"{op.__name__} of a number of several types")
        result = self.text.variable(dtype.register, self.text.fresh("either"))
        for head, of in ((f"if ({said})", Number), ("else", _as_pythons)):
            with self.text.block(head):
                x, y = (of(o.type, o.text) if o.maybe else o for o in (a, b))
                found = self.binary(op, x, y)
                if found != of(dtype, getattr(found, "text", "")):
                    raise NoLoopError(f"{op.__name__} of a float of Python or of NumPy")
                self.text.add(f"{result} = {found.text};")
        return Number(dtype, self.text.named(dtype.register, result), maybe=said)

    def _check_quotient(self, said: str, whole: str, divisor: Number) -> None:
        """Leave the loop where a number of Python is divided by 0; its text is that of its type.

        The quotient of integers that are doubles, too, is the same float.
        """
        is_zero = f"!({said}) && {divisor.text} == 0"
        if whole:
            self.numbers.fault(f"{is_zero} && {whole}", "LOOP_ZERO_DIVISION", zero(ast.Div, int))
        self.numbers.fault(is_zero, "LOOP_ZERO_DIVISION", zero(ast.Div, float))

    def _whole_result(self, op: type[ast.operator], a: Number, b: Number) -> str:
        """C text: whether the result is an integer of Python's; "" where it is none."""
        if not all(o.whole or o.type in INTEGERS for o in (a, b)):
            return ""
        wholes = [whole_of(o) for o in (a, b)]
        if op is ast.Div and not all(is_exact(o) for o in (a, b) if o.type is int):
            raise NoLoopError("a quotient of what may be integers")
        return self.text.named("bool", " && ".join(w for w in wholes if w != "true"))

    def binary(self, op: type[ast.operator], a: Held, b: Held) -> Held:
        """The result of an operator of Python."""
        raise NotImplementedError

    def extreme_of_either(self, sign: str, a: Number, b: Number, what: str) -> Number:
        """The largest or smallest of numbers of several types: it has its own type."""
        dtype = GROUPS[what].dtype
        wholes = [whole_of(n) if what == "real" else "" for n in (a, b)]
        x, y = (
            self.numbers.as_float(n).text if what == "real" and n.type is int else n.text
            for n in (a, b)
        )
        second = self.text.named("bool", f"{y} {sign} {x}")
        maybe = self.text.named("bool", f"{second} ? {said_of(b)} : {said_of(a)}")
        text = self.text.named(dtype.register, f"{second} ? {y} : {x}")
        whole = ""
        if what == "real":
            whole = self.text.named("bool", f"{second} ? {wholes[1]} : {wholes[0]}")
        size = Size.of(text) if what == "whole" else None
        return Number(dtype, text, size, maybe=maybe, whole=whole)


def _as_pythons(kind: NumberType, text: str) -> Number:
    """One of NumPy as the one of Python that it may be."""
    assert isinstance(kind, DType)
    return Number(OF_NUMPYS[kind], text)


def compared_as(several: Sequence[Number]) -> list[Number]:
    """Numbers of several types, as those that compare alike whatever they are.

    Raises:
        NoLoopError: there are none.
    """
    kinds = {n.type for n in several}
    if I64 in kinds and not kinds <= {I64, int}:
        raise NoLoopError("a comparison of an integer of Python or of NumPy with a float")
    if any(n.whole for n in several) and not all(is_exact(n) for n in several if n.type is int):
        raise NoLoopError("a comparison of a number of several types with a long integer")
    return [replace(n, maybe="", whole="") for n in several]
