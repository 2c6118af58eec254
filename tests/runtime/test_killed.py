"""Killed or stopped processes, and many that start at once: what the next one finds."""

import os
import signal
import subprocess
import sys
import threading
import time
import warnings
from pathlib import Path

import pytest

from opweave.runtime.binaries import claims
from opweave.runtime.binaries.build import BinaryBuilder
from opweave.runtime.binaries.cache import DiskCache
from opweave.runtime.host.launcher import load_library
from opweave.runtime.process import locks
from tests.runtime.test_cache import BINARY, stored
from tests.support.processes import left_behind, python

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
    child = forked(lambda: BinaryBuilder(DiskCache(tmp_path / "cache")).build_plain(ANSWER))
    time.sleep(milliseconds / 1e3)
    os.kill(child, signal.SIGKILL)
    status_of(child)
    begin = time.monotonic()
    binary = BinaryBuilder(DiskCache(tmp_path / "cache")).build_plain(ANSWER)

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
        for _ in range(4)
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
