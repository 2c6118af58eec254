"""Toggles: the #define names of each template, how they are chosen, and what cannot hold.

Every strategy choice is one ``#define`` at the top of the source, tested with ``#if``.  A toggle
that states the accumulation plan (``THREADS_PER_ROW``, ``LANES``, ``PARTS``) is derived from it;
overriding one replaces the plan, for fused and unfused kernels alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from opweave.compiler.device import Device
from opweave.compiler.ir import Plan
from opweave.opcodes.errors import ToggleError


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
    """

    device: Device
    itemsize: int
    can_vectorise: bool
    large: bool
    long_offsets: bool
    plan: Plan | None = None
    row_chunks: int = 1


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

TOGGLES: dict[str, tuple[Toggle, ...]] = {
    "map": (*COMMON, *MAP),
    "row": (*COMMON, SHUFFLE, *PLAN, *ROW),
    "reduce": (*COMMON, SHUFFLE, *PLAN, *REDUCE),
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
    _check_together(template, chosen, facts)
    return chosen


def _check_together(template: str, chosen: Mapping[str, int], facts: Facts) -> None:
    if template == "map":
        held = chosen["VECTOR"] * chosen["CHUNKS"]
        if held > MOST_ELEMENTS:
            raise ToggleError(
                f"VECTOR={chosen['VECTOR']} with CHUNKS={chosen['CHUNKS']} cannot hold: a thread "
                f"keeps at most {MOST_ELEMENTS} elements in registers"
            )
    if template != "row":
        return
    threads = chosen["THREADS_PER_ROW"] * chosen["ROWS_PER_BLOCK"]
    if threads % 32 and not facts.device.is_host:
        raise ToggleError(
            f"THREADS_PER_ROW={chosen['THREADS_PER_ROW']} with ROWS_PER_BLOCK="
            f"{chosen['ROWS_PER_BLOCK']} cannot hold: a block is made of whole warps of 32 threads"
        )
    most = 1 if facts.device.is_host else 1024
    if threads > most:
        raise ToggleError(
            f"ROWS_PER_BLOCK={chosen['ROWS_PER_BLOCK']} with THREADS_PER_ROW="
            f"{chosen['THREADS_PER_ROW']} cannot hold: a block on {facts.device.arch} has at most "
            f"{most} threads"
        )
