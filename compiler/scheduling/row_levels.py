"""Where the values of a group stand beside the rows that it reduces or scans."""

from __future__ import annotations

from collections.abc import Sequence

from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import Extent, Shape, Value
from opweave.opcodes.errors import ShapeError
from opweave.opcodes.shapes import broadcast_shape


def levels_of_scans(
    nodes: Sequence[Node], space: Shape, axis: int
) -> tuple[dict[int, int], frozenset[int]] | None:
    """Scans before each value, and the values that are constant along the axis.

    None where a value does not broadcast to the space.
    """
    levels: dict[int, int] = {}
    row_values: set[int] = set()
    for node in nodes:
        along = _extent_along(node.result.shape, space, axis)
        if along is None:
            return None
        level = max((levels.get(v.id, 0) for v in node.values), default=0) + node.is_scan
        levels |= {value.id: level for value in node.results}
        if along == 1 != space[axis]:
            row_values |= {value.id for value in node.results}
    return levels, frozenset(row_values)


def _extent_along(shape: Shape, space: Shape, axis: int) -> Extent | None:
    """Extent along an axis of a space that a shape broadcasts to; None if it does not."""
    try:
        fits = broadcast_shape([shape, space]) == space
    except ShapeError:
        fits = False
    return ((1,) * (len(space) - len(shape)) + shape)[axis] if fits else None


class RowLevels:
    """Places nodes of a row group in order: level, row value or element, with or without axes."""

    def __init__(self, space: Shape, axes: tuple[int, ...]):
        self.space = space
        self.axes = axes
        self.kept_dims = tuple(d for d in range(len(space)) if d not in axes)
        # Row values without the reduced axes broadcast like full ones when those axes lead.
        self.kept_aligns = self.kept_dims == tuple(
            range(len(space) - len(self.kept_dims), len(space))
        )
        self.levels: dict[int, int] = {}
        self.row_values: set[int] = set()
        self.kept: set[int] = set()
        self.needs_row_result = False

    def place(self, node: Node) -> str:
        level = max((self.levels.get(v.id, 0) for v in node.values), default=0)
        inside = [v for v in node.values if v.id in self.levels]
        if node.is_reduction:
            if inside and inside[0].id in self.row_values:
                return "a row value is reduced again"
            self.needs_row_result |= level > 0
            return self._note(node, level + 1, row=True, kept=not node.attr("keepdims"))
        kept = [v for v in inside if v.id in self.kept]
        shape = node.result.shape
        if kept and (not self.kept_aligns or len(shape) == len(self.kept_dims)):
            return self._place_kept(node, inside, level)
        try:
            fits = broadcast_shape([shape, self.space]) == self.space
        except ShapeError:
            fits = False
        if not fits:  # perhaps one for each row, without the reduced axes
            is_row = shape == self._kept_shape
            return self._place_kept(node, inside, level) if is_row else "extents differ"
        aligned = (1,) * (len(self.space) - len(shape)) + shape
        row = all(aligned[a] == 1 for a in self.axes)
        self.needs_row_result |= not row and level > 0
        return self._note(node, level, row=row, kept=False)

    @property
    def _kept_shape(self) -> Shape:
        return tuple(self.space[d] for d in self.kept_dims)

    def _place_kept(self, node: Node, inside: list[Value], level: int) -> str:
        if node.result.shape != self._kept_shape or any(v.id not in self.kept for v in inside):
            return "a row value meets elements along another axis"
        return self._note(node, level, row=True, kept=True)

    def _note(self, node: Node, level: int, *, row: bool, kept: bool) -> str:
        for value in node.results:
            self.levels[value.id] = level
            if row:
                self.row_values.add(value.id)
            if kept:
                self.kept.add(value.id)
        return ""
