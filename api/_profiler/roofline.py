"""A roofline of instructions: what a device can issue and move, and where kernels stand below.

Along the page lie warp instructions for each byte moved, up it warp instructions a nanosecond.
Both are counted; the times are a model's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from markupsafe import Markup

from opweave._html.markup import rendered, text_of
from opweave._profiler.report import KernelProfile
from opweave.runtime.model.device import DeviceModel, described

WIDTH, HEIGHT, MARGIN, LINE = 400, 240, 46, 14


@dataclass(frozen=True)
class Spot:
    """A kernel in the chart: warp instructions a byte, and a nanosecond."""

    number: int
    name: str
    intensity: float
    rate: float
    us: float
    fraction: float
    binds: str


@dataclass(frozen=True)
class Axis:
    """Powers of ten from ``low`` to ``high``, on pixels from ``start`` to ``end``."""

    low: int
    high: int
    start: float
    end: float

    @classmethod
    def over(cls, values: list[float], start: float, end: float) -> Axis:
        """The powers of ten around some values, two of them at least."""
        low, high = floor(log10(min(values))), ceil(log10(max(values)))
        return cls(low, max(high, low + 1), start, end)

    def at(self, value: float) -> float:
        """Where a value lies.

        >>> Axis(0, 2, 100.0, 300.0).at(10.0)
        200.0
        """
        share = (log10(value) - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Where powers of ten lie, and what they are called."""
        return [(self.at(10.0**n), f"{10.0**n:g}") for n in range(self.low, self.high + 1)]


def spots(found: Mapping[int, KernelProfile]) -> list[Spot]:
    """The kernels that move bytes and run instructions."""
    return [
        Spot(
            number, one.name, one.facts.instructions / one.facts.moved_bytes,
            one.facts.instructions / (1000 * one.model.us), one.model.us, one.model.fraction,
            one.model.binds.name,
        )
        for number, one in found.items()
        if one.facts.moved_bytes and one.facts.instructions
    ]  # fmt: skip


def roofs(device: DeviceModel) -> tuple[float, float]:
    """Warp instructions a nanosecond of all multiprocessors, and bytes a nanosecond."""
    return device.issue_rate * device.sms * device.clock_mhz / 1000, device.memory_gb_per_s


def roofline(found: Mapping[int, KernelProfile]) -> Markup:
    """The chart of numbered kernels and its figures; nothing where none moves anything."""
    return _drawn("roofline", found)


def picture(kernels: Sequence[KernelProfile]) -> str:
    """The chart of some kernels as an SVG file; "" where none moves anything."""
    legend = LINE * (len(kernels) + 1) + MARGIN // 2
    return str(_drawn("chart", dict(enumerate(kernels)), legend, text_of("chart.css")))


def _drawn(
    template: str, found: Mapping[int, KernelProfile], legend: int = 0, style: str = ""
) -> Markup:
    """``legend``: pixels below the chart, of a file of its own, with its ``style``."""
    here = spots(found)
    if not here:
        return Markup("")
    device = described()[next(iter(found.values())).device]
    most, bandwidth = roofs(device)
    ridge = most / bandwidth
    x = Axis.over([s.intensity for s in here] + [ridge / 5, ridge * 5], MARGIN, WIDTH - 10)
    y = Axis.over([s.rate for s in here] + [most], HEIGHT - MARGIN, 10)
    # The slope begins where it enters the chart: at the left, or at the bottom.
    begin = max(10.0**x.low, 10.0**y.low / bandwidth)
    roof = [(begin, begin * bandwidth), (ridge, most), (10.0**x.high, most)]
    return rendered(
        template, legend=legend, style=style, width=WIDTH, height=HEIGHT, margin=MARGIN,
        x=x, y=y, spots=here, device=device.name,
        roof=" ".join(f"{x.at(a)},{y.at(b)}" for a, b in roof),
        most=f"{most:.4g}", bandwidth=f"{bandwidth:g}",
    )  # fmt: skip
