"""How far a map's results move when its operands move within their errors.

An operator that is monotone in each operand while the others stand still is farthest from its
value at a corner of the box that the errors span.  Where an operator is not monotone, a row of
``BREAKS`` (breaks.py) says which elements nothing decides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from typing import Any

import numpy as np

from opweave.compiler.bounds.breaks import BREAKS, truth_is_open
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


def _undecided(node: Node, operands: Operands) -> Array:
    """Elements that no bound decides, before the operator itself rounds."""
    lost = [~np.isfinite(o.error) if _is_float(o) else np.asarray(o.error) > 0 for o in operands]
    if node.operator.name == "where":  # an operand that is not chosen does not matter
        lost = [lost[0], np.where(operands[0].value, *lost[1:])]
    found = reduce(np.logical_or, lost, np.zeros((), np.bool_))
    to_bool = node.operator.name == "cast" and node.result.dtype.kind == "b"
    breaks = truth_is_open if to_bool else BREAKS.get(node.operator.name)
    if breaks is not None and all(map(_is_float, operands)):
        values = [np.asarray(o.value) for o in operands]
        finite = [np.where(np.isfinite(o.error), o.error, 0.0) for o in operands]
        found = found | breaks(values, finite)
    return np.asarray(found)
