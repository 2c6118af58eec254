"""The workloads of the standing table: a row each, as a NumPy user writes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import prod
from typing import Any

import ml_dtypes
import numpy as np

NAMES = {"f32": np.float32, "f16": np.float16, "bf16": ml_dtypes.bfloat16, "u8": np.uint8,
         "i32": np.int32}  # fmt: skip
# Half-precision products run on tensor cores, where a kernel uses them.
HALVES = ("f16", "bf16")
Shape = tuple[int, ...]


@dataclass(frozen=True)
class Workload:
    """One function and the arrays that it is called with.

    Attributes:
        shapes: of the arguments; of each a dtype and extents.
        fast: with ``ow.fuse(fast=True)``.
        flops: of products, by whatever algorithm; 0 where bytes alone make the floor.
    """

    name: str
    function: Callable[..., Any]
    shapes: tuple[tuple[str, Shape], ...]
    fast: bool = False
    flops: int = field(default=0, compare=False)

    def arguments(self) -> list[Any]:
        """Arrays of which nobody looks at an element: their memory is never touched."""
        return [np.empty(shape, NAMES[dtype]) for dtype, shape in self.shapes]

    @property
    def dtype(self) -> str:
        return self.shapes[0][0]


def eight(x: Any, y: Any) -> Any:
    """A map of eight operators."""
    z = np.maximum(x * np.asarray(1.5, x.dtype) + y - np.asarray(0.25, x.dtype), 0) * y
    return np.minimum(z * x + np.asarray(0.5, x.dtype), 3)


def pixels(x: Any) -> Any:
    shown = np.clip(x.astype(np.float32) / 255 * 1.2 - 0.1, 0, 1)
    return (shown * 255 + 0.5).astype(np.uint8)


def softmax(x: Any) -> Any:
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def logsumexp(x: Any) -> Any:
    top = x.max(axis=1)
    return np.log(np.exp(x - top[:, None]).sum(axis=1)) + top


def layer_norm(x: Any, w: Any, b: Any) -> Any:
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5) * w + b


def total(x: Any) -> Any:
    return x.sum()


def rows(x: Any) -> Any:
    return x.sum(axis=1)


def columns(x: Any) -> Any:
    return x.sum(axis=0)


def turned(x: Any) -> Any:
    return x.T + 0


def running(x: Any) -> Any:
    return x.cumsum()


def running_down(x: Any) -> Any:
    return x.cumsum(axis=0)


def heat(u: Any) -> Any:
    around = u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:]
    return u[1:-1, 1:-1] + 0.1 * (around - 4 * u[1:-1, 1:-1])


def permuted(x: Any) -> Any:
    return x.transpose(1, 0, 2) + 0


def linear(x: Any, w: Any, b: Any) -> Any:
    return np.maximum(x @ w + b, 0)


def product(x: Any, w: Any) -> Any:
    return x @ w


def attention(q: Any, k: Any, v: Any) -> Any:
    scores = q @ k.transpose(0, 2, 1) * np.asarray(0.125, q.dtype)
    e = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return (e / e.sum(axis=-1, keepdims=True)) @ v


def _of(name: str, function: Any, *shapes: Shape, dtype: str = "f32", **more: Any) -> Workload:
    return Workload(name, function, tuple((dtype, shape) for shape in shapes), **more)


def _linear(dtype: str) -> Workload:
    n = 4096
    shapes = (n, n), (n, n), (n,)
    return _of("linear 4096^3", linear, *shapes, dtype=dtype, flops=2 * n**3)


def _few_rows(dtype: str) -> Workload:
    shapes = (1, 8192), (8192, 8192)
    return _of("1 x 8192 @ 8192^2", product, *shapes, dtype=dtype, flops=2 * 8192**2)


def _softmax(cols: int, dtype: str = "f32") -> Workload:
    return _of(f"softmax of {cols} columns", softmax, (2**25 // cols, cols), dtype=dtype)


LONG = (2**26,)
HEADS = (16, 4096, 64)
WORKLOADS = (
    *(_of("map of 8 operators", eight, LONG, LONG, dtype=d) for d in ("f32", "f16", "bf16")),
    _of("map of 8 operators", eight, LONG, LONG, dtype="bf16", fast=True),
    _of("pixels / 255", pixels, LONG, dtype="u8"),
    *map(_softmax, (64, 1024, 8192, 32768, 65536, 131072)),
    *(_softmax(n, "bf16") for n in (8192, 32768)),
    _of("softmax of 16 rows of 2^17", softmax, (16, 2**17)),
    _of("logsumexp of 16 rows of 2^20", logsumexp, (16, 2**20)),
    _of("layer norm of 4096", layer_norm, (8192, 4096), (4096,), (4096,), dtype="f16"),
    _of("layer norm of 4096", layer_norm, (8192, 4096), (4096,), (4096,)),
    _of("layer norm of 32768", layer_norm, (1024, 32768), (32768,), (32768,)),
    _of("sum of 2^26", total, LONG),
    _of("sum of 2^26", total, LONG, dtype="f16"),
    _of("sums of 100 rows of 2^20", rows, (100, 2**20)),
    _of("sums of 64 columns of 65,536", columns, (65536, 64)),
    _of("sums of 4096 columns of 4096", columns, (4096, 4096)),
    _of("x.T of 8192^2", turned, (8192, 8192)),
    _of("cumsum of 2^26", running, LONG),
    _of("cumsum down 4096^2", running_down, (4096, 4096)),
    _of("heat step of 8192^2", heat, (8192, 8192)),
    _of("permute (1, 0, 2), runs of 64", permuted, (1024, 1024, 64)),
    *map(_linear, ("f32", "f16", "bf16")),
    *map(_few_rows, ("f32", "bf16")),
    _of("attention of 16 x 4096 x 64", attention, HEADS, HEADS, HEADS,
        flops=4 * prod(HEADS) * 4096),
)  # fmt: skip
SMALL = (2**16,)
# Small enough for a test: a row of each template, and of each way to round.
QUICK = (
    *(_of("map of 8 operators", eight, SMALL, SMALL, dtype=d) for d in ("f32", "f16", "bf16")),
    _of("pixels / 255", pixels, SMALL, dtype="u8"),
    _of("softmax of 1024 columns", softmax, (64, 1024)),
    _of("layer norm of 1024", layer_norm, (64, 1024), (1024,), (1024,), dtype="f16"),
    _of("sum of 2^20", total, (2**20,)),
    _of("sums of 64 columns of 4096", columns, (4096, 64)),
    _of("x.T of 256^2", turned, (256, 256)),
    _of("cumsum of 2^16", running, SMALL),
    _of("cumsum down 256^2", running_down, (256, 256)),
    _of("heat step of 256^2", heat, (256, 256)),
    *(_of("linear 128^3", linear, (128, 128), (128, 128), (128,), dtype=d, flops=2 * 128**3)
      for d in ("f32", "f16")),
)  # fmt: skip
