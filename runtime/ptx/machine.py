"""A batch of blocks that run together: registers, memory, and who stands where."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from opweave.opcodes.errors import (
    BudgetError,
    DeadlockError,
    PtxLaunchError,
    PtxMemoryError,
    UninitialisedError,
)
from opweave.runtime.isa.instruction import Array, Instruction
from opweave.runtime.ptx.memory import AccessFault, Memory, OwnedMemory
from opweave.runtime.ptx.schedules import TurnOrder
from opweave.runtime.ptx.waiting import Waiting

if TYPE_CHECKING:
    from opweave.runtime.ptx.recorder import Recorder

WARP = 32
# Threads that run an instruction: their numbers in rising order, or None for all of the batch.
Active = Array | None
Step = Callable[["Machine", Active], None]
End = Callable[["Machine", Array], None]


@dataclass(frozen=True)
class Straight:
    """Instructions without a branch between them, and what comes behind the last.

    Attributes:
        start: number of the first instruction.
        instructions: all of them, the end included.
        length: of them.
    """

    start: int
    instructions: tuple[Instruction, ...]
    steps: tuple[Step, ...]
    end: End

    @property
    def length(self) -> int:
        return len(self.instructions)


@dataclass(frozen=True)
class Shape:
    """Extents of a launch.

    Attributes:
        cluster: blocks of a cluster along each axis.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    cluster: tuple[int, int, int] = (1, 1, 1)

    @property
    def blocks(self) -> int:
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def threads(self) -> int:
        return self.block[0] * self.block[1] * self.block[2]


class Machine:
    """The state of a batch of blocks, and the loop that runs it.

    Attributes:
        count: threads of the batch; thread n is thread ``n % threads`` of block ``n // threads``.
        blocks: linear numbers of the blocks in the grid.
        owner, lane, warp: of each thread its block in the batch, its lane, its warp in the batch.
        live: False of threads that have ended.
        ready: threads that can go on, by the number of their next instruction.
        stores: how often memory was written; a spin that nobody serves leaves it as it is.
    """

    def __init__(
        self, kernel: str, code: Mapping[int, Straight], slots: Sequence[np.dtype[Any]],
        shape: Shape, blocks: Array, memory: Memory, symbols: Mapping[str, int], params: bytes,
        sizes: tuple[int, int], schedule: TurnOrder, budget: int, recorder: Recorder | None = None,
    ):  # fmt: skip
        self.kernel, self.code, self.shape, self.blocks = kernel, code, shape, blocks
        self.memory, self.symbols, self.params = memory, symbols, params
        self.schedule, self.budget, self.recorder = schedule, budget, recorder
        threads = shape.threads
        self.count = count = len(blocks) * threads
        self.everyone = np.arange(count)
        self.owner, within = np.divmod(self.everyone, threads)
        self.within = within
        self.lane = within % WARP
        self.warps = -(-threads // WARP)
        self.warp = self.owner * self.warps + within // WARP
        self.full_warps = threads % WARP == 0
        self.registers: list[Array] = [np.zeros(1, dtype) for dtype in slots]
        self.shared = OwnedMemory("shared memory", len(blocks), sizes[0])
        self.local = OwnedMemory("local memory", count if sizes[1] else 1, sizes[1])
        self.live = np.ones(count, bool)
        self.ready: dict[int, Array] = {0: self.everyone}
        self.waiting = Waiting(self)
        self.stores = self.steps = 0
        self.copies: list[Any] = []
        self.groups = np.zeros(count, np.int64)

    def run(self) -> None:
        """Run until every thread has ended.

        Raises:
            PtxLaunchError: of each kind.
        """
        with np.errstate(all="ignore"):
            while True:
                found = self.schedule.pick(self)
                if found is not None:
                    self._run(*found)
                elif not self.waiting.release():
                    break
        if self.live.any():
            self.waiting.stuck()

    def _run(self, at: int, threads: Array) -> None:
        straight = self.code[at]
        active = None if len(threads) == self.count else threads
        self.steps += straight.length
        if self.steps > self.budget:
            raise self.error(
                BudgetError, straight.instructions[0], int(threads[0]),
                f"has run {self.budget} instructions and goes on: allow more with budget=",
            )  # fmt: skip
        if self.recorder is not None:
            self.recorder.ran(self, straight, active)
        for step in straight.steps:
            step(self, active)
        straight.end(self, threads)

    def go(self, at: int, threads: Array) -> None:
        """Threads go on at an instruction."""
        if not len(threads):
            return
        there = self.ready.get(at)
        if there is not None:
            threads = np.sort(np.concatenate((there, threads)))
        self.ready[at] = threads

    def leave(self, threads: Array) -> None:
        """Threads end."""
        self.live[threads] = False

    def owners(self, active: Active) -> Array:
        """The block of each active thread."""
        return self.owner if active is None else self.owner[active]

    def number(self, active: Active) -> int:
        """How many are active."""
        return self.count if active is None else len(active)

    def spread(self, values: Array, active: Active) -> Array:
        """A value for each active thread."""
        if len(values) == 1 and self.number(active) != 1:
            return np.repeat(values, self.number(active))
        return values

    def thread_text(self, thread: int) -> str:
        """Such as ``block (3, 0, 0) thread (17, 0, 0)``."""
        block = _along(int(self.blocks[self.owner[thread]]), self.shape.grid)
        return f"block {block} thread {_along(int(self.within[thread]), self.shape.block)}"

    def error(
        self, kind: type[PtxLaunchError], one: Instruction, thread: int, text: str
    ) -> PtxLaunchError:
        """An error of a thread at an instruction."""
        place = f", line {one.place[1]}" if one.place else ""
        made = kind(f"{self.kernel}: {self.thread_text(thread)} {text} (PTX line {one.line}: "
                    f"{one.opcode}{place})")  # fmt: skip
        made.at(one.opcode, one.line, str(one.place[1]) if one.place else "")
        return made

    def refuse(self, fault: AccessFault, one: Instruction, active: Active) -> NoReturn:
        """Raise a fault of memory."""
        thread = fault.which if active is None else int(active[min(fault.which, len(active) - 1)])
        kind = UninitialisedError if fault.unwritten else PtxMemoryError
        raise self.error(kind, one, thread, f"asks for {fault}")

    def deadlock(self, one: Instruction, thread: int, text: str) -> NoReturn:
        """Raise that nobody can go on."""
        raise self.error(DeadlockError, one, thread, text)


def _along(number: int, extents: tuple[int, int, int]) -> tuple[int, int, int]:
    x, y, _ = extents
    return number % x, number // x % y, number // (x * y)
