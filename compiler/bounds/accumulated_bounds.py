"""Bounds of what is accumulated: products of matrices, sums and other reductions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from opweave.compiler.bounds.error_propagation import Bounded, signs_of_zero, zero_of
from opweave.compiler.bounds.rounding import gamma, largest, spacing
from opweave.compiler.ir.accumulation import ProductPlan
from opweave.compiler.ir.graph import Node, reduced_axes
from opweave.compiler.ir.values import count
from opweave.opcodes.dtypes import DType

Array = np.ndarray[Any, Any]


def multiplied(
    node: Node, x: Bounded, y: Bounded, value: Array, extents: Mapping[str, int]
) -> Bounded:
    """Errors of the factors carried over, and gamma_n times the product of magnitudes."""
    dtype = node.result.dtype
    if not dtype.is_float:
        lines = np.any(x.error > 0, axis=-1, keepdims=True)
        columns = np.any(y.error > 0, axis=-2, keepdims=True)
        return Bounded(value, np.where(lines | columns, np.inf, np.zeros(value.shape)))
    assert isinstance(node.plan, ProductPlan)
    assert node.operator.accumulator is not None
    depth = node.plan.depth(count(node.values[0].shape[-1:], extents))
    accumulator = node.operator.accumulator(dtype)
    growth = gamma(depth, accumulator)
    wide_x, wide_y = np.abs(x.value), np.abs(y.value)
    error = (1 + growth) * (x.error @ (wide_y + y.error) + wide_x @ y.error)
    magnitude = wide_x @ wide_y
    error = error + growth * magnitude
    error = np.where(magnitude + error >= largest(accumulator), np.inf, error)
    # gradual underflow adds half of the smallest number a step
    error = error + depth * 0.5 * spacing(np.zeros((), value.dtype), accumulator)
    error = np.where(np.isnan(error), np.inf, error)
    # one NaN among the factors makes the sum NaN, in whatever order it is taken
    lines = np.any(_is_nan(x), axis=-1, keepdims=True)
    columns = np.any(_is_nan(y), axis=-2, keepdims=True)
    return Bounded(value, _stored(value, np.where(lines | columns, 0.0, error), dtype))


def _stored(value: Array, error: Array, dtype: DType) -> Array:
    """Add the rounding of a wide accumulator, and mark what may overflow."""
    if dtype.round:  # of what was computed, which may lie in a higher binade than the value
        reach = np.where(np.isfinite(error), np.abs(value) + error, value)
        error = error + 0.5 * spacing(reach, dtype)
    overflows = np.isfinite(value) & (np.abs(value) + error >= largest(dtype))
    return np.where(overflows, np.inf, error)


def settled(node: Node, value: Array, error: Array) -> Array:
    """The error of what was accumulated, once it is rounded to its dtype."""
    dtype = node.result.dtype
    picks = node.operator.name in ("cummax", "cummin")
    return error if picks or not dtype.is_float else _stored(value, error, dtype)


def reduced(node: Node, operand: Bounded, value: Array, extents: Mapping[str, int]) -> Bounded:
    """Value and error of a reduction."""
    axes = reduced_axes(node)
    keep = bool(node.attr("keepdims"))
    dtype = node.result.dtype
    if not dtype.is_float:
        undecided = np.max(operand.error, axis=axes, keepdims=keep, initial=0.0) > 0
        return Bounded(value, np.where(undecided, np.inf, 0.0))
    if node.operator.name in ("max", "min"):
        error = np.max(operand.error, axis=axes, keepdims=keep, initial=0.0)
        signs = signs_of_zero(operand.value)
        plus, minus = (np.any(side, axis=axes, keepdims=keep) for side in signs)
        is_open = plus & minus & (value == 0)
        return Bounded(value, np.maximum(error, zero_of(is_open, dtype)))
    extent = count((node.values[0].shape[a] for a in axes), extents)
    assert node.plan is not None
    assert node.operator.accumulator is not None
    accumulator = node.operator.accumulator(dtype)
    is_sum = node.operator.name == "sum"
    # each term of a sum passes through the depth's roundings; a product has all of them
    growth = gamma(node.plan.depth(extent) if is_sum else extent, accumulator)
    of = _of_sum if is_sum else _of_product
    error = of(operand, value, growth, accumulator, {"axis": axes, "keepdims": keep})
    error = np.where(np.isnan(error), np.inf, error)
    # one NaN makes the result NaN, in whatever order it is taken
    lost = np.any(_is_nan(operand), axis=axes, keepdims=keep)
    return Bounded(value, _stored(value, np.where(lost, 0.0, error), dtype))


def _of_sum(operand: Bounded, value: Array, growth: float, accumulator: DType, over: Any) -> Array:
    """Errors of the elements, and of a rounding a step."""
    magnitude = np.sum(np.abs(operand.value) + operand.error, **over)
    error = np.sum(operand.error, **over) + growth * magnitude
    # a partial sum may overflow where the sum itself does not
    return np.where(magnitude + error >= largest(accumulator), np.inf, error)


def _of_product(
    operand: Bounded, value: Array, growth: float, accumulator: DType, over: Any
) -> Array:
    """Errors of the factors, of a rounding a step, and of partial products that underflow."""
    magnitude = np.abs(operand.value) + operand.error
    steps = magnitude.size // max(value.size, 1)
    above = np.prod(np.maximum(magnitude, 1.0), **over)
    lost = steps * 0.5 * spacing(np.zeros((), value.dtype), accumulator) * above
    error = np.prod(magnitude, **over) * (1 + growth) - np.abs(value) + lost
    # a partial product may overflow where the product itself does not
    return np.where(above * (1 + growth) >= largest(accumulator), np.inf, error)


def _is_nan(operand: Bounded) -> Array:
    """Where a value is NaN for certain; where it is undecided, it may be a number."""
    return np.isnan(operand.value) & np.isfinite(operand.error)
