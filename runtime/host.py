"""Kernels as shared objects in run mode: blocks on all cores."""

from __future__ import annotations

import ctypes
import itertools
import os
from collections.abc import Callable
from functools import cache
from typing import Any

from opweave.compiler.ir import Extents
from opweave.compiler.kernel import Kernel
from opweave.compiler.names import TEMPLATES
from opweave.runtime.build import Binary, builder
from opweave.runtime.environment import cores

_numbers = itertools.count()
# Steps of one kernel that are worth waking another thread for.
STEPS_PER_SHARE = 16384


def load_library(payload: bytes, *, shared: bool = False) -> ctypes.CDLL:
    """Load the very bytes that were verified, from memory, under a name that never recurs.

    The dynamic loader knows libraries by their path's text; so each gets its own spelling.
    ``shared``: libraries that are loaded later may use its functions.
    """
    scope = os.RTLD_GLOBAL if shared else os.RTLD_LOCAL
    handle = os.memfd_create("opweave", os.MFD_CLOEXEC)
    try:
        with os.fdopen(os.dup(handle), "wb") as file:
            file.write(payload)
        dots = "".join("./" if bit == "0" else ".//" for bit in f"{next(_numbers):b}")
        return ctypes.CDLL(f"/proc/self/fd/{dots}{handle}", mode=scope | os.RTLD_NOW)
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
    library.ow_message.restype = ctypes.c_char_p
    return library


def run_launcher(kernel: Kernel, binary: Binary, extents: Extents) -> Callable[[bytes], None]:
    """A function of packed arguments that runs the kernel over a fixed grid."""
    library = loaded(binary)
    blocks = ctypes.cast(library.ow_blocks, ctypes.c_void_p)
    grid = (ctypes.c_uint * 3)(*kernel.grid(extents))
    total = grid[0] * grid[1] * grid[2]
    each = max(1, kernel.work(extents) // max(1, total))
    share = max(1, STEPS_PER_SHARE // each)
    run, address, count = runtime_library().ow_run, ctypes.addressof(grid), cores()

    def launch(slots: bytes, _keep: Any = grid) -> None:
        run(blocks, slots, address, count, share)

    return launch


_libraries: dict[str, ctypes.CDLL] = {}


def loaded(binary: Binary) -> ctypes.CDLL:
    if binary.key not in _libraries:
        _libraries[binary.key] = load_library(binary.payload)
    return _libraries[binary.key]
