"""``opweave cache``: what it lists, removes and keeps."""

import json
import os
import time

import pytest

from opweave.cli.caching import parse_age, parse_size
from opweave.cli.main import main
from opweave.opcodes.errors import RequestError
from opweave.runtime.binaries.cache import DiskCache, digest, key_of

SOURCE = "// scale_map_f32\n__global__ void scale_map_f32() {}"
DAY = 86400


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache in the folder of the environment."""
    monkeypatch.setenv("OPWEAVE_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("OPWEAVE_CACHE_SIZE", raising=False)
    return DiskCache(tmp_path / "cache")


def stored(cache, number=0, age=0.0, size=1000, **changes):
    """Store an entry that was last used so many seconds ago; returns its folder."""
    source = SOURCE + " " * number
    parts = {"source": digest(source.encode()), "arch": "sm_90a", "flags": []} | changes
    key = key_of(parts)
    cache.put(key, source, bytes(size), parts)
    folder = cache.root / key[:2] / key
    used = time.time() - age
    os.utime(folder, (used, used))
    return folder


def ran(capsys, *arguments):
    status = main(["cache", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


def in_json(capsys, *arguments):
    return json.loads(ran(capsys, *arguments, "--json")[1])


def test_entries_say_what_they_are(cache):
    kinds = {
        "sm_90a": stored(cache),
        "host": stored(cache, arch="host"),
        "host verify": stored(cache, arch="host", flags=["-O0", "-DOW_VERIFY"]),
    }
    found = {e.kind: e for e in cache.entries()}

    assert {kind: e.path for kind, e in found.items()} == kinds
    assert {e.kernel for e in found.values()} == {"scale_map_f32"}
    assert all(0 <= time.time() - e.made < 60 for e in found.values())


def test_ls_lists_the_last_used_first(cache, capsys):
    stored(cache, 1, age=3 * DAY)
    stored(cache, 2, age=2 * 3600)
    status, out, _ = ran(capsys, "ls")
    lines = out.splitlines()
    found = in_json(capsys, "ls")

    assert status == 0
    assert "2 h" in lines[1]
    assert "3 d" in lines[2]
    assert lines[1].split()[1:3] == ["sm_90a", "scale_map_f32"]
    assert lines[-1].startswith("2 entries, ")
    assert found["bytes"] == sum(e["bytes"] for e in found["entries"])
    assert [e["used"] for e in found["entries"]] == sorted(
        (e["used"] for e in found["entries"]), reverse=True
    )


@pytest.mark.parametrize("command", ["ls", "prune", "verify", "clear"])
def test_an_absent_folder_is_empty_and_is_not_made(cache, capsys, command):
    status, out, err = ran(capsys, command)

    assert (status, err) == (0, "")
    assert "0 entries" in out
    assert not cache.root.exists()


@pytest.mark.parametrize("command", ["ls", "prune", "verify", "clear"])
@pytest.mark.parametrize("kind", ["a file", "a link", "writable by all"])
def test_a_folder_that_cannot_be_used_is_a_failure(cache, capsys, command, kind):
    if kind == "a file":
        cache.root.write_text("")
    elif kind == "a link":
        (cache.root.parent / "real").mkdir()
        cache.root.symlink_to(cache.root.parent / "real")
    else:
        cache.root.mkdir()
        cache.root.chmod(0o777)
    status, out, err = ran(capsys, command)

    assert (status, out) == (1, "")
    assert "cannot be used" in err
    assert "OPWEAVE_CACHE_DIR" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("options", "kept"),
    [
        ([], [0, 1, 2, 3]),
        (["--older-than", "30d"], [0, 1, 2]),
        (["--older-than", "36h"], [0, 1]),
        (["--size", "0"], []),
        (["--size", "3500"], [0, 1]),
        (["--size", "1G", "--older-than", "1s"], [0]),
    ],
)
def test_prune_removes_what_was_unused_for_longest(cache, capsys, options, kept):
    folders = [stored(cache, n, age) for n, age in enumerate((0, DAY, 10 * DAY, 40 * DAY))]
    found = in_json(capsys, "prune", *options)

    assert [n for n, folder in enumerate(folders) if folder.exists()] == kept
    assert len(found["removed"]) == 4 - len(kept)
    assert sorted(found["kept"]) == sorted(folders[n].name for n in kept)


def test_prune_obeys_the_cap_of_the_environment(cache, capsys, monkeypatch):
    folders = [stored(cache, n, age=n * DAY) for n in range(4)]
    monkeypatch.setenv("OPWEAVE_CACHE_SIZE", "2K")
    ran(capsys, "prune")

    assert [f.exists() for f in folders] == [True, False, False, False]


@pytest.mark.parametrize("name", ["kernel.cu", "binary", "manifest.json"])
def test_verify_names_what_is_broken_and_removes_it_when_asked(cache, capsys, name):
    good, broken = stored(cache, 1), stored(cache, 2)
    (broken / name).write_bytes(b"x")
    status, out, _ = ran(capsys, "verify")
    again, found, _ = ran(capsys, "verify", "--remove")

    assert (status, again) == (1, 1)
    assert f"{broken.name}: does not verify; kept" in out
    assert "1 entry verified, 1 broken" in out
    assert f"{broken.name}: does not verify; removed" in found
    assert (good.exists(), broken.exists()) == (True, False)
    assert ran(capsys, "verify")[0] == 0


def test_verify_json_tells_good_removed_and_broken_apart(cache, capsys):
    good, broken = stored(cache, 1), stored(cache, 2)
    (broken / "binary").write_bytes(b"x")

    assert in_json(capsys, "verify")["broken"] == [broken.name]
    found = in_json(capsys, "verify", "--remove")
    assert (found["good"], found["removed"], found["broken"]) == ([good.name], [broken.name], [])


def test_clear_removes_broken_entries_too(cache, capsys):
    for number in range(3):
        stored(cache, number)
    (stored(cache, 7) / "manifest.json").write_text("[")
    (stored(cache, 8) / "manifest.json").unlink()
    status, out, _ = ran(capsys, "clear")

    assert status == 0
    assert out.startswith("removed 5 entries")
    assert list(cache.root.iterdir()) == []


def test_clear_never_removes_what_is_not_an_entry(cache, capsys):
    entry = stored(cache)
    (entry / "notes.txt").write_text("mine")
    other = stored(cache, 1)
    foreign = [
        cache.root / "README",
        cache.root / ".tmp-notes",
        other.parent / "letter.txt",
        cache.root / "ab" / "not-a-key",
        cache.root / "photos" / ("0" * 64),
    ]
    for path in foreign:
        path.parent.mkdir(exist_ok=True)
        path.write_text("mine")
        os.utime(path, (1000, 1000))
    status, out, _ = ran(capsys, "clear")

    assert status == 0
    assert "kept 1" in out
    assert not other.exists()
    assert (entry / "notes.txt").read_text() == "mine"
    assert all(path.read_text() == "mine" for path in foreign)


@pytest.mark.parametrize("command", [["clear"], ["prune", "--size", "0"], ["verify", "--remove"]])
def test_no_link_is_followed(cache, capsys, tmp_path, command):
    entry = stored(cache)
    elsewhere = tmp_path / "elsewhere"
    os.rename(entry, elsewhere)
    entry.symlink_to(elsewhere)
    shelf = tmp_path / "shelf"
    os.rename(stored(cache, 1).parent, shelf)
    (cache.root / "ff").symlink_to(shelf)
    before = sorted(str(p) for p in [*elsewhere.rglob("*"), *shelf.rglob("*")])
    ran(capsys, *command)

    assert sorted(str(p) for p in [*elsewhere.rglob("*"), *shelf.rglob("*")]) == before
    assert entry.is_symlink()


def test_what_was_left_half_written_goes_with_a_prune_once_it_is_old(cache, capsys):
    stored(cache)
    old = cache.root / f".tmp-1-{'0' * 16}"
    new = cache.root / f".tmp-1-{'1' * 16}"
    for path in (old, new):
        path.mkdir()
    os.utime(old, (1000, 1000))
    ran(capsys, "prune")

    assert (old.exists(), new.exists()) == (False, True)


def test_a_pipe_in_the_place_of_a_file_does_not_hang(cache, capsys):
    folder = stored(cache)
    (folder / "binary").unlink()
    os.mkfifo(folder / "binary")

    assert ran(capsys, "verify")[0] == 1


@pytest.mark.parametrize(
    ("text", "count"),
    [("0", 0), ("500", 500), ("1k", 1024), ("100M", 100 << 20), ("1.5G", 3 << 29), ("2GiB", 2 << 30),
     ("3 MB", 3 << 20)],
)  # fmt: skip
def test_sizes(text, count):
    assert parse_size(text) == count


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90s", 90), ("45m", 2700), ("1.5h", 5400), ("30d", 30 * DAY), ("2w", 14 * DAY)],
)
def test_ages(text, seconds):
    assert parse_age(text) == seconds


@pytest.mark.parametrize("text", ["", "x", "-1", "1Q", "M", "1 2", "nan"])
def test_what_is_no_size_and_no_age_is_refused(text, cache, capsys):
    with pytest.raises(RequestError, match="expected bytes such as"):
        parse_size(text)
    with pytest.raises(RequestError, match="expected a time such as"):
        parse_age(text)
    status, _, err = ran(capsys, "prune", f"--size={text}")
    assert status == 2
    assert err.startswith("opweave: error: --size ")
