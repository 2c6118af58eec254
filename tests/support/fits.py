"""The polynomials of the host's functions: how their coefficients are found, and how good they are.

    python -m tests.support.fits      # each with its coefficients, and its largest relative error

Each is the interpolation of a function at the Chebyshev nodes of its interval, which is within a
small factor of the best polynomial of its degree, in long double and then rounded.
``templates/host`` has the numbers; ``tests/opcodes/test_host_math.py`` holds them to this file.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

L = np.longdouble
PI = L("3.14159265358979323846264338327950288")
SQRT2 = math.sqrt(2)
LN2 = np.log(L(2))
LN10 = np.log(L(10))
HALF_LOG2 = math.log10(2) / 2
EIGHTH = math.pi / 4  # of a turn


class Fit(NamedTuple):
    """A function on an interval, the degree of its polynomial, and the error that it may have.

    ``single``: the coefficients are floats.  ``beside``: what the polynomial is added to.
    """

    function: Callable
    low: float
    high: float
    degree: int
    error: float
    single: bool = False
    beside: float = 0


class Quotient(NamedTuple):
    """The same for a polynomial of degree ``over`` by one of degree ``under``, which begins with 1."""

    function: Callable
    low: float
    high: float
    over: int
    under: int
    error: float
    single: bool = False


def by_number(function: Callable[[float], float]) -> Callable:
    return lambda x: np.array([function(float(v)) for v in x], L)


def odd_tail(function: Callable) -> Callable:
    """(f(x) / x - 1) / x**2 at z = x**2: what is left of an odd function behind x."""
    return lambda z: (function(np.sqrt(z)) / np.sqrt(z) - 1) / z


def exp_tail(r):
    """What is left of exp(r) behind 1 + r, over r**2; near 0 by its series."""
    series = sum(r**k / math.factorial(k + 2) for k in range(9))
    with np.errstate(all="ignore"):
        return np.where(np.abs(r) < 0.01, series, (np.expm1(r) - r) / r**2)


def log_tail(f):
    """What is left of log(1 + f) behind f - f**2 / 2, over f**3."""
    return (np.log1p(f) - f + f**2 / 2) / f**3


def series(terms: list) -> Callable:
    """The sum of a power series, lowest power first."""
    return lambda x: np.polyval(np.array(terms[::-1], L), x)


def factorials(start: int, step: int, sign: int = 1) -> list:
    """1 / n! for n = start, start + step and so on, to n = 30; ``sign`` -1 turns each other one."""
    ns = range(start, 31, step)
    return [L(sign) ** (n // 2 % 2) / L(math.factorial(n)) for n in ns]


def odd_reciprocals(start: int, sign: int) -> list:
    """1 / 3, 1 / 5 and so on, from 1 / (2 * start + 1)."""
    return [L(sign) ** k / L(2 * k + 1) for k in range(start, 60)]


def arcsine_terms() -> list:
    """Of (asin(x) / x - 1) / x**2 in x**2."""
    factors = [L(2 * k - 1) / L(2 * k) for k in range(1, 70)]
    return [c / L(2 * k + 3) for k, c in enumerate(np.cumprod(factors))]


def inverse_root_terms() -> list:
    """Of ((1 - w)**(-1 / 3) - 1) / w."""
    return list(np.cumprod([L(3 * k + 1) / L(3 * k + 3) for k in range(60)]))


def erf_ratio(z):
    """erf(x) / x at z = x**2, for x up to 1."""
    terms = [c / (2 * k + 1) for k, c in enumerate(factorials(0, 1))]
    return 2 / np.sqrt(PI) * series(terms)(-z)


def scaled_erfc(x):
    """exp(x**2) erfc(x), beyond 1 by the continued fraction (DLMF, 7.9.3)."""
    under = x
    for k in range(600, 0, -1):
        under = x + k / (2 * np.maximum(under, L(0.5)))
    near = np.exp(x * x) * (1 - x * erf_ratio(np.minimum(x, 1) ** 2))
    return np.where(x < 1, near, 1 / (np.sqrt(PI) * np.maximum(under, L(0.5))))


def at_quotient(place: float, function: Callable) -> Callable:
    """A function of x at t = (x - place) / (x + place)."""
    return lambda t: function(place * (1 + t) / (1 - t))


def quotient_of(x: float, place: float) -> float:
    return (x - place) / (x + place)


def minus_log_erfc(x):
    """Of what erf is short of 1."""
    return x * x - np.log(scaled_erfc(x))


def exp_of(base: np.longdouble, start: int) -> Callable:
    """base**r behind its first terms, over r**start."""
    return series([base ** (k + start) * c for k, c in enumerate(factorials(start, 1))])


HALF_LN2 = math.log(2) / 2
FITS: dict[str, Fit] = {
    "wide exp": Fit(exp_tail, -HALF_LN2, HALF_LN2, 7, 2e-12),
    "double exp": Fit(exp_tail, -HALF_LN2, HALF_LN2, 10, 1e-16),
    "double log": Fit(odd_tail(np.arctanh), 0, (SQRT2 - 1) ** 4, 7, 1e-15),
    "double exp2": Fit(exp_of(LN2, 2), -0.5, 0.5, 9, 4e-16),
    "double atanh": Fit(series(odd_reciprocals(2, 1)), 0, (SQRT2 - 1) ** 4, 7, 1e-16),
    "double asin": Fit(series(arcsine_terms()), 0, 0.25, 12, 2e-16),
    "double atan": Fit(series(odd_reciprocals(1, -1)), 0, (SQRT2 - 1) ** 2, 10, 2e-16),
    "double sin": Fit(series(factorials(3, 2, -1)), 0, EIGHTH**2, 5, 3e-16),
    "double cos": Fit(series(factorials(4, 2, -1)), 0, EIGHTH**2, 5, 1e-16),
    "double sinh": Fit(series(factorials(3, 2)), 0, HALF_LN2**2, 4, 2e-16),
    "double cosh": Fit(series(factorials(4, 2)), 0, HALF_LN2**2, 4, 1e-16),
    "double cbrt": Fit(series(inverse_root_terms()), -0.105, 0.105, 3, 1e-5),
    "float exp": Fit(exp_tail, -HALF_LN2, HALF_LN2, 5, 2e-7, single=True),
    "float exp2": Fit(exp_of(LN2, 1), -0.5, 0.5, 5, 2e-7, single=True),
    "float exp10": Fit(exp_of(LN10, 1), -HALF_LOG2, HALF_LOG2, 5, 2e-7, single=True),
    "float sinh": Fit(series(factorials(3, 2)), 0, 1, 3, 2e-7, single=True),
    "float log": Fit(log_tail, SQRT2 / 2 - 1, SQRT2 - 1, 8, 2e-7, single=True),
    "log2 of float": Fit(lambda f: np.log1p(f) / (f * LN2), SQRT2 / 2 - 1, SQRT2 - 1, 12, 2e-11),
    "exp2 of float": Fit(np.exp2, -0.5, 0.5, 6, 3e-9),
    "float half log": Fit(odd_tail(np.arctanh), 0, 0.0744, 3, 2e-7, single=True),
    "float asin": Fit(series(arcsine_terms()), 0, 0.25, 5, 2e-7, single=True),
    "float atan": Fit(odd_tail(np.arctan), 0, 1, 9, 2e-7, single=True),
    "float sin": Fit(series(factorials(3, 2, -1)), 0, EIGHTH**2, 3, 2e-7, single=True),
    "float tan": Fit(odd_tail(np.tan), 0, EIGHTH**2, 6, 2e-7, single=True),
    "float cos": Fit(series(factorials(4, 2, -1)), 0, EIGHTH**2, 2, 2e-7, single=True),
    "float cbrt": Fit(series(inverse_root_terms()), -0.105, 0.105, 2, 2e-4, single=True),
    "float erf": Fit(lambda z: erf_ratio(z) - 1, 0, 1, 7, 2e-7, single=True, beside=1),
    "float erfc": Fit(minus_log_erfc, 1, 4, 7, 2e-6, single=True),
    "erfc": Fit(at_quotient(2.5, scaled_erfc), -1, quotient_of(10.1, 2.5), 12, 1e-10),
    "double erf": Fit(lambda z: erf_ratio(z) - 1, 0, 1, 11, 1e-16, beside=1),
    "double erf, far": Fit(minus_log_erfc, 1, 6, 24, 5e-14),  # of what is small
    "double erfc": Fit(
        at_quotient(3, lambda x: (1 + 2 * x) * scaled_erfc(x)), -1, quotient_of(27.4, 3), 22, 1e-16
    ),
}

QUOTIENTS: dict[str, Quotient] = {
    "double tanh": Quotient(odd_tail(np.tanh), 0, 0.55**2, 2, 3, 5e-16),
    "float tanh": Quotient(odd_tail(np.tanh), 0, 0.55**2, 0, 2, 2e-7, single=True),
}


def nodes(fit: Fit | Quotient, count: int) -> np.ndarray:
    """The Chebyshev nodes of its interval."""
    found = np.cos((2 * np.arange(count, dtype=L) + 1) * PI / (2 * count))
    return (L(fit.low) + L(fit.high)) / 2 + (L(fit.high) - L(fit.low)) / 2 * found


def quotient(fit: Quotient) -> tuple[list[float], list[float]]:
    """Coefficients of both polynomials of the interpolation, highest powers first."""
    over, under = range(fit.over + 1), range(1, fit.under + 1)
    x = nodes(fit, len(over) + len(under))
    points = [
        [Fraction(*v.as_integer_ratio()) for v in pair]
        for pair in zip(x, fit.function(x), strict=True)
    ]
    made = solved([[*(a**i for i in over), *(-b * a**i for i in under), b] for a, b in points])
    kind = np.float32 if fit.single else np.float64
    rounded = [float(kind(float(c))) for c in made]
    return rounded[fit.over :: -1], [*rounded[: fit.over : -1], 1.0]


def solved(rows: list[list[Fraction]]) -> list[Fraction]:
    """The solution of linear equations, each given with its right side; exact."""
    for i in range(len(rows)):
        rows[i:] = sorted(rows[i:], key=lambda row: -abs(row[i]))
        rows[i] = [v / rows[i][i] for v in rows[i]]
        for j, row in enumerate(rows):
            if j != i:
                rows[j] = [a - row[i] * b for a, b in zip(row, rows[i], strict=True)]
    return [row[-1] for row in rows]


def coefficients(fit: Fit) -> list[float]:
    """Coefficients of the interpolation at the Chebyshev nodes, highest power first."""
    count = fit.degree + 1
    x = nodes(fit, count)
    divided = fit.function(x)
    for j in range(1, count):  # Newton's divided differences
        divided[j:] = (divided[j:] - divided[j - 1 : -1]) / (x[j:] - x[:-j])
    made = np.zeros(1, L)
    for j in reversed(range(count)):
        made = np.append(L(0), made) - np.append(x[j] * made, L(0))
        made[0] += divided[j]
    kind = np.float32 if fit.single else np.float64
    return [float(kind(c)) for c in made[count - 1 :: -1]]


def turns() -> list[tuple[float, ...]]:
    """2**(16 j) modulo 2 pi for j = 0 to 62, as `power_of_turn` has it; 1 is left as it is."""
    return [(1.0, 0.0, 0.0), *(power_of_turn(16 * j) for j in range(1, 63))]


def power_of_turn(exponent: int) -> tuple[float, ...]:
    """2**exponent modulo 2 pi as the sum of three doubles."""
    bits = 1400
    half = arctangent(5, bits) * 16 - arctangent(239, bits) * 4  # Machin's formula: pi
    rest = (1 << bits + exponent) % (2 * half)
    rest -= 2 * half if rest > half else 0
    parts = []
    for _ in range(3):
        parts.append(float(Fraction(rest, 1 << bits)))
        rest -= int(Fraction(parts[-1]) * (1 << bits))
    return tuple(parts)


def arctangent(n: int, bits: int) -> int:
    """2**bits * atan(1 / n)."""
    power, total, k = (1 << bits) // n, 0, 0
    while power:
        total += (-1) ** k * power // (2 * k + 1)
        power //= n * n
        k += 1
    return total


def text(fit: Fit | Quotient, found: float) -> str:
    """A coefficient as it stands in the source."""
    return f"{np.float32(found)!s}f" if fit.single else repr(found)


def largest_error(fit: Fit | Quotient, found: list[float], under: Sequence[float] = (1,)) -> float:
    """The largest relative error of a polynomial, or of a quotient, over its interval."""
    x = np.linspace(L(fit.low), L(fit.high), 20_002)[1:-1]
    x = x[np.abs(x) > 1e-3]  # nearer to 0 some of the functions themselves lose digits
    made = np.polyval(np.array(found, L), x) / np.polyval(np.array(under, L), x)
    beside = getattr(fit, "beside", 0)
    return float(np.max(np.abs((beside + made) / (beside + fit.function(x)) - 1)))


if __name__ == "__main__":
    for name, fit in FITS.items():
        found = coefficients(fit)
        print(f"{name}: {', '.join(text(fit, c) for c in found)}")
        print(f"  relative error {largest_error(fit, found):.1e}")
    for name, fit in QUOTIENTS.items():
        for found in quotient(fit):
            print(f"{name}: {', '.join(text(fit, c) for c in found)}")
        print(f"  relative error {largest_error(fit, *quotient(fit)):.1e}")
