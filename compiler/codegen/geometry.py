"""Geometry: how each template lays out its launches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

# CUDA C++ Programming Guide 13.0, "Technical Specifications": blocks of a grid along x and y.
MOST_BLOCKS, MOST_BLOCKS_Y = 2**31 - 1, 65535


@dataclass(frozen=True)
class Geometry:
    """How a template lays out its launches.

    Attributes:
        threads: threads of a block, from the toggles.
        grid: blocks, from the toggles, the batch, rows and columns, and whether rows are walked.
    """

    threads: Callable[[Mapping[str, int]], int]
    grid: Callable[..., tuple[int, int, int]]


def _map_grid(
    t: Mapping[str, int], batch: int, rows: int, cols: int, has_rows: bool
) -> tuple[int, int, int]:
    blocks = -(-cols // (t["BLOCK"] * t["VECTOR"] * t["CHUNKS"]))
    return (rows, blocks, 1) if has_rows else (blocks, 1, 1)


def _tiles(tile_rows: str, tile_cols: str) -> Callable[..., tuple[int, int, int]]:
    """A block per tile, tiles along a row of tiles first, the batch last."""

    def grid(
        t: Mapping[str, int], batch: int, rows: int, cols: int, has_rows: bool
    ) -> tuple[int, int, int]:
        across = max(1, -(-cols // t[tile_cols]))  # rows of nothing are reduced, too
        return batch * -(-rows // t[tile_rows]) * across, 1, 1

    return grid


def _column_grid(
    t: Mapping[str, int], batch: int, rows: int, cols: int, has_rows: bool
) -> tuple[int, int, int]:
    """All columns of a batch, then the next; a thread walks all of its rows."""
    return batch * -(-cols // (t["BLOCK"] * t["VECTOR"])), 1, 1


def _product_threads(t: Mapping[str, int]) -> int:
    return t["BLOCK_M"] // t["THREAD_M"] * (t["BLOCK_N"] // t["THREAD_N"])


def _bands(
    t: Mapping[str, int], batch: int, rows: int, cols: int, has_rows: bool
) -> tuple[int, int, int]:
    """A block per band of columns, whatever the rows; the batch last."""
    return batch * -(-cols // t["COLUMNS"]), 1, 1


GEOMETRY: dict[str, Geometry] = {
    "map": Geometry(lambda t: t["BLOCK"], _map_grid),
    "pixel": Geometry(lambda t: t["BLOCK"], _map_grid),
    "tile": Geometry(lambda t: t["BLOCK"], _tiles("TILE", "TILE")),
    "row": Geometry(
        lambda t: t["THREADS_PER_ROW"] * t["ROWS_PER_BLOCK"],
        lambda t, batch, rows, cols, has_rows: (-(-rows // t["ROWS_PER_BLOCK"]), 1, 1),
    ),
    "reduce": Geometry(
        lambda t: t["THREADS_PER_ROW"],
        lambda t, batch, rows, cols, has_rows: (t["PARTS"], rows, 1),
    ),
    "columns": Geometry(lambda t: t["THREADS_PER_ROW"], _bands),
    "scan": Geometry(
        lambda t: t["THREADS_PER_ROW"] * t["ROWS_PER_BLOCK"],
        lambda t, batch, rows, cols, has_rows: (-(-rows // t["ROWS_PER_BLOCK"]), 1, 1),
    ),
    "scan_parts": Geometry(
        lambda t: t["THREADS_PER_ROW"],
        lambda t, batch, rows, cols, has_rows: (t["PARTS"], rows, 1),
    ),
    "scan_columns": Geometry(
        lambda t: t["BLOCK"],
        _column_grid,
    ),
    "product": Geometry(_product_threads, _tiles("BLOCK_M", "BLOCK_N")),
    "product_rows": Geometry(_product_threads, _tiles("BLOCK_M", "BLOCK_N")),
    "vendor": Geometry(lambda t: 1, lambda *_: (1, 1, 1)),
}
