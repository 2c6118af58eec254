"""Python's numbers in C: integers of 64 bits that never leave them unseen, and doubles.

Arithmetic of numbers that a loop does not change is left to Python, before the loop.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable
from typing import Any

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.again import UnknownError
from opweave.compiler.lines.clibrary import CALLED, raises
from opweave.compiler.lines.text import Text
from opweave.compiler.lines.values import C_TYPES, LEAST, MOST, Number, Size

# Python's operators, by their nodes of the syntax tree: the operator of arrays, and the function.
BINARY: dict[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("add", operator.add),
    ast.Sub: ("subtract", operator.sub),
    ast.Mult: ("multiply", operator.mul),
    ast.Div: ("divide", operator.truediv),
    ast.FloorDiv: ("floor_divide", operator.floordiv),
    ast.Mod: ("remainder", operator.mod),
    ast.Pow: ("power", operator.pow),
    ast.BitAnd: ("bitwise_and", operator.and_),
    ast.BitOr: ("bitwise_or", operator.or_),
    ast.BitXor: ("bitwise_xor", operator.xor),
    ast.LShift: ("left_shift", operator.lshift),
    ast.RShift: ("right_shift", operator.rshift),
}
COMPARED: dict[type[ast.cmpop], tuple[str, str, Callable[[Any, Any], Any]]] = {
    ast.Lt: ("less", "<", operator.lt),
    ast.LtE: ("less_equal", "<=", operator.le),
    ast.Gt: ("greater", ">", operator.gt),
    ast.GtE: ("greater_equal", ">=", operator.ge),
    ast.Eq: ("equal", "==", operator.eq),
    ast.NotEq: ("not_equal", "!=", operator.ne),
}
# Integers up to here are doubles, too.
EXACT = 1 << 53
CHECKED = {ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul"}
SIGNS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
DIVISIONS = (ast.Div, ast.FloorDiv, ast.Mod)
BITS = {ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"}


def zero(op: type[ast.operator], kind: type) -> str:
    """The number of an error of division by zero: its text is Python's for these operands."""
    return str(DIVISIONS.index(op) + 3 * (int, float, complex).index(kind))


def literal(value: Any) -> Number:
    """A Python number that is written out.

    Raises:
        NoLoopError: an integer of more than 64 bits, or no such number.
    """
    outside = ast.Constant(value)
    if type(value) is bool:
        return Number(bool, str(value).lower(), known=value, outside=outside, low=0, high=1)
    if type(value) is int:
        if not LEAST < value <= MOST:
            raise NoLoopError("an integer of more than 64 bits")
        text = f"({value}LL)" if value < 0 else f"{value}LL" if value >> 31 else str(value)
        return Number(int, text, Size((), value), value, value, value, outside)
    if type(value) is float:
        return Number(float, double(value), known=value, outside=outside)
    if type(value) is complex:
        pair = f"{{{double(value.real)}, {double(value.imag)}}}"
        return Number(complex, f"{C_TYPES[complex]}{pair}", known=value)
    raise NoLoopError(f"{type(value).__name__} is no number that a loop computes with")


def double(value: float) -> str:
    """C text of a double."""
    if value != value:
        return "nan<double>()"
    if value in (float("inf"), float("-inf")):
        return "infinity<double>()" if value > 0 else "(-infinity<double>())"
    return f"({value!r})" if value < 0 or repr(value)[0] == "-" else repr(value)


class Numbers:
    """Arithmetic of Python's numbers, into lines of C."""

    def __init__(self, text: Text, outside: Callable[[ast.expr], Number]):
        """``outside`` makes a parameter of what Python computes before the loop."""
        self.text = text
        self.outside = outside

    def binary(self, op: type[ast.operator], a: Number, b: Number) -> Number:
        """The result of an operator of Python."""
        if a.known is not None and b.known is not None:
            return self.folded(BINARY[op][1], a.known, b.known)
        if a.outside is not None and b.outside is not None:
            return self.outside(ast.BinOp(a.outside, op(), b.outside))
        if a.type is not float and b.type is not float and op is not ast.Div:
            return self._integer(op, a, b)
        return self._float(op, a, b)

    def compared(self, op: type[ast.cmpop], a: Number, b: Number) -> Number:
        """The truth of a comparison."""
        _, sign, function = COMPARED[op]
        if a.known is not None and b.known is not None:
            return literal(function(a.known, b.known))
        text = f"({a.text} {sign} {b.text})"
        if (a.type is float) is not (b.type is float) and not all(map(is_exact, (a, b))):
            whole, real = (b, a) if a.type is float else (a, b)
            found = f"order_of({whole.text}, {real.text})"  # Python compares exactly
            text = f"({'-' * (a is real)}{found} {sign} 0)"
        return Number(bool, text, low=0, high=1)

    def unary(self, op: type[ast.unaryop], a: Number) -> Number:
        """``-a``, ``+a`` or ``~a``."""
        if op is ast.UAdd:
            return _whole(a)
        if op is ast.Invert and a.type is float:
            raise NoLoopError("~ of a float")
        if op is ast.Invert:
            return self.binary(ast.Sub, self.unary(ast.USub, a), literal(1))
        if a.known is not None:
            return literal(-a.known)
        if a.type is float:
            if a.outside is not None:
                return self.outside(ast.UnaryOp(ast.USub(), a.outside))
            return Number(float, self.text.named("double", f"-{a.text}"))
        return self.binary(ast.Sub, literal(0), a)

    def as_float(self, a: Number) -> Number:
        """``float(a)``: C rounds a long integer as Python does, to the nearest even one."""
        if a.known is not None:
            return literal(float(a.known))
        if a.type is float:
            return a
        return Number(float, f"(double){a.text}")

    def truncated(self, a: Number) -> Number:
        """``int(a)`` of a float; NaN, and one that 64 bits do not hold, is an error."""
        if a.known is not None:
            return self.folded(int, a.known)
        value = self.text.named("double", f"(double){a.text}")
        self.fault(f"{value} != {value}", "LOOP_NAN")
        least, most = "-9223372036854775808.0", "9223372036854775808.0"
        self.fault(f"!({value} >= {least} && {value} < {most})", "LOOP_OVERFLOW")
        return self._named(f"(int64){value}", LEAST, MOST)

    def fault(self, condition: str, kind: str, *numbers: str) -> None:
        """Leave the loop with an error where a condition holds."""
        found = ", ".join([*numbers, "0", "0", "0"][:3])
        self.text.add(f"if ({condition}) LOOP_FAULT({kind}, {self.text.line}, {found});")

    def _check_divisor(self, op: type[ast.operator], b: Number, kind: type) -> None:
        """Leave the loop where a divisor is 0, unless it is known not to be."""
        if not b.known and not (b.is_integer and b.low > 0):
            self.fault(f"{b.text} == 0", "LOOP_ZERO_DIVISION", zero(op, kind))

    def folded(self, function: Callable[..., Any], *known: Any) -> Number:
        """What a function of known numbers gives.

        Raises:
            NoLoopError: it raises, or gives what no loop computes with.
        """
        try:
            return literal(function(*known))
        except (ArithmeticError, ValueError, TypeError) as error:
            raise NoLoopError(f"it raises {type(error).__name__}") from None

    def _integer(self, op: type[ast.operator], a: Number, b: Number) -> Number:
        if op not in BITS or a.type is not b.type:
            a, b = _whole(a), _whole(b)
        if op in CHECKED:
            return self._sum(op, a, b)
        if op in BITS:
            if a.type is bool and b.type is bool:
                return Number(bool, f"({a.text} {BITS[op]} {b.text})", low=0, high=1)
            low, high = _bits(a, b) if op is not ast.BitAnd else _masked(a, b)
            return self._named(f"{a.text} {BITS[op]} {b.text}", low, high)
        if op in (ast.FloorDiv, ast.Mod):
            self._check_divisor(op, b, int)
            return self._divided(op, a, b)
        if op in (ast.LShift, ast.RShift) and b.known is not None and 0 <= b.known < 63:
            if op is ast.LShift:
                return self._sum(ast.Mult, a, literal(1 << b.known))
            return self._named(f"{a.text} >> {b.known}", a.low >> b.known, a.high >> b.known)
        if op is ast.Pow and b.known in (2, 3):
            square = self._sum(ast.Mult, a, a)
            return square if b.known == 2 else self._sum(ast.Mult, square, a)
        if op is ast.Pow and b.low >= 0:
            name = self.text.fresh("v")
            self.text.add(f"int64 {name};")
            self.fault(f"!loop_power({a.text}, {b.text}, {name})", "LOOP_OVERFLOW")
            return Number(int, name, Size.of(name))
        raise NoLoopError(f"Python's {op.__name__} of integers that change")

    def _sum(self, op: type[ast.operator], a: Number, b: Number) -> Number:
        function = BINARY[op][1]
        ends = [function(x, y) for x in (a.low, a.high) for y in (b.low, b.high)]
        low, high = min(ends), max(ends)
        size = None
        if a.size is not None and b.size is not None and op is not ast.Mult:
            size = a.size.plus(b.size, 1 if op is ast.Add else -1)
        if low > LEAST and high <= MOST:
            return self._named(f"{a.text} {SIGNS[op]} {b.text}", low, high, size)
        name = self.text.fresh("v")
        self.text.add(f"int64 {name};")
        call = f"__builtin_{CHECKED[op]}_overflow((int64){a.text}, (int64){b.text}, &{name})"
        self.fault(call, "LOOP_OVERFLOW")
        return Number(int, name, size or Size.of(name))

    def _divided(self, op: type[ast.operator], a: Number, b: Number) -> Number:
        function = "floor_div" if op is ast.FloorDiv else "floor_mod"
        low, high = (LEAST, MOST) if op is ast.FloorDiv else (min(0, b.low), max(0, b.high))
        if op is ast.FloorDiv and b.low > 0:
            low, high = min(a.low, 0), max(a.high, 0)
        elif op is ast.FloorDiv:
            self.fault(f"{b.text} == -1 && {a.text} == lowest<int64>()", "LOOP_OVERFLOW")
        return self._named(f"{function}<int64>({a.text}, {b.text})", low, high)

    def _named(self, text: str, low: int, high: int, size: Size | None = None) -> Number:
        name = self.text.named("int64", text)
        return Number(int, name, size or Size.of(name), low, high)

    def _float(self, op: type[ast.operator], a: Number, b: Number) -> Number:
        kind = int if a.type is not float and b.type is not float else float
        if kind is int:  # Python rounds their quotient once
            check_exact(a)
            check_exact(b)
        a, b = self.as_float(a), self.as_float(b)
        if op in DIVISIONS:
            self._check_divisor(op, b, kind)
        if op in SIGNS:
            return Number(float, self.text.named("double", f"{a.text} {SIGNS[op]} {b.text}"))
        if op in (ast.FloorDiv, ast.Mod):
            function = "float_div" if op is ast.FloorDiv else "float_mod"
            return Number(float, self.text.named("double", f"{function}({a.text}, {b.text})"))
        if op is ast.Pow:
            return self._power(a, b)
        raise NoLoopError(f"Python's {op.__name__} of numbers that change")

    def _power(self, a: Number, b: Number) -> Number:
        """A power of floats by the C library, as Python has it; no complex number."""
        if (
            not (a.known is not None and a.known >= 0)
            and not getattr(b.known, "is_integer", bool)()
        ):
            self.fault(f"{a.text} < 0 && {b.text} != floor({b.text})", "LOOP_COMPLEX")
        return self.of_library(operator.pow, "pow", a, b)

    def of_library(self, function: Callable[..., Any], name: str, *operands: Number) -> Number:
        """A function of the C library of floats; the loop ends where Python raises."""
        if all(operand.known is not None for operand in operands):
            return self.folded(function, *(operand.known for operand in operands))
        texts = [operand.text for operand in operands]
        found = self.text.named("double", f"libm_{name}({', '.join(texts)})")
        words = [f"loop_bits<double>({text})" for text in texts]
        self.fault(raises(found, texts), "LOOP_MATH", str(CALLED.index(function)), *words)
        return Number(float, found)


def _whole(a: Number) -> Number:
    """A bool as the integer that it is."""
    if a.type is not bool:
        return a
    if a.known is not None:
        return literal(int(a.known))
    return Number(int, f"(int64){a.text}", None, 0, 1)


def is_exact(a: Number) -> bool:
    """Whether a double holds a number."""
    return a.type is float or -EXACT <= a.low <= a.high <= EXACT


def check_exact(a: Number) -> None:
    """Refuse an integer that a double may not hold.

    Raises:
        UnknownError: it may be longer.
    """
    if not is_exact(a):
        raise UnknownError("an integer of Python that may be longer than a double's 53 bits")


def _masked(a: Number, b: Number) -> tuple[int, int]:
    """Bounds of ``a & b``."""
    tops = [n.high for n in (a, b) if n.low >= 0]
    return (0, min(tops)) if tops else (LEAST, MOST)


def _bits(a: Number, b: Number) -> tuple[int, int]:
    """Bounds of ``a | b`` and ``a ^ b``."""
    if min(a.low, b.low) < 0:
        return LEAST, MOST
    return 0, min(MOST, (1 << max(a.high, b.high).bit_length()) - 1)
