"""A stand-in of CuPy whose arrays are NumPy's: kernels for a GPU run in the C++ shim.

Unlike ``gpu_on_host`` it is found as the module, so that ``ow.fuse`` takes its arrays as CuPy's.
Graphs that are captured keep launches for later.
"""

import sys
import types
from contextlib import nullcontext

import numpy as np

from opweave.compiler.ir.device import device_for
from opweave.runtime.calls.arrays import assigned
from opweave.runtime.cuda import executor as cuda
from opweave.runtime.cuda.products import LibraryProducts
from opweave.runtime.cuda.starts import DeviceStart
from opweave.runtime.cuda.workspaces import Workspaces
from opweave.runtime.host.executor import HostExecutor
from opweave.runtime.simt.executors import VerifyExecutor
from tests.support import gpu_on_host
from tests.support.gpu_on_host import Stream


class Device(nullcontext):
    """The only device."""

    id = 0

    def __init__(self, index=0):
        super().__init__()

    def synchronize(self):
        pass


class ndarray(gpu_on_host.Array):
    """CuPy's array, as far as it is asked: it takes no array of NumPy's but as an index."""

    device = Device()

    @property
    def __cuda_array_interface__(self):
        return self.__array_interface__

    def get(self, stream=None):
        return np.array(self)

    def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
        out = kwargs.get("out", ())
        values = (*inputs[:1], *inputs[2:]) if method == "at" else inputs
        if any(type(a) is np.ndarray for a in (*values, *out)):
            raise TypeError("Unsupported type <class 'numpy.ndarray'>")
        if out:
            kwargs["out"] = tuple(map(as_numpys, out))
        found = as_cupys(getattr(ufunc, method)(*map(as_numpys, inputs), **kwargs))
        return (out if len(out) > 1 else out[0]) if out else found

    def __array_function__(self, function, types, args, kwargs):
        return there(super().__array_function__)(function, types, args, kwargs)


def there(function):
    """A function of NumPy's whose results are arrays of CuPy's, also those without dimensions."""

    def call(*args, **kwargs):
        return as_cupys(function(*args, **kwargs))

    return call


def as_numpys(array):
    """The memory of an array of CuPy's, as NumPy's."""
    return array.view(np.ndarray) if isinstance(array, ndarray) else array


def as_cupys(found):
    """A result of NumPy's with arrays of CuPy's."""
    if isinstance(found, tuple | list):
        return type(found)(map(as_cupys, found)) if type(found) in (tuple, list) else found
    is_array = isinstance(found, np.ndarray | np.generic)
    return np.asarray(found).view(ndarray) if is_array else found


class Runtime:
    """CUDA's runtime: one device, whose memory is empty."""

    CUDARuntimeError = RuntimeError
    MEMORY = 8 << 30

    @staticmethod
    def getDeviceCount():
        return 1

    @staticmethod
    def getDevice():
        return 0

    @classmethod
    def memGetInfo(cls):
        return cls.MEMORY, cls.MEMORY


class Cupy(types.ModuleType):
    """The module."""

    ndarray = ndarray
    testing = np.testing
    cuda = types.SimpleNamespace(
        **{
            **vars(gpu_on_host.Executor.cupy.cuda),
            "Device": Device,
            "runtime": Runtime,
            "driver": types.SimpleNamespace(CUDADriverError=RuntimeError),
        }
    )

    @staticmethod
    def asarray(array, dtype=None):
        """What lies on the device is taken as it is, all else is copied to it."""
        if not isinstance(array, np.ndarray) and hasattr(array, "__cuda_array_interface__"):
            lies = types.SimpleNamespace(__array_interface__=array.__cuda_array_interface__)
            return np.asarray(lies).view(ndarray)
        if type(array) is ndarray and dtype in (None, array.dtype):
            return array
        return np.array(array, dtype).view(ndarray)

    @staticmethod
    def asnumpy(array):
        return np.array(array)

    @staticmethod
    def get_default_memory_pool():
        return types.SimpleNamespace(free_all_blocks=lambda: None)

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(np, name)
        return found if isinstance(found, type | types.ModuleType) else there(found)


class Executor(VerifyExecutor):
    """Launches as the cuda executor makes them.

    Attributes:
        launches: names of the kernels that ran, in order.
    """

    index, state = 0, gpu_on_host.Executor.state
    start, copy = staticmethod(DeviceStart), staticmethod(assigned)  # temporaries lie apart

    def __init__(self, module):
        super().__init__()
        self.cupy, self.launches = module, []
        self.workspaces = Workspaces(module, 0)
        self.products = LibraryProducts(module, self.state)

    def allocator(self, shape, dtype):
        return lambda: np.full(shape, 0, dtype.numpy).view(ndarray)

    def arena(self, nbytes):
        make = HostExecutor.arena(self, nbytes)
        return lambda: make().view(ndarray)

    def workspace(self, *given):
        make = super().workspace(*given)
        return lambda: as_cupys(make())

    def faults(self):
        return as_cupys(super().faults())

    def computed(self, kernel, layouts, operands, taken):
        return self.products.computed(kernel, layouts, operands)

    def result(self, array, boxed):
        return array

    def noted(self, faults):
        return 0  # a place that there is not wraps, as on a GPU

    def fetched(self, array, stream):
        return cuda.copied_out(array)

    def run(self, launch):
        self.launches.append(launch.kernel.name)
        super().run(launch)

    def launcher(self, kernel, source, extents):
        launch = super().launcher(kernel, source, extents)

        def launched(*given):
            # a kernel on a device reads no memory of the host
            assert all(isinstance(array, ndarray) for array in given[1]), kernel.name
            if Stream.current.is_capturing():
                Stream.current.kept.append((launch, given))
            else:
                launch(*given)

        return launched


def stand_in(monkeypatch, arch="sm_90a"):
    """CuPy is imported, and has one device; gives its executor."""
    module = Cupy("cupy")
    made = Executor(module)
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.setattr(cuda, "live_device", lambda index: device_for(arch))
    monkeypatch.setattr(cuda, "executor", lambda index, fast: made)
    monkeypatch.setattr(cuda, "CudaExecutor", lambda *given, **named: made)
    monkeypatch.setattr(cuda, "_states", {})
    monkeypatch.setattr(Stream, "current", null := Stream())
    monkeypatch.setattr(Stream, "null", null, raising=False)
    monkeypatch.setattr(gpu_on_host.Executor, "graphs", [])
    return made


def on_gpu(array):
    """A copy of an array, as CuPy's."""
    return np.array(array).view(ndarray)
