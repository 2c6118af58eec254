"""Operations an element, from one to hundreds: where memory stops to bind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bench.measure.chains import CONSTANTS, chain, expression
from bench.measure.harness import gamma
from bench.measure.problem import Problem, solve
from bench.measure.record import Record
from bench.report.figures import Figure
from bench.report.reading import bandwidth, quickest, rate, values

TITLE = "Arithmetic intensity: operations repeated in one kernel"
ABOUT = (
    "float32, N elements: x * 1.001 and + 0.5 in turn, so many of them in one kernel (repeated "
    "multiplications alone a compiler may fold into one). Traffic stays 8 N bytes, arithmetic is "
    "N operations a repetition. While memory binds, time stays flat; the knee is where it begins "
    "to grow. Strict arithmetic does not contract, so it can have half of the roof, which counts "
    "fused multiply-adds."
)
LABEL = "operations in the kernel"
FIGURES = (
    Figure("time", "repeat", "time", LABEL, panels=("elements",), xlog=2),
    Figure("bandwidth", "repeat", "bandwidth", LABEL,
           panels=("elements",), xlog=2, ylog=False),
    Figure("rate", "repeat", "flops", LABEL, panels=("elements",),
           xlog=2),
)  # fmt: skip
SIZES = {"host": (1 << 24,), "cuda": (1 << 28,)}
QUICK = (1 << 18,)
REPEATS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
SLOW = (1, 16)
# Beyond this many passes an eager peer says nothing new and takes the time of all others.
MOST_EAGER = 16
# A knee: time has grown by half over that of one operation.
KNEE = 1.5


def measure(record: Record) -> None:
    """All repetitions; ours, and the peers that fuse."""
    for size in record.sizes(SIZES[record.device], QUICK, 8 * 10):
        x = np.random.default_rng(0).random(size, dtype=np.float32) + np.float32(0.5)
        for repeat in REPEATS[: 5 if record.options.quick else None]:
            with_peers = repeat <= MOST_EAGER
            solve(record, Problem(
                chain(repeat), [x], {"repeat": repeat, "elements": size},
                gamma(2 * repeat, np.float32), depth=2 * repeat, flops=repeat * size,
                expr=expression(repeat), constants=CONSTANTS,
            ), with_peers=with_peers, slow=repeat in SLOW)  # fmt: skip
        roofs(record, size)


def roofs(record: Record, size: int) -> None:
    """Both roofs in every figure, and the knee of ours."""
    copy, fp32 = record.roofs["copy"], record.roofs["fp32"]
    done = [r for r in REPEATS if record.median("opweave, out=", repeat=r, elements=size)]
    at = {"elements": size}
    traffic = [(r, 8e6 * size / copy) for r in done]
    arithmetic = [(r, 1e6 * r * size / fp32) for r in done]
    record.line("time", "floor: bytes / copy rate", traffic, **at)
    record.line("time", "floor: operations / fp32 rate", arithmetic, **at)
    record.line("bandwidth", "roof: copy rate", [(r, copy / 1e9) for r in done], **at)
    record.line("rate", "roof: memory", [(r, r / 8 * copy / 1e9) for r in done], **at)
    record.line("rate", "roof: fp32", [(r, fp32 / 1e9) for r in done], **at)
    knee = knee_of(record, done, size)
    if knee:
        for figure in ("time", "bandwidth", "rate"):
            record.mark(figure, f"knee, {knee}", knee, **at)


def knee_of(record: Record, done: list[int], size: int) -> int:
    """The first repetition whose time is half as much again as one's; 0 if none is."""
    times = {r: record.median("opweave, out=", repeat=r, elements=size) or 0.0 for r in done}
    return next((r for r in done if times[r] > KNEE * times[done[0]]), 0)


def reading(found: Mapping[str, Any]) -> str:
    """Where the knee lies and what either side reaches."""
    if not values(found, "repeat"):
        return ""
    knee = next((m["label"].split()[-1] for m in found["marks"]), None)
    copy, fp32 = found["roofs"]["copy"] / 1e9, found["roofs"]["fp32"] / 1e9
    left, right = bandwidth(found, "opweave, out="), rate(found, "opweave, out=")
    where = f"Time begins to grow at {knee} operations" if knee else "No knee was reached"
    return (
        f"{where}. Left of it the kernel moves {left:.3g} GB/s, {left / copy:.0%} of the measured "
        f"copy rate; right of it it does {right:.3g} GFLOP/s, {right / fp32:.0%} of the measured "
        f"rate of fused multiply-adds, of which single operations can have half. Quickest at "
        f"16: {quickest(found, repeat=16)}."
    )
