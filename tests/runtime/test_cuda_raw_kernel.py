"""Kernels of one's own, and counts, on a GPU: against the stand-in of CuPy that records launches."""

import ctypes
import sys

import numpy as np
import pytest

import opweave as ow
from opweave._functions.fallback import Fallback
from opweave.opcodes import errors
from tests.support.recording_cupy import Array, Module

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
    assert opted == [(5, 8, 1000), (5, 8, 100_000)]


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


# Counts


def counts(x):
    return np.bincount(x, minlength=256)


@pytest.fixture
def zeroed(launches, monkeypatch):
    """What is set to zero, among the launches; gives these."""

    def memset(at, value, nbytes, stream):
        ctypes.memset(at, value, nbytes)
        launches.append(("zeros", nbytes, stream))

    runtime = sys.modules["cupy"].cuda.runtime
    monkeypatch.setattr(runtime, "memsetAsync", memset, raising=False)
    return launches


@pytest.fixture
def noting(zeroed, monkeypatch):
    """Kernels that find an element without a bin."""

    def found(self, name):
        def start(grid, block, args):
            if isinstance(args[-1], Array):
                args[-1].array[0] = 1

        return start

    monkeypatch.setattr(Module, "get_function", found)


def test_counts_begin_as_zeros_before_each_launch(zeroed):
    x = Array(np.ones(5000, np.uint8))
    fused = ow.fuse(counts, fullgraph=True)
    made = [fused(x), fused(x)]

    assert [call[0] for call in zeroed] == ["zeros", "counts_count_i64"] * 2
    assert {call[1:] for call in zeroed if call[0] == "zeros"} == {(8 * 256, 3)}
    assert all((m.shape, m.dtype) == ((256,), np.int64) for m in made)


def test_a_word_of_each_call_says_whether_an_element_has_no_bin(zeroed):
    x = Array(np.ones(5000, np.int32))
    fused = ow.fuse(counts, fullgraph=True)
    fused(x), fused(x)

    assert [call[1] for call in zeroed if call[0] == "zeros"] == [8 * 256, 8] * 2
    (first, second) = (call[3][-1] for call in zeroed if call[0] != "zeros")
    assert first is not second


def test_a_call_with_an_element_without_a_bin_is_left_to_cupy(noting, monkeypatch):
    left = []
    monkeypatch.setattr(Fallback, "in_parts", lambda self, call, out: left.append(call) or "left")
    fused = ow.fuse(counts)
    x = Array(np.ones(5000, np.int32))

    assert [fused(x), fused(x)] == ["left"] * 2
    assert fused(Array(np.ones(5000, np.uint8))).dtype == np.int64
    assert len(left) == 2


def test_an_argument_is_written_to_only_when_all_elements_have_bins(noting, monkeypatch):
    def both(u, x):
        u *= 2
        return np.bincount(x, minlength=256)

    monkeypatch.setattr(Fallback, "in_parts", lambda self, call, out: "left")
    u = Array(np.ones(64, np.float32))

    assert ow.fuse(both)(u, Array(np.ones(5000, np.int32))) == "left"
    assert (u.get() == 1).all()


def test_counts_that_the_host_looks_at_are_in_no_graph(zeroed):
    for dtype, is_captured in ((np.int32, False), (np.uint8, True)):
        x, out = Array(np.ones(5000, dtype)), Array(np.ones(256, np.int64))
        fused = ow.fuse(
            lambda x: np.bincount(x, minlength=256).cumsum(), replay=True, fullgraph=True
        )
        del zeroed[:]
        for _ in range(3):
            fused(x, out=out)
        assert ("begin" in zeroed) is is_captured


def test_a_capture_of_the_callers_refuses_what_the_host_would_look_at(zeroed, monkeypatch):
    stream = sys.modules["cupy"].streams[-1]
    fused = ow.fuse(counts, fullgraph=True)
    x = Array(np.ones(5000, np.int32))
    fused(x)
    monkeypatch.setattr(stream, "capturing", True)
    with pytest.raises(errors.LaunchError, match="may have no bin cannot be captured"):
        fused(x)
    fused(Array(np.ones(5000, np.uint8)))
