"""On a GPU: no memory left, faults that are final, and forked children."""

import subprocess
import sys

import pytest

import opweave as ow
from opweave.opcodes import errors as e

pytestmark = pytest.mark.gpu


def test_out_of_memory_is_a_typed_error_and_nothing_else_is_lost(cp):
    fused = ow.fuse(lambda x: x + 1)
    total = cp.cuda.runtime.memGetInfo()[1]
    whole = cp.broadcast_to(cp.ones(1, cp.float32), (total // 4,))
    with pytest.raises(e.OutOfMemoryError, match=r"device 0 has no memory for an array f32\["):
        fused(whole)

    assert (fused(whole[:1000]) == 2).all()


def test_memory_that_the_pool_keeps_serves_a_result(cp):
    pool = cp.get_default_memory_pool()
    pool.free_all_blocks()
    free = cp.cuda.runtime.memGetInfo()[0]
    kept = [cp.empty(free // 16, cp.uint8) for _ in range(14)]
    del kept  # blocks that are too small for the result

    made = ow.fuse(lambda x: x + 1)(cp.broadcast_to(cp.ones(1, cp.uint8), (free // 2,)))
    assert (made[::1_000_003] == 2).all()


# A fault ends the use of the device by its process, so each has one of its own.
FAULTS = {
    "a kernel of others": "cp.RawKernel('extern \"C\" __global__ void k(int* p) { *p = 1; }', 'k')"
    "((1,), (1,), (cp.uint64(8),))",
    "a kernel of ours": "f(cp.lib.stride_tricks.as_strided(x, (1 << 20,), (1 << 22,)))",
}
AFTER = """
import sys, cupy as cp, opweave as ow
from opweave.runtime.cuda.faults import STICKY
f, x = ow.fuse(lambda x: x + 1), cp.ones(1 << 20, cp.float32)
f(x)
try:
    {fault}
    cp.cuda.Device().synchronize()
except Exception as error:
    print(type(error), getattr(error, "status", None), error, file=sys.stderr)
    is_final = getattr(error, "status", None) in STICKY or "restart the process" in str(error)
    print("found", is_final)
for _ in range(2):
    try:
        f(x)
    except ow.errors.LaunchError as error:
        print("restart the process" in str(error), "kernel_map_f32" in str(error))
import os
os._exit(0)
"""


@pytest.mark.parametrize("fault", FAULTS)
def test_after_a_fault_that_is_final_nothing_is_launched(fault):
    code = AFTER.format(fault=FAULTS[fault])
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    sys.stderr.write(ran.stderr)  # which fault CUDA has found: `-rP` shows it
    assert ran.stdout == "found True\nTrue True\nTrue True\n", ran.stderr


FORKED = """
import multiprocessing, os, cupy as cp, opweave as ow
f = ow.fuse(lambda x: x + 1)
def work():
    print("spawn", float(f(cp.ones(3, cp.float32)).sum()), flush=True)
if __name__ == "__main__":
    x = cp.ones(3, cp.float32)
    f(x)
    child = os.fork()
    if child == 0:
        try:
            f(x)
        except ow.errors.NoDeviceError as error:
            print("fork", "get_context('spawn')" in str(error), flush=True)
        os._exit(0)
    os.waitpid(child, 0)
    process = multiprocessing.get_context("spawn").Process(target=work)
    process.start()
    process.join()
"""


def test_a_forked_child_is_told_to_be_spawned(tmp_path):
    (tmp_path / "program.py").write_text(FORKED)
    command = [sys.executable, str(tmp_path / "program.py")]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=120)

    assert ran.stdout == "fork True\nspawn 6.0\n", ran.stderr
