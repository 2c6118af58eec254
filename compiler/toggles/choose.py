"""Toggles: the #define names of each template, how they are chosen, and what cannot hold.

Every strategy choice is one ``#define`` at the top of the source, tested with ``#if``.  A toggle
that states the accumulation plan (``THREADS_PER_ROW``, ``LANES``, ``PARTS``, ``USE_RUNS``) is
derived from it; overriding one replaces the plan, for fused and unfused kernels alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NoReturn

from opweave.compiler.ir.accumulation import Plan
from opweave.compiler.toggles import rows
from opweave.compiler.toggles.facts import Facts, Toggle
from opweave.compiler.toggles.rows import COMMON, MOST_ELEMENTS, PLAN, SHUFFLE
from opweave.compiler.toggles.tiles import PRODUCT, STATIC_SHARED_BYTES, TILE
from opweave.opcodes.allowed import MOST_SHOWN, shown
from opweave.opcodes.errors import ToggleError
from opweave.opcodes.tokens import is_c_name

TOGGLES: dict[str, tuple[Toggle, ...]] = {
    "map": (*COMMON, *rows.MAP),
    "pixel": (*COMMON, *rows.PIXEL),
    "row": (*COMMON, SHUFFLE, *PLAN, *rows.ROW),
    "columns": (*COMMON, *PLAN, *rows.COLUMNS),
    "reduce": (*COMMON, SHUFFLE, *PLAN, *rows.REDUCE),
    "scan": (*COMMON, *rows.SCAN),
    "scan_parts": (*COMMON, SHUFFLE, *PLAN, *rows.REDUCE),
    "scan_columns": (*COMMON, *rows.SCAN_COLUMNS),
    "tile": (*COMMON, *TILE),
    "product": (*COMMON, *PRODUCT),
    # its rows of a block are those of the tile
    "product_rows": (*COMMON, *PRODUCT, SHUFFLE, *PLAN, *rows.IN_REGISTERS),
    "vendor": (),
    "handwritten": (),
}
KNOWN = {t.name: t for table in TOGGLES.values() for t in table}
PLAN_TOGGLES = {
    "THREADS_PER_ROW": "threads", "LANES": "lanes", "PARTS": "parts", "USE_RUNS": "runs",
}  # fmt: skip


def check_overrides(overrides: Mapping[str, Any]) -> dict[str, int]:
    """The overrides by the tables' own names; unknown toggles and values are refused.

    Raises:
        ToggleError: names the toggle, the values it takes and what was given.
    """
    plain: dict[str, int] = {}
    for name, value in overrides.items():
        toggle = KNOWN.get(name) if type(name) is str else None
        if toggle is None:
            shown_name = name if type(name) is str and is_c_name(name) else shown(name)
            raise ToggleError(
                f"unknown toggle {shown_name[:MOST_SHOWN]}: expected one of "
                f"{', '.join(sorted(KNOWN))}"
            )
        whole = type(value) in (bool, int)
        good = whole and (value in (0, 1) if toggle.values == "0|1" else _is_power(value))
        if not good or value > 1024:
            raise ToggleError(
                f"{name}={shown(value)}: expected {_range(toggle)} for '{toggle.meaning}'"
            )
        plain[toggle.name] = int(value)
    return plain


def _range(toggle: Toggle) -> str:
    return "0 or 1" if toggle.values == "0|1" else f"a {toggle.values} up to 1024"


def _is_power(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


def override_plan(overrides: Mapping[str, int]) -> Callable[[Plan], Plan]:
    """The user's change to accumulation plans, as a function for the plan pass."""
    changes: dict[str, Any] = {
        PLAN_TOGGLES[n]: int(v) for n, v in overrides.items() if n in PLAN_TOGGLES
    }

    def change(found: Plan) -> Plan:
        wanted = dict(changes)
        if found.parts == 1:
            for name in ("parts", "runs"):  # a row of one block stays in the row template
                wanted.pop(name, None)
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
    if template in TOGETHER:
        TOGETHER[template](chosen, facts)
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
    pad = 4 * chosen["USE_PADDED_TILE"]
    m, n, k = chosen["BLOCK_M"] + pad, chosen["BLOCK_N"] + pad, chosen["BLOCK_K"]
    tiles = k * (m + n) * chosen["USE_SHARED_MEMORY"] * facts.product.accumulator_bytes
    rows = chosen["BLOCK_M"] * n * facts.product.row_bytes
    threads = chosen["BLOCK_M"] // chosen["THREAD_M"] * (chosen["BLOCK_N"] // chosen["THREAD_N"])
    joins = threads // 32 if chosen.get("USE_WARP_SHUFFLE", 1) else threads
    return tiles + rows + joins * facts.product.join_bytes


def _check_product_rows(chosen: Mapping[str, int], facts: Facts) -> None:
    _check_product(chosen, facts)
    threads = chosen["BLOCK_M"] // chosen["THREAD_M"] * (chosen["BLOCK_N"] // chosen["THREAD_N"])
    together = threads // chosen["THREADS_PER_ROW"]
    if together == 0 or chosen["BLOCK_M"] % together:
        reason = "the threads of a block take its rows in whole rounds"
        _refuse("THREADS_PER_ROW BLOCK_M", chosen, reason)


TOGETHER: dict[str, Callable[[Mapping[str, int], Facts], None]] = {
    "map": _check_map,
    "pixel": _check_map,
    "row": _check_row,
    "scan": _check_row,
    "tile": _check_tile,
    "product": _check_product,
    "product_rows": _check_product_rows,
}
