"""Checks and timing: nothing is timed before its result was compared with float64."""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

Run = Callable[..., Any]
Sets = Sequence[tuple[Any, ...]]
# Elements that are compared at a time, so that float64 copies stay small.
PIECE = 1 << 24
# Bytes that outputs are filled with before a check: NaN in every float type.  Integers have no
# NaN, so they are checked twice, over two patterns.
NAN_BYTES, OTHER_BYTES = 0xFF, 0x5A


class WrongResult(Exception):
    """A result lies outside its error bound, or was not written; it is not timed."""


@dataclass(frozen=True)
class Expected:
    """What a result must be.

    Attributes:
        value: in float64, of the result's shape.
        relative: the largest relative error that rounding can make.
        absolute: the largest absolute error, a number or an array.
        depth: roundings in sequence, for people.
    """

    value: Any
    relative: float = 0.0
    absolute: Any = 0.0
    depth: int = 0


@dataclass(frozen=True)
class Runner:
    """One way to compute a result.

    Attributes:
        name: in the JSON and in the legends of plots.
        run: takes the arguments, returns the result.
        moved: bytes that it reads and writes, by its own number of passes; None: nobody knows.
        out: the array that it writes to, if it was given one.
        read: its result as an array of the executor's library.
        toggles: of the first kernel, where the runner is ours.
        role: "ours" for what a user gets, "variant" for what we made worse to compare, "peer".
        waits: it returns when the result is there, so that no event of ours brackets its work.
    """

    name: str
    run: Run
    moved: int | None = None
    out: Any = None
    read: Run = lambda result: result
    toggles: Mapping[str, int] | None = None
    role: str = "ours"
    waits: bool = False


def gamma(depth: int, dtype: Any) -> float:
    """Largest relative error of ``depth`` roundings in sequence: n u / (1 - n u)."""
    unit = np.finfo(dtype).eps / 2
    return float(depth * unit / (1 - depth * unit))


# Errors of a sum grow with the square root of its length, not with the length: a random walk
# (Higham and Mary, "A new approach to probabilistic rounding error analysis", 2019).  With this
# factor no right result was ever refused, and one by TF32 is at 8192.
WALK = 8.0


def likely(xp: Any, x: Any, w: Any) -> Any:
    """How far a float32 product may lie from the wide one, in any order of its sums.

    ``WALK * u * sqrt(n) * sqrt(x^2 @ w^2)``: against the bound by the length alone, 2 n u |x| |w|,
    it does not let a result of fewer digits pass where n is large.
    """
    unit, n = np.finfo(np.float32).eps / 2, x.shape[-1]
    return WALK * unit * n**0.5 * xp.sqrt((x * x) @ (w * w))


def check(xp: Any, found: Any, expected: Expected) -> float:
    """Largest error in units of the bound; exact agreement counts 0.

    Raises:
        WrongResult: names the shape, or how many elements are wrong and the first of them.
    """
    if tuple(found.shape) != tuple(expected.value.shape):
        raise WrongResult(f"expected shape {expected.value.shape}, found {found.shape}")
    flat, wanted = found.reshape(-1), expected.value.reshape(-1)
    bound = expected.absolute
    bound = bound.reshape(-1) if getattr(bound, "shape", ()) else None
    largest = 0.0
    for start in range(0, flat.size, PIECE):
        piece = slice(start, start + PIECE)
        value = wanted[piece]
        error = xp.abs(flat[piece].astype(np.float64) - value)
        allowed = expected.relative * xp.abs(value)
        allowed += expected.absolute if bound is None else bound[piece]
        wrong = ~(error <= allowed)  # NaN is wrong: the output was poisoned with it
        if bool(wrong.any()):
            at = int(xp.argmax(wrong))
            raise WrongResult(
                f"{int(wrong.sum())} elements from {start + at} on: expected {float(value[at])}, "
                f"found {float(flat[start + at])}, bound {float(allowed[at]):.3g}"
            )
        ratio = error / xp.where(allowed > 0, allowed, 1.0)
        largest = max(largest, float(ratio.max())) if ratio.size else largest
    return largest


def poison(xp: Any, shape: tuple[int, ...], dtype: Any, pattern: int = NAN_BYTES) -> Any:
    """An array whose every byte is ``pattern``: NaN, if it is float and the pattern 0xFF."""
    count = math.prod(shape) * np.dtype(dtype).itemsize
    return xp.full(count, pattern, np.uint8).view(dtype).reshape(shape)


def poison_ours(shape: tuple[int, ...], dtype: Any, pattern: int) -> Any:
    """The same from the memory that opweave keeps for its own results on the host."""
    from opweave.runtime.host.pool import allocator

    made = allocator(shape, np.dtype(dtype))()
    made.reshape(-1).view(np.uint8).fill(pattern)
    return made


def check_run(
    xp: Any, runner: Runner, args: tuple[Any, ...], dtype: Any, expected: Expected
) -> float:
    """Run over poisoned memory and check; see ``check``.

    An output that the runner allocates comes, as a rule, from the block that was freed last: so
    poisoned blocks are freed before the run, of opweave's own memory too.  An output that is given
    is poisoned itself.

    Raises:
        WrongResult: see ``check``; also another dtype than ``dtype``.
    """
    patterns = (NAN_BYTES,) if np.dtype(dtype).kind == "f" else (NAN_BYTES, OTHER_BYTES)
    largest = 0.0
    for pattern in patterns:
        if runner.out is None:
            blocks = [poison(xp, expected.value.shape, dtype, pattern) for _ in range(2)]
            if xp is np:
                blocks.append(poison_ours(expected.value.shape, dtype, pattern))
            del blocks
        else:
            runner.out.reshape(-1).view(np.uint8).fill(pattern)
        found = runner.read(runner.run(*args))
        same_kind = runner.role == "peer" and found.dtype.kind == np.dtype(dtype).kind == "i"
        if found.dtype != np.dtype(dtype) and not same_kind:
            raise WrongResult(f"expected dtype {np.dtype(dtype)}, found {found.dtype}")
        largest = max(largest, check(xp, found, expected))
    return largest


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
