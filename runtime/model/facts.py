"""What the model asks of a launch: counts, no times."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class LaunchFacts:
    """One launch of one kernel.

    Attributes:
        threads, grid_blocks: threads of a block, blocks of the launch.
        elements: results or steps of the launch, 0 where nobody knows; sentences count by them.
        issued: warp instructions of the launch, by pipe.
        moved_bytes: bytes between the memory and the multiprocessors.
        loaded_bytes: those of them that threads wait for: stores are not waited for.
        least_bytes: bytes of the arrays, each once.
        wavefronts: of shared memory, and how many there would be without conflicts.
        sectors: of global memory that were asked for, and the fewest for the same bytes.
        loads_in_flight, bytes_in_flight: of a thread at most.
        warp_cycles: of one warp from its first instruction to its last, alone.
        resident_blocks: that a multiprocessor holds at once, and what limits them.
        wasteful: the line of the source whose accesses ask for most sectors more than their bytes
            take, and how many more; ``conflicting``: the line with most bank conflicts, and these.
        shared_line: where the source has its first array in shared memory. Lines are 0 where
            unknown.
        joining_cycles: that the last block takes longer than others, where blocks count themselves
            and the last one joins what they have left.
        heaviest: by pipe the line of the source with most of its instructions, and these.
    """

    threads: int
    grid_blocks: int
    elements: int
    issued: Mapping[str, float]
    moved_bytes: float
    loaded_bytes: float
    least_bytes: float
    wavefronts: tuple[float, float]
    sectors: tuple[float, float]
    loads_in_flight: int
    bytes_in_flight: int
    warp_cycles: float
    resident_blocks: int
    limiter: str
    wasteful: tuple[int, float] = (0, 0.0)
    conflicting: tuple[int, float] = (0, 0.0)
    shared_line: int = 0
    joining_cycles: float = 0.0
    heaviest: Mapping[str, tuple[int, float]] = field(default_factory=dict)

    @property
    def instructions(self) -> float:
        """Warp instructions of all pipes."""
        return float(sum(self.issued.values()))

    @property
    def warps(self) -> int:
        """Warps of a block."""
        return -(-self.threads // 32)

    @property
    def is_scattered(self) -> bool:
        """Accesses ask for clearly more sectors than their bytes take."""
        asked, least = self.sectors
        return asked > 1.1 * least

    def per_element(self, warp_instructions: float) -> str:
        """Instructions of a thread for each element, or of the whole launch."""
        if self.elements:
            return f"{warp_instructions * 32 / self.elements:.3g}"
        return f"{warp_instructions:.4g}"

    @property
    def unit(self) -> str:
        return "instructions an element" if self.elements else "warp instructions"
