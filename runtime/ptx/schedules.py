"""Who runs next: the lowest instruction, or warps in an order that a seed says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from opweave.runtime.isa.instruction import Array

if TYPE_CHECKING:
    from opweave.runtime.ptx.machine import Machine


class TurnOrder:
    """Lowest program counter first: all threads that stand there run together."""

    def order(self, blocks: Array, cluster: int) -> Array:
        """The order in which blocks run; those of a cluster stay together."""
        return blocks

    def pick(self, machine: Machine) -> tuple[int, Array] | None:
        """The next instruction and its threads, taken from those that are ready."""
        if not machine.ready:
            return None
        at = min(machine.ready)
        return at, machine.ready.pop(at)


# How many of the blocks run, while the others stand: each as likely as the others.
SHARES = (1.0, 1.0, 0.5, 0.1)


class SeededOrder(TurnOrder):
    """One warp of each of some blocks runs until it waits or a die says so; then another one.

    The warps of a block take turns in an order drawn from the seed, so what a barrier should have
    kept apart comes in another order; and blocks run ahead of others, so what a flag should have
    kept apart does, too.
    """

    def __init__(self, seed: int):
        self._random = np.random.default_rng(seed % 2**32)
        self._order: list[int] = []
        self._running: Array = np.ones(0, np.bool_)  # by block

    def order(self, blocks: Array, cluster: int) -> Array:
        return self._random.permutation(blocks.reshape(-1, cluster)).reshape(-1)

    def pick(self, machine: Machine) -> tuple[int, Array] | None:
        if not machine.ready:
            return None
        if self._random.random() < 1 / 16:
            self._order = []
        for _ in range(2):
            while self._order:
                found = self._of(machine, self._order[0])
                if found is not None:
                    return found
                self._order.pop(0)
            self._order = self._random.permutation(machine.warps).tolist()
            self._running = self._drawn(int(machine.owner[-1]) + 1)
            if machine.waiting.spinning:  # a warp that waits for another one yields
                break
        return super().pick(machine)

    def _drawn(self, blocks: int) -> Array:
        """Which of so many blocks run."""
        if blocks > 1:
            found: Array = self._random.random(blocks) < self._random.choice(SHARES)
            if found.any():
                return found
        return np.ones(blocks, np.bool_)

    def _of(self, machine: Machine, warp: int) -> tuple[int, Array] | None:
        """The lowest instruction of one warp of every block that runs."""
        for at in sorted(machine.ready):
            threads = machine.ready[at]
            block, place = np.divmod(machine.warp[threads], machine.warps)
            chosen = (place == warp) & self._running[block]
            if chosen.all():
                return at, machine.ready.pop(at)
            if chosen.any():
                machine.ready[at] = threads[~chosen]
                return at, threads[chosen]
        return None


def schedule_of(number: int) -> TurnOrder:
    """0 is the lowest counter first, any other number a seed."""
    return SeededOrder(number) if number else TurnOrder()
