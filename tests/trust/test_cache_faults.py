"""The disk cache where the file system, or a compiler, does not do what is expected of it."""

import errno
import os
import resource
import shutil
import signal
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import pytest

from opweave.runtime.binaries.build import BinaryBuilder
from opweave.runtime.binaries.cache import DiskCache
from opweave.runtime.host.launcher import runtime_binary
from tests.runtime.test_cache import BINARY, SOURCE, stored

KERNEL = 'extern "C" __global__ void k(float* x) { x[0] = 1; }'


def left(root):
    """What lies in a cache folder besides entries."""
    return [p.name for p in root.glob(".tmp-*")]


# A compiler that gives other bytes each time


def test_the_key_does_not_depend_on_what_the_compiler_gives(tmp_path, monkeypatch):
    given = iter([b"first" * 9, b"second" * 9])
    monkeypatch.setattr(BinaryBuilder, "_compiled", lambda *args, **kwargs: next(given))
    first, second = (
        BinaryBuilder(DiskCache(tmp_path / name)).build(KERNEL, "k", "host") for name in "ab"
    )
    again = BinaryBuilder(DiskCache(tmp_path / "b")).build(KERNEL, "k", "host")

    assert first.payload != second.payload
    assert first.key == second.key == again.key
    assert (again.payload, again.origin) == (second.payload, "disk")


def test_of_two_that_store_other_bytes_the_first_stays(tmp_path):
    cache = DiskCache(tmp_path)
    key = stored(cache)
    cache.put(key, SOURCE, b"other", dict(cache.entries().__next__().manifest["parts"]))

    assert cache.get(key) == BINARY
    assert left(tmp_path) == []


# A file system that fails: each call in turn

CALLS = {
    "open": (os, "open"), "rename": (os, "rename"), "replace": (os, "replace"), "fstat": (os, "fstat"),
    "utime": (os, "utime"), "scandir": (os, "scandir"), "lstat": (Path, "lstat"), "mkdir": (Path, "mkdir"),
    "iterdir": (Path, "iterdir"), "unlink": (Path, "unlink"),
}  # fmt: skip
ERRORS = (errno.EIO, errno.ESTALE, errno.ENOSPC, errno.EDQUOT, errno.EACCES)


def failing(monkeypatch, name, error, at):
    """Let the call of this number fail, or each one from there on where it is negative."""
    owner, attribute = CALLS[name]
    real, count = getattr(owner, attribute), iter(range(10_000))

    def call(*args, **kwargs):
        number = next(count)
        if number == at or (at < 0 and number >= -at - 1):
            raise OSError(error, os.strerror(error))
        return real(*args, **kwargs)

    monkeypatch.setattr(owner, attribute, call)


@pytest.mark.parametrize("error", ERRORS, ids=lambda n: errno.errorcode[n])
@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_fails_is_a_miss_and_never_an_error(name, error, tmp_path):
    for number, at in enumerate((0, 1, 2, 3, -1, -3)):
        root = tmp_path / str(number)
        key = stored(DiskCache(root))
        with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
            warnings.simplefilter("ignore")
            failing(patch, name, error, at)
            cache = DiskCache(root)
            assert cache.get(key) in (None, BINARY)
            stored(cache, source=f"{SOURCE} // another")
            assert cache.get(key) in (None, BINARY)
            cache.prune(0)

        assert DiskCache(root).get(stored(DiskCache(root))) == BINARY  # as before


def test_a_file_that_is_shorter_than_the_system_says_is_a_miss(tmp_path, monkeypatch):
    key = stored(DiskCache(tmp_path))
    real = os.fdopen

    class Lying:
        def __init__(self, file):
            self.file = file

        def __enter__(self):
            return self

        def __exit__(self, *error):
            self.file.close()

        def read(self, most):
            return self.file.read(most)[:100]

    monkeypatch.setattr(os, "fdopen", lambda handle, mode: Lying(real(handle, mode)))
    with pytest.warns(match="does not verify"):
        assert DiskCache(tmp_path).get(key) is None


def test_more_than_a_file_may_have_leaves_nothing_behind(tmp_path):
    """As a quota, or a full disk, of which the system tells while a file is written."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (512, limits[1]))
    try:
        with pytest.warns(match="kernels are kept in memory only"):
            key = stored(DiskCache(tmp_path))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, before)

    assert left(tmp_path) == []
    assert DiskCache(tmp_path).get(key) is None


ON_NOEXEC = """
import ctypes, pathlib, sys
from opweave.runtime.binaries.cache import DiskCache, key_of
from opweave.runtime.host.launcher import load_library
library, place = map(pathlib.Path, sys.argv[1:])
payload, parts = library.read_bytes(), {"arch": "host"}
DiskCache(place / "cache").put(key_of(parts), "", payload, parts)
loaded = load_library(DiskCache(place / "cache").get(key_of(parts)))
(place / "library.so").write_bytes(payload)
try:
    ctypes.CDLL(str(place / "library.so"))
except OSError:
    print("no library is loaded from there, ours is:", bool(loaded.ow_run))
"""


@pytest.mark.host
def test_a_mount_from_which_nothing_may_be_executed_has_a_cache(tmp_path):
    """Libraries are loaded from memory, never from where they lie."""
    library, place = tmp_path / "library.so", tmp_path / "mounted"
    library.write_bytes(runtime_binary())
    place.mkdir()
    mount = f'mount -t tmpfs -o noexec tmpfs "{place}" && exec "$@"'
    inside = ["unshare", "-m", "sh", "-c", mount, "sh"]
    if shutil.which("unshare") is None or subprocess.run([*inside, "true"]).returncode:
        pytest.skip("needs the right to mount")
    script = [sys.executable, "-c", ON_NOEXEC, str(library), str(place)]
    done = subprocess.run([*inside, *script], capture_output=True, text=True)

    assert done.stdout == "no library is loaded from there, ours is: True\n", done.stderr


# Entries that go while they are read


def test_readers_have_entries_whole_or_not_at_all_while_others_evict(tmp_path):
    entry = len(SOURCE) + len(BINARY) + 2000
    caches = [DiskCache(tmp_path, 3 * entry) for _ in range(4)]
    keys = [stored(caches[0], source=f"{SOURCE} // {n}") for n in range(6)]
    raised, found, stop = [], [], threading.Event()

    def read(cache):
        try:
            while not stop.is_set():
                found.extend({cache.get(key) for key in keys})
        except Exception as error:
            raised.append(error)

    def write(cache):
        try:
            for turn in range(30):
                stored(cache, source=f"{SOURCE} // {turn % 6}")
                cache.prune(entry * (turn % 3))
        except Exception as error:
            raised.append(error)

    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        readers = [threading.Thread(target=read, args=(cache,)) for cache in caches[:2]]
        writers = [threading.Thread(target=write, args=(cache,)) for cache in caches[2:]]
        for thread in (*readers, *writers):
            thread.start()
        for thread in writers:
            thread.join()
        stop.set()
        for thread in readers:
            thread.join()

    assert raised == []
    assert {*found} == {None, BINARY}
    assert [str(w.message) for w in told if "cannot be used" in str(w.message)] == []
    assert left(tmp_path) == []
