"""Python's operators on what a loop computes: arithmetic, comparisons, products of vectors."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import replace

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.applied import bounds_of, type_of
from opweave.compiler.lines.complexes import is_complex
from opweave.compiler.lines.eithers import Eithers, compared_as, is_strong, settled
from opweave.compiler.lines.numbers import BINARY, COMPARED, literal
from opweave.compiler.lines.values import (
    MOST,
    Computed,
    Elements,
    Held,
    Number,
    Several,
    Strided,
    Unchanging,
)
from opweave.opcodes.dtypes import BOOL, C128, F32, F64, DType
from opweave.opcodes.operators.functions import power_by_number


class Arithmetic(Eithers):
    """Applies Python's operators."""

    def truth_of(self, number: Number) -> Number:
        if number.known is not None:
            return literal(bool(number.known))
        if number.type in (bool, BOOL):
            return replace(number, type=bool)
        if is_complex(number.type):
            return Number(bool, f"nonzero({number.text})", low=0, high=1)
        return Number(bool, f"({number.text} != 0)", low=0, high=1)

    def binary(self, op: type[ast.operator], a: Held, b: Held) -> Held:
        """The result of an operator of Python."""
        if op is ast.MatMult:
            return self.product(a, b)
        a, b = as_computed(a), beside_complex(as_computed(a), as_computed(b))
        if isinstance(a, Number) and isinstance(b, Number) and a.is_python and b.is_python:
            return self.numbers.binary(op, a, b)
        if op not in BINARY:
            raise NoLoopError(f"{op.__name__} inside a loop")
        if any(isinstance(o, Number) and o.maybe for o in (a, b)):
            return self.of_either(op, a, b)
        if op is ast.Pow:
            return self._power(a, b)
        return self.apply(BINARY[op][0], a, b)

    def _power(self, a: Computed, b: Computed) -> Held:
        """A power, of some exponents by another ufunc, with the bits that kernels have."""
        dtype = a.type if isinstance(a, Number) else a.dtype
        exponent = b.known if isinstance(b, Number) and type(b.type) is type else None
        if isinstance(a, Number) and a.is_pair:
            return self.numbers.raised_by_numpy(a, exponent)
        # (-inf) ** 0.5 is inf of a number of NumPy's, and NaN in an array, which takes the root
        is_alike = not isinstance(a, Number) or (dtype in (F64, F32) and exponent != 0.5)
        if isinstance(dtype, DType) and is_alike:
            short = power_by_number(dtype.kind, exponent)
            if short != "power":
                return self.apply(short, a)
        whole = [getattr(type_of(o), "kind", "i") in "iub" for o in (a, b)]
        if all(whole) and not (type(exponent) is int and exponent >= 0):
            raise NoLoopError("a power of integers that may be negative")
        return self.apply("power", a, b)

    def modulus(self, z: Number) -> Number:
        """``abs`` of a complex number."""
        if z.is_pair:
            return self.numbers.modulus(z)
        return Number(F32, self.text.named("float", f"libm_hypotf({z.text}.re, {z.text}.im)"))

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
        if op in (ast.In, ast.NotIn) and isinstance(b, Several):
            return self._is_one_of(op, a, b.items)
        a, b = as_computed(a), beside_complex(as_computed(a), as_computed(b))
        if op not in COMPARED:
            raise NoLoopError(f"{op.__name__} inside a loop")
        if isinstance(a, Number) and isinstance(b, Number) and a.is_python and b.is_python:
            return self.numbers.compared(op, a, b)
        maybe = [o.maybe for o in (a, b) if isinstance(o, Number) and o.maybe]
        if maybe and C128 in map(type_of, (a, b)) and op not in (ast.Eq, ast.NotEq):
            raise NoLoopError("an order of complex numbers")
        numbers = [o for o in (a, b) if isinstance(o, Number)]
        if maybe and not any(is_strong(o) for o in (a, b)) and len(numbers) == 2:
            found = self.compare(op, *compared_as(numbers))
            assert isinstance(found, Number)
            return replace(found, maybe=" || ".join(maybe))
        if maybe:
            a, b = map(settled, (a, b))
        a, b = self._compared_with(b, a), self._compared_with(a, b)
        return self.apply(COMPARED[op][0], a, b)

    def _is_one_of(self, op: type[ast.cmpop], a: Held, items: Sequence[Held]) -> Number:
        """``a in (1, 2)``, of numbers."""
        found = literal(False)
        for item in items:
            if not isinstance(a, Number) or getattr(item, "known", "") in ("", None):
                raise NoLoopError(f"{op.__name__} of other than numbers that are written out")
            one = self.truth_of(self._number_compared(a, item))
            if one.known or found.known:
                found = literal(True)
            elif one.known is None:
                texts = [n.text for n in (found, one) if n.known is None]
                found = Number(bool, f"({' || '.join(texts)})", low=0, high=1)
        if op is ast.In:
            return found
        if found.known is not None:
            return literal(not found.known)
        return Number(bool, f"!{found.text}", low=0, high=1)

    def _number_compared(self, a: Held, b: Held) -> Number:
        found = self.compare(ast.Eq, a, b)
        assert isinstance(found, Number)
        return found

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


def as_numpys(held: Held) -> Held:
    """A float or a complex number of Python as one of NumPy."""
    if isinstance(held, Number) and ((held.maybe and held.type not in (F64, C128)) or held.whole):
        raise NoLoopError("a number of several types, as an array")
    if isinstance(held, Number) and (held.type is float or (held.maybe and held.type is F64)):
        return Number(F64, held.text)
    if isinstance(held, Number) and (held.type is complex or held.maybe):
        return Number(C128, held.text)
    return held


def beside_complex(a: Computed, b: Computed) -> Computed:
    """The second operand; NumPy's float64 is a float to a complex number of Python's before it."""
    if isinstance(a, Number) and isinstance(b, Number) and b.type is F64:
        if a.type is complex:
            return Number(float, b.text)
        if a.type is C128 and a.maybe:
            return Number(F64, b.text, maybe=a.maybe)
    return b


def as_computed(held: Held) -> Computed:
    """A number or an array; anything else has no arithmetic."""
    if isinstance(held, Number | Strided | Elements):
        return held
    raise NoLoopError("arithmetic of what is neither a number nor an array")
