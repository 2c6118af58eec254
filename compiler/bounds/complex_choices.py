"""Bounds of comparisons of complex values, and of what picks one of its operands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from opweave.compiler.bounds.complex_parts import Pair
from opweave.compiler.bounds.error_propagation import Bounded

Array = np.ndarray[Any, Any]
_ZERO = np.zeros(())


def _reach(x: Bounded, y: Bounded) -> tuple[Array, Array]:
    """Where two parts may be equal though they are not, or differ though they are; where equal."""
    reach = x.error + y.error
    gap = np.abs(x.value - y.value)
    is_open = (reach > 0) & ((gap <= reach) | ~np.isfinite(reach))
    return np.asarray(is_open), np.equal(x.value, y.value)


def _ordered(x: Pair, y: Pair) -> Array:
    """Where the order of two complex numbers is open."""
    open_re, same_re = _reach(x.re.bounded, y.re.bounded)
    open_im, _ = _reach(x.im.bounded, y.im.bounded)
    return np.asarray(open_re | (same_re & open_im) | x.parts.lost | y.parts.lost)


def _equal(x: Pair, y: Pair) -> Array:
    """Where equality is open: a part that differs for certain decides."""
    (open_re, same_re), (open_im, same_im) = (
        _reach(a.bounded, b.bounded) for a, b in zip(x, y, strict=True)
    )
    return np.asarray((open_re & (same_im | open_im)) | (open_im & (same_re | open_re)))


def open_zero(x: Pair) -> Array:
    """Where it is open whether a number is zero."""
    nothing = Pair(x.re.like(0.0), x.im.like(0.0))
    return _equal(x, nothing)


def _unclear(x: Pair) -> Array:
    return np.asarray(x.parts.lost)


# Operators whose result is bool, and where it is open.
TESTS: dict[str, Callable[..., Array]] = {
    **dict.fromkeys(("less", "less_equal", "greater", "greater_equal"), _ordered),
    **dict.fromkeys(("equal", "not_equal"), _equal),
    **dict.fromkeys(("isnan", "isinf", "isfinite"), _unclear),
    "logical_not": open_zero,
    **dict.fromkeys(
        ("logical_and", "logical_or", "logical_xor"), lambda x, y: open_zero(x) | open_zero(y)
    ),
}


def _is_nan(x: Array) -> Array:
    return np.asarray(np.isnan(x))


def _picked(less: bool, skips_nan: bool) -> Callable[[Pair, Pair], Pair]:
    """``maximum`` and its kin: the first operand, unless the other one is beyond it."""
    before = np.less_equal if less else np.greater_equal

    def expand(x: Pair, y: Pair) -> Pair:
        a, b = x.parts.value, y.parts.value
        takes = before(a, b) | _is_nan(b if skips_nan else a)
        is_open = _ordered(x, y)
        found = x.where(y, Bounded(takes, _ZERO))
        made = []
        for part, p, q in zip(found, x, y, strict=True):
            value = part.bounded.value
            spread = [np.abs(o.bounded.value - value) + o.bounded.error for o in (p, q)]
            far = np.maximum(*np.broadcast_arrays(*spread))
            far = np.where(np.isnan(far), np.inf, far)
            made.append(replace(part, bounded=Bounded(
                value, np.where(is_open, far, part.bounded.error)
            )))  # fmt: skip
        return Pair(*made)

    return expand


_maximum, _minimum = _picked(less=False, skips_nan=False), _picked(less=True, skips_nan=False)
PICKS: dict[str, Callable[..., Pair]] = {
    "maximum": _maximum,
    "minimum": _minimum,
    "fmax": _picked(less=False, skips_nan=True),
    "fmin": _picked(less=True, skips_nan=True),
    "clip": lambda x, low, high: _minimum(_maximum(x, low), high),
    "relu": lambda x: _maximum(x, Pair(x.re.like(0.0), x.im.like(0.0))),
}
