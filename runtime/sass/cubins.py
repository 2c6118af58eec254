"""What a cubin says of a kernel's parameters, and the constant bank of a launch made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from io import BytesIO
from typing import Any

from opweave.opcodes.errors import UnsupportedError

# Attributes of .nv.info, as `cuobjdump --dump-elf` names them.
PARAM_CBANK, KPARAM_INFO = 0x0A, 0x17
SIZED = 4  # the format of an attribute that a length follows
# Where blockDim and gridDim lie in constant bank 0, three words each, by the offset of the
# parameters behind them.
EXTENTS = {0x140: (0, 0xC), 0x160: (0, 0xC), 0x210: (0, 0xC), 0x380: (0x360, 0x370)}


@dataclass(frozen=True)
class ParameterPlaces:
    """Where parameters lie in constant bank 0.

    Attributes:
        base: bytes in front of the first.
        places: (offset from the base, bytes) of each.
    """

    base: int
    places: tuple[tuple[int, int], ...]


def parameters(cubin: bytes, name: str) -> ParameterPlaces:
    """The parameters of a kernel.

    Raises:
        UnsupportedError: the cubin says nothing of them.
    """
    from elftools.elf.elffile import ELFFile

    elf: Any = ELFFile(BytesIO(cubin))
    section = elf.get_section_by_name(f".nv.info.{name}")
    base, places = -1, {}
    for kind, value in _attributes(section.data() if section else b""):
        if kind == PARAM_CBANK:
            base = int.from_bytes(value[4:6], "little")
        elif kind == KPARAM_INFO:
            number, offset = (int.from_bytes(value[n : n + 2], "little") for n in (4, 6))
            places[number] = offset, int.from_bytes(value[8:12], "little") >> 18
    if base < 0:
        raise UnsupportedError(f"the cubin does not say where parameters of {name} lie")
    return ParameterPlaces(base, tuple(places[n] for n in sorted(places)))


def _attributes(data: bytes) -> list[tuple[int, bytes]]:
    found, at = [], 0
    while at + 4 <= len(data):
        form, kind = data[at], data[at + 1]
        size = int.from_bytes(data[at + 2 : at + 4], "little") if form == SIZED else 0
        found.append((kind, data[at + 4 : at + 4 + size]))
        at += 4 + size
    return found


def constants(
    where: ParameterPlaces, slots: Sequence[bytes], grid: Sequence[int], block: Sequence[int]
) -> dict[int, int]:
    """Constant bank 0 as words: extents of the launch, and the parameters.

    Args:
        slots: each parameter's bytes, perhaps with padding behind.
    """
    size = max((offset + nbytes for offset, nbytes in where.places), default=0)
    image = bytearray(-(-size // 4) * 4)
    for (offset, nbytes), slot in zip(where.places, slots, strict=True):
        image[offset : offset + nbytes] = slot[:nbytes]
    words = {where.base + n: int.from_bytes(image[n : n + 4], "little") for n in range(0, size, 4)}
    for at, extents in zip(EXTENTS.get(where.base, ()), (block, grid), strict=False):
        words |= {at + 4 * n: extent for n, extent in enumerate(extents)}
    return words
