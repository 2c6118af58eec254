"""The graph of a block: the function's nodes over regions, with extents that blocks share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from opweave._dask.regions import extents
from opweave._dask.steps import AxisLength, BlockPlan, BlockStep, RegionRead
from opweave._dask.whole import WholeCall, act_of
from opweave.compiler.ir.builder import GraphBuilder
from opweave.compiler.ir.expr import Expr, expr_key, literal
from opweave.compiler.ir.graph import FunctionGraph, Input, Node
from opweave.compiler.ir.names import c_names
from opweave.compiler.ir.values import Extent, Operand, Scalar, Value, Where
from opweave.opcodes import OPERATORS
from opweave.opcodes.dtypes import DType


class Local:
    """Builds the graph of a block, and of all blocks of its form.

    Attributes:
        numbers: of the whole function, by the names that the graph has for them.
    """

    def __init__(self, whole: WholeCall, plan: BlockPlan, dtypes: Sequence[DType]):
        self.whole, self.plan = whole, plan
        self.builder = GraphBuilder({})
        self.inputs = [
            self.builder.new_input(dtype, extents(region))
            for dtype, (_, region) in zip(dtypes, plan.inputs, strict=True)
        ]
        self.slots: list[Value] = [*self.inputs]
        self.numbers: dict[str, Any] = {}
        self.begins: list[str] = []
        self._read: dict[RegionRead, Value] = {}
        self._known: dict[Any, str] = {}
        self._where = Where()
        for step in plan.steps:
            node = whole.graph.nodes[step.node]
            operands = self._operands(node, step)
            self.slots += LOCAL.get(act_of(node), _again)(self, node, step, operands)
        self.outputs = [self.read(read) for read in plan.outputs]

    def partial(self, node: Node, value: Value) -> Value:
        """The reduction of a block, its axes kept; floats in the type that they are added in."""
        wide = accumulated(node)
        if value.dtype.kind in "fc" and wide != value.dtype:
            (value,) = self.builder.apply(
                OPERATORS["cast"], [value], {"dtype": wide.numpy_name}, node.where
            )
        attrs = {**dict(node.attrs), "keepdims": True}
        if attrs.get("dtype") is not None:
            attrs["dtype"] = wide.numpy_name
        return self.builder.apply(node.operator, [value], attrs, node.where)[0]

    def graph(self) -> FunctionGraph:
        """The graph; its inputs have the layouts of no arrays yet."""
        builder, known = self.builder, self.whole.graph.arguments
        named = [known[n].name if n in known else f"joined{n}" for n, _ in self.plan.inputs]
        names = c_names([*self.numbers, *self.begins, *named])[-len(named) or None :]
        inputs = tuple(map(Input, map(builder.resolved, self.inputs), names))
        return FunctionGraph(
            self.whole.graph.name, inputs, (*self.numbers, *self.begins),
            tuple(builder.resolved_nodes()), tuple(map(builder.resolved, self.outputs)),
            derived=tuple(builder.derived.items()),
        )  # fmt: skip

    def read(self, read: RegionRead) -> Value:
        """A part of what is there."""
        found = self._read.get(read)
        if found is None:
            found = self.slots[read.slot]
            for axis, (begin, end) in enumerate(read.left_out):
                if begin or end:
                    length = self._less(found.shape[axis], begin + end)
                    where = self._where
                    found = self.builder.sliced(found, axis, literal(begin), 1, length, where)
            self._read[read] = found
        return found

    def _operands(self, node: Node, step: BlockStep) -> list[Operand]:
        self._where = node.where
        reads = iter(step.reads)
        if act_of(node) == "slice":  # what it begins with is in what is read
            return [self.read(next(reads))]
        return [
            self.read(next(reads)) if isinstance(o, Value) else self.number(o)
            for o in node.operands
        ]

    def number(self, operand: Operand) -> Scalar:
        """A number of the whole function: what it says, or a parameter of the kernel."""
        assert isinstance(operand, Scalar)
        if operand.expr.op == "literal":
            return operand
        key = expr_key(operand.expr)
        if (name := self._known.get(key)) is None:
            name = self._known[key] = f"number_{len(self.numbers)}"
            self.numbers[name] = self.whole.number(operand)
        return Scalar(Expr("argument", (name,)), operand.dtype)

    def begin(self, dtype: DType) -> Scalar:
        """The next number that says where a region begins."""
        self.begins.append(f"begin_{len(self.begins)}")
        return Scalar(Expr("argument", (self.begins[-1],)), dtype)

    def length(self, length: AxisLength) -> Extent:
        """The extent of an axis that no operand says."""
        if length.place < 0:
            return length.less
        return self._less(self.inputs[length.place].shape[length.axis], length.less)

    def _less(self, extent: Extent, less: int) -> Extent:
        expr = self.builder.extent_expr(extent)
        if expr.op == "literal":
            return int(expr.args[0]) - less
        if not less:
            return self.builder.find(extent)
        return self.builder.derive(Expr("sub", (expr, literal(less))))


def accumulated(node: Node) -> DType:
    """The type in which partial results of a reduction are joined."""
    wide = node.operator.accumulator
    dtype = node.result.dtype
    return wide(dtype) if wide is not None and dtype.kind in "fc" else dtype


# Nodes of a block for each act: (local, node, step, operands) -> the values that it makes


def _again(local: Local, node: Node, step: BlockStep, operands: list[Operand]) -> Sequence[Value]:
    given = [o if isinstance(o, Value) else (o.expr, o.dtype) for o in operands]
    found = local.builder.apply(node.operator, given, dict(node.attrs), node.where)
    assert [v.dtype for v in found] == [v.dtype for v in node.results], node
    return found


def _of_lengths(
    local: Local, node: Node, step: BlockStep, operands: list[Operand]
) -> Sequence[Value]:
    """A call of a library, or a kernel of a user's: its results are whole arrays."""
    first = tuple(map(local.length, step.lengths))
    shapes = [first, *(local.whole.shape(value) for value in node.results[1:])]
    pairs = zip(node.results, shapes, strict=True)
    made = tuple(local.builder.new_value(value.dtype, shape) for value, shape in pairs)
    local.builder.nodes.append(replace(node, operands=tuple(operands), results=made))
    return made


def _slice(local: Local, node: Node, step: BlockStep, operands: list[Operand]) -> Sequence[Value]:
    """What is read is as long as it has to be: a slice takes it as it is, in steps."""
    value, by, axis = operands[0], node.attr("step"), node.attr("axis")
    assert isinstance(value, Value)
    if by == 1:
        return [value]
    builder = local.builder
    extent = builder.extent_expr(value.shape[axis])
    start = literal(0) if by > 0 else Expr("sub", (extent, literal(1)))
    length: Extent = 1
    if value.shape[axis] != 1:
        extent = extent if abs(by) == 1 else Expr("add", (extent, literal(abs(by) - 1)))
        length = builder.symbol(
            extent if abs(by) == 1 else Expr("floordiv", (extent, literal(abs(by))))
        )
    return [builder.sliced(value, axis, start, by, length, node.where)]


def _reshape(
    local: Local, node: Node, step: BlockStep, operands: list[Operand]
) -> Sequence[Value]:
    (value,) = operands
    assert isinstance(value, Value)
    return [local.builder.reshaped(value, tuple(map(local.length, step.lengths)), node.where)]


def _coordinate(
    local: Local, node: Node, step: BlockStep, operands: list[Operand]
) -> Sequence[Value]:
    dtype, shape = node.result.dtype, tuple(map(local.length, step.lengths))
    made = local.builder.coordinate(shape, dtype, node.where)
    return _sum(local, made, local.begin(dtype), "add", node)


def _full(local: Local, node: Node, step: BlockStep, operands: list[Operand]) -> Sequence[Value]:
    (fill,) = operands
    assert isinstance(fill, Scalar)
    shape = tuple(map(local.length, step.lengths))
    return [local.builder.created(fill.expr, node.result.dtype, shape, node.where)]


def _gather(local: Local, node: Node, step: BlockStep, operands: list[Operand]) -> Sequence[Value]:
    table, *indices = operands
    found: list[Operand] = [table]
    for index, moved in zip(indices, step.moved, strict=True):
        if not moved:
            found.append(index)
        elif isinstance(index, Value):
            found += _sum(local, index, local.begin(index.dtype), "subtract", node)
        else:
            found.append(_less_begin(local, index))
    return _again(local, node, step, found)


def _less_begin(local: Local, index: Scalar) -> Scalar:
    begin = local.begin(index.dtype)
    return replace(index, expr=Expr("sub", (index.expr, begin.expr)))


def _sum(local: Local, value: Value, number: Scalar, by: str, node: Node) -> Sequence[Value]:
    other = number.expr, number.dtype
    return local.builder.apply(OPERATORS[by], [value, other], {}, node.where)


LocalRule = Callable[[Local, Node, BlockStep, list[Operand]], Sequence[Value]]
LOCAL: dict[str, LocalRule] = {
    "slice": _slice, "reshape": _reshape, "coordinate": _coordinate, "full": _full,
    "gather": _gather, "library": _of_lengths, "handwritten": _of_lengths,
}  # fmt: skip
