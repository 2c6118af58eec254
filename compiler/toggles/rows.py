"""The toggles of maps, rows and reductions, a row each: meaning, choice, and what cannot hold."""

from __future__ import annotations

from dataclasses import replace

from opweave.compiler.ir.accumulation import Plan
from opweave.compiler.toggles.facts import Facts, Toggle


def _needs_alignment(value: int, facts: Facts) -> str:
    if value and not facts.can_vectorise:
        return "a row or an operand does not start on a 16-byte boundary"
    return ""


def _needs_32_bits(value: int, facts: Facts) -> str:
    return "an offset exceeds 31 bits" if not value and facts.long_offsets else ""


def block_fits(value: int, facts: Facts) -> str:
    most = 1 if facts.device.is_host else 1024
    return f"a block on {facts.device.arch} has at most {most} threads" if value > most else ""


def _row_fits_block(value: int, facts: Facts) -> str:
    if facts.device.is_host and value > 1:
        return "on the host one thread does a row"
    return "a row has at most 1024 threads" if value > 1024 else ""


def _plan(facts: Facts) -> Plan:
    assert facts.plan is not None
    return facts.plan


# Elements of one operand that a thread may hold.
MOST_ELEMENTS = 128
# Chunks of a row that a thread may keep in registers before it is streamed instead, and those of
# 16-byte elements.
MOST_ROW_CHUNKS = 16
MOST_WIDE_CHUNKS = 4

# Registers that a thread's loads may take at once.  With more, fewer threads are in flight; from
# 255 on the operands lie in local memory.
MOST_HELD = 64
# From so many operations a byte on, a kernel is bound by operations on every device described here
# (an H200 issues some 62 operations in the time of 8 bytes).  Then more loads in flight gain
# nothing, and each is one more copy of the loop's body to compile and to fetch.
SLOTS_PER_BYTE = 8
MOST_CHUNKS = 4


def _vector(facts: Facts) -> int:
    """Elements of 16 bytes, or fewer where many operands are held.

    It is one element where accesses are of single elements: then the threads of a warp take
    neighbouring elements, and an access of the warp touches as few sectors of memory as it can.
    """
    if facts.device.is_host:
        return 64
    if not facts.can_vectorise or facts.one_by_one > facts.in_chunks:
        return 1
    widest = max(1, 16 // facts.itemsize)
    return min(widest, _power_below(MOST_HELD // facts.held))


def _chunks(facts: Facts) -> int:
    """Accesses in flight: many where memory binds, one where operations do."""
    if not facts.large or facts.device.is_host or facts.slots > SLOTS_PER_BYTE * facts.moved:
        return 1
    return min(MOST_CHUNKS, _power_below(MOST_HELD // (facts.held * _vector(facts))))


def _power_below(number: int) -> int:
    """The largest power of two that is not larger, 1 at least."""
    return 1 << max(0, number.bit_length() - 1)


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


def _most_chunks(facts: Facts) -> int:
    return MOST_ROW_CHUNKS if facts.itemsize < 16 else MOST_WIDE_CHUNKS


MAP = (
    Toggle(
        "BLOCK",
        "threads in a block",
        lambda f: 1 if f.device.is_host else 256,
        "power of two",
        block_fits,
    ),
    Toggle(
        "VECTOR",
        "consecutive elements of one access",
        _vector,
        "power of two",
    ),
    Toggle(
        "CHUNKS",
        "accesses of one thread, all issued before the first use",
        _chunks,
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
ROWS_PER_BLOCK = Toggle(
    "ROWS_PER_BLOCK",
    "rows of one block",
    lambda f: 1 if f.device.is_host else max(1, 128 // _plan(f).threads),
    "power of two",
)
ROW = (
    ROWS_PER_BLOCK,
    Toggle(
        "USE_REGISTER_ROW",
        "the row stays in registers between passes",
        lambda f: int(not f.device.is_host and f.row_chunks <= _most_chunks(f)),
        check=lambda v, f: (
            f"a row takes {f.row_chunks} chunks of a thread, more than {_most_chunks(f)}"
            if v and f.row_chunks > _most_chunks(f)
            else ""
        ),
    ),
    Toggle(
        "ROW_CHUNKS",
        "chunks of one thread that cover the longest row of the shape class",
        lambda f: f.row_chunks if f.row_chunks <= _most_chunks(f) else 1,
        "power of two",
        lambda v, f: (
            f"a row of this class takes {f.row_chunks} chunks"
            if v < f.row_chunks <= _most_chunks(f)
            else ""
        ),
    ),
)
COLUMNS = (
    Toggle(
        "COLUMNS",
        "neighbouring columns that a block goes down together",
        lambda f: f.columns,
        "power of two",
    ),
)
REDUCE = (
    Toggle(
        "PARTS",
        "accumulation plan: blocks that share a row",
        lambda f: _plan(f).parts,
        "power of two",
    ),
    Toggle(
        "USE_RUNS",
        "accumulation plan: a block has a run of its row, not every PARTS-th piece",
        lambda f: int(_plan(f).runs),
    ),
)
# Elements that a host thread takes at once where nothing but the scan is computed: they stay in
# registers (measured: 0.35 ns for an int64, 0.65 ns with 64).  More pay where they vectorise: g++
# unrolls short loops instead (an exp: 0.9 ns with 64, 3.9 ns with 8).
LIGHT_LANES = 8
SCAN = (
    SHUFFLE,
    PLAN[0],
    replace(
        PLAN[1],
        choose=lambda f: (
            min(LIGHT_LANES, _plan(f).lanes)
            if f.device.is_host and not f.heavy
            else _plan(f).lanes
        ),
    ),
    ROWS_PER_BLOCK,
)
SCAN_COLUMNS = (
    Toggle(
        "BLOCK",
        "threads in a block",
        lambda f: 1 if f.device.is_host else 64,
        "power of two",
        block_fits,
    ),
    Toggle(
        "VECTOR",
        "neighbouring columns of one thread",
        lambda f: 64 if f.device.is_host else max(1, 4 // f.itemsize),
        "power of two",
    ),
    Toggle(
        "CHUNKS",
        "rows of one round, all read before the first is taken",
        lambda f: 1 if f.device.is_host else 8,
        "power of two",
    ),
)
