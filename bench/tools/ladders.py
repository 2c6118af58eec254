"""Published ladders of kernels as data: how each step is launched, and what it took there.

Nothing of the model was fitted to them.  Their sources are not part of this project: they are
compiled as they are, but for lines that include headers of the host, and for the host's functions.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from opweave.runtime.model.device import DeviceModel, described, read

ROOT = Path(__file__).resolve().parents[2]
OUTSIDE = ROOT / "outside"
HERE = Path(__file__).parent


class Launch(NamedTuple):
    """How a kernel is started."""

    grid: tuple[int, ...]
    block: tuple[int, ...]
    shared_bytes: int = 0


class Rung(NamedTuple):
    """A step of a ladder.

    Attributes:
        label: what it is called there.
        file: of its source, from the ladder's folder on.
        kernel, arguments: its name and template arguments.
        launches: how it is started; of several the fastest was published.
        us: microseconds that were measured.
        before: what its file takes from a header of the host, or from another file.
    """

    label: str
    file: str
    kernel: str
    arguments: str
    launches: tuple[Launch, ...]
    us: float
    before: str = ""


class Ladder(NamedTuple):
    """Kernels that somebody made faster step by step, on one card.

    Attributes:
        title, about: for the page.
        folder, url, commit: where its sources lie, and whence they come.
        card: the device of the model.
        rungs: the steps.
        args: what a kernel is called with.
        elements: that sentences count by.
        until: where the host's functions begin in a file.
    """

    title: str
    about: str
    folder: Path
    url: str
    commit: str
    card: Callable[[], DeviceModel]
    rungs: tuple[Rung, ...]
    args: Callable[[], tuple[Any, ...]]
    elements: int
    until: str = ""

    @property
    def fetch(self) -> str:
        """How its sources are fetched."""
        into = f"outside/{self.folder.name}"
        return f"git clone {self.url} {into}, git -C {into} checkout {self.commit}"


def described_here(name: str) -> Callable[[], DeviceModel]:
    """A card that is described for a ladder alone: no kernel of ours is compiled for it."""
    return lambda: read(HERE / f"{name}.toml")[0]


# Products: src/runner.cu has the launches, README.md the rates.
N = 4096


def _product(
    file: str, kernel: str, arguments: str, tile: tuple[int, int], block: tuple[int, ...],
    gflops: float, before: str = "",
) -> Rung:  # fmt: skip
    rows, columns = tile  # the first three have rows along x, and square tiles
    launch = Launch((N // columns, N // rows), block)
    path = f"src/kernels/{file}.cuh"
    us = 2 * N**3 / gflops / 1e3
    return Rung(file.replace("_", " "), path, kernel, arguments, (launch,), us, before)


def _matrices() -> tuple[Any, ...]:
    a, b, c = (np.empty((N, N), np.float32) for _ in range(3))
    return N, N, N, 1.0, a, b, 0.0, c


PRODUCTS = Ladder(
    "Products",
    "Eleven float32 products of 4096 x 4096 by "
    "[S. Boehm](https://siboehm.com/articles/22/CUDA-MMM), measured there on an RTX A6000",
    OUTSIDE / "SGEMM_CUDA",
    "https://github.com/siboehm/SGEMM_CUDA",
    "60cba6f9b20a198116c76f18de8047f44df8c8b8",
    described_here("a6000"),
    (
        _product("1_naive", "sgemm_naive", "", (32, 32), (32, 32), 309.0),
        _product("2_kernel_global_mem_coalesce", "sgemm_global_mem_coalesce", "32", (32, 32),
                 (1024,), 1986.5),
        _product("3_kernel_shared_mem_blocking", "sgemm_shared_mem_block", "32", (32, 32),
                 (1024,), 2980.3),
        _product("4_kernel_1D_blocktiling", "sgemm1DBlocktiling", "64,64,8,8", (64, 64), (512,),
                 8474.7),
        _product("5_kernel_2D_blocktiling", "sgemm2DBlocktiling", "128,128,8,8,8", (128, 128),
                 (256,), 15971.7),
        _product("6_kernel_vectorize", "sgemmVectorize", "128,128,8,8,8", (128, 128), (256,),
                 18237.3),
        _product("7_kernel_resolve_bank_conflicts", "sgemmResolveBankConflicts", "128,128,8,8,8",
                 (128, 128), (256,), 16213.4),
        _product("8_kernel_bank_extra_col", "sgemmResolveBankExtraCol", "128,128,8,8,8",
                 (128, 128), (256,), 16459.2),
        _product("9_kernel_autotuned", "sgemmAutotuned", "128,128,16,8,8", (128, 128), (256,),
                 19721.0),
        _product("10_kernel_warptiling", "sgemmWarptiling", "128,128,16,64,64,4,8,4,128",
                 (128, 128), (128,), 21779.3),
        _product("11_kernel_double_buffering", "sgemmDoubleBuffering",
                 "128,256,16,128,32,1,8,8,256", (128, 256), (256,), 17278.3,
                 before="const int WARPSIZE = 32;\n"),
    ),
    _matrices,
    N * N,
)  # fmt: skip


# Transposes: main.cu has the launches, README.md the times.
WIDE = 32_768


def _transpose(
    label: str, kernel: str, arguments: str, block: tuple[int, int], ms: float, tile: int = 32
) -> Rung:
    launch = Launch((WIDE // tile, WIDE // tile), block)
    return Rung(label, "transpose_kernels.cuh", kernel, arguments, (launch,), ms * 1e3)


def _wide_matrices() -> tuple[Any, ...]:
    return *(np.empty((WIDE, WIDE), np.float32) for _ in range(2)), WIDE


COARSE = "TransposeNoBankConflictsCoarsen"
TWO, FOUR = "TransposeVec2Coarsen", "TransposeVec4Coarsen"
TRANSPOSES = Ladder(
    "Transposes",
    "Twenty float32 transposes of 32,768 x 32,768 of "
    "[yencal/gpu-matrix-transpose](https://github.com/yencal/gpu-matrix-transpose), measured "
    "there on an H100 80GB HBM3",
    OUTSIDE / "gpu-matrix-transpose",
    "https://github.com/yencal/gpu-matrix-transpose",
    "cab465026e92a1ef5888e5f947ecb44cb18387fe",
    lambda: described()["H100"],
    (
        _transpose("Naive", "TransposeNaive", "", (32, 32), 18.0645),
        _transpose("Tiled", "TransposeBankConflicts", "32", (32, 32), 8.6235),
        _transpose("TiledPadded", "TransposeNoBankConflicts", "32", (32, 32), 5.0724),
        _transpose("Coarsen2", COARSE, "32,16", (32, 16), 3.6014),
        _transpose("Coarsen4", COARSE, "32,8", (32, 8), 3.0984),
        _transpose("Coarsen8", COARSE, "32,4", (32, 4), 3.0951),
        _transpose("Vec2", "TransposeVec2", "32", (16, 32), 3.6041),
        _transpose("Vec2Coarsen2", TWO, "32,16", (16, 16), 3.0983),
        _transpose("Vec2Coarsen4", TWO, "32,8", (16, 8), 3.0953),
        _transpose("Vec2Coarsen8", TWO, "32,4", (16, 4), 3.0951),
        _transpose("Vec4", "TransposeVec4", "32", (8, 32), 3.0997),
        _transpose("Vec4Coarsen2", FOUR, "32,16", (8, 16), 3.0966),
        _transpose("Vec4Coarsen4", FOUR, "32,8", (8, 8), 3.0960),
        _transpose("Vec4Coarsen8", FOUR, "32,4", (8, 4), 3.0972),
        _transpose("Vec2_T64", TWO, "64,32", (32, 32), 2.9910, 64),
        _transpose("Vec2_T64_Coarsen2", TWO, "64,16", (32, 16), 2.9220, 64),
        _transpose("Vec2_T64_Coarsen4", TWO, "64,8", (32, 8), 2.9345, 64),
        _transpose("Vec4_T64", FOUR, "64,32", (16, 32), 2.9228, 64),
        _transpose("Vec4_T64_Coarsen2", FOUR, "64,16", (16, 16), 2.9347, 64),
        _transpose("Vec4_T64_Coarsen4", FOUR, "64,8", (16, 8), 2.9213, 64),
    ),
    _wide_matrices,
    WIDE * WIDE,
)

# Sums: `reduce_sum` has the launches, `main` the block sizes, README.md the rates.
MANY = 1 << 25


def _sum(label: str, number: int, each: int, gb_per_s: float) -> Rung:
    """``each``: elements of a thread, but for the first step those of a load."""
    launches = tuple(
        Launch((MANY // each // block,), (block,), 0 if number == 1 else 4 * block)
        for block in (64, 128, 256, 512, 1024)
    )
    us = 4 * MANY / gb_per_s / 1e3
    return Rung(label, "reduce_sum.cu", f"reduce_sum_kernel{number}", "", launches, us)


SUMS = Ladder(
    "Sums",
    "Six sums of 33,554,432 floats of "
    "[MasterSkepticista/parallel_reductions_cuda]"
    "(https://github.com/MasterSkepticista/parallel_reductions_cuda), measured there on an "
    "RTX 3090; of five sizes of blocks the fastest stands here",
    OUTSIDE / "parallel_reductions_cuda",
    "https://github.com/MasterSkepticista/parallel_reductions_cuda",
    "1f21e8e52cc9b8566f130b12e60eb0b3163bf852",
    described_here("rtx3090"),
    (
        _sum("Vector Loads", 1, 4, 9.9),
        _sum("Interleaved Addressing", 2, 1, 223),
        _sum("Non-divergent Threads", 3, 1, 317),
        _sum("Sequential Addressing", 4, 1, 331),
        _sum("Reduce on First Loads", 5, 2, 618),
        _sum("Warp Unrolling", 6, 2, 859),
    ),
    lambda: (np.zeros(1, np.float32), np.empty(MANY, np.float32), MANY),
    MANY,
    until="void reduce_sum(",
)
LADDERS = (PRODUCTS, TRANSPOSES, SUMS)
