"""The exercise of the guide: a histogram of 2,000,000 values, by bins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bench.measure.harness import Runner
from bench.measure.problem import Problem, solve
from bench.measure.record import Record
from bench.report.figures import Figure
from bench.report.reading import quickest, values

TITLE = "Histogram: 2,000,000 values by bins"
ABOUT = (
    "uint8 values below the number of bins, counted. opweave has no scatter, so it counts by "
    "comparison: for every bin the values that equal it, a row reduction of bins rows, which does "
    "bins times the work of one pass. Libraries add to a bin a value. The figure shows the price."
)
FIGURES = (Figure("time", "bins", "time", "bins", panels=("elements",), xlog=2),)
SIZES = {"host": (2_000_000,), "cuda": (2_000_000,)}
QUICK = (100_000,)
BINS = (4, 16, 64, 256)


def counted(x: Any, names: Any) -> Any:
    """Values in one row, bins in one column."""
    return (x == names).sum(1)


def bincount(x: Any, names: Any) -> Any:
    """PyTorch's own."""
    return np.bincount(x.reshape(-1), minlength=names.shape[0])


def bincount_of_length(x: Any, names: Any) -> Any:
    """JAX's own, whose shapes are known when it is compiled."""
    return np.bincount(x.reshape(-1), length=names.shape[0])


def measure(record: Record) -> None:
    """Each number of bins."""
    xp = record.executor.xp
    for size in record.sizes(SIZES[record.device], QUICK, 64):
        for bins in BINS:
            x = np.random.default_rng(0).integers(0, bins, size).astype(np.uint8)
            names = np.arange(bins).astype(np.uint8)
            libraries = [
                Runner("library's bincount",
                       lambda x, names, n=bins: xp.bincount(x.reshape(-1), minlength=n),
                       role="peer"),
            ]  # fmt: skip
            solve(record, Problem(
                counted, [x.reshape(1, -1), names.reshape(-1, 1)],
                {"bins": bins, "elements": size}, nbytes=x.nbytes + 8 * bins, flops=size,
                dtype=np.int64,
                own={"PyTorch": (bincount,), "JAX": (bincount_of_length,)},
            ), libraries, with_peers=bins <= 16)  # fmt: skip


def reading(found: Mapping[str, Any]) -> str:
    """Where comparing stops to pay."""
    bins = values(found, "bins")
    if not bins:
        return ""
    return (
        f"Quickest at {bins[0]} bins: {quickest(found, bins=bins[0])}; at {bins[-1]}: "
        f"{quickest(found, bins=bins[-1])}. Comparing does work in proportion to the bins; a "
        "scatter would not, and is what opweave lacks here."
    )
