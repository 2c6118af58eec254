"""The exercise of the guide: a convolution of 1,000,000 values with 19 taps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from figures import Figure
from harness import Runner, gamma
from problem import Problem, solve
from reading import quickest, times
from record import Record

import opweave as ow

TITLE = "Convolution with 19 taps"
ABOUT = (
    "float32: y[i] = sum of x[i + k] w[k], k below 19. As shifted views, 19 arguments that lie in "
    "one array, it is one map whose loads overlap; as a window of 19 columns with overlapping "
    "rows, a row reduction. Any algorithm reads x once and writes y once."
)
FIGURES = (Figure("time", "", "milliseconds", kind="bars", panels=("elements",), ylog=False),)
SIZES = {"host": (1_000_000,), "cuda": (1_000_000, 100_000_000)}
QUICK = (100_000,)
TAPS = 19
WEIGHTS = [float(w) for w in np.hanning(TAPS + 2)[1:-1] / (TAPS + 1) * 2]


def shifted(*views: Any) -> Any:
    """The weights are constants of the function."""
    total = views[0] * WEIGHTS[0]
    for view, weight in zip(views[1:], WEIGHTS[1:], strict=True):
        total = total + view * weight
    return total


def of_views() -> Any:
    """``shifted`` with names for its arguments, as a user has to write it."""
    names = ", ".join(f"x{i}" for i in range(TAPS))
    scope: dict[str, Any] = {"shifted": shifted, "np": np}
    exec(f"def convolution({names}):\n    return shifted({names})\n", scope)
    return scope["convolution"]


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
        Runner("opweave, windows: a row reduction", lambda *_: fused(rows, weights),
               role="variant"),
        Runner("library's convolve", lambda *_: xp.convolve(shared, turned, "valid"), role="peer"),
    ]  # fmt: skip
    # the library's may go through Fourier transforms, whose error is that of the largest value
    solve(record, Problem(
        of_views(), [x], {"elements": size}, gamma(2 * TAPS, np.float32), 1e-6, depth=TAPS,
        nbytes=8 * size, flops=2 * TAPS * size, rotate=False,
        place=lambda x: tuple(x[k : k + size] for k in range(TAPS)),
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
