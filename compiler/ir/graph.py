"""The intermediate representation: a graph of operators over typed values.

    graph    ::= name input* node* output*
    input    ::= value layout                        an array argument
    node     ::= value+ "=" operator "(" operand* ")" attrs
    operand  ::= value | scalar
    value    ::= dtype "[" extent* "]"
    extent   ::= number | symbol                     symbols become kernel parameters; 1, and
                                                     what an operator asks for, are numbers
    scalar   ::= expression ":" dtype                enters a kernel as a parameter or a literal
    expression ::= literal | argument | extent | function "(" expression* ")"
    output   ::= value | expression

Nodes are in static single assignment and topological order.  Scalar expressions are arithmetic on
Python scalars; the host evaluates them in Python's own semantics at each call, so ``1 / gamma`` is
never a float32 division in a kernel.  Everything here is frozen: a pass returns a new graph.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from operator import is_
from typing import Any, NamedTuple

from opweave.compiler.ir.accumulation import Plan, ProductPlan
from opweave.compiler.ir.expr import Expr, evaluate
from opweave.compiler.ir.parts import Part, shown
from opweave.compiler.ir.values import Operand, Scalar, Value, Where
from opweave.compiler.ir.views import View
from opweave.opcodes.cached import cached_property
from opweave.opcodes.core import Kind, Operator
from opweave.opcodes.shapes import normal_axes


@dataclass(frozen=True)
class Node:
    """One operator applied to operands."""

    operator: Operator
    operands: tuple[Operand, ...]
    results: tuple[Value, ...]
    attrs: tuple[tuple[str, Any], ...] = ()
    where: Where = field(default=Where(), compare=False)
    plan: Plan | ProductPlan | None = None
    choices: tuple[tuple[str, int], ...] = ()  # values of toggles that its bits may depend on

    def __repr__(self) -> str:
        shown = "".join(f", {k}={v}" for k, v in self.attrs if v is not None)
        left = ", ".join(map(repr, self.results))
        right = ", ".join(f"v{o.id}" if isinstance(o, Value) else repr(o) for o in self.operands)
        return f"{left} = {self.operator.name}({right}{shown})"

    def reading(self, operands: Iterable[Operand]) -> Node:
        """The node with other operands; itself where they are the same, as in most passes."""
        made = tuple(operands)
        same = len(made) == len(self.operands) and all(map(is_, made, self.operands))
        return self if same else replace(self, operands=made)

    @property
    def result(self) -> Value:
        return self.results[0]

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """The array operands."""
        return tuple(o for o in self.operands if isinstance(o, Value))

    @property
    def tables(self) -> tuple[Value, ...]:
        """The array operands that are read at computed places, from memory."""
        return self.values[: self.operator.tables]

    @property
    def pointwise(self) -> tuple[Value, ...]:
        """The other array operands."""
        return self.values[self.operator.tables :]

    @property
    def is_coordinate(self) -> bool:
        return self.operator.name == "coordinate"

    @property
    def is_map(self) -> bool:
        """A point of the result needs one element of each operand, or nothing but numbers."""
        return self.operator.kind in (Kind.MAP, Kind.CREATE)

    @property
    def is_reduction(self) -> bool:
        return self.operator.kind is Kind.REDUCE

    @property
    def may_fail(self) -> bool:
        """A reduction that is an error where there are no elements."""
        return self.is_reduction and self.operator.needs_nonempty

    @property
    def is_scan(self) -> bool:
        return self.operator.kind is Kind.SCAN

    @property
    def is_count(self) -> bool:
        return self.operator.kind is Kind.COUNT

    @property
    def refuses(self) -> bool:
        """A count of elements that may have no bin: then no kernel computes the call."""
        return self.is_count and bool(self.attr("notes"))

    @property
    def is_product(self) -> bool:
        return self.operator.kind is Kind.CONTRACT

    @property
    def is_handwritten(self) -> bool:
        """A whole kernel that someone wrote; its operator is a ``CudaKernel``."""
        return self.operator.kind is Kind.HANDWRITTEN

    @property
    def is_library(self) -> bool:
        """A call of NumPy's library; its operator is a ``LibraryCall``."""
        return self.operator.kind is Kind.LIBRARY

    @property
    def is_view(self) -> bool:
        return self.operator.kind is Kind.MOVE

    def attr(self, name: str) -> Any:
        return dict(self.attrs)[name]

    def varied(self, **attrs: Any) -> Node:
        """The same with other attributes."""
        return replace(self, attrs=tuple(sorted({**dict(self.attrs), **attrs}.items())))


@dataclass(frozen=True)
class Input:
    """An array argument: its value, name, and layout class.

    ``layout`` is ``"C"`` for a C-contiguous array, else one letter per dimension: ``b`` extent 1,
    ``m`` merges with the next longer dimension, ``u`` unit stride, ``s`` any other stride.
    """

    value: Value
    name: str
    layout: str = "C"
    aligned: bool = False


Output = Value | Expr


class Written(NamedTuple):
    """An output that is stored to the argument of an input, both by their places.

    Attributes:
        part: of the argument; () for all of it.
        by: the ufunc whose method ``at`` stores it, by its name in NumPy; "" for none.
    """

    output: int
    place: int
    part: Part = ()
    by: str = ""

    def shown(self, graph: FunctionGraph) -> str:
        """The part with the argument's name, or the call that stores it."""
        outputs = [o if isinstance(o, Expr) else None for o in graph.outputs]
        name, part = graph.inputs[self.place].name, shown(self.part, outputs)
        return f"np.{self.by}.at({name}, {part})" if self.by else f"{name}[{part}]"


@dataclass(frozen=True)
class FunctionGraph:
    """A whole function.

    Attributes:
        name: the function's name, fit for C.
        inputs: array arguments in order.
        scalars: names of scalar arguments.
        nodes: in topological order.
        outputs: what the function returns, in order.
        equal: pairs of extents, by name, that must agree at each call.
        boxed: outputs for which NumPy returns a 0-d array rather than a scalar.
        truths: outputs for which NumPy returns Python's own bool.
        derived: extents that follow from those of the arguments, by name, in order.
        conditions: expressions of extents, and the value that each must have at each call.
        dropped: nodes that nobody reads, and that fail where their operands have no elements.
        repeated: the outputs take the place of the first inputs, many times; a kernel may do so
            in a loop of its own, of as many turns as the number ``TURNS`` says.
        written: what the arguments of some inputs hold after the call, in the order of the
            writes: outputs that nobody is given.
    """

    name: str
    inputs: tuple[Input, ...]
    scalars: tuple[str, ...]
    nodes: tuple[Node, ...]
    outputs: tuple[Output, ...]
    equal: tuple[tuple[str, str], ...] = ()
    boxed: frozenset[int] = frozenset()
    truths: frozenset[int] = frozenset()
    derived: tuple[tuple[str, Expr], ...] = ()
    conditions: tuple[tuple[Expr, Any], ...] = ()
    dropped: tuple[Node, ...] = ()
    repeated: bool = False
    written: tuple[Written, ...] = ()

    @property
    def returned(self) -> int:
        """How many outputs a caller gets; others follow, for what is written."""
        return min((w.output for w in self.written), default=len(self.outputs))

    def __str__(self) -> str:
        lines = [f"{self.name}({', '.join(f'{i.name}={i.value!r}' for i in self.inputs)})"]
        lines += [f"  {node!r}" for node in self.nodes]
        shown = [f"v{o.id}" if isinstance(o, Value) else repr(o) for o in self.outputs]
        lines += [f"  {w.shown(self)} = {shown[w.output]}" for w in self.written]
        returned = ", ".join(shown[: self.returned])
        return "\n".join([*lines, f"  return {returned}"])

    @cached_property
    def arguments(self) -> dict[int, Input]:
        """Map an input's value id to the input."""
        return {i.value.id: i for i in self.inputs}

    @cached_property
    def views(self) -> dict[int, View]:
        """Map the id of a view, of a value or of another view, to how it lies in memory."""
        found: dict[int, View] = {}
        for node in self.nodes:
            if node.is_view:
                source = node.values[0]
                view = found.get(source.id) or View.whole(source)
                if node.operator.name == "view":
                    found[node.result.id] = view.moved(node.attr("axes"))
                elif node.operator.name == "reshape":  # of dense memory, see settle_views
                    found[node.result.id] = View.whole(view.base, node.result.shape)
                else:
                    start = node.operands[1]
                    assert isinstance(start, Scalar)
                    axis, step, length = map(node.attr, ("axis", "step", "extent"))
                    found[node.result.id] = view.sliced(axis, start.expr, step, length)
        return found

    def base(self, value: Value) -> Value:
        """The value whose memory a value lies in: itself, unless it is a view."""
        return self.views[value.id].base if value.id in self.views else value

    @cached_property
    def users(self) -> dict[int, list[int]]:
        """Map a value's id to the indices of the nodes that use it."""
        found: dict[int, list[int]] = {}
        for index, node in enumerate(self.nodes):
            for value in node.values:
                found.setdefault(value.id, []).append(index)
        return found

    def producers(self) -> dict[int, int]:
        """Map a value's id to the index of the node that makes it."""
        return {value.id: i for i, node in enumerate(self.nodes) for value in node.results}

    def extents(self, given: Mapping[str, int]) -> dict[str, int]:
        """The extents of the arguments, and those that follow from them."""
        out = dict(given)
        for name, expr in self.derived:
            out[name] = evaluate(expr, out)
        return out

    def with_nodes(self, nodes: Iterable[Node]) -> FunctionGraph:
        return replace(self, nodes=tuple(nodes))


Graph = FunctionGraph  # its name in pickles of earlier versions


def substitute(graph: FunctionGraph, values: Mapping[int, Value]) -> FunctionGraph:
    """Replace uses of values by other values, in operands and outputs."""

    def swap(item: Any) -> Any:
        return values.get(item.id, item) if isinstance(item, Value) else item

    nodes = tuple(node.reading(map(swap, node.operands)) for node in graph.nodes)
    return replace(graph, nodes=nodes, outputs=tuple(swap(o) for o in graph.outputs))


def scanned_axis(node: Node) -> int:
    """The axis that a scan goes along."""
    (axis,) = normal_axes(node.attr("axis"), len(node.values[0].shape))
    return axis


def reduced_axes(node: Node) -> tuple[int, ...]:
    """The axes that a reduction goes over, in rising order."""
    source = node.values[0].shape
    return normal_axes(node.attr("axis"), len(source))
