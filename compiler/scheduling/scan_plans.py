"""Plans of scans: pure functions of the shape class, the dtype and the target, as all plans are.

On the host a row is NumPy's own loop, so that its bits are NumPy's.  On a GPU a row that lies
along the memory is shared by the threads of a block.  Rows that lie side by side are walked by one
thread each, neighbouring rows by neighbouring threads, if there are many; where these do not fill
a device, blocks share the rows.
"""

from __future__ import annotations

from opweave.compiler.ir.accumulation import MOST_TILES, ScanPlan
from opweave.compiler.ir.device import Device
from opweave.compiler.ir.graph import Node, scanned_axis
from opweave.compiler.ir.values import Extents, count, extent_of

# Longest row for a number of threads; longer rows take MOST_THREADS.
ROW_THREADS = ((32, 8), (64, 16), (1024, 32), (2048, 64), (4096, 128), (16384, 256))
MOST_THREADS = 512
LANES = 4
# The tile of a long row is larger, in bytes of one operand in the registers of a thread: barriers
# take most of its time.
LONG_BYTES = 32
PART_THREADS = 256  # of each block that shares a row
# Rows longer than this are shared by blocks, where there are few of them.  Each block holds one
# tile, of so many bytes of a thread, so that memory is read once.
LONG_ROW, FEW_ROWS = 32768, 64
HELD_BYTES = 64
HOST_LANES = 64
# Rows side by side from which each takes one thread, as do those that are shorter than what the
# threads of a warp take at once.  Fewer are faster by the model where threads share a row.
MANY_ROWS = 4096
SHORT_ROW = 32 * LANES
# Such threads that keep the memory of a large device busy; elements of each part of a row at
# least, and parts at most: a thread adds those up that come before its own.
ABREAST_THREADS = 1 << 17
LEAST_SHARE, MOST_SHARES = 64, 256
# Rows side by side from which a host thread walks several at once.
HOST_ABREAST = 16


def plan_scan(node: Node, extents: Extents, device: Device) -> ScanPlan:
    """The accumulation plan of a scan for given extents; it is also the scan's class."""
    shape, axis = node.result.shape, scanned_axis(node)
    cols = extent_of(shape[axis], extents)
    beside = count(shape[axis + 1 :], extents)
    rows = beside * count(shape[:axis], extents)
    if device.is_host:
        if beside >= HOST_ABREAST:
            return ScanPlan(1, HOST_LANES, abreast=True)
        return ScanPlan(1, min(HOST_LANES, 1 << max(0, cols - 1).bit_length()))
    if beside > 1 and (rows >= MANY_ROWS or cols <= SHORT_ROW):
        return ScanPlan(1, LANES, shares(rows, cols), abreast=True)
    threads = next((t for limit, t in ROW_THREADS if cols <= limit), MOST_THREADS)
    if cols <= LONG_ROW:
        return ScanPlan(threads, LANES)
    itemsize = max(4, node.result.dtype.itemsize)
    if rows >= FEW_ROWS:
        return ScanPlan(threads, LONG_BYTES // itemsize)
    held = HELD_BYTES // itemsize
    parts = 1 << (-(-cols // (PART_THREADS * held)) - 1).bit_length()
    return ScanPlan(PART_THREADS, held, min(parts, MOST_TILES), held=parts <= MOST_TILES)


def shares(rows: int, cols: int) -> int:
    """Blocks for each of ``rows`` rows side by side, of ``cols`` elements, a power of two."""
    if cols <= SHORT_ROW:
        return 1
    wanted = min(ABREAST_THREADS // max(1, rows), cols // LEAST_SHARE, MOST_SHARES)
    return 1 << max(0, wanted.bit_length() - 1)
