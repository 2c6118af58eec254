"""Kernels of each template, dtype and shape class: rows of the table that tests hold.

They are large enough to be of the class of larger ones.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import opweave as ow
from bench.experiments.model.workloads import (
    Workload,
    columns,
    eight,
    heat,
    layer_norm,
    linear,
    permuted,
    pixels,
    product,
    rows,
    running,
    running_down,
    softmax,
    total,
    turned,
)
from bench.experiments.model.workloads import _of as of

LONG, HALF = (2**24,), ("f16", "bf16")
SQUARES = (1024, 1024), (1024, 1024)


def shifted(x: Any) -> Any:
    return x[1:] * 2 + 1


def biased(x: Any, b: Any) -> Any:
    return x * 2 + b


def saturated(img: Any) -> Any:
    return ow.pixels.saturation(img, 1.5)


def bytes_saturated(img: Any) -> Any:
    return ow.pixels.to_uint8(ow.pixels.saturation(img.astype(np.float32) / 255, 1.5))


def rms_norm(x: Any, w: Any) -> Any:
    return x / np.sqrt((x * x).mean(axis=1, keepdims=True) + 1e-5) * w


def softmax_in_float(x: Any) -> Any:
    """Halves in memory, float32 between."""
    return softmax(x.astype(np.float32)).astype(x.dtype)


def picked(x: Any) -> Any:
    return np.roll(x, 3, 1) + np.roll(x, 1, 0)


def crossed(x: Any, y: Any) -> Any:
    return x.T + y


def scanned(x: Any) -> Any:
    return x.cumsum(axis=1)


def bincount(x: Any) -> Any:
    return np.bincount(x, minlength=256)


def bincount_of_many(x: Any) -> Any:
    return np.bincount(x, minlength=65_536)


def histogram(x: Any) -> Any:
    return np.histogram(x, 100, (-1.0, 1.0))[0]


def logits(x: Any, w: Any) -> Any:
    return softmax(x @ w)


def _norm(name: str, function: Any, width: int, dtype: str, more: int) -> Workload:
    shapes = ((2**22 // width, width), *[(width,)] * more)
    return of(f"{name} of {width} columns", function, *shapes, dtype=dtype)


FORMS = (
    *(of("map of 8 operators", eight, LONG, LONG, dtype=d) for d in ("f32", *HALF)),
    of("pixels / 255", pixels, LONG, dtype="u8"),
    of("map behind the first element", shifted, LONG),
    of("map of rows and a row", biased, (16_384, 1000), (1000,)),
    of("map of windows", picked, (16_384, 1024)),
    of("saturation of pixels", saturated, (2048, 4096, 3)),
    of("saturation of pixels", bytes_saturated, (2048, 4096, 3), dtype="u8"),
    *(_norm("softmax", softmax, n, "f32", 0) for n in (64, 1000, 1024, 8192, 20_000, 65_536)),
    _norm("softmax", softmax, 1024, "bf16", 0),
    *(_norm("softmax in float32", softmax_in_float, 1024, d, 0) for d in HALF),
    *(_norm("layer norm", layer_norm, 1024, d, 2) for d in ("f32", "f16")),
    _norm("RMS norm", rms_norm, 1024, "f32", 1),
    *(of("sum of 2^24", total, LONG, dtype=d) for d in ("f32", "f16")),
    of("sums of 8 rows of 2^20", rows, (8, 2**20)),
    of("sums of 64 columns of 65,536", columns, (65_536, 64)),
    *(of("x.T + y of 1024^2", crossed, *SQUARES, dtype=d) for d in ("f32", "f16", "u8")),
    of("x.T of 4096^2", turned, (4096, 4096)),
    of("permute (1, 0, 2), runs of 64", permuted, (512, 512, 64)),
    of("cumsum along 16,384 rows of 1000", scanned, (16_384, 1000)),
    of("cumsum of 2^24", running, LONG),
    of("cumsum down 4096^2", running_down, (4096, 4096)),
    *(of("bincount of 2^24 in 256", bincount, LONG, dtype=d) for d in ("u8", "i32")),
    of("bincount of 2^24 in 65,536", bincount_of_many, LONG, dtype="i32"),
    of("histogram of 2^24 in 100 bins", histogram, LONG),
    of("heat step of 4096^2", heat, (4096, 4096)),
    *(of("linear 1024^3", linear, *SQUARES, (1024,), dtype=d) for d in ("f32", "f16")),
    of("1 x 1024 @ 1024^2", product, (1, 1024), (1024, 1024)),
    of("softmax of a product", logits, (4096, 64), (64, 64)),
)  # fmt: skip
