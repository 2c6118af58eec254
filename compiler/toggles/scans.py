"""The toggles of scans, and how many blocks of them a multiprocessor has."""

from __future__ import annotations

from opweave.compiler.ir.accumulation import ScanPlan
from opweave.compiler.ir.device import Device
from opweave.compiler.toggles.facts import Facts, Toggle, on_device, power
from opweave.compiler.toggles.rows import (
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
STAGES = 3


def blocks_each(device: Device, tile_bytes: int) -> int:
    """Blocks of a multiprocessor, by the tiles that lie in shared memory."""
    return min(MOST_BLOCKS_EACH, device.shared_bytes // (STAGES * tile_bytes + 2048))


def _tile_bytes(facts: Facts) -> int:
    return sum(facts.staged) * _plan(facts).lanes * _plan(facts).threads


SCAN_AHEAD = (
    PARTS[0],
    Toggle(
        "BLOCKS_EACH", "blocks of a multiprocessor, whose registers they share",
        lambda f: blocks_each(f.device, _tile_bytes(f)), values=(1, 2, 3, 4),
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
