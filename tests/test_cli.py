"""The command line: what it prints, its exit status, and one line for every mistake."""

import json
import os
import signal
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import opweave as ow
from opweave.cli.arguments import bind, made_up, make_array
from opweave.cli.main import main
from opweave.cli.options import parser
from opweave.opcodes.errors import RequestError

APP = """\
import numpy as np
import opweave as ow

print("said by the file")

def tonemap(img, exposure, gamma=2.2):
    x = img * exposure
    return (x / (1 + x)) ** (1 / gamma)

fused = ow.fuse(tonemap)
double = ow.kernel([ow.load("x"), ow.opcodes.multiply(2.0), ow.opcodes.exp, ow.store("y")])
orbit = ow.repeat(lambda x, r: r * x * (1 - x), 1000)
two = ow.kernel([ow.load("x"), ow.opcodes.sum(), ow.opcodes.exp, ow.opcodes.sum(), ow.store("y")])

@ow.fuse(static_argnames="mode")
def moded(x, mode="fast"):
    return x * 2 if mode == "fast" else x + 1

def target(target):
    return target + 1

def norm(x):
    return x / x.sum(axis=-1, keepdims=True)

def fails(x):
    return x / (1 // 0)

def prints(x):
    print("said while traced")
    return x + 1

def ranks(x, k):
    y = np.sort(x * 2) + 1
    return y * k if y.sum() > 0 else y

def deep(x):
    for _ in range(30):
        x = x / x.sum(axis=-1, keepdims=True) @ x
    return x

def fails_in_parts(x):
    np.sort(x)
    return x / (1 // 0)

number = 3

class Shape:
    @staticmethod
    def area(x):
        return x * x
"""


@pytest.fixture
def app(tmp_path, monkeypatch):
    """A folder with ``app.py``, made the current one; what is imported from it is forgotten."""
    (tmp_path / "app.py").write_text(APP)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(tmp_path) in str(getattr(sys.modules[name], "__file__", "")):
            del sys.modules[name]


def ran(capsys, *arguments):
    """Exit status, standard output, standard error without what the file says."""
    status = main(list(arguments))
    out, err = capsys.readouterr()
    return status, out, err.replace("said by the file\n", "")


# What inspect and explain print


def test_the_source_is_what_lower_gives(app, capsys):
    status, out, _ = ran(
        capsys, "inspect", "app.py:tonemap", "--arg", "f32[64,48,3]", "--arg", "1.4"
    )
    scope = {}
    exec(compile(APP, str(app / "app.py"), "exec"), scope)
    import numpy as np

    program = scope["fused"].lower(np.zeros((64, 48, 3), np.float32), 1.4, target="sm_90a")
    assert status == 0
    assert out == program.source


@pytest.mark.parametrize(
    "name", ["app.py:tonemap", "app:tonemap", "app.py:fused", "./app.py:fused"]
)
def test_a_function_is_found_by_file_and_by_module(app, capsys, name):
    status, out, err = ran(capsys, "inspect", name, "--arg", "f32[64]", "--arg", "1.4")

    assert (status, err) == (0, "")
    assert "tonemap_map_f32" in out


@pytest.mark.parametrize(
    ("name", "arguments", "piece"),
    [
        ("app.py:double", ["f32[8,9]"], "kernel_map_f32"),
        ("app.py:moded", ["f32[8]", "slow"], "1.0f"),
        ("app.py:moded", ["f32[8]"], "2.0f"),
        ("app.py:moded", ["mode=other", "x=f32[8]"], "1.0f"),
        ("app.py:target", ["f32[8]"], "target_map_f32"),
        ("app.py:Shape.area", ["f32[8]"], "area_map_f32"),
        ("app.py:tonemap", ["bf16[8]", "gamma=3", "exposure=2"], "bfloat16"),
        ("app.py:tonemap", ["float64[8,7]:F", "-1.4"], "double"),
        ("app.py:tonemap", ["f16[]", "True"], "float16"),
        ("app.py:tonemap", ["f32[900000,90000,8]", "1.4"], "USE_64BIT_INDEX 1"),
        ("app.py:norm", ["f32[64,1000]"], "norm_row_f32"),
    ],
)
def test_arguments_of_every_kind_lower(app, capsys, name, arguments, piece):
    given = [f"--arg={a}" for a in arguments]
    status, out, err = ran(capsys, "inspect", name, *given)

    assert (status, err) == (0, "")
    assert piece in " ".join(out.split())


@pytest.mark.parametrize(
    ("options", "piece", "count"),
    [
        (["--target", "host"], "target host", 1),
        (["--target", "T4"], "target sm_75", 1),
        (["--toggle", "USE_VECTOR_IO=0"], "USE_VECTOR_IO 0", 1),
        (["--fast"], "USE_FAST_MATH 1", 1),
        (["--unfused"], "// fused:", 4),
        (["--opcodes"], "load img", 1),
    ],
)
def test_options_change_the_kernels(app, capsys, options, piece, count):
    arguments = ["--arg", "f32[4096]", "--arg", "1.4"]
    status, out, _ = ran(capsys, "inspect", "app.py:tonemap", *arguments, *options)

    assert status == 0
    assert " ".join(out.split()).count(piece) == count


def test_inspect_json_has_source_toggles_and_op_codes(app, capsys):
    arguments = ("--arg", "f32[64]", "--arg", "1.4")
    status, out, _ = ran(capsys, "inspect", "app.py:tonemap", *arguments, "--json")
    kernel = json.loads(out)["kernels"][0]

    assert status == 0
    assert json.loads(out)["target"] == "sm_90a"
    assert kernel["name"] in kernel["source"]
    assert kernel["toggles"]["USE_FAST_MATH"] == 0
    assert [c["phase"] for c in kernel["opcodes"]][:3] == ["signature", "index", "guard"]


@pytest.mark.parametrize("options", [[], ["--fast"], ["--toggle", "USE_VECTOR_IO=0"]])
def test_inspect_shows_the_loop_of_a_repeated_step(app, capsys, options):
    arguments = ["inspect", "app.py:orbit", "--arg", "f32[4096]", "--arg", "r=3.7", *options]
    status, source, _ = ran(capsys, *arguments)
    _, listed, _ = ran(capsys, *arguments, "--opcodes")

    assert status == 0
    assert "turn < turns" in " ".join(source.split())
    assert "repeat x" in " ".join(listed.split())


@pytest.mark.nvrtc
@pytest.mark.parametrize(
    ("what", "piece"), [("ptx", ".entry"), ("sass", "EXIT"), ("resources", "registers")]
)
def test_what_a_compiler_made_is_printed_and_in_json(app, capsys, what, piece):
    arguments = ["inspect", "app.py:tonemap", "--arg", "f32[64]", "--arg", "1.4", f"--{what}"]
    status, out, _ = ran(capsys, *arguments)
    _, made, _ = ran(capsys, *arguments, "--json")

    assert status == 0
    assert piece in out
    assert piece in str(json.loads(made)["kernels"][0][what])


@pytest.mark.nvrtc
def test_every_kernel_of_several_is_named(app, capsys):
    arguments = ["inspect", "app.py:tonemap", "--arg", "f32[64]", "--arg", "1.4", "--unfused"]
    _, out, _ = ran(capsys, *arguments, "--sass")

    assert sum(line.endswith("_map_f32") and " " not in line for line in out.split("\n")) == 4


def test_explain_prints_what_the_function_explains(app, capsys):
    arguments = ["explain", "app.py:tonemap", "--arg", "f32[1000,1000]", "--arg", "1.4"]
    status, out, _ = ran(capsys, *arguments)
    _, made, _ = ran(capsys, *arguments, "--json")
    found = json.loads(made)

    assert status == 0
    assert "3 launch(es) saved" in out
    assert found["launches_saved"] == 3
    assert found["bytes_saved"] == found["bytes_unfused"] - found["bytes_moved"] > 0
    assert found["kernels"] == ["tonemap_map_f32"]


def test_a_function_in_parts_is_run_on_made_up_numbers(app, capsys):
    arguments = ["explain", "app.py:ranks", "--arg", "f32[64,8]", "--arg", "2"]
    status, out, err = ran(capsys, *arguments)
    _, made, _ = ran(capsys, *arguments, "--json")
    found = json.loads(made)

    assert (status, err) == (0, "")
    assert out.index("np.sort") < out.index("memory traffic") < out.index("kernels:")
    assert "app.py:" in out
    assert out.endswith("run for host, on made-up numbers: others may take other branches\n")
    assert (found["made_up"], found["target"]) == (True, "host")
    assert len(found["sources"]) == len(found["kernels"]) == 3


def test_full_prints_every_line_as_it_is(app, capsys):
    arguments = ["explain", "app.py:deep", "--arg", "f32[16,16]"]
    _, short, _ = ran(capsys, *arguments)
    _, full, _ = ran(capsys, *arguments, "--full")

    lines = short.rstrip("\n").split("\n")
    assert len(lines) == 60
    assert max(map(len, lines)) <= 100
    assert "more lines: print(explain(...).text), or --full" in lines[-1]
    assert "more lines" not in full
    assert max(map(len, full.split("\n"))) > 100


@pytest.mark.parametrize(("dtype", "order"), [
    ("f32", "C"), ("f64", "F"), ("b1", "C"), ("i8", "C"), ("u64", "F"), ("c64", "C"), ("bf16", "C"),
])  # fmt: skip
def test_numbers_are_made_up_of_any_kind(dtype, order):
    given = make_array(dtype, "3,4", order, "")
    found = made_up(given)

    assert (found.dtype, found.shape) == (given.dtype, given.shape)
    assert found.flags.c_contiguous == (order == "C")
    assert found.any()
    assert found.flags.writeable
    assert (made_up(given) == found).all()
    assert made_up(2.5) == 2.5


# Mistakes: command line, exit status, pieces of the one line

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
    from opweave.runtime.binaries.build import builder

    monkeypatch.setitem(sys.modules, "cuda.core", None)
    monkeypatch.setenv("OPWEAVE_CACHE_DIR", str(tmp_path / "cache"))
    builder.cache_clear()
    status, _, err = ran(capsys, *TONEMAP, "--arg", "1.4", "--sass")
    builder.cache_clear()

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


# Arguments as data


@pytest.mark.parametrize(
    "name", [d.name for d in ow.opcodes.dtypes.ALL] + [d.numpy_name for d in ow.opcodes.dtypes.ALL]
)
def test_every_dtype_has_two_names(name):
    array = make_array(name, "3, 4", "F", "text")

    assert array.shape == (3, 4)
    assert array.flags.f_contiguous
    assert array.ctypes.data % 16 == 0
    assert not array.any()


@pytest.mark.parametrize(
    ("text", "value"),
    [("3", 3), ("3.5", 3.5), ("1e-3", 1e-3), ("True", True), ("None", None), ("word", "word"),
     ("'3'", "3"), ("(0, 1)", (0, 1)), (" 7 ", 7)],
)  # fmt: skip
def test_static_arguments_are_python_literals_or_words(text, value):
    found = bind([text], [("mode", 0)], ["mode"])["mode"]

    assert (found, type(found)) == (value, type(value))


def test_arguments_are_bound_in_order_by_name_and_by_default():
    parameters = [("a", 1), ("b", 2), ("c", 3)]

    assert bind(["c=30", "10"], parameters, []) == {"a": 10, "b": 2, "c": 30}
    with pytest.raises(RequestError, match="found 4"):
        bind(["1", "2", "3", "4"], parameters, [])


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
        "heavy = ['jinja2', 'cuda.core', 'cupy', 'rich', 'pygments', 'PIL', 'opweave._functions.fused']\n"
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
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())
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
