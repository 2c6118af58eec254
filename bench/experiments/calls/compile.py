"""What compiling costs: cold, from the disk, from memory."""

from __future__ import annotations

import sys
import tempfile
import time as clock
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

import opweave as ow
from bench.measure.record import Record
from bench.report.figures import Figure
from bench.report.reading import rows, time, values
from opweave.runtime.binaries.build import BinaryBuilder, builder

TITLE = "What compiling costs: cold, from the disk, from memory"
ABOUT = (
    "The first call of a function that was never seen: trace, schedule, source, compiler, load. "
    "The same with a disk cache that has the kernel and nothing in memory. The second call. One "
    "small call of each kind of kernel and the wait for its result, by the host's clock."
)
FIGURES = (Figure("time", "kernel", "milliseconds", "kernel", kind="bars", panels=("state",)),)

X = np.linspace(0.1, 1, 64 * 96, dtype=np.float32).reshape(64, 96)
W = np.linspace(-1, 1, 96 * 64, dtype=np.float32).reshape(96, 64)
KERNELS: dict[str, tuple[Callable[..., Any], tuple[np.ndarray, ...]]] = {
    "map": (lambda x: x * 2 + 1, (X,)),
    "row, softmax": (lambda x: ow.softmax(x), (X,)),
    "reduce": (lambda x: (x * x).sum(), (X,)),
    "product": (lambda x, w: np.maximum(x @ w, 0), (X, W)),
}


def measure(record: Record) -> None:
    """Each kind in each state; the disk cache is a folder of its own."""
    from opweave.runtime.binaries.cache import DiskCache

    for name, (fn, arrays) in KERNELS.items():
        given = [record.executor.put(a) for a in arrays]
        found: dict[str, list[float]] = {"cold": [], "disk": [], "memory": []}
        for _ in range(2 if record.options.quick else 5):
            with tempfile.TemporaryDirectory() as folder, Fresh(DiskCache(Path(folder))) as renew:
                found["cold"].append(seconds(record, ow.fuse(fn), given))
                renew()
                fused = ow.fuse(fn)
                found["disk"].append(seconds(record, fused, given))
                found["memory"].append(seconds(record, fused, given))
        for state, samples in found.items():
            record.measured("opweave", {"kernel": name, "state": state}, samples)
    median = record.median("opweave", kernel="map", state="cold")
    record.limit("first call of a small kernel", "<= 800", median and 1e3 * median, "ms")


class Fresh:
    """Builders over a cache of our own while it lasts; calling it forgets what is in memory."""

    def __init__(self, disk: Any):
        self.disk = disk

    def __enter__(self) -> Callable[[], None]:
        self.before = builder()
        self.renew()
        return self.renew

    def renew(self) -> None:
        builder.become(BinaryBuilder(self.disk))
        if cuda := sys.modules.get("opweave.runtime.cuda.executor"):
            cuda.forget_executors()  # which keep modules that are loaded

    def __exit__(self, *_: Any) -> None:
        builder.become(self.before)


def seconds(record: Record, fused: Any, given: list[Any]) -> float:
    start = clock.perf_counter()
    fused(*given)
    record.executor.synchronize()
    return clock.perf_counter() - start


def reading(found: Mapping[str, Any]) -> str:
    """The three states of a map."""
    states = {s: next(rows(found, "opweave", kernel="map", state=s), None)
              for s in values(found, "state")}  # fmt: skip
    if not states:
        return ""
    shown = ", ".join(f"{s} {time(r['median_us'])}" for s, r in states.items() if r)
    return f"A small map: {shown}."
