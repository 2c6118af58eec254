"""What the tests of the runtime share: a warm cache, and a stand-in of CuPy that records launches."""

import shutil
import sys
import types

import pytest

from opweave.runtime.binaries.build import builder, key_parts
from opweave.runtime.binaries.cache import DiskCache
from opweave.templates import TEMPLATES
from tests.support.recording_cupy import Cupy


@pytest.fixture
def launches(monkeypatch):
    """A stand-in for CuPy; gives the list of (name, grid, block, arguments)."""
    module = Cupy()
    monkeypatch.setitem(sys.modules, "cupy", module)
    from opweave.runtime.cuda import executor as runtime

    runtime.live_device.cache_clear()
    monkeypatch.setattr(runtime, "_executors", {})
    monkeypatch.setattr(runtime, "_states", {})
    yield module.launches
    runtime.live_device.cache_clear()


@pytest.fixture(scope="session")
def warm(tmp_path_factory):
    """A cache folder that has the executor's own library, as this process has it, and no kernel."""
    source = (TEMPLATES / "host" / "runtime.cpp").read_text()
    library = builder().build_plain(source)
    cache = DiskCache(tmp_path_factory.mktemp("warm") / "cache")
    cache.put(library.key, source, library.payload, key_parts(source, "host"))
    assert cache.get(library.key) == library.payload
    return cache.root


@pytest.fixture
def root(warm, tmp_path):
    """A copy of it, for one test."""
    return shutil.copytree(warm, tmp_path / "cache")


@pytest.fixture
def opted(launches, monkeypatch):
    """What functions are asked for in shared memory: (function, attribute, bytes).

    Launches are (grid, block, bytes), on a device whose blocks may opt in to 227 KiB.
    """
    asked = []
    cuda = sys.modules["cupy"].cuda
    found = {**cuda.runtime.getDeviceProperties(0), "sharedMemPerBlockOptin": 227 << 10}
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
    return asked
