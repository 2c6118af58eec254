"""Tables whose elements wait for those before them, in rows: beside NumPy and numba."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from bench.experiments.in_place.table import Drawn, Program, fields
from bench.experiments.kernels.programs import one, reading
from bench.measure.record import Record
from bench.report.figures import Figure

TITLE = "Sweeps, recurrences and tables, element by element"
ABOUT = (
    "Loops over both axes of a table in which an element waits for the one before it in its row, "
    "as NumPy users write them: NumPy itself, an element at a time, numba, and ours, which "
    "computes eight rows side by side. All are compared with NumPy's results before anything is "
    "timed, and take turns. small: 48 x 48; large: 400 x 400."
)
FIGURES = (Figure("time", "program", "time", kind="bars", panels=("size",)),)
DEVICES = ("host",)
SIZES, QUICK = ("small", "large"), ("tiny",)
__all__ = ["ABOUT", "DEVICES", "FIGURES", "TITLE", "measure", "reading"]


def swept(u: Any, f: Any) -> None:
    """Gauss and Seidel."""
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            near = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
            u[i, j] = 0.25 * (near - f[i, j])


def over_relaxed(u: Any, w: float) -> None:
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            near = u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1]
            u[i, j] += w * (near / 4 - u[i, j])


def mean_of_nine(u: Any) -> None:
    for i in range(1, u.shape[0] - 1):
        for j in range(1, u.shape[1] - 1):
            above = u[i - 1, j - 1] + u[i - 1, j] + u[i - 1, j + 1]
            below = u[i + 1, j - 1] + u[i + 1, j] + u[i + 1, j + 1]
            u[i, j] = (above + u[i, j - 1] + u[i, j] + u[i, j + 1] + below) / 9


def filtered(y: Any, x: Any, b: Any, a: Any) -> None:
    """A second-order filter of each row."""
    for c in range(y.shape[0]):
        for t in range(2, y.shape[1]):
            new = b[0] * x[c, t] + b[1] * x[c, t - 1] + b[2] * x[c, t - 2]
            y[c, t] = new - a[0] * y[c, t - 1] - a[1] * y[c, t - 2]


def eliminated(c: Any, d: Any, a: Any, b: Any) -> None:
    """A tridiagonal system in each row, on its way down."""
    for i in range(d.shape[0]):
        for j in range(1, d.shape[1]):
            pivot = b[i, j] - a[i, j] * c[i, j - 1]
            c[i, j] = c[i, j] / pivot
            d[i, j] = (d[i, j] - a[i, j] * d[i, j - 1]) / pivot


def warped(d: Any, x: Any, y: Any) -> None:
    """Dynamic time warping."""
    for i in range(1, d.shape[0]):
        for j in range(1, d.shape[1]):
            least = min(d[i - 1, j], d[i, j - 1], d[i - 1, j - 1])
            d[i, j] = abs(x[i - 1] - y[j - 1]) + least


def aligned(h: Any, s: Any, gap: float) -> None:
    """Smith and Waterman, of scores that are known."""
    for i in range(1, h.shape[0]):
        for j in range(1, h.shape[1]):
            h[i, j] = max(h[i - 1, j - 1] + s[i, j], h[i - 1, j] - gap, h[i, j - 1] - gap, 0.0)


def summed_area(d: Any) -> None:
    for i in range(1, d.shape[0]):
        for j in range(1, d.shape[1]):
            d[i, j] += d[i - 1, j] + d[i, j - 1] - d[i - 1, j - 1]


def smoothed(y: Any, x: Any, a: float) -> None:
    """A first-order filter of each row, from a number of Python."""
    for c in range(y.shape[0]):
        s = 0.0
        for t in range(y.shape[1]):
            s = a * s + (1 - a) * x[c, t]
            y[c, t] = s


def biquad(y: Any, x: Any, b: Any, a: Any) -> None:
    """A second-order filter of each row, with two numbers as its state."""
    for c in range(y.shape[0]):
        z1 = 0.0
        z2 = 0.0
        for t in range(y.shape[1]):
            v = x[c, t]
            y[c, t] = b[0] * v + z1
            z1 = b[1] * v + z2 - a[0] * y[c, t]
            z2 = b[2] * v - a[1] * y[c, t]


def envelope(y: Any, x: Any, rise: float, fall: float) -> None:
    """The level of each row, which rises and falls at another pace."""
    for c in range(y.shape[0]):
        e = 0.0
        for t in range(y.shape[1]):
            v = abs(x[c, t])
            pace = rise if v > e else fall
            e = pace * e + (1 - pace) * v
            y[c, t] = e


def of_smoothing(n: int, rng: Drawn) -> tuple[Any, ...]:
    return np.zeros((n, n)), rng.random((n, n)), 0.9


def of_envelope(n: int, rng: Drawn) -> tuple[Any, ...]:
    return np.zeros((n, n)), rng.standard_normal((n, n)), 0.1, 0.9


def of_filter(n: int, rng: Drawn) -> tuple[Any, ...]:
    table = rng.random((n, n))
    return np.zeros((n, n)), table, np.array([0.2, 0.4, 0.2]), np.array([-0.5, 0.3])


def of_elimination(n: int, rng: Drawn) -> tuple[Any, ...]:
    c, d, a, b = (rng.random((n, n)) for _ in range(4))
    return c, d, a, b + 3


def of_warping(n: int, rng: Drawn) -> tuple[Any, ...]:
    d = np.full((n, n), np.inf)
    d[0, 0] = 0
    return d, rng.random(n - 1), rng.random(n - 1)


def of_alignment(n: int, rng: Drawn) -> tuple[Any, ...]:
    return np.zeros((n, n)), rng.standard_normal((n, n)), 0.5


PROGRAMS = {
    program.name: program
    for program in (
        Program(swept, fields(2), 48, 400, 40),
        Program(over_relaxed, fields(1, 1.5), 48, 400, 40),
        Program(mean_of_nine, fields(1), 48, 400, 40),
        Program(filtered, of_filter, 48, 400, 40),
        Program(eliminated, of_elimination, 48, 400, 40),
        Program(warped, of_warping, 48, 400, 40),
        Program(aligned, of_alignment, 48, 400, 40),
        Program(summed_area, fields(1), 48, 400, 40),
        Program(smoothed, of_smoothing, 48, 400, 40),
        Program(biquad, of_filter, 48, 400, 40),
        Program(envelope, of_envelope, 48, 400, 40),
    )
}


def measure(record: Record) -> None:
    """Each program at each size."""
    warnings.simplefilter("ignore", RuntimeWarning)
    for size in QUICK if record.options.quick else SIZES:
        for program in PROGRAMS.values():
            one(record, program, size)
