"""The command line: one line for every mistake, that says what to do."""

import json
import sys

import pytest

from opweave.cli.main import main


def ran(capsys, *arguments):
    """Exit status, standard output, standard error without what the file says."""
    status = main(list(arguments))
    out, err = capsys.readouterr()
    return status, out, err.replace("said by the file\n", "")


TONEMAP = ["inspect", "app.py:tonemap", "--arg", "f32[8]"]
MISTAKES = [
    (["--"], 2, ["required: COMMAND", "opweave --help"]),
    (["inspekt"], 2, ["'inspekt'", "inspect", "doctor"]),
    (["inspect"], 2, ["FILE.py:FUNCTION"]),
    (["inspect", "app.py:tonemap", "--sass", "--ptx"], 2, ["not allowed with"]),
    (["inspect", "app.py:tonemap", "--nonsense"], 2, ["unrecognized", "--nonsense"]),
    (["inspect", "app.py"], 2, ["'app.py'", "FILE.py:FUNCTION"]),
    (["inspect", "none.py:f"], 2, ["none.py does not exist", "Python file"]),
    (["inspect", "folder.py:f"], 2, ["folder.py is a folder"]),
    (["inspect", "data.csv:f"], 2, ["data.csv is no Python file"]),
    (["inspect", "none:f"], 2, ["module 'none' cannot be found"]),
    (["inspect", "no-name:f"], 2, ["'no-name' is no module name"]),
    (["inspect", "none.deeper:f"], 2, ["'none.deeper' cannot be found"]),
    (["inspect", "syntax.py:f"], 1, ["syntax.py:2 is not Python", "x = ="]),
    (["inspect", "binary.py:f"], 1, ["importing binary.py"]),
    (["inspect", "raises.py:f"], 1, ["raises.py:3", "ZeroDivisionError", "`y = 1 / 0`"]),
    (["inspect", "raises:f"], 1, ["raises.py:3", "ZeroDivisionError", "`y = 1 / 0`"]),
    (["inspect", "imports.py:f"], 1, ["imports.py:1", "no_such_module"]),
    (["inspect", "exits.py:f"], 1, ["exits.py:2", "SystemExit: 3"]),
    (["inspect", "app.py:tonmap"], 2, ["no function 'tonmap'", "did you mean tonemap?"]),
    (["inspect", "app.py:zzz"], 2, ["no function 'zzz'", "double", "fails"]),
    (["inspect", "app.py:number"], 2, ["app.py:number is of type int", "expected a function"]),
    (["inspect", "app.py:Shape"], 2, ["app.py:Shape is a class"]),
    (["inspect", "numpy:tanh"], 2, ["numpy:tanh is of type ufunc", "written in Python"]),
    (TONEMAP, 2, ["tonemap takes (img, exposure, gamma=2.2)", "found 1 --arg", "'exposure' is missing"]),
    ([*TONEMAP, *["--arg", "1"] * 3], 2, ["found 4 --arg", "leave out --arg '1'"]),
    ([*TONEMAP, "--arg", "gama=2"], 2, ["'gama=2'", "did you mean gamma?"]),
    ([*TONEMAP, "--arg", "img=1"], 2, ["gives 'img' twice"]),
    ([*TONEMAP, "--arg", "f31[8]"], 2, ["f31 is no dtype", "bf16 (bfloat16)"]),
    ([*TONEMAP, "--arg", "complex256[8]"], 2, ["complex256 is not supported", "i32 (int32)"]),
    ([*TONEMAP, "--arg", "f32[8,x]"], 2, ["'f32[8,x]'", "extents such as"]),
    ([*TONEMAP, "--arg", "f32[-8]"], 2, ["'f32[-8]'", "extents such as"]),
    ([*TONEMAP, "--arg", "f32[8]:T"], 2, ["expected the order :C or :F"]),
    ([*TONEMAP, "--arg", "f32[8"], 2, ["'f32[8'", "for 'exposure'", "expected an array such as"]),
    ([*TONEMAP, "--arg", "word"], 2, ["'word'", "static_argnames", "no argument takes one"]),
    ([*TONEMAP, "--arg", f"f32[{9**18},{9**18}]"], 2, ["has no place here", "smaller"]),
    ([*TONEMAP, "--arg", "-1e-3"], 2, ["expected one argument", "--arg=-1e-3"]),
    ([*TONEMAP, "--arg", "1", "--target", "sm_91"], 2, ["unknown target 'sm_91'", "sm_90a"]),
    ([*TONEMAP, "--arg", "1", "--toggle", "USE_MAGIC=1"], 2, ["unknown toggle USE_MAGIC"]),
    ([*TONEMAP, "--arg", "1", "--toggle", "USE_VECTOR_IO"], 2, ["expected NAME=NUMBER"]),
    ([*TONEMAP, "--arg", "1", "--static", "z"], 2, ["static_argnames names 'z'"]),
    ([*TONEMAP, "--arg", "1", "--target", "host", "--sass"], 2, ["sm targets only"]),
    (["inspect", "app.py:fails", "--arg", "f32[8]"], 1, ["app.py:26", "ZeroDivisionError"]),
    (["inspect", "app.py:norm", "--arg", "f32[]"], 1, ["sum", "axis -1", "app.py:23"]),
    (["inspect", "app.py:two", "--arg", "f32[8]"], 1, ["does not fit one kernel"]),
    (["explain", "app.py:tonmap"], 2, ["did you mean tonemap?"]),
    (["explain", "app.py:ranks", "--arg", "f32[90000,90000]", "--arg", "2"], 2,
     ["runs in parts", "float32 (90000, 90000)", "too large"]),
    (["explain", "app.py:fails_in_parts", "--arg", "f32[8]"], 1, ["ZeroDivisionError", "app.py:"]),
    (["cache"], 2, ["required: ACTION"]),
    (["cache", "list"], 2, ["'list'", "prune"]),
    (["doctor", "now"], 2, ["unrecognized arguments: now"]),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "expected", "pieces"), MISTAKES)
def test_a_mistake_is_one_line_that_says_what_to_do(app, capsys, arguments, expected, pieces):
    (app / "folder.py").mkdir()
    (app / "data.csv").write_text("1,2")
    (app / "syntax.py").write_text("import os\nx = =\n")
    (app / "binary.py").write_bytes(b"\x00\xff\xfe")
    (app / "raises.py").write_text("import os\n\ny = 1 / 0\n")
    (app / "imports.py").write_text("import no_such_module\n")
    (app / "exits.py").write_text("import sys\nsys.exit(3)\n")
    status, out, err = ran(capsys, *arguments)

    assert (status, out) == (expected, "")
    assert err.startswith("opweave: error: ")
    assert err.count("\n") == 1
    for piece in pieces:
        assert piece in err


def test_sass_without_a_compiler_names_the_extra(app, capsys, monkeypatch, tmp_path):
    from opweave.runtime.binaries import nvrtc
    from opweave.runtime.binaries.build import builder

    for module in nvrtc.WAYS:
        monkeypatch.setitem(sys.modules, module, None)
    nvrtc._way.cache_clear()
    monkeypatch.setenv("OPWEAVE_CACHE_DIR", str(tmp_path / "cache"))
    builder.cache_clear()
    status, _, err = ran(capsys, *TONEMAP, "--arg", "1.4", "--sass")
    builder.cache_clear()
    nvrtc._way.cache_clear()

    assert status == 1
    assert "pip install 'opweave[nvrtc]'" in err


def test_traceback_is_shown_when_asked(app, capsys):
    _, _, err = ran(capsys, "inspect", "app.py:fails", "--arg", "f32[8]", "--traceback")

    assert "Traceback (most recent call last)" in err
    assert err.splitlines()[-1].startswith("opweave: error: ")


def test_control_characters_of_a_name_are_not_printed(app, capsys):
    _, _, err = ran(capsys, "inspect", "app.py:\x1b[31mred")

    assert "\x1b" not in err
    assert r"\x1b[31mred" in err


def test_a_file_called_like_a_module_does_not_replace_it(app, capsys):
    (app / "json.py").write_text("def f(x):\n    return x + 1\n")
    status, _, _ = ran(capsys, "inspect", "json.py:f", "--arg", "f32[8]")

    assert status == 0
    assert sys.modules["json"] is json


def test_warnings_are_one_line_too(capsys, monkeypatch, app):
    (app / "warns.py").write_text(
        "import warnings\nwarnings.warn('take care')\ndef f(x): return x + 1\n"
    )
    _, _, err = ran(capsys, "inspect", "warns.py:f", "--arg", "f32[8]")

    assert err == "opweave: warning: take care\n"
