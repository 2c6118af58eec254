"""A kernel that was built to be sanitized: its library, its memory, its debug information."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opweave.runtime.binaries.binary import Binary
from opweave.runtime.binaries.build import builder
from opweave.runtime.binaries.debuginfo import DebugInfo, Variable
from opweave.runtime.host.launcher import load_library, loaded
from opweave.runtime.process.locks import Once
from opweave.runtime.simt.fibres import LOCK
from opweave.runtime.simt.regions import DYNAMIC_SHARED, GLOBAL, STATIC_SHARED, Region
from opweave.templates import TEMPLATES

COMPILERS_OWN = 0xFFFF  # owner of what the compiler put beside the variables; see shadow.h

Name = tuple[str, int]  # of a region: what messages call it, and its bytes


@Once
def checker_library() -> ctypes.CDLL:
    """The checker of templates/host/checker.cpp; kernels find its functions in the process."""
    source = (TEMPLATES / "host" / "checker.cpp").read_text()
    return load_library(builder().build_plain(source).payload, shared=True)


@dataclass
class CheckedKernel:
    """A kernel that was built to be sanitized, with what its debug information says."""

    binary: Binary
    info: DebugInfo = field(init=False)
    library: ctypes.CDLL = field(init=False)
    base: int = field(init=False)
    device: list[Variable] = field(init=False)

    @classmethod
    def of(cls, binary: Binary) -> CheckedKernel:
        """The kernel of a binary, loaded once."""
        with LOCK:  # loading runs code of the library, which asks the checker
            if binary.key not in _checked:
                _checked[binary.key] = cls(binary)
            return _checked[binary.key]

    def parameters(self, kind: Any, most: int) -> list[Any]:
        """What the kernel takes, as structures of a kind; see cuda/signature.cuh."""
        found = (kind * most)()
        with LOCK:
            count = self.library.ow_signature(found)
        return list(found[:count])

    def __post_init__(self) -> None:
        checker_library()
        self.info = DebugInfo(self.binary.payload)
        self.library = loaded(self.binary)
        self.base = _base_of(ctypes.cast(self.library.ow_bind, ctypes.c_void_p).value or 0)
        self.device = [
            v for v in self.info.variables(".data", ".bss") if not v.name.startswith("ow_")
        ]

    def shared(self) -> tuple[Region, list[Variable], Any]:
        """The static shared memory, its variables by their offset, the owner of each byte.

        It is storage of the calling thread: the launch must come from the same one.
        """
        size, found = self.info.shared()
        mark = next(v.address for v in found if v.name == "ow_gap_mark")
        self.library.ow_shared_mark.restype = ctypes.c_void_p
        begin = self.library.ow_shared_mark() - mark
        variables = [v for v in found if not v.name.startswith("ow_gap_") and not v.is_guard]
        owner = np.zeros(size + 1, np.uint16)
        for number, variable in enumerate(variables, 1):
            owner[variable.address : variable.address + variable.bytes] = number
        for variable in (v for v in found if v.is_guard):
            owner[variable.address : variable.address + variable.bytes] = COMPILERS_OWN
        end = begin + size
        region = Region(begin, end, begin, end, STATIC_SHARED, 1, owner.ctypes.data, None)
        return region, variables, owner

    def dynamic(self, size: int) -> Region:
        """The dynamic shared memory; as with the static one, of the calling thread."""
        self.library.ow_dynamic_begin.restype = ctypes.c_void_p
        first = self.library.ow_dynamic_begin()
        high = first + self.library.ow_dynamic_bytes()
        return Region(first, first + size, first, high, DYNAMIC_SHARED, 1, None, None)

    def inner(self) -> list[tuple[Region, Name]]:
        """What lies in the library itself: its ``__device__`` variables, and constants to read."""
        named = [(v.address, v.bytes, (f"__device__ {v.name}", v.bytes)) for v in self.device]
        for begin, end in self.info.constants():
            named.append((begin, end - begin, ("the constants of the kernel", 0)))
        return [
            (Region(a, a + size, a, a + size, GLOBAL, 0, None, None), name)
            for a, size, name in ((self.base + a, size, name) for a, size, name in named)
        ]

    @contextmanager
    def restored(self) -> Iterator[None]:
        """Give ``__device__`` variables their contents back, for the next schedule."""
        places = [(self.base + v.address, v.bytes) for v in self.device]
        before = [(a, ctypes.string_at(a, size)) for a, size in places]
        try:
            yield
        finally:
            for address, contents in before:
                ctypes.memmove(address, contents, len(contents))


_checked: dict[str, CheckedKernel] = {}


def _base_of(address: int) -> int:
    """Where the library that holds an address lies."""

    found = (ctypes.c_void_p * 4)()  # Dl_info: file, base, name and address of a symbol
    ctypes.CDLL(None).dladdr(ctypes.c_void_p(address), found)
    return found[1] or 0
