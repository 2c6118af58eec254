"""Blocks: tables of which whole rows are read, one behind the other, as the walk goes.

``x[i - 1, j, k]`` reads rows of x, each from its first element to its last: along the columns j
and k that is one run. Such axes are the table's *own*: places along them are the coordinates of
the walk, over the same extents, and the elements lie in its order. Then the walk need not take
these dimensions apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import Operand, Scalar, Shape, Value, is_zero
from opweave.compiler.kernels.walks import DimList, Walk
from opweave.compiler.kernels.walks import Operand as ArrayOperand

Makers = Mapping[int, Node]
# Operators that shift the places of a run, and how.
SHIFTS = {"add": "+", "subtract": "-"}


def run_of(makers: Makers, place: Operand) -> tuple[Value, list[tuple[str, Scalar]]] | None:
    """The coordinate that places rise with one by one, and what is added to it; else None."""
    shifts: list[tuple[str, Scalar]] = []
    node = makers.get(place.id) if isinstance(place, Value) else None
    while node is not None and not node.is_coordinate:
        sign = SHIFTS.get(node.operator.name)
        if sign is None:
            return None
        before, by = node.operands
        if not isinstance(by, Scalar) or not isinstance(before, Value):
            return None
        shifts.insert(0, (sign, by))
        node = makers.get(before.id)
    return None if node is None else (node.result, shifts)


def rises(makers: Makers, place: Operand) -> bool:
    """Whether places follow a coordinate, or stay where they are: those of a run, clipped.

    So both ends tell whether they are a run, even where what is clipped leaves its type.
    """
    node = makers.get(place.id) if isinstance(place, Value) else None
    if node is None or node.operator.name != "clip":
        return False
    before, *ends = node.operands
    return run_of(makers, before) is not None and all(isinstance(o, Scalar) for o in ends)


@dataclass(frozen=True)
class RowBlock:
    """How a gather reads a table whose last axes are its own.

    Attributes:
        table: whose dimensions are those of the space along its own axes, -1 along others.
        own: these dimensions.
        before: the one that the place along the axis before rises with, else -1.
    """

    table: ArrayOperand
    own: DimList
    before: int = -1

    def is_run(self, columns: DimList) -> bool:
        """Along these dimensions it reads one element behind the other."""
        whole, rows = (*self.own,), (self.before, *self.own)
        return whole[-len(columns) :] == columns or rows == columns


class Blocks:
    """The blocks that gathers of a kernel read.

    Attributes:
        by_result: by the id of what a gather gives.
        passing: ids of coordinates that are nothing but places along a table's own axes.
    """

    def __init__(
        self, space: Shape, nodes: Sequence[Node], coordinates: Mapping[int, ArrayOperand],
        tables: Mapping[int, ArrayOperand],
    ):  # fmt: skip
        self._space, self._coordinates, self._nodes = space, coordinates, nodes
        self._makers = {r.id: node for node in nodes for r in node.results}
        self.by_result: dict[int, RowBlock] = {}
        asked = {o.id for n in nodes if not n.tables for o in n.operands if isinstance(o, Value)}
        for node in nodes:
            if node.tables:
                places = node.operands[node.operator.tables :]
                block = self._block(tables[node.tables[0].id], places)
                others = places
                if block is not None:
                    self.by_result[node.result.id] = block
                    others = places[: -len(block.own)]
                asked |= {o.id for o in others if isinstance(o, Value)}
        self.passing = set(coordinates) - asked

    def _block(self, table: ArrayOperand, places: Sequence[Operand]) -> RowBlock | None:
        own: list[int] = []
        for axis in reversed(range(len(places))):
            dim = self._dim(places[axis], shifted=False)
            letter = "u" if axis == len(places) - 1 else "m"
            lies = table.layout == "C" or table.layout[axis] == letter
            follows = dim >= 0 and dim == (own[0] if own else len(self._space)) - 1
            if not (lies and follows and table.value.shape[axis] == self._space[dim]):
                break
            own.insert(0, dim)
        if not own:
            return None
        first = len(places) - len(own) - 1
        before = self._dim(places[first], shifted=True) if first >= 0 else -1
        lies = first >= 0 and (table.layout == "C" or table.layout[first] == "m")
        dims = (*(-1 for _ in places[: first + 1]), *own)
        seen = ArrayOperand(table.value, table.name, table.layout, dims)
        return RowBlock(seen, tuple(own), before if lies and before == own[0] - 1 else -1)

    def _dim(self, place: Operand, *, shifted: bool) -> int:
        """The dimension whose coordinate places are, or rise with; -1 of others."""
        found = run_of(self._makers, place)
        if found is None and shifted:
            return self._dim_of_choice(place)
        if found is None or (found[1] and not shifted):
            return -1
        operand = self._coordinates[found[0].id]
        return next((dim for dim in operand.dims if operand.own_dim(dim) is not None), -1)

    def _dim_of_choice(self, place: Operand) -> int:
        """The dimension with which both sides of a choice rise that it makes; -1 of others."""
        node = self._makers.get(place.id) if isinstance(place, Value) else None
        if node is None or node.operator.name != "where":
            return -1
        condition, *sides = node.operands
        made = self._makers.get(condition.id) if isinstance(condition, Value) else None
        if made is None or made.operator.name != "less":
            return -1
        place, end = made.operands
        along = {self._dim(o, shifted=True) for o in (place, *sides)}
        return along.pop() if len(along) == 1 and isinstance(end, Scalar) else -1

    def fits(self, walk: Walk) -> bool:
        """Whether each block is one run along the columns, and rows have their coordinates.

        Where it is not, elements are read one by one, from coordinates that the walk has apart.
        """
        columns = columns_of(walk)
        passed = {d for i in self.passing for d in self._coordinates[i].dims}
        apart = all(len(dims) == 1 or passed.isdisjoint(dims) for dims in walk.outer)
        return apart and all(block.is_run(columns) for block in self.by_result.values())

    def are_joined(self, walk: Walk) -> bool:
        """Whether where an element lies along the columns decides only which block has it.

        Then chunks are taken from runs, and nothing is asked for each element.
        """
        columns = {*columns_of(walk)}
        reads = Counter(o.id for n in self._nodes for o in n.operands if isinstance(o, Value))
        moving = {i for i, o in self._coordinates.items() if columns.intersection(o.dims)}
        moving -= self.passing
        conditions, runs = set[int](), {i for i in self.by_result if reads[i] == 1}
        for node in self._nodes:
            asked = {o.id for o in node.operands if isinstance(o, Value)} & (moving | conditions)
            if not asked or node.tables:
                continue
            kind = _kind(node, moving, conditions, runs)
            if kind is None:
                return False
            if kind is not runs or reads[node.result.id] == 1:
                kind.add(node.result.id)
        return True


def _kind(node: Node, moving: set[int], conditions: set[int], runs: set[int]) -> set[int] | None:
    """What a node makes of places along the columns: others, where they end, or joined runs."""
    name, operands = node.operator.name, node.operands
    first, *rest = (o.id if isinstance(o, Value) else -1 for o in operands)
    if name in SHIFTS or name == "less":
        kind = conditions if name == "less" else moving
        return kind if first in moving and rest == [-1] else None
    if name in ("invert", "bitwise_and"):
        return conditions if conditions.issuperset([first, *rest]) else None
    if name != "where" or first not in conditions:
        return None
    if moving.issuperset(rest):
        return moving
    chunks = [o.id for o in operands[1:] if isinstance(o, Value)]
    is_run = (
        rest[0] in runs and runs.issuperset(chunks) and (rest[1] != -1 or is_zero(operands[2]))
    )
    return runs if is_run else None


def columns_of(walk: Walk) -> DimList:
    """The dimensions that are the columns."""
    return tuple(dim for dims in walk.inner for dim in dims)
