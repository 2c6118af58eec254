"""A stand-in of CuPy and of a GPU, whose kernels run on the host.

Streams run at once, and a capture keeps launches for later.  So calls, loops and replays by CUDA
graphs can be held to calls on the host where there is no GPU.
"""

from contextlib import nullcontext
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

from opweave.compiler.scheduling.memory import memory_plan
from opweave.opcodes.errors import LaunchError
from opweave.runtime.cuda.products import LibraryProducts
from opweave.runtime.cuda.starts import DeviceStart
from opweave.runtime.cuda.workspaces import Workspaces
from opweave.runtime.host.executor import HostExecutor


class Stream:
    """A stream, or what is being captured from it."""

    current = None

    def __init__(self, ptr=7, non_blocking=True):
        self.ptr, self.kept, self._outer = ptr, None, []

    def __enter__(self):
        self._outer.append(Stream.current)
        Stream.current = self
        return self

    def __exit__(self, *error):
        Stream.current = self._outer.pop()

    def begin_capture(self):
        self.kept = []

    def end_capture(self):
        kept, self.kept = self.kept, None
        return Graph(kept)

    def is_capturing(self):
        return self.kept is not None

    def synchronize(self):
        assert not self.is_capturing()


class Graph:
    """Launches that were captured."""

    def __init__(self, kept):
        self.kept, self.launched = kept, 0

    def launch(self, stream):
        self.launched += 1
        Executor.graphs.append(len(self.kept))
        for launch, given in self.kept:
            launch(*given)


class Array(np.ndarray):
    def set(self, values, stream):
        self[...] = values

    @property
    def data(self):
        return Memory(self, 0)


class Memory(NamedTuple):
    """So many bytes behind the beginning of an array."""

    array: Array
    at: int

    def __add__(self, nbytes):
        return Memory(self.array, self.at + nbytes)

    @property
    def ptr(self):
        return self.array.__array_interface__["data"][0] + self.at


class Blas:
    """A library of products: its mode, and the modes in which it was called."""

    class CUBLASError(RuntimeError):
        pass

    def __init__(self):
        self.mode, self.called, self.broken = 1, [], False

    def getMathMode(self, handle):
        return self.mode

    def setMathMode(self, handle, mode):
        self.mode = mode

    def matmul(self, x, y, out):
        assert not Stream.current.is_capturing(), "CuPy refuses to"
        if self.broken:
            raise self.CUBLASError("CUBLAS_STATUS_EXECUTION_FAILED")
        self.called.append(self.mode)
        np.matmul(x, y, out)


class Executor(HostExecutor):
    """Launches as the cuda executor makes them.

    Attributes:
        graphs: how many kernels each graph had that was launched.
    """

    graphs = ()
    index = 0
    state = SimpleNamespace(
        run=lambda work, *what: work(),
        recent=[],
        failed=lambda error, what: LaunchError(what),
        index=0,
        queued=lambda what, nbytes, work, *args: work(*args),
        ready=lambda: True,
    )
    blas = Blas()
    cupy = SimpleNamespace(
        matmul=lambda x, y, out: Executor.blas.matmul(x, y, out), broadcast_to=np.broadcast_to,
        ndarray=lambda shape, dtype, memory: np.ndarray(shape, dtype, memory.array, memory.at),
        uint8=np.uint8, uint32=np.uint32, zeros=np.zeros,
        empty=lambda *given: np.empty(*given).view(Array),
        cuda=SimpleNamespace(
            get_current_stream=lambda: Stream.current, Stream=Stream,
            get_cublas_handle=lambda: 1, cublas=blas,
            Device=lambda index: nullcontext(), alloc_pinned_memory=bytearray,
        ),
    )  # fmt: skip
    start = staticmethod(DeviceStart)
    workspaces = Workspaces(cupy, 0)
    products = LibraryProducts(cupy, state)

    def memory(self, kernels, schedule, extents):
        return memory_plan(schedule, extents)

    def arena(self, nbytes):
        make = super().arena(nbytes)
        return lambda: make().view(Array)

    def computed(self, kernel, layouts, operands, taken):
        return self.products.computed(kernel, layouts, operands)

    def launcher(self, kernel, source, extents):
        launch = super().launcher(kernel, source, extents)

        def launched(*given):
            if Stream.current.is_capturing():
                Stream.current.kept.append((launch, given))
            else:
                launch(*given)

        return launched

    def fetched(self, array, stream):
        return np.array(array)
