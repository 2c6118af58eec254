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


def steps_of_logistic_regression(x: Any, y: Any, w: Any) -> Any:
    for _ in [None] * 50:  # no range: each step has kernels of its own
        p = 1 / (1 + np.exp(-(x @ w)))
        w = w - 0.1 * (x.T @ (p - y)) / len(y)
    return w


def channels_by_time(x: Any, a: float) -> Any:
    y = np.empty_like(x)
    y[:, 0] = x[:, 0]
    for i in range(1, x.shape[1]):
        y[:, i] = a * y[:, i - 1] + x[:, i]
    return y


# Long programs, and the seconds that a first call may take.
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[Any, ...], int]] = {
    "50 unrolled steps of logistic regression": (
        steps_of_logistic_regression,
        (np.tile(X, (16, 1)), np.tile(X[:, 0] > 0.5, 16) * np.float32(1), np.zeros_like(X[0])),
        6,
    ),
    "a recurrence of 64 channels by 200 samples": (
        channels_by_time, (np.resize(X, (64, 200)), 0.9), 12
    ),
}  # fmt: skip


def measure(record: Record) -> None:
    """Each kind in each state; the disk cache is a folder of its own."""
    for name, (fn, arrays) in KERNELS.items():
        _states(record, name, fn, arrays)
    median = record.median("opweave", kernel="map", state="cold")
    record.limit("first call of a small kernel", "<= 800", median and 1e3 * median, "ms")
    for name, (fn, arrays, most) in PROGRAMS.items():
        _states(record, name, fn, arrays)
        median = record.median("opweave", kernel=name, state="cold")
        record.limit(f"first call: {name}", f"<= {most}", median, "s")


def _states(record: Record, name: str, fn: Callable[..., Any], arrays: tuple[Any, ...]) -> None:
    """A function in each state."""
    from opweave.runtime.binaries.cache import DiskCache

    put = record.executor.put
    given = [put(a) if isinstance(a, np.ndarray) else a for a in arrays]
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
