"""A render graph over the pixels of a picture, uint8 in and uint8 out."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

import opweave as ow
from bench.measure.executors import copy_rates, sets_for
from bench.measure.harness import Expected, Runner
from bench.measure.problem import only
from bench.measure.record import Case, Record
from bench.report.figures import Figure
from bench.report.reading import bandwidth, time, times

TITLE = "Render graph on a picture of 12 megapixels"
ABOUT = (
    "uint8 to float32, exposure, white balance, ACES tone mapping, hue, saturation, contrast, "
    "gamma, to uint8. NumPy and CuPy run plain code of the same steps, with whole-array "
    "operations and a 3 x 3 product for the hue. Results are whole numbers: one may differ by 1 "
    "where float64 lies beside a rounding edge. opweave uses all cores of the host, NumPy one."
)
FIGURES = (Figure("time", "", "milliseconds", kind="bars", ylog=False),)
WIDTH = 4000
PIXELS, QUICK = 12_000_000, 200_000
PEER = {"host": "NumPy", "cuda": "CuPy"}
LIMITS = {"host": ">= 2", "cuda": ">= 5"}
STOPS, GAINS, DEGREES, SATURATION, CONTRAST, GAMMA = 0.5, (1.1, 1.0, 0.9), 20, 1.3, 1.1, 2.2
LUMINANCE = (0.2126, 0.7152, 0.0722)
# Rows that the judge takes at a time: its float64 temporaries stay small.
STRIP = 50


def render(img: Any) -> Any:
    """The graph in our operators."""
    x = ow.pixels.exposure(ow.pixels.from_uint8(img), STOPS)
    x = ow.pixels.aces(ow.pixels.white_balance(x, *GAINS))
    x = ow.pixels.saturation(ow.pixels.hue(x, DEGREES), SATURATION)
    x = ow.pixels.gamma(ow.pixels.contrast(x, CONTRAST), GAMMA)
    return ow.pixels.to_uint8(x)


def turn() -> np.ndarray:
    """Rotation about the axis of greys, to multiply from the right."""
    angle = math.radians(DEGREES)
    k, t = (1 - math.cos(angle)) / 3, math.sin(angle) / math.sqrt(3)
    return math.cos(angle) * np.eye(3) + k + t * np.array([[0, 1, -1], [-1, 0, 1], [1, -1, 0]])


def plain(xp: Any, dtype: Any, img: Any) -> Any:
    """The graph as one writes it without us; in float64 it is the judge."""
    x = img.astype(dtype) / 255
    x = x * 2.0**STOPS
    x = x * xp.asarray(GAINS, dtype)
    x = xp.clip((x * (2.51 * x + 0.03)) / (x * (2.43 * x + 0.59) + 0.14), 0, 1)
    x = x @ xp.asarray(turn(), dtype)
    grey = (x @ xp.asarray(LUMINANCE, dtype))[..., None]
    x = grey + (x - grey) * SATURATION
    x = (x - 0.5) * CONTRAST + 0.5
    x = xp.maximum(x, 0) ** (1 / GAMMA)
    return (xp.clip(x, 0, 1) * 255 + 0.5).astype(np.uint8)


def judge(xp: Any, img: Any) -> Any:
    """The graph in float64, strip by strip."""
    strips = [
        plain(xp, np.float64, img[row : row + STRIP]) for row in range(0, img.shape[0], STRIP)
    ]
    return xp.concatenate(strips)


def measure(record: Record) -> None:
    """Time the graph on a picture of 4000 columns and as many rows as the pixels fill."""
    executor = record.executor
    only(record, PEER[record.device])
    for pixels in record.sizes((PIXELS,), (QUICK,), 3 * 20):
        shape = (max(1, pixels // WIDTH), WIDTH, 3)
        img = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
        record.copy_rates += copy_rates(executor, [img.nbytes])
        sets = [(executor.put(img),) for _ in range(sets_for(executor, 2 * img.nbytes))]
        expected = Expected(judge(executor.xp, sets[0][0]), absolute=1.0)
        work = ow.regime(ow.fuse(render), img, measure=False).work  # counted from the operators
        case = Case(
            {"pixels": pixels}, sets, np.uint8, expected, 2 * img.nbytes, work.flops, work.special
        )
        record.compare(runners(record, sets[0][0]), case)
        peer = PEER[record.device]
        ratio = record.ratio(peer, "opweave", pixels=pixels)
        name = f"{peer} / opweave, {pixels / 1e6:g} megapixels"
        record.limit(name, LIMITS[record.device], ratio, "x")
        floor = 2 * img.nbytes / record.copy_rates[-1]["bytes_per_second"] * 1e3
        record.line("time", "floor: bytes / measured copy rate", [(0, floor)])


def runners(record: Record, img: Any) -> list[Runner]:
    """Ours, fused and not, and plain code."""
    xp = record.executor.xp
    fused = ow.fuse(render)
    out = xp.empty_like(img)
    toggles = fused.lower(img).kernels[0].toggles
    unfused = fused.explain(img).bytes_unfused
    return [
        Runner("opweave", fused, toggles=toggles),
        Runner("opweave, out=", partial(fused, out=out), out=out, toggles=toggles),
        Runner("opweave unfused", fused.unfused(), unfused, role="variant"),
        Runner(PEER[record.device], partial(plain, xp, np.float32), role="peer"),
    ]


def reading(found: Mapping[str, Any]) -> str:
    """What fusing saves on a picture."""
    fused, apart = (times(found, r) for r in ("opweave, out=", "opweave unfused"))
    if not (fused and apart):
        return ""
    return (
        f"One kernel reads each byte once and writes it once: {time(fused[0])}, against "
        f"{time(apart[0])} for a kernel an operator, which carries every step through memory in "
        f"float32. It moves {bandwidth(found, 'opweave, out='):.2g} GB/s, of the measured copy "
        f"rate of {found['roofs']['copy'] / 1e9:.3g} GB/s."
    )
