"""Python's complex numbers in C: pairs of doubles, by CPython's steps (Objects/complexobject.c).

What a real number is to them is a complex one without an imaginary part.  Python 3.14 gave the
arithmetic of both other rules, those of C99's annex G; there Python runs such loops.
"""

from __future__ import annotations

import ast
import sys
from dataclasses import replace
from typing import Any

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.clibrary import CALLED, modulus, raises
from opweave.compiler.lines.numbers import (
    COMPARED,
    SIGNS,
    Numbers,
    check_exact,
    literal,
    zero,
)
from opweave.compiler.lines.values import Number, NumberType
from opweave.opcodes.dtypes import C128, F32, F64, DType

REGISTER = C128.register
# Powers up to here are products (``complex_pow``).
MOST_FACTORS = 100


def is_complex(kind: NumberType) -> bool:
    """Whether numbers of a type of Python or NumPy have two parts."""
    return kind is complex or (isinstance(kind, DType) and kind.is_complex)


class AllNumbers(Numbers):
    """Arithmetic of Python's numbers, complex ones among them."""

    def binary(self, op: type[ast.operator], a: Number, b: Number) -> Number:
        are_known = a.known is not None and b.known is not None
        if are_known or complex not in (a.type, b.type):
            return super().binary(op, a, b)
        _check_rules()
        if op is ast.Pow:
            return self._raised(a, b)
        if op not in SIGNS:
            raise NoLoopError(f"Python's {op.__name__} of complex numbers")
        x, y = self.as_complex(a), self.as_complex(b)
        text = f"loop_pair({x.text} {SIGNS[op]} {y.text})"
        if op is ast.Div:
            if not y.known:
                self.fault(f"!nonzero({y.text})", "LOOP_ZERO_DIVISION", zero(op, complex))
            text = f"loop_quotient({x.text}, {y.text})"
        return Number(complex, self.text.named(REGISTER, text))

    def compared(self, op: type[ast.cmpop], a: Number, b: Number) -> Number:
        are_known = a.known is not None and b.known is not None
        if are_known or complex not in (a.type, b.type):
            return super().compared(op, a, b)
        if op not in (ast.Eq, ast.NotEq):
            raise NoLoopError("an order of complex numbers")
        for each in (a, b):
            if each.type is int:  # Python compares it exactly
                check_exact(each)
        x, y = self.as_complex(a), self.as_complex(b)
        return Number(bool, f"({x.text} {COMPARED[op][1]} {y.text})", low=0, high=1)

    def unary(self, op: type[ast.unaryop], a: Number) -> Number:
        if a.type is not complex:
            return super().unary(op, a)
        if op is ast.Invert:
            raise NoLoopError("~ of a complex number")
        if a.known is not None:
            return literal(-a.known if op is ast.USub else a.known)
        return replace(a, text=f"(-{a.text})") if op is ast.USub else a

    def as_float(self, a: Number) -> Number:
        if a.type is complex:
            raise NoLoopError("a complex number where Python takes a float")
        return super().as_float(a)

    def as_complex(self, a: Number) -> Number:
        """A number as Python's arithmetic of complex ones takes it."""
        if a.type is complex:
            return a
        return paired(self.as_float(a), literal(0.0))

    def modulus(self, z: Number) -> Number:
        """``abs(z)`` of two doubles; Python ends the loop where it is too large, NumPy goes on."""
        if z.known is not None:
            return self.folded(abs, z.known)
        found = self.text.named("double", f"libm_hypot({', '.join(z.words)})")
        if z.type is complex or z.maybe:
            is_raised = raises(found, z.words)
            if z.maybe:
                is_raised = f"!({z.maybe}) && ({is_raised})"
            words = [f"loop_bits<double>({word})" for word in z.words]
            self.fault(is_raised, "LOOP_MATH", str(CALLED.index(modulus)), *words)
        return Number(float if z.type is complex else F64, found, maybe=z.maybe)

    def of_complex(self, name: str, z: Number) -> Number:
        """A function of the C library, as NumPy calls it for one complex number."""
        return Number(C128, self.text.named(REGISTER, f"libm_{name}({z.text})"))

    def raised_by_numpy(self, z: Number, power: Any) -> Number:
        """A power of NumPy's by a small integer, by the steps of its ``npy_cpow``."""
        count = _factors(power)
        if count == MOST_FACTORS or z.maybe:
            raise NoLoopError("a power of complex numbers by other than a small integer")
        return Number(C128, self.text.named(REGISTER, f"loop_numpy_power({z.text}, {count})"))

    def _raised(self, a: Number, b: Number) -> Number:
        """A power by a small integer that is written out: a product of squares (``c_powu``)."""
        if a.type is not complex:
            raise NoLoopError("a power by a complex number")
        found = self.text.named(REGISTER, f"loop_power({a.text}, {_factors(b.known)})")
        far = f"is_infinite({found}.re) || is_infinite({found}.im)"
        self.fault(far, "LOOP_COMPLEX_POWER")
        return Number(complex, found)


def _factors(power: Any) -> int:
    """A power as the number of factors that it is."""
    if isinstance(power, complex) and not power.imag:
        power = power.real
    if isinstance(power, int | float) and 0 < power <= MOST_FACTORS and power == int(power):
        return int(power)
    raise NoLoopError("a power of complex numbers by other than a small integer")


def paired(re: Number, im: Number) -> Number:
    """A complex number of Python, of its parts."""
    if re.known is not None and im.known is not None:
        return literal(complex(re.known, im.known))
    return Number(complex, f"{REGISTER}{{{re.text}, {im.text}}}")


def part_of_complex(z: Number, name: str) -> Number:
    """``z.real`` or ``z.imag``, of the type that goes with its own."""
    if z.known is not None:
        return literal(getattr(z.known, name))
    text = f"{z.text}.{'re' if name == 'real' else 'im'}"
    if z.type is complex:
        return Number(float, text)
    assert isinstance(z.type, DType)
    return Number(F64 if z.type is C128 else F32, text, maybe=z.maybe)


def conjugate(z: Number) -> Number:
    """``z.conjugate()``."""
    if z.known is not None:
        return literal(z.known.conjugate())
    return replace(z, text=f"conjugate({z.text})")


def _check_rules() -> None:
    if sys.version_info >= (3, 14):
        raise NoLoopError("complex numbers of Python, whose rules are others from 3.14 on")
