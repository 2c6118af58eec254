"""One function over one array: where arithmetic, not memory, is what is waited for."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from statistics import geometric_mean
from typing import Any

import numpy as np

import opweave as ow
from bench.measure.harness import Expected
from bench.measure.record import Case, Record
from bench.report.figures import Figure
from bench.report.reading import rows

TITLE = "Functions of one array"
ABOUT = (
    "A function of NumPy's over an array of numbers between 0.1 and 0.9 (arccosh between 1.1 and "
    "1.9; integers below 2**30), each a kernel of its own: by NumPy (on a GPU by CuPy), which "
    "uses one core, and fused, on all cores. power and arctan2 take a second such array, // a "
    "number of the call. Results are compared with NumPy's, to 4 ULP."
)
FIGURES = (Figure("time", "function", "time", kind="bars", panels=("dtype",)),)
SIZE, QUICK = 10**6, 10**5
BYTES_EACH = 40
FLOATS = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin",
    "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "cbrt", "sqrt",
    "power", "arctan2",
)  # fmt: skip
INTEGERS = ("floor_divide", "remainder")
HALVES = ("exp", "exp2", "log", "sin", "tan", "tanh", "sqrt", "negative", "absolute")
DTYPES = {
    "float16": HALVES,
    "float32": FLOATS,
    "float64": FLOATS,
    "int32": INTEGERS,
    "int64": INTEGERS,
}
DIVISOR = 1007


def arguments(name: str, dtype: str, size: int) -> tuple[Any, ...]:
    """Of a function: arrays, and a number."""
    rng = np.random.default_rng(0)
    if dtype.startswith("int"):
        return rng.integers(0, 1 << 30, size).astype(dtype), np.dtype(dtype).type(DIVISOR)
    x = rng.uniform(0.1, 0.9, size) + (name == "arccosh")
    both = (x, x[::-1].copy()) if name in ("power", "arctan2") else (x,)
    return tuple(a.astype(dtype) for a in both)


def measure(record: Record) -> None:
    """Each function of each dtype."""
    warnings.simplefilter("ignore", RuntimeWarning)
    (size,) = record.sizes((SIZE,), (QUICK,), BYTES_EACH)
    for dtype, names in DTYPES.items():
        for name in names:
            one(record, name, dtype, size)


def one(record: Record, name: str, dtype: str, size: int) -> None:
    """A function, fused and by the library."""
    executor, given = record.executor, arguments(name, dtype, size)
    function = getattr(executor.xp, name)
    expected = getattr(np, name)(*given)
    args = tuple(executor.put(a) if isinstance(a, np.ndarray) else a for a in given)
    relative = 4 * float(np.finfo(dtype).eps) if expected.dtype.kind == "f" else 0.0
    moved = expected.nbytes + sum(a.nbytes for a in given if isinstance(a, np.ndarray))
    wanted = Expected(executor.put(expected), relative)
    case = Case({"function": name, "dtype": dtype, "elements": size}, [args], dtype, wanted, moved)
    fused = ow.fuse(lambda *arrays: getattr(np, name)(*arrays))
    record.beside_library(fused, function, case)


def reading(found: Mapping[str, Any]) -> str:
    """How many times the library's speed, for each dtype; the slowest functions by name."""
    text = []
    for dtype in DTYPES:
        times: dict[str, dict[str, float]] = {}
        for row in rows(found, dtype=dtype):
            kind = "ours" if row["role"] == "ours" else "peer"
            times.setdefault(row["parameters"]["function"], {})[kind] = row["median_us"]
        ratios = {n: t["peer"] / t["ours"] for n, t in times.items() if len(t) == 2}
        if not ratios:
            continue
        shown = ", ".join(
            f"{n} {ratios[n]:.2f}" for n in sorted(ratios, key=lambda n: ratios[n])[:3]
        )
        text.append(
            f"{dtype}: {geometric_mean(ratios.values()):.1f} times the library's speed (geometric "
            f"mean of {len(ratios)}); slowest: {shown}."
        )
    return " ".join(text)
