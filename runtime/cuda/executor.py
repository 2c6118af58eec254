"""The cuda executor: the only file that imports CuPy.

The cubin whose bytes were verified is loaded as a module, and launched on the arrays' own device
and CuPy's current stream; memory comes from CuPy's pool.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from opweave.compiler.ir.device import BY_ARCH, DEVICES, STATIC_SHARED_BYTES, Device
from opweave.compiler.ir.values import Extents
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.scheduling.memory import MemoryPlan, memory_plan
from opweave.compiler.scheduling.schedule import Schedule
from opweave.opcodes.dtypes import U8, DType
from opweave.opcodes.errors import ArgumentError, NoDeviceError
from opweave.runtime.binaries.binary import Binary
from opweave.runtime.binaries.build import build_kernel
from opweave.runtime.calls.arrays import assigned
from opweave.runtime.calls.by_numpy import Compute, Operand
from opweave.runtime.calls.interface import Launchable
from opweave.runtime.calls.layouts import Layouts
from opweave.runtime.calls.steps import Launch, Started, Step, number_types
from opweave.runtime.cuda.faults import FORKED, NOT_INITIALISED, DeviceState, allocating
from opweave.runtime.cuda.products import LibraryProducts
from opweave.runtime.cuda.starting import MOST_DYNAMIC_SHARED, launching, starting
from opweave.runtime.cuda.starts import DeviceStart
from opweave.runtime.cuda.workspaces import Workspaces
from opweave.runtime.process import locks


def cupy() -> Any:
    """Import CuPy.

    Raises:
        NoDeviceError: it is not installed, or there is no device.
    """
    try:
        import cupy as module
    except ImportError as error:
        raise NoDeviceError(
            f"running on a GPU needs CuPy ({error}): run pip install 'opweave[cuda13]' or "
            "'opweave[cuda12]'"
        ) from None
    try:
        count = module.cuda.runtime.getDeviceCount()
    except module.cuda.runtime.CUDARuntimeError as error:
        forked = getattr(error, "status", None) == NOT_INITIALISED
        hint = f"; {FORKED}" if forked else ""
        raise NoDeviceError(f"no CUDA device can be used: {error}{hint}") from None
    if count == 0:
        raise NoDeviceError("no CUDA device is visible; see CUDA_VISIBLE_DEVICES")
    return module


def raw_kernel(source: str, name: str, options: tuple[str, ...]) -> Any:
    """A ``cupy.RawKernel``, which CuPy compiles itself.

    Raises:
        NoDeviceError: no CuPy, or no device.
    """
    return cupy().RawKernel(source, name, options=options)


# Compute capability -> architecture that we compile for; a cubin runs within its major version.
ARCH_BY_CAPABILITY = {
    "75": "sm_75", "80": "sm_80", "86": "sm_80", "87": "sm_80", "89": "sm_89", "90": "sm_90a",
    "100": "sm_100", "103": "sm_100", "120": "sm_120", "121": "sm_120",
}  # fmt: skip


@cache
def live_device(index: int) -> Device:
    """Describe a device of this machine.

    Raises:
        NoDeviceError: a compute capability that we do not compile for.
    """
    module = cupy()
    found = module.cuda.Device(index)
    arch = ARCH_BY_CAPABILITY.get(found.compute_capability)
    if arch is None:
        raise NoDeviceError(
            f"compute capability {found.compute_capability} is not supported: expected one of "
            f"{', '.join(ARCH_BY_CAPABILITY)}"
        )
    props = module.cuda.runtime.getDeviceProperties(index)
    name = props["name"].decode() if isinstance(props["name"], bytes) else str(props["name"])
    like = next((d for d in DEVICES.values() if d.name in name.split()), BY_ARCH[arch])
    shared = int(props.get("sharedMemPerBlockOptin", STATIC_SHARED_BYTES))
    return Device(
        name, arch, int(props["multiProcessorCount"]), shared, int(props["l2CacheSize"]),
        like.gigabytes_per_second, like.gigaflops,
    )  # fmt: skip


def device_of(arrays: Sequence[Any]) -> int:
    """Index of the device that all arrays lie on.

    Raises:
        ArgumentError: they lie on several.
    """
    found = {a.device.id for a in arrays}
    if len(found) > 1:
        raise ArgumentError(
            f"arrays lie on devices {sorted(found)}: expected one; copy them with "
            "cupy.cuda.Device(n) and cupy.asarray"
        )
    return int(found.pop()) if found else int(cupy().cuda.Device().id)


class CudaExecutor:
    """Kernels on one device; ``cached``: binaries are taken from where they are there."""

    mode, passes_arrays, as_arrays, also = "run", False, True, ()

    def __init__(self, index: int, fast: bool = False, cached: bool = True):
        self.index = index
        self.fast = fast
        self.cached = cached
        self.cupy = cupy()
        self.state = state_of(index)
        self.workspaces = Workspaces(self.cupy, index)
        self.products = LibraryProducts(self.cupy, self.state)
        self._functions: dict[tuple[str, str], Any] = {}
        self._shared: dict[tuple[str, str], int] = {}  # bytes that functions opted in to
        self._faults: Any = None
        self._lock = locks.rlock()  # a finalizer may come here when memory is freed

    def allocator(self, shape: tuple[int, ...], dtype: DType) -> Callable[[], Any]:
        return allocating(self.state, shape, dtype)

    def arena(self, nbytes: int) -> Callable[[], Any]:
        return self.allocator((nbytes,), U8)

    def workspace(
        self, kernel: Kernel, partials: int, counters: int
    ) -> Callable[[], tuple[Any, Any]]:
        """Partial results from the pool, and counters, which are kept per stream."""
        what, nbytes = f"the partial results of {kernel.name}", partials + counters
        found, words = self.workspaces.found, counters // 4
        return partial(self.state.queued, what, nbytes, found, partials, words)

    def memory(self, kernels: Any, schedule: Schedule, extents: Extents) -> MemoryPlan:
        return memory_plan(schedule, extents)

    start, copy = staticmethod(DeviceStart), staticmethod(assigned)

    def faults(self) -> Any:
        if self._faults is None:
            self._faults = self.state.run(self._fault_word, "the word for faults of kernels", 8)
        return self._faults

    def _opt_in(self, key: str, kernel: Launchable, extents: Extents) -> None:
        """Let a kernel have the shared memory that it needs, in this launch and earlier ones."""
        shared, given = kernel.dynamic_bytes(extents), self._shared.get((key, kernel.name), 0)
        if shared > given:
            function, driver = self._functions[key, kernel.name], self.cupy.cuda.driver
            what = f"{kernel.name}: {shared:,} bytes of shared memory"
            self.state.queued(
                what, 0, driver.funcSetAttribute, function.ptr, MOST_DYNAMIC_SHARED, shared
            )
            self._shared[key, kernel.name] = shared

    def _fault_word(self) -> Any:
        with self.cupy.cuda.Device(self.index):
            return self.cupy.zeros(1, self.cupy.uint64)

    def noted(self, faults: Any) -> int:
        return 0  # reading it would wait for the device; indices wrap, as CuPy's do

    def holds(self, words: Any) -> bool:
        return bool(self.state.run(partial(self.workspaces.holds, words), "a look at the counts"))

    def build(self, kernel: Kernel, source: str) -> Binary:
        return build_kernel(kernel, source, fast=self.fast, cached=self.cached)

    def launcher(self, kernel: Kernel, source: str, extents: Extents) -> Launch:
        return self.launched(kernel, self.build(kernel, source), extents)

    def launched(self, kernel: Launchable, binary: Binary, extents: Extents) -> Launch:
        function = self._function(binary, kernel.name)
        self._opt_in(binary.key, kernel, extents)
        return launching(kernel, function, extents, self.state)

    def computed(
        self, kernel: Kernel, layouts: Layouts, operands: Sequence[Operand], taken: Sequence[int]
    ) -> Compute:
        return self.products.computed(kernel, layouts, operands)

    def packer(self, kernel: Launchable, formats: Sequence[str]) -> Callable[..., tuple[Any, ...]]:
        """Arguments as CuPy takes them: its own arrays for pointers, NumPy's numbers."""
        types = number_types(kernel)

        def packed(*slots: Any) -> tuple[Any, ...]:
            return tuple([v if t is None else t(v) for t, v in zip(types, slots, strict=True)])

        return packed

    def starting(self, step: Step) -> Started | None:
        return starting(step, self.address)

    @staticmethod
    def address(array: Any, offset: int = 0) -> Any:
        """The array itself, whose address CuPy takes out of it without a call of Python's."""
        return np.uint64(array.data.ptr + offset) if offset else array

    def _function(self, binary: Binary, name: str) -> Any:
        with self._lock:
            found = self._functions.get((binary.key, name))
            if found is None:
                what = (
                    f"{name}: loading the kernel on device {self.index} (was the program lowered "
                    "for another architecture?)"
                )
                found = self.state.run(partial(self._load, binary.payload, name), what)
                self._functions[binary.key, name] = found
            return found

    def _load(self, cubin: bytes, name: str) -> Any:
        with self.cupy.cuda.Device(self.index):
            module = self.cupy.cuda.function.Module()
            module.load(cubin)
            return module.get_function(name)

    def result(self, array: Any, boxed: bool) -> Any:
        return array  # CuPy keeps 0-d arrays

    def fetched(self, array: Any, stream: Any) -> Any:
        """A result as NumPy has it, after what was queued on a stream."""
        is_ours = isinstance(array, self.cupy.ndarray)
        return copied_out(array.get(stream=stream) if is_ours else array)


def median_seconds(run: Callable[[], Any], samples: int = 7, batch: int = 20) -> float:
    """Median time of a call on the current stream, by events around batches of calls, warm."""
    events = cupy().cuda.Event
    times = []
    for _ in range(samples + 1):  # the first warms up
        start, stop = events(), events()
        start.record()
        for _ in range(batch):
            run()
        stop.record()
        stop.synchronize()
        times.append(cupy().cuda.get_elapsed_time(start, stop) / 1e3 / batch)
    return float(statistics.median(times[1:]))


def copied_in(value: Any) -> Any:
    """A NumPy array on the current device; anything else as it is."""
    if not isinstance(value, np.ndarray):
        return value
    module = cupy()
    state = state_of(module.cuda.Device().id)
    what = f"a copy of an array {value.dtype}{list(value.shape)}"
    return state.run(partial(module.asarray, value), what, value.nbytes)


def copied_out(value: Any) -> Any:
    """An array of CuPy's as NumPy has it: a scalar where it has no dimension."""
    found = copied_back(value)
    return found[()] if getattr(found, "ndim", 1) == 0 else found


def copied_back(value: Any) -> Any:
    """A CuPy array as one of NumPy's; anything else as it is."""
    if not isinstance(value, cupy().ndarray):
        return value
    what = f"copying an array {value.dtype}{list(value.shape)} to the host"
    return state_of(value.device.id).run(value.get, what)


_states: dict[int, DeviceState] = {}
_executors: dict[tuple[int, bool], CudaExecutor] = {}


def state_of(index: int) -> DeviceState:
    """What is known of a device; one for all executors, since they share its fate."""
    found = _states.get(index)
    return found if found is not None else _states.setdefault(index, DeviceState(cupy(), index))


def executor(index: int, fast: bool) -> CudaExecutor:
    """The executor of a device."""
    found = _executors.get((index, fast))
    return found or _executors.setdefault((index, fast), CudaExecutor(index, fast))


def forget_executors() -> None:
    """Make executors anew when they are asked for next, and load what they load again."""
    _executors.clear()
