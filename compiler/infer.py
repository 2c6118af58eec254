"""Shape rules: what an operator does to the shapes of its operands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opweave.compiler.ir import Extent, Shape
from opweave.opcodes.core import Kind, Operator
from opweave.opcodes.errors import ShapeError


def broadcast_shape(shapes: Sequence[Shape]) -> Shape:
    """NumPy's broadcasting over symbolic extents; two different symbols do not broadcast.

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
                raise ShapeError(f"extents {extent} and {shape[at]} do not broadcast")
            extent = shape[at]
        out.append(extent)
    return tuple(out)


def is_statistic(operator: Operator) -> bool:
    """A reduction, or a composite that shrinks its operand as one."""
    return operator.kind is Kind.REDUCE or "keepdims" in dict(operator.attrs)


def result_shape(
    operator: Operator, shapes: Sequence[Shape], attrs: tuple[tuple[str, Any], ...]
) -> Shape:
    """Shape of every result of an operator.

    Raises:
        ShapeError: operands do not broadcast, or the axis does not exist.
    """
    if is_statistic(operator):
        known = dict(attrs)
        axes = normal_axes(operator.name, known.get("axis"), len(shapes[0]))
        if known.get("keepdims"):
            return tuple(1 if d in axes else e for d, e in enumerate(shapes[0]))
        return tuple(e for d, e in enumerate(shapes[0]) if d not in axes)
    if "axis" in dict(operator.attrs):
        normal_axes(operator.name, dict(attrs).get("axis"), len(shapes[0]))
    return broadcast_shape(shapes)


def normal_axes(name: str, axis: int | None, rank: int) -> tuple[int, ...]:
    """Return the axes counted from 0.

    Raises:
        ShapeError: no such axis.
    """
    if axis is None:
        return tuple(range(rank))
    if not -rank <= axis < rank:
        raise ShapeError(f"{name}: axis {axis} does not exist in an array of {rank} dimensions")
    return (axis % rank,)
