"""Faults of a GPU that runs: no memory, a fault that cannot be repaired, a forked process.

The executor hands CuPy in; only runtime/cuda/executor.py imports it.
"""

from __future__ import annotations

import gc
import os
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar
from weakref import WeakSet

from opweave.opcodes.dtypes import DType
from opweave.opcodes.errors import LaunchError, NoDeviceError, OpweaveError, OutOfMemoryError

T = TypeVar("T")

# Errors after which "the process must be terminated and relaunched" (CUDA Driver API, CUresult;
# the runtime has the same numbers).
STICKY = frozenset({
    700,  # illegal address
    702,  # launch timeout
    709,  # the context is destroyed
    710,  # a device-side assertion
    714, 715, 716, 717, 718,  # stack, instruction, alignment, address space, program counter
    719,  # launch failed
    721,  # tensor memory leak
})  # fmt: skip
NO_MEMORY = 2
NOT_INITIALISED = 3  # what every call gives in a child whose parent had used CUDA
MOST_RECENT = 8  # launches that an error may name

FORKED = (
    "a process that was forked from one that has used CUDA cannot use it: start it with "
    "multiprocessing.get_context('spawn'), or do not touch the GPU before the fork"
)


def named(shape: tuple[int, ...], dtype: DType) -> tuple[str, int]:
    """An array in words, and its bytes."""
    nbytes = dtype.itemsize
    for extent in shape:
        nbytes *= extent
    return f"an array {dtype}[{', '.join(map(str, shape))}]", nbytes


class DeviceState:
    """What this process knows of the state of one device.

    Attributes:
        lost: what made it unusable, or "".
        usable: nothing is known that makes it so.
        recent: the newest launches; the device reports a fault of one of them at a later call.
    """

    def __init__(self, cupy: Any, index: int):
        self.cupy = cupy
        self.index = index
        self.pid = os.getpid()
        self.lost = ""
        self.usable = True
        _of_this_process.add(self)
        self._is_only = cupy.cuda.runtime.getDeviceCount() == 1
        self._current = cupy.cuda.runtime.getDevice
        self.recent: deque[str] = deque(maxlen=MOST_RECENT)
        self.errors = (
            MemoryError,
            cupy.cuda.driver.CUDADriverError,
            cupy.cuda.runtime.CUDARuntimeError,
        )

    def ready(self) -> bool:
        """Whether work may be queued as it is: the device is the current one, and not lost.

        Each launch asks.  A device that is the only one is the current one.
        """
        return self.usable and (self._is_only or self._current() == self.index)

    def check(self) -> None:
        """Refuse what cannot work any more.

        Raises:
            NoDeviceError: in a forked child.
            LaunchError: after a fault that CUDA does not recover from.
        """
        if os.getpid() != self.pid:
            raise NoDeviceError(FORKED)
        if self.lost:
            raise LaunchError(
                f"device {self.index} cannot be used by this process any more, since {self.lost}; "
                "restart the process"
            )

    def run(self, work: Callable[[], T], what: str, nbytes: int = 0) -> T:
        """Call a function that uses the device.

        Raises:
            OutOfMemoryError: there is no memory, not even when CuPy's pool is empty.
            LaunchError: it failed otherwise.
        """
        self.check()
        try:
            return work()
        except self.errors as error:
            first = error.with_traceback(None)  # the frames of a traceback hold arrays
        return self.again(first, work, what, nbytes)

    def queued(self, what: str, nbytes: int, work: Callable[..., T], *args: Any) -> T:
        """The same of a function that queues work on the device, whichever is current."""
        if not self.ready():
            return self.run(partial(self._apart, work, *args), what, nbytes)
        try:
            return work(*args)
        except self.errors as error:
            first = error.with_traceback(None)
        return self.again(first, partial(self._apart, work, *args), what, nbytes)

    def _apart(self, work: Callable[..., T], *args: Any) -> T:
        with self.cupy.cuda.Device(self.index):
            return work(*args)

    def again(self, error: Exception, work: Callable[[], T], what: str, nbytes: int = 0) -> T:
        """Try once more if there was no memory, with what CuPy and Python keep given back."""
        if not _is_of_memory(error):
            raise self.failed(error, what) from error
        gc.collect()
        self.cupy.get_default_memory_pool().free_all_blocks()
        try:
            return work()
        except self.errors as second:
            raise self.failed(second, what, nbytes) from second

    def failed(self, error: Exception, what: str, nbytes: int = 0) -> OpweaveError:
        """The error to raise; remembers one that the device does not recover from."""
        if _is_of_memory(error):
            size = f" of {nbytes:,} bytes" if nbytes else ""
            return OutOfMemoryError(
                f"device {self.index} has no memory for {what}{size} ({error}), even after CuPy's "
                "pool was emptied: drop arrays that are not needed, or work on parts"
            )
        text = f"{what} failed: {error}"
        if getattr(error, "status", None) not in STICKY:
            return LaunchError(text)
        launches = ", ".join(self.recent) or "none"
        self.usable = False
        self.lost = (
            f"{text} (CUDA tells of a fault late: a launch before it may be the cause; the newest "
            f"are {launches}; CUDA_LAUNCH_BLOCKING=1, or a kernel's verify mode, finds it)"
        )
        return LaunchError(f"{self.lost}; device {self.index} is lost: restart the process")


def _is_of_memory(error: Exception) -> bool:
    return isinstance(error, MemoryError) or getattr(error, "status", None) == NO_MEMORY


def allocating(state: DeviceState, shape: tuple[int, ...], dtype: DType) -> Callable[[], Any]:
    """A function that makes arrays of a shape and a dtype, in memory of CuPy's current pool."""
    return partial(state.queued, *named(shape, dtype), state.cupy.empty, shape, dtype.numpy)


# The states of devices that a child cannot use.
_of_this_process: WeakSet[DeviceState] = WeakSet()


def _after_fork() -> None:
    for state in list(_of_this_process):
        state.usable = False


os.register_at_fork(after_in_child=_after_fork)
