"""The executors that a benchmark can run on: where arrays lie and how work there is timed."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from bench.measure.clock import CudaTimer, Effort, Run, Sets, in_visits, sample_host
from bench.measure.harness import Runner
from bench.measure.machine import caches

# Several times the largest cache, so that a buffer has left it when its turn comes again.
ROTATE = 4
MOST_SETS = 64
PRODUCTS = {"host": (512, 1024, 2048), "cuda": (2048, 4096, 8192)}


class Host:
    """NumPy arrays; the clock of the operating system."""

    name = "host"
    effort = Effort()

    def __init__(self) -> None:
        self.xp: Any = np
        self.cache_bytes = max(caches().values(), default=32 << 20)
        self.cores = len(os.sched_getaffinity(0))

    @property
    def memory_bytes(self) -> int:
        """Memory that is free now."""
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")

    def release(self) -> None:
        """Give back what libraries keep between cases."""

    def synchronize(self) -> None:
        """Wait for all work."""

    def put(self, array: np.ndarray) -> Any:
        """The array where this executor computes."""
        return array.copy()

    def sample(self, runner: Runner, sets: Sets, effort: Effort) -> list[float]:
        return sample_host(runner.run, sets, effort)

    def clock_of(self, runner: Runner) -> str:
        return "perf_counter around calls, in batches of 0.1 ms at least"

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
            found = in_visits(runs, lambda n, e: sample_host(runs[n], sets, e), effort)
        pooled = [(name, [s for visit in visits for s in visit]) for name, visits in found.items()]
        return min(pooled, key=lambda item: float(np.median(item[1])))


class Cuda:
    """CuPy arrays on the current device; CUDA events."""

    name = "cuda"
    effort = Effort(0.1, least=30)

    def __init__(self, cupy: Any):
        self.xp = cupy
        self.timer = CudaTimer(cupy)
        props = cupy.cuda.runtime.getDeviceProperties(cupy.cuda.Device().id)
        self.cache_bytes = int(props["l2CacheSize"])

    @property
    def memory_bytes(self) -> int:
        return int(self.xp.cuda.runtime.memGetInfo()[0])

    def release(self) -> None:
        self.xp.get_default_memory_pool().free_all_blocks()
        if "torch" in sys.modules:
            sys.modules["torch"].cuda.empty_cache()

    def synchronize(self) -> None:
        self.timer.synchronize()

    def put(self, array: np.ndarray) -> Any:
        return self.xp.asarray(array)

    def sample(self, runner: Runner, sets: Sets, effort: Effort) -> list[float]:
        if runner.waits:
            return self.timer.calls(runner.run, sets, effort.least)
        return self.timer.sample(runner.run, sets, effort)

    def clock_of(self, runner: Runner) -> str:
        if runner.waits:
            return "perf_counter around single calls and the wait for their results"
        return "CUDA events around single calls, queued behind a kernel that waits"

    def calls(self, run: Run, sets: Sets) -> list[float] | None:
        return self.timer.calls(run, sets)

    def peak_copy(self, nbytes: int, effort: Effort) -> tuple[str, list[float]]:
        """A copy from device to device by the driver."""
        data = np.random.default_rng(0).random(nbytes // 4, dtype=np.float32)
        sets = [tuple(map(self.put, (data, data))) for _ in range(sets_for(self, 2 * nbytes))]
        samples = self.timer.sample(lambda a, b: self.xp.copyto(b, a), sets, effort)
        return "device to device", samples


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
                "array_bytes": nbytes,
                "how": how,
                "median_us": round(median * 1e6, 3),
                "samples_us": [round(s * 1e6, 3) for s in samples],
                "bytes_per_second": round(2 * nbytes / median),
            }
        )
    return rows


def find(device: str) -> Executor:
    """The executor of a device.

    Raises:
        Exception: it is not there; CuPy raises errors of the driver, the runtime and NVRTC.
    """
    if device == "host":
        return Host()
    import cupy

    if cupy.cuda.runtime.getDeviceCount() == 0:
        raise RuntimeError("no CUDA device is visible")
    return Cuda(cupy)


def measured_roofs(executor: Executor) -> dict[str, float]:
    """What the device reaches: bytes, operations and special functions a second, a launch.

    Copy, float32 and special functions by ``opweave.regimes``; products by NumPy's or CuPy's
    library, the quickest of several sizes, TF32 not allowed.
    """
    from opweave.regimes import COPIED, measured_rates

    rates = measured_rates(executor.name == "cuda")
    nbytes = 4 * COPIED[executor.name]
    copied = 2 * nbytes / float(np.median(executor.peak_copy(nbytes, executor.effort)[1]))
    return {
        "copy": max(rates.bandwidth, copied), "fp32": rates.flops, "special": rates.special,
        "matrix": product_rate(executor, np.float32),
        "matrix16": product_rate(executor, np.float16) if executor.name == "cuda" else 0.0,
        "launch": rates.call + rates.launch,  # of one kernel, by itself
    }  # fmt: skip


def product_rate(executor: Executor, dtype: Any) -> float:
    """Operations a second of the library's product, at the best of several sizes."""
    rates = []
    for n in PRODUCTS[executor.name]:
        data = np.random.default_rng(0).standard_normal((n, n), np.float32).astype(dtype)
        x = executor.put(data)
        multiply = Runner("matmul", lambda a, b: a @ b)
        multiply.run(x, x)
        samples = executor.sample(multiply, [(x, x)], executor.effort)
        rates.append(2 * n**3 / float(np.median(samples)))
    return max(rates)


def reason(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".split("\n")[0]
