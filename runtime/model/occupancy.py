"""Blocks that a multiprocessor holds at once, and what limits them.

The rules are those of the occupancy calculator of the CUDA toolkit, to which a test holds them.
"""

from __future__ import annotations

from dataclasses import dataclass

from opweave.runtime.model.device import DeviceModel

WARP = 32
# Registers are given to a warp by so many; a multiprocessor has four parts with registers of their
# own, and a thread has at most 255.
REGISTER_STEP, PARTS, MOST_REGISTERS = 256, 4, 255


def _up(number: int, step: int) -> int:
    return -(-number // step) * step


@dataclass(frozen=True)
class Occupancy:
    """Blocks a multiprocessor by what limits them.

    Attributes:
        limits: by "registers", "shared memory", "warps" and "blocks".
        warps: that are resident at once.
        share: of the warps that the multiprocessor holds at most.
    """

    limits: dict[str, int]
    warps: int
    share: float

    @property
    def blocks(self) -> int:
        return min(self.limits.values())

    @property
    def limiter(self) -> str:
        """What there is too little of."""
        return min(self.limits, key=lambda name: self.limits[name])


def occupancy(device: DeviceModel, threads: int, registers: int, shared_bytes: int) -> Occupancy:
    """The occupancy of a kernel.

    Args:
        threads: of a block.
        registers: of a thread.
        shared_bytes: of a block, static and dynamic, without what the system keeps.
    """
    warps = -(-threads // WARP)
    each = _up(registers * WARP, REGISTER_STEP)
    by_registers = device.registers // PARTS // each * PARTS // warps if each else device.blocks
    if each * _up(warps, PARTS) > device.registers or registers > MOST_REGISTERS:
        by_registers = 0
    asked = _up(shared_bytes + device.shared_kept_bytes, device.shared_step_bytes)
    limits = {
        "warps": device.warps // warps,
        "registers": by_registers,
        "shared memory": device.shared_bytes // asked if asked else device.blocks,
        "blocks": device.blocks,
    }
    resident = min(limits.values()) * warps
    return Occupancy(limits, resident, resident / device.warps)
