"""Geometry: how each template lays out its launches."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

# CUDA C++ Programming Guide 13.0, "Technical Specifications": blocks of a grid along x and y.
MOST_BLOCKS, MOST_BLOCKS_Y = 2**31 - 1, 65535


Toggles = Mapping[str, int]
Grid = tuple[int, int, int]


def is_grid(blocks: Grid, on_host: bool) -> bool:
    """Whether a launch may have so many blocks; a host counts them itself."""
    return blocks[0] <= MOST_BLOCKS and blocks[1] <= (MOST_BLOCKS if on_host else MOST_BLOCKS_Y)


class LaunchSize(NamedTuple):
    """The elements of a launch, and whether the rows are walked one by one."""

    batch: int
    rows: int
    cols: int
    has_rows: bool


@dataclass(frozen=True)
class Geometry:
    """How a template lays out its launches.

    Attributes:
        threads: threads of a block, from the toggles.
        grid: blocks, from the toggles and the size.
    """

    threads: Callable[[Toggles], int]
    grid: Callable[[Toggles, LaunchSize], Grid]


def _blocks(count: int, *each: int) -> int:
    """So many blocks, each of a product of elements."""
    return -(-count // prod(each))


def _elements(t: Toggles, size: LaunchSize) -> Grid:
    blocks = _blocks(size.cols, t["BLOCK"], t["VECTOR"], t["CHUNKS"])
    return (size.rows, blocks, 1) if size.has_rows else (blocks, 1, 1)


def _columns(*each: str) -> Callable[[Toggles, LaunchSize], Grid]:
    """Blocks of columns, whatever the rows; the batch last."""
    return lambda t, size: (size.batch * _blocks(size.cols, *(t[name] for name in each)), 1, 1)


def _tiles(rows: str, cols: str) -> Callable[[Toggles, LaunchSize], Grid]:
    """A block per tile, tiles along a row of tiles first, the batch last."""

    def grid(t: Toggles, size: LaunchSize) -> Grid:
        across = max(1, _blocks(size.cols, t[cols]))  # rows of nothing are reduced, too
        return size.batch * _blocks(size.rows, t[rows]) * across, 1, 1

    return grid


def _tiles_of_row(t: Toggles, size: LaunchSize) -> int:
    """How often the threads that share a row take elements of it."""
    return _blocks(size.cols, t["THREADS_PER_ROW"], t["LANES"])


def _bands(t: Toggles, size: LaunchSize) -> Grid:
    """Blocks along a band of rows, then down."""
    bands = _blocks(size.rows, t["ROWS_PER_THREAD"])
    return bands * _blocks(size.cols, t["BLOCK"], t["VECTOR"]), 1, 1


ELEMENTS = Geometry(lambda t: t["BLOCK"], _elements)
ROWS = Geometry(
    lambda t: t["THREADS_PER_ROW"] * t["ROWS_PER_BLOCK"],
    lambda t, size: (_blocks(size.rows, t["ROWS_PER_BLOCK"]), 1, 1),
)
PARTS = Geometry(lambda t: t["THREADS_PER_ROW"], lambda t, size: (t["PARTS"], size.rows, 1))
PRODUCT = Geometry(
    lambda t: t["BLOCK_M"] // t["THREAD_M"] * (t["BLOCK_N"] // t["THREAD_N"]),
    _tiles("BLOCK_M", "BLOCK_N"),
)
GEOMETRY: dict[str, Geometry] = {
    "map": ELEMENTS,
    "pixel": ELEMENTS,
    "stencil": Geometry(lambda t: t["BLOCK"], _bands),
    "tile": Geometry(lambda t: t["BLOCK"], _tiles("TILE", "TILE")),
    "row": ROWS,
    "reduce": PARTS,
    "columns": Geometry(lambda t: t["THREADS_PER_ROW"], _columns("COLUMNS")),
    "outer": Geometry(
        lambda t: t["THREADS_PER_ROW"] * t["ACROSS"],
        lambda t, size: (_columns("ACROSS", "COLUMNS")(t, size)[0], t["PARTS"], 1),
    ),
    "scan": ROWS,
    "scan_parts": Geometry(
        lambda t: t["THREADS_PER_ROW"],
        lambda t, size: (max(1, min(t["PARTS"], _tiles_of_row(t, size))), size.rows, 1),
    ),
    "scan_ahead": Geometry(
        lambda t: t["THREADS_PER_ROW"],
        lambda t, size: (max(1, _tiles_of_row(t, size)), size.rows, 1),
    ),
    "scan_columns": Geometry(
        lambda t: t["BLOCK"],
        lambda t, size: (_columns("BLOCK", "VECTOR")(t, size)[0], t["PARTS"], 1),
    ),
    "product": PRODUCT,
    "product_rows": PRODUCT,
    "count": ELEMENTS,
    "vendor": Geometry(lambda t: 1, lambda *_: (1, 1, 1)),
    "handwritten": Geometry(lambda t: 1, lambda *_: (1, 1, 1)),  # see handwritten.py
    "library": Geometry(lambda t: 1, lambda *_: (1, 1, 1)),
}
