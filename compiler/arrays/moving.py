"""Views that move elements: how an array becomes the view, and what is written there goes back.

t = u.T           v1 = view(v0, axes=(1, 0))
t += 1            v2 = add(v1, 1);  v3 = view(v2, axes=(1, 0)): what u holds now
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from opweave.compiler.arrays.interface import TracedArrayLike
from opweave.compiler.arrays.replacing import replaced_along
from opweave.compiler.ir.builder import GraphBuilder
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import Scalar, Value


@dataclass(frozen=True)
class Moved:
    """From an array to a view of it, by these nodes, one after the other."""

    nodes: tuple[Node, ...]

    @property
    def is_writable(self) -> bool:
        """True if each element of the view is one of the array, and no other is the same one."""
        return all(
            node.operator.name in BACK and _is_injective(dict(node.attrs).get("axes", ()))
            for node in self.nodes
        )

    @property
    def reshaped(self) -> tuple[Value, ...]:
        """What was reshaped on the way, of which NumPy may make a copy."""
        return tuple(n.values[0] for n in self.nodes if n.operator.name == "reshape")

    def of(self, array: TracedArrayLike) -> TracedArrayLike:
        """The view of what the array holds now."""
        return self._steps(array)[-1]

    def written(self, array: TracedArrayLike, value: TracedArrayLike) -> TracedArrayLike:
        """What the array holds if its view holds a value of the same shape."""
        steps = self._steps(array)
        for before, node in zip(reversed(steps[:-1]), reversed(self.nodes), strict=True):
            value = BACK[node.operator.name](before, node, value)
        return value

    def _steps(self, array: TracedArrayLike) -> list[TracedArrayLike]:
        """The array, and what each node makes of it."""
        found = [array]
        for node in self.nodes:
            found.append(array.of(repeated(array.tracer.builder, node, found[-1].value)))
        return found


def moved(array: TracedArrayLike, view: TracedArrayLike) -> Moved | None:
    """How a view was made of an array; None where kernels copy what NumPy has as a view."""
    nodes: list[Node] = []
    value = view.value
    makers = array.tracer.builder.nodes.makers
    while value.id != array.value.id:
        node = makers.get(value.id)
        if node is None or not node.is_view:
            return None
        nodes.insert(0, node)
        value = node.values[0]
    return Moved(tuple(nodes))


def repeated(builder: GraphBuilder, node: Node, value: Value) -> Value:
    """Append a node that moves elements once more, for another value of the same shape.

    Its extents may have other names, of which it is known that they are equal.
    """
    shape = node.operator.shape_rule.result([value.shape], dict(node.attrs))
    made = builder.new_value(value.dtype, shape)
    builder.nodes.append(replace(node, operands=(value, *node.operands[1:]), results=(made,)))
    return made


def _is_injective(axes: tuple[int | None, ...]) -> bool:
    """False for a view that has an axis twice, as a diagonal has."""
    named = [axis for axis in axes if axis is not None]
    return len(set(named)) == len(named)


def _turned_back(before: TracedArrayLike, node: Node, value: TracedArrayLike) -> TracedArrayLike:
    axes = node.attr("axes")
    back = tuple(axes.index(d) if d in axes else None for d in range(before.ndim))
    return before.tracer.hidden_view(value, back)


def _shaped_back(before: TracedArrayLike, node: Node, value: TracedArrayLike) -> TracedArrayLike:
    builder = before.tracer.builder
    shape = tuple(map(builder.find, before.value.shape))
    return before.of(builder.reshaped(value.value, shape, before.tracer.where()))


def _put_back(before: TracedArrayLike, node: Node, value: TracedArrayLike) -> TracedArrayLike:
    start = node.operands[1]
    assert isinstance(start, Scalar)
    part = (start.expr, node.attr("step"), node.attr("extent"))
    found: TracedArrayLike = replaced_along(before, node.attr("axis"), part, value)
    return found


BACK: Mapping[str, Callable[[TracedArrayLike, Node, Any], TracedArrayLike]] = {
    "view": _turned_back,
    "reshape": _shaped_back,
    "slice": _put_back,
}
