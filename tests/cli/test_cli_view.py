"""``opweave view``: the file that it writes, of wholes, of parts and of loops, and mistakes."""

import json

import pytest

from opweave.cli.main import main
from tests.html.markup import Read


def ran(capsys, *arguments):
    status = main(["view", *arguments])
    out, err = capsys.readouterr()
    return status, out.replace("said by the file\n", ""), err.replace("said by the file\n", "")


# Functions, their arguments, and what the page says of them.
PAGES = {
    "a whole": ("tonemap", ["f32[64,48,3]", "1.4"], "tonemap_map_f32("),
    "a list": ("double", ["f32[64]"], "kernel_map_f32("),
    "a repeated step": ("orbit", ["f32[64]", "1.5"], "return"),
    "parts": ("ranks", ["f32[64]", "2"], "runs in parts"),
    "loops in C": ("folded", ["f32[64]"], "C runs 1 loop(s)"),
}  # fmt: skip


@pytest.mark.host
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_written(app, capsys, name):
    function, arguments, says = PAGES[name]
    given = [part for text in arguments for part in ("--arg", text)]
    status, out, err = ran(capsys, f"app.py:{function}", *given, "--target", "host")
    found = Read((app / f"{function}.html").read_text())

    assert (status, err) == (0, "")
    assert out == f"{function}.html: open it in a browser\n"
    assert found.faults == []
    assert says in found.text


def test_the_file_can_be_named_and_json_says_how_large_it_is(app, capsys):
    given = ["app.py:norm", "--arg", "f32[64,100]", "--target", "host", "--out", "look.html"]
    status, out, _ = ran(capsys, *given, "--json")

    assert status == 0
    assert json.loads(out) == {
        "function": "app.py:norm", "file": "look.html",
        "bytes": (app / "look.html").stat().st_size,
    }  # fmt: skip


MISTAKES = [
    (["app.py:norm", "--arg", "f32[64,100]", "--out", "none/look.html"], 1, "cannot be written"),
    (["app.py:none"], 2, "has no function 'none'"),
    (["app.py:norm", "--arg", "f32[64,100]", "--target", "sm_1"], 2, "unknown target"),
]


@pytest.mark.parametrize(("arguments", "status", "says"), MISTAKES)
def test_a_mistake_is_one_line(app, capsys, arguments, status, says):
    found, out, err = ran(capsys, *arguments)

    assert (found, out) == (status, "")
    assert says in err
    assert err.count("\n") == 1


def test_a_file_of_somebody_elses_stays(app, capsys):
    asked = ["app.py:double", "--arg", "f32[64]", "--target", "host"]
    assert ran(capsys, *asked)[0] == 0
    assert ran(capsys, *asked)[0] == 0  # a page of ours is made anew
    (app / "double.html").write_text("mine")
    status, _, err = ran(capsys, *asked)
    assert status == 1
    assert "double.html is there already, and no page of ours: name another by --out" in err
    assert (app / "double.html").read_text() == "mine"
