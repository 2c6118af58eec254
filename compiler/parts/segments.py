"""Segments: the part of a graph under construction that some of its values need."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from opweave.compiler.arrays.interface import Alias
from opweave.compiler.ir.expr import Expr, evaluate, expr_key, literal
from opweave.compiler.ir.graph import FunctionGraph, Input, Node
from opweave.compiler.ir.names import c_names
from opweave.compiler.ir.reference import numpy_attributes
from opweave.compiler.ir.values import Scalar, Symbol, Value
from opweave.compiler.parts.interface import Given, LazyTracerLike


@dataclass(frozen=True)
class Segment:
    """A graph with its arguments.

    Attributes:
        types: what is static of each array.
        arrays: the arrays, in the order of the inputs.
        scalars: the numbers by name.
        key: what must be equal for the same kernels to serve.
    """

    graph: FunctionGraph
    types: tuple[Any, ...]
    arrays: tuple[Any, ...]
    scalars: dict[str, Any]

    @property
    def key(self) -> Any:
        return self.graph, tuple(expr_key(e) for n in self.graph.nodes for e in _exprs(n))


def _exprs(node: Node) -> Iterator[Expr]:
    return (o.expr for o in node.operands if isinstance(o, Scalar))


def cut(
    tracer: LazyTracerLike, wanted: Sequence[Value], looked_at: Sequence[Value] = ()
) -> Segment:
    """The segment that computes some values from those that are computed already.

    ``looked_at`` are values that nobody gets: they are computed because that may raise.

    Extents are named anew, in the order of the dimensions of the segment's inputs, so that the
    same lines give the same graph wherever they stand.
    """
    builder = tracer.builder
    nodes = needed(builder.resolved_nodes(), [*wanted, *looked_at], set(tracer.given))
    outputs = tuple(map(builder.resolved, wanted))
    names = _names(tracer, nodes, outputs)
    scalars = {new: tracer.env[old] for old, new in names.scalars.items()}
    known = [g.name or f"array{n}" for n, g in enumerate(names.inputs)]
    called = c_names([*scalars, *known])[len(scalars) :]
    inputs = tuple(
        Input(names.value(g.value), name, g.type.layout, g.type.aligned)
        for g, name in zip(names.inputs, called, strict=True)
    )
    graph = FunctionGraph(
        tracer.name, inputs, tuple(scalars), tuple(map(names.node, nodes)),
        tuple(map(names.value, outputs)), derived=tuple(names.derived.items()),
    )  # fmt: skip
    return Segment(
        replace(graph, boxed=tracer.boxed(graph, names.ids)),
        tuple(g.type for g in names.inputs), tuple(g.array for g in names.inputs), scalars,
    )  # fmt: skip


def _names(tracer: LazyTracerLike, nodes: Sequence[Node], outputs: Sequence[Value]) -> _Names:
    """The names of all that some nodes and outputs are made of."""
    used = {v.id for n in nodes for v in n.values} | {v.id for v in outputs}
    exprs = [e for n in nodes for e in _exprs(n)]
    symbols = {e for v in outputs for e in v.shape if isinstance(e, Symbol)}
    symbols |= {s for n in nodes for s in _symbols(n)}
    names = _Names(tracer)
    for number, given in tracer.given.items():
        if number in used:
            names.bind(given)
    for symbol in sorted(symbols, key=lambda s: int(s.name[1:])):
        names.need(symbol)
    for expr in exprs:
        names.need_of(expr)
    names.finish()
    asked = dict.fromkeys(
        str(leaf.args[0]) for e in exprs for leaf in e.leaves() if leaf.op == "argument"
    )
    names.scalars = {name: f"number{position}" for position, name in enumerate(asked)}
    return names


class MadeView(NamedTuple):
    """One view of an array: its value, and how NumPy makes it."""

    value: Value
    of: Callable[[Any], Any]


class SharedView(NamedTuple):
    """A view of an array that the function holds, or of another view, made as NumPy makes it.

    Whether a reshape copies is decided by NumPy, from the strides; a kernel would always copy.
    """

    value: Value
    root: Value
    steps: tuple[MadeView, ...]

    def array(self, made: dict[int, Any]) -> Any:
        """What the steps make of the root's array.

        ``made`` has arrays by the ids of their values.  The arrays of the steps are added to it,
        so that views of one copy share its memory.
        """
        array = made[self.root.id]
        for value, of in self.steps:
            if value.id not in made:
                made[value.id] = of(array)
            array = made[value.id]
        return array


def shared_views(
    tracer: LazyTracerLike, wanted: Mapping[int, Value], held: Set[int]
) -> list[SharedView]:
    """The wanted values that a kernel would copy although they share memory with others."""
    if not tracer.aliases and all(n.operator.name != "reshape" for n in tracer.builder.nodes):
        return []
    nodes = {r.id: n for n in tracer.builder.resolved_nodes() for r in n.results}
    arrays = [value for value in wanted.values() if not tracer.is_number(value)]
    found = [_shared_view(tracer, nodes, value) for value in arrays]
    copied = {n for n, node in nodes.items() if node.operator.name == "reshape"}
    copied |= tracer.aliases.keys()
    shared = Counter(view.root.id for view in found)
    return [
        view
        for view in found
        if any(step.value.id in copied for step in view.steps)
        and (view.root.id in {*tracer.given, *held} or shared[view.root.id] > 1)
    ]


def _shared_view(tracer: LazyTracerLike, nodes: Mapping[int, Node], value: Value) -> SharedView:
    builder = tracer.builder
    steps: list[MadeView] = []
    root = value
    while root.id not in tracer.given and root.id not in tracer.hidden:  # an array of its own
        if root.id in tracer.aliases:
            source, alias = tracer.aliases[root.id]
            shape = tuple(map(builder.example, root.shape))
            steps.append(MadeView(root, partial(_aliased, alias, shape)))
        elif root.id in nodes and nodes[root.id].is_view:
            source = nodes[root.id].values[0]
            steps.append(MadeView(root, partial(_viewed, nodes[root.id], builder.extents)))
        else:
            break
        root = source
    return SharedView(value, root, tuple(reversed(steps)))


def _aliased(alias: Alias, shape: tuple[int, ...], array: Any) -> Any:
    return alias(array, shape)


def _viewed(node: Node, extents: Mapping[str, int], array: Any) -> Any:
    numbers = [evaluate(o.expr, extents) for o in node.operands if isinstance(o, Scalar)]
    return node.operator.numpy(array, *numbers, **numpy_attributes(node, extents))


def needed(nodes: Sequence[Node], wanted: Iterable[Value], there: Set[int]) -> list[Node]:
    """The nodes that some values need, in order, back to values that are computed already."""
    missing = {v.id for v in wanted} - there
    found = []
    for node in reversed(nodes):
        if any(r.id in missing for r in node.results):
            found.append(node)
            missing |= {v.id for v in node.values} - there
    return found[::-1]


def may_raise(node: Node) -> bool:
    """True for a node that a trace accepts, and at which NumPy raises for some arguments."""
    return node.operator.notes_faults or node.may_fail


def _symbols(node: Node) -> Iterator[Symbol]:
    for value in (*node.values, *node.results):
        yield from (e for e in value.shape if isinstance(e, Symbol))
    for _, attr in node.attrs:
        parts = attr if isinstance(attr, tuple) else (attr,)
        yield from (p for p in parts if isinstance(p, Symbol))


class _Names:
    """New names: extents numbered through the dimensions of the inputs, values from the first."""

    def __init__(self, tracer: LazyTracerLike):
        self.tracer = tracer
        self.builder = tracer.builder
        self.inputs: list[Given] = []
        self.derived: dict[str, Expr] = {}
        self.count = 0
        self.names: dict[Symbol, Symbol] = {}
        self.waiting: dict[Symbol, Expr] = {}
        self.scalars: dict[str, str] = {}
        self.ids: dict[int, int] = {}
        self.values: dict[int, Value] = {}

    def bind(self, given: Given) -> None:
        """Name the extents of an input."""
        self.inputs.append(given)
        for extent in map(self.builder.find, given.value.shape):
            symbol = Symbol(f"n{self.count}")
            self.count += 1
            if isinstance(extent, Symbol):
                self.names.setdefault(extent, symbol)

    def need(self, symbol: Symbol) -> None:
        """Name an extent: as an extent of an input, or as one that follows from others."""
        if symbol in self.names or symbol in self.waiting:
            return
        bound = {g.value.id for g in self.inputs}
        for number, given in self.tracer.given.items():
            if number not in bound and symbol in map(self.builder.find, given.value.shape):
                self.bind(given)
                return
        expr = self._expr_of(symbol)
        self.need_of(expr)
        self.waiting[symbol] = expr

    def _expr_of(self, symbol: Symbol) -> Expr:
        """The expression of an extent, perhaps the name of another extent that is equal to it.

        An extent of an array that is gone becomes a number.
        """
        derived, find = self.builder.derived, self.builder.find
        same = (expr for name, expr in derived.items() if find(Symbol(name)) == symbol)
        return next(same, literal(self.builder.example(symbol)))

    def need_of(self, expr: Expr) -> None:
        for leaf in expr.leaves():
            if leaf.op == "extent":
                found = self.builder.find(Symbol(leaf.args[0]))
                if isinstance(found, Symbol):
                    self.need(found)

    def finish(self) -> None:
        """Name the extents that follow from others, after all inputs are known."""
        for symbol, expr in self.waiting.items():
            if symbol not in self.names:  # else a later input has given it a name
                name = f"n{self.count}"
                self.count += 1
                self.derived[name] = self.expr(expr)
                self.names[symbol] = Symbol(name)

    def extent(self, extent: Any) -> Any:
        found = self.builder.find(extent)
        return self.names[found] if isinstance(found, Symbol) else found

    def value(self, value: Value) -> Value:
        made = self.values.get(value.id)
        if made is None:
            self.ids[value.id] = len(self.ids)
            shape = tuple(map(self.extent, value.shape))
            made = self.values[value.id] = Value(self.ids[value.id], value.dtype, shape)
        return made

    def expr(self, expr: Expr) -> Expr:
        if expr.op == "extent":
            found = self.extent(Symbol(expr.args[0]))
            return Expr("extent", (found.name,)) if isinstance(found, Symbol) else literal(found)
        if expr.op == "argument":
            return Expr("argument", (self.scalars[expr.args[0]],))
        if expr.op == "literal":
            return expr
        return Expr(expr.op, tuple(map(self.expr, expr.args)))

    def node(self, node: Node) -> Node:
        operands = tuple(
            self.value(o) if isinstance(o, Value) else Scalar(self.expr(o.expr), o.dtype)
            for o in node.operands
        )
        results = tuple(map(self.value, node.results))
        attrs = tuple((k, self._attr(v)) for k, v in node.attrs)
        return Node(node.operator, operands, results, attrs, node.where, node.plan)

    def _attr(self, attr: Any) -> Any:
        if isinstance(attr, tuple):
            return tuple(map(self._attr, attr))
        return self.extent(attr) if isinstance(attr, Symbol) else attr
