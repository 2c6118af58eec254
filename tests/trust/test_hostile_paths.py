"""Paths, environment variables, cache entries and command lines that mean harm or are odd."""

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

import opweave as ow
from opweave.cli.main import main
from opweave.opcodes.errors import ArgumentError, CompileError
from opweave.runtime.binaries import hostcc
from opweave.runtime.binaries.build import HOST_INCLUDE
from opweave.runtime.binaries.cache import DiskCache, key_of
from opweave.runtime.binaries.entry import MOST_BYTES
from opweave.runtime.process import environment
from tests.runtime.test_cache import BINARY, PARTS, folder, stored

ODD = ["-rf", "--help", "a b", "a\nb", "a'b\"c", "$(touch x)", "`touch x`", "a;b", "a\\", "é", "x\u2028y",
       "\u202ex", os.fsdecode(b"\xff\xfe"), "*", "a%sb", "{{x}}", "nested/../other", "x" * 200]  # fmt: skip
CALL = "import numpy as np, opweave as ow; print(ow.fuse(lambda x: x * 2)(np.ones(3, 'f4')).sum())"


@pytest.mark.parametrize("name", ODD, ids=ascii)
def test_a_cache_folder_of_an_odd_name_keeps_its_entries(name, tmp_path, monkeypatch):
    monkeypatch.setenv("OPWEAVE_CACHE_DIR", str(tmp_path / name))
    cache = DiskCache(environment.cache_folder())
    key = stored(cache)

    assert cache.get(key) == BINARY
    assert Path(os.path.normpath(tmp_path / name), key[:2], key).is_dir()
    assert cache.clear() == 1


@pytest.mark.host
@pytest.mark.parametrize("name", ["-rf\n$(touch x) " + os.fsdecode(b"\xff")], ids=ascii)
def test_compilers_take_temporary_and_cache_folders_of_odd_names(name, tmp_path):
    place = tmp_path / name
    place.mkdir()
    given = os.environ | {"OPWEAVE_CACHE_DIR": name, "TMPDIR": str(place)}
    command = [sys.executable, "-W", "error", "-c", CALL]
    ran = subprocess.run(command, cwd=tmp_path, env=given, capture_output=True, text=True)

    assert ran.stdout.strip() == "6.0", ran.stderr
    assert not (tmp_path / "x").exists()
    assert any(place.glob("*/*/manifest.json"))


@pytest.mark.parametrize(("given", "expected"), [
    ("-rf", "-rf"), ("a/../b", "b"), ("~nobody-of-that-name/x", "~nobody-of-that-name/x"),
])  # fmt: skip
def test_a_relative_cache_folder_stays_where_it_was(given, expected, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPWEAVE_CACHE_DIR", given)
    found = environment.cache_folder()
    monkeypatch.chdir("/")

    assert found == tmp_path / expected


SIZES = ["many", "1e9", "-1", "²", "١٢", "9" * 5000, "1 G", "0x10", "M", "1;2", "1\n"]


@pytest.mark.parametrize("text", SIZES, ids=lambda t: ascii(t)[:20])
def test_a_size_is_decimal_digits_and_a_suffix(text, monkeypatch):
    monkeypatch.setenv("OPWEAVE_CACHE_SIZE", text)
    if text.strip() == "1":
        assert environment.cache_bytes(7) == 1
    else:
        with pytest.raises(ArgumentError, match="OPWEAVE_CACHE_SIZE"):
            environment.cache_bytes(7)


MANIFESTS = [
    b"", b"null", b"[]", b"1", b'"x"', b"{", b"[" * 200_000, b'{"a":' * 200_000, b"\xff\xfe",
    b'{"key": 1}', b'{"key": "KEY"}', b'{"key": "KEY", "parts": []}',
    b'{"key": "KEY", "parts": [["a", 1]]}', b'{"key": "KEY", "parts": "x"}',
    b'{"key": "KEY", "parts": {"format": 2}}', b'{"key": "KEY", "parts": {"source": NaN}}',
    b'{"key": "KEY", "parts": {"source": 1e999}}', b" " * (2 << 20), b"\0" * 100,
    b'{"__class__": "os.system", "key": "KEY", "parts": {"__reduce__": ["os.system", "id"]}}',
    b"cos\nsystem\n(S'touch x'\ntR.", b'{"key": "KEY", "parts": {"arch": "\\u001b[2J"}}',
    b'{"key": "KEY", "binary_sha256": ' + b"9" * 5000 + b"}",
]  # fmt: skip


@pytest.mark.parametrize("text", MANIFESTS, ids=lambda t: ascii(t[:24]))
def test_a_manifest_is_data_and_a_bad_one_is_a_miss(text, tmp_path, capsys, monkeypatch):
    cache = DiskCache(tmp_path / "cache")
    key = stored(cache)
    (folder(cache, key) / "manifest.json").write_bytes(text.replace(b"KEY", key.encode()))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert cache.get(key) is None
    assert [e.kind for e in cache.entries()] == ["unreadable"]
    assert cache.verify() == ([], [key])
    monkeypatch.setenv("OPWEAVE_CACHE_DIR", str(cache.root))
    assert main(["cache", "ls"]) == 0
    assert "\x1b" not in capsys.readouterr().out
    assert stored(cache) == key
    assert cache.get(key) == BINARY


@pytest.mark.parametrize("name", MOST_BYTES)
def test_a_file_that_is_too_large_is_not_read(name, tmp_path):
    cache = DiskCache(tmp_path / "cache")
    key = stored(cache)
    os.truncate(folder(cache, key) / name, MOST_BYTES[name] + 1)  # sparse

    with pytest.warns(RuntimeWarning, match="at most"):
        assert cache.get(key) is None


def test_a_key_has_every_part_as_text_and_numbers_only():
    text = key_of(PARTS | {"compiler": "/opt/a b\n\udcff/g++ 1 2"})

    assert len(text) == 64
    json.dumps(PARTS)


def test_the_environment_of_a_compiler_is_an_allow_list(monkeypatch):
    for name in ("CPATH", "CCC_OVERRIDE_OPTIONS", "GCC_EXEC_PREFIX", "LD_PRELOAD", "CXXFLAGS",
                 "NVCC_APPEND_FLAGS", "CPLUS_INCLUDE_PATH", "PYTHONPATH"):  # fmt: skip
        monkeypatch.setenv(name, "/planted")

    assert set(environment.for_compilers()) <= {*environment.FOR_COMPILERS, "LC_ALL"}


@pytest.mark.host
def test_a_planted_include_path_does_not_reach_the_compiler(tmp_path, monkeypatch):
    (tmp_path / "planted.h").write_text("#define PLANTED 1\n")
    for name in ("CPATH", "CPLUS_INCLUDE_PATH", "C_INCLUDE_PATH"):
        monkeypatch.setenv(name, str(tmp_path))

    flags = hostcc.flags("run", fast=False)
    with pytest.raises(CompileError):
        hostcc.compile_host("#include <planted.h>\nint x = PLANTED;\n", flags, HOST_INCLUDE)


@pytest.mark.host
def test_a_log_is_in_english_whatever_the_locale(monkeypatch):
    for name in ("LANG", "LANGUAGE", "LC_ALL", "LC_MESSAGES"):
        monkeypatch.setenv(name, "de_DE.UTF-8")

    flags = hostcc.flags("run", fast=False)
    with pytest.raises(CompileError) as caught:
        hostcc.compile_host("int x = ;", flags, HOST_INCLUDE)
    assert "error" in caught.value.log


COMMANDS = [
    ["inspect", "-rf:f"], ["inspect", "--", "-rf.py:f"], ["inspect", "a\0.py:f"],
    ["inspect", "a\nb.py:f"], ["inspect", "$(id).py:f"], ["inspect", "os:system"],
    ["inspect", "os.path"], ["inspect", "../../etc/passwd:f"], ["inspect", ":f"], ["inspect", ""],
    ["inspect", "x" * 100_000 + ".py:f"], ["inspect", "/dev/null:f"], ["inspect", "\ud800.py:f"],
    ["inspect", "FILE:f", "--arg", "f32[" + "9" * 5000 + "]"],
    ["inspect", "FILE:f", "--arg", "f32[1];x"], ["inspect", "FILE:f", "--arg", "__import__('os')"],
    ["inspect", "FILE:f", "--arg", "f32\n[4]"], ["inspect", "FILE:f", "--arg", "x" * 100_000],
    ["inspect", "FILE:f", "--arg", "f32[4]", "--toggle", "X\n#include=1"],
    ["inspect", "FILE:f", "--arg", "f32[4]", "--toggle", "BLOCK=²"],
    ["inspect", "FILE:f", "--arg", "f32[4]", "--toggle", "BLOCK=" + "9" * 5000],
    ["inspect", "FILE:f", "--arg", "f32[4]", "--target", "sm_80 -G"],
    ["inspect", "FILE:f", "--arg", "f32[4]", "--static", "y;"],
    ["cache", "prune", "--size", "9" * 500], ["cache", "prune", "--older-than", "9" * 500 + "d"],
    ["cache", "prune", "--size", "-1"], ["cache", "prune", "--size=²"],
    ["demo", "--out", "-rf"], ["demo", "--image", "-rf"], ["demo", "--out="],
    ["demo", "--image", "a\0b"], ["demo", "--out", "a\0b", "--image", "PICTURE"],
    ["demo", "--target", "sm_80\n"],
]  # fmt: skip


@pytest.mark.parametrize("argv", COMMANDS, ids=lambda a: ascii(" ".join(a))[:40])
def test_an_odd_command_line_ends_in_one_line(argv, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPWEAVE_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "app.py").write_text("def f(x):\n    return x + 1\n")
    (tmp_path / "p.ppm").write_bytes(b"P6 2 2 255\n" + bytes(12))
    argv = [a.replace("FILE", "app.py").replace("PICTURE", "p.ppm") for a in argv]
    status = main(argv)
    said = capsys.readouterr().err

    assert status in (1, 2)
    assert said.startswith("opweave: error: ")
    assert len(said.splitlines()) == 1
    assert len(said) < 3000
    assert "--traceback shows" not in said  # that is what an error that has no type says


@pytest.mark.host
def test_an_out_folder_that_begins_with_a_dash_is_a_folder(tmp_path, monkeypatch, capsys):
    from opweave.cli import pictures

    monkeypatch.chdir(tmp_path)
    made = pictures.folder(Path("-rf"))
    pictures.write(made / "x.png", np.zeros((2, 2, 3), np.uint8))

    assert (tmp_path / "-rf" / "x.png").is_file()


def test_the_base_of_all_errors_is_one():
    assert issubclass(ArgumentError, ow.OpweaveError)


@pytest.mark.host
def test_what_is_loaded_are_the_bytes_that_were_verified(tmp_path):
    from opweave.runtime.binaries.build import BinaryBuilder
    from opweave.runtime.host.launcher import load_library

    made = BinaryBuilder(DiskCache(tmp_path)).build_plain(
        'extern "C" int ow_seven() { return 7; }\n'
    )
    for path in tmp_path.glob("*/*/binary"):
        path.write_bytes(b"planted")

    assert load_library(made.payload).ow_seven() == 7
