"""The toggles of maps, rows and reductions, a row each: meaning, choice, and what cannot hold."""

from __future__ import annotations

from opweave.compiler.ir.accumulation import (
    MOST_ROW_CHUNKS,
    MOST_TILES,
    Plan,
    held_chunks,
)
from opweave.compiler.toggles.facts import POWERS, Facts, Toggle, on_device, power


def _needs_alignment(value: int, facts: Facts) -> str:
    if value and not facts.can_vectorise:
        return "a row or an operand does not start on a 16-byte boundary"
    return ""


def _needs_32_bits(value: int, facts: Facts) -> str:
    return "an offset exceeds 31 bits" if not value and facts.long_offsets else ""


def _block_fits(value: int, facts: Facts) -> str:
    most = facts.device.block_threads
    return f"a block on {facts.device.arch} has at most {most} threads" if value > most else ""


def _row_fits_block(value: int, facts: Facts) -> str:
    if facts.device.is_host and value > 1:
        return "on the host one thread does a row"
    most = facts.device.block_threads
    return f"a row has at most {most} threads" if value > most else ""


def _plan(facts: Facts) -> Plan:
    assert facts.plan is not None
    return facts.plan


# Elements of one operand that a thread may hold.
MOST_ELEMENTS = 128
# Elements of a chunk on a host, and bytes of one where all operands are one dense row: `u *= 2` of
# float32 takes 0.91 of the time that it takes with 256 bytes (a Xeon with AVX-512), windows and
# short rows up to 1.8 of it.
HOST_CHUNK = 64
FLAT_BYTES = 512
# Those of ``MOST_ROW_CHUNKS`` that have elements of 16 bytes.
MOST_WIDE_CHUNKS = 4

# Registers that a thread's loads may take at once.  With more, fewer threads are in flight; from
# 255 on the operands lie in local memory.
MOST_HELD = 64
# Those of a thread of a long row.  With up to 1,280 of these some 80 KB of a multiprocessor are on
# their way; by Little's law an H200 takes 36 KB (4.8 TB/s for 1 us, by 132 multiprocessors).
MOST_OF_PART = 16
# From so many operations a byte on, a kernel is bound by operations on every device described here
# (an H200 issues some 62 operations in the time of 8 bytes).  Then more loads in flight gain
# nothing, and each is one more copy of the loop's body to compile and to fetch.
SLOTS_PER_BYTE = 8
MOST_CHUNKS = 4
# Elements of a thread of a map: bytes take 0.97 to 0.99 of the time by two accesses of 16 instead
# of four (H200, NVRTC 13.0, 29 November 2026).
MOST_UNROLLED = 32


def _vector(facts: Facts) -> int:
    """Elements of 16 bytes, or fewer where many operands are held.

    It is one element where accesses are of single elements: then the threads of a warp take
    neighbouring elements, and an access of the warp touches as few sectors of memory as it can.
    On a host a chunk is what the loop between two guards has; where there is a single row, few
    chunks end within it.
    """
    if facts.device.is_host:
        flat = FLAT_BYTES // facts.itemsize if facts.is_flat else 0
        return facts.row_elements or max(HOST_CHUNK, min(MOST_ELEMENTS, flat))
    if not facts.can_vectorise or facts.one_by_one > facts.in_chunks:
        return 1
    widest = max(1, 16 // facts.itemsize)
    return min(widest, power_below(MOST_HELD // facts.held))


def _chunks(facts: Facts) -> int:
    """Accesses in flight: many where memory binds, one where operations do."""
    if not facts.large or facts.device.is_host or facts.slots > SLOTS_PER_BYTE * facts.moved:
        return 1
    return min(MOST_CHUNKS, power_below(MOST_HELD // (facts.held * _vector(facts))))


def _chunks_of_map(facts: Facts) -> int:
    """As above; on a host those of a short row, which is read as a whole before it is stored."""
    if facts.device.is_host:
        return facts.row_chunks
    return min(_chunks(facts), max(1, MOST_UNROLLED // _vector(facts)))


def _pixels(facts: Facts) -> int:
    """Consecutive pixels of a thread: an access of 16 bytes, if they fill some.

    With one access the threads of a warp take neighbouring bytes.
    """
    if facts.device.is_host:
        return HOST_CHUNK
    nbytes = facts.channels * facts.itemsize
    return next((n for n in (1, 2) if n * nbytes % 16 == 0), 4)


def _chunks_of_pixels(facts: Facts) -> int:
    return min(4, 8 // _pixels(facts)) if facts.large and not facts.device.is_host else 1


def _chunks_of_lanes(facts: Facts, most: int) -> int:
    """Accesses in flight of a thread that shares a row, which take so many registers at most."""
    if facts.device.is_host or facts.slots > SLOTS_PER_BYTE * facts.moved:
        return 1
    return min(MOST_CHUNKS, power_below(most // (facts.held * _plan(facts).lanes)))


def _chunks_of_part(facts: Facts) -> int:
    return _chunks_of_lanes(facts, MOST_OF_PART)


def _chunks_of_row(facts: Facts) -> int:
    """Where a thread may hold the row besides: elements of 8 bytes leave it no registers."""
    return 1 if facts.itemsize > 4 else min(_chunks_of_lanes(facts, MOST_HELD), facts.row_chunks)


def power_below(number: int) -> int:
    """The largest power of two that is not larger, 1 at least."""
    return 1 << max(0, number.bit_length() - 1)


def _most_chunks(facts: Facts) -> int:
    most = MOST_ROW_CHUNKS if facts.itemsize < 16 else MOST_WIDE_CHUNKS
    if facts.device.is_host or facts.plan is None:
        return most
    return min(most, held_chunks(facts.plan.threads, facts.plan.lanes, facts.itemsize))


def _fits_registers(value: int, facts: Facts) -> str:
    chunks, most = facts.row_chunks, _most_chunks(facts)
    if not value or chunks <= most:
        return ""
    return f"a row takes {chunks} chunks of a thread, more than {most}"


def _covers_row(value: int, facts: Facts) -> str:
    short = value < facts.row_chunks <= _most_chunks(facts)
    return f"a row of this class takes {facts.row_chunks} chunks" if short else ""


def block(threads: int) -> Toggle:
    """The threads of a block; one on the host."""
    return power("BLOCK", "threads in a block", on_device(threads, host=1), _block_fits)


COMMON = (
    Toggle(
        "USE_64BIT_INDEX", "offsets need more than 31 bits",
        lambda f: int(f.long_offsets), _needs_32_bits,
    ),
    Toggle("USE_FAST_MATH", "fewer roundings, approximate functions", lambda f: 0),
    Toggle(
        "USE_VECTOR_IO", "loads and stores of up to 16 bytes at once",
        lambda f: int(f.can_vectorise and not f.device.is_host), _needs_alignment,
    ),
)  # fmt: skip
SHUFFLE = Toggle(
    "USE_WARP_SHUFFLE",
    "join the threads of a warp by shuffles, not through shared memory",
    on_device(1, host=0),
)
THREADS = power(
    "THREADS_PER_ROW", "accumulation plan: threads that share a row",
    lambda f: _plan(f).threads, _row_fits_block,
)  # fmt: skip
OF_LANES = "accumulation plan: running values of one thread"
PLAN = (THREADS, power("LANES", OF_LANES, lambda f: _plan(f).lanes))
OF_CHUNKS = "accesses of one thread, all issued before the first use"
MAP = (
    block(256),
    power("VECTOR", "consecutive elements of one access", _vector),
    power("CHUNKS", OF_CHUNKS, _chunks_of_map),
)
STENCIL = (
    *MAP[:2],
    power("ROWS_PER_THREAD", "rows of a thread below each other, all read before the first use",
          _chunks),
)  # fmt: skip
PIXEL = (
    MAP[0],
    power("VECTOR", "consecutive pixels of one access", _pixels),
    power("CHUNKS", OF_CHUNKS, _chunks_of_pixels),
)
# Bytes of a block's own counts, of 512 threads: four such blocks fill a multiprocessor of an A100.
PRIVATE_BYTES = 40 * 1024
COUNT_BYTES = 4
# On the host: half of the nearest cache, and as many copies as hide how long one addition takes.
HOST_COUNT_BYTES, HOST_COPIES = 16 * 1024, 4


def bins_fit(facts: Facts) -> bool:
    """Whether a block of a kernel that counts has room for its bins."""
    return COUNT_BYTES * facts.bins <= facts.device.block_bytes


def _copies(facts: Facts) -> int:
    """One for each thread of a warp, if there is room: then no two of these meet."""
    device = facts.device
    if device.is_host:
        return min(HOST_COPIES, power_below(HOST_COUNT_BYTES // (COUNT_BYTES * facts.bins)))
    room = min(PRIVATE_BYTES, device.block_bytes, device.shared_bytes // 2)  # for two, at least
    return min(32, power_below(room // (COUNT_BYTES * facts.bins)))


COUNT = (
    block(512), MAP[1], power("CHUNKS", OF_CHUNKS, _chunks),
    Toggle(
        "USE_SHARED_MEMORY", "a block counts in shared memory, and adds that to the counts",
        lambda f: int(bins_fit(f)),
    ),
    power(
        "COPIES", "histograms of a block; the threads of a warp take turns at them", _copies,
        values=POWERS[:6],
    ),
    Toggle(
        "USE_RUNS", "a block has a run of chunks, and does not take turns with the others",
        lambda f: int(f.device.is_host),
    ),
)  # fmt: skip
ROWS_PER_BLOCK = power(
    "ROWS_PER_BLOCK", "rows of one block",
    lambda f: 1 if f.device.is_host else max(1, 128 // _plan(f).threads),
)  # fmt: skip
IN_REGISTERS = (
    Toggle(
        "USE_REGISTER_ROW", "the row stays in registers between passes",
        lambda f: int(not f.device.is_host and f.row_chunks <= _most_chunks(f)), _fits_registers,
    ),
    power(
        "ROW_CHUNKS", "chunks of a row that one thread may hold; its loops unroll by them",
        lambda f: f.row_chunks if f.row_chunks <= _most_chunks(f) else 1, _covers_row,
    ),
)  # fmt: skip
ROW = (
    ROWS_PER_BLOCK, *IN_REGISTERS,
    power("CHUNKS", OF_CHUNKS, _chunks_of_row),
)  # fmt: skip
REGISTERS = 65_536  # of a multiprocessor, on every architecture
# Threads of a multiprocessor that fill a device by plan: an A100 has 108, and 512 blocks of 256
# threads share a row.  Where ptxas leaves room for more, loads wait for each other.
ENOUGH_THREADS = 1280
BESIDES = 16  # registers of a loop, its places and one element's values
OF_BLOCKS, BLOCK_COUNTS = "blocks of a multiprocessor, whose registers they share", (1, 2, 3, 4, 5)


def _blocks_of_part(facts: Facts) -> int:
    """So many that a thread has the registers for what it loads and joins."""
    if facts.device.is_host:
        return 1
    plan, joined = _plan(facts), sum(facts.joined) // 4
    besides = BESIDES * (2 if facts.wide_functions else 1)  # their constants
    needed = besides + plan.lanes * (_chunks_of_part(facts) * facts.held + joined)
    most = min(ENOUGH_THREADS, REGISTERS // needed)
    return max(1, min(most // plan.threads, BLOCK_COUNTS[-1]))


PARTS = (
    power(
        "PARTS", "accumulation plan: blocks that share a row", lambda f: _plan(f).parts,
        values=tuple(1 << n for n in range(MOST_TILES.bit_length())),
    ),
    Toggle(
        "USE_RUNS", "accumulation plan: a block has a run of its row, not every PARTS-th piece",
        lambda f: int(_plan(f).runs),
    ),
)  # fmt: skip
REDUCE = (
    power("CHUNKS", OF_CHUNKS, _chunks_of_part),
    Toggle("BLOCKS_EACH", OF_BLOCKS, _blocks_of_part, values=BLOCK_COUNTS), *PARTS,
)  # fmt: skip
