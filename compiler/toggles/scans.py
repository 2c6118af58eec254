"""The toggles of scans, and how many blocks of them a multiprocessor has."""

from __future__ import annotations

from collections.abc import Sequence

from opweave.compiler.ir.accumulation import Plan, ScanPlan
from opweave.compiler.ir.device import KEPT_BYTES, KIB, Device
from opweave.compiler.toggles.facts import Facts, Toggle, on_device, power
from opweave.compiler.toggles.rows import (
    BLOCK_COUNTS,
    OF_BLOCKS,
    OF_LANES,
    PARTS,
    ROWS_PER_BLOCK,
    SHUFFLE,
    THREADS,
    block,
)


def _plan(facts: Facts) -> ScanPlan:
    assert isinstance(facts.plan, ScanPlan)
    return facts.plan


def _holds_tile(value: int, facts: Facts) -> str:
    return "a part has several tiles" if value and not _plan(facts).held else ""


def _scan_lanes(facts: Facts) -> int:
    light = facts.device.is_host and not facts.heavy
    return min(LIGHT_LANES, _plan(facts).lanes) if light else _plan(facts).lanes


SCAN_PARTS = (
    PARTS[0],
    Toggle(
        "USE_HELD_TILE", "a part is one tile, which stays in registers until it is scanned",
        lambda f: int(_plan(f).held), _holds_tile,
    ),
)  # fmt: skip
# Blocks of a multiprocessor that tell totals ahead: with four a scan of 2**26 float32 takes 0.94
# of the time with three, and 0.76 of that with two (H200, 29 November 2026).
MOST_BLOCKS_EACH = 4
# The same of values of more than 4 bytes, of which more spill: three leave a thread 80 registers.
MOST_OF_WIDE = 2
STAGES = 3  # as templates/scan_ahead.cu.j2 has it
# Of a block: what it declares besides, and what CUDA keeps for itself.
BESIDE_TILES = KIB + KEPT_BYTES


def tile_bytes(elements: int, staged: Sequence[int]) -> int:
    """Shared memory for the tiles of a block, of operands of so many bytes an element."""
    return STAGES * elements * sum(staged)


def blocks_each(device: Device, plan: Plan, staged: Sequence[int]) -> int:
    """Blocks of a multiprocessor, by the tiles that lie in shared memory."""
    each = tile_bytes(plan.threads * plan.lanes, staged) + BESIDE_TILES
    return min(MOST_BLOCKS_EACH, device.shared_bytes // each)


def _most_blocks(facts: Facts) -> int:
    return MOST_OF_WIDE if max(facts.joined) > 4 else MOST_BLOCKS_EACH


SCAN_AHEAD = (
    PARTS[0],
    Toggle(
        "BLOCKS_EACH", OF_BLOCKS,
        lambda f: min(blocks_each(f.device, _plan(f), f.staged), _most_blocks(f)),
        values=BLOCK_COUNTS,
    ),
)  # fmt: skip
# Elements that a host thread takes at once where nothing but the scan is computed: they stay in
# registers (measured: 0.35 ns for an int64, 0.65 ns with 64).  More pay where they vectorise: g++
# unrolls short loops instead (an exp: 0.9 ns with 64, 3.9 ns with 8).
LIGHT_LANES = 8
SCAN = (SHUFFLE, THREADS, power("LANES", OF_LANES, _scan_lanes), ROWS_PER_BLOCK)
SCAN_COLUMNS = (
    block(64),
    power(
        "VECTOR", "neighbouring columns of one thread",
        lambda f: 64 if f.device.is_host else max(1, 4 // f.itemsize),
    ),
    power(
        "CHUNKS", "rows of one round, all read before the first is taken", on_device(8, host=1)
    ),
    PARTS[0],
)  # fmt: skip
