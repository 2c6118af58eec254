"""Memory: planned temporaries beside naive ones, and products that are dropped or kept."""

from __future__ import annotations

import time as clock
import tracemalloc
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np

import opweave as ow
from bench.measure import networks
from bench.measure.harness import Expected, Runner, likely
from bench.measure.record import Case, Record
from bench.report.figures import Figure
from bench.report.reading import amount, rows, values

TITLE = "Memory: planned temporaries, and results dropped or kept"
ABOUT = (
    "Peak of the memory that arrays take beside the inputs, as tracemalloc counts it in a first "
    "call. By depth: the random graphs of the experiment graphs at size 256, fused; lines "
    "show what the plan says, and what every temporary in memory of its own would take. "
    "Products: 3000 times x @ w of 128 x 128, each result dropped before the next or all kept."
)
FIGURES = (
    Figure("peak", "depth", "peak", "depth, size 256", xlog=2),
    Figure("products", "held", "peak", kind="bars"),
)
DEVICES = ("host",)
DEPTHS, SIZE = (4, 8, 16, 32, 64, 128), 256
QUICK, QUICK_SIZE = (2, 4), 32
PRODUCTS, WIDTH, QUICK_PRODUCTS = 3000, 128, 100
SAMPLES = 3
MOST_BUFFERS, MOST_DROPPED = 3, 2


def peak_of(run: Callable[[], Any]) -> int:
    """Bytes that a call takes at most, its result included."""
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        tracemalloc.reset_peak()
        run()
        return max(1, tracemalloc.get_traced_memory()[1] - before)
    finally:
        tracemalloc.stop()


def measure(record: Record) -> None:
    """Each depth, then the products."""
    quick = record.options.quick
    plans = []
    for depth in record.sizes(DEPTHS, QUICK, 2 * SIZE * SIZE * 24):
        network = networks.drawn(depth, QUICK_SIZE if quick else SIZE)
        plans.append((depth, by_depth(record, network, {"depth": depth})))
    for label, points in (
        ("planned: arena and result", [(d, p.peak / 1024) for d, p in plans]),
        ("every temporary kept", [(d, (p.naive + p.result) / 1024) for d, p in plans]),
    ):
        record.line("peak", label, points)
    deepest = max(plans, key=lambda pair: pair[0])[1]
    record.limit(
        f"planned memory at depth {max(d for d, _ in plans)}, arena and result",
        f"<= {MOST_BUFFERS}", deepest.peak / deepest.result, "buffers",
    )  # fmt: skip
    products(record, QUICK_PRODUCTS if quick else PRODUCTS)


def by_depth(
    record: Record, network: networks.Network, parameters: Mapping[str, Any]
) -> networks.Planned:  # fmt: skip
    """One network: times, and the peak of each runner's first call."""
    given = networks.arguments(network)
    arrays = tuple(given.values())
    plan = networks.planned_for(network, given)
    fused = ow.fuse(networks.graph_of(network).function())
    fused.bound(tuple(arrays))  # what compiling takes is no part of it
    plain = networks.plain(network)
    peaks = {"opweave": peak_of(lambda: fused(*arrays)), "NumPy": peak_of(lambda: plain(*arrays))}
    wanted = networks.expected(network, arrays)
    case = Case(parameters, [arrays], np.float32, wanted, sum(a.nbytes for a in arrays))
    at = len(record.rows)
    record.compare([
        Runner("opweave", lambda *args: fused(*args)[0]), Runner("NumPy", plain, role="peer"),
    ], case)  # fmt: skip
    for row in record.rows[at:]:
        row["peak_bytes"] = peaks[row["runner"]]
    return plan


def products(record: Record, count: int) -> None:
    """The same product so many times, each result dropped, or all of them kept."""
    rng = np.random.default_rng(0)
    x, w = (rng.standard_normal((WIDTH, WIDTH), np.float32) for _ in "xw")
    wide = x.astype(np.float64), w.astype(np.float64)
    wanted = Expected(wide[0] @ wide[1], absolute=likely(np, *wide), depth=WIDTH)
    case = Case({}, [(x, w)], np.float32, wanted, 3 * x.nbytes)
    peaks = {}
    for name, multiply in (("opweave", ow.fuse(np.matmul)), ("NumPy", np.matmul)):
        role = "ours" if name == "opweave" else "peer"
        if record.checked(Runner(name, multiply, role=role), case) is None:
            continue
        for held, loop in (("dropped", dropped), ("kept", kept)):
            run = partial(loop, partial(multiply, x, w), count)
            peaks[name, held] = peak_of(run)
            samples = [seconds(run) for _ in range(SAMPLES)]
            record.measured(name, {"held": held}, samples, role)
            record.rows[-1]["peak_bytes"] = peaks[name, held]
    found = peaks.get(("opweave", "dropped"))
    record.limit(
        f"memory of {count} products whose results are dropped", f"<= {MOST_DROPPED}",
        None if found is None else found / x.nbytes, "results",
    )  # fmt: skip


def seconds(run: Callable[[], Any]) -> float:
    start = clock.perf_counter()
    run()
    return clock.perf_counter() - start


def dropped(run: Callable[[], Any], count: int) -> None:
    for _ in range(count):
        run()


def kept(run: Callable[[], Any], count: int) -> None:
    found = [run() for _ in range(count)]
    found.clear()


def reading(found: Mapping[str, Any]) -> str:
    """The deepest network, and the products."""
    parts = []
    for depth in values(found, "depth")[-1:]:
        shown = ", ".join(
            f"{r['runner']} {amount(r['peak_bytes'])}" for r in rows(found, depth=depth)
        )
        naive = next(line["points"][-1][1] for line in found["lines"][1:])
        parts.append(
            f"Depth {depth} takes {shown} beside its inputs; without a plan every temporary would "
            f"be kept, {amount(1024 * naive)}."
        )
    shown = ", ".join(
        f"{r['runner']} {r['parameters']['held']} {amount(r['peak_bytes'])}"
        for r in found["rows"]
        if "held" in r["parameters"]
    )
    return " ".join([*parts, *([f"Products: {shown}."] if shown else [])])
