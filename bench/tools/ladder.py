"""Published kernels, the model against their measured times: ``python -m bench.tools.ladder``.

The ladder of float32 products of S. Boehm, "How to Optimize a CUDA Matmul Kernel for cuBLAS-like
Performance" (2022), measured there on an RTX A6000 with matrices of 4096 x 4096.  Nothing of the
model was fitted to it.  Its sources are not part of this project: they are compiled as they are,
but for lines that include headers of the host.  Writes ``bench/results/model/ladder.md``.
"""

from __future__ import annotations

import re
import statistics
import sys
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np

from bench.measure.machine import describe
from opweave._profiler.handwritten import profile_on
from opweave._profiler.report import KernelProfile
from opweave.runtime.model.device import DeviceModel, read

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "outside" / "SGEMM_CUDA"
COMMIT = "60cba6f9b20a198116c76f18de8047f44df8c8b8"
FETCH = (
    f"git clone https://github.com/siboehm/SGEMM_CUDA outside/SGEMM_CUDA, git checkout {COMMIT}"
)
DEVICE = Path(__file__).with_name("a6000.toml")
PAGE = ROOT / "bench" / "results" / "model" / "ladder.md"
N = 4096
# Steps that differ by less than this are in no order.
APART = 1.15
# What the sources take from a header of the host, or from the file before.
TAKEN = {"11_kernel_double_buffering": "const int WARPSIZE = 32;\n"}


class Rung(NamedTuple):
    """A kernel of the ladder: its file, name and template arguments; how it is launched there.

    Attributes:
        tile: rows and columns of a block.
        gflops: measured.
    """

    file: str
    name: str
    arguments: str
    tile: tuple[int, int]
    block: tuple[int, ...]
    gflops: float

    @property
    def us(self) -> float:
        """Microseconds that were measured."""
        return 2 * N**3 / self.gflops / 1e3

    @property
    def grid(self) -> tuple[int, int]:
        rows, columns = self.tile  # the first three have rows along x, and square tiles
        return N // columns, N // rows


# Launches of src/runner.cu, figures of README.md.
LADDER = (
    Rung("1_naive", "sgemm_naive", "", (32, 32), (32, 32), 309.0),
    Rung("2_kernel_global_mem_coalesce", "sgemm_global_mem_coalesce", "32", (32, 32), (1024,),
         1986.5),
    Rung("3_kernel_shared_mem_blocking", "sgemm_shared_mem_block", "32", (32, 32), (1024,),
         2980.3),
    Rung("4_kernel_1D_blocktiling", "sgemm1DBlocktiling", "64,64,8,8", (64, 64), (512,), 8474.7),
    Rung("5_kernel_2D_blocktiling", "sgemm2DBlocktiling", "128,128,8,8,8", (128, 128), (256,),
         15971.7),
    Rung("6_kernel_vectorize", "sgemmVectorize", "128,128,8,8,8", (128, 128), (256,), 18237.3),
    Rung("7_kernel_resolve_bank_conflicts", "sgemmResolveBankConflicts", "128,128,8,8,8",
         (128, 128), (256,), 16213.4),
    Rung("8_kernel_bank_extra_col", "sgemmResolveBankExtraCol", "128,128,8,8,8", (128, 128),
         (256,), 16459.2),
    Rung("9_kernel_autotuned", "sgemmAutotuned", "128,128,16,8,8", (128, 128), (256,), 19721.0),
    Rung("10_kernel_warptiling", "sgemmWarptiling", "128,128,16,64,64,4,8,4,128", (128, 128),
         (128,), 21779.3),
    Rung("11_kernel_double_buffering", "sgemmDoubleBuffering", "128,256,16,128,32,1,8,8,256",
         (128, 256), (256,), 17278.3),
)  # fmt: skip


class Row(NamedTuple):
    """A step, and what the model says of it."""

    step: Rung
    profile: KernelProfile

    @property
    def us(self) -> float:
        return self.profile.model.us

    @property
    def error(self) -> float:
        """The model over what was measured, less one."""
        return self.us / self.step.us - 1


def source_of(step: Rung, folder: Path = SOURCES) -> str:
    """A kernel's file as it is, without headers of the host; a template with its instance.

    Raises:
        OSError: it is not there.
    """
    text = (folder / "src" / "kernels" / f"{step.file}.cuh").read_text()
    made = "typedef unsigned int uint;\n" + TAKEN.get(step.file, "")
    made += re.sub(r"#include <.*>", "", text)
    if not step.arguments:
        return made
    given = re.search(rf"{step.name}\s*\(([^)]*)\)\s*\{{", text)
    assert given, f"{step.file} has another form than at {COMMIT}"
    types = ", ".join(re.sub(r"\w+$", "", one.strip()) for one in given[1].split(","))
    return f"{made}\ntemplate __global__ void {step.name}<{step.arguments}>({types});\n"


def profiled(step: Rung, device: DeviceModel, folder: Path = SOURCES) -> Row:
    """A step of the ladder on a described device."""
    matrix = np.empty((N, N), np.float32)
    args = (N, N, N, 1.0, matrix, matrix.copy(), 0.0, matrix.copy())
    source = source_of(step, folder)
    return Row(step, profile_on(device, source, step.name, step.grid, step.block, args, N * N))


def misordered(measured: Sequence[float], model: Sequence[float]) -> tuple[int, int]:
    """Pairs that differ by over 15 % as measured: how many the model has the wrong way, of all."""
    times = list(zip(measured, model, strict=True))
    pairs = [
        (a, b)
        for a, b in combinations(times, 2)
        if max(a[0], b[0]) > APART * min(a[0], b[0])
    ]  # fmt: skip
    return sum((a[0] - b[0]) * (a[1] - b[1]) <= 0 for a, b in pairs), len(pairs)


def page(rows: Sequence[Row], device: DeviceModel) -> str:
    """The table, and what follows from it."""
    wrong, pairs = misordered([r.step.us for r in rows], [r.us for r in rows])
    middle = statistics.median(abs(r.error) for r in rows)
    made = describe()
    lines = [
        "# A ladder of published kernels, by the model\n",
        "Made by `python -m bench.tools.ladder`. Eleven float32 products of 4096 x 4096 by",
        "[S. Boehm](https://siboehm.com/articles/22/CUDA-MMM), whose times were measured there on",
        f"an RTX A6000; here each kernel is profiled for sm_86 at {device.clock_mhz:g} MHz, the",
        "clock of the card's data sheet. Nothing of the model was fitted to it.\n",
        f"Of {pairs} pairs that differ by over 15 % the model has {wrong} the wrong way. "
        f"The median error is {100 * middle:.0f} %.",
        f"Commit {made['commit'][:12]}, {made['date'][:10]}.\n",
        "| kernel | measured, us | model, us | error | bound by, as the model has it |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {r.step.file.replace('_', ' ')} | {r.step.us:,.0f} | {r.us:,.0f} | {r.error:+.0%} "
        f"| {r.profile.model.binds.name} |"
        for r in rows
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Returns 1 where the sources are not there."""
    if not SOURCES.is_dir():
        print(f"the ladder's sources are not here: {FETCH}")
        return 1
    device, _ = read(DEVICE)
    rows = []
    for step in LADDER:
        rows.append(row := profiled(step, device))
        print(
            f"{step.file:34} {step.us:9.0f} us measured {row.us:9.0f} us (model) {row.error:+.0%}"
        )
    PAGE.write_text(page(rows, device))
    return 0


if __name__ == "__main__":
    sys.exit(main())
