"""Toggles: the #define names of each template, how they are chosen, and what cannot hold.

Every strategy choice is one ``#define`` at the top of the source, tested with ``#if``.  A toggle
that states the accumulation plan (``THREADS_PER_ROW``, ``LANES``, ``PARTS``, ``USE_RUNS``) is
derived from it; overriding one replaces the plan, for fused and unfused kernels alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NoReturn

from opweave.compiler.ir.accumulation import Plan, ScanPlan
from opweave.compiler.ir.device import Device
from opweave.compiler.toggles import columns, rows, scans
from opweave.compiler.toggles.facts import Declared, Facts, Toggle, one_of
from opweave.compiler.toggles.rows import COMMON, MOST_CHUNKS, MOST_ELEMENTS, PLAN, SHUFFLE
from opweave.compiler.toggles.shared_memory import (
    REMEDIES,
    opted_bytes,
    product_threads,
    room,
    shared_bytes,
)
from opweave.compiler.toggles.tiles import PRODUCT, TILE
from opweave.compiler.toggles.variants import VARIANTS, only
from opweave.opcodes.allowed import MOST_SHOWN, shown
from opweave.opcodes.defines import DECLARED, USE_VENDOR
from opweave.opcodes.errors import ToggleError
from opweave.opcodes.tokens import is_c_name

TOGGLES: dict[str, tuple[Toggle, ...]] = {
    "map": (*COMMON, *rows.MAP),
    "stencil": (*COMMON, *rows.STENCIL),
    "pixel": (*COMMON, *rows.PIXEL),
    "row": (*COMMON, SHUFFLE, *PLAN, *rows.ROW),
    "columns": (*COMMON, *PLAN, *columns.COLUMNS),
    "reduce": (*COMMON, SHUFFLE, *PLAN, *rows.REDUCE),
    "outer": (*COMMON, SHUFFLE, *PLAN, *columns.OUTER),
    "scan": (*COMMON, *scans.SCAN),
    "scan_parts": (*COMMON, SHUFFLE, *PLAN, *scans.SCAN_PARTS),
    "scan_ahead": (*COMMON, SHUFFLE, *PLAN, *scans.SCAN_AHEAD),
    "scan_columns": (*COMMON, *scans.SCAN_COLUMNS),
    "tile": (*COMMON, *TILE),
    "product": (*COMMON, *PRODUCT),
    # its rows of a block are those of the tile
    "product_rows": (*COMMON, *PRODUCT, SHUFFLE, *PLAN, *rows.IN_REGISTERS),
    "count": (*COMMON, *rows.COUNT),
    "vendor": (),
    "handwritten": (),
    "library": (),
}
# Bytes of squares that a thread of a host may turn: they lie on its stack.
MOST_SQUARES = 1 << 18
# What is decided before there are kernels, and is no #define of one; and where it says anything.
DECIDED = {
    USE_VENDOR: Toggle(USE_VENDOR, "products go to the vendor's library", lambda f: 0),
}
OF_PRODUCTS = ("product", "product_rows", "vendor")
KNOWN = DECIDED | {t.name: t for table in TOGGLES.values() for t in table}
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
        toggle = _known(name) if type(name) is str else None
        if toggle is None:
            shown_name = name if type(name) is str and is_c_name(name) else shown(name)
            raise ToggleError(
                f"unknown toggle {shown_name[:MOST_SHOWN]}: expected one of "
                f"{', '.join(sorted({*KNOWN, *DECLARED}))}, or one that ow.toggle has declared"
            )
        if type(value) not in (bool, int) or value not in toggle.values:
            raise ToggleError(
                f"{name}={shown(value)}: expected {one_of(toggle.values)} for '{toggle.meaning}'"
            )
        plain[toggle.name] = int(value)
    return plain


def _known(name: str) -> Toggle | None:
    """The row of a toggle; of a user's with all values that it may have in any operator."""
    if name in DECLARED:
        return Toggle(name, "a toggle of your own", lambda facts: 0, values=DECLARED[name])
    return KNOWN.get(name)


def rows_of(template: str, declared: Iterable[Declared] = ()) -> tuple[Toggle, ...]:
    """All toggles of a kernel: of its template, and of the user's operators."""
    return (*TOGGLES[template], *(found.row for found in declared))


def override_plan(overrides: Mapping[str, int]) -> Callable[[Plan], Plan]:
    """The user's change to accumulation plans, as a function for the plan pass."""
    changes: dict[str, Any] = {
        PLAN_TOGGLES[n]: int(v) for n, v in overrides.items() if n in PLAN_TOGGLES
    }

    def change(found: Plan) -> Plan:
        wanted = dict(changes)
        if found.parts == 1 and not (isinstance(found, ScanPlan) and found.abreast):
            for name in ("parts", "runs"):  # a row of one block stays in the row template
                wanted.pop(name, None)
        if wanted and isinstance(found, ScanPlan):
            wanted["held"] = False  # parts may have several tiles then
        return replace(found, **wanted)

    return change


@dataclass(frozen=True)
class ChosenToggles:
    """The toggles of a kernel.

    Attributes:
        toggles: values by name.
        shared_bytes: shared memory that a block asks for.
        opted_bytes: those of them that the launch opts in to.
        reason: why it is not the variant that pays most on a larger device; "" where it is.
        ignored: overrides of what the kernel has not.
        declared: toggles of the user's operators.
    """

    toggles: dict[str, int]
    shared_bytes: int
    opted_bytes: int = 0
    reason: str = ""
    ignored: tuple[str, ...] = ()
    declared: tuple[Declared, ...] = ()


def choose(template: str, facts: Facts, overrides: Mapping[str, int]) -> ChosenToggles:
    """Values of all toggles of a template, of the first variant that the device has room for.

    An override changes what it names, and nothing else.

    Raises:
        ToggleError: an override cannot hold here, or no variant fits; the message gives the
            reason.
    """
    found, variant = _fitting(template, facts)
    rows = rows_of(template, facts.declared)
    given = {t.name: int(overrides[t.name]) for t in rows if t.name in overrides}
    chosen = found.toggles | given
    asked = {*given, *(d.name for d in facts.declared)}
    for toggle in rows:
        reason = toggle.check(chosen[toggle.name], variant) if toggle.name in asked else ""
        if reason:
            raise ToggleError(f"{toggle.name}={chosen[toggle.name]} cannot hold: {reason}")
    if template in TOGETHER:
        TOGETHER[template](chosen, variant)
    needed = shared_bytes(template, chosen, variant)
    if needed > room(template, facts.device):
        names = " with ".join(f"{n}={v}" for n, v in given.items())
        what = f"{names} cannot hold" if names else f"no variant of the template {template} fits"
        raise ToggleError(f"{what}: {_lacking(template, needed, facts.device)}")
    decided = DECIDED if template in OF_PRODUCTS else {}
    ignored = tuple(n for n in overrides if n not in given and n not in decided)
    opted = opted_bytes(template, chosen, variant)
    return ChosenToggles(chosen, needed, opted, found.reason, ignored, facts.declared)


def _fitting(template: str, facts: Facts) -> tuple[ChosenToggles, Facts]:
    """The first variant that fits, else the last, as the compiler chooses it; and its facts."""
    tried: list[tuple[ChosenToggles, Facts]] = []
    for variant in VARIANTS.get(template, only)(facts):
        chosen = {t.name: t.choose(variant) for t in rows_of(template, facts.declared)}
        tried.append((ChosenToggles(chosen, shared_bytes(template, chosen, variant)), variant))
        if tried[-1][0].shared_bytes * variant.blocks <= _room_of(variant):
            break
    (most, first), (found, last) = tried[0], tried[-1]
    return replace(found, reason=_reason(found, most, first) if found is not most else ""), last


def _room_of(variant: Facts) -> int:
    """What the blocks of a variant may ask for; one by itself does not opt in to more."""
    return variant.device.block_bytes if variant.blocks == 1 else variant.device.most_bytes


def _reason(found: ChosenToggles, most: ChosenToggles, first: Facts) -> str:
    other = ", ".join(f"{n}={v}" for n, v in most.toggles.items() if v != found.toggles[n])
    each = f" for each of {first.blocks} blocks" * (first.blocks > 1)
    has = _room(first.device, _room_of(first))
    return f"{other} would take {most.shared_bytes} bytes{each}, and {has}"


def _lacking(template: str, needed: int, device: Device) -> str:
    has = _room(device, room(template, device))
    return f"it takes {needed} bytes of shared memory, and {has}; {REMEDIES[template]}"


def _room(device: Device, nbytes: int) -> str:
    """What a block may have, and why it is not what the device is described with."""
    most = device.shared_bytes
    why = f"all that needs no opting in, of {most}" if device.most_bytes > nbytes else f"of {most}"
    return f"a block on {device.name} ({device.arch}) has {nbytes} ({why})"


def _refuse(names: str, chosen: Mapping[str, int], reason: str) -> NoReturn:
    shown = " with ".join(f"{n}={chosen[n]}" for n in names.split())
    raise ToggleError(f"{shown} cannot hold: {reason}")


def _check_map(chosen: Mapping[str, int], facts: Facts, each: str = "CHUNKS") -> None:
    most = MOST_ELEMENTS * (MOST_CHUNKS if facts.device.is_host else 1)
    if chosen["VECTOR"] * chosen[each] > most:
        reason = f"a thread keeps at most {most} elements in registers"
        _refuse(f"VECTOR {each}", chosen, reason)


def _check_stencil(chosen: Mapping[str, int], facts: Facts) -> None:
    _check_map(chosen, facts, "ROWS_PER_THREAD")


def _check_threads(threads: int, names: str, chosen: Mapping[str, int], facts: Facts) -> None:
    if threads % 32 and not facts.device.is_host:
        _refuse(names, chosen, "a block is made of whole warps of 32 threads")
    most = facts.device.block_threads
    if threads > most:
        _refuse(names, chosen, f"a block on {facts.device.arch} has at most {most} threads")


def _check_row(chosen: Mapping[str, int], facts: Facts) -> None:
    threads = chosen["THREADS_PER_ROW"] * chosen["ROWS_PER_BLOCK"]
    _check_threads(threads, "THREADS_PER_ROW ROWS_PER_BLOCK", chosen, facts)


def _check_held_row(chosen: Mapping[str, int], facts: Facts) -> None:
    _check_row(chosen, facts)
    if chosen["USE_REGISTER_ROW"] and chosen["CHUNKS"] > chosen["ROW_CHUNKS"]:
        _refuse("CHUNKS ROW_CHUNKS", chosen, "a thread has no more chunks than it holds")


def _check_outer(chosen: Mapping[str, int], facts: Facts) -> None:
    _check_threads(
        chosen["THREADS_PER_ROW"] * chosen["ACROSS"], "THREADS_PER_ROW ACROSS", chosen, facts
    )


def _check_count(chosen: Mapping[str, int], facts: Facts) -> None:
    _check_map(chosen, facts)
    _check_threads(chosen["BLOCK"], "BLOCK", chosen, facts)


def _check_tile(chosen: Mapping[str, int], facts: Facts) -> None:
    if chosen["VECTOR"] > chosen["TILE"]:
        _refuse("VECTOR TILE", chosen, "an access does not reach beyond a tile")
    squares = chosen["VECTOR"] ** 2 * sum(facts.staged)
    if facts.device.is_host and squares > MOST_SQUARES:
        _refuse("VECTOR", chosen, f"squares of {squares >> 10} KiB are too large for a stack")


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
    threads = product_threads(c)
    _check_threads(threads, "BLOCK_M BLOCK_N THREAD_M THREAD_N", c, facts)


def _check_product_rows(chosen: Mapping[str, int], facts: Facts) -> None:
    _check_product(chosen, facts)
    threads = product_threads(chosen)
    together = threads // chosen["THREADS_PER_ROW"]
    if together == 0 or chosen["BLOCK_M"] % together:
        reason = "the threads of a block take its rows in whole rounds"
        _refuse("THREADS_PER_ROW BLOCK_M", chosen, reason)


TOGETHER: dict[str, Callable[[Mapping[str, int], Facts], None]] = {
    "map": _check_map,
    "pixel": _check_map,
    "stencil": _check_stencil,
    "row": _check_held_row,
    "outer": _check_outer,
    "count": _check_count,
    "scan": _check_row,
    "tile": _check_tile,
    "product": _check_product,
    "product_rows": _check_product_rows,
}
