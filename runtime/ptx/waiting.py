"""Threads that wait: at barriers, for the other lanes of a warp, and in loops for memory."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from opweave.runtime.isa.instruction import Array, Instruction
from opweave.runtime.ptx.cluster_waits import ClusterWaits

if TYPE_CHECKING:
    from opweave.runtime.ptx.machine import Machine

ROUNDS = 64  # turns of loops that wait, without a store, after which they are held to progress
FULL = 0xFFFFFFFF


@dataclass
class Meeting:
    """Lanes that stand at one instruction, with one mask, until all lanes of it are there.

    Attributes:
        then: runs for those that go on.
    """

    one: Instruction
    threads: Array
    mask: int
    then: Callable[[Machine, Array], None]


@dataclass
class Barrier:
    """Threads at barriers of a number, by the instruction that they go on with.

    Attributes:
        needed: threads for it to open; 0 for all that have not ended.
        arrived: threads that do not wait.
        values: predicates, of barriers that reduce.
        then: runs for those that go on, with the blocks' results.
    """

    one: Instruction
    threads: Array
    needed: Array
    waits: bool
    values: Array | None
    then: Callable[[Machine, Array, Any], None]


class Waiting:
    """All waits of a batch."""

    def __init__(self, machine: Machine):
        self.machine = machine
        self.meetings: dict[tuple[int, int], Meeting] = {}  # by instruction and mask
        self.barriers: dict[int, list[Barrier]] = {}
        self.spinning: dict[int, tuple[Instruction, Array]] = {}
        self.clusters = ClusterWaits(machine)
        self._seen, self._rounds = -1, 0
        self._registers: list[bytes] = []

    def meet(self, at: int, met: Meeting) -> None:
        """Lanes come to an instruction that all lanes of their mask run together."""
        machine, key = self.machine, (at, met.mask)
        if len(met.threads) == machine.count and machine.full_warps and met.mask == FULL:
            met.then(machine, met.threads)
            return
        there = self.meetings.pop(key, None)
        if there is not None:
            threads = np.sort(np.concatenate((there.threads, met.threads)))
            met = Meeting(met.one, threads, met.mask, met.then)
        self._open_meeting(key, met)

    def _open_meeting(self, key: tuple[int, int], met: Meeting) -> bool:
        """Let those go whose lanes are all there; the others wait."""
        machine, threads, mask = self.machine, met.threads, np.uint32(met.mask)
        bit = np.uint32(1) << machine.lane.astype(np.uint32)
        there, alive = (np.zeros(len(machine.blocks) * machine.warps, np.uint32) for _ in "ab")
        np.bitwise_or.at(there, machine.warp[threads], bit[threads])
        living = np.flatnonzero(machine.live)
        np.bitwise_or.at(alive, machine.warp[living], bit[living])
        warp = machine.warp[threads]
        own = (mask & bit[threads]) != 0
        if not own.all():
            machine.deadlock(met.one, int(threads[np.argmin(own)]), "is not in its own mask")
        go = (mask & alive[warp] & ~there[warp]) == 0
        if not go.all():
            self.meetings[key] = Meeting(met.one, threads[~go], met.mask, met.then)
        if go.any():
            met.then(machine, threads[go])
        return bool(go.any())

    def arrive(self, key: int, came: Barrier) -> None:
        """Threads come to a barrier."""
        self.barriers.setdefault(key, []).append(came)
        self._open_barrier(key)

    def _open_barrier(self, key: int) -> bool:
        """Open a barrier for the blocks, or clusters, whose threads are all there."""
        machine, parties = self.machine, self.barriers[key]
        scope = machine.owner
        blocks = int(scope[-1]) + 1
        came = sum(np.bincount(scope[p.threads], minlength=blocks) for p in parties)
        needed = np.zeros(blocks, np.int64)
        for party in parties:
            np.maximum.at(needed, scope[party.threads], party.needed)
        living = np.bincount(scope[machine.live], minlength=blocks)
        needed = np.where(needed > 0, needed, living)
        opens = (came >= needed) & (came > 0)
        if not opens.any():
            return False
        reduced = self._reduced(parties, scope, blocks)
        left = []
        for party in parties:
            go = opens[scope[party.threads]]
            if not go.all():
                left.append(Barrier(
                    party.one, party.threads[~go], party.needed[~go], party.waits,
                    None if party.values is None else party.values[~go], party.then,
                ))  # fmt: skip
        self.barriers[key] = left
        for party in parties:
            go = opens[scope[party.threads]]
            if party.waits and go.any():
                party.then(machine, party.threads[go], reduced)
        return True

    def _reduced(self, parties: list[Barrier], scope: Array, blocks: int) -> Any:
        """(true, all) counts of the predicates of each block."""
        true, every = np.zeros(blocks, np.int64), np.zeros(blocks, np.int64)
        for party in parties:
            if party.values is not None:
                where = scope[party.threads]
                true += np.bincount(where, party.values, blocks).astype(np.int64)
                every += np.bincount(where, minlength=blocks)
        return true, every, scope

    def spin(self, at: int, one: Instruction, threads: Array) -> None:
        """Threads go back to look again; others go first."""
        there = self.spinning.get(at)
        if there is not None:
            threads = np.sort(np.concatenate((there[1], threads)))
        self.spinning[at] = one, threads

    def release(self) -> bool:
        """When nobody is ready: see whether somebody's wait is over."""
        machine = self.machine
        opened = [self._open_meeting(key, self.meetings.pop(key)) for key in list(self.meetings)]
        opened += [self._open_barrier(key) for key in list(self.barriers)]
        if self.clusters.release() or any(opened):
            return True
        if not self.spinning:
            return False
        self._hold_to_progress()
        waits, self.spinning = self.spinning, {}
        for at, (_, threads) in waits.items():
            machine.go(at, threads)
        return True

    def _hold_to_progress(self) -> None:
        """Raise if threads that look at memory in a loop are as they were a turn before.

        Nothing was written then, and what they have read is in their registers: each later turn
        would be the same.
        """
        machine = self.machine
        self._rounds = self._rounds + 1 if machine.stores == self._seen else 0
        self._seen = machine.stores
        if self._rounds < ROUNDS or self._rounds % ROUNDS > 1:
            return
        threads = np.concatenate([t for _, t in self.spinning.values()])
        found = [
            (r if len(r) == 1 else r[threads]).tobytes() for r in machine.registers
        ]  # fmt: skip
        if self._rounds % ROUNDS and found == self._registers:
            one, waiting = next(iter(self.spinning.values()))
            machine.deadlock(one, int(waiting[0]), "waits for memory that nobody will write")
        self._registers = found

    def stuck(self) -> None:
        """Raise that the threads which wait do so for ever."""
        machine = self.machine
        for met in self.meetings.values():
            absent = int((machine.warp == machine.warp[met.threads[0]]).sum())
            machine.deadlock(
                met.one, int(met.threads[0]),
                f"waits for lanes of its mask 0x{met.mask:08x} that never come; its warp "
                f"has {absent} threads",
            )  # fmt: skip
        for parties in self.barriers.values():
            for party in (p for p in parties if p.waits and len(p.threads)):
                block = machine.owner[party.threads[0]]
                here = sum(int((machine.owner[p.threads] == block).sum()) for p in parties)
                living = int(machine.live[machine.owner == block].sum())
                machine.deadlock(
                    party.one, int(party.threads[0]),
                    f"waits at a barrier for ever: divergent barrier, {here} of {living} threads "
                    "are there",
                )  # fmt: skip
        for _, one, threads in self.clusters.parked:
            machine.deadlock(one, int(threads[0]), "waits for its cluster for ever")
