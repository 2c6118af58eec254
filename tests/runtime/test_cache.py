"""The disk cache: keys, verification, eviction, and folders that cannot be used."""

import json
import os
import shutil
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest

import opweave as ow
from opweave.runtime.binaries.build import BinaryBuilder, key_parts
from opweave.runtime.binaries.cache import FILES, DiskCache, digest, key_of

SOURCE = "__global__ void k() {}"
BINARY = bytes(range(256)) * 4
PARTS = {
    "source": digest(SOURCE.encode()),
    "arch": "sm_80",
    "flags": ["a", "b"],
    "compiler": "c 1",
}


@pytest.fixture
def cache(tmp_path):
    return DiskCache(tmp_path / "cache")


def stored(cache, source=SOURCE, **changes):
    parts = PARTS | {"source": digest(source.encode())} | changes
    key = key_of(parts)
    cache.put(key, source, BINARY, parts)
    return key


def folder(cache, key):
    return cache.root / key[:2] / key


def test_an_entry_comes_back_whole_and_readable(cache):
    key = stored(cache)

    assert cache.get(key) == BINARY
    assert (folder(cache, key) / "kernel.cu").read_text() == SOURCE
    assert json.loads((folder(cache, key) / "manifest.json").read_text())["key"] == key
    assert cache.root.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("change", [{"arch": "sm_90a"}, {"flags": ["a"]}, {"compiler": "c 2"},
                                    {"cpu": "avx"}, {"headers": "h"}, {"opweave": "2"}])  # fmt: skip
def test_every_part_of_the_key_counts(cache, change):
    stored(cache)

    assert cache.get(key_of(PARTS | change)) is None


@pytest.mark.host
@pytest.mark.parametrize(
    "change", [{"fast": True}, {"mode": "verify"}, {"mode": "sanitize"}, {"arch": "sm_80"}]
)
def test_flags_and_targets_give_other_keys(change):
    base = {"arch": "host", "fast": False, "mode": "run"}

    assert key_of(key_parts(SOURCE, **base)) != key_of(key_parts(SOURCE, **(base | change)))
    assert key_of(key_parts(SOURCE, **base)) == key_of(key_parts(SOURCE, **base))


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("damage", ["flip", "truncate", "empty", "remove", "link"])
def test_a_damaged_entry_is_a_miss_and_is_rebuilt(cache, name, damage, tmp_path):
    key = stored(cache)
    path = folder(cache, key) / name
    data = path.read_bytes()
    path.unlink()
    if damage == "flip":
        path.write_bytes(data[:20] + bytes([data[20] ^ 1]) + data[21:])
    elif damage == "truncate":
        path.write_bytes(data[:-1])
    elif damage == "empty":
        path.write_bytes(b"")
    elif damage == "link":
        (tmp_path / "elsewhere").write_bytes(data)
        path.symlink_to(tmp_path / "elsewhere")

    with warnings.catch_warnings(record=True):
        warnings.simplefilter("always")
        assert cache.get(key) is None
    stored(cache)
    assert cache.get(key) == BINARY


def test_every_flipped_byte_of_an_entry_is_noticed(cache):
    key = stored(cache)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in FILES:
            path = folder(cache, key) / name
            data = path.read_bytes()
            for at in range(0, len(data), 1 if len(data) < 600 else 7):
                path.write_bytes(data[:at] + bytes([data[at] ^ 4]) + data[at + 1 :])
                assert cache.get(key) in (None, BINARY)
                if name == "binary":
                    assert cache.get(key) is None
            path.write_bytes(data)
    assert cache.get(key) == BINARY


def test_an_entry_under_another_key_is_refused(cache):
    one, two = stored(cache), stored(cache, source=SOURCE + " ")
    shutil.rmtree(folder(cache, two))
    shutil.copytree(folder(cache, one), folder(cache, two))

    with pytest.warns(ow.OpweaveWarning, match="another key"):
        assert cache.get(two) is None


def test_a_re_hashed_entry_is_refused(cache):
    key = stored(cache)
    path = folder(cache, key) / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest["parts"]["arch"] = "sm_75"
    path.write_text(json.dumps(manifest))

    with pytest.warns(ow.OpweaveWarning, match="does not follow"):
        assert cache.get(key) is None


def unusable(kind, path):
    if kind == "a file":
        path.write_text("")
    elif kind == "a link":
        (path.parent / "real").mkdir()
        path.symlink_to(path.parent / "real")
    elif kind == "writable by all":
        path.mkdir()
        path.chmod(0o777)
    elif kind == "below a file":
        path.parent.joinpath("file").write_text("")
        return path.parent / "file" / "cache"
    return path


@pytest.mark.parametrize("kind", ["a file", "a link", "writable by all", "below a file"])
def test_a_folder_that_cannot_be_used_means_one_warning_and_memory_only(kind, tmp_path):
    cache = DiskCache(unusable(kind, tmp_path / "cache"))

    with pytest.warns(ow.OpweaveWarning, match="OPWEAVE_CACHE_DIR") as caught:
        key = stored(cache)
        assert cache.get(key) is None
        assert cache.get(key) is None
    assert len(caught) == 1


def test_a_full_disk_loses_nothing_but_the_entry(cache, monkeypatch):
    def full(path, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("opweave.runtime.binaries.cache._write_new", full)
    with pytest.warns(ow.OpweaveWarning, match="No space"):
        stored(cache)

    assert list(cache.root.iterdir()) == []


def test_the_least_recently_used_entries_go_first(cache):
    keys = [stored(cache, source=SOURCE + " " * number) for number in range(6)]
    for number, key in enumerate(keys):
        os.utime(folder(cache, key), (1000 + number, 1000 + number))
    cache.get(keys[0])
    each = max(e.bytes for e in cache.entries())
    cache.prune(3 * each)

    assert [cache.get(k) is not None for k in keys] == [True, False, False, False, True, True]


def test_storing_beyond_the_cap_prunes(tmp_path):
    cache = DiskCache(tmp_path / "cache", most_bytes=5000)
    for number in range(20):
        stored(cache, source=SOURCE + " " * number)

    assert 0 < sum(e.bytes for e in cache.entries()) <= 5000


def test_clear_removes_everything_and_verify_counts(cache):
    keys = [stored(cache), stored(cache, source="x")]
    (folder(cache, keys[0]) / "binary").write_bytes(b"")

    assert cache.verify() == ([keys[1]], [keys[0]])
    assert cache.clear() == 2
    assert cache.verify() == ([], [])


def test_storing_the_same_entry_twice_at_once_is_fine(cache):
    threads = [threading.Thread(target=stored, args=(cache,)) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert cache.get(key_of(PARTS)) == BINARY
    assert [p.name for p in cache.root.iterdir()] == [key_of(PARTS)[:2]]


@pytest.mark.host
def test_32_threads_asking_for_one_kernel_compile_it_once(tmp_path):
    builder = BinaryBuilder(DiskCache(tmp_path / "cache"))
    source = 'extern "C" int answer() { return 42; }'
    threads = [threading.Thread(target=builder.build_plain, args=(source,)) for _ in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert builder.compiled == 1


@pytest.mark.host
def test_a_second_process_finds_the_binary_on_disk(tmp_path):
    program = (
        "import numpy as np, opweave as ow, sys\n"
        "f = ow.fuse(lambda x: x * 3)\n"
        "assert (f(np.ones(5)) == 3).all()\n"
        "from opweave.runtime.binaries.build import builder\n"
        "print(builder().compiled)\n"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"OPWEAVE_CACHE_DIR": str(tmp_path / "c")},
            capture_output=True, text=True, check=True,
        ).stdout.strip()
        for _ in range(2)
    ]  # fmt: skip

    assert runs == ["2", "0"]  # the kernel and the runtime, then nothing


@pytest.mark.nvrtc
def test_a_disk_hit_does_not_import_the_compiler(tmp_path):
    program = (
        "import numpy as np, opweave as ow, sys\n"
        "k = ow.fuse(lambda x: x * 3).lower(np.ones(5), target='sm_80').kernels[0]\n"
        "print(k.binary.origin, 'cuda.bindings' in sys.modules)\n"
    )
    runs = [
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"OPWEAVE_CACHE_DIR": str(tmp_path / "c")},
            capture_output=True, text=True, check=True,
        ).stdout.strip()
        for _ in range(2)
    ]  # fmt: skip

    assert runs == ["compiled True", "disk False"]


def test_import_does_no_work():
    program = (
        "import sys, opweave\n"
        "heavy = ['cupy', 'cuda.bindings', 'cuda', 'jinja2', 'ml_dtypes']\n"
        "print([m for m in heavy if m in sys.modules])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert ran.stdout.strip() == "[]"


def test_a_function_that_is_fused_loads_nothing_that_only_checks_need():
    program = (
        "import sys, opweave as ow\n"
        "ow.fuse(abs)\n"
        "checks = 'opweave.runtime.isa', 'opweave.runtime.ptx', 'opweave.runtime.sass'\n"
        "print([m for m in sys.modules if m.startswith(checks)])\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert ran.stdout.strip() == "[]"


@pytest.mark.host
def test_the_builder_rebuilds_what_does_not_verify(tmp_path):
    disk = DiskCache(tmp_path / "cache")
    source = 'extern "C" int answer() { return 42; }'
    first = BinaryBuilder(disk).build_plain(source)
    (disk.root / first.key[:2] / first.key / "binary").write_bytes(b"junk")
    builder = BinaryBuilder(disk)

    with pytest.warns(ow.OpweaveWarning, match="does not verify"):
        second = builder.build_plain(source)
    assert second.origin == "compiled"
    assert BinaryBuilder(disk).build_plain(source).origin == "disk"


@pytest.mark.host
def test_a_call_works_without_a_cache_folder(tmp_path):
    (tmp_path / "file").write_text("")
    program = (
        "import numpy as np, opweave as ow, warnings\n"
        "warnings.simplefilter('ignore')\n"
        "print(ow.fuse(lambda x: x + 2)(np.ones(3)))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env=os.environ | {"OPWEAVE_CACHE_DIR": str(tmp_path / "file")},
        capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert ran.stdout.strip() == str(np.full(3, 3.0))


def test_the_error_base_class_is_public():
    assert issubclass(ow.errors.CompileError, ow.OpweaveError)
