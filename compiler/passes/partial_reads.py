"""A part of a computed value, as the same computation on parts of what it is made of.

Parts are elements at places, a slice along an axis, and the value with other dimensions of extent
1.  Each is made once; None stands for what cannot be read in part.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.ir.graph import FunctionGraph, Node, reduced_axes
from opweave.compiler.ir.rewriting import Rewriter
from opweave.compiler.ir.values import Axes, Operand, Scalar, Value, operand_key
from opweave.opcodes.core import Kind
from opweave.opcodes.shapes import broadcast_shape

Places = tuple[Operand, ...]
ZERO = operand_key(literal(0))


class PartialReader(Rewriter):
    """Reads parts of the values of the nodes so far.

    Attributes:
        stored: values that lie in memory, where any part can be read.
        known: what was made of each part that was asked for.
    """

    def __init__(self, graph: FunctionGraph):
        super().__init__(graph)
        self.stored = {i.value.id for i in graph.inputs}
        self.known: dict[object, Operand | None] = {}

    # Reading a value at places, one for each of its axes

    def at(self, value: Value, places: Places) -> Operand | None:
        key = ("at", value.id, *map(operand_key, places))
        if key not in self.known:
            self.known[key] = self._at_anew(value, places)
        return self.known[key]

    def _at_anew(self, value: Value, places: Places) -> Operand | None:
        node = self.makers.get(value.id)
        if self._is_own(value, places):
            return value
        whole = self.in_whole(value, places)
        if whole is not None:
            return self.at(*whole)
        if value.id in self.stored:
            return self._gathered(value, places)
        if node is None or node.operator.notes_faults or node.operator.mixes:
            return None
        if node.is_coordinate:
            return self._cast(places[0], value)
        if node.operator.name == "full":
            return node.operands[0]
        if node.operator.name == "view":
            axes = node.attr("axes")
            by_axis = {a: p for a, p in zip(axes, places, strict=True) if a is not None}
            source = node.values[0]
            zero = _zero(places)
            return self.at(source, tuple(by_axis.get(d, zero) for d in range(len(source.shape))))
        if not node.is_map:
            return None
        return self._back(node, places) or self.mapped(
            node, value, lambda o: self._at_operand(o, value, places)
        )

    def _back(self, node: Node, places: Places) -> Operand | None:
        """A coordinate to which a number is added, where the place is one less that number."""
        if node.operator.name != "add" or not isinstance(node.operands[0], Value):
            return None
        (counted, *_), number = node.values, node.operands[1]
        made = self.makers.get(counted.id)
        if made is None or not made.is_coordinate:
            return None
        found = self._before_subtraction(places[len(places) - len(counted.shape)], number)
        return None if found is None else self._cast(found, node.result)  # places are of int32

    def in_whole(self, value: Value, places: Places) -> tuple[Value, Places] | None:
        """The array that a slice is of, and places there that are coordinates again.

        x[1:-1] at i - 1 is x at i, and x[1::2] at (i - 1) // 2.  Where i - 1 is outside of the
        slice, x may have an element; what is read at such places is discarded, see ``reads.py``.
        """
        cut = self.makers.get(value.id)
        if cut is None or cut.operator.name != "slice":
            return None
        axis, start = cut.attr("axis"), cut.operands[1]
        place: Operand | None = places[axis]
        if cut.attr("step") != 1:
            place = self._between_steps(places[axis], start, cut.attr("step"))
        elif operand_key(start) != operand_key(Scalar(literal(0), start.dtype)):
            place = self._before_subtraction(places[axis], start)
        if place is None:
            return None
        return cut.values[0], (*places[:axis], place, *places[axis + 1 :])

    def _between_steps(self, place: Operand, start: Operand, step: int) -> Operand | None:
        """The place in an array of (c - s) / step in a slice of it: c - (s - start)."""
        made = self.makers.get(place.id) if isinstance(place, Value) else None
        if made is None or made.operator.name != "whole_quotient":
            return None
        counted, by = made.operands
        if not isinstance(start, Scalar) or not isinstance(by, Scalar):
            return None
        if by.expr != literal(by.dtype.numpy.type(step)) or not isinstance(counted, Value):
            return None
        maker = self.makers.get(counted.id)
        if maker is None or maker.operator.name != "subtract":
            return self._moved_by(counted, start.expr, "add")
        minuend, number = maker.operands
        if not isinstance(minuend, Value) or not isinstance(number, Scalar):
            return self._moved_by(counted, start.expr, "add")
        if number.expr == start.expr:
            return minuend
        return self._moved_by(minuend, Expr("sub", (number.expr, start.expr)), "subtract")

    def _moved_by(self, place: Value, number: Expr, name: str) -> Operand | None:
        """A place plus or minus a number, unless that is 0."""
        if number == literal(0):
            return place
        return self.made(name, (place, Scalar(number, place.dtype)))

    def _before_subtraction(self, place: Operand, number: Operand) -> Operand | None:
        """The coordinate that a number was subtracted from; None where the place is another."""
        made = self.makers.get(place.id) if isinstance(place, Value) else None
        if made is None or made.operator.name != "subtract":
            return None
        minuend, subtrahend = made.operands
        if not isinstance(subtrahend, Scalar) or not isinstance(number, Scalar):
            return None
        if not isinstance(minuend, Value):
            return None
        same = operand_key(subtrahend.expr) == operand_key(number.expr)
        maker = self.makers.get(minuend.id)
        return minuend if same and maker is not None and maker.is_coordinate else None

    def _is_own(self, value: Value, places: Places) -> bool:
        """Every element is read at its own place."""
        for axis, (place, extent) in enumerate(zip(places, value.shape, strict=True)):
            if extent == 1:
                at_start = isinstance(place, Scalar) and operand_key(place.expr) == ZERO
            else:
                made = self.makers.get(place.id) if isinstance(place, Value) else None
                shape = (extent, *[1] * (len(value.shape) - 1 - axis))
                at_start = made is not None and made.is_coordinate and made.result.shape == shape
            if not at_start:
                return False
        shapes = [place.shape for place in places if isinstance(place, Value)]
        return broadcast_shape(shapes) == value.shape

    def _at_operand(self, operand: Operand, value: Value, places: Places) -> Operand | None:
        """An operand of the node that makes a value, where the value is read."""
        if isinstance(operand, Scalar):
            return operand
        rank = len(operand.shape)
        own = places[len(places) - rank :]
        shape = value.shape[len(value.shape) - rank :]
        zero = _zero(places)
        met = zip(own, operand.shape, shape, strict=True)
        return self.at(operand, tuple(zero if e == 1 != of else p for p, e, of in met))

    def _gathered(self, value: Value, places: Places) -> Operand | None:
        if not any(isinstance(p, Value) for p in places):
            if any(e != 1 for e in value.shape):
                return None
            return value if not value.shape else self.made("view", (value,), axes=())
        return self.made(f"gather_{len(places)}d", (value, *places))

    def _cast(self, place: Operand, like: Value) -> Operand:
        if place.dtype is like.dtype:
            return place
        if isinstance(place, Scalar):
            return Scalar(place.expr, like.dtype)
        found = self.made("cast", (place,), dtype=like.dtype.numpy_name)
        assert found is not None
        return found

    # Slicing a value along an axis

    def part(self, node: Node, value: Value) -> Operand | None:
        """What ``slice`` makes of an operand of its own value, by the slice's attributes."""
        key = ("part", value.id, operand_key(node.operands[1]), node.attrs)
        if key not in self.known:
            self.known[key] = self._part_anew(node, value)
        return self.known[key]

    def _part_anew(self, cut: Node, value: Value) -> Operand | None:
        axis, node = cut.attr("axis"), self.makers.get(value.id)
        if value.id in self.stored:
            return self._sliced(cut, value, axis)
        if node is None or node.operator.notes_faults or node.operator.mixes:
            return None
        if node.is_coordinate:
            return self._counted(cut, node) if axis == 0 else value
        if node.operator.name == "full":
            return node.operands[0]
        if not node.is_map:
            return None

        def part(operand: Operand) -> Operand | None:
            if isinstance(operand, Scalar):
                return operand
            own = axis - (len(value.shape) - len(operand.shape))
            if own < 0 or (operand.shape[own] == 1 != value.shape[axis]):
                return operand
            return self.part(cut.varied(axis=own), operand)

        return self.mapped(node, value, part)

    def _sliced(self, cut: Node, value: Value, axis: int) -> Operand | None:
        shape = (*value.shape[:axis], cut.attr("extent"), *value.shape[axis + 1 :])
        return self.varied(replace(cut, operands=(value, *cut.operands[1:])), value.dtype, shape)

    def _counted(self, cut: Node, node: Node) -> Operand | None:
        """Coordinates from another start, in other steps."""
        dtype, start = node.result.dtype, cut.operands[1]
        assert isinstance(start, Scalar)
        shape = (cut.attr("extent"), *node.result.shape[1:])
        found: Operand = self.varied(node, dtype, shape, shape=shape)
        if cut.attr("step") != 1:
            step = Scalar(literal(cut.attr("step")), dtype)
            found = self.made("multiply", (found, step)) or found
        if start.expr.op == "literal" and start.expr.args[0] == 0:
            return found
        return self.made("add", (found, Scalar(start.expr, dtype)))

    # Giving a value other dimensions of extent 1

    def viewed(self, value: Value, axes: Axes) -> Operand | None:
        key = ("viewed", value.id, axes)
        if key not in self.known:
            self.known[key] = self._viewed_anew(value, axes)
        return self.known[key]

    def _viewed_anew(self, value: Value, axes: Axes) -> Operand | None:
        node = self.makers.get(value.id)
        if node is not None and node.is_reduction and axes == _other_axes(node):
            shape = tuple(1 if a is None else value.shape[a] for a in axes)
            return self.varied(node, value.dtype, shape, keepdims=not node.attr("keepdims"))
        if value.id in self.stored:
            return self.made("view", (value,), axes=axes)
        if node is None or not node.is_map or node.operator.mixes:
            return None
        if node.operator.kind is Kind.CREATE:
            return self._counted_in(node, axes) if node.is_coordinate else None

        def viewed(operand: Operand) -> Operand | None:
            if isinstance(operand, Scalar):
                return operand
            lead = len(value.shape) - len(operand.shape)
            own = tuple(None if a is None or a < lead else a - lead for a in axes)
            return self.viewed(operand, own)

        return self.mapped(node, value, viewed)

    def _counted_in(self, node: Node, axes: Axes) -> Operand | None:
        """Coordinates with other dimensions behind them; those in front come by broadcasting."""
        if 0 not in axes:
            return None
        shape = (node.result.shape[0], *[1] * (len(axes) - 1 - axes.index(0)))
        return self.varied(node, node.result.dtype, shape, shape=shape)


def _other_axes(node: Node) -> Axes:
    """The axes that bring back what a reduction dropped, or drop what it kept."""
    kept = count()
    rank, reduced = len(node.values[0].shape), reduced_axes(node)
    if node.attr("keepdims"):
        return tuple(d for d in range(rank) if d not in reduced)
    return tuple(None if d in reduced else next(kept) for d in range(rank))


def _zero(places: Places) -> Scalar:
    dtypes = [p.dtype for p in places]
    return Scalar(literal(0), dtypes[0])
