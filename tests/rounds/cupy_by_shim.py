"""A stand-in of CuPy whose arrays are NumPy's: kernels for a GPU run in the C++ shim.

Unlike ``gpu_on_host`` it is found as the module, so that ``ow.fuse`` takes its arrays as CuPy's.
Graphs that are captured keep launches for later.
"""

import sys
import types

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


class ndarray(gpu_on_host.Array):
    """CuPy's array, as far as it is asked."""

    device = types.SimpleNamespace(id=0)
    __cuda_array_interface__ = None

    def get(self, stream=None):
        return np.array(self)


def there(function):
    """A function of NumPy's whose results are arrays of CuPy's."""

    def call(*args, **kwargs):
        found = function(*args, **kwargs)
        return np.asarray(found).view(ndarray) if not isinstance(found, bool) else found

    return call


class Cupy(types.ModuleType):
    """The module."""

    ndarray = ndarray
    cuda = types.SimpleNamespace(
        **{
            **vars(gpu_on_host.Executor.cupy.cuda),
            "runtime": types.SimpleNamespace(
                getDeviceCount=lambda: 1, CUDARuntimeError=RuntimeError
            ),
        }
    )

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(np, name)
        return found if isinstance(found, type) else there(found)


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

    def computed(self, kernel, layouts, operands, taken):
        return self.products.computed(kernel, layouts, operands)

    def result(self, array, boxed):
        return array

    def run(self, launch):
        self.launches.append(launch.kernel.name)
        super().run(launch)

    def launcher(self, kernel, source, extents):
        launch = super().launcher(kernel, source, extents)

        def launched(*given):
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
    monkeypatch.setattr(Stream, "current", Stream())
    monkeypatch.setattr(gpu_on_host.Executor, "graphs", [])
    return made


def on_gpu(array):
    """A copy of an array, as CuPy's."""
    return np.array(array).view(ndarray)
