"""Who has come to the barrier of a cluster, and who waits there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from opweave.opcodes.errors import PtxLaunchError
from opweave.runtime.isa.instruction import Array, Instruction

if TYPE_CHECKING:
    from opweave.runtime.ptx.machine import Machine


class ClusterWaits:
    """The barriers of all clusters of a batch; a thread arrives, and later waits.

    A phase ends when each thread of the cluster that has not ended has arrived.
    """

    def __init__(self, machine: Machine):
        self.machine = machine
        x, y, z = machine.shape.cluster
        self.cluster = machine.owner // (x * y * z)
        self.arrived = np.zeros(machine.count, np.int64)  # phases that each thread has come to
        self.ended = np.zeros(int(self.cluster[-1]) + 1, np.int64)
        self.parked: list[tuple[int, Instruction, Array]] = []

    def arrive(self, one: Instruction, threads: Array) -> None:
        """Threads come, and go on."""
        early = self.arrived[threads] > self.ended[self.cluster[threads]]
        if early.any():
            raise self.machine.error(
                PtxLaunchError, one, int(threads[np.argmax(early)]),
                "arrives twice at the barrier of its cluster without a wait",
            )  # fmt: skip
        self.arrived[threads] += 1
        self.release()

    def wait(self, at: int, one: Instruction, threads: Array) -> None:
        """Threads wait for the phase that they have come to."""
        self.parked.append((at, one, threads))
        self.release()

    def release(self) -> bool:
        """Let those go whose phase has ended."""
        machine = self.machine
        clusters = len(self.ended)
        alive = np.bincount(self.cluster[machine.live], minlength=clusters)
        came = machine.live & (self.arrived > self.ended[self.cluster])
        full = (np.bincount(self.cluster[came], minlength=clusters) >= alive) & (alive > 0)
        full &= np.bincount(self.cluster[came], minlength=clusters) > 0
        self.ended[full] += 1
        released, kept = False, []
        for at, one, threads in self.parked:
            done = self.arrived[threads] <= self.ended[self.cluster[threads]]
            machine.go(at, threads[done])
            released |= bool(done.any())
            if not done.all():
                kept.append((at, one, threads[~done]))
        self.parked = kept
        return released
