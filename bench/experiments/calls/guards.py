"""Guards: what a call costs that fits what was compiled, and one that does not."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any

import numpy as np

import opweave as ow
from bench.measure.record import Record
from bench.report.figures import Figure
from bench.report.reading import rows, time

TITLE = "Guards: which call compiles"
ABOUT = (
    "One function, called with one thing changed at each call: nothing, the shape, a number, the "
    "rank, the type, the layout. Guards are of types, layouts and shape classes, not of shapes or "
    "numbers. The time of each single call by the host's clock; no kernel lies on the disk yet, "
    "so that compiling shows."
)
FIGURES = (Figure("time", "call", "time", "call", kind="bars"),)


def calls(put: Any) -> Iterator[tuple[str, tuple[Any, Any]]]:
    """What changes, and the arguments."""
    x = np.ones((300, 200), np.float32)
    yield "first", (put(x), 2.0)
    yield "the same", (put(x), 2.0)
    yield "another shape", (put(np.ones((40, 70), np.float32)), 2.0)
    yield "another number", (put(x), 3.0)
    yield "another rank", (put(np.ones((3, 4, 5), np.float32)), 2.0)
    yield "another type", (put(x.astype(np.float64)), 2.0)
    yield "another layout", (put(x)[:, ::2], 2.0)
    yield "the first again", (put(x), 2.0)


def counting() -> Callable[[], Any]:
    """What counts compilations; older builds, which may be compared, have it elsewhere."""
    try:
        found = import_module("opweave.runtime.binaries.build")
    except ModuleNotFoundError:
        found = import_module("opweave.runtime.build")
    made: Callable[[], Any] = found.builder
    return made


def measure(record: Record) -> None:
    """Each call once, of several functions that are new each time."""
    builder = counting()
    found: dict[str, list[float]] = {}
    compiled: dict[str, int] = {}
    for number in range(3 if record.options.quick else 7):
        # a constant of its own keeps the source of each function new, in memory and on disk
        fused = ow.fuse(eval(f"lambda x, factor: x * factor + {number + clock.time_ns() % 10**9}"))
        for name, arguments in calls(record.executor.put):
            before, start = builder().compiled, clock.perf_counter()
            fused(*arguments)
            record.executor.synchronize()
            found.setdefault(name, []).append(clock.perf_counter() - start)
            compiled[name] = max(compiled.get(name, 0), builder().compiled - before)
    for name, samples in found.items():
        label = f"{name} ({compiled[name]} compiled)"
        record.measured("opweave", {"call": label, "compiled": compiled[name]}, samples)
    expected = {"the same": 0, "another shape": 0, "another number": 0, "the first again": 0}
    wrong = [name for name, count in expected.items() if compiled[name] != count]
    record.limit("calls that compiled though their guard held", "<= 0", float(len(wrong)), "calls")


def reading(found: Mapping[str, Any]) -> str:
    """Which calls compiled."""
    made = {r["parameters"]["call"]: r for r in rows(found, "opweave")}
    compiled = [n for n, r in made.items() if r["parameters"]["compiled"]]
    kept = [r["median_us"] for r in made.values() if not r["parameters"]["compiled"]]
    if not (compiled and kept):
        return ""
    return (
        f"Compiled: {', '.join(n.split(' (')[0] for n in compiled)}. All other calls found their "
        f"kernel, in {time(min(kept))} to {time(max(kept))}; the compiler, not the guard, is what "
        "a miss costs."
    )
