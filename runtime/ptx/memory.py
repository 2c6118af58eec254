"""Memory with bounds, alignment, and a note of which bytes somebody has written."""

from __future__ import annotations

import mmap
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from opweave.runtime.isa.instruction import Array

SHARED_WINDOW, LOCAL_WINDOW = 1 << 60, 1 << 61  # where generic addresses have these spaces
PATTERN = 0xFD  # what memory begins with that nobody has written
WRITTEN = 0xFF
NO_ADDRESS = 1 << 16  # below it lies no array, as a null pointer with an offset
# Linux promises no memory for such pages; the module of Python 3.11 has no name for it.
NORESERVE = 0x4000 if sys.platform == "linux" else 0


class AccessFault(Exception):
    """An access that is refused; whoever knows the instruction makes an error of it.

    Attributes:
        which: the number of the address, among those of the access.
        unwritten: it is a read of what nobody has written.
    """

    def __init__(self, text: str, which: int = 0, unwritten: bool = False):
        super().__init__(text)
        self.which, self.unwritten = which, unwritten

    def among(self, chosen: Array) -> AccessFault:
        """The same fault of an access of which these addresses were chosen."""
        return AccessFault(str(self), int(chosen[self.which]), self.unwritten)


def lazily(count: int) -> Array:
    """So many zero bytes, of which only those that are touched take memory."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | NORESERVE
    held: Array = np.frombuffer(mmap.mmap(-1, max(count, 1), flags=flags), np.uint8)
    return held[:count]


@dataclass
class PtxRegion:
    """Bytes that a kernel may reach.

    Attributes:
        name: what messages call it.
        base: its address.
        data: its bytes.
        written: ``WRITTEN`` for each byte that has a value; None if all have.
        writable: stores are allowed.
    """

    name: str
    base: int
    data: Array
    written: Array | None = None
    writable: bool = True
    _views: dict[Any, tuple[Array, Array | None, int]] = field(default_factory=dict)

    @property
    def end(self) -> int:
        return self.base + len(self.data)

    def rows(self, dtype: np.dtype[Any], lanes: int) -> tuple[Array, Array | None, int]:
        """Memory as aligned vectors [n, lanes], the same of what is written, and its address."""
        key = dtype, lanes
        if key not in self._views:
            size = dtype.itemsize * lanes
            skip = -self.base % size
            count = max(len(self.data) - skip, 0) // size
            cut = slice(skip, skip + count * size)
            written = None if self.written is None else self.written[cut].view(dtype)
            self._views[key] = (
                self.data[cut].view(dtype).reshape(-1, lanes),
                None if written is None else written.reshape(-1, lanes),
                self.base + skip,
            )
        return self._views[key]


def region_of(name: str, array: Array, unwritten: bool = False) -> PtxRegion:
    """The memory of a contiguous array, by its own address."""
    data = array.reshape(-1).view(np.uint8)
    written = lazily(len(data)) if unwritten else None
    return PtxRegion(name, int(array.ctypes.data), data, written, bool(array.flags.writeable))


class Memory:
    """Regions of global memory, in the order of their addresses."""

    def __init__(self, regions: Sequence[PtxRegion]):
        self.regions = sorted(regions, key=lambda r: r.base)
        self._bases = np.array([r.base for r in self.regions], np.int64)

    def parts(self, address: Array, size: int) -> list[tuple[PtxRegion, Any]]:
        """The region of each address, and which addresses lie in it (a slice if all do).

        Raises:
            AccessFault: an address outside every region, or not a multiple of the size.
        """
        check_aligned(address, size)
        low, high = int(address.min()), int(address.max())
        at = int(np.searchsorted(self._bases, low, "right")) - 1
        if at >= 0 and high + size <= self.regions[at].end:
            return [(self.regions[at], slice(None))]
        which = np.searchsorted(self._bases, address, "right") - 1
        made = []
        for number in np.unique(which).tolist():
            chosen = np.flatnonzero(which == number)
            region = self.regions[number] if number >= 0 else None
            inside = address[chosen]
            bad = np.ones(len(chosen), bool) if region is None else inside + size > region.end
            if bad.any():
                first = int(chosen[np.argmax(bad)])
                raise AccessFault(f"{size} bytes {self._near(int(address[first]))}", first)
            assert region is not None
            made.append((region, chosen))
        return made

    def _near(self, address: int) -> str:
        """Where an address is that no region has, in words."""
        if not self.regions:
            return f"at 0x{address:x}, where no array is"
        distance, region = min(
            ((max(r.base - address, address - r.end, 0), r) for r in self.regions),
            key=lambda pair: pair[0],
        )
        if address < NO_ADDRESS or distance > 1 << 32:
            return f"at 0x{address:x}, outside every array"
        side = f"{region.base - address} bytes before" if address < region.base else (
            f"{address - region.base} bytes behind the start of")  # fmt: skip
        return f"{side} {region.name}, which has {len(region.data)} bytes"

    def fetch(self, address: Array, dtype: np.dtype[Any], lanes: int) -> Array:
        """Vectors [n, lanes] of raw words.

        Raises:
            AccessFault: out of bounds, not aligned, or never written.
        """
        size = dtype.itemsize * lanes
        made = None
        for region, chosen in self.parts(address, size):
            rows, written, base = region.rows(dtype, lanes)
            at = (address[chosen] - base) // size
            found = rows[at]
            if written is not None and (written[at] != _all(dtype)).any():
                first = int(np.argmax((written[at] != _all(dtype)).any(axis=1)))
                which = first if isinstance(chosen, slice) else int(chosen[first])
                where = int(address[which]) - region.base
                raise AccessFault(f"byte {where} of {region.name}, which nobody has written",
                                  which, unwritten=True)  # fmt: skip
            if isinstance(chosen, slice):
                result: Array = found
                return result
            if made is None:
                made = np.empty((len(address), lanes), dtype)
            made[chosen] = found
        assert made is not None
        return made

    def store(self, address: Array, values: Array) -> None:
        """Write vectors [n, lanes]; the last one stays where several have one address.

        Raises:
            AccessFault: out of bounds, not aligned, or memory that may not be written.
        """
        dtype, lanes = values.dtype, values.shape[1]
        size = dtype.itemsize * lanes
        for region, chosen in self.parts(address, size):
            if not region.writable:
                which = 0 if isinstance(chosen, slice) else int(chosen[0])
                raise AccessFault(f"a write to {region.name}, which may not be written", which)
            rows, written, base = region.rows(dtype, lanes)
            at = (address[chosen] - base) // size
            rows[at] = values[chosen]
            if written is not None:
                written[at] = _all(dtype)


def _all(dtype: np.dtype[Any]) -> Any:
    return dtype.type((1 << 8 * dtype.itemsize) - 1)


def check_aligned(address: Array, size: int) -> None:
    """Hold addresses to multiples of the size.

    Raises:
        AccessFault: one is none.
    """
    if int(np.bitwise_or.reduce(address)) & (size - 1):
        which = int(np.argmax((address & (size - 1)) != 0))
        raise AccessFault(f"{size} bytes at 0x{int(address[which]):x}, which is no multiple of "
                          f"{size}", which)  # fmt: skip


class OwnedMemory:
    """Memory that each block, or each thread, has of its own: one region in which each has a part.

    Attributes:
        size: bytes of each part.
        whole: all parts.
    """

    def __init__(self, name: str, count: int, size: int):
        self.name, self.size = name, size
        self.stride = -(-max(size, 1) // 16) * 16
        data = np.full(count * self.stride, PATTERN, np.uint8)
        self.whole = Memory([PtxRegion(name, 0, data, np.zeros(len(data), np.uint8))])

    def at(self, owner: Array, offset: Array, size: int) -> Array:
        """Addresses in ``whole``.

        Raises:
            AccessFault: an offset outside the part, or not aligned.
        """
        check_aligned(offset, size)
        if int(offset.min()) < 0 or int(offset.max()) + size > self.size:
            bad = (offset < 0) | (offset + size > self.size)
            which = int(np.argmax(bad))
            raise AccessFault(f"{size} bytes at offset {int(offset[which])} of {self.name}, which "
                              f"has {self.size} bytes", which)  # fmt: skip
        return owner * self.stride + offset
