"""The standard's functions that move elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opweave.opcodes.errors import AxisError, ShapeError
from opweave.xp import shapes
from opweave.xp.arrays import Array, array_of
from opweave.xp.called import by_library
from opweave.xp.devices import copied
from opweave.xp.dtypes import promoted_all
from opweave.xp.lines import at_line
from opweave.xp.looks import bounded
from opweave.xp.maps import broadcast, node_of
from opweave.xp.nodes import record

Axes = int | tuple[int, ...]


def broadcast_shapes(*given: tuple[int | None, ...]) -> tuple[int, ...]:
    """The shape to which shapes broadcast.

    Raises:
        ShapeError: they do not, or an extent is not known.
    """
    known = [tuple(n for n in shape if n is not None) for shape in given]
    if known != list(given):
        raise ShapeError("broadcast_shapes: expected extents that are known, found None")
    return broadcast("broadcast_shapes", *known)


def broadcast_to(x: Array, /, shape: tuple[int, ...]) -> Array:
    """The array with its elements repeated to a shape.

    Raises:
        ShapeError: it does not broadcast to that.
    """
    node, wanted = node_of(x, "broadcast_to"), shapes.shape_of(shape, "broadcast_to")
    if broadcast("broadcast_to", node.shape, wanted) != wanted:
        raise ShapeError(
            f"broadcast_to: shape {list(node.shape)} does not broadcast to {list(wanted)}"
            f"{at_line()}"
        )
    attrs = (("shape", wanted),)
    return array_of(bounded(record(shapes.BROADCAST, (node,), attrs, wanted, node.dtype)))


def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """Arrays broadcast against each other.

    Raises:
        ShapeError: they do not broadcast.
    """
    shape = broadcast("broadcast_arrays", *(array.shape for array in arrays))
    return tuple(broadcast_to(array, shape) for array in arrays)


def concat(arrays: Sequence[Array], /, *, axis: int | None = 0) -> Array:
    """Arrays behind each other along an axis; None flattens them before.

    Raises:
        ShapeError: their shapes do not fit, or there is no array.
        DTypeError: their dtypes do not promote.
    """
    nodes = _several(arrays, "concat")
    if axis is None:
        nodes = [shapes.reshaped(node, (-1,)) for node in nodes]
    dtype = promoted_all([node.dtype for node in nodes], "concat")
    place = shapes.axis_of(0 if axis is None else axis, len(nodes[0].shape), "concat")
    return array_of(shapes.joined(shapes.CONCAT, nodes, place, dtype))


def stack(arrays: Sequence[Array], /, *, axis: int = 0) -> Array:
    """Arrays of one shape along a new axis.

    Raises:
        ShapeError, DTypeError: as ``concat``.
    """
    nodes = _several(arrays, "stack")
    dtype = promoted_all([node.dtype for node in nodes], "stack")
    place = shapes.axis_of(axis, len(nodes[0].shape) + 1, "stack")
    return array_of(shapes.joined(shapes.STACK, nodes, place, dtype))


def _several(arrays: Sequence[Array], what: str) -> list[Any]:
    found = [node_of(array, what) for array in arrays]
    if not found:
        raise ShapeError(f"{what}: expected an array or more{at_line()}")
    return found


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The parts along an axis.

    Raises:
        AxisError: the array has no such axis.
    """
    node = node_of(x, "unstack")
    place = shapes.axis_of(axis, len(node.shape), "unstack")
    before = (slice(None),) * place
    return tuple(x[(*before, n)] for n in range(node.shape[place]))


def expand_dims(x: Array, /, axis: Axes = 0) -> Array:
    """The array with new axes of one place.

    Raises:
        AxisError: there is no such place for an axis.
    """
    node = node_of(x, "expand_dims")
    rank = len(node.shape) + len(shapes.shape_of(axis, "expand_dims"))
    axes = shapes.axes_of(axis, rank, "expand_dims")
    return array_of(shapes.viewed(shapes.EXPAND, node, (("axis", axes),)))


def squeeze(x: Array, /, axis: Axes) -> Array:
    """The array without axes of one place.

    Raises:
        ShapeError: an axis has more places.
        AxisError: the array has no such axis.
    """
    node = node_of(x, "squeeze")
    axes = shapes.axes_of(axis, len(node.shape), "squeeze")
    return array_of(shapes.viewed(shapes.SQUEEZE, node, (("axis", axes),)))


def permute_dims(x: Array, /, axes: tuple[int, ...]) -> Array:
    """The array with its axes in another order.

    Raises:
        AxisError: an axis is missing, or named twice.
    """
    node = node_of(x, "permute_dims")
    order = shapes.axes_of(axes, len(node.shape), "permute_dims")
    if len(order) != len(node.shape):
        raise AxisError(
            f"permute_dims: expected {len(node.shape)} axes, found {len(order)}{at_line()}"
        )
    return array_of(shapes.viewed(shapes.PERMUTE, node, (("axes", order),)))


def moveaxis(x: Array, source: Axes, destination: Axes, /) -> Array:
    """The array with some axes at other places.

    Raises:
        AxisError: the array has no such axis, or one is named twice.
        ShapeError: there are more axes than places.
    """
    node = node_of(x, "moveaxis")
    rank = len(node.shape)
    attrs = (
        ("destination", shapes.axes_of(destination, rank, "moveaxis")),
        ("source", shapes.axes_of(source, rank, "moveaxis")),
    )
    return array_of(shapes.viewed(shapes.MOVEAXIS, node, attrs))


def flip(x: Array, /, *, axis: Axes | None = None) -> Array:
    """The array with the order of its elements reversed along axes.

    Raises:
        AxisError: the array has no such axis.
    """
    node = node_of(x, "flip")
    axes = shapes.axes_of(axis, len(node.shape), "flip")
    return array_of(shapes.viewed(shapes.FLIP, node, (("axis", axes),)))


def roll(x: Array, /, shift: Axes, *, axis: Axes | None = None) -> Array:
    """The array with its elements moved along axes; what leaves at one end enters at the other.

    Raises:
        ShapeError: there are other numbers of shifts than of axes.
        AxisError: the array has no such axis.
    """
    node = node_of(x, "roll")
    steps = shapes.integers(shift, "roll")
    axes = None if axis is None else shapes.axes_of(axis, len(node.shape), "roll")
    if axes is not None and not isinstance(steps, int) and len(steps) != len(axes):
        raise ShapeError(f"roll: {len(steps)} shifts for {len(axes)} axes{at_line()}")
    attrs = (("axis", axes), ("shift", steps))
    return array_of(bounded(record(shapes.ROLL, (node,), attrs, node.shape, node.dtype)))


def reshape(x: Array, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Array:
    """The same elements in another shape, of which one extent may be -1.

    Raises:
        ShapeError: they do not fit.
    """
    node = shapes.reshaped(node_of(x, "reshape"), shapes.shape_of(shape, "reshape"))
    return array_of(copied(node) if copy else node)


def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None) -> Array:
    """Each element several times.

    Raises:
        ShapeError: the counts do not fit.
    """
    node_of(x, "repeat")
    found: Array = by_library("repeat", x, repeats, axis=axis)
    return found


def tile(x: Array, repetitions: tuple[int, ...], /) -> Array:
    """The array several times along each axis."""
    node_of(x, "tile")
    found: Array = by_library("tile", x, tuple(repetitions))
    return found
