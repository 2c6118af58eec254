"""Marks of segments: what tells them apart, asked of the nodes as they were noted.

A segment that comes again need not be cut out, which takes several times as long.  Two segments
with the same mark, and with arrays of the same shapes, have the same graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from opweave.compiler.ir.expr import Expr, expr_key
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import Operand, Symbol, Value
from opweave.compiler.parts.interface import Given, LazyTracerLike
from opweave.compiler.parts.segments import needed


class Mark(NamedTuple):
    """A segment's mark, and its arguments as the segment would have them.

    Attributes:
        key: what must be equal of segments, but for the exact shapes of their arrays.
    """

    key: Any
    arrays: tuple[Any, ...]
    scalars: dict[str, Any]


class _Unmarked(Exception):
    """An extent comes from elsewhere: the segment has to be cut out to know its inputs."""


def marked(
    tracer: LazyTracerLike, wanted: Sequence[Value], looked_at: Sequence[Value] = ()
) -> Mark | None:
    """The mark of the segment that ``cut`` makes; None where that has to be cut out."""
    nodes = needed(tracer.builder.nodes, [*wanted, *looked_at], tracer.given.keys())
    used = {v.id for n in nodes for v in n.values} | {v.id for v in wanted}
    inputs = [given for number, given in tracer.given.items() if number in used]
    names = _Numbers(tracer)
    try:
        key = (
            tuple(map(names.input, inputs)),
            tuple(map(names.node, nodes)),
            tuple(map(names.value, wanted)),
        )
    except _Unmarked:
        return None
    scalars = {f"number{n}": tracer.env[name] for n, name in enumerate(names.scalars)}
    return Mark(key, tuple(given.array for given in inputs), scalars)


class _Numbers:
    """Numbers of values, extents and scalars, in the order in which they are met."""

    def __init__(self, tracer: LazyTracerLike):
        self.tracer = tracer
        self.find = tracer.builder.find
        self.values: dict[int, int] = {}
        self.extents: dict[Symbol, int] = {}
        self.scalars: dict[str, int] = {}

    def input(self, given: Given) -> Any:
        value, kind = given.value, given.type
        for extent in map(self.find, value.shape):
            if isinstance(extent, Symbol):
                self.extents.setdefault(extent, len(self.extents))
        return given.name, kind.layout, kind.aligned, self.made(value)

    def made(self, value: Value) -> Any:
        """What is to be known of a value: its type, its extents, whether NumPy has a number."""
        number = value.id
        self.values[number] = len(self.values)
        is_hidden, is_number = number in self.tracer.hidden, number in self.tracer.unboxed
        return value.dtype.name, tuple(map(self.extent, value.shape)), is_hidden, is_number

    def value(self, value: Value) -> int:
        return self.values[value.id]

    def node(self, node: Node) -> Any:
        operands = tuple(map(self.operand, node.operands))
        attrs = tuple((name, self.attr(attr)) for name, attr in node.attrs)
        return node.operator, operands, attrs, tuple(map(self.made, node.results))

    def operand(self, operand: Operand) -> Any:
        if isinstance(operand, Value):
            return self.values[operand.id]
        for leaf in operand.expr.leaves():
            if leaf.op == "argument":
                self.scalars.setdefault(str(leaf.args[0]), len(self.scalars))
        return self.expr(operand.expr), operand.dtype.name

    def expr(self, expr: Expr) -> Any:
        if expr.op == "argument":
            return expr.op, self.scalars[expr.args[0]]
        if expr.op == "extent":
            return expr.op, self.extent(Symbol(expr.args[0]))
        if expr.op == "literal":
            return expr.op, expr_key(expr)
        return expr.op, tuple(map(self.expr, expr.args))

    def attr(self, attr: Any) -> Any:
        if isinstance(attr, tuple):
            return tuple(map(self.attr, attr))
        return self.extent(attr) if isinstance(attr, Symbol) else attr

    def extent(self, extent: Any) -> Any:
        """A number as it is; an extent by its place among those of the inputs."""
        found = self.find(extent)
        if not isinstance(found, Symbol):
            return found
        if found not in self.extents:
            raise _Unmarked
        return Symbol, self.extents[found]
