"""Accumulation plans: in which order the elements of a reduction, scan or product meet.

The reference and the error bounds follow the same plan as the kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

# Rows of a product that a block holds at least: with fewer, each row of the tiles would cost a
# block the whole of the other factor.
HELD_ROWS = 8
# Columns behind a line of such rows, so that lines start in different banks of shared memory.
HELD_PADDING = 4
# Chunks of a row that a thread on a GPU may keep in registers; longer ones are read by each pass.
MOST_ROW_CHUNKS = 16
# Registers of a multiprocessor, those of a thread at most, and those that it needs besides a row.
REGISTERS, MOST_REGISTERS, BESIDES = 65536, 255, 56
# Columns up to which a kernel on a GPU may hold a loop around a product of its state.
MOST_TURNING = 128


def held_chunks(threads: int, lanes: int, itemsize: int) -> int:
    """Chunks of a row that each of so many threads of a GPU may keep in registers."""
    room = min(MOST_REGISTERS, REGISTERS // threads) - BESIDES
    return max(0, min(MOST_ROW_CHUNKS, room // max(1, lanes * itemsize // 4)))


@dataclass(frozen=True)
class Plan:
    """The accumulation plan of a reduction: which elements meet in which order.

    Element ``j`` of a row belongs to chunk ``c = j / lanes``; chunk ``c`` to thread
    ``c % (threads * parts)``, counted through the parts (blocks).  Lane ``j % lanes`` of that
    thread takes its elements in rising order.  Then the lanes of a thread are joined pairwise
    (upper half onto lower half), then the threads of a warp likewise, then the warps in rising
    order; then the parts in rising order by the threads of one block, and pairwise again.

    With ``runs`` a part has a run of consecutive chunks instead.  Its thread ``t`` takes every
    ``threads``-th chunk of the run, from the ``t``-th on: so a CPU reads memory in order.

    Attributes:
        threads: threads that share a row in one block.
        lanes: independent running values of one thread.
        parts: blocks that share a row; their partial results meet in the last block done.
        runs: a part is a run of the row.
    """

    threads: int
    lanes: int
    parts: int = 1
    runs: bool = False

    def depth(self, extent: int) -> int:
        """Longest chain of additions for a row of ``extent`` elements (for error bounds)."""
        chunks = -(-extent // (self.lanes * self.threads * self.parts))
        tree = (self.lanes - 1).bit_length() + (min(self.threads, 32) - 1).bit_length()
        warps = max(1, self.threads // 32)
        finish = 0 if self.parts == 1 else -(-self.parts // self.threads) + 5 + warps
        return max(1, chunks + tree + warps - 1 + finish)

    def __str__(self) -> str:
        threads = "1 thread" if self.threads == 1 else f"{self.threads} threads"
        text = f"{threads} x {self.lanes} lanes"
        if self.parts == 1:
            return text
        return f"{self.parts} {'runs' if self.runs else 'blocks'} x {text}"


MOST_TILES = 1 << 16  # of a row that blocks hold, one each


@dataclass(frozen=True)
class ScanPlan(Plan):
    """The accumulation plan of a scan: which elements meet in which order.

    A single thread takes a row's elements in rising order, behind what came before its part of
    the row where blocks share it: the totals of the parts before, in rising order.  Several
    take it in tiles of ``threads * lanes`` elements.  A thread joins its ``lanes`` consecutive
    elements in rising order; the threads of a warp join theirs in steps of 1, 2, 4... (Hillis
    and Steele, "Data parallel algorithms", 1986); the warps meet in rising order behind what
    came before the tile.  An element is what came before its warp, joined to what came before
    its thread there, joined to its own run.  Several blocks take consecutive parts of a row, as
    many whole tiles each; a part's total is that of a reduction by ``Plan``.  Of ``threads``
    neighbouring parts, a group, the totals before a part are joined as the threads of a
    reduction are, and so are those of the groups before, each thread's own in rising order
    first; what came before a part are the groups, joined to the parts.

    Attributes:
        abreast: neighbouring threads walk neighbouring rows, which lie side by side in memory.  It
            changes no bit.
        held: a part of a row is one tile, which a block holds from its total to its scan.  It
            changes no bit.
    """

    abreast: bool = False
    held: bool = False

    def depth(self, extent: Any, row: int = 0) -> Any:
        """Longest chain of roundings up to the last of ``extent`` elements, a number or many.

        ``row`` is the number of all elements of the row, which decides how long its parts are.
        """
        if self.threads == 1:
            share = max(1, -(-row // self.parts))
            return extent if self.parts == 1 else share + (extent > share) * (share + self.parts)
        tile = self.threads * self.lanes
        warps = max(1, self.threads // 32)
        steps = (min(self.threads, 32) - 1).bit_length()
        within = self.lanes - 1 + steps + 1
        if self.parts == 1:
            return within + ((extent - 1) // tile + 1) * warps
        share = -(-row // (tile * self.parts))  # tiles of a part
        total = share + (self.lanes - 1).bit_length() + steps + warps - 1
        before = (extent - 1) // tile // share  # parts
        groups = before // self.threads
        met = steps + warps - 1
        far = (groups > 0) * (-(-groups // self.threads) + met + 1)
        return within + share * warps + (before > 0) * (total + met + 1 + far)

    def __str__(self) -> str:
        if self.threads == 1:
            text = "element by element"
            return text if self.parts == 1 else f"{self.parts} blocks, {text}"
        text = f"tiles of {self.threads} threads x {self.lanes} lanes, in order"
        return text if self.parts == 1 else f"up to {self.parts} blocks x {text}"


@dataclass(frozen=True)
class ProductPlan:
    """The accumulation plan of a product.

    With ``unit="fma"`` every element of the result is one running value, which takes the products
    of its row and its column in rising order, each with one rounding; so neither tiles nor threads
    change a bit.  ``unit="step"`` is the same with op-codes of a user's.  With ``unit="blas"`` the
    order is the vendor's, and the product is a kernel of its own.

    Attributes:
        unit: "fma", "step" or "blas".
        columns: smallest power of two that holds a row of the result, 0 where a block of the
            device has no room for ``HELD_ROWS`` of them.  It changes no bit.
    """

    unit: str
    columns: int = 0

    def depth(self, extent: int) -> int:
        """Longest chain of roundings for ``extent`` products (for error bounds)."""
        return max(1, extent)

    def __str__(self) -> str:
        return {
            "fma": "one fma a step, in rising order",
            "step": "step by step, in rising order",
            "blas": "the vendor's library",
        }[self.unit]
