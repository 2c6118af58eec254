"""The exercise of the guide: counts and histograms of 2,000,000 values, by bins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bench.measure.problem import Problem, solve
from bench.measure.record import Record
from bench.report.figures import Figure
from bench.report.reading import quickest, values

TITLE = "Counts and histograms: 2,000,000 values by bins"
ABOUT = (
    "bincount: uint8 values below the number of bins, counted. histogram: float64 values between "
    "0 and 1, in bins of one width between the smallest and the largest, which are looked for "
    "first. Each is one of NumPy's functions, and compiles to kernels of ours; results are equal."
)
FIGURES = (Figure("time", "bins", "time", "bins", panels=("function",), xlog=2),)
SIZES = {"host": (2_000_000,), "cuda": (2_000_000,)}
QUICK = (100_000,)
BINS = (4, 16, 64, 256)
PEERS_AT = (16, 256)


def bincount(x: Any, names: Any) -> Any:
    """As many bins as there are names."""
    return np.bincount(x, minlength=names.shape[0])


def bincount_of_length(x: Any, names: Any) -> Any:
    """JAX's own, whose shapes are known when it is compiled."""
    return np.bincount(x, length=names.shape[0])


def histogram(x: Any, names: Any) -> Any:
    """Likewise."""
    return np.histogram(x, names.shape[0])[0]


def measure(record: Record) -> None:
    """Each function, and each number of bins."""
    for size in record.sizes(SIZES[record.device], QUICK, 64):
        rng = np.random.default_rng(0)
        for bins in BINS:
            names = np.arange(bins).astype(np.uint8)
            x, y = rng.integers(0, bins, size).astype(np.uint8), rng.random(size)
            for fn, given, own in (
                (bincount, x, {"JAX": (bincount_of_length,)}),
                (histogram, y, {}),
            ):
                solve(record, Problem(
                    fn, [given, names],
                    {"function": fn.__name__, "bins": bins, "elements": size},
                    nbytes=given.nbytes + 8 * bins, flops=size, dtype=np.int64, own=own,
                ), with_peers=bins in PEERS_AT)  # fmt: skip


def reading(found: Mapping[str, Any]) -> str:
    """Who is quickest at few and at many bins."""
    text = []
    for function in values(found, "function"):
        bins = values(found, "bins")
        each = [
            f"at {n} {quickest(found, function=function, bins=n)}" for n in (bins[0], bins[-1])
        ]
        text.append(f"Quickest at {function}: {'; '.join(each)}.")
    return " ".join(text)
