"""The executors that a benchmark can run on: where arrays lie and how work there is timed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
from harness import CudaTimer, Effort, Run, Sets, in_two_visits, sample_host
from machine import caches

# Several times the largest cache, so that a buffer has left it when its turn comes again.
ROTATE = 4
MOST_SETS = 64


class Host:
    """NumPy arrays; the clock of the operating system."""

    name = "host"
    clock = "perf_counter around single calls"
    effort = Effort()

    def __init__(self) -> None:
        self.xp: Any = np
        self.cache_bytes = max(caches().values(), default=32 << 20)
        self.memory_bytes = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
        self.cores = len(os.sched_getaffinity(0))

    def put(self, array: np.ndarray) -> Any:
        """The array where this executor computes."""
        return array.copy()

    def sample(self, run: Run, sets: Sets, effort: Effort) -> list[float]:
        return sample_host(run, sets, effort)

    def calls(self, run: Run, sets: Sets) -> list[float] | None:
        return None  # every sample is a call

    def peak_copy(self, nbytes: int, effort: Effort) -> tuple[str, list[float]]:
        """The quicker of one thread and all cores that copy ``nbytes`` to ``nbytes``."""
        sets = [tuple(touched(nbytes) for _ in "ab") for _ in range(sets_for(self, 2 * nbytes))]
        with ThreadPoolExecutor(self.cores) as pool:
            runs = {
                "one thread": lambda a, b: np.copyto(b, a),
                f"{self.cores} threads": partial(copy_shared, pool, self.cores),
            }
            found = in_two_visits(runs, lambda n, e: sample_host(runs[n], sets, e), effort)
        return min(found.items(), key=lambda item: float(np.median(item[1])))


class Cuda:
    """CuPy arrays on the current device; CUDA events."""

    name = "cuda"
    clock = "CUDA events around single calls, queued behind a kernel that waits"
    effort = Effort(0.3, least=30)

    def __init__(self, cupy: Any):
        self.xp = cupy
        self.timer = CudaTimer(cupy)
        props = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
        self.cache_bytes = int(props["l2CacheSize"])
        self.memory_bytes = int(cupy.cuda.runtime.memGetInfo()[0])

    def put(self, array: np.ndarray) -> Any:
        return self.xp.asarray(array)

    def sample(self, run: Run, sets: Sets, effort: Effort) -> list[float]:
        return self.timer.sample(run, sets, effort)

    def calls(self, run: Run, sets: Sets) -> list[float] | None:
        return self.timer.calls(run, sets)

    def peak_copy(self, nbytes: int, effort: Effort) -> tuple[str, list[float]]:
        """A copy from device to device by the driver."""
        data = np.random.default_rng(0).random(nbytes // 4, dtype=np.float32)
        sets = [tuple(map(self.put, (data, data))) for _ in range(sets_for(self, 2 * nbytes))]
        return "device to device", self.sample(lambda a, b: self.xp.copyto(b, a), sets, effort)


Executor = Host | Cuda


def touched(nbytes: int) -> np.ndarray:
    """Memory whose pages exist: the first write to a page costs more than those after it."""
    return np.full(nbytes, 1, np.uint8)


def copy_shared(pool: ThreadPoolExecutor, cores: int, a: np.ndarray, b: np.ndarray) -> None:
    cuts = np.linspace(0, a.size, cores + 1).astype(int)
    pieces = [slice(*pair) for pair in pairwise(cuts)]
    list(pool.map(lambda piece: np.copyto(b[piece], a[piece]), pieces))


def sets_for(executor: Executor, nbytes: int) -> int:
    """How many sets of arguments rotate.

    One where the data fits the cache, which then serves it, as it serves a caller who just wrote
    it; else as many as exceed the cache four times over.

    Args:
        nbytes: of one set.
    """
    if nbytes <= executor.cache_bytes:
        return 1
    return max(1, min(MOST_SETS, -(-ROTATE * executor.cache_bytes // nbytes)))


def copy_rates(executor: Executor, sizes: Sequence[int]) -> list[dict[str, Any]]:
    """The measured floor of anything that reads and writes so many bytes: one row a size."""
    rows = []
    for nbytes in sorted(set(sizes)):
        how, samples = executor.peak_copy(nbytes, executor.effort)
        median = float(np.median(samples))
        rows.append(
            {
                "executor": executor.name,
                "array_bytes": nbytes,
                "how": how,
                "median_us": round(median * 1e6, 3),
                "samples_us": [round(s * 1e6, 3) for s in samples],
                "bytes_per_second": round(2 * nbytes / median),
            }
        )
    return rows


def find(wanted: Sequence[str] | None) -> tuple[list[Executor], dict[str, str]]:
    """Executors that are there, and why others are not.

    Args:
        wanted: names; None for every one that is there.
    """
    found: list[Executor] = []
    absent: dict[str, str] = {}
    for name, make in {"host": Host, "cuda": find_cuda}.items():
        if wanted is not None and name not in wanted:
            absent[name] = "not asked for"
            continue
        try:
            found.append(make())
        except Exception as error:  # CuPy raises errors of the driver, the runtime and NVRTC
            absent[name] = reason(error)
    return found, absent


def find_cuda() -> Cuda:
    import cupy

    if cupy.cuda.runtime.getDeviceCount() == 0:
        raise RuntimeError("no CUDA device is visible")
    return Cuda(cupy)


def module(name: str, absent: dict[str, str]) -> Any:
    """A peer's module, or None with the reason noted in ``absent``."""
    try:
        return __import__(name)
    except Exception as error:  # a broken install raises what it likes
        absent[name] = reason(error)
        return None


def reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".split("\n")[0]
