"""Memory for large results on the host, from blocks that earlier results have left.

NumPy frees large memory as soon as nobody holds it, and the system gives fresh pages to the next
result.  Each costs a page fault and is filled with zeros, which takes longer than most kernels.
So blocks are kept here, up to a limit.  An array owns its memory as any other does: NumPy itself
takes and gives the blocks, through an allocator of its C interface (NEP 49,
``PyDataMem_SetHandler``).
"""

from __future__ import annotations

import contextvars
import ctypes
import gc
import math
import threading
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from opweave.opcodes.errors import OutOfMemoryError
from opweave.runtime.host.launcher import runtime_library
from opweave.runtime.host.numpy_functions import SET_HANDLER, numpy_function
from opweave.runtime.process.environment import memory_bytes
from opweave.runtime.process.locks import Once

# Smaller results are served by the C library's own heap, which keeps what it has; what lies at its
# end it gives back to the system, and faults for each page of the next result.
FROM_BYTES = 1 << 18

Array = np.ndarray[Any, Any]


class _Handler(ctypes.Structure):
    """``PyDataMem_Handler`` with its ``PyDataMemAllocator``, as ndarraytypes.h has them."""

    _fields_ = (
        ("name", ctypes.c_char * 127),
        ("version", ctypes.c_uint8),
        *((field, ctypes.c_void_p) for field in ("ctx", "malloc", "calloc", "realloc", "free")),
    )


class Counts(NamedTuple):
    """What the pool holds: bytes that nobody uses, blocks served again, and blocks mapped."""

    idle_bytes: int
    served: int
    mapped: int


class _State:
    """Settings of the pool: how many bytes are kept at most while nobody uses them."""

    limit = 0


_state = _State()


@Once
def _library() -> ctypes.CDLL:
    library = runtime_library()
    library.ow_pool_limit.argtypes = [ctypes.c_ulong]
    library.ow_pool_limit.restype = None
    library.ow_pool_counts.argtypes = [ctypes.c_void_p]
    library.ow_pool_counts.restype = None
    library.ow_pool_limit(_state.limit)
    return library


@Once
def _capsule() -> tuple[Any, _Handler]:
    """The allocator as NumPy takes it; the structure lives as long as any array may."""
    library = _library()
    functions = (getattr(library, f"ow_pool_{n}") for n in ("malloc", "calloc", "realloc", "free"))
    addresses = [ctypes.cast(f, ctypes.c_void_p).value for f in functions]
    handler = _Handler(b"opweave", 1, None, *addresses)
    new = ctypes.pythonapi.PyCapsule_New
    new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    new.restype = ctypes.py_object
    return new(ctypes.addressof(handler), b"mem_handler", None), handler


def _install() -> None:
    """Make NumPy take memory from the pool, in the current context."""
    set_handler = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object)
    set_handler(numpy_function(SET_HANDLER))(_capsule()[0])


class _Context(threading.local):
    """A context of each thread in which NumPy takes memory from the pool."""

    def __init__(self) -> None:
        self.context = contextvars.Context()
        self.context.run(_install)


@Once
def _contexts() -> _Context:
    return _Context()


def _pooled(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    try:
        return _taken(shape, dtype)
    except (MemoryError, ValueError):  # ValueError: more bytes than there are addresses
        release()
    try:
        return _taken(shape, dtype)
    except (MemoryError, ValueError):
        raise OutOfMemoryError(
            f"there is no memory for an array {dtype}{list(shape)} of "
            f"{math.prod(shape) * dtype.itemsize:,} bytes, even after kept memory was given back: "
            "drop arrays that are not needed, or work on parts"
        ) from None


def _taken(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    if not _state.limit:
        return np.empty(shape, dtype)
    try:
        return _contexts().context.run(np.empty, shape, dtype)
    except RuntimeError:  # a finalizer that runs within another allocation of this thread
        return np.empty(shape, dtype)


def release() -> None:
    """Give back what nobody holds: unreachable arrays, and the memory that is kept."""
    gc.collect()
    if _library.called:
        _library().ow_pool_limit(0)
        _library().ow_pool_limit(_state.limit)


def allocator(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Callable[[], Array]:
    """A function that makes uninitialised arrays of a shape and a dtype.

    It raises ``OutOfMemoryError`` where the system has no memory for a large one.
    """
    if math.prod(shape) * dtype.itemsize < FROM_BYTES:
        return partial(np.empty, shape, dtype)
    return partial(_pooled, shape, dtype)


def arena(nbytes: int) -> Callable[[], Array]:
    """A function that makes memory for the temporaries of a call, as an array of bytes.

    Compiled calls take theirs from the pool without asking Python: it has its limit by now.
    """
    _library()
    return allocator((nbytes,), np.dtype(np.uint8))


def default_limit() -> int:
    """Bytes to keep at most: a sixteenth of the memory, and no more than 1 GiB."""
    return min(1 << 30, memory_bytes() // 16)


def set_limit(nbytes: int) -> None:
    """Keep no more than so many bytes; 0 keeps none, and results are NumPy's own again."""
    _state.limit = nbytes
    if _library.called:
        _library().ow_pool_limit(nbytes)


def counts() -> Counts:
    """What the pool holds, and has done."""
    found = (ctypes.c_ulong * 3)()
    _library().ow_pool_counts(ctypes.addressof(found))
    return Counts(*found)
