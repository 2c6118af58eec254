"""The command line as a process: exit status, pipes, colour, help, and what it imports."""

import json
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import opweave as ow
from opweave.cli.main import main
from opweave.cli.options import parser


def ran(capsys, *arguments):
    """Exit status, standard output, standard error without what the file says."""
    status = main(list(arguments))
    out, err = capsys.readouterr()
    return status, out, err.replace("said by the file\n", "")


# Mistakes: command line, exit status, pieces of the one line


TONEMAP = ["inspect", "app.py:tonemap", "--arg", "f32[8]"]


# The process


def process(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "opweave", *arguments], capture_output=True, text=True, check=False,
        **options,
    )  # fmt: skip


def test_the_version_is_printed_without_importing_what_compiles():
    code = (
        "import sys\nfrom opweave.cli.main import main\n"
        "try: main(['--version'])\nexcept SystemExit: pass\n"
        "heavy = ['jinja2', 'cuda.bindings', 'cupy', 'rich', 'pygments', 'PIL', 'opweave._functions.fused']\n"
        "print([m for m in heavy if m in sys.modules])\n"
    )
    made = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert made.stdout == f"opweave {ow.__version__}\n[]\n"


@pytest.mark.parametrize(
    "command", [[], ["inspect"], ["explain"], ["doctor"], ["cache"], ["demo"]]
)
def test_every_help_text_has_an_example(capsys, command):
    with pytest.raises(SystemExit) as stopped:
        main([*command, "--help"])

    assert stopped.value.code == 0
    assert "example" in capsys.readouterr().out


def test_without_a_command_the_help_is_printed(capsys):
    status = main([])
    out, err = capsys.readouterr()

    assert (status, err) == (0, "")
    assert out == parser().format_help()
    for command in ("inspect", "explain", "sanitize", "doctor", "cache", "demo"):
        assert f"\n    {command} " in out


@pytest.mark.parametrize(
    "arguments", [["inspect", "app.py:norm", "--arg", "f32[8,9]"], ["cache", "ls"]]
)
def test_a_reader_that_left_ends_it_quietly(app, arguments):
    reading, writing = os.pipe()
    os.close(reading)
    made = subprocess.run(
        [sys.executable, "-m", "opweave", *arguments], stdout=writing, stderr=subprocess.PIPE,
        text=True, check=False,
    )  # fmt: skip
    os.close(writing)

    assert made.returncode == 141
    assert made.stderr in ("", "said by the file\n")


def test_ctrl_c_ends_it_quietly(app):
    (app / "slow.py").write_text("import time\nprint('ready', flush=True)\ntime.sleep(60)\n")
    with subprocess.Popen(
        [sys.executable, "-m", "opweave", "inspect", "slow.py:f"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        # a shell's background job, such as this suite may be, has it ignored
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as made:  # fmt: skip
        assert made.stderr.readline() == "ready\n"
        made.send_signal(signal.SIGINT)
        _, err = made.communicate(timeout=30)

    assert (made.returncode, err) == (130, "")


def test_a_full_disk_is_one_line():
    with open("/dev/full", "w") as full:
        made = subprocess.run(
            [sys.executable, "-m", "opweave", "cache", "ls"], stdout=full, stderr=subprocess.PIPE,
            text=True, check=False,
        )  # fmt: skip

    assert made.returncode == 1
    assert "No space left" in made.stderr
    assert made.stderr.count("\n") == 1


def test_python_m_and_the_console_script_are_one():
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())
    made = process("--version")

    assert project["project"]["scripts"] == {"opweave": "opweave.cli.main:main"}
    assert made.stdout == f"opweave {ow.__version__}\n"


@pytest.mark.parametrize(
    ("changes", "colour"),
    [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)],
)
def test_colour_only_where_a_terminal_takes_it(monkeypatch, changes, colour):
    from opweave.cli import terminal

    class Terminal:
        def isatty(self):
            return True

    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in changes.items():
        monkeypatch.setenv(name, value)

    assert terminal.takes_colour(Terminal()) is colour
    assert terminal.takes_colour(None) is False


def test_a_terminal_gets_colour_and_a_pipe_does_not(app, capsys, monkeypatch):
    pytest.importorskip("pygments")
    monkeypatch.setattr("opweave.cli.terminal.takes_colour", lambda stream: True)
    _, coloured, _ = ran(capsys, *TONEMAP, "--arg", "1.4")
    monkeypatch.undo()
    os.chdir(app)
    _, plain, _ = ran(capsys, *TONEMAP, "--arg", "1.4")

    assert "\x1b[" in coloured
    assert "\x1b[" not in plain


def test_without_pygments_a_terminal_gets_plain_text(app, capsys, monkeypatch):
    monkeypatch.setattr("opweave.cli.terminal.takes_colour", lambda stream: True)
    monkeypatch.setattr("opweave.cli.terminal.importlib.util.find_spec", lambda name: None)
    from opweave.cli.terminal import highlighted

    assert highlighted("int x;", "cuda") == "int x;"


def test_tables_are_the_same_data_with_and_without_rich(capsys, monkeypatch):
    from opweave.cli.terminal import print_table

    print_table(("name", "size"), [("a[b]", "1"), ("c", "20")], "lr")
    plain = capsys.readouterr().out
    monkeypatch.setattr("opweave.cli.terminal.takes_colour", lambda stream: True)
    pytest.importorskip("rich")
    print_table(("name", "size"), [("a[b]", "1"), ("c", "20")], "lr")

    assert plain == "name  size\na[b]     1\nc       20\n"
    assert "a[b]" in capsys.readouterr().out


def test_json_has_no_numbers_that_json_has_not(capsys):
    from opweave.cli.terminal import print_json

    print_json({"a": float("inf"), "b": [float("nan"), 1.5]})

    assert json.loads(capsys.readouterr().out) == {"a": None, "b": [None, 1.5]}
