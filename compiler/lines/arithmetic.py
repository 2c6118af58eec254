"""Python's operators on what a loop computes: arithmetic, comparisons, products of vectors."""

from __future__ import annotations

import ast
from dataclasses import replace

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.applied import bounds_of, type_of
from opweave.compiler.lines.numbers import BINARY, COMPARED, SIGNS, literal, zero
from opweave.compiler.lines.reducing import Reducing
from opweave.compiler.lines.values import (
    MOST,
    Computed,
    Elements,
    Held,
    Number,
    Strided,
    Unchanging,
)
from opweave.opcodes.dtypes import BOOL, F64, DType
from opweave.opcodes.operators.functions import power_by_number


class Arithmetic(Reducing):
    """Applies Python's operators."""

    def truth_of(self, number: Number) -> Number:
        if number.known is not None:
            return literal(bool(number.known))
        if number.type in (bool, BOOL):
            return replace(number, type=bool)
        if isinstance(number.type, DType) and number.type.is_complex:
            raise NoLoopError("the truth of a complex number")
        return Number(bool, f"({number.text} != 0)", low=0, high=1)

    def binary(self, op: type[ast.operator], a: Held, b: Held) -> Held:
        """The result of an operator of Python."""
        if op is ast.MatMult:
            return self.product(a, b)
        a, b = as_computed(a), as_computed(b)
        if isinstance(a, Number) and isinstance(b, Number) and a.is_python and b.is_python:
            return self.numbers.binary(op, a, b)
        if op not in BINARY:
            raise NoLoopError(f"{op.__name__} inside a loop")
        if any(isinstance(o, Number) and o.maybe for o in (a, b)):
            return self._of_either(op, a, b)
        if op is ast.Pow:
            return self._power(a, b)
        return self.apply(BINARY[op][0], a, b)

    def _of_either(self, op: type[ast.operator], a: Computed, b: Computed) -> Held:
        """Arithmetic of a float of Python or of NumPy."""
        if any(is_strong(o) for o in (a, b)):
            return self.binary(op, settled(a), settled(b))
        if op not in SIGNS or not isinstance(a, Number) or not isinstance(b, Number):
            raise NoLoopError(f"{op.__name__} of a float of Python or of NumPy")
        if any(not o.is_python and not o.maybe for o in (a, b)):
            raise NoLoopError(f"{op.__name__} of a float of Python or of NumPy")
        said = " || ".join(o.maybe for o in (a, b) if o.maybe)
        x, y = (o if o.maybe else self.numbers.as_float(o) for o in (a, b))
        if op is ast.Div:
            self.numbers.fault(
                f"!({said}) && {y.text} == 0", "LOOP_ZERO_DIVISION", zero(op, float)
            )
        text = self.text.named("double", f"{x.text} {SIGNS[op]} {y.text}")
        return Number(F64, text, maybe=self.text.named("bool", said))

    def _power(self, a: Computed, b: Computed) -> Held:
        """A power; arrays take some exponents through another ufunc, numbers do not."""
        dtype = a.type if isinstance(a, Number) else a.dtype
        exponent = b.known if isinstance(b, Number) and type(b.type) is type else None
        if not isinstance(a, Number) and isinstance(dtype, DType):
            short = power_by_number(dtype.kind, exponent)
            if short != "power":
                return self.apply(short, a)
        whole = [getattr(type_of(o), "kind", "i") in "iub" for o in (a, b)]
        if all(whole) and not (type(exponent) is int and exponent >= 0):
            raise NoLoopError("a power of integers that may be negative")
        return self.apply("power", a, b)

    def product(self, a: Held, b: Held) -> Held:
        """``a @ b``."""
        raise NotImplementedError

    def compare(self, op: type[ast.cmpop], a: Held, b: Held) -> Held:
        """The result of one comparison."""
        if op in (ast.Is, ast.IsNot):
            if not (isinstance(a, Unchanging) and isinstance(b, Unchanging)):
                if not any(isinstance(v, Unchanging) and v.value is None for v in (a, b)):
                    raise NoLoopError("the identity of what a loop computes")
                return literal(op is ast.IsNot)
            return literal((a.value is b.value) is (op is ast.Is))
        texts = [o.value for o in (a, b) if isinstance(o, Unchanging) and type(o.value) is str]
        if len(texts) == 2 and op in COMPARED:
            return literal(bool(COMPARED[op][2](*texts)))
        a, b = as_computed(a), as_computed(b)
        if op not in COMPARED:
            raise NoLoopError(f"{op.__name__} inside a loop")
        if isinstance(a, Number) and isinstance(b, Number) and a.is_python and b.is_python:
            return self.numbers.compared(op, a, b)
        maybe = [o.maybe for o in (a, b) if isinstance(o, Number) and o.maybe]
        if maybe and not any(is_strong(o) for o in (a, b)):
            found = self.compare(op, settled(a), settled(b))
            assert isinstance(found, Number)
            return replace(found, maybe=" || ".join(maybe))
        a, b = self._compared_with(b, a), self._compared_with(a, b)
        return self.apply(COMPARED[op][0], a, b)

    def _compared_with(self, number: Computed, other: Computed) -> Computed:
        """An operand of a comparison with another one, as wide as that may be.

        NumPy compares an integer of Python that a type cannot hold all the same.
        """
        if not isinstance(number, Number) or number.type is not int:
            return other
        dtype = other.type if isinstance(other, Number) else other.dtype
        _, low, high = bounds_of(dtype)
        is_whole = isinstance(dtype, DType) and dtype.kind in "iub"
        if not is_whole or low <= number.low <= number.high <= high:
            return other
        if high > MOST:
            raise NoLoopError(f"a comparison of {dtype} with an integer that it may not hold")
        return self.apply("cast", other, dtype="int64")


def is_strong(operand: Computed) -> bool:
    """Of an operand that makes NumPy's float64 of either float."""
    dtype = operand.type if isinstance(operand, Number) else operand.dtype
    if isinstance(dtype, DType) and dtype.kind in "iub":
        return True
    return dtype is F64 and not getattr(operand, "maybe", "")


def settled(operand: Computed) -> Computed:
    """A float of which it does not matter whose it is."""
    return replace(operand, maybe="") if isinstance(operand, Number) else operand


def as_numpys(held: Held) -> Held:
    """A float of Python as one of NumPy."""
    if isinstance(held, Number) and (held.type is float or held.maybe):
        return Number(F64, held.text)
    return held


def as_computed(held: Held) -> Computed:
    """A number or an array; anything else has no arithmetic."""
    if isinstance(held, Number | Strided | Elements):
        return held
    raise NoLoopError("arithmetic of what is neither a number nor an array")
