"""Threads and parts of the rows that a GPU reduces, by what fills a large device.

A plan must be the same whatever device happens to be there, so ``FILLING`` stands for its
multiprocessors.  A long row is shared by as many blocks as are on a device at once together with
those of the other rows: a second turn of few blocks would leave most of it idle.  Each of their
threads has ``LEAST_CHUNKS`` at least: joining costs a fence and a count in each block, and the
last one's reading of all parts.
"""

from __future__ import annotations

from dataclasses import dataclass

LANES = 4
# Blocks that a large device has at once, and that keep its memory busy, as half as many do: four
# of 256 threads on each of 128 multiprocessors, with 64 bytes in flight a thread.
FILLING = 512
LEAST_CHUNKS = 2
# Columns that a block reduces side by side where rows lie across the memory, 128 bytes of float32.
BAND = 32


@dataclass(frozen=True)
class RowThreads:
    """How many threads of a block share a row.

    Attributes:
        by_length: longest row for a number of threads.
        most: threads of longer rows.
        longest: longest row of one block.
        sharing: threads of each block, where several share a row.
        together: rows that a block has where they are long.
    """

    by_length: tuple[tuple[int, int], ...]
    most: int
    longest: int
    sharing: int
    together: int = 1

    def threads(self, cols: int) -> int:
        """Threads for a row of ``cols`` elements that no other block shares."""
        return next((t for limit, t in self.by_length if cols <= limit), self.most)

    def parts(self, rows: int, cols: int) -> int:
        """Blocks for each of ``rows`` rows of ``cols`` elements, a power of two; 1: not shared."""
        if cols <= self.longest:
            return 1
        blocks = max(1, -(-rows // self.together))
        each = min(FILLING // blocks, cols // (LEAST_CHUNKS * self.sharing * LANES))
        return 1 << max(0, each.bit_length() - 1)


# Threads along the memory, by QuACK's table for row kernels (github.com/Dao-AILab/quack,
# reduction_base): few for short rows, so that a warp serves several rows and needs no barrier.
# The registers of 512 hold a row of 32,768 float32; no other block shares it, since one kernel
# that reads it once is done before two are.  What follows a reduction of a row that one block has
# is in the same kernel.
ALONG = RowThreads(
    ((64, 8), (128, 16), (2048, 32), (4096, 64), (8192, 128), (16384, 256)), 512,
    longest=32768, sharing=256,
)  # fmt: skip
# Threads down a column, beside those of the neighbouring columns: the fewer rows, the more columns
# a block has side by side.
ACROSS = RowThreads(((32, 1), (256, 8)), 32, longest=1024, sharing=32, together=BAND)
