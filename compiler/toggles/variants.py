"""Variants of kernels of tiles, from the one that pays most to the one that asks for least.

A kernel is the first whose shared memory a block of the device has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from opweave.compiler.ir.device import STATIC_SHARED_BYTES
from opweave.compiler.toggles.facts import Facts, ProductFacts, TileShape
from opweave.compiler.toggles.tiles import RESIDENT, ROW_TILES, STAGES, TILES, TURNING_TILES

# Tiles of transposing maps: their lines are 16 bytes and more of every type, down to the last.
SQUARES = (64, 32, 16, 8)
# Without shared memory, a tile whose lines still fill a sector of the caches both ways.
UNSTAGED = 32
WARP = 32
# Steps of a product's tile that are halved first, since that costs barriers alone: down to a
# sector of 32 bytes of float32, and only where no tile fits with that, to two.
FEW_STEPS = (8, 2)
# Tiles that a product takes instead of one that does not fit, in order.
SMALLER = ("large", "medium", "small")
# Tiles of the fewest rows that a block holds whole, by their columns.
FEWEST_ROWS = {columns: TURNING_TILES[columns, 4] for columns in (32, 64, 128)} | {
    256: ROW_TILES[256, 8]
}
ROW_TABLES = {"turning": TURNING_TILES, "turning, many rows": ROW_TILES}


def tile_variants(facts: Facts) -> Iterator[Facts]:
    """Transposing maps: smaller and smaller tiles."""
    if facts.device.is_host:
        # what a thread of the host reads along and across stays in its nearest caches
        fitting = (t for t in SQUARES if t * (t + 4) * sum(facts.staged) <= STATIC_SHARED_BYTES)
        yield replace(facts, shape=_square(next(fitting, SQUARES[-1])))
        return
    for side in SQUARES:
        yield replace(facts, shape=_square(side))
    yield replace(facts, shape=_square(UNSTAGED), stages=False)


def _square(side: int) -> TileShape:
    return TileShape(side, side)


def product_variants(facts: Facts) -> Iterator[Facts]:
    """Products: fewer stages, then fewer steps, then smaller tiles, then none."""
    assert facts.product is not None
    shapes = list(_product_shapes(facts, facts.product))
    for stages in STAGES if facts.product.copies and shapes[0] in RESIDENT else ():
        shape = replace(shapes[0], stages=stages)
        yield replace(facts, shape=shape, blocks=RESIDENT[shapes[0]])
    for least in FEW_STEPS:
        for shape in shapes:
            for steps in _halved(shape.steps, least):
                yield replace(facts, shape=replace(shape, steps=steps))
    yield replace(facts, shape=shapes[-1], stages=False)


def _halved(steps: int, least: int) -> Iterator[int]:
    yield steps
    while steps > least:
        steps //= 2
        yield steps


def _product_shapes(facts: Facts, product: ProductFacts) -> Iterator[TileShape]:
    columns, accumulator_bytes = product.columns, max(4, product.accumulator_bytes)
    if columns and facts.device.is_host:
        yield TileShape(4, columns, 1, 4, columns)
    elif columns:
        table = ROW_TABLES.get(product.tile, ROW_TILES)
        yield table[columns, accumulator_bytes]
        yield replace(FEWEST_ROWS[columns], steps=8)
    elif product.tile in SMALLER:
        # the registers of a thread hold fewer of the wider running values
        first = {16: "small", 8: "medium"}.get(accumulator_bytes, "large")
        begin = max(SMALLER.index(product.tile), SMALLER.index(first))
        yield from (TILES[name] for name in SMALLER[begin:])
    else:
        yield TILES[product.tile]


def only(facts: Facts) -> Iterable[Facts]:
    """A template of one variant."""
    return (facts,)


def outer_variants(facts: Facts) -> Iterator[Facts]:
    """Reductions down columns: fewer threads side by side, down to a warp, then fewer columns."""
    assert facts.plan is not None
    yield facts
    while facts.across * facts.plan.threads > WARP or facts.columns > 1:
        if facts.across * facts.plan.threads > WARP:
            facts = replace(facts, across=facts.across // 2)
        else:
            facts = replace(facts, columns=facts.columns // 2)
        yield facts


VARIANTS: dict[str, Callable[[Facts], Iterable[Facts]]] = {
    "outer": outer_variants,
    "tile": tile_variants,
    "product": product_variants,
    "product_rows": product_variants,
}
