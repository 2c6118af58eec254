"""Rows of few columns, and of lengths that no vector divides: the shape of most tables of data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import opweave as ow
from bench.measure.harness import Expected
from bench.measure.record import Case, Record
from bench.report.figures import Figure
from bench.report.reading import rows

TITLE = "Tables: rows of few columns"
ABOUT = (
    "float32, n elements in rows of so many columns: x * a + b with a and b of one row, x - m "
    "with m of one column, sums of neighbours, a roll along the rows, two tables side by side, "
    "and x *= a in place. By NumPy (on a GPU by CuPy), which uses one core, and fused."
)
FIGURES = (Figure("time", "columns", "time", panels=("function", "n")),)
COLUMNS, QUICK_COLUMNS = (3, 7, 10, 20, 33, 63, 64, 65, 100, 300, 1000), (10, 65)
SIZES, QUICK = (100_000, 1_000_000), (10_000,)
BYTES_EACH = 16


def scaled(x: Any, a: Any, b: Any) -> Any:
    return x * a + b


def centred(x: Any, m: Any) -> Any:
    return x - m


def neighbours(x: Any) -> Any:
    return x[:, :-1] + x[:, 1:]


def around(xp: Any) -> Callable[..., Any]:
    return lambda x: xp.roll(x, 1, axis=1)


def beside(xp: Any) -> Callable[..., Any]:
    return lambda x: xp.concatenate([x, x], axis=1)


def in_place(x: Any, a: Any) -> Any:
    x *= a
    return x


# Each function by a library, and the shapes of its arguments behind the table: rows, columns.
CASES: dict[str, tuple[Callable[[Any], Callable[..., Any]], str]] = {
    "x * a + b": (lambda _: scaled, "cc"),
    "x - m": (lambda _: centred, "r"),
    "neighbours": (lambda _: neighbours, ""),
    "roll": (around, ""),
    "side by side": (beside, ""),
    "x *= a": (lambda _: in_place, "c"),
}


def measure(record: Record) -> None:
    """Each function of each table."""
    for n in record.sizes(SIZES, QUICK, BYTES_EACH, 1):
        for columns in QUICK_COLUMNS if record.options.quick else COLUMNS:
            for name in CASES:
                one(record, name, n // columns, columns, n)


def one(record: Record, name: str, count: int, columns: int, n: int) -> None:
    """A function of a table, fused and by the library."""
    (made, others), rng = CASES[name], np.random.default_rng(0)
    shapes = {"c": (columns,), "r": (count, 1)}
    # the others are ones: in place each call goes on from what the last one left
    given = [rng.random((count, columns), np.float32)]
    given += [np.ones(shapes[o], np.float32) for o in others]
    expected = made(np)(*(x.copy() for x in given))
    executor = record.executor
    moved = expected.nbytes + given[0].nbytes
    case = Case(
        {"function": name, "columns": columns, "n": n}, [tuple(map(executor.put, given))],
        "float32", Expected(executor.put(expected), 0), moved,
    )  # fmt: skip
    record.beside_library(ow.fuse(made(np)), made(executor.xp), case)


def reading(found: Mapping[str, Any]) -> str:
    """How many times the library's speed, the least and the geometric mean of each function."""
    times: dict[tuple[str, int, int], dict[str, float]] = {}
    for row in rows(found):
        of = row["parameters"]
        kind = "ours" if row["role"] == "ours" else "peer"
        key = of["function"], of["n"], of["columns"]
        times.setdefault(key, {})[kind] = row["median_us"]
    ratios: dict[str, list[float]] = {}
    for (name, _, _), t in times.items():
        if len(t) == 2:
            ratios.setdefault(name, []).append(t["peer"] / t["ours"])
    told = [
        f"{name}: {np.exp(np.mean(np.log(r))):.2f} (least {min(r):.2f})"
        for name, r in ratios.items()
    ]
    return f"Times the library's speed, geometric means: {', '.join(told)}." if told else ""
