"""Integers that a block keeps in shared memory, and tickets that it draws from a counter.

Kernels whose blocks work together draw a number from a counter in global memory, keep it in
shared memory, and branch on it.  A counter that is zero before the launch gives them in the order
in which blocks come; here that is the order of their numbers, one of those that a GPU may take.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from opweave.runtime.sass.accesses import ARRAY_SHIFT, address, width
from opweave.runtime.sass.listing import SassInstruction
from opweave.runtime.sass.machine import U32, U64, Array, SassMachine

MOST_SHARED = 232 * 1024
Drawn = tuple[int, int]  # the address of a counter, and the place of a block


class StoredBytes:
    """The shared memory of the sampled blocks, byte by byte, and which bytes are known.

    Attributes:
        holds: something known has been stored.
        used: bytes of a block up to the last one that was stored.
    """

    def __init__(self, machine: SassMachine):
        shape = len(machine.blocks), MOST_SHARED
        self.holds, self.used = False, 0
        self.machine = machine
        self.bytes, self.known = np.zeros(shape, np.uint8), np.zeros(shape, bool)

    def store(self, one: SassInstruction, lanes: Array) -> None:
        """STS: what registers hold; a store to nobody knows where makes all unknown."""
        m = self.machine
        where, known = address(m, one)
        self.forget(lanes & (~known | (where >= MOST_SHARED - 16)))
        lanes = lanes & known & (where < MOST_SHARED - 16)
        at, block = where[lanes].astype(np.int64), m.block_of[lanes]
        source = one.operands[-1]
        self.used = max(self.used, int(at.max(initial=0)) + width(one))
        for n in range(width(one)):
            row = source.index + n // 4 if source.index != 255 else 255
            self.bytes[block, at + n] = m.registers[row][lanes] >> U32(8 * (n % 4)) & U32(255)
            self.known[block, at + n] = m.known[row][lanes]
            self.holds |= bool(m.known[row][lanes].any())

    def state(self) -> tuple[Array, Array] | None:
        """A copy of all that is known; None if nothing is."""
        if not self.holds:
            return None
        known = self.known[:, : self.used].copy()
        return np.where(known, self.bytes[:, : self.used], np.uint8(0)), known

    def restore(self, state: tuple[Array, Array] | None) -> None:
        """Hold what a copy holds, and nothing else."""
        if self.holds:
            self.known[:] = False
        self.holds = state is not None
        if state is not None:
            self.used = state[0].shape[1]
            self.bytes[:, : self.used], self.known[:, : self.used] = state

    def forget(self, lanes: Array) -> None:
        """Something that nobody knows is stored somewhere, by these lanes."""
        if self.holds:
            self.known[np.unique(self.machine.block_of[lanes])] = False

    def fetch(self, one: SassInstruction, lanes: Array) -> None:
        """LDS: into the register and those behind it."""
        m = self.machine
        where, known = address(m, one)
        inside = known & (where < MOST_SHARED - 16)
        at = np.where(inside, where, U64(0)).astype(np.int64)
        nbytes, target = width(one), one.operands[0].index
        for first in range(0, nbytes, 4):
            word: Any = np.zeros(m.lanes, U32)
            sure = inside
            for n in range(first, min(first + 4, nbytes)):
                word = word | self.bytes[m.block_of, at + n].astype(U32) << U32(8 * (n % 4))
                sure = sure & self.known[m.block_of, at + n]
            is_signed = {"S8", "S16"} & set(one.modifiers)
            m.set(target + first // 4, word, sure & (not is_signed), lanes)


def is_ticket(one: SassInstruction) -> bool:
    """It adds to a counter, and keeps what the counter held."""
    kept = one.root in ("ATOMG", "ATOM") and "ADD" in one.modifiers and len(one.operands) == 4
    return kept and one.operands[1].kind == "r" and one.operands[3].kind == "r"


def draw(m: SassMachine, one: SassInstruction, lanes: Array, drawn: Counter[Drawn]) -> bool:
    """Give each block its next ticket; False where one draws several at once.

    Blocks along x share a counter, or those along y do; the others have other counters.  They draw
    in turns: what a block draws next is behind what all others have drawn as often.

    Args:
        drawn: how often a block has drawn from a counter, which this adds to.
    """
    where, known = address(m, one)
    step, is_known = m.value(one.operands[3])
    numbers, block = where[lanes], m.block_of[lanes]
    arrays = set((numbers >> U64(ARRAY_SHIFT)).tolist())
    alone = len(np.unique(block)) == len(block)
    if not (alone and known[lanes].all() and np.broadcast_to(is_known, m.lanes)[lanes].all()):
        return False
    if not arrays <= m.launched.counters:
        return False
    x, y = m.blocks[block] % m.launched.grid[0], m.blocks[block] // m.launched.grid[0]
    wide, high = m.launched.grid[:2]
    ways = (x, y, wide), (y, x, high)
    found = next(((own, n) for own, group, n in ways if _one_each(group, numbers)), None)
    if found is None:
        return False
    who = list(zip(numbers.tolist(), block.tolist(), strict=True))
    earlier = np.array([drawn[each] for each in who])
    drawn.update(who)
    value, places = np.zeros(m.lanes, U32), found[0] + earlier * found[1]
    value[lanes] = places.astype(U32) * np.broadcast_to(step, m.lanes)[lanes]
    m.set(one.operands[1].index, value, True, lanes)
    return True


def _one_each(groups: Array, counters: Array) -> bool:
    """Whether each group has one counter, and no two groups have the same."""
    pairs = set(zip(groups.tolist(), counters.tolist(), strict=True))
    return len(pairs) == len(np.unique(groups)) == len(np.unique(counters))
