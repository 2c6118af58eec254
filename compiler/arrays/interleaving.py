"""Columns of short rows, of which a kernel knows each.

    o[..., 1::2] = w    ->    o.reshape(..., -1, 2)[..., 1] = w

A choice between columns has a loop over pixels, where every place is a number; a choice by the
remainder of a place has not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opweave.compiler.arrays.interface import TracedArrayLike
from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.ir.values import Scalar, Shape, is_short


def is_lent(target: TracedArrayLike) -> bool:
    """Whether an array is an argument: what is assigned to a part of it is stored for itself."""
    return id(target) in target.tracer.writable


def fix_columns(axis: int, *arrays: TracedArrayLike) -> None:
    """Let the extents of a last axis, behind others, be the numbers that they are in this call.

    Where they are few together; then the guard has them.
    """
    if not axis == arrays[0].ndim - 1 > 0:
        return
    builder = arrays[0].tracer.builder
    found = [builder.find(array.value.shape[axis]) for array in arrays]
    numbers = [builder.example(extent) for extent in found]
    if is_short(sum(numbers)):
        for number, extent in zip(numbers, found, strict=True):
            builder.unite(number, extent)


def column_of_rows(target: TracedArrayLike, items: Sequence[Any]) -> tuple[Any, int] | None:
    """The rows of the last axis, and the column there that an index is; None where it is none.

    Whether the axis is made of whole rows becomes part of the guard.
    """
    *others, last = items or (None,)
    if not isinstance(last, slice) or last.stop is not None:
        return None
    start, step = last.start or 0, last.step
    if type(step) is not int or type(start) is not int or not is_short(step):
        return None
    is_whole = all(isinstance(item, slice) and item == slice(None) for item in others)
    if is_lent(target) or not is_whole or not 0 <= start < step:
        return None
    builder, shape = target.tracer.builder, target.value.shape
    extent = builder.extent_expr(shape[-1])
    if not builder.require(Expr("eq", (Expr("mod", (extent, literal(step))), literal(0)))):
        return None
    rows = builder.derive(Expr("share", (extent, literal(step))))
    return of_shape(target, (*shape[:-1], rows, step)), start


def of_shape(array: TracedArrayLike, shape: Shape) -> TracedArrayLike:
    """The elements in another shape, as an array that nobody holds."""
    builder, where = array.tracer.builder, array.tracer.where()
    maker = builder.nodes.makers.get(array.value.id)
    if maker is not None and maker.operator.name == "reshape":
        before = builder.resolved(maker.values[0])
        if before.shape == tuple(map(builder.find, shape)):
            return array.of(before)
    if maker is not None and maker.operator.name == "full":
        (fill,) = maker.operands
        assert isinstance(fill, Scalar)
        return array.of(builder.created(fill.expr, array.value.dtype, shape, where))
    return array.of(builder.reshaped(array.value, shape, where))
