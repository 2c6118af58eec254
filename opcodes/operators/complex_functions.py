"""Functions of complex numbers, each defined by real ones.

A definition is a NumPy function: traced values pass through it while a function is traced, so that
a kernel holds the real operators, and error bounds follow from theirs.  Special values are those
of C99's annex G, which NumPy has from the C library.

exp, sinh and their kin follow the addition theorems of textbooks; ``tanh`` is divided by
cosh**2, so that no part overflows; ``sqrt`` is Kahan's ("Branch cuts for complex elementary
functions", 1987) without its scaling of small numbers; log1p, expm1 and power are NumPy's own
formulas (numpy/_core/src/umath/funcs.inc.src).  Inverses stand in ``complex_inverses.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from opweave.opcodes.operators import complex_inverses
from opweave.opcodes.operators.complex_inverses import OfParts
from opweave.opcodes.operators.complexes import BY_LN2, IMAG, JOIN, PER_LN2, PER_LN10, REAL

# From here on the exponential of a number overflows, or nearly does; with base 2, too.
OVERFLOW = {"float32": 88.0, "float64": 709.0}
# From here on the square of 1 / cosh is 0.
FLAT = {"float32": 80.0, "float64": 700.0}
# Integer exponents below this are multiplied out, as by NumPy.
MOST_FACTORS = 100


def _parts(z: Any) -> tuple[Any, Any]:
    return REAL(z), IMAG(z)


def _is_open(y: Any) -> Any:
    """Where an angle is none."""
    return ~np.isfinite(y)


def _exp(x: Any, y: Any, base: Any = np.exp) -> tuple[Any, Any]:
    """A power of e, or of another base, rotated by the angle ``y``."""
    # in two factors, since one would overflow before it meets a small cosine
    large = x > OVERFLOW.get(x.dtype.name, 709.0)
    size = base(np.where(large, x * 0.5, x))
    re, im = size * np.cos(y), size * np.sin(y)
    re, im = np.where(large, re * size, re), np.where(large, im * size, im)
    lost = _is_open(y)
    none, endless = lost & np.equal(x, -np.inf), lost & np.equal(x, np.inf)
    re = np.where(none, 0.0, np.where(endless, np.inf, re))
    return re, np.where((y == 0) | none, np.copysign(0.0, y), im)


def _expm1(x: Any, y: Any) -> tuple[Any, Any]:
    half = np.sin(y * 0.5)
    return np.expm1(x) * np.cos(y) - half * half * 2.0, np.exp(x) * np.sin(y)


def _log_size(x: Any, y: Any, log: Any, of_two: float) -> Any:
    """The logarithm of a length; the length itself may overflow."""
    long = np.maximum(np.abs(x), np.abs(y)) > np.finfo(x.dtype).max * 0.5
    size = log(np.hypot(np.where(long, x * 0.5, x), np.where(long, y * 0.5, y)))
    return np.where(long, size + of_two, size)


def _log(x: Any, y: Any) -> tuple[Any, Any]:
    return _log_size(x, y, np.log, math.log(2)), np.arctan2(y, x)


def _log2(x: Any, y: Any) -> tuple[Any, Any]:
    return _log_size(x, y, np.log2, 1.0), PER_LN2(np.arctan2(y, x))


def _log10(x: Any, y: Any) -> tuple[Any, Any]:
    return _log_size(x, y, np.log10, math.log10(2)), PER_LN10(np.arctan2(y, x))


def _log1p(x: Any, y: Any) -> tuple[Any, Any]:
    return np.log(np.hypot(x + 1.0, y)), np.arctan2(y, x + 1.0)


def _sqrt(x: Any, y: Any) -> tuple[Any, Any]:
    long = np.maximum(np.abs(x), np.abs(y)) > np.finfo(x.dtype).max * 0.25
    p, q = np.where(long, x * 0.25, x), np.where(long, y * 0.25, y)
    root = np.sqrt((np.abs(p) + np.hypot(p, q)) * 0.5)
    other = np.where(root == 0, 0.0, np.abs(q) / (root + root))
    left = x < 0
    re, im = np.where(left, other, root), np.where(left, root, other)
    re, im = np.where(long, re * 2.0, re), np.where(long, im * 2.0, im)
    # an infinite part decides: of the imaginary one both, of the real one its own
    endless, flat = np.isinf(y), np.isinf(x)
    re = np.where(endless | (flat & ~left), np.inf, np.where(flat & (y == y), 0.0, re))
    im = np.where(endless | (flat & left), np.inf, np.where(flat & (y == y), 0.0, im))
    return re, np.copysign(im, y)


def _sinh(x: Any, y: Any) -> tuple[Any, Any]:
    kept = _is_open(y) & ((x == 0) | np.isinf(x))
    re = np.where(kept, x, np.sinh(x) * np.cos(y))
    return re, np.where(y == 0, y, np.cosh(x) * np.sin(y))


def _cosh(x: Any, y: Any) -> tuple[Any, Any]:
    lost = _is_open(y)
    re = np.where(lost & np.isinf(x), np.inf, np.cosh(x) * np.cos(y))
    none = (y == 0) | (lost & (x == 0))
    return re, np.where(none, np.copysign(0.0, y) * np.copysign(1.0, x), np.sinh(x) * np.sin(y))


def _tanh(x: Any, y: Any) -> tuple[Any, Any]:
    top = FLAT.get(x.dtype.name, 700.0)
    slope = 1.0 / np.cosh(np.clip(x, -top, top))
    t, c, s = np.tanh(x), np.cos(y) * slope, np.sin(y) * slope
    below = t * t + c * c
    flat = np.isinf(x)
    re = np.where(flat | (x == 0), t, t / below)
    im = np.where((y == 0) | (flat & _is_open(y)), np.copysign(0.0, y), c * s / below)
    return re, im


def _turned(of: OfParts) -> OfParts:
    """By a rotation of a quarter turn: sin(z) = -i sinh(iz), tan(z) = -i tanh(iz)."""

    def turned(x: Any, y: Any) -> tuple[Any, Any]:
        re, im = of(-y, x)
        return im, -re

    return turned


def power(z: Any, w: Any) -> Any:
    """Multiplied out for a small whole exponent, else exp(w log z); of a base 0: 0, 1 or NaN."""
    if type(w) in (int, float, complex) and is_whole(w):
        return _multiplied_out(z, int(w.real))
    a, b = _log(*_parts(z))
    if _is_real(w):
        p, grows = w, np.greater(w, 0)
        re, im = _exp(p * a, p * b)
    else:
        p, q = _parts(w)
        re, im = _exp(p * a - q * b, p * b + q * a)
        grows = np.greater(p, 0)
    zero, one = z == 0, np.equal(w, 0)
    made = []
    for part, unit in ((re, 1.0), (im, 0.0)):
        part = np.where(zero & grows, 0.0, np.where(zero & ~grows, np.nan, part))
        made.append(np.where(one, unit, part))
    return JOIN(*made)


def _is_real(w: Any) -> bool:
    return bool(w.dtype.kind != "c")


def is_whole(w: Any) -> bool:
    """True for an exponent for which a power is multiplied out."""
    return bool(w.imag == 0 and w.real == w.real // 1 and abs(w.real) < MOST_FACTORS)


def _multiplied_out(z: Any, n: int) -> Any:
    if n == 0:
        re, im = _parts(z)
        return JOIN(np.ones_like(re), np.zeros_like(im))
    if n == 1:
        return +z
    if n in (2, 3):
        return z * z if n == 2 else z * (z * z)
    factors, base, left = [], z, abs(n)
    while left:
        if left & 1:
            factors.append(base)
        left >>= 1
        base = base * base if left else base
    found = reduce(lambda a, b: a * b, factors)
    return found if n > 0 else 1.0 / found


# What becomes of the real and the imaginary part.
OF_PARTS: dict[str, OfParts] = {
    "exp": _exp,
    "exp2": lambda x, y: _exp(x, BY_LN2(y), np.exp2),
    "expm1": _expm1,
    "log": _log,
    "log2": _log2,
    "log10": _log10,
    "log1p": _log1p,
    "sqrt": _sqrt,
    "sinh": _sinh,
    "cosh": _cosh,
    "tanh": _tanh,
    "sin": _turned(_sinh),
    "cos": lambda x, y: _cosh(-y, x),  # cosh(iz)
    "tan": _turned(_tanh),
    **complex_inverses.OF_PARTS,
}


def _definition(of: OfParts) -> Callable[[Any], Any]:
    return lambda z: JOIN(*of(*_parts(z)))


DEFINITIONS: dict[str, Callable[..., Any]] = {
    **{name: _definition(of) for name, of in OF_PARTS.items()},
    **dict.fromkeys(("power", "float_power"), power),
}
