"""Correct rounding of exact rational numbers, one at a time: the way of rare cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np

from opweave.runtime.isa.instruction import Array

# Type: bits of the significand, least exponent of a unit in the last place, largest exponent.
FORMATS = {
    "f16": (11, -24, 15), "bf16": (8, -133, 127), "f32": (24, -149, 127), "f64": (53, -1074, 1023),
}  # fmt: skip


def rounded(value: Fraction, kind: str, mode: str) -> float:
    """A number in a format, as a float of Python's; zero comes out as +0.0.

    Args:
        mode: "rn" to nearest even, "rz" to zero, "rm" down, "rp" up.
    """
    if value == 0:
        return 0.0
    digits, least, top = FORMATS[kind]
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if Fraction(2) ** exponent > size:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - digits + 1, least)
    units = size / unit
    whole = units.numerator // units.denominator
    rest = units - whole
    up = {
        "rn": rest > Fraction(1, 2) or (rest == Fraction(1, 2) and whole % 2 == 1),
        "rz": False, "rm": value < 0 and rest > 0, "rp": value > 0 and rest > 0,
    }[mode]  # fmt: skip
    made, most = (whole + up) * unit, (2 - Fraction(2) ** (1 - digits)) * Fraction(2) ** top
    sign = -1 if value < 0 else 1
    if made > most:
        stays = mode == "rz" or (mode == "rm" and sign > 0) or (mode == "rp" and sign < 0)
        return sign * (float(most) if stays else math.inf)
    return sign * float(made)


def each(
    meaning: Callable[..., Fraction],
    plain: Callable[..., Array],
    kind: str,
    mode: str,
    terms: Callable[..., tuple[float, float]] | None = None,
) -> Callable[..., Array]:
    """A function of finite float64 arrays, rounded once; results that are no numbers are NumPy's.

    Args:
        meaning: of exact operands; may raise ZeroDivisionError or ValueError.
        plain: the same by NumPy, which says what comes of infinities, NaN and zeros.
        terms: of a sum, whose zero is -0 rounded down unless both of them are +0.
    """

    def one(values: Sequence[float], otherwise: float) -> float:
        try:
            value = meaning(*map(Fraction, values))
        except (ZeroDivisionError, ValueError, OverflowError):  # also of infinities and NaN
            return otherwise
        if value == 0:
            down = mode == "rm" and terms is not None and not _are_plus(terms(*values))
            return -0.0 if down else otherwise
        return rounded(value, kind, mode)

    def computed(*operands: Array) -> Array:
        made = plain(*operands)
        wide = [o.tolist() for o in np.broadcast_arrays(*operands, made)]
        return np.array([one(v, m) for *v, m in zip(*wide, strict=True)], np.float64)

    return computed


def _are_plus(values: tuple[float, ...]) -> bool:
    """All are +0.0."""
    return all(v == 0 and math.copysign(1, v) > 0 for v in values)


def root(value: Fraction) -> Fraction:
    """A number that rounds as the square root does, to any format and in any mode."""
    if value < 0:
        raise ValueError(value)
    shift = 2 * (200 + value.denominator.bit_length())
    scaled = (value.numerator << shift) // value.denominator
    found = math.isqrt(scaled)
    exact = found * found == scaled and (value.numerator << shift) % value.denominator == 0
    # between two numbers of 200 bits the root is not exact: half a step keeps it so
    return (Fraction(found) + (0 if exact else Fraction(1, 2))) / (1 << shift // 2)
