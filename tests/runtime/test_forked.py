"""A child finds every lock free and its memory whole, whatever its parent did at the fork."""

import os
import subprocess
import sys

import pytest

from tests.support.processes import python

pytestmark = pytest.mark.host
FORKED = """
import multiprocessing, os, signal, sys, threading, numpy as np, opweave as ow
from opweave._functions import short
from opweave.runtime.process import locks
short.PAYS = 0
f = ow.fuse(lambda x: np.sqrt(x) * 2 + 1)
small, large = np.ones((3, 5), np.float32), np.full((900, 1000), 4, np.float32)
f(small), f(large)
program = f.lower(small, target="sm_80")
program(small)
def use(number):
    "Everything that has a lock or threads of its own."
    for _ in range(3):
        assert (f(large) == 5).all() and (f(small) == 3).all()
    g = ow.fuse(lambda x: x * 2 + number)
    assert (g(small) == 2 + number).all()
    assert (program(small) == 3).all()
    assert (ow.fuse(lambda x: np.sort(x) * 3)(large) == 12).all()
"""
HELD = """
held, done = threading.Event(), threading.Event()
def hold():
    for one in list(locks._made):
        one.acquire()
    held.set()
    done.wait()
threading.Thread(target=hold, daemon=True).start()
held.wait()
print(len(locks._made) > 5)
child = os.fork()
if child == 0:
    signal.alarm(60)
    use(7)
    os._exit(0)
print(os.waitpid(child, 0)[1])
sys.stdout.flush()
os._exit(0)
"""
BUSY = """
ending = threading.Event()
def busy(work):
    while not ending.is_set():
        work()
works = [lambda: f(large), lambda: program(small), lambda: ow.fuse(lambda x: x + 1)(large)]
threads = [threading.Thread(target=busy, args=(work,)) for work in works]
[t.start() for t in threads]
states = []
for number in range(20):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        use(number % 2)
        os._exit(0)
    states.append(os.waitpid(child, 0)[1])
ending.set()
[t.join() for t in threads]
use(3)
print(set(states))
"""
COMPUTED = """
from opweave.opcodes.cached import cached_property
begun = threading.Event()
class Slow:
    @cached_property
    def answer(self):
        if threading.current_thread() is not threading.main_thread():
            begun.set()
            threading.Event().wait()
        return 42
threading.Thread(target=lambda: Slow().answer, daemon=True).start()
begun.wait()
child = os.fork()
if child == 0:
    signal.alarm(30)
    os._exit(Slow().answer != 42)
print(os.waitpid(child, 0)[1])
sys.stdout.flush()
os._exit(0)
"""
STARTED = """
if __name__ == "__main__":
    for way in ("fork", "spawn"):
        with multiprocessing.get_context(way).Pool(2) as workers:
            workers.map(use, [0, 1])
        print(way)
    use(1)
"""


def test_a_child_finds_every_lock_free_whoever_held_it(root):
    assert python(FORKED + HELD, OPWEAVE_CACHE_DIR=str(root)) == "True\n0\n"


def test_a_child_asks_for_what_another_thread_was_computing_at_the_fork(root):
    assert python(FORKED + COMPUTED, OPWEAVE_CACHE_DIR=str(root)) == "0\n"


def test_a_child_works_whatever_other_threads_did_at_the_fork(root):
    assert python(FORKED + BUSY, OPWEAVE_CACHE_DIR=str(root)) == "{0}\n"


# Another thread maps and unmaps memory, and has the lock of the memory most of the time.
TAKEN = """
import ctypes, os, signal, threading
from opweave.runtime.host import pool
library, ending = pool._library(), threading.Event()
library.ow_pool_malloc.restype = ctypes.c_void_p
def take():
    while not ending.is_set():
        made = library.ow_pool_malloc(None, ctypes.c_ulong(1 << 26))
        library.ow_pool_free(None, ctypes.c_void_p(made), ctypes.c_ulong(0))
thread = threading.Thread(target=take)
thread.start()
states = set()
for _ in range(60):
    child = os.fork()
    if child == 0:
        signal.alarm(5)
        pool.counts()
        os._exit(0)
    states.add(os.waitpid(child, 0)[1])
    if states != {0}:
        break
ending.set()
thread.join()
print(states)
"""


def test_a_child_finds_the_memory_of_results_whole(root):
    assert python(TAKEN, OPWEAVE_CACHE_DIR=str(root)) == "{0}\n"


def test_workers_of_multiprocessing_work_forked_and_spawned(root, tmp_path):
    (tmp_path / "program.py").write_text(FORKED + STARTED)
    ran = subprocess.run(
        [sys.executable, str(tmp_path / "program.py")], capture_output=True, text=True,
        env=os.environ | {"OPWEAVE_CACHE_DIR": str(root)}, timeout=120,
    )  # fmt: skip

    assert ran.stdout == "fork\nspawn\n", ran.stderr


# A thread of the parent runs a kernel in the checker, which has taken over Ctrl-C.
SIGNALS = """
import os, signal, threading, time, numpy as np, opweave as ow
signal.signal(signal.SIGINT, signal.default_int_handler)
source = 'extern "C" __global__ void k(float* y) { while (true) __syncthreads(); }'
def endless():
    ow.sanitize_source(source, "k", 1, 64, [np.zeros(1, "f4")])
before = open("/proc/self/status").read().split("SigCgt:")[1].split()[0]
threading.Thread(target=endless, daemon=True).start()
while open("/proc/self/status").read().split("SigCgt:")[1].split()[0] == before:
    time.sleep(0.01)
child = os.fork()
if child == 0:
    signal.alarm(20)
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(10)
    except KeyboardInterrupt:
        os._exit(0)
    os._exit(1)
print(os.waitpid(child, 0)[1], flush=True)
os._exit(0)
"""


def test_ctrl_c_reaches_a_child_of_a_process_that_checks_a_kernel():
    assert python(SIGNALS) == "0\n"


def test_a_child_leaves_the_parents_temporary_folders(tmp_path):
    code = """
    import os, sys, threading
    from opweave.runtime.binaries import hostcc
    folders, begun, done = [hostcc.zig_cache()], threading.Event(), threading.Event()
    def compiler(command, source, folder):
        folders.append(folder)
        begun.set()
        done.wait()
        open(os.path.join(folder, "kernel.so"), "w").close()
    hostcc.run_compiler = compiler
    thread = threading.Thread(target=hostcc.compile_host, args=("", (), ()))
    thread.start()
    begun.wait()
    child = os.fork()
    if child == 0:
        sys.exit()  # runs what is registered for the end of a process
    os.waitpid(child, 0)
    print(*map(os.path.isdir, folders))
    done.set()
    thread.join()
    print(*map(os.path.isdir, folders))
    """

    assert python(code, TMPDIR=str(tmp_path)) == "True True\nTrue False\n"
    assert list(tmp_path.iterdir()) == []


FORKED_MEANWHILE = """
import os, signal, sys, numpy as np, opweave as ow
f = ow.fuse(lambda x: np.sin(np.exp(np.tan(x))) + np.cos(x) * np.arctan(x) + np.cbrt(x))
x = np.random.default_rng(0).random(6_000_000)
expected, parent = f(x), os.getpid()
def fork(*args):
    os.fork()
signal.signal(signal.SIGALRM, fork)
signal.setitimer(signal.ITIMER_REAL, 0.02)
# parts that the parent's workers had taken are lost to a child, so that it starts again
f(x)
right = np.array_equal(f(x[:99_999]), expected[:99_999])
if os.getpid() != parent:
    os._exit(0 if right else 1)
print(right, os.waitpid(-1, 0)[1], flush=True)
"""


@pytest.mark.host
def test_a_handler_that_forks_during_a_launch_leaves_a_child_that_works():
    assert python(FORKED_MEANWHILE, OMP_NUM_THREADS="2") == "True 0\n"
