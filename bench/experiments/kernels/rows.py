"""Work on rows, and a step of a stencil: what compilers of arrays are known to do well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from bench.experiments.kernels.transformer import norm, softmax
from bench.measure.problem import Problem, solve
from bench.measure.record import Record
from bench.report.figures import Figure
from bench.report.reading import quickest, rows, values

TITLE = "Rows and a stencil: softmax, layer norm, a step of heat"
ABOUT = (
    "float32, n rows: softmax and layer norm of a quarter as many columns, and the inner points "
    "of one step of the heat equation on n / 2 times n / 2, by all peers that are here: the same "
    "NumPy code, compiled as their manuals say. NumPy uses one core, the others all."
)
FIGURES = (Figure("time", "function", "time", kind="bars", panels=("n",)),)
SIZES, QUICK = (1024, 4096), (64,)
BYTES_EACH = 2  # of n * n: a quarter of the columns, read and written
# Roundings of a function's result: those of NumPy's sums by pairs, and of the operators around.
DEPTH = 64
COMPILERS = ("JAX", "torch.compile")


def heat(u: Any) -> Any:
    """The inner points after a step; u: float32[n, n]."""
    inner = u[1:-1, 1:-1]
    around = u[2:, 1:-1] + u[:-2, 1:-1] + u[1:-1, 2:] + u[1:-1, :-2]
    return inner + 0.1 * (around - 4.0 * inner)


def problems(n: int) -> list[Problem]:
    """Those of a size."""
    rng, cols = np.random.default_rng(0), n // 4
    x = rng.standard_normal((n, cols), np.float32)
    gain, bias = rng.random((2, cols), np.float32)
    u = rng.random((n // 2, n // 2), np.float32)
    eps = float(np.finfo(np.float32).eps)
    given = {"softmax": (softmax, [x]), "layer norm": (norm, [x, gain, bias]), "heat": (heat, [u])}
    return [
        Problem(
            fn, arrays, {"function": name, "n": n}, relative=DEPTH * eps, absolute=DEPTH * eps,
            depth=DEPTH, rotate=False,
        )
        for name, (fn, arrays) in given.items()
    ]  # fmt: skip


def measure(record: Record) -> None:
    """Each function of each size."""
    for n in record.sizes(SIZES, QUICK, BYTES_EACH, 2):
        for problem in problems(n):
            solve(record, problem)


def reading(found: Mapping[str, Any]) -> str:
    """The best of the compilers over ours, and the three quickest of each."""
    text = []
    for n in values(found, "n"):
        for name in values(found, "function"):
            times = {row["runner"]: row["median_us"] for row in rows(found, function=name, n=n)}
            best = min((times[c] for c in COMPILERS if c in times), default=None)
            ratio = f"{best / times['opweave']:.2f} of the best compiler's speed; " if best else ""
            text.append(f"{name} of {n}: {ratio}{quickest(found, function=name, n=n)}.")
    return " ".join(text)
