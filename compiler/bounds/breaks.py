"""Where an operator is not monotone in its operands: which elements nothing decides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
# (values, errors of the operands) -> elements undecided.
Break = Callable[[Sequence[Array], Sequence[Array]], Array]


def _may_be_zero(value: Array, error: Array) -> Array:
    return np.asarray((error > 0) & (np.abs(value) <= error))


def truth_is_open(values: Sequence[Array], errors: Sequence[Array]) -> Array:
    found = [_may_be_zero(v, e) for v, e in zip(values, errors, strict=True)]
    return np.asarray(np.logical_or.reduce(np.broadcast_arrays(*found)))


def _met(values: Sequence[Array], errors: Sequence[Array]) -> Array:
    reach = errors[0] + errors[1]
    gap = np.abs(values[0].astype(np.longdouble) - values[1].astype(np.longdouble))
    return np.asarray((reach > 0) & (gap <= reach))


def _is_zero(place: int) -> Break:
    """Where an operand may be zero."""
    return lambda values, errors: _may_be_zero(values[place], errors[place])


_divisor = _is_zero(-1)


def _whole(step: Callable[[Array], Array]) -> Break:
    """Where the step that the first operand lies on is open."""
    return lambda values, errors: np.asarray(
        step(values[0] + errors[0]) != step(values[0] - errors[0])
    )


_open_exponent = _whole(lambda x: np.frexp(x)[1])
_open_floor = _whole(np.floor)


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


def _sign_of_other(values: Sequence[Array], errors: Sequence[Array]) -> Array:
    return np.asarray(np.isnan(values[1]) | _may_be_zero(values[1], errors[1]))


def _binade(values: Sequence[Array], errors: Sequence[Array]) -> Array:
    return _open_exponent(values, errors) | _may_be_zero(values[0], errors[0])


def _pole_of_gamma(values: Sequence[Array], errors: Sequence[Array]) -> Array:
    below = values[0] - errors[0] <= 0
    return np.asarray(below & (errors[0] > 0) & _open_floor(values, errors))


def _edge_of_one(values: Sequence[Array], errors: Sequence[Array]) -> Array:
    """Beyond 1 and -1 there is no value; both corners may lie there, and not what is between."""
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
    "logical_and": truth_is_open,
    "logical_or": truth_is_open,
    "logical_xor": truth_is_open,
    "logical_not": truth_is_open,
    "divide": _divisor,
    "floor_divide": _divisor,
    "remainder": _divisor,
    "divmod": _divisor,
    "reciprocal": _divisor,
    "power": _power,
    "tan": _whole(lambda x: np.floor(x / np.pi + 0.5)),
    "float_power": _power,
    "fmod": _divisor,
    "arctan2": _opposite,
    "heaviside": _is_zero(0),
    "copysign": _sign_of_other,
    "modf": _whole(np.trunc),
    "frexp": _binade,
    "tgamma": _pole_of_gamma,
    "lgamma": _pole_of_gamma,
    "spacing": _binade,
}
