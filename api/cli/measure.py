"""Run a function fused, unfused and by NumPy: kernels, bytes, times, error and bits."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opweave._functions.fused import Fused
from opweave.opcodes.errors import CheckError, NoDeviceError
from opweave.runtime.cuda import executor as cuda

MOST_SECONDS, MOST_RUNS = 1.0, 15


@dataclass(frozen=True)
class Testbed:
    """Where kernels run: how arrays get there, and how to wait until they have run."""

    name: str
    move: Callable[[Any], Any]
    wait: Callable[[], None]


def best_testbed() -> Testbed:
    """The first GPU, if CuPy can use it; else the host."""
    try:
        module, device = cuda.cupy(), cuda.live_device(0)
    except NoDeviceError:
        return Testbed("host", lambda value: value, lambda: None)
    return Testbed(device.name, cuda.copied_in, module.cuda.Device(0).synchronize)


@dataclass(frozen=True)
class Measured:
    """What was measured of one function.

    Attributes:
        executor: where it ran.
        kernels_unfused, kernels: how many, with every operator its own, and fused.
        bytes_saved: memory traffic that fusion saves.
        seconds_unfused, seconds, seconds_numpy: least time of a call, of several: others on the
            machine make a call longer, and never shorter.
        error: largest error in units of the derived bound; at most 1 where the check holds.
        tight: some results are over half of the bound, and not the nearest numbers: worth a look.
        same_bits: fused gave bit for bit what unfused gave.
        failures: what does not hold, a line each.
        result: what the fused function returned, as NumPy has it.
    """

    executor: str
    kernels_unfused: int
    kernels: int
    bytes_saved: int
    seconds_unfused: float
    seconds: float
    seconds_numpy: float
    error: float
    tight: bool
    same_bits: bool
    failures: tuple[str, ...]
    result: np.ndarray[Any, Any]

    @property
    def speedup(self) -> float:
        """NumPy's time over that of the fused function."""
        return self.seconds_numpy / max(self.seconds, 1e-9)


def measure(
    fused: Fused, arguments: Sequence[Any], testbed: Testbed, sample: Sequence[Any] | None = None
) -> Measured:
    """Run and time a function on the arrays' own executor, and check it.

    With ``sample`` the check against float64 is of these arguments, part of the others.
    """
    moved = [testbed.move(value) for value in arguments]
    unfused = fused.unfused()
    result, other = cuda_free(fused(*moved)), cuda_free(unfused(*moved))
    checkable = moved if sample is None else [testbed.move(value) for value in sample]
    error, tight, failures = checked(fused, checkable)
    same = result.dtype == other.dtype and result.tobytes() == other.tobytes()
    if not same:
        failures = (*failures, "fused and unfused differ")
    explained = fused.explain(*moved)
    return Measured(
        executor=testbed.name,
        kernels_unfused=len(unfused.lower(*moved).kernels),
        kernels=len(explained.kernels),
        bytes_saved=explained.bytes_saved,
        seconds_unfused=least_seconds(lambda: unfused(*moved), testbed.wait),
        seconds=least_seconds(lambda: fused(*moved), testbed.wait),
        seconds_numpy=least_seconds(lambda: fused.__wrapped__(*arguments), lambda: None),
        error=error,
        tight=tight,
        same_bits=same,
        failures=failures,
        result=result,
    )


def checked(fused: Fused, arguments: Sequence[Any]) -> tuple[float, bool, tuple[str, ...]]:
    """The error in units of the derived bound, whether it is over half, and what does not hold."""
    try:
        report = fused.check(*arguments)
    except CheckError as error:
        return float("inf"), False, (" ".join(str(error).split()),)
    return float(report.max_bounds), bool(report.tight), ()


def cuda_free(value: Any) -> np.ndarray[Any, Any]:
    """An array as NumPy has it."""
    return np.asarray(value.get() if hasattr(value, "get") else value)


def least_seconds(run: Callable[[], Any], wait: Callable[[], None]) -> float:
    """Least time of a call, after one that does not count."""
    run()
    wait()
    times: list[float] = []
    while len(times) < MOST_RUNS and (len(times) < 3 or sum(times) < MOST_SECONDS):
        start = time.perf_counter()
        run()
        wait()
        times.append(time.perf_counter() - start)
    return min(times)
