"""Shared memory of a block: what each template asks for, known before a kernel is made.

``REQUESTS`` follows the ``__shared__`` declarations of the templates, of which it has a row each.
A test holds it to the sources and to what NVRTC has allocated.
Kernels of tiles may have more than a kernel declares by its size: their launch opts in to it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from opweave.compiler.ir.device import STATIC_SHARED_BYTES, Device
from opweave.compiler.toggles.facts import Facts
from opweave.compiler.toggles.scans import tile_bytes

Chosen = Mapping[str, int]
# Declarations start at multiples of this.
ALIGNMENT = 16


def shared_bytes(template: str, chosen: Chosen, facts: Facts) -> int:
    """Bytes of shared memory of a block, with the toggles that were chosen."""
    request = REQUESTS.get(template)
    return _rounded(request(chosen, facts)) if request else 0


def opted_bytes(template: str, chosen: Chosen, facts: Facts) -> int:
    """Those of them that the launch says: the tiles', where all are too many to declare."""
    tiles = TILES_OF.get(template)
    if tiles is None or facts.device.is_host:
        return 0
    declared = REQUESTS[template](chosen, facts)
    return _rounded(declared[tiles]) if _rounded(declared) > STATIC_SHARED_BYTES else 0


def room(template: str, device: Device) -> int:
    """Bytes that a block of a template may ask for."""
    return device.most_bytes if template in TILES_OF else device.block_bytes


def _rounded(declared: Sequence[int]) -> int:
    return sum(-(-n // ALIGNMENT) * ALIGNMENT for n in declared)


def product_threads(chosen: Chosen) -> int:
    """Threads of a block of a product."""
    return chosen["BLOCK_M"] // chosen["THREAD_M"] * (chosen["BLOCK_N"] // chosen["THREAD_N"])


def _meeting(threads: int, chosen: Chosen, facts: Facts) -> list[int]:
    """Places where warps meet (``rows.cuh``), or without shuffles threads, by their bytes."""
    by_warps = chosen["USE_WARP_SHUFFLE"]
    if chosen["THREADS_PER_ROW"] <= (32 if by_warps else 1):
        return []
    places = -(-threads // 32) if by_warps else threads
    return [each * places for each in {*facts.joined}]


def _rows(chosen: Chosen, facts: Facts) -> list[int]:
    return _meeting(chosen["THREADS_PER_ROW"] * chosen["ROWS_PER_BLOCK"], chosen, facts)


def _reduce(chosen: Chosen, facts: Facts) -> list[int]:
    last = 1
    return [last, *_meeting(chosen["THREADS_PER_ROW"], chosen, facts)]


def _outer(chosen: Chosen, facts: Facts) -> list[int]:
    threads = chosen["THREADS_PER_ROW"]
    places = (threads + 1) * (chosen["ACROSS"] * chosen["COLUMNS"] + 1) * (threads > 1)
    met = _meeting(threads * chosen["ACROSS"], chosen, facts)
    return [int(chosen["PARTS"] > 1), *(each * places for each in {*facts.joined}), *met]


TICKET_AND_LAST = 4 + 1  # of blocks that share a scan


def _scan_parts(chosen: Chosen, facts: Facts) -> list[int]:
    return [TICKET_AND_LAST, *_meeting(chosen["THREADS_PER_ROW"], chosen, facts)]


def _scan_ahead(chosen: Chosen, facts: Facts) -> list[int]:
    elements = chosen["THREADS_PER_ROW"] * chosen["LANES"]
    tickets, *met = _scan_parts(chosen, facts)
    return [tile_bytes(elements, facts.staged), tickets + 4, *met]


def _scan_columns(chosen: Chosen, facts: Facts) -> list[int]:
    return [TICKET_AND_LAST * (chosen["PARTS"] > 1)]


def _count(chosen: Chosen, facts: Facts) -> list[int]:
    return [4 * facts.bins * chosen["COPIES"] * chosen["USE_SHARED_MEMORY"]]


def _tile(chosen: Chosen, facts: Facts) -> list[int]:
    line = chosen["TILE"] + chosen["USE_PADDED_TILE"]
    tile = chosen["TILE"] * line * chosen["USE_SHARED_MEMORY"]
    return [tile * each for each in facts.staged]


def _product(chosen: Chosen, facts: Facts) -> list[int]:
    assert facts.product is not None
    lines = chosen["STAGES"] * chosen["BLOCK_K"] * chosen["USE_SHARED_MEMORY"]
    each = facts.product.accumulator_bytes * lines
    return [each * (chosen[tile] + _padding(chosen)) for tile in ("BLOCK_M", "BLOCK_N")]


def _product_rows(chosen: Chosen, facts: Facts) -> list[int]:
    assert facts.product is not None
    line = (chosen["BLOCK_N"] + _padding(chosen)) * facts.product.row_bytes
    met = _meeting(product_threads(chosen), chosen, facts)
    return [*_product(chosen, facts), chosen["BLOCK_M"] * line, *met]


def _padding(chosen: Chosen) -> int:
    return 4 * chosen["USE_PADDED_TILE"]


# Bytes of each declaration of a template; a template that declares nothing has no row.
REQUESTS: dict[str, Callable[[Chosen, Facts], list[int]]] = {
    "row": _rows,
    "reduce": _reduce,
    "outer": _outer,
    "scan": _rows,
    "scan_parts": _scan_parts,
    "scan_ahead": _scan_ahead,
    "scan_columns": _scan_columns,
    "count": _count,
    "tile": _tile,
    "product": _product,
    "product_rows": _product_rows,
}
# The declarations of a template that are tiles.
TILES_OF: dict[str, slice] = {
    "tile": slice(None),
    "scan_ahead": slice(1),
    "product": slice(None),
    "product_rows": slice(3),
}
# What an override may be changed to where a block does not have so much.
REMEDIES: dict[str, str] = {
    "row": "keep USE_WARP_SHUFFLE=1, or take a smaller THREADS_PER_ROW or ROWS_PER_BLOCK",
    "reduce": "keep USE_WARP_SHUFFLE=1, or take a smaller THREADS_PER_ROW",
    "outer": "keep USE_WARP_SHUFFLE=1, or take a smaller ACROSS or COLUMNS",
    "scan": "keep USE_WARP_SHUFFLE=1, or take a smaller THREADS_PER_ROW or ROWS_PER_BLOCK",
    "scan_parts": "keep USE_WARP_SHUFFLE=1, or take a smaller THREADS_PER_ROW",
    "scan_ahead": "keep USE_WARP_SHUFFLE=1, or take a smaller THREADS_PER_ROW or LANES",
    "count": "take fewer COPIES, or USE_SHARED_MEMORY=0",
    "tile": "take a smaller TILE, or USE_SHARED_MEMORY=0",
    "product": "take a smaller BLOCK_M, BLOCK_N, BLOCK_K or STAGES, or USE_SHARED_MEMORY=0",
    "product_rows": "take a smaller BLOCK_M, BLOCK_K or STAGES, or USE_SHARED_MEMORY=0",
}
