"""The exercise of the guide: a convolution of 1,000,000 values with 19 taps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import opweave as ow
from bench.measure.harness import Runner, gamma
from bench.measure.problem import Problem, solve
from bench.measure.record import Record
from bench.report.figures import Figure
from bench.report.reading import quickest, times

TITLE = "Convolution with 19 taps"
ABOUT = (
    "float32: y[i] = sum of x[i + k] w[k], k below 19. As a sum of 19 slices it is one map whose "
    "loads overlap; as a window of 19 columns with overlapping rows, a row reduction. Any "
    "algorithm reads x once and writes y once. Peers run the sum of slices, and their own "
    "convolution where they have one."
)
FIGURES = (Figure("time", "", "milliseconds", kind="bars", panels=("elements",), ylog=False),)
SIZES = {"host": (1_000_000,), "cuda": (1_000_000, 100_000_000)}
QUICK = (100_000,)
TAPS = 19
WEIGHTS = [float(w) for w in np.hanning(TAPS + 2)[1:-1] / (TAPS + 1) * 2]


def sliced(x: Any) -> Any:
    """The weights are constants of the function."""
    count = x.shape[0] - TAPS + 1
    total = x[:count] * WEIGHTS[0]
    for k in range(1, TAPS):
        total = total + x[k : count + k] * WEIGHTS[k]
    return total


def conv1d(x: Any) -> Any:
    """PyTorch's own, which correlates."""
    weights = np.tensor(WEIGHTS, dtype=x.dtype, device=x.device)
    return np.conv1d(x[None, None], weights[None, None])[0, 0]


def convolve(x: Any) -> Any:
    """JAX's own, as NumPy's."""
    return np.convolve(x, np.asarray(WEIGHTS[::-1], x.dtype), "valid")


def windowed(windows: Any, w: Any) -> Any:
    return (windows * w).sum(-1)


def measure(record: Record) -> None:
    """Both ways, and the library's."""
    for size in record.sizes(SIZES[record.device], QUICK, 4 * 200):
        measure_size(record, size)


def measure_size(record: Record, size: int) -> None:
    xp, put = record.executor.xp, record.executor.put
    x = np.random.default_rng(0).random(size + TAPS - 1, dtype=np.float32)
    shared, weights = put(x), put(np.asarray(WEIGHTS, np.float32))
    rows, turned = windows(xp, shared, size), weights[::-1].copy()
    fused = ow.fuse(windowed)
    extra = [
        Runner("opweave, windows: a row reduction", lambda _: fused(rows, weights),
               role="variant"),
        Runner("library's convolve", lambda _: xp.convolve(shared, turned, "valid"), role="peer"),
    ]  # fmt: skip
    # a convolution of a library's may go through Fourier transforms, whose error is that of the
    # largest value
    solve(record, Problem(
        sliced, [x], {"elements": size}, gamma(2 * TAPS, np.float32), 1e-6, depth=TAPS,
        nbytes=8 * size, flops=2 * TAPS * size, rotate=False,
        own={"PyTorch": (conv1d,), "torch.compile": (conv1d,), "JAX": (convolve,)},
    ), extra)  # fmt: skip


def windows(xp: Any, x: Any, size: int) -> Any:
    """Overlapping rows of x, a row for each result."""
    return xp.lib.stride_tricks.as_strided(x, (size, TAPS), (x.itemsize, x.itemsize))


def reading(found: Mapping[str, Any]) -> str:
    """One map against one row reduction and the library."""
    if not times(found, "opweave"):
        return ""
    size = next(iter(found["rows"]))["parameters"]["elements"]
    return (
        f"At {size:,} values: {quickest(found, elements=size)}. Each value of x is loaded {TAPS} "
        "times, once for each of the results that it is part of."
    )
