"""How far a map's results move when its operands move within their errors.

An operator that is monotone in each operand while the others stand still is farthest from its
value at a corner of the box that the errors span.  Where an operator is not monotone, a row of
``BREAKS`` says which elements nothing decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from opweave.compiler.bounds.rounding import distance, spacing
from opweave.compiler.ir.graph import Node
from opweave.opcodes.dtypes import F32, DType

Array = np.ndarray[Any, Any]
Apply = Callable[[list[Any]], list[Array]]


@dataclass(frozen=True)
class Bounded:
    """A wide value and the largest error that a kernel's value may have; inf: undecided."""

    value: Array
    error: Array


Operands = Sequence[Bounded]


def carried_errors(
    node: Node, operands: Operands, values: list[Array], apply: Apply
) -> list[Array]:
    """The largest distance of each result from its value, over all operands within their errors.

    ``apply`` computes the results of operands; ``values`` are those of the operands themselves.
    """
    steps = [_step(o) for o in operands]
    erring = [i for i, o in enumerate(operands) if np.any(o.error)]
    if not erring and node.operator.name not in ("signbit", "copysign"):
        return [np.zeros(np.shape(v)) + picked_error(node, operands, v) for v in values]
    undecided = _undecided(node, operands)
    if node.operator.mixes is not None:
        undecided = np.any(undecided, axis=-1, keepdims=True)  # one means all channels
    if node.operator.slope is not None:
        far = node.operator.slope * steps[0]
        found = [np.where(np.isfinite(v), far, 0.0) for v in values]
    elif node.operator.mixes is not None:
        found = _mixed(node, operands, steps, values, apply)
    else:
        moving = [i for i in erring if _is_float(operands[i])]
        found = _at_corners(node, operands, steps, moving, values, apply)
    if node.operator.name in WRAPS:
        found[-1] = _wrapped(operands, steps, found[-1], WRAPS[node.operator.name])
    spread = np.broadcast_to(undecided, np.shape(values[0])) if undecided.any() else False
    picked = [picked_error(node, operands, v) for v in values]
    return [np.where(spread, np.inf, np.maximum(f, p)) for f, p in zip(found, picked, strict=True)]


# Operators that pick an operand or a zero: whether they give 0.0 or -0.0 is not specified.
PICKS: dict[str, tuple[float, ...]] = {
    "maximum": (), "minimum": (), "fmax": (), "fmin": (), "clip": (), "relu": (0.0,),
}  # fmt: skip


def _open_power(operands: Operands) -> Array:
    """NumPy takes a root or a power for an exponent of 0.5, by how the exponents lie in memory.

    They differ at -inf (NaN or inf) and at -0.0 (-0.0 or 0.0).
    """
    x, y = (o.value for o in operands)
    return np.equal(y, 0.5) & (np.isneginf(x) | signs_of_zero(x)[1])


def picked_error(node: Node, operands: Operands, value: Array) -> Array:
    """An error at a zero of open sign, so that what depends on the sign is undecided."""
    if node.operator.name in ("power", "float_power") and all(map(_is_float, operands)):
        return np.where(_open_power(operands), np.inf, 0.0)
    own = PICKS.get(node.operator.name)
    if own is None or not _is_float(operands[0]):
        return np.zeros(())
    signs = [signs_of_zero(c) for c in (*(o.value for o in operands), *own)]
    plus, minus = (reduce(np.logical_or, side) for side in zip(*signs, strict=True))
    return zero_of(plus & minus & (value == 0), node.result.dtype)


def signs_of_zero(value: Any) -> tuple[Array, Array]:
    """Where a value is 0.0, and where it is -0.0."""
    zero, negative = np.equal(value, 0), np.signbit(value)
    return zero & ~negative, zero & negative


def zero_of(is_open: Array, dtype: DType) -> Array:
    """The smallest error of a loop's numbers, where the sign of a zero is open."""
    return np.where(is_open, spacing(np.zeros(()), F32 if dtype.round else dtype), 0.0)


def _is_float(operand: Bounded) -> bool:
    return bool(np.issubdtype(operand.value.dtype, np.floating))


def _step(operand: Bounded) -> Array:
    """How far an operand moves; an undecided element does not move, and is marked elsewhere."""
    return np.where(np.isfinite(operand.error), operand.error, 0.0)


def _at_corners(
    node: Node,
    operands: Operands,
    steps: list[Array],
    moving: list[int],
    values: list[Array],
    apply: Apply,
) -> list[Array]:
    found = [np.zeros(np.shape(v)) for v in values]
    for signs in product((1, -1), repeat=len(moving)):
        moved = [o.value for o in operands]
        for position, sign in zip(moving, signs, strict=True):
            value, step = moved[position], sign * steps[position]
            moved[position] = np.where(step == 0, value, value + step)  # -0.0 + 0.0 is 0.0
        results = apply(moved)
        for k, (result, value) in enumerate(zip(results, values, strict=True)):
            far = np.maximum(distance(result, value), _turned(result, value, node, k))
            found[k] = np.maximum(found[k], far)
    return found


def _turned(result: Array, value: Array, node: Node, number: int) -> Array | float:
    """The error of a zero that has the other sign at a corner, as a number rounded to zero has."""
    if not np.issubdtype(np.asarray(value).dtype, np.floating):
        return 0.0
    signs = np.signbit(result) != np.signbit(value)
    return zero_of(signs & (result == 0) & (value == 0), node.results[number].dtype)


def _mixed(
    node: Node, operands: Operands, steps: list[Array], values: list[Array], apply: Apply
) -> list[Array]:
    """Channels and amounts move one after the other, and their distances add up."""
    assert node.operator.mixes is not None
    channels = np.arange(node.operator.mixes[0])
    parts = [(0, np.where(channels == c, steps[0], 0)) for c in channels]
    parts += [(i, steps[i]) for i in range(1, len(operands))]
    total = [np.zeros(np.shape(v)) for v in values]
    for position, step in parts:
        if np.any(step):
            far = [
                apply([o.value + s * step if i == position else o.value
                       for i, o in enumerate(operands)])
                for s in (1, -1)
            ]  # fmt: skip
            for k, value in enumerate(values):
                total[k] = total[k] + np.maximum(*(distance(f[k], value) for f in far))
    return total


# Remainders: how the quotient becomes whole, and how many divisors their results span.
WRAPS = {"remainder": (np.floor, 1), "divmod": (np.floor, 1), "fmod": (np.trunc, 2)}


def _wrapped(
    operands: Operands, steps: list[Array], found: Array, row: tuple[np.ufunc, int]
) -> Array:
    """A remainder whose quotient is undecided may be anything below the divisor."""
    whole, span = row
    x, y = (o.value for o in operands)
    if not _is_float(operands[0]):
        return found
    corners = [
        whole((x + a * steps[0]) / (y + b * steps[1]))
        for a, b in product((1, -1), repeat=2)
    ]  # fmt: skip
    differs = np.max(corners, axis=0) != np.min(corners, axis=0)
    return np.where(differs, np.maximum(found, span * (np.abs(y) + steps[1])), found)


# Where an operator is not monotone: (values, errors of the operands) -> elements undecided.
Break = Callable[[Sequence[Array], Sequence[Array]], Array]


def _may_be_zero(value: Array, error: Array) -> Array:
    return np.asarray((error > 0) & (np.abs(value) <= error))


def _truth(values: Sequence[Array], errors: Sequence[Array]) -> Array:
    found = [_may_be_zero(v, e) for v, e in zip(values, errors, strict=True)]
    return np.asarray(np.logical_or.reduce(np.broadcast_arrays(*found)))


def _met(values: Sequence[Array], errors: Sequence[Array]) -> Array:
    reach = errors[0] + errors[1]
    gap = np.abs(values[0].astype(np.longdouble) - values[1].astype(np.longdouble))
    return np.asarray((reach > 0) & (gap <= reach))


def _divisor(values: Sequence[Array], errors: Sequence[Array]) -> Array:
    return _may_be_zero(values[-1], errors[-1])


def _pole(values: Sequence[Array], errors: Sequence[Array]) -> Array:
    ends = [np.floor((values[0] + s * errors[0]) / np.pi + 0.5) for s in (1, -1)]
    return np.asarray(ends[0] != ends[1])


def _power(values: Sequence[Array], errors: Sequence[Array]) -> Array:
    """1 / 0, a negative number to what may be odd, even or broken, 1 to NaN, NaN to 0; a dip."""
    (x, y), (by_x, by_y) = values, errors
    pole = _may_be_zero(x, by_x) & (y - by_y < 0)
    fraction = ((x - by_x < 0) | (np.signbit(x) & (x == 0))) & (by_y > 0)
    one, nothing = _may_be_zero(x - 1, by_x), _may_be_zero(y, by_y)
    dips = _may_be_zero(x, by_x) & np.isinf(np.abs(x) ** y)
    return np.asarray(pole | fraction | dips | (one & np.isnan(y)) | (nothing & np.isnan(x)))


def _dip(values: Sequence[Array], errors: Sequence[Array]) -> Array:
    """Infinite on both sides of 0, and 1 there."""
    return np.asarray(_may_be_zero(values[0], errors[0]) & np.isinf(np.cosh(values[0])))


def _lost_sign(values: Sequence[Array], errors: Sequence[Array]) -> Array:
    """A computed NaN has either sign: x86 makes a negative one, a GPU a positive one."""
    return np.asarray(np.isnan(values[0]))


def _opposite(values: Sequence[Array], errors: Sequence[Array]) -> Array:
    """The sign of y decides between pi and -pi, where x may be negative."""
    (y, x), (by_y, by_x) = values, errors
    return np.asarray(_may_be_zero(y, by_y) & (x - by_x <= 0))


def _first(values: Sequence[Array], errors: Sequence[Array]) -> Array:
    return _may_be_zero(values[0], errors[0])


def _sign_of_other(values: Sequence[Array], errors: Sequence[Array]) -> Array:
    return np.asarray(np.isnan(values[1]) | _may_be_zero(values[1], errors[1]))


def _whole(values: Sequence[Array], errors: Sequence[Array]) -> Array:
    ends = [np.trunc(values[0] + s * errors[0]) for s in (1, -1)]
    return np.asarray(ends[0] != ends[1])


def _binade(values: Sequence[Array], errors: Sequence[Array]) -> Array:
    ends = [np.frexp(values[0] + s * errors[0])[1] for s in (1, -1)]
    return np.asarray((ends[0] != ends[1]) | _may_be_zero(values[0], errors[0]))


def _pole_of_gamma(values: Sequence[Array], errors: Sequence[Array]) -> Array:
    ends = [np.floor(values[0] + s * errors[0]) for s in (1, -1)]
    return np.asarray((values[0] - errors[0] <= 0) & (errors[0] > 0) & (ends[0] != ends[1]))


def _edge_of_one(values: Sequence[Array], errors: Sequence[Array]) -> Array:
    """Beyond 1 and -1 there is no value; both corners may lie there, but not all between them."""
    (size,), (error,) = map(np.abs, values), errors
    return np.asarray((error > 0) & (size - error <= 1) & (size + error >= 1))


BREAKS: dict[str, Break] = {
    "arcsin": _edge_of_one,
    "arccos": _edge_of_one,
    "arctanh": _edge_of_one,
    "cosh": _dip,
    "signbit": _lost_sign,
    "equal": _met,
    "not_equal": _met,
    "logical_and": _truth,
    "logical_or": _truth,
    "logical_xor": _truth,
    "logical_not": _truth,
    "divide": _divisor,
    "floor_divide": _divisor,
    "remainder": _divisor,
    "divmod": _divisor,
    "reciprocal": _divisor,
    "power": _power,
    "tan": _pole,
    "float_power": _power,
    "fmod": _divisor,
    "arctan2": _opposite,
    "heaviside": _first,
    "copysign": _sign_of_other,
    "modf": _whole,
    "frexp": _binade,
    "tgamma": _pole_of_gamma,
    "lgamma": _pole_of_gamma,
    "spacing": _binade,
}


def _undecided(node: Node, operands: Operands) -> Array:
    """Elements that no bound decides, before the operator itself rounds."""
    lost = [~np.isfinite(o.error) if _is_float(o) else np.asarray(o.error) > 0 for o in operands]
    if node.operator.name == "where":  # an operand that is not chosen does not matter
        lost = [lost[0], np.where(operands[0].value, *lost[1:])]
    found = reduce(np.logical_or, lost, np.zeros((), np.bool_))
    to_bool = node.operator.name == "cast" and node.result.dtype.kind == "b"
    breaks = _truth if to_bool else BREAKS.get(node.operator.name)
    if breaks is not None and all(map(_is_float, operands)):
        values = [np.asarray(o.value) for o in operands]
        finite = [np.where(np.isfinite(o.error), o.error, 0.0) for o in operands]
        found = found | breaks(values, finite)
    return np.asarray(found)
