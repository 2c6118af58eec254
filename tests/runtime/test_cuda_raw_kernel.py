"""Kernels of one's own on a GPU, against the stand-in of CuPy that records launches."""

import sys

import numpy as np
import pytest

import opweave as ow
from tests.support.recording_cupy import Array

pytestmark = pytest.mark.nvrtc

SOURCE = r"""
extern "C" __global__ void scaled(const float* x, float a, float* out, long long n) {
    extern __shared__ float tile[];
    long long i = blockIdx.x * (long long)blockDim.x * blockDim.y + threadIdx.x;
    tile[threadIdx.x] = 0;
    if (i < n) out[i] = a * x[i];
}
"""


def kernel(shared=0):
    return ow.raw_kernel(
        SOURCE, "scaled", outputs={"out": lambda x: x.shape}, extents={"n": lambda x: x.size},
        grid=lambda x: (-(-x.size // 128), 2), block=(32, 4), shared=shared,
        numpy=lambda x, a: a * x,
    )  # fmt: skip


def test_a_launch(launches):
    x = Array(np.ones((40, 10), np.float32))
    made = kernel()(x, 2.5)
    ((name, grid, block, args),) = launches

    assert (name, grid, block) == ("scaled", (4, 2, 1), (32, 4, 1))
    assert [type(a) for a in args] == [Array, np.float32, Array, np.int64]
    assert [*args] == [x, 2.5, made, 400]
    assert made.shape == (40, 10)
    assert made.dtype == np.float32


def test_extents_give_the_grid_of_each_call(launches):
    own = kernel()
    for rows in (40, 400, 4):
        own(Array(np.ones((rows, 10), np.float32)), 1)

    assert [grid for _, grid, *_ in launches] == [(4, 2, 1), (32, 2, 1), (1, 2, 1)]


def test_neighbours_are_launched_around_it_and_temporaries_are_planned(launches):
    own = kernel()
    x = Array(np.ones((40, 10), np.float32))
    ow.fuse(lambda x: np.sqrt(own(np.exp(x) * 2, 3.0)) + 1)(x)
    names = [name for name, *_ in launches]
    (_, _, _, args) = launches[1]

    assert len(names) == 3
    assert names[1] == "scaled"
    assert type(args[2]) is np.uint64  # a place in the arena, behind that of its operand


def test_calls_become_a_graph(launches):
    own = kernel()
    x = Array(np.ones((40, 10), np.float32))
    fused = ow.fuse(lambda x: np.exp(own(x, 3.0)), replay=True)
    out = Array(np.ones((40, 10), np.float32))
    for _ in range(3):
        fused(x, out=out)
    at = launches.index("begin")

    assert next(launch[0] for launch in launches[at + 1 : at + 3]) == "scaled"
    assert launches[at + 3 :] == ["end", "replay"]


def test_dynamic_shared_memory_is_asked_for(launches, opted):
    x = Array(np.ones((40, 10), np.float32))
    kernel(shared=1000)(x, 1)
    kernel(shared=lambda x: 100 * x.size)(Array(np.ones((50, 20), np.float32)), 1)

    assert [launch[2] for launch in launches] == [1000, 100_000]
    assert opted == [(5, 8, 100_000)]


def test_a_raw_kernel_of_cupys(launches):
    made = (
        kernel().lower(np.ones((4, 5), np.float32), 1.0, target="sm_90a").kernels[0].raw_kernel()
    )
    sys.modules["cupy"].RawKernel = lambda *args, **options: (args, options)

    assert made.load() == ((SOURCE, "scaled"), {"options": made.options})


def test_zeros_are_set_on_the_stream_before_the_launch(launches, monkeypatch):
    runtime = sys.modules["cupy"].cuda.runtime
    monkeypatch.setattr(runtime, "memsetAsync", lambda *args: launches.append(args), raising=False)
    own = ow.raw_kernel(
        SOURCE, "scaled", outputs={"out": lambda x: x.shape}, extents={"n": lambda x: x.size},
        grid=1, numpy=lambda x, a: a * x, zeros=("out",),
    )  # fmt: skip
    made = own(Array(np.ones((4, 5), np.float32)), 2.0)

    assert launches[0] == (made.data.ptr, 0, 80, 3)
    assert launches[1][0] == "scaled"


def test_headers_of_the_toolkit_are_found_in_wheels(tmp_path, monkeypatch):
    from opweave.runtime.binaries import nvrtc

    folder = tmp_path / "nvidia" / "cu13" / "include"
    folder.mkdir(parents=True)
    (folder / "cuda_fp16.h").write_text("#define TWO 2.0f\n")
    monkeypatch.syspath_prepend(tmp_path)
    nvrtc.toolkit.cache_clear()
    text = "#include <cuda_fp16.h>" + SOURCE.replace("a * x", "TWO * x").replace(
        "scaled", "headed"
    )
    own = ow.raw_kernel(
        text, "headed", outputs={"out": lambda x: x.shape}, extents={"n": lambda x: x.size},
        grid=1, numpy=lambda x, a: 2 * x,
    )  # fmt: skip

    own.lower(np.ones((4, 5), np.float32), 2.0, target="sm_80").compile()
    nvrtc.toolkit.cache_clear()
