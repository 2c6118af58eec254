"""The special registers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from opweave.runtime.isa.instruction import Array

if TYPE_CHECKING:
    from opweave.runtime.ptx.machine import Machine

Values = Callable[[Any], Array]


def _one(value: int) -> Array:
    return np.array([value])


def along(numbers: Array, extents: tuple[int, int, int], axis: int) -> Array:
    """One coordinate of linear numbers."""
    x, y, _ = extents
    return (numbers % x, numbers // x % y, numbers // (x * y))[axis]


def _block(machine: Machine, axis: int) -> Array:
    found = along(machine.blocks, machine.shape.grid, axis)
    return found if len(found) == 1 else found[machine.owner]


def _in_cluster(machine: Machine, axis: int) -> Array:
    return _block(machine, axis) % machine.shape.cluster[axis]


def _rank(machine: Machine) -> Array:
    x, y, _ = machine.shape.cluster
    at = [_in_cluster(machine, axis) for axis in range(3)]
    result: Array = at[0] + x * (at[1] + y * at[2])
    return result


def _cluster_count(machine: Machine, axis: int) -> int:
    return machine.shape.grid[axis] // machine.shape.cluster[axis]


def _axes(name: str, function: Callable[[Any, int], Array]) -> dict[str, Values]:
    """``name.x`` to ``name.z``."""

    def at(number: int) -> Values:
        return lambda machine: function(machine, number)

    return {f"%{name}.{axis}": at(number) for number, axis in enumerate("xyz")}


def _masks(function: Callable[[Array, Any], Array]) -> Values:
    one = np.uint32(1)
    return lambda machine: function(one << machine.lane.astype(np.uint32), one)


def _blocks_of_cluster(machine: Machine) -> Array:
    return _one(int(np.prod(machine.shape.cluster)))


SPECIAL: Mapping[str, Values] = {
    **_axes("tid", lambda m, n: along(m.within, m.shape.block, n)),
    **_axes("ntid", lambda m, n: _one(m.shape.block[n])),
    **_axes("ctaid", _block),
    **_axes("nctaid", lambda m, n: _one(m.shape.grid[n])),
    **_axes("cluster_ctaid", _in_cluster),
    **_axes("cluster_nctaid", lambda m, n: _one(m.shape.cluster[n])),
    **_axes("clusterid", lambda m, n: _block(m, n) // m.shape.cluster[n]),
    **_axes("nclusterid", lambda m, n: _one(_cluster_count(m, n))),
    "%cluster_ctarank": _rank,
    "%cluster_nctarank": _blocks_of_cluster,
    "%laneid": lambda m: m.lane,
    "%warpid": lambda m: m.within // 32,
    "%nwarpid": lambda m: _one(m.warps),
    "WARP_SZ": lambda m: _one(32),
    "%lanemask_eq": _masks(lambda bit, one: bit),
    "%lanemask_lt": _masks(lambda bit, one: bit - one),
    "%lanemask_le": _masks(lambda bit, one: (bit - one) | bit),
    "%lanemask_ge": _masks(lambda bit, one: ~(bit - one)),
    "%lanemask_gt": _masks(lambda bit, one: ~((bit - one) | bit)),
    # a clock that counts the instructions which the batch has run, the same in each run
    "%clock": lambda m: _one(m.steps),
    "%clock64": lambda m: _one(m.steps),
    "%dynamic_smem_size": lambda m: _one(m.symbols["%dynamic_smem_size"]),
    "%total_smem_size": lambda m: _one(m.shared.size),
}
