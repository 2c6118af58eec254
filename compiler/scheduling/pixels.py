"""Loops over pixels: which nodes have a short last axis in registers."""

from __future__ import annotations

from collections.abc import Sequence

from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import Shape, Value, is_short
from opweave.opcodes.errors import ShapeError
from opweave.opcodes.shapes import broadcast_shape


def channels_chosen(nodes: Sequence[Node]) -> list[Node]:
    """The choices between values by the place along a short last axis; none where one is odd.

    np.stack([x, y], -1)  ->  where(c == 0, x, y), for c of 0 and 1

    A loop over elements divides each place by the length of the axis, and makes all values for
    each element.  In one over pixels the place is a constant, and each value is made once.
    """
    counted = {n.result.shape for n in nodes if n.is_coordinate}
    if len(counted) != 1 or any(_is_odd(n) for n in nodes):
        return []
    (axis,) = counted
    if not is_short(axis[0]):
        return []
    return [n for n in nodes if n.operator.name == "where" and _ends_with(n.result, axis)]


def _is_odd(node: Node) -> bool:
    return not node.is_map or bool(node.tables) or node.operator.notes_faults


def _ends_with(value: Value, axis: Shape) -> bool:
    return len(value.shape) > 1 and value.shape[-1:] == axis


def space_of_pixels(
    nodes: Sequence[Node], wide: Sequence[Node], outputs: Sequence[Value]
) -> Shape | str:
    """The space of a loop over pixels, or why there is none.

    Every value has all channels, as those that ``wide`` nodes mix or make, or one for all of them.
    """
    pictures = [n.values[0].shape if n.operator.mixes else n.result.shape for n in wide]
    if len({shape[-1] for shape in pictures}) > 1:
        return "pixels have different numbers of channels"
    try:
        space = broadcast_shape([*pictures, *(n.result.shape for n in nodes)])
    except ShapeError:
        return "extents differ"
    for value in outputs:
        if value.shape not in (space, (*space[:-1], 1)):
            return f"v{value.id} is smaller than the loop and must be stored"
    return space


def last_of(space: Shape) -> int:
    """The channels of a pixel."""
    channels = space[-1]
    assert isinstance(channels, int)
    return channels
