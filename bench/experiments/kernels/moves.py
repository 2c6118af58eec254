"""Small arrays that are moved, changed in place, or of float16: where a host does little else."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import opweave as ow
from bench.measure.harness import Expected
from bench.measure.record import Case, Record
from bench.report.figures import Figure
from bench.report.reading import rows

TITLE = "Small moves, in place, float16 and masks"
ABOUT = (
    "Matrices of float64: a stack of nine of them, a roll over two axes, a change in place; of "
    "float16: a sum, a product and a sum of a product; of complex128: a step of a Mandelbrot set, "
    "in which a mask says what still moves. By NumPy (on a GPU by CuPy), which uses one core, and "
    "fused."
)
FIGURES = (Figure("time", "function", "time", kind="bars", panels=("n",)),)
SIZES, QUICK = (333, 512, 1000), (100,)
BYTES_EACH = 200


def stack_of_nine(xp: Any) -> Callable[..., Any]:
    return lambda *x: xp.stack(x)


def roll_of_two_axes(xp: Any) -> Callable[..., Any]:
    return lambda x: xp.roll(x, (3, 5), (0, 1))


def in_place(xp: Any) -> Callable[..., Any]:
    def limited(x: Any) -> Any:
        xp.maximum(x, 0.25, out=x)
        return x

    return limited


def sum_of_halves(_: Any) -> Callable[..., Any]:
    return lambda x, y: x + y


def chain_of_halves(_: Any) -> Callable[..., Any]:
    return lambda x, y: (x + y) * x - y


def mandelbrot_step(xp: Any) -> Callable[..., Any]:
    def step(z: Any, c: Any) -> Any:
        moves, z = xp.abs(z) < 2, z + 0
        z[moves] = z[moves] ** 2 + c[moves]
        return z

    return step


# Each function, how many matrices it takes, and of which dtype.
CASES = {
    "stack of nine": (stack_of_nine, 9, "float64"),
    "roll over two axes": (roll_of_two_axes, 1, "float64"),
    "in place": (in_place, 1, "float64"),
    "float16 sum": (sum_of_halves, 2, "float16"),
    "float16 chain": (chain_of_halves, 2, "float16"),
    "Mandelbrot step": (mandelbrot_step, 2, "complex128"),
}


def measure(record: Record) -> None:
    """Each case of each size."""
    warnings.simplefilter("ignore", RuntimeWarning)
    for n in record.sizes(SIZES, QUICK, BYTES_EACH, 2):
        for name in CASES:
            one(record, name, n)


def one(record: Record, name: str, n: int) -> None:
    """A case, fused and by the library."""
    (made, count, dtype), rng = CASES[name], np.random.default_rng(0)
    given = [rng.uniform(0.5, 3, (n, n)).astype(dtype) for _ in range(count)]
    expected = made(np)(*(x.copy() for x in given))
    executor = record.executor
    eps = float(np.finfo(dtype).eps)
    moved = expected.nbytes + sum(x.nbytes for x in given)
    case = Case(
        {"function": name, "n": n, "dtype": dtype}, [tuple(map(executor.put, given))], dtype,
        Expected(executor.put(expected), 4 * eps), moved,
    )  # fmt: skip
    record.beside_library(ow.fuse(made(np)), made(executor.xp), case)


def reading(found: Mapping[str, Any]) -> str:
    """How many times the library's speed, case by case."""
    times: dict[tuple[str, int], dict[str, float]] = {}
    for row in rows(found):
        of = row["parameters"]
        kind = "ours" if row["role"] == "ours" else "peer"
        times.setdefault((of["function"], of["n"]), {})[kind] = row["median_us"]
    ratios = [
        f"{name} of {n}: {t['peer'] / t['ours']:.2f}"
        for (name, n), t in times.items()
        if len(t) == 2
    ]
    return f"Times the library's speed: {', '.join(ratios)}." if ratios else ""
