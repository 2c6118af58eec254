"""A transformer block: its products against the rest, before and after fusion."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

import opweave as ow
from bench.measure.harness import Runner
from bench.measure.problem import UNFUSED, Problem, solve
from bench.measure.record import Record
from bench.report.figures import Figure
from bench.report.reading import quickest, time, times

TITLE = "A transformer block: products against the rest"
ABOUT = (
    "float32, batch of one, T tokens, width D, one head: layer norm, q k v, softmax of scores, "
    "projection, residual, layer norm, two linear layers with GELU, residual. Products alone runs "
    "its eight products on arrays that are there; the rest is the difference. PyTorch, "
    "attention runs its own layers. Results may differ "
    "from float64 by 5e-4, a bound that was chosen and not derived."
)
FIGURES = (
    Figure("time", "", "milliseconds", kind="bars", panels=("tokens", "width"), ylog=False),
)
SHAPES = {"host": ((256, 256),), "cuda": ((1024, 1024), (4096, 1024))}
QUICK = ((32, 64),)
EPSILON = 1e-5
ALONE = "opweave, products alone"


def norm(x: Any, gain: Any, bias: Any) -> Any:
    centred = x - np.mean(x, -1, keepdims=True)
    return (
        centred * (1 / np.sqrt(np.mean(centred * centred, -1, keepdims=True) + EPSILON)) * gain
        + bias
    )


def softmax(x: Any) -> Any:
    raised = np.exp(x - np.max(x, -1, keepdims=True))
    return raised / np.sum(raised, -1, keepdims=True)


def gelu(x: Any) -> Any:
    """With the approximation by tanh (Hendrycks and Gimpel, "GELUs", 2016)."""
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def block(
    x: Any, wq: Any, wk: Any, wv: Any, wo: Any, w1: Any, w2: Any, gain: Any, bias: Any
) -> Any:
    """The block; square weights but for the two layers at the end."""
    n = norm(x, gain, bias)
    q, k, v = n @ wq, n @ wk, n @ wv
    scores = softmax((q @ k.T) * k.shape[1] ** -0.5)
    x = x + (scores @ v) @ wo
    n = norm(x, gain, bias)
    return x + gelu(n @ w1) @ w2


def attention(
    x: Any, wq: Any, wk: Any, wv: Any, wo: Any, w1: Any, w2: Any, gain: Any, bias: Any
) -> Any:
    """The block by PyTorch's own layers."""
    own = np.nn.functional
    n = own.layer_norm(x, gain.shape, gain, bias, EPSILON)
    heads = [(n @ w)[None, None] for w in (wq, wk, wv)]
    x = x + own.scaled_dot_product_attention(*heads)[0, 0] @ wo
    n = own.layer_norm(x, gain.shape, gain, bias, EPSILON)
    return x + own.gelu(n @ w1, approximate="tanh") @ w2


def products(
    x: Any, wq: Any, wk: Any, wv: Any, wo: Any, w1: Any, w2: Any, wide: Any, scores: Any
) -> Any:
    """The block's products, of operands that are there."""
    return x @ wq, x @ wk, x @ wv, x @ x.T, scores @ x, x @ wo, x @ w1, wide @ w2


def measure(record: Record) -> None:
    """The block and its products, ours fused and one kernel an operator, and the peers."""
    rng = np.random.default_rng(0)
    for tokens, width in QUICK if record.options.quick else SHAPES[record.device]:
        x = rng.standard_normal((tokens, width), np.float32)
        square = [rng.standard_normal((width, width), np.float32) * width**-0.5 for _ in range(4)]
        w1 = rng.standard_normal((width, 4 * width), np.float32) * width**-0.5
        w2 = rng.standard_normal((4 * width, width), np.float32) * (4 * width) ** -0.5
        weights = [a.astype(np.float32) for a in (*square, w1, w2)]
        gain, bias = np.ones(width, np.float32), np.zeros(width, np.float32)
        arrays = [x, *weights, gain, bias]
        flops = 2 * tokens * width * width * 12 + 4 * tokens * tokens * width
        solve(record, Problem(
            block, arrays, {"tokens": tokens, "width": width}, absolute=5e-4, depth=6 * width,
            flops=flops, unit="matrix", rotate=False,
            variants={UNFUSED: lambda fused: fused.unfused()},
            own={"PyTorch": (attention,), "torch.compile": (attention,)},
        ), with_peers=True)  # fmt: skip
        measure_products(record, arrays, tokens, width)


def measure_products(record: Record, arrays: list[np.ndarray], tokens: int, width: int) -> None:
    """Our products alone: timed, and held against nothing, since the block was."""
    put = record.executor.put
    rng = np.random.default_rng(1)
    wide = put(rng.standard_normal((tokens, 4 * width), np.float32))
    scores = put(rng.standard_normal((tokens, tokens), np.float32))
    fused = ow.fuse(products)
    run = partial(fused, *map(put, arrays[:7]), wide, scores)
    runner = Runner(ALONE, run, role="variant")
    run()
    samples = record.executor.sample(runner, [()], record.effort)
    clock = record.executor.clock_of(runner)
    record.measured(ALONE, {"tokens": tokens, "width": width}, samples, "variant", clock)


def reading(found: Mapping[str, Any]) -> str:
    """The share of what is no product."""
    fused, apart, alone = (times(found, r) for r in ("opweave", UNFUSED, ALONE))
    if not (fused and apart and alone):
        return ""
    return (
        f"Of {time(apart[-1])} with a kernel an operator, {1 - alone[-1] / apart[-1]:.0%} is no "
        f"product; fused, {time(fused[-1])}, it is {max(0.0, 1 - alone[-1] / fused[-1]):.0%}. "
        f"Quickest: {quickest(found)}."
    )
