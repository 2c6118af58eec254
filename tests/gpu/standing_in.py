"""Who runs the tests of a GPU: one that is there, or else a stand-in of CuPy.

The stand-in's arrays are NumPy's, and its kernels run in the C++ shim (tests/rounds/cupy_by_shim).
"""

from functools import cache
from pathlib import Path

import opweave as ow
from tests.support.tiers import Slow

FOLDER = Path(__file__).parent
ORDER = "it asks whether the order of threads changes a bit, and the shim has one order"
MEMORY = "it fills the memory of a device"
PROCESS = "what a device does to a process: a fault, or a fork"
# Tests that the stand-in cannot serve, and why.
UNSERVED = {
    "test_gpu.py::test_a_hundred_runs_give_the_same_bits": ORDER,
    "test_gpu.py::test_long_scans_of_many_blocks_give_the_same_bits_at_every_run": ORDER,
    "test_gpu.py::test_more_than_2_to_the_31_elements": MEMORY,
    "test_gpu.py::test_a_regime_is_measured": "it measures the times of a device",
    "test_gpu_faults.py::test_out_of_memory_is_a_typed_error_and_nothing_else_is_lost": MEMORY,
    "test_gpu_faults.py::test_memory_that_the_pool_keeps_serves_a_result": MEMORY,
    "test_gpu_faults.py::test_after_a_fault_that_is_final_nothing_is_launched": PROCESS,
    "test_gpu_faults.py::test_a_forked_child_is_told_to_be_spawned": PROCESS,
    "test_gpu_graphs.py::test_replays_on_two_streams_do_not_disturb_each_other":
        "several threads replay at once, and the stand-in's streams are those of one thread",
}  # fmt: skip


@cache
def has_gpu() -> bool:
    """Whether CuPy has a device."""
    try:
        from opweave.runtime.cuda.executor import cupy

        cupy()
    except ow.errors.NoDeviceError:
        return False
    return True


def is_for_gpu(item) -> bool:
    """Whether a test is one of tests/gpu."""
    return FOLDER in item.path.parents


def why_skipped(item) -> str:
    """Why a test that needs a GPU is skipped where there is none; "" where the stand-in runs it."""
    if not is_for_gpu(item):
        return "needs gpu"
    reason = UNSERVED.get(item.nodeid.split("[")[0].removeprefix("tests/gpu/"))
    return f"needs gpu: {reason}" if reason else ""


def table_for(items, table: dict[str, Slow]) -> dict[str, Slow]:
    """The slow tier, of which a device has no part: it runs all its tests by default."""
    if not any(map(is_for_gpu, items)) or not has_gpu():
        return table
    return {name: row for name, row in table.items() if not name.startswith("gpu/")}
