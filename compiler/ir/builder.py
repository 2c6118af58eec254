"""Builds graphs: applies operators to operands, inserts casts, unifies extents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opweave.compiler.ir.expr import Expr, evaluate, expr_key, literal
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.noted import NotedNodes
from opweave.compiler.ir.values import Extent, Operand, Scalar, Shape, Symbol, Value, Where
from opweave.opcodes import OPERATORS, dtypes
from opweave.opcodes.core import Operator
from opweave.opcodes.dtypes import DType
from opweave.opcodes.errors import DTypeError, FragmentError, OpweaveError, ShapeError
from opweave.opcodes.identities import number_of
from opweave.opcodes.shapes import ShapeRule


def scalar_type(value: Any) -> Any:
    """The type of a scalar for a rule: int, float or complex (weak), or a dtype for the others.

    Raises:
        DTypeError: something that is no number.
    """
    if isinstance(value, np.generic):
        return dtypes.of(value.dtype)
    if isinstance(value, bool):
        return dtypes.BOOL  # NumPy takes Python's bool for its own
    for kind in (int, float, complex):
        if isinstance(value, kind):  # to NumPy, numbers of other classes are arrays
            return kind if value.__class__ is kind else dtypes.of(np.dtype(kind))
    raise DTypeError(
        f"a scalar of type {type(value).__name__} is not supported: expected bool, int, float or "
        "complex"
    )


def _check_rows(operator: Operator, loop: Sequence[DType], results: Sequence[DType]) -> None:
    """Refuse operands for whose types an op-code has no row, or begins with no number of theirs.

    Raises:
        DTypeError: names the type.
    """
    for code in operator.opcodes:
        if not code.rows or operator.tables:
            continue
        try:
            row = code.row(operator.kinds(code, loop))
        except FragmentError:
            found = next((dtype for dtype in loop if dtype.is_complex), loop[0])
            parts = "; take its .real, .imag or abs()" if found.is_complex else ""
            name = "" if code.name == operator.name else f" {code.name}"
            raise DTypeError(f"no op-code{name} for {found.numpy_name}{parts}") from None
        if row.start and operator.accumulator is not None:
            made = results[0]  # truth, which is computed with as a wider type
            number_of(row.start, made if made is dtypes.BOOL else operator.accumulator(made))


class GraphBuilder:
    """Collects nodes; ``extents`` are the example extents that decide which symbols unify."""

    def __init__(self, extents: Mapping[str, int], first_id: int = 0):
        self.nodes = NotedNodes()
        self.extents = dict(extents)
        self.parent: dict[Symbol, Extent] = {}
        self.derived: dict[str, Expr] = {}
        self._derived_names: dict[Any, str] = {}  # by the expressions' keys
        self.conditions: dict[Any, tuple[Expr, Any]] = {}
        self._next_id = first_id

    def new_value(self, dtype: DType, shape: Shape) -> Value:
        value = Value(self._next_id, dtype, shape)
        self._next_id += 1
        return value

    def new_input(self, dtype: DType, extents: Sequence[int]) -> Value:
        """A value with an extent of its own for each dimension; 1 stays a number."""
        shape: list[Extent] = []
        for extent in extents:
            symbol = Symbol(f"n{len(self.extents)}")
            self.extents[symbol.name] = extent
            shape.append(1 if extent == 1 else symbol)
        return self.new_value(dtype, tuple(shape))

    def apply(
        self,
        operator: Operator,
        operands: Sequence[Value | tuple[Expr, Any]],
        attrs: Mapping[str, Any] | None = None,
        where: Where = Where(),
    ) -> tuple[Value, ...]:
        """Append one node (and the casts that its loop types ask for), return its results.

        A scalar operand is a pair of expression and scalar type.

        Raises:
            ShapeError: operands do not broadcast.
            DTypeError: the operator has no meaning for the types.
        """
        given = operator.plain_attrs(attrs or {})
        full = {name: given.get(name, default) for name, default in operator.attrs}
        frozen = tuple(sorted(full.items()))
        try:
            return self._append(operator, operands, frozen, where)
        except OpweaveError as error:
            shown = " and ".join(
                o.type if isinstance(o, Value) else f"{o[0]!r} ({getattr(o[1], '__name__', o[1])})"
                for o in map(self._resolved_operand, operands)
            )
            at = f" ({where})" if where.file else ""
            text = str(error).removeprefix(f"{operator.name}: ")
            raise type(error)(f"{operator.name}: {text}; operands {shown}{at}") from None

    def _append(
        self,
        operator: Operator,
        operands: Sequence[Value | tuple[Expr, Any]],
        attrs: tuple[tuple[str, Any], ...],
        where: Where,
    ) -> tuple[Value, ...]:
        types = tuple(o.dtype if isinstance(o, Value) else o[1] for o in operands)
        loop, results = operator.type_rule(types, attrs)
        _check_rows(operator, loop, results)
        typed: list[Operand] = []
        for operand, dtype in zip(operands, loop, strict=True):
            if not isinstance(operand, Value):
                typed.append(Scalar(operand[0], dtype))
            elif operand.dtype is dtype:
                typed.append(self.resolved(operand))
            else:
                cast = {"dtype": dtype.numpy_name}
                (value,) = self.apply(OPERATORS["cast"], [operand], cast, where)
                typed.append(value)
        shapes = [o.shape for o in typed if isinstance(o, Value)]
        self._unify(operator.shape_rule, shapes, dict(attrs))
        shapes = [tuple(map(self.find, shape)) for shape in shapes]
        shape = operator.shape_rule.result(shapes, dict(attrs))
        values = tuple(self.new_value(dtype, shape) for dtype in results)
        self.nodes.append(Node(operator, tuple(typed), values, attrs, where))
        return values

    def sliced(
        self, value: Value, axis: int, start: Expr, step: int, length: Extent, where: Where
    ) -> Value:
        """Append a slice of ``length`` elements along an axis, return its result."""
        value = self.resolved(value)
        attrs = (("axis", axis), ("extent", length), ("step", step))
        operator = OPERATORS["slice"]
        shape = operator.shape_rule.result([value.shape], dict(attrs))
        result = self.new_value(value.dtype, shape)
        operands = (value, Scalar(start, dtypes.I64))
        self.nodes.append(Node(operator, operands, (result,), attrs, where))
        return result

    def reshaped(self, value: Value, shape: Shape, where: Where) -> Value:
        """Append the elements of a value in another shape, return its result."""
        result = self.new_value(value.dtype, shape)
        node = Node(OPERATORS["reshape"], (self.resolved(value),), (result,), (("shape", shape),))
        self.nodes.append(replace(node, where=where))
        return result

    def created(self, fill: Expr, dtype: DType, shape: Shape, where: Where) -> Value:
        """Append an array of one number, return its result."""
        result = self.new_value(dtype, shape)
        attrs = (("dtype", dtype.numpy_name), ("shape", shape))
        node = Node(OPERATORS["full"], (Scalar(fill, dtype),), (result,), attrs, where)
        self.nodes.append(node)
        return result

    def coordinate(self, shape: Shape, dtype: DType, where: Where) -> Value:
        """Append the places along the first axis of a shape that has no other, return them."""
        result = self.new_value(dtype, shape)
        attrs = (("dtype", dtype.numpy_name), ("shape", shape))
        self.nodes.append(Node(OPERATORS["coordinate"], (), (result,), attrs, where))
        return result

    def symbol(self, expr: Expr) -> Extent:
        """The extent that an expression stands for."""
        return self.find(Symbol(expr.args[0])) if expr.op == "extent" else self.derive(expr)

    def derive(self, expr: Expr) -> Extent:
        """An extent that follows from others; whether it is 1 belongs to the guard."""
        example = evaluate(expr, self.extents)
        self.require(Expr("eq", (expr, literal(1))))
        if example == 1:
            return 1
        key = expr_key(expr)
        if (known := self._derived_names.get(key)) is not None:
            return self.find(Symbol(known))
        name = self._derived_names[key] = f"n{len(self.extents)}"
        self.extents[name] = example
        self.derived[name] = expr
        return Symbol(name)

    def require(self, condition: Expr) -> bool:
        """The value of a condition on extents; later calls must give it too."""
        value = evaluate(condition, self.extents)
        return self.decide(condition, value)

    def is_empty(self, extents: Sequence[Extent]) -> bool:
        """Whether one of some extents is 0; later calls must give the same answer."""
        exprs = [self.extent_expr(extent) for extent in extents]
        return any(self.require(Expr("eq", (expr, literal(0)))) for expr in exprs)

    def decide(self, condition: Expr, value: Any) -> bool:
        """Note the value of a condition on numbers and extents; later calls must give it too."""
        self.conditions[expr_key(condition)] = (condition, value)
        return bool(value)

    def extent_expr(self, extent: Extent) -> Expr:
        """An extent as an expression."""
        found = self.find(extent)
        return Expr("extent", (found.name,)) if isinstance(found, Symbol) else literal(found)

    def find(self, extent: Extent) -> Extent:
        """The representative of an extent."""
        while isinstance(extent, Symbol) and extent in self.parent:
            extent = self.parent[extent]
        return extent

    def resolved(self, value: Value) -> Value:
        """A value with every extent replaced by its representative."""
        shape = tuple(map(self.find, value.shape))
        return value if shape == value.shape else replace(value, shape=shape)

    def _resolved_operand(self, operand: Any) -> Any:
        return self.resolved(operand) if isinstance(operand, Value) else operand

    def _unify(self, rule: ShapeRule, shapes: Sequence[Shape], attrs: Mapping[str, Any]) -> None:
        """Unify extents that must be equal, if their examples agree; a number stays a number."""
        for pair in rule.meets(shapes, dict(attrs)):
            first, second = (self.find(extent) for extent in pair)
            a, b = self.example(first), self.example(second)
            if a != b:
                shown = " and ".join(self._concrete(s) for s in shapes)
                raise ShapeError(f"shapes {shown} {rule.fault}: {a} against {b}")
            self.unite(first, second)

    def become(self, arguments: Sequence[Shape], results: Sequence[Shape]) -> None:
        """Unify the extents of results with those of arguments that they become, if they agree.

        Whether they agree belongs to the guard.
        """
        for argument, result in zip(arguments, results, strict=False):
            for extents in zip(argument, result, strict=False):  # of other ranks: refused later
                first, second = map(self.find, extents)
                if self.example(first) == self.example(second):
                    self.unite(first, second)
                else:
                    self.require(Expr("eq", (self.extent_expr(first), self.extent_expr(second))))

    def unite(self, first: Extent, second: Extent) -> None:
        """Let one extent stand for another one that is equal to it; a number stays a number."""
        if first == second:
            return
        if isinstance(second, Symbol):
            self.parent[second] = first
        elif isinstance(first, Symbol):
            self.parent[first] = second

    def example(self, extent: Extent) -> int:
        """The value of an extent in the call that is traced."""
        return extent if isinstance(extent, int) else self.extents[extent.name]

    def _concrete(self, shape: Shape) -> str:
        return str(tuple(map(self.example, shape)))

    def resolved_nodes(self) -> list[Node]:
        """The nodes with every extent replaced by its representative."""
        out = []
        for node in self.nodes:
            operands = tuple(self._resolved_operand(o) for o in node.operands)
            results = tuple(self.resolved(r) for r in node.results)
            operands = tuple(map(self._scalar, operands))
            attrs = tuple((k, self._found(v)) for k, v in node.attrs)
            out.append(Node(node.operator, operands, results, attrs, node.where, node.plan))
        return out

    def _found(self, attr: Any) -> Any:
        """An attribute with every extent replaced by its representative."""
        if isinstance(attr, tuple):
            return tuple(map(self._found, attr))
        return self.find(attr) if isinstance(attr, Symbol) else attr

    def _scalar(self, operand: Operand) -> Operand:
        if isinstance(operand, Scalar):
            return Scalar(self.resolve_expr(operand.expr), operand.dtype)
        return operand

    def resolve_expr(self, expr: Expr) -> Expr:
        def resolved(leaf: Expr) -> Expr:
            return self.extent_expr(Symbol(leaf.args[0])) if leaf.op == "extent" else leaf

        return expr.with_leaves(resolved)
