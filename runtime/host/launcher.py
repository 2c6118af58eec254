"""Kernels as shared objects in run mode: blocks on all cores."""

from __future__ import annotations

import ctypes
import itertools
import math
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from opweave.runtime.process.locks import Once
from opweave.runtime.process.share import forked, threads
from opweave.templates import RUNTIME

if TYPE_CHECKING:
    from opweave.compiler.ir.values import Extents
    from opweave.runtime.binaries.binary import Binary
    from opweave.runtime.calls.interface import Launchable

_numbers = itertools.count()
# Steps of one kernel that a thread takes at a time.
STEPS_PER_SHARE = 16384
# Assumed time of a step until a kernel has run: a high guess, in favour of several threads.
GUESSED_NS = 1


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


class _Threads:
    """How many threads the user has asked for; 0 for as many as the environment says."""

    asked = 0


_threads = _Threads()


def set_threads(asked: int) -> None:
    """Let every kernel take so many threads; 0 for as many as the environment says."""
    _threads.asked = asked
    if runtime_library.called:
        runtime_library().ow_threads(threads(asked))


# Functions of Python for a launch: to let other threads run meanwhile, and to handle signals.
FOR_LAUNCHES = ("PyEval_SaveThread", "PyEval_RestoreThread", "PyErr_CheckSignals")


_given: list[bytes] = []


def runtime_binary() -> bytes:
    """The scheduler and thread pool, compiled for this machine."""
    from opweave.runtime.binaries.build import builder  # no saved program needs it

    return builder().build_plain(RUNTIME.read_text()).payload


def give_runtime(payload: bytes) -> None:
    """Have a binary of the same source used, unless one is loaded already."""
    _given.append(payload)


@Once
def runtime_library() -> ctypes.CDLL:
    """The scheduler and thread pool of templates/host/runtime.cpp."""
    library = load_library(_given[0] if _given else runtime_binary())
    library.ow_python.argtypes = [ctypes.c_void_p] * len(FOR_LAUNCHES)
    library.ow_python.restype = None
    library.ow_python(
        *(ctypes.cast(getattr(ctypes.pythonapi, n), ctypes.c_void_p) for n in FOR_LAUNCHES)
    )
    library.ow_differs.argtypes = [
        ctypes.c_void_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_longlong
    ]  # fmt: skip
    library.ow_differs.restype = ctypes.c_longlong
    library.ow_message.restype = ctypes.c_char_p
    library.ow_threads.argtypes = [ctypes.c_int]
    library.ow_threads.restype = None
    library.ow_threads(threads(_threads.asked))
    os.register_at_fork(after_in_child=_after_fork)
    return library


def _after_fork() -> None:
    """A fork of a process that runs kernels is one of many as a rule, as a pool's are."""
    forked()
    set_threads(_threads.asked)


@Once
def runner() -> Callable[[int, bytes], None]:
    """``ow_run``, called with the interpreter's lock held: it releases the lock itself."""
    kind = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p)
    return kind(("ow_run", runtime_library()))


@Once
def planner() -> Callable[[int, Any, int, Any, int, Any, int, int | None], int]:
    """``ow_plan``, likewise."""
    address, number = ctypes.c_void_p, ctypes.c_longlong
    words = ctypes.c_char_p
    given = address, words, number, address, number, words, number, address
    kind = ctypes.PYFUNCTYPE(number, *given)
    return kind(("ow_plan", runtime_library()))


class _Zeroed(ctypes.Structure):
    """``Zeroed`` of templates/host/runtime.cpp."""

    _fields_ = (("slot", ctypes.c_longlong), ("bytes", ctypes.c_longlong))


class Run(ctypes.Structure):
    """``Run`` of templates/host/runtime.cpp: a kernel, its grid, and how to share its blocks."""

    _fields_ = (
        ("blocks", ctypes.c_void_p),
        ("share", ctypes.c_longlong),
        ("alone", ctypes.c_longlong),
        ("shared", ctypes.c_longlong * 2),
        ("left", ctypes.c_longlong),
        ("grid", ctypes.c_uint * 3),
        ("zeroed_count", ctypes.c_int),
        ("zeroed", _Zeroed * 2),
    )


class HostLaunch:
    """Starts one kernel over a fixed grid, given its packed arguments.

    Attributes:
        run: the kernel as runtime.cpp takes it, with the time that it has measured.
    """

    __slots__ = ("_address", "_start", "run")

    def __init__(self, run: Run):
        self.run = run
        self._start, self._address = runner(), ctypes.addressof(run)

    @classmethod
    def of(cls, kernel: Launchable, binary: Binary, extents: Extents) -> HostLaunch:
        """The launch of a compiled kernel, over its grid."""
        blocks = _blocks_of(binary)
        grid = kernel.grid(extents)
        steps = kernel.work(extents)
        share = max(1, STEPS_PER_SHARE // max(1, steps // max(1, math.prod(grid))))
        zeroed = kernel.zeroed(extents)
        given = (_Zeroed * 2)(*(_Zeroed(*each) for each in zeroed))
        words = (ctypes.c_uint * 3)(*grid)
        return cls(
            Run(
                blocks=blocks, share=share, alone=steps * GUESSED_NS, grid=words,
                zeroed_count=len(zeroed), zeroed=given,
            )
        )  # fmt: skip

    def __call__(self, slots: bytes, arrays: Sequence[Any]) -> None:
        self._start(self._address, slots)


_libraries: dict[str, ctypes.CDLL] = {}
_blocks: dict[str, int | None] = {}


def _blocks_of(binary: Binary) -> int | None:
    """The address of the function that runs blocks; ctypes takes long to say it."""
    if binary.key not in _blocks:
        _blocks[binary.key] = ctypes.cast(loaded(binary).ow_blocks, ctypes.c_void_p).value
    return _blocks[binary.key]


def loaded(binary: Binary) -> ctypes.CDLL:
    found = _libraries.get(binary.key)
    if found is None:  # two threads may load it, and both use the same one
        found = _libraries.setdefault(binary.key, load_library(binary.payload))
    return found
