"""The toggles of kernels of tiles: transposing maps and matrix products."""

from __future__ import annotations

from opweave.compiler.ir.accumulation import MOST_TURNING
from opweave.compiler.ir.device import Device
from opweave.compiler.toggles.facts import Facts, TileShape, Toggle, on_device, power
from opweave.compiler.toggles.rows import block


def tile_shape(facts: Facts) -> TileShape:
    """The tiles of this variant."""
    assert facts.shape is not None
    return facts.shape


def _access(nbytes: int, facts: Facts) -> int:
    """Elements of so many bytes, which do not reach beyond a tile."""
    return min(max(1, nbytes // facts.itemsize), tile_shape(facts).block_m)


# On the host shared memory is memory like any other.
SHARED = Toggle(
    "USE_SHARED_MEMORY",
    "tiles of the operands pass through shared memory",
    lambda f: int(f.stages and not f.device.is_host),
)
PADDED = Toggle(
    "USE_PADDED_TILE",
    "lines of a tile start in different banks of shared memory",
    on_device(1, host=0),
)
TILE = (
    SHARED,
    PADDED,
    block(256),
    power("TILE", "rows and columns of the tile of a block", lambda f: tile_shape(f).block_m),
    power(
        "VECTOR", "consecutive elements of one access",
        # on the host a cache line, which a store then fills
        lambda f: _access(64 if f.device.is_host else 16, f),
    ),
)  # fmt: skip


# Adjacent columns of a host thread: with more, g++ 12 keeps their accumulators in memory
# (measured: products of float32 of depth 31 run at 5 GFLOP/s with 16, at 60 with 8).
HOST_WIDTH = 8
# From the largest: a product takes the first that gives every multiprocessor a tile.
TILES: dict[str, TileShape] = {
    "large": TileShape(128, 128, 16, 8, 8),
    "medium": TileShape(64, 64, 16, 4, 4),
    "small": TileShape(32, 32, 16, 2, 2),
    "few rows": TileShape(16, 64, 16, 1, 4),
    "host": TileShape(4, 32, 1, 4, 32),
}
# Blocks of a tile for which a multiprocessor has registers, and so should have shared memory, and
# the tiles of a factor there: memory answers while steps are taken.  Nothing here was measured.
RESIDENT = {TILES["large"]: 2, TILES["medium"]: 3}
STAGES = (4, 3, 2)
# Tiles that hold whole rows, by their columns and the bytes of an accumulator.
ROW_TILES: dict[tuple[int, int], TileShape] = {
    (32, 4): TileShape(32, 32, 16, 2, 2),
    (64, 4): TileShape(32, 64, 16, 2, 4),
    (128, 4): TileShape(32, 128, 16, 4, 4),
    (256, 4): TileShape(32, 256, 8, 4, 8),
    (32, 8): TileShape(32, 32, 16, 2, 2),
    (64, 8): TileShape(32, 64, 16, 2, 4),
    (128, 8): TileShape(16, 128, 8, 2, 4),
    (256, 8): TileShape(8, 256, 8, 2, 4),
    (32, 16): TileShape(32, 32, 16, 2, 2),
    (64, 16): TileShape(16, 64, 8, 2, 4),
    (128, 16): TileShape(8, 128, 8, 2, 4),
    (256, 16): TileShape(8, 256, 2, 2, 4),
}
# Tiles of products that a block repeats by itself, by the same; nothing here was measured.  With
# few rows a tile many blocks share the work, and up to 64 columns (of 4 bytes) one tile holds all
# of the other factor, which is then read once.  With more columns than MOST_TURNING a turn, of
# which a block does BLOCK_M rows whole, takes longer than a launch of small tiles would.
TURNING_TILES: dict[tuple[int, int], TileShape] = {
    (32, 4): TileShape(8, 32, 32, 1, 4),
    (64, 4): TileShape(8, 64, 64, 2, 4),
    (128, 4): TileShape(8, 128, 64, 2, 4),
    (32, 8): TileShape(8, 32, 32, 1, 4),
    (64, 8): TileShape(8, 64, 32, 2, 4),
    (128, 8): TileShape(8, 128, 32, 2, 4),
    (32, 16): TileShape(8, 32, 32, 1, 4),
    (64, 16): TileShape(8, 64, 16, 2, 4),
    (128, 16): TileShape(8, 128, 8, 2, 4),
}


def turning_tile(rows: int, columns: int, batch: int, device: Device) -> str:
    """The table of tiles for a product that a block may repeat by itself; "" if none should.

    On the host the usual tile may hold the rows.
    """
    if device.is_host or not 0 < columns <= MOST_TURNING:
        return ""
    few = batch * -(-rows // TURNING_TILES[columns, 4].block_m) <= 2 * device.sms
    return "turning" if few else "turning, many rows"


def tile_class(rows: int, cols: int, batch: int, device: Device) -> str:
    """The row of ``TILES`` for a product."""
    if device.is_host:
        return "host"
    if rows <= 16:
        return "few rows"
    for name in ("large", "medium"):
        shape = TILES[name]
        if batch * -(-rows // shape.block_m) * -(-cols // shape.block_n) >= device.sms:
            return name
    return "small"


def _holds_rows(value: int, facts: Facts) -> str:
    product = facts.product
    if product is not None and product.row_bytes and value < product.columns:
        return f"rows of this class have up to {product.columns} columns, which a block holds"
    return ""


def _may_copy(value: int, facts: Facts) -> str:
    if value == 1 or (facts.product is not None and facts.product.copies):
        return ""
    return (
        "tiles are copied without waiting from sm_80 on, where memory has their elements as "
        "registers do, of 4 bytes and more, and no loop of the kernel's own repeats the product"
    )


PRODUCT = (
    SHARED,
    PADDED,
    power(
        "VECTOR", "consecutive elements of one access to an operand",
        lambda f: 1 if f.device.is_host else min(_access(16, f), tile_shape(f).steps),
    ),
    power("BLOCK_M", "rows of the tile of a block", lambda f: tile_shape(f).block_m),
    power(
        "BLOCK_N", "columns of the tile of a block", lambda f: tile_shape(f).block_n, _holds_rows
    ),
    power(
        "BLOCK_K", "steps along the inner dimension between two loads of tiles",
        lambda f: tile_shape(f).steps,
    ),
    power("THREAD_M", "rows of a thread", lambda f: tile_shape(f).thread_m),
    power("THREAD_N", "columns of a thread", lambda f: tile_shape(f).thread_n),
    power(
        "WIDTH", "adjacent columns of a thread",
        lambda f: min(HOST_WIDTH if f.device.is_host else 4, tile_shape(f).thread_n),
    ),
    Toggle(
        "STAGES", "tiles of a factor in shared memory, all but one on their way",
        lambda f: tile_shape(f).stages, _may_copy, (1, 2, 3, 4),
    ),
)  # fmt: skip
