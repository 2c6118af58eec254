"""The toggles of maps, rows and reductions, a row each: meaning, choice, and what cannot hold."""

from __future__ import annotations

from opweave.compiler.ir import Plan
from opweave.compiler.toggle import Facts, Toggle


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
        block_fits,
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
