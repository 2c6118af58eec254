"""A launch opts in to more shared memory than a kernel may declare."""

import sys
import types

import pytest

import opweave as ow
from tests.kernels.test_opted_shared_memory import CASES, KIB
from tests.runtime.conftest import Array


@pytest.mark.nvrtc
def test_the_executor_asks_for_it_at_each_launch(launches, monkeypatch):
    asked = []
    cuda = sys.modules["cupy"].cuda
    found = {**cuda.runtime.getDeviceProperties(0), "sharedMemPerBlockOptin": 227 * KIB}
    monkeypatch.setattr(cuda.runtime, "getDeviceProperties", lambda index: found)
    monkeypatch.setattr(
        cuda.driver, "funcSetAttribute", lambda *args: asked.append(args), raising=False
    )

    class Function:
        ptr = 5

        def __call__(self, grid, block, args, shared_mem=0):
            launches.append((grid, block, shared_mem))

    class Module:
        load = staticmethod(lambda cubin: None)
        get_function = staticmethod(lambda name: Function())

    monkeypatch.setattr(cuda, "function", types.SimpleNamespace(Module=Module))
    for name in ("product", "transpose"):
        function, args, toggles, *_ = CASES[name]
        ow.fuse(function).with_toggles(**toggles)(*map(Array, args))

    assert launches == [((1, 1, 1), (256, 1, 1), 67584), ((1, 1, 1), (256, 1, 1), 66048)]
    assert asked == [(5, 8, 67584), (5, 8, 66048)]
