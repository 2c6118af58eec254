"""A render graph over the pixels of a picture, uint8 in and uint8 out."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np
from executors import Executor, copy_rates, sets_for
from harness import Expected, Runner
from record import Case, Record

import opweave as ow

TITLE = "Render graph on a picture of 12 megapixels"
ABOUT = (
    "uint8 to float32, exposure, white balance, ACES tone mapping, hue, saturation, contrast, "
    "gamma, to uint8. NumPy and CuPy run plain code of the same steps, with whole-array "
    "operations and a 3 x 3 product for the hue. Results are whole numbers: one may differ by 1 "
    "where float64 lies beside a rounding edge. opweave uses all cores of the host, NumPy one."
)
PEERS = {"host": ("NumPy",), "cuda": ("CuPy",)}
WIDTH = 4000
PIXELS, QUICK = 12_000_000, 200_000
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
    """Time the graph on all executors."""
    for executor in record.executors(PEERS):
        for pixels in record.options.sizes or ((QUICK,) if record.options.quick else (PIXELS,)):
            measure_size(record, executor, pixels)


def measure_size(record: Record, executor: Executor, pixels: int) -> None:
    """A picture of 4000 columns and as many rows as the pixels fill."""
    shape = (max(1, pixels // WIDTH), WIDTH, 3)
    img = np.random.default_rng(0).integers(0, 256, shape, np.uint8)
    record.copy_rates += copy_rates(executor, [img.nbytes])
    sets = [(executor.put(img),) for _ in range(sets_for(executor, 2 * img.nbytes))]
    expected = Expected(judge(executor.xp, sets[0][0]), absolute=1.0)
    case = Case({"pixels": pixels}, sets, np.uint8, expected, 2 * img.nbytes)
    record.compare(executor, runners(executor, sets[0][0]), case)
    peer = PEERS[executor.name][0]
    ratio = record.ratio(executor.name, peer, "opweave fused", pixels=pixels)
    name = f"{executor.name}: {peer} / opweave fused, {pixels / 1e6:g} megapixels"
    record.limit(name, LIMITS[executor.name], ratio, "x")


def runners(executor: Executor, img: Any) -> list[Runner]:
    """Ours, fused and not, and plain code."""
    fused = ow.fuse(render)
    out = executor.xp.empty_like(img)
    toggles = fused.lower(img).kernels[0].toggles
    return [
        Runner("opweave fused", fused, toggles=toggles),
        Runner("opweave fused, out=", partial(fused, out=out), out=out, toggles=toggles),
        Runner("opweave unfused", fused.unfused(), fused.explain(img).bytes_unfused),
        Runner(PEERS[executor.name][0], partial(plain, executor.xp, np.float32)),
    ]
