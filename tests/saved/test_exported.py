"""``program.export``: files that stand alone, compiled by nvcc and run without a GPU.

The launcher itself runs: against a runtime of CUDA that hands each launch to the interpreter of PTX.
"""

import ast
import sys

import ml_dtypes
import numpy as np
import pytest

import opweave as ow
from opweave.cli.main import main
from opweave.opcodes import errors as e
from tests.saved.cuda_by_ptx import NVCC, Cupy, Nvcc, runtime_in, shell
from tests.saved.programs import PROGRAMS, STATIC, drawn, lowered, outside, rest, scaled, total

needs_nvcc = pytest.mark.skipif(NVCC is None, reason="needs nvcc on the PATH")


def scale_in_place(u, v):
    u *= 2
    v[...] = u[::-1]


def picked(x, i):
    return np.take(x, i) + x.sum()


def other_names(stream, status):
    return stream * status


def wide_numbers(x, k, s):
    return x * (k - 1) + -s / 4


EXPORTED = {name: (*PROGRAMS[name][:2], STATIC.get(PROGRAMS[name][0], ())) for name in (
    "numbers", "temporaries", "any number of arguments")}  # fmt: skip


def tally(x):
    return np.bincount(x, minlength=256)


EXPORTED |= {
    "rows": (lambda x: ow.softmax(x), (drawn(3, 100),), ()),
    "parts of a long row": (total, (drawn(20_000),), ()),
    "arguments that are written": (scale_in_place, (drawn(30), drawn(30)), ()),
    "indices": (picked, (drawn(9), np.array([3, -1, 0])), ()),
    "names of a launcher's own": (other_names, (drawn(8), 0.5), ()),
    "numbers of several kinds": (wide_numbers, (drawn(8, dtype="float64"), 3, 0.3), ()),
    "arrays and numbers outside": (outside, (drawn(5, 4),), ()),
    "16-bit floats": (scaled, (drawn(33, dtype="float16"), 0.5), ()),
    "complex": (scaled, (drawn(9, dtype="complex64"), 0.5), ()),
    "counts": (tally, (np.arange(5000, dtype=np.uint8),), ()),
}  # fmt: skip


def made(name):
    """The program for a GPU, what it gives by the interpreter, and what its arguments are then."""
    function, args, static = EXPORTED[name]
    fused = ow.fuse(function, static_argnames=static).with_toggles(USE_VENDOR=0)
    program = fused.lower(*args, target="sm_90a")
    given = [np.array(a) if isinstance(a, np.ndarray) else a for a in args]
    plain = ow.fuse(function, static_argnames=static, fullgraph=True)
    found = plain(*given)
    wanted = program.verify(*args, executor="ptx")
    assert found is None or np.allclose(found, wanted, rtol=1e-2)
    return program, wanted, given


def results(wanted):
    return [
        np.asarray(w)
        for w in (wanted if isinstance(wanted, tuple) else (wanted,))
        if w is not None
    ]


def numbers_of(name, args):
    """Arguments as a launcher takes them: numbers by their kind, those with defaults as well."""
    defaults = {scaled: [2.0], rest: [1.0]}.get(EXPORTED[name][0], [])
    return [np.array(a) if isinstance(a, np.ndarray) else a for a in args] + defaults


@pytest.fixture(scope="session")
def runtime(tmp_path_factory):
    return runtime_in(tmp_path_factory.mktemp("runtime"))


@needs_nvcc
@pytest.mark.parametrize("name", EXPORTED)
def test_a_cuda_file_is_compiled_by_nvcc_and_gives_the_bits_of_the_program(
    name, runtime, tmp_path
):
    program, wanted, written = made(name)
    path, header = program.export(tmp_path / "made.cu")
    built = Nvcc(path, tmp_path, runtime, OPTIONS)
    outs = [np.empty(w.shape, w.dtype) for w in results(wanted)]
    args = numbers_of(name, EXPORTED[name][1])

    assert built.call(launcher_of(header), *args, *outs) == 0
    assert [out.tobytes() for out in outs] == [w.tobytes() for w in results(wanted)]
    for ours, theirs in zip(written, args, strict=False):
        np.testing.assert_array_equal(ours, theirs)
    assert built.held == 0  # all memory is given back
    assert [name for name, *_ in built.launches] == [k.name for k in program.kernels]

    built.fail(700)  # a launch gives this: nothing is launched behind it
    assert built.call(launcher_of(header), *args, *outs) == 700
    assert len(built.launches) == len(program.kernels) + 1
    assert built.held == 0


OPTIONS = ("-std=c++17", "-fmad=false", "-ftz=false", "-prec-div=true", "-prec-sqrt=true")


def launcher_of(header):
    return header.read_text().split("\nint ")[1].split("(")[0]


def test_the_text_of_the_kernels_is_that_of_the_program(tmp_path):
    program = lowered("rows", "sm_90a")
    path, _ = program.export(tmp_path / "made.cu")
    ours = program.source.split('#include "opweave.cuh"\n')

    text = path.read_text()
    assert text.startswith(
        "// softmax: x: f32[6, 1000] -> out: f32[6, 1000]\n// nvcc -arch=sm_90a "
    )
    assert ours[0] in text
    body = ours[1].split('#include "rows.cuh"\n')[1].replace("unroll ROW_CHUNKS", "unroll 8")
    assert body in text
    assert '#include "' not in text


@needs_nvcc
def test_the_header_is_one_for_c(tmp_path):
    lowered("numbers", "sm_90a").export(tmp_path / "made.cu")
    (tmp_path / "use.c").write_text(
        '#include "made.h"\nint use(const float* x, float* out) { return scaled(x, 0.5, 2.0, out, 0); }\n'
    )
    said = shell(NVCC, "-c", "-Xcompiler", "-Wall", "-o", tmp_path / "use.o", tmp_path / "use.c")
    assert "warning" not in said


@pytest.mark.nvrtc
@pytest.mark.parametrize("name", EXPORTED)
def test_a_python_file_launches_by_cupy_alone(name, tmp_path, monkeypatch):
    program, wanted, written = made(name)
    (path,) = program.export(tmp_path / "made.py")
    text = path.read_text()
    names = {
        n.name
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Import)
        for n in node.names
    }
    cupy, scope = Cupy(), {}
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    exec(compile(text, str(path), "exec"), scope)
    args = numbers_of(name, EXPORTED[name][1])
    given = [cupy.asarray(a) if isinstance(a, np.ndarray) else a for a in args]
    found = scope[program.graph.name](*given)

    assert names == {"cupy", "numpy"}
    assert cupy.launches
    outs = [] if found is None else [found] if not isinstance(found, tuple) else found
    assert [out.base.tobytes() for out in outs] == [w.tobytes() for w in results(wanted)]
    for ours, theirs in zip(written, given, strict=False):
        np.testing.assert_array_equal(ours, getattr(theirs, "base", theirs))


def one_in_a_dict(x):
    return {"a": x * 2, 1: [None, (x + 1,)], "n": "a text"}


def cupy(OPTIONS, KERNEL_0, SOURCE_0, TypeError):
    return [OPTIONS + KERNEL_0 + SOURCE_0 * TypeError]


def numpy(cupy, cupy_, numpy_, arena):
    return cupy + cupy_ * numpy_ - arena


def weighed(x, s, t=2.0, n=3):
    return x * s - t + n


def halves(x):
    return x * HALVES


HALVES = np.array([0.5, 2, -1], ml_dtypes.bfloat16)
PACKED = {
    "containers": (one_in_a_dict, (drawn(5),)),
    "names that the file has": (cupy, (drawn(5), 2.0, 3.0, 0.5)),
    "names that the others' are": (numpy, (drawn(5), drawn(5), 2.0, 0.5)),
    "a number left out": (weighed, (drawn(5, 3), 0.5)),
    "a bfloat16 table": (halves, (drawn(4, 3),)),
}


@pytest.mark.nvrtc
@pytest.mark.parametrize("name", PACKED)
def test_a_python_file_gives_what_the_function_gives(name, tmp_path, monkeypatch):
    function, args = PACKED[name]
    program = ow.fuse(function).lower(*args, target="sm_90a")
    (path,) = program.export(tmp_path / "made.py")
    module, scope = Cupy(), {}
    monkeypatch.setitem(sys.modules, "cupy", module)
    exec(compile(path.read_text(), str(path), "exec"), scope)
    given = [module.asarray(a) if isinstance(a, np.ndarray) else a for a in args]
    called = function.__name__ + "_" * (function in (cupy, numpy))
    assert shown(scope[called](*given)) == shown(function(*args))


def shown(value):
    """Containers with the elements of their arrays."""
    if isinstance(value, dict):
        return {key: shown(item) for key, item in value.items()}
    if isinstance(value, tuple | list):
        return type(value)(map(shown, value))
    array = value if isinstance(value, np.ndarray) else getattr(value, "base", None)
    return value if array is None else array.tolist()


@pytest.mark.nvrtc
def test_a_python_file_refuses_other_arrays(tmp_path, monkeypatch):
    (path,) = lowered("numbers", "sm_90a").export(tmp_path / "made.py")
    cupy, scope = Cupy(), {}
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    exec(compile(path.read_text(), str(path), "exec"), scope)

    with pytest.raises(TypeError, match=r"x: expected float32\(5, 33\), found float32\(5, 34\)"):
        scope["scaled"](cupy.asarray(drawn(5, 34)), 0.5, 2.0)
    assert cupy.launches == []


def first_row(u):
    u[0] = u[-1] * 2


def powers(x, s):
    return x**s


def remainders(x, s):
    return x * (s % 3)


REFUSED = {
    "a program of the host's": (lambda: lowered("numbers"), "expected a program for a GPU"),
    "a view": (lambda: lowered("an extent and a view", "sm_90a"), "result 1 is an argument, a view"),
    "another order": (lambda: ow.fuse(lambda x: x.T * 2).lower(drawn(4, 3), target="sm_90a"),
                      "the result is .* in another order than C's, .* np.array"),
    "a number that is looked at": (lambda: lowered("a text, and a number that is looked at", "sm_90a"),
                                   r"looks at the value of a number \(cut > 0\)"),
    "a number that makes another function of a power": (
        lambda: ow.fuse(powers).lower(drawn(64), 2.0, target="sm_90a"), r"\(s == 2\)"),
    "part of an argument": (
        lambda: ow.fuse(first_row).lower(drawn(64, 16), target="sm_90a"),
        r"writes to u\[0\]",
    ),
    "a number of Python's": (lambda: ow.fuse(remainders).lower(drawn(4), 2.0, target="sm_90a"),
                             r"the number s % 3 is Python's to compute"),
    "counts that the host looks at": (
        lambda: ow.fuse(tally).lower(np.arange(200), target="sm_90a"), "uint8 in 256 bins"),
    "a product of a library's": (lambda: ow.fuse(lambda x, y: x @ y).with_toggles(USE_VENDOR=1).lower(
        drawn(64, 64), drawn(64, 64), target="sm_90a"), "with_toggles.USE_VENDOR=0."),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_a_list_of_launches_cannot_is_named(what, tmp_path):
    make, says = REFUSED[what]
    with pytest.raises(e.SavedError, match=says):
        make().export(tmp_path / "made.cu")
    assert list(tmp_path.iterdir()) == []


def test_files_that_are_there_stay(tmp_path):
    (tmp_path / "made.h").write_text("mine")
    with pytest.raises(e.FileError, match=r"made.h is there already"):
        lowered("numbers", "sm_90a").export(tmp_path / "made.cu")
    with pytest.raises(e.ArgumentError, match=r"ends in .cu or .py"):
        lowered("numbers", "sm_90a").export(tmp_path / "made.c")
    assert [p.name for p in tmp_path.iterdir()] == ["made.h"]


def test_of_two_files_both_are_written_or_none(tmp_path):
    (tmp_path / "made.py").write_text("mine")
    with pytest.raises(e.FileError, match=r"made.py is there already"):
        lowered("numbers", "sm_90a").export(tmp_path / "made.cu", tmp_path / "made.py")
    assert [p.name for p in tmp_path.iterdir()] == ["made.py"]


def test_from_the_command_line(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setitem(sys.modules, "doubling", None)  # which is as it was when all is done
    del sys.modules["doubling"]
    (tmp_path / "doubling.py").write_text("def double(x, s):\n    return x * s\n")
    given = ["export", "doubling.py:double", "--arg", "f32[64]", "--arg", "2.5"]
    assert main([*given, "--cu", "double.cu", "--python", "gpu.py"]) == 0
    assert capsys.readouterr().out.split() == ["double.cu", "double.h", "gpu.py"]
    assert main(given) == 2
    assert main([*given, "--cu", "double.c"]) == 2
    assert "expected a name that ends in .cu" in capsys.readouterr().err
    assert main([*given, "--cu", "double.cu"]) == 1
