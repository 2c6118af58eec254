"""``kernel.raw_kernel()``: our kernels for other programs, compiled and launched without opweave."""

import types

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.toggles.choose import TOGGLES
from opweave.opcodes import errors as e
from opweave.runtime.binaries import nvrtc
from tests.support.variants import EVERY

# On a GPU no kernel goes down columns, and a library has no kernel of ours.
ELSEWHERE = ("columns", "vendor", "handwritten", "library")
OWN = 'extern "C" __global__ void twice(const float* x, float* out) { out[threadIdx.x] = 2 * x[threadIdx.x]; }'


def of_each_template():
    """The first variant of each template, with all its kernels."""
    found = {}
    for variant in EVERY:
        if len(found) < len(TOGGLES) - len(ELSEWHERE):
            program = ow.fuse(variant.function).lower(*variant.arguments(), target="sm_90a")
            for view in program.kernels:
                found.setdefault(view.data.template, (view, variant))
    return found


FOUND = of_each_template()


def test_each_template_has_a_row():
    assert {*FOUND, *ELSEWHERE} == {*TOGGLES}


@pytest.mark.nvrtc
@pytest.mark.parametrize("template", FOUND)
def test_the_source_compiles_without_our_headers(template, tmp_path):
    view, _ = FOUND[template]
    made = view.raw_kernel()

    assert '#include "' not in made.source
    options = {"std": "c++17", "fma": False, "ftz": True}
    cubin = nvrtc.compile_cuda(made.source, "sm_90a", options, tmp_path)
    assert cubin[:4] == b"\x7fELF"
    assert made.name.encode() in cubin


class CuPy(types.SimpleNamespace):
    """A stand-in that records what a launcher does."""

    def __init__(self):
        self.launches, self.kernels = [], []
        self.empty, self.zeros = np.empty, np.zeros

    def RawKernel(self, source, name, options=()):
        kernel = types.SimpleNamespace()
        self.kernels.append((source, name, options))

        class Kernel:
            def __call__(_, *launch, shared_mem=0):
                self.launches.append((*launch, shared_mem, vars(kernel)))

        return Kernel()


def launched(made, monkeypatch, **arrays):
    """What the launcher in the docstring launches."""
    cupy = CuPy()
    monkeypatch.setitem(__import__("sys").modules, "cupy", cupy)
    names = {"source": made.source, **arrays}
    exec(made.launcher, names)
    assert made.launcher in made.__doc__
    assert "-ftz=true" in made.__doc__
    assert cupy.kernels == [(made.source, made.name, made.options)]
    (launch,) = cupy.launches
    return launch, names


@pytest.mark.parametrize("template", FOUND)
def test_the_launcher_passes_what_the_kernel_takes(template, monkeypatch):
    view, _variant = FOUND[template]
    made, params = view.raw_kernel(), view.data.params
    given = {p.name: np.ones((3, 4, 5)) for p in params if p.kind == "input"}
    given |= {p.name: 2 for p in params if p.kind == "scalar"}
    (grid, block, args, shared, _), names = launched(made, monkeypatch, **given)

    assert (grid, block, shared) == (
        view.data.grid(view.program.found.extents),
        view.data.block,
        view.data.opted_bytes,
    )
    assert ("max_dynamic_shared" in made.launcher) == bool(shared)
    assert len(args) == len(params)
    for arg, p in zip(args, params, strict=True):
        if p.kind in ("input", "output", "partials", "counter", "faults"):
            assert arg is names[p.name]
        else:
            assert isinstance(arg, np.generic)


def test_a_launcher_in_words(monkeypatch):
    x = np.ones((30, 40), np.float32)
    program = ow.fuse(lambda x, s: np.exp(x.T) + s).lower(x[:, ::2], 2.5, target="sm_90a")
    made = program.kernels[0].raw_kernel()
    (_grid, _block, args, *_), names = launched(made, monkeypatch, x=x[:, ::2], s=2.5)

    assert made.launcher.count("\n") < 6
    assert names["out"].size == 600
    assert names["out"].dtype == np.float32
    assert args[1] == np.float32(2.5)
    assert type(args[1]) is np.float32
    assert 2 in args[3:] or 40 in args[3:]  # the strides of the array that is passed


def test_a_kernel_of_ones_own_and_of_the_host(monkeypatch):
    own = ow.raw_kernel(
        OWN, "twice", outputs={"out": lambda x: x.shape}, grid=1, block=64, shared=60000,
        numpy=lambda x: x * 2,
    )  # fmt: skip
    x = np.ones(64, np.float32)
    made = own.lower(x, target="sm_90a").kernels[0].raw_kernel()

    assert (made.source, made.block, made.shared_bytes) == (OWN, (64, 1, 1), 60000)
    launcher = made.launcher.split("\n")
    assert "kernel.max_dynamic_shared_size_bytes = 60000" in launcher
    assert launcher[-1] == "kernel((1, 1, 1), (64, 1, 1), (x, out,), shared_mem=60000)"
    with pytest.raises(e.ArgumentError, match="was lowered for the host"):
        own.lower(x, target="host").kernels[0].raw_kernel()
    with pytest.raises(e.NoDeviceError):
        made.load()
