"""Rows that several blocks of a GPU share: when, and by how many, for reductions and scans."""

from __future__ import annotations

# Rows longer than this are shared where there are few of them.
LONG_ROW = 32768
FEW_ROWS = 64
# Blocks for such a row by its length: enough for every SM of a large device, few for short rows.
BLOCKS = ((1 << 18, 32), (1 << 21, 128))
MOST_BLOCKS = 512


def parts_of(rows: int, cols: int) -> int:
    """How many blocks share each of ``rows`` rows of ``cols`` elements; 1 where none is shared."""
    if cols <= LONG_ROW or rows >= FEW_ROWS:
        return 1
    return next((blocks for limit, blocks in BLOCKS if cols <= limit), MOST_BLOCKS)
