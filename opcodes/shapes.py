"""Shape rules: what an operator does to the shapes of its operands.

An extent is an int or an opaque symbol; two extents are the same when they compare equal.  A rule
says which extents must be equal (the builder unifies them, or refuses), and what the shape of the
result is then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import AxisError, ShapeError, UnsupportedError

Extent = Any
Shape = tuple[Extent, ...]
Attrs = dict[str, Any]
Pairs = list[tuple[Extent, Extent]]


@dataclass(frozen=True)
class ShapeRule:
    """The shapes of an operator.

    Attributes:
        meets: pairs of extents that must be equal.
        result: shape of every result, once the pairs are equal; raises ``ShapeError``.
        fault: for messages, what is wrong with operands whose extents differ; NumPy's words.
    """

    meets: Callable[[Sequence[Shape], Attrs], Pairs]
    result: Callable[[Sequence[Shape], Attrs], Shape]
    fault: str = "could not be broadcast together"


def broadcast_pairs(shapes: Sequence[Shape], attrs: Attrs | None = None) -> Pairs:
    """Extents that stand in one dimension of a broadcast, where neither is 1."""
    found: Pairs = []
    for dim in range(1, max(map(len, shapes), default=0) + 1):
        met = [s[-dim] for s in shapes if dim <= len(s) and s[-dim] != 1]
        found += [(met[0], other) for other in met[1:]]
    return found


def broadcast_shape(shapes: Sequence[Shape], attrs: Attrs | None = None) -> Shape:
    """NumPy's broadcasting; two different extents, neither of them 1, do not broadcast.

    Raises:
        ShapeError: the extents at some dimension differ and none is 1.
    """
    rank = max((len(s) for s in shapes), default=0)
    out: list[Extent] = []
    for dim in range(rank):
        extent: Extent = 1
        for shape in shapes:
            at = dim - (rank - len(shape))
            if at < 0 or shape[at] == 1:
                continue
            if extent not in (1, shape[at]):
                raise ShapeError(
                    f"extents {extent} and {shape[at]} could not be broadcast together"
                )
            extent = shape[at]
        out.append(extent)
    return tuple(out)


def check_dimensions(name: str, axis: int, rank: int) -> None:
    """Leave axis 0 of an array without dimensions to NumPy: some of its functions accept it.

    Raises:
        UnsupportedError: the array has no dimensions, and the axis is 0 or -1.
    """
    if not rank and axis in (0, -1):
        raise UnsupportedError(
            f"{name}: axis {axis} of an array without dimensions; leave the axis out"
        )


def normal_axes(axis: int | tuple[int, ...] | None, rank: int) -> tuple[int, ...]:
    """Return the axes counted from 0, in rising order, all for None.

    Raises:
        AxisError: no such axis.
        ShapeError: an axis comes twice.
        UnsupportedError: axis 0 or -1 of no dimensions.
    """
    if axis is None:
        return tuple(range(rank))
    if axis == ():
        raise ShapeError("axis=() reduces nothing")
    found = []
    for one in axis if isinstance(axis, tuple) else (axis,):
        if not isinstance(one, int):
            raise ShapeError(f"axis must be an integer, a tuple of them or None, found {one}")
        check_dimensions("axis", one, rank)
        if not -rank <= one < rank:
            raise AxisError(f"axis {shown(one)} does not exist in an array of {rank} dimensions")
        found.append(one % rank)
    if len(set(found)) < len(found):
        raise ShapeError(f"an axis stands twice in {axis}")
    return tuple(sorted(found))


def reduced_shape(shapes: Sequence[Shape], attrs: Attrs) -> Shape:
    """The operand's shape without the reduced axes, or with 1 there for ``keepdims``.

    Raises:
        ShapeError: no such axis.
    """
    axes = normal_axes(attrs["axis"], len(shapes[0]))
    if attrs["keepdims"]:
        return tuple(1 if d in axes else e for d, e in enumerate(shapes[0]))
    return tuple(e for d, e in enumerate(shapes[0]) if d not in axes)


def scanned_shape(shapes: Sequence[Shape], attrs: Attrs) -> Shape:
    """The operand's shape.

    Raises:
        ShapeError: no such axis, or not a single one.
    """
    axis = attrs["axis"]
    if axis is None or isinstance(axis, tuple):
        raise ShapeError(f"a scan goes along one axis, found axis={shown(axis)}")
    normal_axes(axis, len(shapes[0]))
    return shapes[0]


def viewed_shape(shapes: Sequence[Shape], attrs: Attrs) -> Shape:
    """Dimension ``d`` of a view is dimension ``axes[d]`` of its operand, or new for None.

    Raises:
        ShapeError: a dimension is named twice, or one that is left out is longer than 1.
    """
    (shape,), axes = shapes, attrs["axes"]
    named = [a for a in axes if a is not None]
    if len(set(named)) < len(named) or not set(named) <= set(range(len(shape))):
        raise ShapeError(f"axes {axes} do not name dimensions of a rank of {len(shape)} once each")
    for dim, extent in enumerate(shape):
        if dim not in named and extent != 1:
            raise ShapeError(f"dimension {dim} has extent {extent}: only 1 can be left out")
    return tuple(1 if a is None else shape[a] for a in axes)


def sliced_shape(shapes: Sequence[Shape], attrs: Attrs) -> Shape:
    """The operand's shape with another extent along an axis.

    Raises:
        ShapeError: no such axis.
    """
    (shape,) = shapes
    (axis,) = normal_axes(attrs["axis"], len(shape))
    return (*shape[:axis], attrs["extent"], *shape[axis + 1 :])


def _matrices(shapes: Sequence[Shape]) -> None:
    if len(shapes) != 2:
        raise ShapeError("expected two arrays of at least one dimension, found a number")
    for shape in shapes:
        if len(shape) < 2:
            raise ShapeError(f"operands need at least 2 dimensions, found {len(shape)}")


def product_pairs(shapes: Sequence[Shape], attrs: Attrs) -> Pairs:
    """Columns of the first operand against rows of the second, and the batch dimensions."""
    _matrices(shapes)
    x, y = shapes
    return [(x[-1], y[-2]), *broadcast_pairs([x[:-2], y[:-2]])]


def product_shape(shapes: Sequence[Shape], attrs: Attrs) -> Shape:
    """``[..., m, k] @ [..., k, n] -> [..., m, n]``, the batch dimensions broadcast.

    Raises:
        ShapeError: an operand is no matrix, or the inner extents differ.
    """
    _matrices(shapes)
    x, y = shapes
    if x[-1] != y[-2]:
        raise ShapeError(f"inner extents {x[-1]} and {y[-2]} differ")
    return (*broadcast_shape([x[:-2], y[:-2]]), x[-2], y[-1])


def mixing(channels: int, made: int) -> ShapeRule:
    """Rule of an operator that takes ``channels`` of the last axis and makes ``made`` of them."""

    def meets(shapes: Sequence[Shape], attrs: Attrs) -> Pairs:
        if not shapes[0]:
            raise ShapeError(f"expected a last axis of {channels} channels, found a 0-d array")
        if len(shapes) > 1:
            raise ShapeError("only the first operand may be an array: amounts are numbers")
        return [(shapes[0][-1], channels)]

    def result(shapes: Sequence[Shape], attrs: Attrs) -> Shape:
        if not shapes[0] or shapes[0][-1] != channels:
            raise ShapeError(f"expected a last axis of {channels} channels")
        return (*shapes[0][:-1], made)

    return ShapeRule(meets, result, f"do not mix (a last axis of {channels} channels is expected)")


def no_pairs(shapes: Sequence[Shape], attrs: Attrs) -> Pairs:
    return []


BROADCAST = ShapeRule(broadcast_pairs, broadcast_shape)
REDUCED = ShapeRule(no_pairs, reduced_shape)
SCANNED = ShapeRule(no_pairs, scanned_shape)
VIEWED = ShapeRule(no_pairs, viewed_shape)
SLICED = ShapeRule(no_pairs, sliced_shape)
RESHAPED = ShapeRule(no_pairs, lambda shapes, attrs: attrs["shape"])
PRODUCT = ShapeRule(
    product_pairs, product_shape, "do not multiply (columns by rows, batch by batch)"
)
