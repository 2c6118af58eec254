"""Passes over memory: what a fused pair of operators saves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bench.measure.harness import gamma
from bench.measure.problem import UNFUSED, Problem, solve
from bench.measure.record import Record
from bench.report.figures import Figure
from bench.report.reading import bandwidth, quickest, regime, rows, times

TITLE = "Passes over memory: x * 2 + 1, cos, cos of cos"
ABOUT = (
    "float32, one array in and one out. An operator by itself reads 4 and writes 4 bytes an "
    "element; two that are fused do so once between them. opweave, numba and numexpr use all "
    "cores of the host, NumPy one."
)
FIGURES = (
    Figure("time", "", "milliseconds", kind="bars", panels=("problem",), ylog=False),
    Figure("moved", "", "moved", kind="bars", panels=("problem",), ylog=False),
)
SIZES = {"host": (1 << 24,), "cuda": (1 << 28,)}
QUICK = (1 << 20,)


def affine(x: Any) -> Any:
    return x * 2 + 1


def cosine(x: Any) -> Any:
    return np.cos(x)


def cosines(x: Any) -> Any:
    return np.cos(np.cos(x))


PROBLEMS = {
    "x * 2 + 1": (affine, "x * 2 + 1", 2),
    "cos": (cosine, "cos(x)", 14),
    "cos of cos": (cosines, "cos(cos(x))", 28),
}


def measure(record: Record) -> None:
    """Each problem, fused and as one kernel an operator."""
    for size in record.sizes(SIZES[record.device], QUICK, 8 * 10):
        x = np.random.default_rng(0).uniform(-3, 3, size).astype(np.float32)
        for name, (fn, expr, flops) in PROBLEMS.items():
            solve(record, Problem(
                fn, [x], {"problem": name, "elements": size}, gamma(12, np.float32), 1e-6, 12,
                flops=flops * size, expr=expr,
                variants={UNFUSED: lambda fused: fused.unfused()},
            ))  # fmt: skip
    if record.device == "cuda":  # where memory binds a cosine, as it does no host
        one, two = (record.median("opweave", problem=p) for p in ("cos", "cos of cos"))
        record.limit("fused cos of cos / cos", "<= 1.5", two / one if one and two else None, "x")


def reading(found: Mapping[str, Any]) -> str:
    """Fused against not, by time and by bytes."""
    fused, apart = (times(found, r, problem="x * 2 + 1") for r in
                    ("opweave", UNFUSED))  # fmt: skip
    one, two = (times(found, "opweave", problem=p) for p in ("cos", "cos of cos"))
    if not (fused and apart and one and two):
        return ""
    row = next(rows(found, "opweave", problem="cos of cos"))
    return (
        f"One kernel takes {fused[0] / apart[0]:.2f} of the time of two for x * 2 + 1 and moves "
        f"half the bytes, at {bandwidth(found, 'opweave', problem='x * 2 + 1'):.0f} GB/s. The "
        f"second cosine makes the fused kernel {two[0] / one[0]:.2f} times as long as the first "
        f"alone; of its time, {regime(row, found['roofs'])}. "
        f"Quickest at x * 2 + 1: {quickest(found, problem='x * 2 + 1')}."
    )
