"""The command line: what it prints of kernels, and arguments as it takes them."""

import json

import pytest

import opweave as ow
from opweave.cli.arguments import bind, made_up, make_array, parse
from opweave.cli.main import main
from opweave.opcodes.errors import RequestError
from tests.cli.conftest import APP


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


@pytest.mark.host
@pytest.mark.parametrize(("function", "argument", "shown"), [
    ("rolled", "f64[64]", 'extern "C" int loop'),  # a whole of many kernels, whose loop C runs
    ("small", "f64[64]", "small_map_f64"),  # a whole of one
    ("small", "f64[900000,90000]", "small_map_f64"),  # more than is made up for a run
])  # fmt: skip
def test_inspect_on_the_host_shows_what_a_call_runs(app, capsys, function, argument, shown):
    given = ["inspect", f"app.py:{function}", "--arg", argument, "--target", "host"]
    status, source, _ = ran(capsys, *given)

    assert status == 0
    assert shown in source


@pytest.mark.host
def test_inspect_shows_the_loop_that_c_runs(app, capsys):
    given = ["inspect", "app.py:folded", "--arg", "f64[64]", "--target"]
    status, source, _ = ran(capsys, *given, "host")
    refused, _, err = ran(capsys, *given, "sm_90a")

    assert status == 0
    assert "// x[i] += x[i - 1]" in source
    assert 'extern "C" int loop' in source
    assert refused != 0
    assert "error" in err


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


@pytest.mark.parametrize("text", ["2", "-1.5", "True", "None", "-0.7+0.3j", "2j", "1e3"])
def test_an_argument_is_the_number_that_python_reads(text):
    found = parse(text, "z", is_static=False)

    assert repr(found) == repr(eval(text))
    assert parse("j", "z", is_static=True) == "j"
