"""What a launch has done, counted while its instructions ran."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

SECTOR = 32  # bytes of a sector of the caches
BANKS, BANK = 32, 4  # banks of shared memory, and their bytes


@dataclass(frozen=True)
class AccessCounts:
    """What the accesses of one kind to one space came to.

    A request is one instruction of one warp.

    Attributes:
        requests: of global memory l1tex__t_requests_pipe_lsu_mem_global_op_ld (st, atom).
        sectors: of 32 bytes that they touch: l1tex__t_sectors_pipe_lsu_mem_global_op_ld.
        asked: bytes that the threads asked for.
        wavefronts: turns that shared memory takes: l1tex__data_pipe_lsu_wavefronts_mem_shared.
        conflicts: those beyond the least that the bytes need:
            l1tex__data_bank_conflicts_pipe_lsu_mem_shared.
    """

    requests: int = 0
    sectors: int = 0
    asked: int = 0
    wavefronts: int = 0
    conflicts: int = 0

    @property
    def moved(self) -> int:
        """Bytes of the sectors."""
        return self.sectors * SECTOR

    @property
    def sectors_per_request(self) -> float:
        """Sectors of a mean request."""
        return self.sectors / self.requests if self.requests else 0.0

    def __add__(self, other: AccessCounts) -> AccessCounts:
        return AccessCounts(
            self.requests + other.requests, self.sectors + other.sectors,
            self.asked + other.asked, self.wavefronts + other.wavefronts,
            self.conflicts + other.conflicts,
        )  # fmt: skip


@dataclass(frozen=True)
class LineCounts:
    """What one line of the source has done.

    Attributes:
        instructions: that warps have run: smsp__inst_executed.
        threads: that threads have run: smsp__thread_inst_executed.
        accesses: by space and kind, such as ("global", "load").
    """

    instructions: int = 0
    threads: int = 0
    accesses: Mapping[tuple[str, str], AccessCounts] = field(default_factory=dict)

    @property
    def active_threads(self) -> float:
        """Threads of a mean instruction: smsp__thread_inst_executed_per_inst_executed.ratio."""
        return self.threads / self.instructions if self.instructions else 0.0


@dataclass(frozen=True)
class BlockCounts:
    """A basic block of the PTX.

    Attributes:
        first, last: PTX lines of its first and last instruction.
        opcodes: of its instructions, in order.
        warps, threads: how many have run it.
    """

    first: int
    last: int
    opcodes: tuple[str, ...]
    warps: int
    threads: int


@dataclass(frozen=True)
class LaunchCounts:
    """The counters of one launch.  Instructions are those of PTX, which are not those of SASS.

    Attributes:
        kernel: its name.
        blocks, threads: of the launch.
        lines: by file number and line of the source; (0, 0) has what no ``.loc`` names.
        basic: the basic blocks that ran, in order.
        barriers: that warps came to.
        most_on_one_address: atomics of the launch on the address that got the most.
    """

    kernel: str
    blocks: int
    threads: int
    lines: Mapping[tuple[int, int], LineCounts]
    basic: tuple[BlockCounts, ...]
    barriers: int
    atomics: int
    most_on_one_address: int

    @property
    def instructions(self) -> int:
        """PTX instructions that warps have run."""
        return sum(line.instructions for line in self.lines.values())

    @property
    def thread_instructions(self) -> int:
        """PTX instructions that threads have run."""
        return sum(line.threads for line in self.lines.values())

    def accesses(self, space: str, kind: str) -> AccessCounts:
        """All accesses of a kind ("load", "store", "atomic") to a space ("global", "shared")."""
        total = AccessCounts()
        for line in self.lines.values():
            total += line.accesses.get((space, kind), AccessCounts())
        return total
