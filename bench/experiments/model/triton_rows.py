"""Triton's kernels beside ours: compiled ahead of time, without a GPU, and profiled the same way.

They are what a user of Triton writes first.  Each rounds once at its end, so that one of half
precision stands beside ``fast=True``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

import numpy as np
import triton
import triton.language as tl
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from bench.experiments.model.workloads import Workload

CAPABILITY = {"sm_90a": 90, "sm_80": 80}
POINTERS = {"f32": "*fp32", "f16": "*fp16", "bf16": "*bf16", "u8": "*u8"}


@triton.jit
def eight(x, y, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    a = tl.load(x + at, mask=inside).to(tl.float32)
    b = tl.load(y + at, mask=inside).to(tl.float32)
    z = tl.maximum(a * 1.5 + b - 0.25, 0.0, propagate_nan=tl.PropagateNan.ALL) * b
    z = tl.minimum(z * a + 0.5, 3.0, propagate_nan=tl.PropagateNan.ALL)
    tl.store(out + at, z, mask=inside)


@triton.jit
def pixels(x, out, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < n
    shown = tl.clamp(tl.load(x + at, mask=inside).to(tl.float32) / 255.0 * 1.2 - 0.1, 0.0, 1.0)
    tl.store(out + at, (shown * 255 + 0.5).to(tl.uint8), mask=inside)


@triton.jit
def softmax(x, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * cols
    at = tl.arange(0, BLOCK)
    inside = at < cols
    v = tl.load(x + row + at, mask=inside, other=-float("inf")).to(tl.float32)
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row + at, e / tl.sum(e, 0), mask=inside)


@triton.jit
def layer_norm(x, w, b, out, cols, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64) * cols
    at = tl.arange(0, BLOCK)
    inside = at < cols
    v = tl.load(x + row + at, mask=inside, other=0.0).to(tl.float32)
    centred = tl.where(inside, v - tl.sum(v, 0) / cols, 0.0)
    scale = 1 / tl.sqrt(tl.sum(centred * centred, 0) / cols + 1e-5)
    weight = tl.load(w + at, mask=inside).to(tl.float32)
    bias = tl.load(b + at, mask=inside).to(tl.float32)
    tl.store(out + row + at, centred * scale * weight + bias, mask=inside)


@triton.jit
def columns(x, out, rows, cols, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    part = tl.program_id(1)
    found = tl.zeros((ROWS, BLOCK), tl.float32)
    for first in range(part * ROWS, rows, ROWS * tl.num_programs(1)):
        row = first + tl.arange(0, ROWS)
        inside = (row[:, None] < rows) & (at[None, :] < cols)
        found += tl.load(x + row[:, None] * cols + at[None, :], mask=inside, other=0.0)
    tl.store(out + part * cols + at, tl.sum(found, 0), mask=at < cols)


@triton.jit
def total(x, out, n, BLOCK: tl.constexpr):
    found = tl.zeros((BLOCK,), tl.float32)
    for first in range(tl.program_id(0) * BLOCK, n, BLOCK * tl.num_programs(0)):
        at = first + tl.arange(0, BLOCK)
        found += tl.load(x + at, mask=at < n, other=0.0)
    tl.store(out + tl.program_id(0), tl.sum(found, 0))


@dataclass(frozen=True)
class Launch:
    """How a workload's kernel of Triton is started.

    Attributes:
        numbers: parameters behind the pointers.
        constants: known when it is compiled.
        grid, warps: of the launch.
    """

    kernel: Any
    numbers: Mapping[str, int]
    constants: Mapping[str, int]
    grid: tuple[int, ...]
    warps: int
    results: tuple[int, ...]


def _map(kernel: Any, block: int = 1024) -> Callable[[Workload], Launch]:
    def of(work: Workload) -> Launch:
        (n,) = work.shapes[0][1]
        return Launch(kernel, {"n": n}, {"BLOCK": block}, (ceil(n / block),), 4, (n,))

    return of


def _rows(kernel: Any) -> Callable[[Workload], Launch]:
    def of(work: Workload) -> Launch:
        rows, cols = work.shapes[0][1]
        warps = 1 if cols <= 64 else 4 if cols <= 1024 else 8 if cols <= 8192 else 32
        block = triton.next_power_of_2(cols)
        return Launch(kernel, {"cols": cols}, {"BLOCK": block}, (rows,), warps, (rows, cols))

    return of


def _columns(work: Workload) -> Launch:
    rows, cols = work.shapes[0][1]
    blocks = ceil(cols / 64)
    parts = max(1, min(rows // 64, 264 // blocks))
    numbers, constants = {"rows": rows, "cols": cols}, {"ROWS": 64, "BLOCK": 64}
    return Launch(columns, numbers, constants, (blocks, parts), 4, (parts, cols))


def _total(work: Workload) -> Launch:
    (n,) = work.shapes[0][1]
    return Launch(total, {"n": n}, {"BLOCK": 4096}, (528,), 8, (528,))


# By workload's function; of reductions the first pass alone, which reads all.
PEERS: dict[str, Callable[[Workload], Launch]] = {
    "eight": _map(eight), "pixels": _map(pixels, 4096), "softmax": _rows(softmax),
    "layer_norm": _rows(layer_norm), "columns": _columns, "total": _total,
}  # fmt: skip


def profile(work: Workload, device: Any) -> Any:
    """The report of Triton's kernel for a workload; None where there is none here."""
    import opweave as ow

    make = PEERS.get(work.function.__name__)
    if make is None:
        return None
    launch = make(work)
    made = _compiled(work, launch, device.arch)
    args = [*work.arguments(), np.empty(launch.results, work.arguments()[0].dtype)]
    numbers = [np.int32(n) for n in launch.numbers.values()]
    return ow.profile_cubin(
        made.asm["cubin"], made.metadata.name, launch.grid, 32 * launch.warps, [*args, *numbers],
        made.metadata.shared, device.name,
    )  # fmt: skip


def _compiled(work: Workload, launch: Launch, arch: str) -> Any:
    """The kernel, told what a just-in-time launch would find: what divides by 16."""
    names = launch.kernel.arg_names
    pointers = [POINTERS[dtype] for dtype, _ in work.shapes] + [POINTERS[work.dtype]]
    kinds = dict(zip(names, [*pointers, *("i32" for _ in launch.numbers)], strict=False))
    kinds |= dict.fromkeys(launch.constants, "constexpr")
    even = [n for n, name in enumerate(names) if kinds[name].startswith("*")
            or launch.numbers.get(name, 1) % 16 == 0]  # fmt: skip
    source = ASTSource(
        fn=launch.kernel, signature={name: kinds[name] for name in names},
        constexprs={(names.index(name),): value for name, value in launch.constants.items()},
        attrs={(n,): [["tt.divisibility", 16]] for n in even},
    )  # fmt: skip
    options = {"num_warps": launch.warps, "num_stages": 3}
    return triton.compile(source, target=GPUTarget("cuda", CAPABILITY[arch], 32), options=options)
