"""Inverse trigonometric and hyperbolic functions of complex numbers, each defined by real ones.

The arcs of sine and cosine are Kahan's ("Branch cuts for complex elementary functions, or much ado
about nothing's sign bit", 1987).  They are made of the roots of 1 - z and 1 + z, so no sum has
terms of two signs, and both parts are right to a few ULP near 1 and -1, too.  (Hull, Fairgrieve
and Tang, "Implementing the complex arcsine and arccosine functions using exception handling", ACM
TOMS 23, 1997, distinguish cases there.)  The real part of arctanh is log1p of the difference of
|1 + z| / |1 - z| from 1, where |z + 1|**2 - |z - 1|**2 is four times the real part.  Signed zeros
choose the side of a branch cut.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

OfParts = Callable[[Any, Any], tuple[Any, Any]]
# Numbers beyond this fraction of the largest one are scaled by it, so that no sum overflows.
PART = 2.0**-4
# Next to 1 and -1 closer than TINY, where inverses may overflow, what is inverted is GROWTH times
# as large: the 1 in log1p is nothing beside it.
TINY, GROWTH = 2.0**-100, 2.0**52
# Beyond this number, whose square does not overflow, the angle of arctanh is always a right one.
FAR = 2.0**60


def _scaled(x: Any, y: Any) -> tuple[Any, Any, Any, Any]:
    """Both parts, scaled down where they are very large; what 1 becomes; and where that happens.

    A zero is not scaled, to keep its sign.
    """
    long = np.maximum(np.abs(x), np.abs(y)) > np.finfo(x.dtype).max * PART
    one = np.where(long, x.dtype.type(PART), x.dtype.type(1))
    p, q = (np.where(long & (part != 0), part * PART, part) for part in (x, y))
    return p, q, one, long


def _root(x: Any, y: Any, left: Any) -> tuple[Any, Any]:
    """The parts of a square root, also of zero; 4 |x + iy| must not overflow.

    ``left`` says where ``x`` is negative, since ``x`` may be rounded to zero.
    """
    twice = np.sqrt((np.abs(x) + np.hypot(x, y)) * 2.0)
    half, rest = twice * 0.5, np.where(y == 0, y, y / twice)
    return np.where(left, np.abs(rest), half), np.where(left, np.copysign(half, y), rest)


def _arcs(x: Any, y: Any) -> tuple[Any, Any, Any]:
    """The real part of arcsin, its imaginary part, and the real part of arccos.

    The imaginary part of arccos is that of arcsin, negated.
    """
    p, q, one, long = _scaled(x, y)
    a, b = _root(one - p, q, x > 1)  # of 1 - conj(z): both imaginary parts have y's sign
    c, d = _root(one + p, q, x < -1)
    far = np.isinf(x) | np.isinf(y)
    below = a * c + b * d
    below = np.where(far, np.abs(y), np.where(long, below / PART, below))
    re = np.where(x == 0, x, np.arctan2(x, below))
    im = np.arcsinh(a * d + b * c)
    im = np.where(long, im + np.copysign(-math.log(PART), y), im)
    # a right angle for a part of 0, even if the other part is NaN
    up, along = (np.where(x == 0, 1.0, part) for part in (a, c))
    half = np.arctan2(np.where(far, np.abs(y), up), np.where(far, x, along))
    other = np.where(far, half, half + half)
    return re, np.where(far, np.copysign(np.inf, y), im), other


def _arctanh(x: Any, y: Any) -> tuple[Any, Any]:
    size = np.abs(x)
    p, q, one, _ = _scaled(size, y)
    close = (size == 1) & (np.abs(y) < TINY)
    near = np.hypot(one - p, np.where(close, q * GROWTH, q))
    both = near + np.hypot(one + p, q)
    re = np.log1p(p / near * (one * 4.0 / both)) * 0.5
    re = np.where(close, re + 0.5 * math.log(GROWTH), re)
    endless = np.isinf(y)
    re = np.where((x == 0) | np.isinf(x) | endless, 0.0, re)
    along = ((1.0 - size) * (1.0 + size) - y * y) * 0.5
    along = np.where(endless | (np.maximum(size, np.abs(y)) > FAR), -np.inf, along)
    angle = np.arctan2(np.where(endless, np.copysign(1.0, y), y), along)
    return np.copysign(re, x), angle * 0.5


def _arccosh(x: Any, y: Any) -> tuple[Any, Any]:
    """arccos, rotated by a quarter turn into the right half-plane."""
    _, im, re = _arcs(x, y)
    return np.abs(im), np.copysign(re, y)


def _arccos(x: Any, y: Any) -> tuple[Any, Any]:
    _, im, re = _arcs(x, y)
    return re, -im


# What becomes of the real and the imaginary part.  Of a number turned by a quarter: arcsinh(z) =
# -i arcsin(iz), arctan(z) = -i arctanh(iz); what a minus does to either part is undone by the
# other one.
OF_PARTS: dict[str, OfParts] = {
    "arcsin": lambda x, y: _arcs(x, y)[:2],
    "arccos": _arccos,
    "arctan": lambda x, y: _arctanh(y, x)[::-1],
    "arcsinh": lambda x, y: _arcs(y, x)[1::-1],
    "arccosh": _arccosh,
    "arctanh": _arctanh,
}
