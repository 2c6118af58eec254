"""Parts of complex values with their bounds: arithmetic, comparisons, picking an operand.

A complex operator is walked as the real operators that its helper in templates/complex.cuh is
made of.  Each of these adds its error and carries over those of its operands.  Each table here has
a row for an operator.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, NamedTuple, Protocol

import numpy as np

from opweave.compiler.bounds.error_propagation import Bounded
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import Operand, Value
from opweave.opcodes import OPERATORS
from opweave.opcodes.dtypes import BOOL, DType
from opweave.opcodes.operators.complexes import joined

Array = np.ndarray[Any, Any]


class BoundedParts(NamedTuple):
    """The bounds of a complex value's real and imaginary part."""

    re: Bounded
    im: Bounded

    @property
    def value(self) -> Array:
        return np.asarray(joined(self.re.value, self.im.value))

    @property
    def lost(self) -> Array:
        """Where nothing decides a part."""
        return ~(np.isfinite(self.re.error) & np.isfinite(self.im.error))

    def whole(self) -> Bounded:
        """Value and error as complex arrays; the error's parts are those of the parts."""
        shape = np.shape(self.value)
        errors = (np.broadcast_to(p.error, shape) for p in self)
        return Bounded(self.value, np.asarray(joined(*errors)))


class Bounds(Protocol):
    """The bounds of a graph's values, as far as they are asked for here."""

    held: dict[int, Any]
    extents: Any

    def real_node(self, node: Node) -> list[Bounded]:
        """Results of a node whose values are real and held."""


@dataclass(frozen=True)
class Real:
    """A real intermediate value; its operators are those of a kernel, with their errors."""

    bounds: Bounds
    dtype: DType
    bounded: Bounded
    shape: Any = ()  # in symbols, where a reduction asks for it

    def do(self, name: str, *others: Any) -> Real:
        """The result of a real operator."""
        operands = [self, *(self.like(other) for other in others)]
        row = OPERATORS[name]
        _, (dtype,) = row.type_rule(tuple(o.dtype for o in operands), ())
        return Real(self.bounds, dtype, computed(self.bounds, Node(row, (), ()), operands, dtype))

    def like(self, other: Any) -> Real:
        if isinstance(other, Real):
            return other
        return Real(self.bounds, self.dtype, Bounded(self.bounded.value.dtype.type(other), _ZERO))

    def __add__(self, other: Any) -> Real:
        return self.do("add", other)

    def __sub__(self, other: Any) -> Real:
        return self.do("subtract", other)

    def __mul__(self, other: Any) -> Real:
        return self.do("multiply", other)

    def __truediv__(self, other: Any) -> Real:
        return self.do("divide", other)

    def __neg__(self) -> Real:
        return self.do("negative")

    def __abs__(self) -> Real:
        return self.do("absolute")

    def where(self, other: Real, condition: Bounded) -> Real:
        """This value where the condition holds, else the other."""
        chosen = Real(self.bounds, BOOL, condition)
        return chosen.do("where", self, other)


_ZERO = np.zeros(())


class Pair(NamedTuple):
    """The parts of an operand, as intermediate values."""

    re: Real
    im: Real

    @property
    def parts(self) -> BoundedParts:
        return BoundedParts(self.re.bounded, self.im.bounded)

    def where(self, other: Pair, condition: Bounded) -> Pair:
        re, im = (a.where(b, condition) for a, b in zip(self, other, strict=True))
        return Pair(re, im)

    def with_exact(self, where: Array, value: Array, operands: Sequence[Pair]) -> Pair:
        """Another value at some places; undecided there unless the operands are exact."""
        erring = [np.not_equal(r.bounded.error, 0) for p in operands for r in p]
        error = np.where(reduce(np.logical_or, erring), np.inf, 0.0)
        return Pair(*(
            replace(part, bounded=Bounded(np.where(where, v, part.bounded.value),
                                          np.where(where, error, part.bounded.error)))
            for part, v in zip(self, (value.real, value.imag), strict=True)
        ))  # fmt: skip


def computed(
    bounds: Bounds, node: Node, operands: Sequence[Operand | Real], dtype: DType, shape: Any = ()
) -> Bounded:
    """The only result of a node with real operands, which are held only for this node."""
    values = tuple(_held(bounds, -1 - n, o) for n, o in enumerate(operands))
    result = Value(-1 - len(values), dtype, shape)
    (found,) = bounds.real_node(replace(node, operands=values, results=(result,)))
    for value in values:
        if isinstance(value, Value) and value.id < 0:
            del bounds.held[value.id]
    return found


def _held(bounds: Bounds, number: int, operand: Operand | Real) -> Operand:
    if not isinstance(operand, Real):
        return operand
    bounds.held[number] = operand.bounded
    return Value(number, operand.dtype, operand.shape or np.shape(operand.bounded.value))


# Expansions of operators whose helper is arithmetic.


def _multiply(x: Pair, y: Pair) -> Pair:
    return Pair(x.re * y.re - x.im * y.im, x.re * y.im + x.im * y.re)


def _larger_first(y: Pair, turned: Bounded) -> tuple[Real, Real]:
    return y.im.where(y.re, turned), y.re.where(y.im, turned)


def _turned(y: Pair) -> Bounded:
    """The imaginary part is the larger one; NaN counts as large."""
    order = abs(y.re).do("greater_equal", abs(y.im))
    return order.do("logical_not").bounded


def _ratio(small: Real, large: Real) -> Real:
    """A quotient; 0 by anything, and anything by an infinity, is 0 without an error."""
    found = small / large
    (s, by_s), (l, by_l) = ((r.bounded.value, r.bounded.error) for r in (small, large))
    value = found.bounded.value
    exact = (by_s == 0) & (by_l == 0) & (value == 0) & ((s == 0) | np.isinf(l))
    return replace(found, bounded=Bounded(value, np.where(exact, 0.0, found.bounded.error)))


def _divide(x: Pair, y: Pair) -> Pair:
    turned = _turned(y)
    large, small = _larger_first(y, turned)
    ratio = _ratio(small, large)
    scale = (large.like(1.0)) / (large + small * ratio)
    p, q = x.im.where(x.re, turned), x.re.where(x.im, turned)
    im = (p * ratio - q).where(q - p * ratio, turned)
    found = Pair((p + q * ratio) * scale, im * scale)
    divisor, dividend = y.parts.value, x.parts.value
    by_zero = np.equal(divisor, 0)
    shape = np.broadcast_shapes(np.shape(divisor), np.shape(dividend))
    special = joined(dividend.real / np.abs(divisor.real), dividend.imag / np.abs(divisor.real))
    return found.with_exact(np.broadcast_to(by_zero, shape), np.asarray(special), (x, y))


def _reciprocal(x: Pair) -> Pair:
    order = abs(x.im).do("less_equal", abs(x.re))
    turned = order.do("logical_not").bounded
    large, small = _larger_first(x, turned)
    ratio = _ratio(small, large)
    size = large + small * ratio
    one = large.like(1.0)
    re, im = ratio.where(one, turned), (-one).where(-ratio, turned)
    return Pair(re / size, im / size)


def _absolute(x: Pair) -> Real:
    return x.re.do("hypot", x.im)


def _sign(x: Pair) -> Pair:
    size = _absolute(x)
    special = ~np.isfinite(size.bounded.value) | np.equal(size.bounded.value, 0)
    found = Pair(x.re / size, x.im / size)
    return found.with_exact(special, np.sign(x.parts.value), (x,))


def _conjugate(x: Pair) -> Pair:
    return Pair(x.re, -x.im)


ARITHMETIC: dict[str, Callable[..., Any]] = {
    "multiply": _multiply,
    "divide": _divide,
    "square": lambda x: _multiply(x, x),
    "reciprocal": _reciprocal,
    "absolute": _absolute,
    "sign": _sign,
    "conjugate": _conjugate,
    "real": lambda x: x.re,
    "imag": lambda x: x.im,
}
