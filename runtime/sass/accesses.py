"""Requests to memory, counted from the addresses of the lanes of each warp.

Global memory is asked for in sectors of 32 bytes.  Shared memory has 32 banks of 4 bytes: a
request takes at least as many wavefronts as the busiest bank has different words (CUDA C++ Best
Practices Guide, "Shared Memory and Memory Banks"), and without conflicts as many as hold all of
them.  Accesses of 8 and 16 bytes may take more, where hardware does not merge parts of the warp.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from opweave.runtime.sass.listing import SassInstruction, SassOperand
from opweave.runtime.sass.machine import U64, WARP, Array, SassMachine
from opweave.runtime.sass.slices import matrices

SECTOR, BANKS, WORD, ARRAY_SHIFT = 32, 32, 4, 36
OWN = U64(2**48 - 1)  # a sector's own bits; those of its block lie above
SPACES = {
    "LDG": "global", "STG": "global", "LD": "global", "ST": "global", "RED": "global",
    "REDG": "global", "ATOMG": "global", "ATOM": "global", "LDGSTS": "global",
    "LDS": "shared", "STS": "shared", "ATOMS": "shared", "LDSM": "shared", "STSM": "shared",
    "LDL": "local", "STL": "local",
}  # fmt: skip
# What Nsight Compute calls the access; other roots are loads.
OPS = {
    "STG": "st", "STS": "st", "STL": "st", "ST": "st", "STSM": "st", "RED": "red", "REDG": "red",
    "ATOMG": "atom", "ATOM": "atom", "ATOMS": "atom",
}  # fmt: skip
OF_MATRICES = ("LDSM", "STSM")
WIDTHS = {"128": 16, "64": 8, "F64": 8, "U16": 2, "S16": 2, "U8": 1, "S8": 1}


@dataclass
class Requests:
    """What one instruction has asked of memory, all warps of a launch together.

    Attributes:
        op: "ld", "st", "atom" or "red".
        requests: warps that executed it with any lane.
        threads: lanes that did.
        sectors: of 32 bytes, of global memory.
        wavefronts: of shared memory; ``least``: how many there would be without conflicts.
        unknown: requests whose addresses follow from data.
    """

    space: str
    op: str
    bytes_each: int
    requests: float = 0.0
    threads: float = 0.0
    sectors: float = 0.0
    wavefronts: float = 0.0
    least: float = 0.0
    unknown: float = 0.0
    touched: list[Array] = field(default_factory=list)

    def take(self) -> list[Array]:
        """What was touched so far, to count from here on."""
        found, self.touched = self.touched, []
        return found

    def copied(self) -> Requests:
        """Another one of the same counts."""
        return replace(self, touched=list(self.touched))

    @property
    def is_store(self) -> bool:
        """Nobody waits for what it brings."""
        return self.op in ("st", "red")

    @property
    def bytes(self) -> float:
        """Bytes that the lanes asked for."""
        return self.threads * self.bytes_each

    @property
    def least_sectors(self) -> float:
        """Sectors that the same bytes take at least."""
        return self.bytes / SECTOR


def width(one: SassInstruction) -> int:
    """Bytes of a lane's access; of matrices those of a row."""
    if one.root in OF_MATRICES:
        return 16
    return next((WIDTHS[m] for m in one.modifiers if m in WIDTHS), WORD)


def address(m: SassMachine, one: SassInstruction, space: str = "") -> tuple[Any, Any]:
    """The address of each lane and whether it is known.

    An asynchronous copy has two: of shared memory, to which it writes, and of global memory.
    """
    places = [o for o in one.operands if o.kind == "m"]
    space = space or SPACES.get(one.root, "")
    where, is_wide = places[-1 if space == "global" else 0], space == "global"
    total: Any = np.full(m.lanes, where.value & (2**64 - 1), U64)
    known: Any = np.ones(m.lanes, bool)
    for part in where.parts:
        value, is_known = _part(m, part, is_wide)
        total, known = total + value, known & is_known
    return (total if is_wide else total & U64(0xFFFFFFFF)), known


def _part(m: SassMachine, part: SassOperand, is_wide: bool) -> tuple[Any, Any]:
    plain = SassOperand(part.kind, part.text, part.index)
    scale = next((int(s[1:]) for s in part.suffixes if s[0] == "X"), 1)
    if is_wide and "U32" not in part.suffixes and scale == 1:
        return m.pair(plain)
    value, known = m.value(plain)
    return np.asarray(value).astype(U64) * U64(scale), known


def count(m: SassMachine, one: SassInstruction, lanes: Array, found: Requests) -> None:
    """Count one execution of a load or store in some lanes."""
    where, known = address(m, one, found.space)
    if one.root in OF_MATRICES:  # eight lanes name the rows of a matrix
        lanes = lanes & (m.thread % WARP < 8 * matrices(one))
    warps = m.warps(lanes)
    weights = m.weights[warps]
    found.requests += float(weights.sum())
    is_known = ~m.warps(lanes & ~known)[warps]
    found.unknown += float(weights[~is_known].sum())
    active = lanes.reshape(-1, WARP)[warps]
    found.threads += float((active.sum(1) * weights).sum())
    if not is_known.any():
        return
    rows, mask = where.reshape(-1, WARP)[warps][is_known], active[is_known]
    weights = weights[is_known]
    if found.space == "shared":
        _shared(rows, mask, weights, found)
    else:
        _global(m, rows, mask, weights, np.flatnonzero(warps)[is_known], found)


def distinct(rows: Array, mask: Array) -> Array:
    """By row how many different numbers its mask selects."""
    none = np.iinfo(np.uint64).max
    ordered = np.sort(np.where(mask, rows, U64(none)), axis=1)
    fresh = np.ones(ordered.shape, bool)
    fresh[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    found: Array = (fresh & (ordered != none)).sum(1)
    return found


def _global(
    m: SassMachine, rows: Array, mask: Array, weights: Array, warps: Array, found: Requests
) -> None:
    sectors = rows >> U64(5)
    found.sectors += float((distinct(sectors, mask) * weights).sum())
    if found.space == "global":
        block = (warps // m.launched.warps).astype(U64)[:, None]
        named = (block << U64(48) | sectors)[mask]
        found.touched.append(np.unique(named))
        if len(found.touched) > 64:
            found.touched = [np.unique(np.concatenate(found.touched))]


def touched(rows: Iterable[Requests], stands: Array | None = None) -> Array:
    """The sectors that were touched, each with its block in the upper bits, in order.

    Args:
        stands: by block whether it counts; all do where it is left out.
    """
    parts = [part for r in rows for part in r.touched]
    found: Array = np.unique(np.concatenate(parts)) if parts else np.zeros(0, U64)
    return found if stands is None else found[stands[(found >> U64(48)).astype(np.int64)]]


def footprint(both: Array) -> dict[int, tuple[int, int]]:
    """By array how many sectors were touched: each once a block, and each once."""
    at = U64(ARRAY_SHIFT - 5)
    once = np.unique(both & OWN)
    by_block = dict(zip(*np.unique((both & OWN) >> at, return_counts=True), strict=True))
    each = dict(zip(*np.unique(once >> at, return_counts=True), strict=True))
    return {int(n): (int(by_block[n]), int(each[n])) for n in each}


def _shared(rows: Array, mask: Array, weights: Array, found: Requests) -> None:
    each = max(1, found.bytes_each // WORD)
    words = rows >> U64(2)
    every = np.concatenate([words + U64(n) for n in range(each)], axis=1)
    banks = every % U64(BANKS)
    # by bank, then by word; lanes that do not take part come last
    keys = np.where(np.tile(mask, each), banks << U64(48) | every, U64(2**63))
    ordered = np.sort(keys, axis=1)
    fresh = ordered < U64(2**63)
    fresh[:, 1:] &= ordered[:, 1:] != ordered[:, :-1]
    bank = (ordered >> U64(48)).astype(np.int64) % BANKS + BANKS * np.arange(len(words))[:, None]
    busy = np.bincount(bank[fresh], minlength=BANKS * len(words)).reshape(-1, BANKS)
    found.wavefronts += float((busy.max(1) * weights).sum())
    found.least += float((-(-fresh.sum(1) // BANKS) * weights).sum())
