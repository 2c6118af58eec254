"""Float arithmetic, rounded once in the mode that an instruction asks for.

A result is first a pair in float64: ``s``, the nearest to the exact one, and ``e``, a number with
the sign of what is missing.  Both of them say which way any narrower format rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import ml_dtypes
import numpy as np

from opweave.runtime.isa.exact import each, root
from opweave.runtime.isa.instruction import Array

CANONICAL = {"f16": 0x7FFF, "bf16": 0x7FFF, "f32": 0x7FFFFFFF}
TINY = 2.0**-126
SAFE_LOW, SAFE_HIGH = 2.0**-400, 2.0**400  # products of two are normal, with their errors


def two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """The sum to nearest, and what is missing (Knuth)."""
    s = a + b
    t = s - a
    e = (a - (s - t)) + (b - t)
    return s, np.where(np.isfinite(s), e, 0.0)


def two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """The product to nearest, and what is missing (Dekker); for numbers of moderate size."""
    p = a * b
    ah, al = _split(a)
    bh, bl = _split(b)
    return p, ((ah * bh - p) + ah * bl + al * bh) + al * bl


def _split(a: Array) -> tuple[Array, Array]:
    c = a * 134217729.0
    high = c - (c - a)
    return high, a - high


def odd(s: Array, e: Array) -> Array:
    """``s`` with the last bit set where something is missing, so that rounding again is right."""
    bits = s.view(np.int64).copy()
    even = (e != 0) & ((bits & 1) == 0)
    away = (e > 0) == (s > 0)
    bits[even] += np.where(away, 1, -1)[even]
    return bits.view(np.float64)


def narrowed(s: Array, e: Array | None, kind: str, mode: str) -> Array:
    """A pair in a narrower format: an array of float16, bfloat16 or float32."""
    exact = s if e is None else odd(*np.broadcast_arrays(s, e))
    if kind == "bf16":
        near = _bfloat(exact)
    else:
        near = exact.astype(np.float16 if kind == "f16" else np.float32)
    if mode == "rn":
        return near
    return _directed(near, exact, mode)


def _bfloat(exact: Array) -> Array:
    """float64 to bfloat16: by a float32 whose last bit says that something is missing."""
    wide = exact.astype(np.float32)
    back = wide.astype(np.float64)
    off = np.where(np.isfinite(exact), exact - np.where(np.isfinite(back), back, exact), 0.0)
    bits = wide.view(np.int32).copy()
    even = (off != 0) & ((bits & 1) == 0)
    bits[even] += np.where((off > 0) == (exact > 0), 1, -1)[even]
    return bits.view(np.float32).astype(ml_dtypes.bfloat16)


def _directed(near: Array, exact: Array, mode: str) -> Array:
    """The neighbour on the side that the mode asks for."""
    wide = near.astype(np.float64)
    low, high = near.dtype.type(-np.inf), near.dtype.type(np.inf)
    if mode == "rz":
        past, toward = np.abs(wide) > np.abs(exact), near.dtype.type(0)
    elif mode == "rm":
        past, toward = wide > exact, low
    else:
        past, toward = wide < exact, high
    return np.where(past, np.nextafter(near, toward), near)


def zeros(made: Array, a: Array, b: Array, mode: str) -> Array:
    """A sum that is zero is -0 when rounding down, unless both of its terms are +0."""
    if mode != "rm":
        return made
    plus = (a == 0) & (b == 0) & ~np.signbit(a) & ~np.signbit(b)
    return np.where((made == 0) & (a == -b) & ~plus, made.dtype.type(-0.0), made)


def canonical(made: Array, kind: str) -> Array:
    """NaN of formats below f64 is the canonical one; f64 keeps what NumPy gives."""
    if kind == "f64":
        return made
    nan = made != made
    if nan.any():
        bits = made.view(f"u{made.itemsize}")
        made = np.where(nan, bits.dtype.type(CANONICAL[kind]), bits).view(made.dtype)
    return made


def add(kind: str, mode: str) -> Callable[[Array, Array], Array]:
    """a + b."""
    if mode == "rn" and kind in ("f32", "f64"):
        return np.add
    if kind == "f64":
        return each(lambda a, b: a + b, np.add, kind, mode, lambda a, b: (a, b))

    def computed(a: Array, b: Array) -> Array:
        wide, other = a.astype(np.float64), b.astype(np.float64)
        return zeros(narrowed(*two_sum(wide, other), kind, mode), wide, other, mode)

    return computed


def multiply(kind: str, mode: str) -> Callable[[Array, Array], Array]:
    """a * b."""
    if mode == "rn" and kind in ("f32", "f64"):
        return np.multiply
    if kind == "f64":
        return each(lambda a, b: a * b, np.multiply, kind, mode)
    return lambda a, b: narrowed(a.astype(np.float64) * b.astype(np.float64), None, kind, mode)


def divide(kind: str, mode: str) -> Callable[[Array, Array], Array]:
    """a / b."""
    if mode == "rn":
        return np.divide
    exact = each(lambda a, b: a / b, np.divide, kind, mode)
    return lambda a, b: exact(a, b).astype(np.result_type(a, b))


def square_root(kind: str, mode: str) -> Callable[[Array], Array]:
    """The square root."""
    if mode == "rn":
        return np.sqrt
    exact = each(root, np.sqrt, kind, mode)
    return lambda a: exact(a).astype(a.dtype)


def fma(kind: str, mode: str) -> Callable[[Array, Array, Array], Array]:
    """a * b + c."""
    if kind == "f64":
        return _fma_wide if mode == "rn" else _fma_exact(mode)
    if kind == "f32" and mode == "rn":
        return _fma_single

    def computed(a: Array, b: Array, c: Array) -> Array:
        product, other = a.astype(np.float64) * b.astype(np.float64), c.astype(np.float64)
        return zeros(narrowed(*two_sum(product, other), kind, mode), product, other, mode)

    return computed


def _fma_single(a: Array, b: Array, c: Array) -> Array:
    """float32: the sum in float64 rounds twice only where its end looks like half a unit."""
    product = np.multiply(a, b, dtype=np.float64)
    s = np.asarray(product + c)
    made = s.astype(np.float32)
    rare = (s.view(np.int64) & 0x1FFFFFFF) == 0x10000000
    rare |= np.abs(made) < np.float32(2 * TINY)
    if rare.any():
        where = np.nonzero(rare)
        terms = [np.broadcast_to(x, s.shape)[where].astype(np.float64) for x in (product, c)]
        made[where] = odd(*two_sum(terms[0], terms[1])).astype(np.float32)
    return made


def _fma_exact(mode: str) -> Callable[[Array, Array, Array], Array]:
    def exact(a: Fraction, b: Fraction, c: Fraction) -> Fraction:
        return a * b + c

    # a product that is no zero, but too small for a float, is none of the terms that are zero
    return each(exact, _fma_plain, "f64", mode, lambda a, b, c: (a * b, c))


def _fma_plain(a: Array, b: Array, c: Array) -> Array:
    """What comes of infinities; a product beyond the range is none."""
    finite = np.isfinite(a) & np.isfinite(b) & np.isinf(c)
    made: Array = np.where(finite, c, a * b + c)
    return made


def _fma_wide(a: Array, b: Array, c: Array) -> Array:
    """float64, by sums whose errors are known (Boldo and Melquiond); else by exact numbers."""
    a, b, c = (np.array(x) for x in np.broadcast_arrays(a, b, c))
    high, low = two_product(a, b)
    top, rest = two_sum(c, low)
    s, e = two_sum(high, top)
    made = s + odd(*two_sum(rest, e))
    sizes = np.abs(a), np.abs(b)
    fine = np.ones(a.shape, bool)
    for size in sizes:
        fine &= (size > SAFE_LOW) & (size < SAFE_HIGH)
    fine &= (c == 0) | ((np.abs(c) > 2.0**-800) & (np.abs(c) < 2.0**900))
    fine &= made != 0
    if not fine.all():
        bad = ~fine
        plain = (a == 0) | (b == 0) | ~np.isfinite(a) | ~np.isfinite(b) | ~np.isfinite(c)
        made = np.where(plain, _fma_plain(a, b, c), made)
        bad &= ~plain
        if bad.any():
            made[bad] = _fma_exact("rn")(a[bad], b[bad], c[bad])
    return made
