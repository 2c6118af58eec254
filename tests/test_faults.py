"""Killed, interrupted, forked, crowded, out of memory: what the next call finds afterwards."""

import os
import pkgutil
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from test_cache import BINARY, stored

import opweave as ow
from opweave.opcodes.errors import OutOfMemoryError
from opweave.runtime.binaries import claims, compilers, hostcc
from opweave.runtime.binaries.build import Builder
from opweave.runtime.binaries.cache import DiskCache
from opweave.runtime.host import pool
from opweave.runtime.host.launcher import load_library
from opweave.runtime.process import locks

pytestmark = pytest.mark.host
ANSWER = 'extern "C" int answer() { return 42; }'


def forked(work):
    """Run in a child; its process id.  What it raises, and whatever hangs, is its exit status."""
    child = os.fork()
    if child:
        return child
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(60)
        work()
        os._exit(0)
    except BaseException:
        import traceback

        traceback.print_exc()
    os._exit(1)


def status_of(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.fixture(scope="module")
def warm(tmp_path_factory):
    """A cache folder that has the executor's own library, and no kernel."""
    root = tmp_path_factory.mktemp("warm") / "cache"
    python(
        "from opweave.runtime.host.launcher import runtime_library; runtime_library()",
        OPWEAVE_CACHE_DIR=str(root),
    )
    return root


@pytest.fixture
def root(warm, tmp_path):
    return shutil.copytree(warm, tmp_path / "cache")


def python(code, **environment):
    """Run a program to its end, which prints what happened."""
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env=os.environ | environment, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def left_behind(root):
    return [p.name for p in root.glob(".tmp-*")]


# Killed


def kill_at(event_number):
    """From now on, this process is killed right before its so many-th touch of a file."""
    seen = 0

    def hook(event, arguments):
        nonlocal seen
        if event in ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "fcntl.flock"):
            seen += 1
            if seen == event_number:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)


def test_a_process_killed_between_any_two_touches_of_files_leaves_a_cache_that_works(tmp_path):
    killed = 0
    for number in range(1, 60):
        cache = DiskCache(tmp_path / str(number))

        def work(cache=cache, number=number):
            kill_at(number)
            with cache.claim("ab" * 32):
                stored(cache)

        status = status_of(forked(work))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            after = DiskCache(cache.root)
            begin = time.monotonic()
            with after.claim("ab" * 32) as waited:
                key = stored(after)

        assert after.get(key) == BINARY
        assert not waited
        assert time.monotonic() - begin < 5
        if status == 0:
            break
        assert status == -signal.SIGKILL
        killed += 1

    assert status == 0
    assert killed >= 8


@pytest.mark.parametrize("milliseconds", [5, 30, 80, 150, 300])
def test_a_process_killed_while_it_compiles_leaves_no_lock(milliseconds, tmp_path):
    child = forked(lambda: Builder(DiskCache(tmp_path / "cache")).build_plain(ANSWER))
    time.sleep(milliseconds / 1e3)
    os.kill(child, signal.SIGKILL)
    status_of(child)
    begin = time.monotonic()
    binary = Builder(DiskCache(tmp_path / "cache")).build_plain(ANSWER)

    assert load_library(binary.payload).answer() == 42
    assert time.monotonic() - begin < claims.MOST_SECONDS / 2
    assert DiskCache(tmp_path / "cache").verify()[1] == []


def test_what_a_killed_process_left_half_written_is_removed_in_time(tmp_path):
    cache = DiskCache(tmp_path / "cache")
    stored(cache)
    old, new = (cache.root / f".tmp-1-{digit * 16}" for digit in "ab")
    for folder in (old, new):
        folder.mkdir()
        (folder / "binary").write_bytes(b"half")
    os.utime(old, (1000, 1000))
    stored(DiskCache(cache.root), arch="sm_90a")  # the first entry of another process

    assert left_behind(cache.root) == [new.name]


def test_nobody_waits_long_for_a_process_that_was_stopped(tmp_path, monkeypatch):
    cache, (reading, writing) = DiskCache(tmp_path / "cache"), os.pipe()

    def hold():
        with cache.claim("ab" * 32):
            os.write(writing, b"held")
            time.sleep(60)

    child = forked(hold)
    os.read(reading, 4)
    os.kill(child, signal.SIGSTOP)
    monkeypatch.setattr(claims, "MOST_SECONDS", 0.3)
    begin = time.monotonic()
    with cache.claim("ab" * 32) as waited:
        took = time.monotonic() - begin
    os.kill(child, signal.SIGKILL)
    status_of(child)

    assert waited
    assert 0.2 < took < 5


@pytest.mark.parametrize("broken", ["no such folder", "a link", "no locks"])
def test_a_claim_that_cannot_be_had_is_no_error(broken, tmp_path, monkeypatch):
    cache = DiskCache(tmp_path / "cache")
    stored(cache)
    if broken == "no such folder":
        monkeypatch.setattr(Path, "mkdir", lambda *args, **given: None)
    elif broken == "a link":
        (cache.root / "cd").symlink_to(tmp_path)
    else:
        monkeypatch.setattr(claims.fcntl, "flock", lambda *args: os.close(-1))
    with cache.claim("cd" * 32) as waited:
        assert not waited


# Crowded

STORM = """
import os, sys, numpy as np, opweave as ow
from opweave.runtime.binaries.build import builder
from opweave._functions.fused import Fused
f = ow.fuse(lambda x, s: np.sqrt(x * s) + 17)
x = np.arange(1000, dtype=np.float32)
reading, writing = os.pipe()
children = []
for _ in range(64):
    child = os.fork()
    if child == 0:
        os.close(writing)
        os.read(reading, 1)  # ends for all at once
        good = (f(x, 4) == np.sqrt(x * np.float32(4)) + np.float32(17)).all()
        os._exit(builder().compiled if good else 99)
    children.append(child)
os.close(writing)
print(*(os.waitstatus_to_exitcode(os.waitpid(c, 0)[1]) for c in children))
"""


def test_64_cold_processes_that_want_one_kernel_compile_it_once(tmp_path):
    out = python(STORM, OPWEAVE_CACHE_DIR=str(tmp_path / "cache"))
    compiled = [int(word) for word in out.split()]

    assert len(compiled) == 64
    assert max(compiled) <= 2  # 99 for a wrong result
    assert 2 <= sum(compiled) <= 4  # the kernel and the runtime; one may have looked just before
    assert left_behind(tmp_path / "cache") == []


COLD = """
import numpy as np, opweave as ow, sys
from opweave.runtime.binaries.build import builder
assert (ow.fuse(lambda x: x * 3 - 1)(np.ones(5)) == 2).all()
print(builder().compiled)
"""


def test_processes_that_start_at_once_share_their_work(root):
    environment = os.environ | {"OPWEAVE_CACHE_DIR": str(root)}
    command = [sys.executable, "-c", COLD]
    runs = [
        subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    compiled = [int(run.communicate(timeout=120)[0]) for run in runs]

    assert sum(compiled) in (1, 2)


CROWD = """
import sys, threading, numpy as np, opweave as ow
from opweave.runtime.host import launcher as host
from opweave.runtime.host import pool
from opweave.runtime.binaries.build import builder
sys.setswitchinterval(1e-6)
def program(x, s):
    return np.abs(x * s) + x.sum(axis=-1, keepdims=True)
f = ow.fuse(program)
kinds = [(t, shape) for t in ("f4", "f8", "i4", "c8")
         for shape in ((40,), (600_000,), (7, 300), (2, 3, 5))]
loads, load = [], host.load_library
host.load_library = lambda *args, **given: loads.append(1) or load(*args, **given)
wrong, start = [], threading.Barrier(32)
def work(number):
    dtype, shape = kinds[number % len(kinds)]
    x = (np.arange(np.prod(shape)) % 13 + number).astype(dtype).reshape(shape)
    start.wait()
    for s in (2, number, 1.5):
        if dtype == "i4" and s == 1.5:
            continue
        y, expected = f(x, s), program(x, s)
        if y.dtype != expected.dtype or y.shape != expected.shape \\
                or not np.allclose(y, expected, rtol=1e-4):
            wrong.append((dtype, shape, s))
threads = [threading.Thread(target=work, args=(n,)) for n in range(32)]
[t.start() for t in threads]
[t.join() for t in threads]
assert not wrong, wrong
print(f._specialised.traces, builder().compiled, len(builder().memory), len(loads))
"""


def test_32_threads_that_call_one_function_of_other_arrays_and_numbers_at_once(root):
    out = python(CROWD, OPWEAVE_CACHE_DIR=str(root))
    traces, compiled, known, loads = map(int, out.split())

    assert traces == 4 * 3 + 3 * 3  # dtypes and ranks, with an integer and with a float
    assert compiled == known - 1  # all but the runtime, which was there
    assert loads == known


def test_what_is_made_once_is_made_once_by_32_threads():
    made, start = [], threading.Barrier(32)

    @locks.Once
    def slow():
        time.sleep(0.05)
        made.append(object())
        return made[-1]

    found = []

    def work():
        start.wait()
        found.append(slow())

    threads = [threading.Thread(target=work) for _ in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(made) == 1
    assert found == made * 32


# Interrupted

# A compiler that takes its time while a file lies beside it, in a process of its own.
SLOW = """#!/bin/sh
if [ -e "$0.slow" ]; then
    {trap}
    echo x > "$TMPDIR/leftover"
    sleep 61.5 &
    echo x >> "$0.started"
    wait
    sleep 61.5
fi
exec {compiler} "$@"
"""

# What is compiled when Ctrl-C comes: one kernel by the thread that calls, several by several.
COMPILED = {
    "one kernel": "lambda x: x * 3 + 1",
    "several kernels": "lambda x: (x.sum(0) * 3, x.sum(1) + 1, x * 5)",
    "in parts": "lambda x: np.sort(x * 3) + 1",
}
INTERRUPTED = """
import contextlib, dataclasses, os, signal, sys, threading, time, numpy as np, opweave as ow
from opweave.runtime.binaries import hostcc
from pathlib import Path
signal.signal(signal.SIGINT, signal.default_int_handler)
found = hostcc.host_compiler()
wrapped = dataclasses.replace(
    found, command=({compiler!r}, *found.command[1:]), fingerprint="slow"
)
hostcc.host_compiler = lambda: wrapped
slow = Path({compiler!r} + ".slow"), Path({compiler!r} + ".started")
f, x = ow.fuse({function}), np.arange(12.0).reshape(3, 4)
sent = []
def interrupt():
    while not slow[1].exists():
        time.sleep(0.01)
    time.sleep(0.2)
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)
slow[0].touch()
threading.Thread(target=interrupt).start()
try:
    f(x)
    print("no KeyboardInterrupt")
except KeyboardInterrupt:
    print("stopped", time.monotonic() - sent[0] < 4)
slow[0].unlink()
def left_running():
    found = []
    for p in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # ended meanwhile
            mine = os.environ["TMPDIR"].encode() in (p.parent / "environ").read_bytes()
            if mine and b"sleep\\x0061.5" in p.read_bytes():
                found.append(p)
    return found
# what a compiler itself had started is killed with it, and ends when the system comes to it
for _ in range(100):
    left = left_running()
    if not left:
        break
    time.sleep(0.02)
# zig's own cache stays as long as the process
files = [name for name in os.listdir(os.environ["TMPDIR"]) if not name.startswith("opweave-zig-")]
print("processes", len(left), "files", files)
y, expected = f(x), f.__wrapped__(x)
print("then", all(map(np.array_equal, y, expected)))
"""


STUBBORN = "trap '' TERM"  # a compiler that ends only when it is killed


@pytest.mark.parametrize(("what", "trap"), [
    *((what, "") for what in COMPILED), ("one kernel", STUBBORN), ("several kernels", STUBBORN),
])  # fmt: skip
def test_ctrl_c_while_compiling(what, trap, root, tmp_path):
    real = hostcc.host_compiler().command[0]
    compiler = tmp_path / "bin" / Path(real).name
    compiler.parent.mkdir()
    (tmp_path / "tmp").mkdir()
    compiler.write_text(SLOW.format(compiler=real, trap=trap))
    compiler.chmod(0o755)
    out = python(
        INTERRUPTED.format(compiler=str(compiler), function=COMPILED[what]),
        OPWEAVE_CACHE_DIR=str(root), TMPDIR=str(tmp_path / "tmp"),
    )  # fmt: skip

    assert out.split("\n")[:3] == ["stopped True", "processes 0 files []", "then True"]
    assert left_behind(root) == []


def test_a_compiler_that_starts_after_the_others_were_stopped_ends_too():
    running, took = compilers.Running(), []

    def compile_late():
        running.enter()
        started = subprocess.Popen(
            ["sleep", "30"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0
        )
        begin = time.monotonic()
        compilers.communicate(started, b"")
        took.append(time.monotonic() - begin)

    running.stop()
    thread = threading.Thread(target=compile_late)
    thread.start()
    thread.join()

    assert took[0] < 10


# A function that is called while an entry replaces a damaged one.
CALLED = ["cache._write_new", "cache.os.rename", "cache.read_manifest", "cache.check_owned"]


@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize("function", CALLED)
def test_ctrl_c_while_an_entry_is_written_leaves_nothing_of_it(
    function, at, tmp_path, monkeypatch
):
    cache = DiskCache(tmp_path / "cache")
    key = stored(cache)
    (cache.root / key[:2] / key / "binary").write_bytes(b"damaged")
    calls, name = [], f"opweave.runtime.binaries.{function}"

    def interrupted(*args, real=pkgutil.resolve_name(name)):
        calls.append(args)
        result = real(*args)
        if len(calls) == at:
            raise KeyboardInterrupt
        return result

    with monkeypatch.context() as patch:
        patch.setattr(name, interrupted)
        with suppress(KeyboardInterrupt):
            stored(cache)

    assert left_behind(cache.root) == []
    assert stored(cache) == key
    assert cache.get(key) == BINARY


# Ctrl-C comes while a kernel runs that takes far longer than the test may.
RUNNING = """
import os, signal, threading, time, numpy as np, opweave as ow
signal.signal(signal.SIGINT, signal.default_int_handler)
ow.config.kept_bytes = 0
f = ow.fuse(lambda x: (np.sin(x) * np.cos(x)).sum(-1))
few = np.broadcast_to(np.float64(0.5), (1000, 2000))
many = np.broadcast_to(np.float64(0.5), (1 << 22, 1 << 14))
first = f(few)
{before}
for _ in range(2):
    at = time.monotonic() + 0.5
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    try:
        f(many)
        print("no KeyboardInterrupt")
    except KeyboardInterrupt:
        print("stopped", time.monotonic() - at < 3)
    print("then", (f(few) == first).all(), flush=True)
os._exit(0)
"""
BESIDE = """
threading.Thread(target=f, args=(many,), daemon=True).start()
time.sleep(0.3)  # the other thread has the workers
"""


@pytest.mark.parametrize("before", ["", BESIDE], ids=["alone", "beside another thread"])
def test_ctrl_c_while_a_kernel_runs(before, root):
    out = python(RUNNING.format(before=before), OPWEAVE_CACHE_DIR=str(root))

    assert out == "stopped True\nthen True\n" * 2


HANDLED = """
import signal, numpy as np, opweave as ow
seen = []
signal.signal(signal.SIGALRM, lambda *given: seen.append(1))
f = ow.fuse(lambda x: (np.sin(x) * np.cos(x)).sum(-1))
x = np.broadcast_to(np.float64(0.5), (1 << 12, 1 << 12))
expected = f(x)
signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
same = True
for _ in range(1000):  # until enough of them have come
    same = same and (f(x) == expected).all()
    if len(seen) > 20:
        break
signal.setitimer(signal.ITIMER_REAL, 0)
print(same, len(seen) > 20)
"""


def test_a_signal_whose_handler_returns_does_not_stop_a_kernel(root):
    assert python(HANDLED, OPWEAVE_CACHE_DIR=str(root)) == "True True\n"


def raise_at(line_number):
    """A trace function that raises KeyboardInterrupt at the so many-th line of the package."""
    seen = 0

    def local(frame, event, argument):
        nonlocal seen
        if event == "line":
            seen += 1
            if seen == line_number:
                sys.settrace(None)
                raise KeyboardInterrupt
        return local

    def tracer(frame, event, argument):
        return local if frame.f_globals.get("__name__", "").startswith("opweave") else None

    def count():
        return seen

    return tracer, count


# What is called when Ctrl-C comes, at many points from the first line to the last.
TRACED = {
    "whole": lambda x: (np.sqrt(x * 3) + x.sum(0), x.reshape(-1)[1:].cumsum()),
    "in parts": lambda x: np.sort(x * 3) + np.sqrt(x)[x > 2].sum(),
    "with assignments": lambda x: x.copy().__setitem__((x > 2,), 0) or x * 2,
}


@pytest.mark.parametrize("name", TRACED)
def test_ctrl_c_at_any_line_of_a_first_call(name):
    x = np.arange(12.0).reshape(3, 4)
    expected = TRACED[name](x)

    def called(at):
        fused = ow.fuse(TRACED[name])
        tracer, count = raise_at(at)
        sys.settrace(tracer)
        try:
            fused(x)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(None)
        return fused, count()

    called(-1)  # compiles
    _, lines = called(-1)
    assert lines > 1000
    for at in range(1, lines, max(1, lines // 40)):
        fused, _ = called(at)
        assert sys.getprofile() is None
        for one, other in zip(fused(x), expected, strict=True):
            np.testing.assert_allclose(one, other)


def test_a_call_that_was_thought_short_handles_signals_too(root):
    """It kept Python's lock; what it takes is known only afterwards."""
    assert python("""
        import signal, numpy as np, opweave as ow
        f = ow.fuse(lambda x: np.tanh(np.tanh(x)) - np.tanh(x).sum())
        x = np.ones(1 << 24, np.float32)
        expected = f(x)
        for step in f.bound((x,))[0].prepared.steps:
            step.launch.run.alone = 0
        seen = []
        signal.signal(signal.SIGALRM, lambda *given: seen.append(1))
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        found = f(x)
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(len(seen) > 0, (found == expected).all())
    """, OPWEAVE_CACHE_DIR=str(root)) == "True True\n"  # fmt: skip


# Forked

FORKED = """
import multiprocessing, os, signal, sys, threading, numpy as np, opweave as ow
from opweave.runtime.process import locks
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


# Out of memory


def huge(side=1 << 20):
    one = np.float32(1)
    return np.broadcast_to(one, (side, 1)), np.broadcast_to(one, (1, side))


# What asks for more memory than there is, and the array that the error names.
TOO_LARGE = {
    "a result": lambda a, b: a + b,
    "a temporary": lambda a, b: np.sort(a + b)[0],
    "in a container": lambda a, b: {"y": (a * b, a.sum())},
}


@pytest.mark.parametrize("kept", [0, 1 << 24])
@pytest.mark.parametrize("name", TOO_LARGE)
def test_a_result_that_is_too_large_is_named_and_nothing_else_is_lost(name, kept):
    fused = ow.fuse(TOO_LARGE[name])
    small = huge(1000)
    with ow.config(kept_bytes=kept):
        expected = str(fused(*small))
        with pytest.raises(OutOfMemoryError, match=r"float32\[1048576, 1048576\] of 4,398,046,5"):
            fused(*huge())
        assert str(fused(*small)) == expected

        assert issubclass(OutOfMemoryError, MemoryError)


def test_memory_that_is_kept_is_given_back_before_an_allocation_fails(monkeypatch):
    fused = ow.fuse(lambda x: x * 2)
    x = np.ones(1 << 19, np.float32)
    with ow.config(kept_bytes=1 << 26):
        fused(x)
        assert pool.counts().idle_bytes > 0
        idle, taken = [], pool._taken

        def fails_once(shape, dtype):
            idle.append(pool.counts().idle_bytes)
            if len(idle) == 1:
                raise MemoryError
            return taken(shape, dtype)

        monkeypatch.setattr(pool, "_taken", fails_once)
        assert (fused(x) == 2).all()

        assert idle[0] > 0
        assert idle[1] == 0
