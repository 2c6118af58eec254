"""Verify mode: a kernel's threads as fibres that take turns, on guarded copies of its arrays."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opweave.opcodes.errors import LaunchError, OutOfMemoryError
from opweave.runtime.binaries.binary import Binary
from opweave.runtime.host.launcher import loaded, runtime_library
from opweave.runtime.process import locks
from opweave.runtime.simt.guarded import Guarded, guard


class Launch(ctypes.Structure):
    """One launch, as fibres.h reads it."""

    _fields_ = (
        *((name, ctypes.c_void_p) for name in (
            "bind", "thread", "shared_begin", "shared_end", "dynamic_begin")),
        ("dynamic_bytes", ctypes.c_longlong),
        ("args", ctypes.c_char_p),
        ("args_bytes", ctypes.c_longlong),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("schedule", ctypes.c_int),
        ("orders", ctypes.c_void_p),
    )  # fmt: skip


@dataclass(frozen=True)
class LaunchConfig:
    """What a launch has besides its arguments.

    Attributes:
        grid, block: three extents each.
        schedule: order of threads and blocks: 0 forward, 1 reverse, else a seed.
        shared_bytes: dynamic shared memory.
    """

    grid: Sequence[int]
    block: Sequence[int]
    schedule: int = 0
    shared_bytes: int = 0


# The schedulers keep their state in statics: one kernel at a time.
LOCK = locks.lock()


# What a scheduler returns besides a number of faults: `Outcome` of grid.h.
INTERRUPTED, WITHOUT_MEMORY = -1, -2


def outcome(returned: int, name: str) -> int:
    """The number of faults that a scheduler returned.

    Raises:
        KeyboardInterrupt: Ctrl-C.
        OutOfMemoryError: the process may not have the address space that the threads need.
    """
    if returned == INTERRUPTED:
        raise KeyboardInterrupt
    if returned == WITHOUT_MEMORY:
        raise OutOfMemoryError(
            f"{name}: its threads need more address space on the host than this process may have, "
            "though little of it is ever touched; raise the limit (ulimit -v unlimited), or let "
            "the system promise it (vm.overcommit_memory=0, a larger vm.max_map_count)"
        )
    return returned


def launch_of(
    library: ctypes.CDLL, config: LaunchConfig, slots: bytes, static: tuple[int, int], dynamic: int
) -> tuple[Launch, Any]:
    """A launch of a kernel's library, and what must live as long as it.

    Args:
        static: address and end of the static shared memory.
        dynamic: address of the dynamic shared memory.
    """
    three = ctypes.c_uint * 3
    orders = (ctypes.c_int * (math.prod(config.grid) + math.prod(config.block)))()
    bind, thread, order = (
        ctypes.cast(item, ctypes.c_void_p) for item in (library.ow_bind, library.ow_thread, orders)
    )
    made = Launch(
        bind, thread, *static, dynamic, config.shared_bytes, slots, len(slots),
        three(*config.grid), three(*config.block), config.schedule, order,
    )  # fmt: skip
    return made, (orders, slots)


def run_verify(
    name: str, binary: Binary, config: LaunchConfig, slots: Callable[[Sequence[Guarded]], bytes],
    arrays: Sequence[np.ndarray[Any, Any]],
) -> None:  # fmt: skip
    """Run a kernel as fibres on guarded copies of its arrays; outputs are copied back.

    Args:
        slots: packs the arguments, given the copies.

    Raises:
        LaunchError: a divergent barrier, an access outside every array, a misaligned access.
        KeyboardInterrupt: Ctrl-C.
        OutOfMemoryError: no address space for its threads.
    """
    library, runtime = loaded(binary), runtime_library()
    memory = (ctypes.c_double * (config.shared_bytes // 8 + 1))()
    for symbol in ("ow_shared_begin", "ow_shared_end"):
        getattr(library, symbol).restype = ctypes.c_void_p
    static = (library.ow_shared_begin(), library.ow_shared_end())
    copies = [guard(array) for array in arrays]
    dynamic = ctypes.addressof(memory)
    launch, _kept = launch_of(library, config, slots(copies), static, dynamic)
    with LOCK:
        failed = runtime.ow_verify(ctypes.byref(launch))
        message = runtime.ow_message().decode(errors="replace")
    if outcome(failed, name):
        raise LaunchError(f"{name}: {message}")
    for copy in copies:
        copy.finish(name)
