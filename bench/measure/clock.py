"""Timing: of calls on the host and on a GPU, in visits, and what a row says of the samples."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Run = Callable[..., Any]
Sets = Sequence[tuple[Any, ...]]


@dataclass(frozen=True)
class Effort:
    """How long to time one runner: seconds in all, and the fewest and most samples."""

    seconds: float = 0.4
    least: int = 18
    most: int = 400

    def part(self, count: int) -> Effort:
        """One of so many equal parts."""
        return Effort(self.seconds / count, -(-self.least // count), max(1, self.most // count))


# A clock's own noise is less than a thousandth of what is timed at once.
SHORTEST = 1e-4


def sample_host(run: Run, sets: Sets, effort: Effort) -> list[float]:
    """Times of a call in seconds, by a monotonic clock; the sets of arguments rotate.

    Calls below ``SHORTEST`` are timed in batches.  The first call of a visit, which finds the
    caches and threads of somebody else, is not counted; nor is giving back a single call's result.
    """
    start = time.perf_counter()
    run(*sets[0])
    once = time.perf_counter() - start
    start = time.perf_counter()
    run(*sets[-1])
    once = min(once, time.perf_counter() - start)
    batch = max(1, math.ceil(SHORTEST / max(once, 1e-7)))
    times: list[float] = []
    spent, number = 0.0, 0
    collects = gc.isenabled()
    gc.disable()
    try:
        while len(times) < effort.least or (len(times) < effort.most and spent < effort.seconds):
            chosen = [sets[(number + n) % len(sets)] for n in range(batch)]
            result = None
            start = time.perf_counter()
            for args in chosen:
                result = run(*args)
            passed = time.perf_counter() - start
            del result
            number += batch
            times.append(passed / batch)
            spent += passed
    finally:
        if collects:
            gc.enable()
    return times


# One thread that waits: keeps the GPU busy while the host queues what is timed, so that events
# bracket work and not the host's hesitation.  It touches no memory, so caches stay as they are.
SPIN = r"""
extern "C" __global__ void spin(const long long cycles) {
    const long long start = clock64();
    while (clock64() - start < cycles) {}
}
"""
CYCLES_PER_SECOND = 2e9
LONGEST_SPIN = 0.05


class CudaTimer:
    """Times work on CuPy's current stream by events."""

    def __init__(self, cupy: Any):
        self.cupy = cupy
        self.start, self.stop = cupy.cuda.Event(), cupy.cuda.Event()
        self.spin = cupy.RawKernel(SPIN, "spin")

    def synchronize(self) -> None:
        self.cupy.cuda.get_current_stream().synchronize()

    def issue(self, run: Run, args: tuple[Any, ...]) -> float:
        """Seconds that the host takes to queue one call."""
        self.synchronize()
        start = time.perf_counter()
        run(*args)
        found = time.perf_counter() - start
        self.synchronize()
        return found

    def once(self, run: Run, args: tuple[Any, ...], ahead: float) -> float:
        """Seconds of the device for one call that was queued while the device was busy."""
        cycles = np.int64(min(ahead, LONGEST_SPIN) * CYCLES_PER_SECOND)
        self.spin((1,), (1,), (cycles,))
        self.start.record()
        run(*args)
        self.stop.record()
        self.stop.synchronize()
        return float(self.cupy.cuda.get_elapsed_time(self.start, self.stop)) / 1e3

    def sample(self, run: Run, sets: Sets, effort: Effort) -> list[float]:
        """Device times in seconds; the sets of arguments rotate."""
        ahead = 2 * sorted(self.issue(run, sets[0]) for _ in range(5))[2] + 20e-6
        times: list[float] = []
        stop = time.perf_counter() + effort.seconds
        while len(times) < effort.least or (
            len(times) < effort.most and time.perf_counter() < stop
        ):
            times.append(self.once(run, sets[len(times) % len(sets)], ahead))
        return times

    def calls(self, run: Run, sets: Sets, count: int = 10) -> list[float]:
        """Times of a call and the wait for its result, by the host's clock."""
        times = []
        for number in range(count):
            self.synchronize()
            start = time.perf_counter()
            run(*sets[number % len(sets)])
            self.synchronize()
            times.append(time.perf_counter() - start)
        return times


VISITS = 6


def in_visits(
    names: Iterable[str], sample: Callable[[str, Effort], list[float]], effort: Effort
) -> dict[str, list[list[float]]]:
    """Samples of each runner, visit by visit: in order, in reverse, and again.

    A machine that drifts, or that is disturbed for a while, shows as visits that differ, and does
    not favour one runner.
    """
    found: dict[str, list[list[float]]] = {name: [] for name in names}
    for visit in range(VISITS):
        for name in list(found)[:: -1 if visit % 2 else 1]:
            found[name].append(sample(name, effort.part(VISITS)))
    return found


def summary(visits: Sequence[Sequence[float]]) -> dict[str, Any]:
    """Median of the visits' medians, quartiles of all samples, and the spread, in microseconds.

    The spread is the larger of the quartiles' distance and of that between the second lowest and
    the second highest visit, over the median: one visit in six may be disturbed at either end.
    """
    medians = sorted(float(np.median(v)) * 1e6 for v in visits)
    micro = np.asarray([s for visit in visits for s in visit]) * 1e6
    middle = float(np.median(medians))
    low, high = np.percentile(micro, [25, 75])
    between = medians[-2] - medians[1] if len(medians) > 3 else medians[-1] - medians[0]
    return {
        "samples_us": [round(float(s), 3) for s in micro],
        "median_us": round(middle, 3),
        "quartiles_us": [round(float(min(low, middle)), 3), round(float(max(high, middle)), 3)],
        "spread": round(float(max(high - low, between) / middle), 4),
        "visits_us": [round(float(np.median(v)) * 1e6, 3) for v in visits],
    }
