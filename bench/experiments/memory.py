"""Bandwidth by working set: the hierarchy of memories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from executors import Host
from figures import Figure
from harness import gamma
from machine import caches
from problem import Problem, solve
from reading import amount, rows
from record import Record

TITLE = "Bandwidth by working set: the hierarchy of memories"
ABOUT = (
    "float32: y = x * 0.5 into memory that is there, from arrays that fit the first cache to "
    "arrays beyond the last. The same two arrays at each call, so what fits a cache stays there. "
    "The working set is both arrays; small ones are bound by the cost of a call."
)
FIGURES = (
    Figure("bandwidth", "working_set", "bandwidth", "bytes of both arrays", xlog=2, ylog=True),
)
SIZES = {
    "host": tuple(1 << n for n in range(14, 29)),
    "cuda": tuple(1 << n for n in range(16, 32)),
}
QUICK = (1 << 15, 1 << 18, 1 << 22)


def halved(x: Any) -> Any:
    return x * 0.5


def measure(record: Record) -> None:
    """Each working set; the caches are marked."""
    sizes = record.sizes(SIZES[record.device], QUICK, 8)
    for nbytes in sizes:
        x = np.random.default_rng(0).random(nbytes // 8, dtype=np.float32)
        solve(record, Problem(
            halved, [x], {"working_set": nbytes}, gamma(1, np.float32), depth=1, flops=x.size,
            expr="x * 0.5", rotate=False,
        ), slow=nbytes in (sizes[0], sizes[-1]))  # fmt: skip
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
        f"{amount(largest)} it is {last:.3g} GB/s, the memory's own. Between them lie the caches "
        f"({levels}); left of the highest rate the cost of a call binds."
    )
