"""The SIMT checker in its process: threads, Ctrl-C, limits, and what launches leave behind."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import opweave as ow
from opweave.runtime.simt import checker
from opweave.runtime.simt.handwritten import Handwritten
from tests.support.cuda_bodies import floats, kernel

pytestmark = pytest.mark.host


def test_threads_may_check_at_once(tmp_path):
    """In a process of its own with an empty cache, so that all of it is built by two threads."""
    code = f"""
import sys, threading
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from tests.support.sanitized import FAULTY
import opweave as ow
case, found = FAULTY[0], []
def check():
    report = ow.sanitize_source(case.source, "k", 2, 64, case.arguments(), schedules=2)
    found.append(report.ok)
threads = [threading.Thread(target=check) for _ in range(4)]
[t.start() for t in threads]
[t.join() for t in threads]
assert found == [False] * 4, found
"""
    environment = os.environ | {"OPWEAVE_CACHE_DIR": str(tmp_path)}
    ran = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )

    assert ran.returncode == 0, ran.stderr


ENDLESS = """
import os, signal, threading, time
import opweave as ow
signal.signal(signal.SIGINT, signal.default_int_handler)
source = 'extern "C" __global__ void k(float* y) {{ while (true) {body} }}'
threading.Timer(3, lambda: {action}).start()
try:
    ow.sanitize_source(source, "k", 1, 64, [__import__("numpy").zeros(1, "f4")])
except KeyboardInterrupt:
    print("stopped")
"""


@pytest.mark.parametrize("body", ["{}", "__syncthreads();"])  # in a thread, among the threads
def test_ctrl_c_stops_a_kernel_that_never_ends(body):
    code = ENDLESS.format(body=body, action="os.kill(os.getpid(), signal.SIGINT)")
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=100
    )

    assert ran.stdout == "stopped\n", ran.stderr


def test_a_fault_of_another_thread_is_not_taken_for_the_kernels():
    fault = "signal.pthread_kill(threading.get_ident(), signal.SIGSEGV)"
    ran = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", ENDLESS.format(body="{}", action=fault)],
        capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip

    assert ran.returncode == -signal.SIGSEGV
    assert "Segmentation fault" in ran.stderr


def test_every_launch_starts_from_the_same_device_variables():
    source = kernel(
        "    if (t == 0) y[0] = atomicAdd(&hits, 1);", before="__device__ int hits = 7;"
    )
    for _ in range(2):
        report = ow.sanitize_source(source, "k", 1, 32, [floats(1), floats(1)], schedules=3)
        assert report.args[1][0] == 7


# Each block fills its shared memory and waits for the next one before it looks at it again.
RESIDENT = """
extern "C" __global__ void k(volatile int* done, int* wrong, int count) {
    extern __shared__ int mine[];
    const int b = blockIdx.x, t = threadIdx.x;
    for (int n = t; n < count; n += blockDim.x) mine[n] = b + n;
    __syncthreads();
    if (t == 0 && b + 1 < gridDim.x) while (!done[b + 1]) {}
    __syncthreads();
    for (int n = t; n < count; n += blockDim.x) wrong[b * blockDim.x + t] += mine[n] != b + n;
    __syncthreads();
    __threadfence();
    if (t == 0) done[b] = 1;
}
"""


def test_blocks_that_wait_keep_their_shared_memory_whatever_ran_before():
    for count in (8, 20000, 8):
        arrays = [np.zeros(8, np.int32), np.zeros(256, np.int32)]
        report = ow.sanitize_source(
            RESIDENT, "k", 8, 32, [*arrays, count], shared_bytes=4 * count, schedules=3
        )

        assert report.ok, str(report)
        assert not report.args[1].any()


LIMITED = """
import resource
import numpy as np, opweave as ow
from opweave.opcodes.errors import OutOfMemoryError
x = np.ones((64, 64), np.float32)
program = ow.fuse(lambda x: x.T * 2 + x).lower(x, target="sm_80")
if {before}:
    {run}
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * 4096 + (600 << 20), resource.RLIM_INFINITY))
try:
    {run}
    print("no error")
except OutOfMemoryError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
{run}
"""


@pytest.mark.parametrize(("run", "before"), [
    ("program.verify(x)", False),
    ("ow.sanitize(program, x)", False),
    ("ow.sanitize(program, x)", True),  # the fibres have their stacks by then
])  # fmt: skip
def test_a_limit_on_address_space_is_named(run, before):
    x = np.ones((64, 64), np.float32)  # compilers shall find all of it in the cache
    program = ow.fuse(lambda x: x.T * 2 + x).lower(x, target="sm_80")
    program.verify(x)
    ow.sanitize(program, x)
    ran = subprocess.run(
        [sys.executable, "-c", LIMITED.format(before=before, run=run)],
        capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip

    assert ran.returncode == 0, ran.stderr
    assert "its threads need more address space" in ran.stdout


def test_ctrl_c_leaves_device_variables_as_they_were():
    source = kernel(
        "    if (t == 0) y[0] = atomicAdd(&hits, 1);", before="__device__ int hits = 7;"
    )
    launch = Handwritten(source, "k", 1, 32, [floats(1), floats(1)], 0)
    with pytest.MonkeyPatch.context() as patch:
        run = checker._run

        def stopped(*args):
            run(*args)
            raise KeyboardInterrupt

        patch.setattr(checker, "_run", stopped)
        with pytest.raises(KeyboardInterrupt):
            launch.run(0)

    assert launch.run(0)[1][1][0] == 7
