"""Rates of devices, and the regime of some work: bound by overhead, by memory or by arithmetic."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from opweave.compiler.ir.device import Device
from opweave.compiler.scheduling.vendors import TENSOR_RATES
from opweave.compiler.scheduling.work import Work

# Special functions take one slot in eight of the float32 units (16 to 128 results a clock and
# multiprocessor; CUDA C++ Programming Guide 13.0, "Arithmetic Instructions", 8.6 to 9.0), and a
# fused multiply-add counts twice.
SPECIAL_SHARE = 16
# Seconds for a short kernel in a queue: on an H200 1.24 us in a graph to 1.85 us by itself were
# measured; on the host it is that of a call of one kernel that came before (`bench/run.py calls`).
LAUNCH_SECONDS = {"cuda": 2e-6, "host": 5e-7}
# Twice the work in less than this much more time: it was not the work that took the time.
OVERHEAD_GROWTH = 1.1
# In more than this time: the work took most of it.
WORK_GROWTH = 1.5


@dataclass(frozen=True)
class Rates:
    """What a device can do at most.

    Attributes:
        bandwidth: bytes a second, read and written.
        flops: operations of float32 a second; a fused multiply-add is two.
        special: special functions a second.
        launch: seconds of one launch more.
        source: where the figures are from.
        call: seconds of a call besides its launches.
        products: operations a second of a library's products of 16-bit floats; 0 for ``flops``.
    """

    bandwidth: float
    flops: float
    special: float
    launch: float
    source: str
    call: float = 0.0
    products: float = 0.0

    @classmethod
    def of(cls, device: Device) -> Rates:
        """The rates in a device's description."""
        flops = device.gigaflops * 1e9
        launch = LAUNCH_SECONDS["host" if device.is_host else "cuda"]
        source = "nominal host" if device.is_host else f"data sheet of {device.name}"
        special = flops / SPECIAL_SHARE
        return cls(
            device.gigabytes_per_second * 1e9, flops, special, launch, source,
            products=flops * TENSOR_RATES.get(device.arch, 1.0),
        )  # fmt: skip


@dataclass(frozen=True)
class Regime:
    """What bounds a call.

    Attributes:
        name: "overhead", "memory" or "compute": of the three times below the longest, unless the
            doubling test says otherwise: the call with twice the rows takes less than 1.1 times
            as long (overhead), or more than 1.5 times (not overhead).
        work: bytes and operations of all kernels.
        launches: number of kernels.
        rates: what they were divided by.
        overhead, memory, compute: seconds that each would take alone.
        growth: time of the call with twice the rows over its time; None where nothing was run.
        seconds: median time of the call; None where nothing was run.
    """

    name: str
    work: Work
    launches: int
    rates: Rates
    overhead: float
    memory: float
    compute: float
    growth: float | None = None
    seconds: float | None = field(default=None, compare=False)

    @classmethod
    def of(
        cls,
        work: Sequence[Work],
        rates: Rates,
        growth: float | None = None,
        seconds: float | None = None,
    ) -> Regime:
        """The regime of kernels from what they must do, and from what was measured."""
        total = sum(work, Work())
        times = {
            "overhead": rates.call + len(work) * rates.launch,
            "memory": total.bytes / rates.bandwidth,
            "compute": total.flops / rates.flops
            + total.special / rates.special
            + total.products / (rates.products or rates.flops),
        }
        name = max(times, key=lambda n: times[n])
        if growth is not None and growth < OVERHEAD_GROWTH:
            name = "overhead"
        elif growth is not None and growth > WORK_GROWTH and name == "overhead":
            name = max(("memory", "compute"), key=lambda n: times[n])
        return cls(name, total, len(work), rates, **times, growth=growth, seconds=seconds)

    @property
    def floor(self) -> float:
        """The least seconds in which any kernels could do this work, without launches."""
        return max(self.memory, self.compute)

    def __str__(self) -> str:
        parts = [
            f"regime: {self.name}-bound: traffic {_time(self.memory)}, "
            f"arithmetic {_time(self.compute)}, {self.launches} launch(es) "
            f"{_time(self.overhead)} ({self.rates.source})"
        ]
        if self.growth is not None and self.seconds is not None:
            parts.append(f"a call takes {_time(self.seconds)}, with twice the rows "
                         f"{self.growth:.2f} times that")  # fmt: skip
        return "; ".join(parts)


def _time(seconds: float) -> str:
    """Seconds for people.

    >>> _time(2.5e-6), _time(0.012)
    ('2.5 us', '12 ms')
    """
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1 or unit == "us":
            return f"{seconds * factor:.3g} {unit}"
    raise AssertionError("unreachable")
