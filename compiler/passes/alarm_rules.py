"""When an operator's result is an error to NumPy: a rule for each kind of operator."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce
from typing import Any

import numpy as np

from opweave.compiler.ir.builder import GraphBuilder
from opweave.compiler.ir.expr import literal
from opweave.compiler.ir.graph import FunctionGraph, Node
from opweave.compiler.ir.rewriting import next_id
from opweave.compiler.ir.values import Operand, Scalar, Shape, Value, Where
from opweave.opcodes import OPERATORS
from opweave.opcodes.core import Kind
from opweave.opcodes.dtypes import BF16, F16, F32, F64, DType

# Operators that find no error in real numbers: they are exact, or only ask a question.
SILENT = frozenset(
    """maximum minimum logical_and logical_or logical_xor logical_not bitwise_and bitwise_or
    bitwise_xor invert left_shift right_shift fmax fmin copysign equal not_equal less less_equal
    greater greater_equal negative positive floor ceil trunc rint isnan isinf isfinite signbit
    fabs bitwise_count relu clip where copy index real imag conjugate join gcd lcm coordinate full
    max min any all cummax cummin cumany cumall view slice reshape""".split()
    + [f"gather_{kind}" for kind in ("inside", *(f"{rank}d" for rank in range(1, 9)))]
)


# Operators that compare complex numbers; comparing with NaN is an error in NumPy.
ORDERS = frozenset(
    """maximum minimum fmax fmin less less_equal greater greater_equal max min cummax cummin
    """.split()
)


DIVIDES = ("floor_divide", "remainder", "fmod", "divmod", "reciprocal")


# Operators whose overflow NumPy finds between integers without dimensions, not between arrays.
COUNTS = ("add", "subtract", "multiply", "power", "negative", "absolute", "square")


# The most terms of a sum, as a power of two.
TERMS = 40


def largest(dtype: DType) -> float:
    """The largest number of a type's parts."""
    return 3.3895e38 if dtype is BF16 else float(np.finfo(dtype.part.numpy).max)


class Alarms:
    """Adds alarms to a graph, node by node."""

    def __init__(self, graph: FunctionGraph, extents: Mapping[str, int]):
        self.builder = GraphBuilder(extents, next_id(graph))
        self.boxed = {i.value.id for i in graph.inputs}
        self.has_rows = any(not (n.is_map or n.is_view) for n in graph.nodes)
        self.found: dict[Shape, list[Value]] = {}
        self.where = Where()

    def watch(self, node: Node, rule: Callable[[Alarms, Node], Iterable[Value]]) -> None:
        """Add the alarms that a rule finds for a node."""
        self.where = node.where
        for alarm in rule(self, node):
            self.add(alarm)

    def add(self, alarm: Value) -> None:
        self.found.setdefault(alarm.shape, []).append(alarm)

    def outputs(self) -> list[Value]:
        """The alarms as outputs: one bool for each shape."""
        for shape in [s for s in self.found if s]:
            self.add(self.any(self.either(*self.found.pop(shape))))
        return [self.either(*self.found[()])] if self.found else []

    def any(self, flags: Value) -> Value:
        """Whether any element is true; rows first, where a kernel takes rows."""
        if self.has_rows and len(flags.shape) > 1:
            flags = self.op("any", flags, axis=-1)
        return self.op("any", flags)

    # The operations that rules are written with

    def op(self, name: str, *operands: Value | Scalar | float, **attrs: Any) -> Value:
        """An operator on values and numbers."""
        given = [
            (o.expr, o.dtype) if isinstance(o, Scalar)
            else o if isinstance(o, Value) else (literal(o), type(o))
            for o in operands
        ]  # fmt: skip
        return self.builder.apply(OPERATORS[name], given, attrs, self.where)[0]

    def either(self, *flags: Value) -> Value:
        return reduce(lambda a, b: self.op("logical_or", a, b), flags)

    def both(self, *flags: Value) -> Value:
        return reduce(lambda a, b: self.op("logical_and", a, b), flags)

    def no(self, flag: Value) -> Value:
        return self.op("logical_not", flag)

    def parts(self, value: Value) -> list[Value]:
        """The real numbers that a value is made of."""
        if not value.dtype.is_complex:
            return [value]
        return [self.op("real", value), self.op("imag", value)]

    def exceeds(self, value: Value, limit: float) -> Value:
        """Whether a part is larger than a limit; NaN is not."""
        sizes = [self.op("absolute", part) for part in self.parts(value)]
        return self.either(*(self.op("greater", size, limit) for size in sizes))

    def as_type(self, value: Value, dtype: DType) -> Value:
        return self.op("cast", value, dtype=dtype.numpy_name)


Rule = Callable[[Alarms, Node], Iterator[Value]]


def of_map(alarms: Alarms, node: Node) -> Iterator[Value]:
    """Alarms of a map, for each element."""
    name, values = node.operator.name, node.values
    types = {o.dtype for o in (*node.operands, *node.results)}
    if name == "cast" or (name == "full" and node.operands):
        yield from of_cast(alarms, node)
    elif node.operator.mixes or name == "spacing" or OPERATORS.get(name) is not node.operator:
        yield from loose(alarms, node)
    elif all(d.kind in "iub" for d in types):
        yield from of_integers(alarms, node)
    elif any(d.is_complex for d in types):
        if name not in SILENT - ORDERS:
            yield from of_complex(alarms, node)
    elif values and name not in SILENT:
        yield from of_floats(alarms, node)


def of_floats(alarms: Alarms, node: Node) -> Iterator[Value]:
    """The result is not finite although the operands are, or NaN although they are not."""
    inputs = [v for v in node.values if v.dtype.is_float]
    for result in (r for r in node.results if r.dtype.is_float):
        lost = alarms.no(alarms.op("isfinite", result))
        yield alarms.both(lost, *(alarms.op("isfinite", v) for v in inputs))
        made = alarms.op("isnan", result)
        yield alarms.both(made, *(alarms.no(alarms.op("isnan", v)) for v in inputs))
    if node.operator.name in ("power", "float_power", "nextafter"):
        yield alarms.op("isinf", node.result)  # also where an operand is infinite
    if any(r.dtype.kind in "iu" for r in node.results) and node.operator.name != "frexp":
        yield from loose(alarms, node)


def of_complex(alarms: Alarms, node: Node) -> Iterator[Value]:
    """Any result that is not finite, since NumPy's loops may compute with a part that is NaN."""
    yield from loose(alarms, node)
    if node.operator.name in ("divide", "reciprocal", "sign"):
        for value in node.values:
            yield alarms.exceeds(value, largest(value.dtype) / 4)


def loose(alarms: Alarms, node: Node) -> Iterator[Value]:
    """Any result that is not finite, of an operator whose NumPy function we do not know."""
    for value in (*node.values, *node.results):
        if value.dtype.kind in "fc":
            yield alarms.no(alarms.op("isfinite", value))


def of_integers(alarms: Alarms, node: Node) -> Iterator[Value]:
    """Division by zero, the one quotient that is too large, and overflow of single numbers."""
    name, dtype = node.operator.name, node.results[0].dtype
    if name in DIVIDES:
        divisor = node.operands[-1]
        if isinstance(divisor, Value):
            yield alarms.op("equal", divisor, 0)
        elif not _is_other_than(divisor, 0):
            yield _is_zero(alarms, node)
        if dtype.kind == "i" and len(node.operands) == 2:
            first, second = (_value(alarms, node, o) for o in node.operands)
            lowest = alarms.op("equal", first, int(np.iinfo(dtype.numpy).min))
            yield alarms.both(lowest, alarms.op("equal", second, -1))
    elif name == "power" and dtype.kind == "i":
        yield alarms.op("less", _value(alarms, node, node.operands[1]), 0)
    if name in COUNTS and not node.result.shape and dtype.kind in "iu":
        wide = [_value(alarms, node, o) for o in node.operands]
        found = alarms.op(name, *(alarms.as_type(value, F64) for value in wide))
        limits = np.iinfo(dtype.numpy)
        slack = 2.0 ** (limits.bits - 10)  # for digits that float64 does not hold
        low = alarms.op("less", found, float(limits.min) + (slack if limits.min else 0.0))
        yield alarms.either(low, alarms.op("greater", found, float(limits.max) - slack))


def of_cast(alarms: Alarms, node: Node) -> Iterator[Value]:
    """A cast to a type that does not hold the number."""
    source, result = node.operands[0], node.result
    if not isinstance(source, Value) or result.dtype.kind == "b":
        return
    if source.dtype.is_complex:
        yield alarms.no(alarms.op("isfinite", result))
    elif source.dtype.is_float and result.dtype.kind in "fc":
        lost = alarms.no(alarms.op("isfinite", result))
        yield alarms.both(lost, alarms.op("isfinite", source))
    elif result.dtype is F16:
        yield alarms.op("isinf", result)
    elif source.dtype.is_float:
        yield alarms.no(_within(alarms, source, result.dtype))


def _within(alarms: Alarms, source: Value, dtype: DType) -> Value:
    """Whether floats, cut to integers, are of a type."""
    limits, top = np.iinfo(dtype.numpy), largest(source.dtype)
    flags = [alarms.op("isfinite", source)]
    if limits.max < top:
        flags.append(alarms.op("less", source, float(limits.max) + 1.0))
    if -limits.min < top:
        name = "greater" if limits.min > -(2**53) else "greater_equal"
        low = float(limits.min) - 1.0 if name == "greater" else float(limits.min)
        flags.append(alarms.op(name, source, low))
    return alarms.both(*flags)


def of_reduction(alarms: Alarms, node: Node) -> Iterator[Value]:
    """Sums and products, whatever order NumPy takes their elements in."""
    if node.operator.name in ("sum", "cumsum"):
        yield from _of_sum(alarms, node)
    elif node.operator.name in ("prod", "cumprod"):
        yield from _of_product(alarms, node)
    elif node.operator.name not in SILENT or node.result.dtype.is_complex:
        yield from loose(alarms, node)


def _of_sum(alarms: Alarms, node: Node) -> Iterator[Value]:
    source = node.values[0]
    if source.dtype is F16:  # NumPy may round each partial sum to it, at most to twice as much
        size = alarms.op("absolute", alarms.as_type(source, F32))
        size = alarms.op("where", alarms.op("isnan", size), 0.0, size)
        total = alarms.op("sum", size, axis=node.attr("axis"), keepdims=True)
        yield alarms.op("greater", total, largest(F16) / 2)
    elif source.dtype.kind in "fc":
        yield alarms.exceeds(source, largest(source.dtype) / 2**TERMS)


def _of_product(alarms: Alarms, node: Node) -> Iterator[Value]:
    """Products in any order: no partial product exceeds that of all factors above 1.

    Rounding raises a factor above 1 by less than its root, so the product of the rounded ones
    stays below the power 1.5 of the exact one.
    """
    source = node.values[0]
    if source.dtype.kind not in "fc":
        return
    if source.dtype.is_complex:
        yield alarms.no(alarms.op("isfinite", source))
    size = alarms.op("absolute", source)
    size = alarms.op("fmax", size, 1.0)
    wide = alarms.as_type(size, F64)
    total = alarms.op("prod", wide, axis=node.attr("axis"), keepdims=True)
    share = 0.5 if source.dtype.is_complex else 0.66
    yield alarms.op("greater", total, largest(source.dtype) ** share)


def of_matmul(alarms: Alarms, node: Node) -> Iterator[Value]:
    """Sums of products in any order; those of float16 are rounded only once."""
    if node.operator.like:
        yield from loose(alarms, node)
    elif node.result.dtype is F16:
        for value in (*node.values, node.result):
            yield alarms.op("isinf", value)
    elif node.result.dtype.kind in "fc":
        for value in node.values:
            yield alarms.exceeds(value, math.sqrt(largest(value.dtype)) / 2 ** (TERMS // 2 + 1))


def _value(alarms: Alarms, node: Node, operand: Operand) -> Value:
    """An operand as a value."""
    if isinstance(operand, Value):
        return operand
    return alarms.builder.created(operand.expr, operand.dtype, (), alarms.where)


def _is_other_than(scalar: Scalar, number: int) -> bool:
    """True for a number in the code that is not this one."""
    return scalar.expr.op == "literal" and scalar.expr.args[0] != number


def _is_zero(alarms: Alarms, node: Node) -> Value:
    """Whether the last operand, a number of the call, is zero."""
    return alarms.op("equal", _value(alarms, node, node.operands[-1]), 0)


RULES: dict[Kind, Rule] = {
    Kind.MAP: of_map,
    Kind.CREATE: of_map,
    Kind.MOVE: lambda alarms, node: iter(()),
    Kind.REDUCE: of_reduction,
    Kind.SCAN: of_reduction,
    Kind.CONTRACT: of_matmul,
    Kind.HANDWRITTEN: loose,
}
