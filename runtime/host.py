"""Kernels as shared objects: in run mode on all cores, in verify mode as fibres."""

from __future__ import annotations

import ctypes
import itertools
import os
import threading
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import numpy as np

from opweave.compiler.ir import Extents
from opweave.compiler.kernel import Kernel
from opweave.compiler.names import TEMPLATES
from opweave.opcodes.errors import LaunchError
from opweave.runtime.build import Binary, builder
from opweave.runtime.environment import cores
from opweave.runtime.guarded import Guarded, guard

_numbers = itertools.count()
# Steps of one kernel that are worth waking another thread for.
STEPS_PER_SHARE = 16384


def load_library(payload: bytes) -> ctypes.CDLL:
    """Load the very bytes that were verified, from memory, under a name that never recurs.

    The dynamic loader knows libraries by their path's text; so each gets its own spelling.
    """
    handle = os.memfd_create("opweave", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(handle), "wb") as file:
            file.write(payload)
        dots = "".join("./" if bit == "0" else ".//" for bit in f"{next(_numbers):b}")
        return ctypes.CDLL(f"/proc/self/fd/{dots}{handle}", mode=os.RTLD_LOCAL | os.RTLD_NOW)
    finally:
        os.close(handle)


@cache
def runtime_library() -> ctypes.CDLL:
    """The scheduler and thread pool of templates/host/runtime.cpp."""
    source = (TEMPLATES / "host" / "runtime.cpp").read_text()
    library = load_library(builder().build_plain(source).payload)
    library.ow_run.argtypes = [
        ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_longlong,
    ]  # fmt: skip
    library.ow_run.restype = None
    library.ow_verify.argtypes = [
        *[ctypes.c_void_p] * 4, ctypes.c_char_p, *[ctypes.c_void_p] * 3, ctypes.c_longlong,
        ctypes.c_int, ctypes.c_void_p,
    ]  # fmt: skip
    library.ow_message.restype = ctypes.c_char_p
    return library


def run_launcher(kernel: Kernel, binary: Binary, extents: Extents) -> Callable[[bytes], None]:
    """A function of packed arguments that runs the kernel over a fixed grid."""
    library = _loaded(binary)
    blocks = ctypes.cast(library.ow_blocks, ctypes.c_void_p)
    grid = (ctypes.c_uint * 3)(*kernel.grid(extents))
    total = grid[0] * grid[1] * grid[2]
    each = max(1, kernel.work(extents) // max(1, total))
    share = max(1, STEPS_PER_SHARE // each)
    run, address, count = runtime_library().ow_run, ctypes.addressof(grid), cores()

    def launch(slots: bytes, _keep: Any = grid) -> None:
        run(blocks, slots, address, count, share)

    return launch


_verify_lock = threading.Lock()


def verify_launch(
    kernel: Kernel,
    binary: Binary,
    grid: Sequence[int],
    slots: Callable[[Sequence[Guarded]], bytes],
    arrays: Sequence[np.ndarray[Any, Any]],
    schedule: int = 0,
) -> None:
    """Run a kernel as fibres on guarded copies of its arrays; outputs are copied back.

    Args:
        schedule: order of threads and blocks: 0 forward, 1 reverse, else a seed.

    Raises:
        LaunchError: a divergent barrier, an access outside every array, a misaligned access.
    """
    run_verify(
        kernel.name,
        kernel.threads,
        0,
        binary,
        grid,
        (kernel.threads, 1, 1),
        slots,
        arrays,
        schedule,
    )


def run_verify(
    name: str,
    threads: int,
    shared_bytes: int,
    binary: Binary,
    grid: Sequence[int],
    block: Sequence[int],
    slots: Callable[[Sequence[Guarded]], bytes],
    arrays: Sequence[np.ndarray[Any, Any]],
    schedule: int,
) -> None:
    """Run one kernel in verify mode, see ``verify_launch``."""
    library, runtime = _loaded(binary), runtime_library()
    for symbol in ("ow_shared_begin", "ow_shared_end"):
        getattr(library, symbol).restype = ctypes.c_void_p
    blocks = grid[0] * grid[1] * grid[2]
    orders = (ctypes.c_int * (blocks + threads))()
    dynamic = (ctypes.c_double * (shared_bytes // 8 + 1))()
    copies = [guard(array) for array in arrays]
    with _verify_lock:
        failed = runtime.ow_verify(
            ctypes.cast(library.ow_bind, ctypes.c_void_p),
            ctypes.cast(library.ow_thread, ctypes.c_void_p),
            library.ow_shared_begin(),
            library.ow_shared_end(),
            slots(copies),
            (ctypes.c_uint * 3)(*grid),
            (ctypes.c_uint * 3)(*block),
            dynamic,
            shared_bytes,
            schedule,
            orders,
        )
        message = runtime.ow_message().decode(errors="replace")
    if failed:
        raise LaunchError(f"{name}: {message}")
    for copy in copies:
        copy.finish(name)


_libraries: dict[str, ctypes.CDLL] = {}


def _loaded(binary: Binary) -> ctypes.CDLL:
    if binary.key not in _libraries:
        _libraries[binary.key] = load_library(binary.payload)
    return _libraries[binary.key]
