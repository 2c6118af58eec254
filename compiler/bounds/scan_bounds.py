"""Errors of scans: those of a reduction, for every beginning of a row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from opweave.compiler.bounds.error_propagation import Bounded, signs_of_zero, zero_of
from opweave.compiler.bounds.rounding import gammas, largest, spacing
from opweave.compiler.ir.accumulation import ScanPlan
from opweave.compiler.ir.graph import Node, scanned_axis
from opweave.compiler.ir.values import extent_of
from opweave.opcodes.dtypes import DType

Array = np.ndarray[Any, Any]


def scan_error(node: Node, operand: Bounded, value: Array, extents: Mapping[str, int]) -> Array:
    """The largest error of each element, before it is rounded to a narrower dtype.

    A sum up to an element adds gamma_n times the sum of magnitudes up to there, where n is the
    depth of the plan at that place (Higham, see bounds.py).
    """
    dtype, axis = node.result.dtype, scanned_axis(node)
    if not dtype.is_float:
        undecided = np.logical_or.accumulate(operand.error > 0, axis=axis)
        return np.where(np.broadcast_to(undecided, value.shape), np.inf, 0.0)
    if node.operator.name in ("cummax", "cummin"):
        error = np.maximum.accumulate(operand.error, axis=axis)
        signs = signs_of_zero(operand.value)
        plus, minus = (np.logical_or.accumulate(side, axis=axis) for side in signs)
        return np.maximum(error, zero_of(plus & minus & (value == 0), dtype))
    assert isinstance(node.plan, ScanPlan)
    assert node.operator.accumulator is not None
    accumulator = node.operator.accumulator(dtype)
    shape = [1] * value.ndim
    shape[axis] = -1
    row = extent_of(node.result.shape[axis], extents)
    places = np.arange(1, row + 1).reshape(shape)
    if node.operator.name == "cumsum":
        growth = gammas(node.plan.depth(places, row), accumulator)
        error = _of_sum(operand, growth, accumulator, axis)
    else:  # the roundings of all factors, in any order
        error = _of_product(operand, value, places, accumulator, axis)
    error = np.where(np.isnan(error), np.inf, error)
    # one NaN makes NaN of all that follows, in whatever order it is taken
    lost = np.isnan(operand.value) & np.isfinite(operand.error)
    return np.where(np.logical_or.accumulate(lost, axis=axis), 0.0, error)


def _of_sum(operand: Bounded, growth: Array, accumulator: DType, axis: int) -> Array:
    magnitude = np.cumsum(np.abs(operand.value) + operand.error, axis=axis)
    error = np.cumsum(operand.error, axis=axis) + growth * magnitude
    # a partial sum may overflow where the sum itself does not
    return np.where(magnitude + error >= largest(accumulator), np.inf, error)


def _of_product(
    operand: Bounded, value: Array, places: Array, accumulator: DType, axis: int
) -> Array:
    growth = gammas(places, accumulator)
    magnitude = np.abs(operand.value) + operand.error
    above = np.cumprod(np.maximum(magnitude, 1.0), axis=axis)
    lost = places * 0.5 * spacing(np.zeros((), value.dtype), accumulator) * above
    error = np.cumprod(magnitude, axis=axis) * (1 + growth) - np.abs(value) + lost
    # a partial product may overflow where the product itself does not
    return np.where(above * (1 + growth) >= largest(accumulator), np.inf, error)
