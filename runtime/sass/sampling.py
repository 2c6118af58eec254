"""Which blocks of a launch are executed, and what blocks beside each other share of an array.

Blocks that run at one time share what the second-level cache brings for any of them: rows around
a stencil's own, tiles of a product's factors.  Where blocks lie in a grid, so do their addresses:
the sectors of one block, moved as its two neighbours are, stand for those of all around it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from opweave.runtime.sass.accesses import ARRAY_SHIFT, OWN
from opweave.runtime.sass.machine import U64, WARP, Array, DeviceLaunch

MOST_LANES = 4096
MOST_SECTORS = 1 << 21  # of blocks together whose sectors are laid side by side


@dataclass(frozen=True)
class Sample:
    """Blocks to execute.

    Attributes:
        blocks: their numbers in the launch, in order.
        weights: how many of the launch each stands for; of neighbours, which stand for none, 0.
        three: the places in ``blocks`` of one in the middle, of its neighbour along x and of that
            along y; -1 where there is none.
    """

    blocks: Array
    weights: Array
    three: tuple[int, int, int]

    @property
    def stands(self) -> Array:
        """By place whether the block stands for any."""
        found: Array = self.weights > 0
        return found


def sample(launched: DeviceLaunch) -> Sample:
    """Blocks evenly spread, the last one among them, which may have less to do; two neighbours."""
    most = max(2, MOST_LANES // (launched.warps * WARP))
    total, wide = launched.blocks, launched.grid[0]
    if total <= most:
        spread, weights = np.arange(total), np.ones(total)
    else:
        spread = np.linspace(0, total - 1, most).round().astype(np.int64)
        weights = np.full(most, (total - 1) / (most - 1))
        weights[-1] = 1.0
    middle = int(spread[len(spread) // 2])
    if middle % wide == wide - 1 and wide > 1:
        middle -= 1
    beside = middle + 1 if middle % wide + 1 < wide else -1
    below = middle + wide if middle + wide < total else -1
    named = dict.fromkeys((b for b in (middle, beside, below) if b >= 0), 0.0)
    named |= dict(zip(spread.tolist(), weights.tolist(), strict=True))
    blocks = sorted(named)
    place = {block: n for n, block in enumerate(blocks)}
    three = place[middle], place.get(beside, -1), place.get(below, -1)
    return Sample(np.array(blocks), np.array([named[b] for b in blocks]), three)


def shared(
    touched: Array, three: tuple[int, int, int], wide: int, together: int
) -> dict[int, float]:
    """By array the sectors that blocks touch together over those that each touches alone.

    Args:
        touched: sectors with the place of their block, as ``accesses.touched`` has them.
        wide: blocks of the grid along x.
        together: blocks that run at one time.
    """
    blocks = (touched >> U64(48)).astype(np.int64)
    sectors = (touched & OWN).astype(np.int64)
    found = {}
    for array in np.unique(sectors[blocks == three[0]] >> (ARRAY_SHIFT - 5)).tolist():
        own = [_of(sectors[blocks == n], array) if n >= 0 else sectors[:0] for n in three]
        found[int(array)] = _share(own[0], own[1], own[2], wide, together)
    return found


def _of(sectors: Array, array: int) -> Array:
    chosen: Array = sectors[sectors >> (ARRAY_SHIFT - 5) == array]
    return chosen


def _share(own: Array, beside: Array, below: Array, wide: int, together: int) -> float:
    limit = max(1, min(together, MOST_SECTORS // max(1, len(own))))
    wide = min(wide if len(beside) else 1, limit)
    high = max(1, limit // wide) if len(below) else 1
    across = int(beside[0] - own[0]) if len(beside) else 0
    down = int(below[0] - own[0]) if len(below) else 0
    moves = (np.arange(wide) * across)[:, None] + (np.arange(high) * down)[None, :]
    every = own[None, :] + moves.reshape(-1, 1)
    return len(np.unique(every)) / max(1, int(every.size))
