"""The overhead test: the batch doubled at each step, and what bounds each size."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import median
from typing import Any

import numpy as np

import opweave as ow
from bench.measure.harness import gamma
from bench.measure.problem import Problem, solve
from bench.measure.record import Record
from bench.report.figures import Figure
from bench.report.reading import rows, time, values
from opweave.regimes import Rates, Regime

TITLE = "The overhead test: twice the batch"
ABOUT = (
    "float32: y = max(x * 2 + 1, 0) for x of shape [batch, 256], the batch doubled at each step, "
    "on the host taken four times. A call is bound by overhead until it takes twice as long as "
    "that of one row; beyond, the counted bytes and operations over the measured roofs say which "
    "binds. On a GPU the figure shows the device's time; what a call takes the host is in the "
    "file as call_us, and decides about overhead."
)
FIGURES = (Figure("time", "batch", "time", "batch, rows of 256", xlog=2),)
BATCHES = {
    "host": tuple(1 << n for n in range(0, 17, 2)),
    "cuda": tuple(1 << n for n in range(21)),
}
QUICK = (1, 16, 256)
WIDTH = 256


def layer(x: Any) -> Any:
    return np.maximum(x * 2 + 1, 0)


def measure(record: Record) -> None:
    """Each batch, and the regime of each step."""
    batches = record.sizes(BATCHES[record.device], QUICK, 8 * 10 * WIDTH)
    for batch in batches:
        x = np.random.default_rng(0).standard_normal((batch, WIDTH), np.float32)
        solve(record, Problem(
            layer, [x], {"batch": batch}, gamma(2, np.float32), 1e-6, 2, flops=3 * x.size,
            expr="where(x * 2 + 1 > 0, x * 2 + 1, 0)",
        ), slow=batch in (batches[0], batches[-1]))  # fmt: skip
    for batch, name in regimes(record, batches):
        record.mark("time", f"{name}-bound from here", batch)


def regimes(record: Record, batches: list[int]) -> list[tuple[int, str]]:
    """Where the regime changes: overhead binds until a call takes twice as long as the shortest.

    Beyond, the longer of the two times that the counted work takes at the measured roofs does.
    """
    roofs = record.roofs
    rates = Rates(roofs["copy"], roofs["fp32"], roofs["special"], roofs["launch"], "measured")
    floor = call_us(record, batches[0])
    found: list[tuple[int, str]] = []
    for batch in batches:
        taken = call_us(record, batch)
        if not (floor and taken):
            continue
        name = "overhead"
        if taken >= 2 * floor or (found and found[-1][1] != "overhead"):
            shape = np.empty((batch, WIDTH), np.float32)
            times = Regime.of([ow.regime(ow.fuse(layer), shape, measure=False).work], rates)
            name = "memory" if times.memory >= times.compute else "compute"
        if not found or found[-1][1] != name:
            found.append((batch, name))
    return found


def call_us(record: Record, batch: int) -> float:
    """What a call takes the caller, until its result is there."""
    for row in record.rows:
        if row["runner"] == "opweave, out=" and row["parameters"]["batch"] == batch:
            return float(median(row.get("call_us") or [row["median_us"]]))
    return 0.0


def reading(found: Mapping[str, Any]) -> str:
    """The floor of a call, and where work begins to show."""
    if not values(found, "batch"):
        return ""
    small = [r for r in rows(found, batch=min(values(found, "batch"))) if r["role"] != "variant"]
    order = ", ".join(
        f"{r['runner']} {time(r['median_us'])}"
        for r in sorted(small, key=lambda r: r["median_us"])
    )
    marks = "; ".join(f"{m['label']} ({int(m['x'])} rows)" for m in found["marks"])
    return f"A call on one row takes: {order}. By our times: {marks}."
