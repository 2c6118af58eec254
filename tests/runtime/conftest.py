"""What the tests of the runtime share: a warm cache, and a stand-in of CuPy that records launches."""

import contextlib
import shutil
import sys
import types

import numpy as np
import pytest

from tests.support.processes import python


class Array:
    """What opweave asks of a CuPy array."""

    __cuda_array_interface__ = None

    def __init__(self, array, device=0):
        self.array = array
        self.device = types.SimpleNamespace(id=device)
        self.data = types.SimpleNamespace(ptr=array.ctypes.data // 16 * 16)
        for name in ("dtype", "shape", "strides", "itemsize", "flags", "size", "ndim"):
            setattr(self, name, getattr(array, name))

    def get(self, stream=None):
        return self.array

    def __setitem__(self, key, value):
        self.array[key] = value.array if isinstance(value, Array) else value

    def __getitem__(self, key):
        return Array(self.array[key], self.device.id)

    def transpose(self, *axes):
        return Array(self.array.transpose(*axes), self.device.id)

    def copy(self):
        return Array(self.array.copy(), self.device.id)

    def set(self, array, stream=None):
        self.array[...] = array


class DriverError(RuntimeError):
    """An error of CuPy's: a text, and CUDA's number."""

    def __init__(self, text, status=1):
        super().__init__(text)
        self.status = status


@pytest.fixture
def launches(monkeypatch):
    """A stand-in for CuPy; gives the list of (name, grid, block, arguments)."""
    made = []

    class Device(contextlib.nullcontext):
        compute_capability = "90"

        def __init__(self, index=0):
            super().__init__()
            self.id = index

    class Module:
        def load(self, cubin):
            assert cubin[:4] == b"\x7fELF"

        def get_function(self, name):
            return lambda grid, block, args: made.append((name, grid, block, args))

    class Stream:
        """Notes what happens to it between the launches."""

        ptr, capturing = 7, False

        def __init__(self, non_blocking=False):
            pass

        def __enter__(self):
            current.append(self)
            return self

        def __exit__(self, *error):
            current.pop()

        def is_capturing(self):
            return self.capturing

        def synchronize(self):
            assert not self.is_capturing()
            module.waited_for.append(self)

        def begin_capture(self):
            made.append("begin")

        def end_capture(self):
            made.append("end")
            return types.SimpleNamespace(launch=lambda stream: made.append("replay"))

    def zeros(shape, dtype):
        assert not current[-1].is_capturing(), "zeros that are captured are not there before"
        return Array(np.zeros(shape, dtype))

    stream = Stream()
    stream.ptr = 3
    current = [stream]
    properties = {"name": b"Stand-in", "multiProcessorCount": 132, "l2CacheSize": 1 << 25}
    cuda = types.SimpleNamespace(
        Device=Device,
        function=types.SimpleNamespace(Module=Module),
        driver=types.SimpleNamespace(CUDADriverError=DriverError),
        runtime=types.SimpleNamespace(
            getDeviceCount=lambda: 2,
            getDeviceProperties=lambda index: properties,
            CUDARuntimeError=DriverError,
        ),
        get_current_stream=lambda: current[-1],
        Stream=Stream,
        alloc_pinned_memory=lambda nbytes: bytearray(nbytes + 512),
    )
    module = types.ModuleType("cupy")
    module.ndarray, module.cuda = Array, cuda
    module.uint8, module.uint32 = np.uint8, np.uint32
    module.empty = lambda shape, dtype: Array(np.empty(shape, dtype))
    module.zeros = zeros
    module.asarray = Array
    module.emptied, module.waited_for = [], []
    module.get_default_memory_pool = lambda: types.SimpleNamespace(
        free_all_blocks=lambda: module.emptied.append(1)
    )
    module.may_share_memory = lambda a, b: np.may_share_memory(a.array, b.array)
    monkeypatch.setitem(sys.modules, "cupy", module)
    from opweave.runtime.cuda import executor as runtime

    runtime.live_device.cache_clear()
    monkeypatch.setattr(runtime, "_executors", {})
    monkeypatch.setattr(runtime, "_states", {})
    yield made
    runtime.live_device.cache_clear()


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """A cache folder that has the executor's own library, and no kernel."""
    root = tmp_path_factory.mktemp("warm") / "cache"
    python(
        "from opweave.runtime.host.launcher import runtime_library; runtime_library()",
        OPWEAVE_CACHE_DIR=str(root),
    )
    return root


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
