"""The exercise of the guide: a product of 400 x 320 by 320 x 540, tile by tile."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import opweave as ow
from bench.measure.harness import Runner, likely
from bench.measure.problem import Problem, solve
from bench.measure.record import Record
from bench.report.figures import Figure
from bench.report.reading import quickest, times, values

TITLE = "Product variants: naive, tiled, padded, transposed, and by tile"
ABOUT = (
    "float32: x[400 s, 320 s] @ w[320 s, 540 s], for the scale s. Naive is one result a thread, "
    "straight from memory; tiled passes through shared memory; the others change one toggle of "
    "that. Transposed takes w as its transpose lies in memory. Tiles are BLOCK_M x BLOCK_N."
)
FIGURES = (
    Figure("rate", "", "flops", kind="bars", panels=("scale",), ylog=False),
    Figure("crossover", "scale", "time", "scale of 400 x 320 by 320 x 540", xlog=2),
)
M, K, N = 400, 320, 540
SCALES = {"host": (0.125, 0.25, 0.5, 1), "cuda": (0.125, 0.25, 0.5, 1, 2, 4)}
QUICK = (0.125, 0.25)
SINGLE = {"THREAD_M": 1, "THREAD_N": 1, "WIDTH": 1, "BLOCK_M": 16, "BLOCK_N": 16}
VARIANTS: dict[str, dict[str, int]] = {
    "naive": SINGLE | {"USE_SHARED_MEMORY": 0},
    "tiled 16 x 16": SINGLE,
    "tiled 16 x 16, no padding": SINGLE | {"USE_PADDED_TILE": 0},
    "tiled 32 x 32, 2 x 2 a thread": {"BLOCK_M": 32, "BLOCK_N": 32, "THREAD_M": 2, "THREAD_N": 2},
    "tiled 64 x 64, 4 x 4 a thread": {"BLOCK_M": 64, "BLOCK_N": 64, "THREAD_M": 4, "THREAD_N": 4},
    "tiled 128 x 128, 8 x 8 a thread": {
        "BLOCK_M": 128, "BLOCK_N": 128, "THREAD_M": 8, "THREAD_N": 8,
    },
}  # fmt: skip


def product(x: Any, w: Any) -> Any:
    return x @ w


def measure(record: Record) -> None:
    """Each scale; the host has the library's product only."""
    for scale in QUICK if record.options.quick else SCALES[record.device]:
        measure_scale(record, scale)


def measure_scale(record: Record, scale: float) -> None:
    rng = np.random.default_rng(0)
    m, k, n = (int(extent * scale) for extent in (M, K, N))
    x, w = rng.standard_normal((m, k), np.float32), rng.standard_normal((k, n), np.float32)
    own = {"USE_VENDOR": 0} if record.device == "cuda" else {}  # else it is the library's
    made = {
        name: (lambda fused, t=toggles: fused.with_toggles(**t, **own))
        for name, toggles in VARIANTS.items()
    }
    turned, fused = record.executor.put(np.ascontiguousarray(w.T)), ow.fuse(product)
    extra = [
        Runner("opweave, w transposed", lambda x, w: fused(x, turned.T), role="variant"),
        Runner("library, w transposed", lambda x, w: x @ turned.T, role="peer"),
    ]
    solve(record, Problem(
        product, [x, w], {"scale": scale}, depth=k, flops=2 * m * k * n, unit="matrix",
        absolute=likely, variants=made,
        rotate=False,
    ), extra, slow=scale == 1)  # fmt: skip


def reading(found: Mapping[str, Any]) -> str:
    """The crossover of naive and tiled, and the best tile at the exercise's own size."""
    scales = values(found, "scale")
    if not scales:
        return ""
    crossing = [
        s for s in scales
        if (times(found, "tiled 16 x 16", scale=s) or [np.inf])[0]
        < (times(found, "naive", scale=s) or [0])[0]
    ]  # fmt: skip
    at = 1 if 1 in scales else scales[-1]
    where = f"from scale {crossing[0]:g} on" if crossing else "at no scale that was measured"
    crossover = f"Tiled beats naive {where}. " if times(found, "naive") else ""
    return f"{crossover}Quickest at scale {at:g}: {quickest(found, scale=at)}."
