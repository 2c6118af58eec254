"""Bandwidth by working set: the hierarchy of memories."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from bench.measure.executors import Host
from bench.measure.harness import Runner, gamma
from bench.measure.machine import caches
from bench.measure.problem import Problem, solve
from bench.measure.record import Record
from bench.report.figures import Figure
from bench.report.reading import amount, rows, time

TITLE = "Bandwidth by working set: the hierarchy of memories"
ABOUT = (
    "float32: y = x * 0.5, from arrays that fit the first cache to arrays beyond the last. With "
    "out= the same two arrays at each call, so what fits a cache stays there; without, each call "
    "gets memory for its result. The working set is both arrays."
)
FIGURES = (
    Figure("bandwidth", "working_set", "bandwidth", "bytes of both arrays", xlog=2, ylog=True),
)
SIZES = {
    "host": tuple(1 << n for n in range(14, 29)),
    "cuda": tuple(1 << n for n in range(16, 32)),
}
QUICK = (1 << 15, 1 << 18, 1 << 22)


HALF = np.float32(0.5)


def halved(x: Any) -> Any:
    return x * HALF


def measure(record: Record) -> None:
    """Each working set; the caches are marked."""
    sizes = record.sizes(SIZES[record.device], QUICK, 8)
    for nbytes in sizes:
        x = np.random.default_rng(0).random(nbytes // 8, dtype=np.float32)
        out = record.executor.xp.empty(x.shape, x.dtype)
        library = "NumPy, out=" if record.device == "host" else "CuPy, out="
        multiply = partial(record.executor.xp.multiply, HALF, out=out)
        extra = [Runner(library, multiply, 2 * x.nbytes, out, role="peer")]
        solve(record, Problem(
            halved, [x], {"working_set": nbytes}, gamma(1, np.float32), depth=1, flops=x.size,
            expr="x * half", constants={"half": HALF}, rotate=False,
        ), extra, slow=nbytes in (sizes[0], sizes[-1]))  # fmt: skip
    levels = caches() if isinstance(record.executor, Host) else {"L2": record.executor.cache_bytes}
    for name, size in levels.items():
        record.mark("bandwidth", f"{name}, {amount(size)}", size)


def reading(found: Mapping[str, Any]) -> str:
    """The highest rate, where it was, and the rate of the largest set."""
    ours = list(rows(found, "opweave, out="))
    if not ours:
        return ""
    rates = [(r["bytes"] / r["median_us"] / 1e3, r["parameters"]["working_set"]) for r in ours]
    best, where = max(rates)
    last, largest = rates[-1]
    levels = ", ".join(m["label"] for m in found["marks"])
    return (
        f"The highest rate is {best:.3g} GB/s, at a working set of {amount(where)}; at "
        f"{amount(largest)} it is {last:.3g} GB/s. Caches: {levels}. The smallest set takes "
        f"{time(ours[0]['median_us'])}, a call's own cost."
    )
