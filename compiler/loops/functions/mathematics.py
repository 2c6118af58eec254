"""Functions of Python's ``math`` inside of a loop, by table.

Their bits are Python's, which calls the same library of C.
"""

from __future__ import annotations

import ast
import math
import sys
from collections.abc import Callable
from typing import Any

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.clibrary import ONE, TWO
from opweave.compiler.lines.complexes import is_complex
from opweave.compiler.lines.numbers import Numbers, literal
from opweave.compiler.lines.values import MOST, Held, Number, Size
from opweave.compiler.loops.expressions import Expressions
from opweave.opcodes.dtypes import F32, F64, DType

TRUTHS = {
    math.isnan: "{0} != {0}",
    math.isinf: "is_infinite({0})",
    math.isfinite: "is_finite({0})",
}
ROUNDED = {math.floor: "floor", math.ceil: "ceil", math.trunc: "trunc", round: "rint"}
# Of NumPy's numbers, those that have the method which Python asks for, or give all their bits.
ROUNDED_OF_NUMPY = {math.trunc: (F64,), round: (F32, F64)}
FACTORS = {math.degrees: 180.0 / math.pi, math.radians: math.pi / 180.0}


def real_of(numbers: Numbers, held: Held, name: str) -> Number:
    """A number as the double that Python makes of it."""
    if not isinstance(held, Number) or is_complex(held.type):
        raise NoLoopError(f"{name} of what is no real number")
    if isinstance(held.type, DType):
        return Number(float, numbers.text.named("double", f"(double){held.text}"))
    return numbers.as_float(held)


def _of_library(function: Any) -> Callable[..., Held]:
    name = function.__name__

    def one(self: Expressions, x: Held) -> Held:
        return self.numbers.of_library(function, name, real_of(self.numbers, x, name))

    def two(self: Expressions, x: Held, y: Held) -> Held:
        operands = (real_of(self.numbers, each, name) for each in (x, y))
        return self.numbers.of_library(function, name, *operands)

    return one if function in ONE else two


def _truth(function: Any) -> Callable[..., Held]:
    def find(self: Expressions, x: Held) -> Held:
        text = real_of(self.numbers, x, function.__name__).text
        return Number(bool, f"({TRUTHS[function].format(text)})", low=0, high=1)

    return find


def _rounded(function: Any) -> Callable[..., Held]:
    def find(self: Expressions, x: Held) -> Held:
        if isinstance(x, Number) and x.type in (int, bool):
            return self.numbers.unary(ast.UAdd, x)
        kind = getattr(x, "type", None)
        if isinstance(kind, DType) and kind not in ROUNDED_OF_NUMPY.get(function, (kind,)):
            raise NoLoopError(f"{function.__name__} of {kind}")
        real = real_of(self.numbers, x, function.__name__)
        return self.numbers.truncated(Number(float, f"{ROUNDED[function]}({real.text})"))

    return find


def _scaled(function: Any) -> Callable[..., Held]:
    def find(self: Expressions, x: Held) -> Held:
        real = real_of(self.numbers, x, function.__name__)
        return self.numbers.binary(ast.Mult, real, literal(FACTORS[function]))

    return find


def _log(self: Expressions, x: Held, base: Held | None = None) -> Held:
    """``math.log``, of two numbers the quotient of both."""
    found = self.numbers.of_library(math.log, "log", real_of(self.numbers, x, "log"))
    if base is None:
        return found
    divisor = self.numbers.of_library(math.log, "log", real_of(self.numbers, base, "log"))
    return self.numbers.binary(ast.Div, found, divisor)


def _hypot(self: Expressions, *x: Held) -> Held:
    if not x:
        raise NoLoopError("hypot of nothing")
    numbers = [real_of(self.numbers, each, "hypot").text for each in x]
    values = self.text.fresh("lengths")
    self.text.add(f"const double {values}[] = {{{', '.join(numbers)}}};")
    divides = f"{sys.version_info < (3, 12)}".lower()
    return Number(float, self.text.named("double", f"loop_hypot<{divides}>({values})"))


def _gcd(self: Expressions, x: Held, y: Held) -> Held:
    numbers = [n for n in (x, y) if isinstance(n, Number) and n.is_integer and not n.maybe]
    if len(numbers) < 2 or any(n.high > MOST for n in numbers):
        raise NoLoopError("gcd of other than two integers")
    a, b = (f"(int64){n.text}" for n in numbers)
    found = self.text.named("uint64", f"loop_gcd({a}, {b})")
    self.numbers.fault(f"{found} > {MOST}u", "LOOP_OVERFLOW")
    name = self.text.named("int64", f"(int64){found}")
    return Number(int, name, Size.of(name), 0, MOST)


OTHERS: dict[Any, Callable[..., Held]] = {math.log: _log, math.hypot: _hypot, math.gcd: _gcd}
_BY_NAME = tuple(
    (function, make(function))
    for functions, make in (
        ((*ONE, *TWO), _of_library),
        (TRUTHS, _truth),
        (ROUNDED, _rounded),
        (FACTORS, _scaled),
    )
    for function in functions
    if function not in OTHERS
)
MATHEMATICS: tuple[tuple[Any, Callable[..., Held]], ...] = (*_BY_NAME, *OTHERS.items())
