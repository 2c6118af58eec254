"""Toggles: the #define names of each template, how they are chosen, and what cannot hold.

Every strategy choice is one ``#define`` at the top of the source, tested with ``#if``.  A toggle
that states the accumulation plan (``THREADS_PER_ROW``, ``LANES``, ``PARTS``) is derived from it;
overriding one replaces the plan, for fused and unfused kernels alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from opweave.compiler.device import Device
from opweave.compiler.ir import Plan
from opweave.opcodes.errors import ToggleError


@dataclass(frozen=True)
class ProductFacts:
    """What the toggles of a product are chosen from besides.

    Attributes:
        tile: row of ``TILES`` for its extents on its device.
        accumulator_bytes: of one running value.
        columns: columns that a block must hold, 0 for any number.
    """

    tile: str
    accumulator_bytes: int
    columns: int = 0


@dataclass(frozen=True)
class Facts:
    """What the toggles of one kernel are chosen from: the shape class and the device.

    Attributes:
        device: the target.
        itemsize: bytes of the widest operand.
        can_vectorise: every chunked operand starts each row on a 16-byte boundary.
        large: enough elements to give each thread several chunks.
        long_offsets: an offset exceeds 31 bits.
        plan: the accumulation plan, for reductions.
        row_chunks: chunks of one thread that cover the longest row of the class.
        product: of a product.
        staged_bytes: bytes of one element of each operand that is staged in shared memory.
    """

    device: Device
    itemsize: int
    can_vectorise: bool
    large: bool
    long_offsets: bool
    plan: Plan | None = None
    row_chunks: int = 1
    product: ProductFacts | None = None
    staged_bytes: int = 0


@dataclass(frozen=True)
class Toggle:
    """One ``#define``.

    Attributes:
        name: its name in the source.
        meaning: the comment beside it.
        choose: the compiler's choice from the facts.
        values: the values it may take, "0|1" or "power of two".
        check: reason why a value cannot hold, or "".
    """

    name: str
    meaning: str
    choose: Callable[[Facts], int]
    values: str = "0|1"
    check: Callable[[int, Facts], str] = lambda value, facts: ""


def _needs_alignment(value: int, facts: Facts) -> str:
    if value and not facts.can_vectorise:
        return "a row or an operand does not start on a 16-byte boundary"
    return ""


def _needs_32_bits(value: int, facts: Facts) -> str:
    return "an offset exceeds 31 bits" if not value and facts.long_offsets else ""


def _block_fits(value: int, facts: Facts) -> str:
    most = 1 if facts.device.is_host else 1024
    return f"a block on {facts.device.arch} has at most {most} threads" if value > most else ""


def _row_fits_block(value: int, facts: Facts) -> str:
    if facts.device.is_host and value > 1:
        return "on the host one thread does a row"
    return "a row has at most 1024 threads" if value > 1024 else ""


# Elements of one operand that a thread may hold.
MOST_ELEMENTS = 128
# Registers that a row may take per thread before it is streamed instead.
MOST_ROW_CHUNKS = 16

COMMON = (
    Toggle(
        "USE_64BIT_INDEX",
        "offsets need more than 31 bits",
        lambda f: int(f.long_offsets),
        check=_needs_32_bits,
    ),
    Toggle("USE_FAST_MATH", "fewer roundings, approximate functions", lambda f: 0),
    Toggle(
        "USE_VECTOR_IO",
        "16-byte loads and stores",
        lambda f: int(f.can_vectorise and not f.device.is_host),
        check=_needs_alignment,
    ),
)
SHUFFLE = Toggle(
    "USE_WARP_SHUFFLE",
    "join the threads of a warp by shuffles, not through shared memory",
    lambda f: int(not f.device.is_host),
)
PLAN = (
    Toggle(
        "THREADS_PER_ROW",
        "accumulation plan: threads that share a row",
        lambda f: _plan(f).threads,
        "power of two",
        _row_fits_block,
    ),
    Toggle(
        "LANES",
        "accumulation plan: running values of one thread",
        lambda f: _plan(f).lanes,
        "power of two",
    ),
)
MAP = (
    Toggle(
        "BLOCK",
        "threads in a block",
        lambda f: 1 if f.device.is_host else 256,
        "power of two",
        _block_fits,
    ),
    Toggle(
        "VECTOR",
        "consecutive elements of one access",
        lambda f: 64 if f.device.is_host else max(1, 16 // f.itemsize),
        "power of two",
    ),
    Toggle(
        "CHUNKS",
        "accesses of one thread, all issued before the first use",
        lambda f: 4 if f.large and not f.device.is_host else 1,
        "power of two",
    ),
)
PIXEL = (
    MAP[0],
    Toggle(
        "VECTOR",
        "consecutive pixels of one access",
        lambda f: 64 if f.device.is_host else 4,
        "power of two",
    ),
    Toggle(
        "CHUNKS",
        "accesses of one thread, all issued before the first use",
        lambda f: 2 if f.large and not f.device.is_host else 1,
        "power of two",
    ),
)
ROW = (
    Toggle(
        "ROWS_PER_BLOCK",
        "rows of one block",
        lambda f: 1 if f.device.is_host else max(1, 128 // _plan(f).threads),
        "power of two",
    ),
    Toggle(
        "USE_REGISTER_ROW",
        "the row stays in registers between passes",
        lambda f: int(not f.device.is_host and f.row_chunks <= MOST_ROW_CHUNKS),
        check=lambda v, f: (
            f"a row takes {f.row_chunks} chunks of a thread, more than {MOST_ROW_CHUNKS}"
            if v and f.row_chunks > MOST_ROW_CHUNKS
            else ""
        ),
    ),
    Toggle(
        "ROW_CHUNKS",
        "chunks of one thread that cover the longest row of the shape class",
        lambda f: f.row_chunks if f.row_chunks <= MOST_ROW_CHUNKS else 1,
        "power of two",
        lambda v, f: (
            f"a row of this class takes {f.row_chunks} chunks"
            if v < f.row_chunks <= MOST_ROW_CHUNKS
            else ""
        ),
    ),
)
REDUCE = (
    Toggle(
        "PARTS",
        "accumulation plan: blocks that share a row",
        lambda f: _plan(f).parts,
        "power of two",
    ),
)

# Shared memory of a block that needs no opting in.
STATIC_SHARED_BYTES = 48 * 1024
SHARED = Toggle(
    "USE_SHARED_MEMORY",
    "tiles of the operands pass through shared memory",
    lambda f: int(f.product is None or not f.device.is_host),
)
PADDED = Toggle(
    "USE_PADDED_TILE",
    "lines of a tile start in different banks of shared memory",
    lambda f: int(not f.device.is_host),
)
TILE = (
    SHARED,
    PADDED,
    Toggle(
        "BLOCK",
        "threads in a block",
        lambda f: 1 if f.device.is_host else 256,
        "power of two",
        _block_fits,
    ),
    Toggle(
        "TILE",
        "rows and columns of the tile of a block",
        lambda f: next(
            (t for t in (64, 32, 16) if t * (t + 4) * f.staged_bytes <= STATIC_SHARED_BYTES), 8
        ),
        "power of two",
        lambda v, f: (
            f"tiles take {v * (v + 4) * f.staged_bytes} bytes of shared memory, more than "
            f"{STATIC_SHARED_BYTES}"
            if v * (v + 4) * f.staged_bytes > STATIC_SHARED_BYTES
            else ""
        ),
    ),
    Toggle(
        "VECTOR",
        "consecutive elements of one access",
        lambda f: 8 if f.device.is_host else max(1, 16 // f.itemsize),
        "power of two",
    ),
)


@dataclass(frozen=True)
class TileShape:
    """The part of a product that a block and a thread make; ``steps`` along the inner dimension."""

    block_m: int
    block_n: int
    steps: int
    thread_m: int
    thread_n: int


# From the largest: a product takes the first that gives every multiprocessor a tile.
TILES: dict[str, TileShape] = {
    "large": TileShape(128, 128, 16, 8, 8),
    "medium": TileShape(64, 64, 16, 4, 4),
    "small": TileShape(32, 32, 16, 2, 2),
    "few rows": TileShape(16, 64, 16, 1, 4),
    "host": TileShape(4, 16, 1, 4, 16),
}
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
}


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


def tile_shape(facts: Facts) -> TileShape:
    """The tile of a product."""
    product = facts.product
    assert product is not None
    if facts.device.is_host and product.columns:
        return TileShape(4, product.columns, 1, 4, product.columns)
    if product.columns:
        return ROW_TILES[product.columns, max(4, product.accumulator_bytes)]
    if product.accumulator_bytes == 8 and product.tile == "large":
        return TILES["medium"]
    return TILES[product.tile]


def _holds_rows(value: int, facts: Facts) -> str:
    product = facts.product
    if product is not None and value < product.columns:
        return f"rows of this class have up to {product.columns} columns, which a block holds"
    return ""


PRODUCT = (
    SHARED,
    PADDED,
    Toggle(
        "VECTOR",
        "consecutive elements of one access to an operand",
        lambda f: 1 if f.device.is_host else min(max(1, 16 // f.itemsize), tile_shape(f).steps),
        "power of two",
    ),
    Toggle(
        "BLOCK_M", "rows of the tile of a block", lambda f: tile_shape(f).block_m, "power of two"
    ),
    Toggle(
        "BLOCK_N",
        "columns of the tile of a block",
        lambda f: tile_shape(f).block_n,
        "power of two",
        _holds_rows,
    ),
    Toggle(
        "BLOCK_K",
        "steps along the inner dimension between two loads of tiles",
        lambda f: tile_shape(f).steps,
        "power of two",
    ),
    Toggle("THREAD_M", "rows of a thread", lambda f: tile_shape(f).thread_m, "power of two"),
    Toggle("THREAD_N", "columns of a thread", lambda f: tile_shape(f).thread_n, "power of two"),
    Toggle(
        "WIDTH",
        "adjacent columns of a thread",
        lambda f: tile_shape(f).thread_n if f.device.is_host else min(4, tile_shape(f).thread_n),
        "power of two",
    ),
)

TOGGLES: dict[str, tuple[Toggle, ...]] = {
    "map": (*COMMON, *MAP),
    "pixel": (*COMMON, *PIXEL),
    "row": (*COMMON, SHUFFLE, *PLAN, *ROW),
    "reduce": (*COMMON, SHUFFLE, *PLAN, *REDUCE),
    "tile": (*COMMON, *TILE),
    "product": (*COMMON, *PRODUCT),
    "product_rows": (*COMMON, *PRODUCT, SHUFFLE, *PLAN, *(t for t in ROW if t.name != "ROWS_PER_BLOCK")),
    "vendor": (),
}
KNOWN = {t.name: t for table in TOGGLES.values() for t in table}
PLAN_TOGGLES = {"THREADS_PER_ROW": "threads", "LANES": "lanes", "PARTS": "parts"}


def _plan(facts: Facts) -> Plan:
    assert facts.plan is not None
    return facts.plan


def check_overrides(overrides: Mapping[str, Any]) -> None:
    """Refuse unknown toggles and values before anything is compiled.

    Raises:
        ToggleError: names the toggle, the values it takes and what was given.
    """
    for name, value in overrides.items():
        toggle = KNOWN.get(name)
        if toggle is None:
            raise ToggleError(f"unknown toggle {name}: expected one of {', '.join(sorted(KNOWN))}")
        whole = isinstance(value, int)
        good = value in (0, 1) if toggle.values == "0|1" else whole and _is_power(int(value))
        if not whole or not good or int(value) > 1024:
            raise ToggleError(
                f"{name}={value!r}: expected {_range(toggle)} for '{toggle.meaning}'"
            )


def _range(toggle: Toggle) -> str:
    return "0 or 1" if toggle.values == "0|1" else f"a {toggle.values} up to 1024"


def _is_power(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


def override_plan(overrides: Mapping[str, int]) -> Callable[[Plan], Plan]:
    """The user's change to accumulation plans, as a function for the plan pass."""
    changes = {PLAN_TOGGLES[n]: int(v) for n, v in overrides.items() if n in PLAN_TOGGLES}

    def change(found: Plan) -> Plan:
        wanted = dict(changes)
        if found.parts == 1:
            wanted.pop("parts", None)  # a row of one block stays in the row template
        return replace(found, **wanted)

    return change


def choose(template: str, facts: Facts, overrides: Mapping[str, int]) -> dict[str, int]:
    """Values of all toggles of a template.

    Raises:
        ToggleError: an override cannot hold here; the message gives the reason.
    """
    chosen: dict[str, int] = {}
    for toggle in TOGGLES[template]:
        value = int(overrides.get(toggle.name, toggle.choose(facts)))
        reason = toggle.check(value, facts)
        if reason and toggle.name in overrides:
            raise ToggleError(f"{toggle.name}={value} cannot hold: {reason}")
        chosen[toggle.name] = value
    TOGETHER.get(template, lambda chosen, facts: None)(chosen, facts)
    return chosen


def _refuse(names: str, chosen: Mapping[str, int], reason: str) -> NoReturn:
    shown = " with ".join(f"{n}={chosen[n]}" for n in names.split())
    raise ToggleError(f"{shown} cannot hold: {reason}")


def _check_map(chosen: Mapping[str, int], facts: Facts) -> None:
    if chosen["VECTOR"] * chosen["CHUNKS"] > MOST_ELEMENTS:
        reason = f"a thread keeps at most {MOST_ELEMENTS} elements in registers"
        _refuse("VECTOR CHUNKS", chosen, reason)


def _check_threads(threads: int, names: str, chosen: Mapping[str, int], facts: Facts) -> None:
    if threads % 32 and not facts.device.is_host:
        _refuse(names, chosen, "a block is made of whole warps of 32 threads")
    most = 1 if facts.device.is_host else 1024
    if threads > most:
        _refuse(names, chosen, f"a block on {facts.device.arch} has at most {most} threads")


def _check_row(chosen: Mapping[str, int], facts: Facts) -> None:
    threads = chosen["THREADS_PER_ROW"] * chosen["ROWS_PER_BLOCK"]
    _check_threads(threads, "THREADS_PER_ROW ROWS_PER_BLOCK", chosen, facts)


def _check_tile(chosen: Mapping[str, int], facts: Facts) -> None:
    if chosen["VECTOR"] > chosen["TILE"]:
        _refuse("VECTOR TILE", chosen, "an access does not reach beyond a tile")


def _check_product(chosen: Mapping[str, int], facts: Facts) -> None:
    c = chosen
    for part, whole in (("THREAD_M", "BLOCK_M"), ("THREAD_N", "BLOCK_N"), ("WIDTH", "THREAD_N")):
        if c[part] > c[whole]:
            _refuse(f"{part} {whole}", c, "the part is larger than the whole")
    for tile in ("BLOCK_M", "BLOCK_N", "BLOCK_K"):
        if c["USE_SHARED_MEMORY"] and c["VECTOR"] > c[tile]:
            _refuse(f"VECTOR {tile}", c, "an access does not reach beyond a tile")
    most = 2048 if facts.device.is_host else MOST_ELEMENTS
    if c["THREAD_M"] * c["THREAD_N"] > most:
        _refuse("THREAD_M THREAD_N", c, f"a thread keeps at most {most} elements in registers")
    threads = c["BLOCK_M"] // c["THREAD_M"] * (c["BLOCK_N"] // c["THREAD_N"])
    _check_threads(threads, "BLOCK_M BLOCK_N THREAD_M THREAD_N", c, facts)
    if product_shared_bytes(c, facts) > STATIC_SHARED_BYTES and not facts.device.is_host:
        reason = (
            f"tiles take {product_shared_bytes(c, facts)} bytes of shared memory, more than "
            f"{STATIC_SHARED_BYTES}"
        )
        _refuse("BLOCK_M BLOCK_N BLOCK_K", c, reason)


def product_shared_bytes(chosen: Mapping[str, int], facts: Facts) -> int:
    """Shared memory of the tiles of a product, and of the rows that a block holds."""
    assert facts.product is not None
    m, n, k = chosen["BLOCK_M"] + 4, chosen["BLOCK_N"] + 4, chosen["BLOCK_K"]
    tiles = k * (m + n) * chosen["USE_SHARED_MEMORY"]
    rows = chosen["BLOCK_M"] * n if facts.product.columns else 0
    return (tiles + rows) * facts.product.accumulator_bytes


def _check_product_rows(chosen: Mapping[str, int], facts: Facts) -> None:
    _check_product(chosen, facts)
    threads = (
        chosen["BLOCK_M"] // chosen["THREAD_M"] * (chosen["BLOCK_N"] // chosen["THREAD_N"])
    )
    together = threads // chosen["THREADS_PER_ROW"]
    if together == 0 or chosen["BLOCK_M"] % together:
        reason = "the threads of a block take its rows in whole rounds"
        _refuse("THREADS_PER_ROW BLOCK_M", chosen, reason)


TOGETHER: dict[str, Callable[[Mapping[str, int], Facts], None]] = {
    "map": _check_map,
    "pixel": _check_map,
    "row": _check_row,
    "tile": _check_tile,
    "product": _check_product,
    "product_rows": _check_product_rows,
}
