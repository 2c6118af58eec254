"""Products by shape: steps of tiles and of waves, and extents that break alignment."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

import opweave as ow
from bench.measure.harness import likely
from bench.measure.problem import Problem, solve
from bench.measure.record import Record
from bench.report.figures import Figure
from bench.report.reading import quickest, rate, rows, values

TITLE = "Products by shape: tiles and waves"
ABOUT = (
    "float32: x[n, n] @ w[n, n] for n up to 4096, and on either side of 1792 and 2048. A block "
    "computes a tile, and as many tiles run at a time as there are blocks on the device: a wave. "
    "The prediction is the measured matrix roof times the share of the tiles' area, and of the "
    "last wave, that is used; it takes the tile of our own kernel. An inner extent that is no "
    "multiple of 4 costs vector loads. On the host large products go to NumPy's library, which "
    "has tiles of its own: no prediction."
)
FIGURES = (Figure("rate", "n", "flops", "n", ylog=False),)
SIZES = {
    "host": (1, 2, 4, 8, 16, 32, 64, 100, 128, 192, 255, 256, 257, 384, 512, 768, 1024, 1536),
    "cuda": (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 768, 1024, 1280, 1536, 1791, 1792, 1793, 1920,
             2047, 2048, 2049, 2304, 2560, 3072, 3584, 4096),
}  # fmt: skip
QUICK = (1, 16, 128, 129)


# On a GPU large products are the library's.
OURS = {"opweave, no library": lambda fused: fused.with_toggles(USE_VENDOR=0)}


def product(x: Any, w: Any) -> Any:
    return x @ w


def measure(record: Record) -> None:
    """Each n."""
    sizes = record.sizes(SIZES[record.device], QUICK, 8 * 8, 2)
    rng = np.random.default_rng(0)
    for n in sizes:
        x, w = (rng.standard_normal((n, n), np.float32) for _ in "xw")
        solve(record, Problem(
            product, [x, w], {"n": n}, depth=n, flops=2 * n**3, unit="matrix",
            absolute=likely, variants=OURS if record.device == "cuda" else {},
        ), slow=n in (256, sizes[-1]))  # fmt: skip
    if record.device == "cuda":
        try:
            predict(record, sizes)
        except Exception as error:  # the disassembler may be missing: the rows are kept
            record.note(f"no prediction: {type(error).__name__}: {error}".split("\n")[0])


def predict(record: Record, sizes: list[int]) -> None:
    """The rate that whole tiles and whole waves leave of the roof."""
    xp = record.executor.xp
    sms = int(xp.cuda.Device().attributes["MultiProcessorCount"])
    points = []
    for n in sizes:
        x = xp.empty((n, n), np.float32)
        kernel = ow.fuse(product).with_toggles(USE_VENDOR=0).lower(x, x).kernels[0]
        tile_m, tile_n = (kernel.toggles.get(t, 1) for t in ("BLOCK_M", "BLOCK_N"))
        # registers are the limit of a product; a multiprocessor has 65536
        blocks = max(1, 65536 // (kernel.registers * kernel.data.threads))
        share = used(n, tile_m, tile_n, sms * blocks)
        points.append((n, record.roofs["matrix"] / 1e9 * share))
    record.line("rate", "predicted from tiles and waves", points)


def used(n: int, tile_m: int, tile_n: int, at_once: int) -> float:
    """Share of the work that is of use: of the tiles' area, and of the last wave.

    >>> used(256, 128, 128, 4), used(257, 128, 128, 4)
    (1.0, 0.3359...)
    """
    tiles = math.ceil(n / tile_m) * math.ceil(n / tile_n)
    waves = math.ceil(tiles / at_once)
    return n * n / (tiles * tile_m * tile_n) * tiles / (waves * at_once)


def reading(found: Mapping[str, Any]) -> str:
    """The best rate, and what one row more costs."""
    sizes = values(found, "n")
    if not sizes:
        return ""
    best = max(sizes, key=lambda n: rate(found, "opweave", n=n))
    steps = [
        f"from {n} to {n + 1} the rate goes from {rate(found, 'opweave', n=n):,.0f} to "
        f"{rate(found, 'opweave', n=n + 1):,.0f}"
        for n in sizes
        if n > 64 and n + 1 in sizes
    ]
    small = next(rows(found, "opweave", n=sizes[0]))
    return (
        f"The highest rate is {rate(found, 'opweave', n=best):,.0f} GFLOP/s at n = {best}; "
        f"n = {sizes[0]} costs {small['median_us']:.3g} us, the price of a call. One row more: "
        f"{'; '.join(steps) or 'not measured'} GFLOP/s. Quickest at {sizes[-1]}: "
        f"{quickest(found, n=sizes[-1])}."
    )
