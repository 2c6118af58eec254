"""Bounds of what is accumulated: products of matrices, reductions, and scans."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import numpy as np

from opweave.compiler.bounds.error_propagation import Bounded, signs_of_zero, zero_of
from opweave.compiler.bounds.rounding import distance, gamma, gammas, largest, spacing
from opweave.compiler.ir.accumulation import ProductPlan, ScanPlan
from opweave.compiler.ir.graph import Node, reduced_axes, scanned_axis
from opweave.compiler.ir.values import count, extent_of
from opweave.opcodes.dtypes import F32, F64, DType

Array = np.ndarray[Any, Any]
# (how two elements are joined, elements) -> all elements of each result joined.
Over = Callable[[np.ufunc, Array], Array]


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
    if node.operator.law != "matmul":
        return _stepped(node, x, y, value)
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


def _stepped(node: Node, x: Bounded, y: Bounded, value: Array) -> Bounded:
    """A product of a user's: its errors, step by step.

    A term is farthest from its value where both factors are at an end of their errors.
    """
    own, dtype = node.operator, node.result.dtype
    meaning: Any = own.numpy
    assert own.accumulator is not None
    running = own.accumulator(dtype)
    ulp = max(figure.of(running) for figure in (own.ulp.cuda, own.ulp.host))
    ends = [
        meaning.terms(x.value + i * x.error, y.value + j * y.error)
        for i in (-1, 1) for j in (-1, 1)
    ]  # fmt: skip
    acc, error = meaning.started(value), np.zeros(value.shape)
    for term, *corners in zip(meaning.terms(x.value, y.value), *ends, strict=True):
        far = reduce(np.maximum, [distance(term, corner) for corner in corners])
        far = _reaching(term, far + ulp * spacing(term, running), running)
        before, acc = acc, meaning.join(acc, term)
        if own.law == "max":
            error = np.maximum(error, far)
            continue
        if own.law == "prod":
            error, far = error * (np.abs(term) + far), np.abs(before) * far
        error = _reaching(acc, error + far + ulp * spacing(acc, running), running)
    error = np.where(np.isnan(error), np.inf, error)
    return Bounded(value, _stored(value, error, dtype))


def _reaching(value: Array, error: Array, dtype: DType) -> Array:
    """Errors, infinite where a finite value may overflow."""
    overflows = np.isfinite(value) & (np.abs(value) + error >= largest(dtype))
    return np.where(overflows, np.inf, error)


def _stored(value: Array, error: Array, dtype: DType) -> Array:
    """Add the rounding of a wide accumulator, and mark what may overflow."""
    if dtype.round:  # of what was computed, which may lie in a higher binade than the value
        reach = np.where(np.isfinite(error), np.abs(value) + error, value)
        error = error + 0.5 * spacing(reach, dtype)
    return _reaching(value, error, dtype)


def accumulated(node: Node, operand: Bounded, value: Array, extents: Mapping[str, int]) -> Bounded:
    """Value and error of a reduction, or of a scan: a reduction of every beginning of a row.

    A sum adds gamma_n times the sum of magnitudes, where n is the depth of the plan (at the place
    of an element of a scan); a product has the roundings of all factors, in any order.
    """
    over = _over_scan(node) if node.is_scan else _over_reduction(node)
    dtype = node.result.dtype
    if not dtype.is_float:
        lost = np.broadcast_to(over(np.logical_or, operand.error > 0), value.shape)
        return Bounded(value, np.where(lost, np.inf, 0.0))
    if node.operator.law in ("max", "min", "cummax", "cummin"):
        error = over(np.maximum, operand.error)
        plus, minus = (over(np.logical_or, side) for side in signs_of_zero(operand.value))
        return Bounded(value, np.maximum(error, zero_of(plus & minus & (value == 0), dtype)))
    assert node.operator.accumulator is not None
    accumulator = node.operator.accumulator(dtype)
    if node.operator.law == "exp_sum":
        return _of_exponentials(node, operand, value, extents)
    elements, depth = _elements(node, value, extents)
    ulp = node.operator.ulp
    # a step of ours rounds once, by half of a unit
    steps = 2 * max(figure.of(accumulator) for figure in (ulp.cuda, ulp.host))
    if node.operator.law in ("sum", "cumsum"):
        error = _of_sum(operand, gammas(depth * steps, accumulator), accumulator, over)
    else:
        error = _of_product(operand, value, elements * steps, accumulator, over)
    # one NaN makes the result NaN, in whatever order it is taken
    lost = over(np.logical_or, _is_nan(operand))
    error = np.where(lost, 0.0, np.where(np.isnan(error), np.inf, error))
    return Bounded(value, _stored(value, error, dtype))


def _over_reduction(node: Node) -> Over:
    axes, keep = reduced_axes(node), bool(node.attr("keepdims"))

    def over(join: np.ufunc, array: Array) -> Array:
        first: dict[str, Any] = {"initial": 0.0} if join is np.maximum else {}  # of errors
        return np.asarray(join.reduce(array, axis=axes, keepdims=keep, **first))

    return over


def _over_scan(node: Node) -> Over:
    axis = scanned_axis(node)
    return lambda join, array: np.asarray(join.accumulate(array, axis=axis))


def _elements(node: Node, value: Array, extents: Mapping[str, int]) -> tuple[Any, Any]:
    """How many elements make each result, and the depth of their sum."""
    shape = node.values[0].shape
    if not node.is_scan:
        extent = count((shape[a] for a in reduced_axes(node)), extents)
        assert node.plan is not None
        return extent, node.plan.depth(extent)
    assert isinstance(node.plan, ScanPlan)
    axis = scanned_axis(node)
    row = extent_of(node.result.shape[axis], extents)
    places = np.arange(1, row + 1).reshape([-1 if a == axis else 1 for a in range(value.ndim)])
    return places, node.plan.depth(places, row)


def _of_sum(operand: Bounded, growth: Array, accumulator: DType, over: Over) -> Array:
    """Errors of the elements, and of a rounding a step."""
    magnitude = over(np.add, np.abs(operand.value) + operand.error)
    error = over(np.add, operand.error) + growth * magnitude
    # a partial sum may overflow where the sum itself does not
    return np.where(magnitude + error >= largest(accumulator), np.inf, error)


def _of_product(
    operand: Bounded, value: Array, elements: Any, accumulator: DType, over: Over
) -> Array:
    """Errors of the factors, of a rounding a step, and of partial products that underflow."""
    growth = gammas(elements, accumulator)
    magnitude = np.abs(operand.value) + operand.error
    above = over(np.multiply, np.maximum(magnitude, 1.0))
    lost = elements * 0.5 * spacing(np.zeros((), value.dtype), accumulator) * above
    error = over(np.multiply, magnitude) * (1 + growth) - np.abs(value) + lost
    # a partial product may overflow where the product itself does not
    return np.where(above * (1 + growth) >= largest(accumulator), np.inf, error)


def _of_exponentials(
    node: Node, operand: Bounded, value: Array, extents: Mapping[str, int]
) -> Bounded:
    """Value and error of a sum of exp(x - max(x)) whose running maximum scales it.

    An element's exponent errs by the errors of x and of the maximum, and by a rounding of each
    difference on the way: these add up to x - max(x).  What it adds to then has an exponential and
    a rounding of each step, at most.
    """
    axes, keep, dtype = reduced_axes(node), bool(node.attr("keepdims")), node.result.dtype
    running = F64 if dtype is F64 else F32
    extent, depth = _elements(node, value, extents)
    below = operand.value - np.max(operand.value, axis=axes, keepdims=True)
    terms = np.exp(below)
    far = operand.error + np.max(operand.error, axis=axes, keepdims=True)
    far = far + gamma(2, running) * np.where(np.isfinite(below), np.abs(below), 0.0)
    error = np.exp(below + far) - terms
    error = np.sum(error, axis=axes, keepdims=keep)
    ulp = max(figure.of(running) for figure in (node.operator.ulp.cuda, node.operator.ulp.host))
    growth = gammas((depth + 1) * (2 * ulp + 1), running)
    error = error + growth * (value + error)
    error = error + extent * spacing(np.zeros((), value.dtype), running)
    # where the largest is not finite, it is so in whatever order it is found
    known = np.all(np.isfinite(operand.error), axis=axes, keepdims=keep)
    error = np.where(np.isnan(value) & known, 0.0, np.where(np.isnan(error), np.inf, error))
    return Bounded(value, _stored(value, error, dtype))


def _is_nan(operand: Bounded) -> Array:
    """Where a value is NaN for certain; where it is undecided, it may be a number."""
    return np.isnan(operand.value) & np.isfinite(operand.error)
