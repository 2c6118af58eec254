"""Counts while a kernel runs."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import numpy as np

from opweave.runtime.isa.instruction import Array, Instruction
from opweave.runtime.ptx.accesses import CLUSTER_SHIFT, in_cluster
from opweave.runtime.ptx.counters import (
    BANK,
    BANKS,
    SECTOR,
    AccessCounts,
    BlockCounts,
    LaunchCounts,
    LineCounts,
)

if TYPE_CHECKING:
    from opweave.runtime.ptx.machine import Machine, Straight

FAR = np.iinfo(np.int64).max  # stands for the address of a lane that is not active
Place = tuple[int, int]


class Recorder:
    """Takes notes of one launch."""

    def __init__(self) -> None:
        self._ran: dict[int, tuple[Straight, int, int]] = {}
        self._accesses: dict[tuple[Place, str, str], AccessCounts] = {}
        self._atomics: Counter[tuple[str, int]] = Counter()  # by space and address
        self.barriers = 0

    def ran(self, machine: Machine, straight: Straight, active: Array | None) -> None:
        """A straight piece is about to run."""
        _, warps, threads = self._ran.get(straight.start, (straight, 0, 0))
        warps += warps_of(machine, active)
        self._ran[straight.start] = straight, warps, threads + machine.number(active)

    def barrier(self, machine: Machine, one: Instruction, threads: Array) -> None:
        """Threads have come to a barrier."""
        self.barriers += warps_of(machine, threads)

    def accessed(
        self, machine: Machine, one: Instruction, active: Array | None, space: str,
        address: Array, size: int, kind: str,
    ) -> None:  # fmt: skip
        """Threads are about to ask for ``size`` bytes each."""
        space = "shared" if space.startswith("shared") else space
        key = one.place or (0, 0), space, kind
        address = machine.spread(address, active)
        lanes = by_warps(machine, active, address)
        there = len(address)
        if space == "shared":
            turns, least = wavefronts(lanes, size)
            made = AccessCounts(len(lanes), 0, there * size, turns, turns - least)
        else:
            made = AccessCounts(len(lanes), sectors(lanes, size), there * size)
        if kind == "atomic":
            self._count_atomics(machine, active, space, address)
        self._accesses[key] = self._accesses.get(key, AccessCounts()) + made

    def _count_atomics(
        self, machine: Machine, active: Array | None, space: str, address: Array
    ) -> None:
        """Each block has shared memory of its own."""
        if space == "shared":
            owner, address = in_cluster(machine, machine.owners(active), address)
            address = machine.blocks[owner] << CLUSTER_SHIFT | address
        values, counts = np.unique(address, return_counts=True)
        for value, count in zip(values.tolist(), counts.tolist(), strict=True):
            self._atomics[space, value] += count

    def counts(self, kernel: str, blocks: int, threads: int) -> LaunchCounts:
        """All that was noted."""
        ran: Counter[Place] = Counter()
        each: Counter[Place] = Counter()
        for straight, warps, count in self._ran.values():
            for one in straight.instructions:
                ran[one.place or (0, 0)] += warps
                each[one.place or (0, 0)] += count
        lines = {
            place: LineCounts(ran[place], each[place], {
                (space, kind): counts
                for (at, space, kind), counts in self._accesses.items() if at == place
            })
            for place in sorted(ran)
        }  # fmt: skip
        basic = tuple(_basic(*self._ran[start]) for start in sorted(self._ran))
        return LaunchCounts(
            kernel, blocks, threads, lines, basic, self.barriers, self._atomics.total(),
            max(self._atomics.values(), default=0),
        )  # fmt: skip


def _basic(straight: Straight, warps: int, threads: int) -> BlockCounts:
    code = straight.instructions
    return BlockCounts(code[0].line, code[-1].line, tuple(one.opcode for one in code), warps,
                       threads)  # fmt: skip


def warps_of(machine: Machine, active: Array | None) -> int:
    """How many warps have an active thread."""
    if active is None:
        return len(machine.blocks) * machine.warps
    warp = machine.warp[active]
    return 1 + int(np.count_nonzero(warp[1:] != warp[:-1])) if len(warp) else 0


def by_warps(machine: Machine, active: Array | None, address: Array) -> Array:
    """Addresses [warps, 32]; ``FAR`` where a lane is not active."""
    if active is None and machine.full_warps:
        return address.reshape(-1, 32)
    threads: Any = machine.everyone if active is None else active
    warp = machine.warp[threads]
    row = np.cumsum(np.r_[0, warp[1:] != warp[:-1]])
    made = np.full((int(row[-1]) + 1, 32), FAR, np.int64)
    made[row, machine.lane[threads]] = address
    return made


def sectors(lanes: Array, size: int) -> int:
    """Different sectors of each warp, summed."""
    made = lanes // SECTOR
    step = made[:, 1:] - made[:, :-1]
    if (step < 0).any():
        made = np.sort(made, axis=1)
        step = made[:, 1:] - made[:, :-1]
    absent = int((lanes.max(axis=1) == FAR).sum())  # those lanes are one sector that is none
    return int(np.count_nonzero(step)) + len(lanes) - absent


def wavefronts(lanes: Array, size: int) -> tuple[int, int]:
    """Turns that shared memory takes for each warp, summed, and the least that could do.

    A turn serves one word of each bank; lanes that ask for one word share it.  Accesses of 8 and
    16 bytes go by halves and quarters of a warp.
    """
    parts = max(size // BANK, 1)
    words = lanes // BANK
    group = words.reshape(-1, BANKS // min(parts, 4))
    absent = group == FAR // BANK
    wide = (group[:, :, None] + np.arange(parts)).reshape(len(group), -1)
    wide[np.repeat(absent, parts, axis=1)] = -1
    wide = np.sort(wide, axis=1)
    fresh = np.ones(wide.shape, bool)
    fresh[:, 1:] = wide[:, 1:] != wide[:, :-1]
    fresh &= wide >= 0
    row = np.broadcast_to(np.arange(len(wide))[:, None], wide.shape)
    banks = (row * BANKS + wide % BANKS)[fresh]
    loads = np.bincount(banks, minlength=len(wide) * BANKS).reshape(-1, BANKS)
    turns = loads.max(axis=1)
    return int(turns.sum()), int(np.count_nonzero(turns))
