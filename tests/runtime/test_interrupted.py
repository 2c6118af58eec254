"""Ctrl-C and other signals while a call traces, compiles, writes or runs."""

import pkgutil
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

import opweave as ow
from opweave.runtime.binaries import compilers, hostcc
from opweave.runtime.binaries.cache import DiskCache
from tests.runtime.test_cache import BINARY, stored
from tests.support.processes import left_behind, python

LIBRARY_IN_PARTS = True
pytestmark = pytest.mark.host
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
    "in parts": "lambda x: np.unique(x * 3) + 1",
}
INTERRUPTED = """
import contextlib, dataclasses, os, signal, sys, threading, time, numpy as np, opweave as ow
from opweave._functions import short
from opweave.runtime.binaries import hostcc
from pathlib import Path
short.PAYS = 0
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


ON_ONE = "ow.config.threads = 1"


@pytest.mark.parametrize(
    "before", ["", BESIDE, ON_ONE], ids=["alone", "beside another thread", "on one thread"]
)
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
        for step in f.bound((x,))[0].prepared.plan.steps:
            step.launch.run.alone = 0
        seen = []
        signal.signal(signal.SIGALRM, lambda *given: seen.append(1))
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        found = f(x)
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(len(seen) > 0, (found == expected).all())
    """, OPWEAVE_CACHE_DIR=str(root)) == "True True\n"  # fmt: skip
