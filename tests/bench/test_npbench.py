"""The suite of others: loaded from where it lies, and left out where it is not."""

import json
import sys

import numpy as np
import pytest

from bench.experiments.kernels import npbench
from bench.measure.harness import WrongResult
from bench.measure.states import State, difference
from bench.measure.versions import Version, fastest

NUMPY = "def kernel(n, x, w):\n    for t in range(n):\n        x[1:-1] += abs(w) * x[2:]\n"
START = """import numpy as np


def initialize(N):
    return np.linspace(0, 1, N), 0.5 + 0.25j
"""
ABOUT = {
    "benchmark": {
        "module_name": "own", "relative_path": "own/deep", "func_name": "kernel",
        "parameters": {"S": {"n": 3, "N": 10}, "M": {"n": 4, "N": 20}},
        "init": {"func_name": "initialize", "input_args": ["N"], "output_args": ["x", "w"]},
        "input_args": ["n", "x", "w"], "output_args": ["x"],
    }
}  # fmt: skip
# Versions of others: wrong, right, and one that writes nothing but returns what is to be written.
OTHERS = {
    "numba_n": "def kernel(n, x, w):\n    x += abs(w)\n",
    "numba_o": NUMPY,
    "jax": "def kernel(n, x, w):\n    x = x.copy()\n" + NUMPY.split("\n", 1)[1] + "    return x\n",
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A suite of one program."""
    files = {
        "bench_info/own.json": json.dumps(ABOUT),
        "npbench/benchmarks/own/deep/own.py": START,
        "npbench/benchmarks/own/deep/own_numpy.py": NUMPY,
        **{f"npbench/benchmarks/own/deep/own_{n}.py": text for n, text in OTHERS.items()},
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setenv(npbench.PLACE, str(tmp_path))
    for name in [name for name in sys.modules if name.split(".")[0] == "npbench"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr("sys.path", [str(tmp_path), *sys.path])
    yield tmp_path
    for name in [name for name in sys.modules if name.split(".")[0] == "npbench"]:
        del sys.modules[name]


def test_programs_are_loaded_with_arguments_of_their_own(place):
    (program,) = npbench.suite(npbench.folder())
    first, second = (program.arguments("M", None) for _ in range(2))

    assert program.name == "own"
    assert first[0] == 4
    assert first[1].shape == (20,)
    assert first[1] is not second[1]
    assert first[2] == 0.5 + 0.25j


def wanted(program):
    """The program's arguments at S, and what NumPy makes of them."""
    args = program.arguments("S", None)
    own = State(args)
    return args, (program.function(*own.args), own.args), program.tolerance


def test_of_others_versions_those_that_are_right_take_part(place, monkeypatch):
    monkeypatch.setattr(npbench.peers, "module", lambda name: None)
    (program,) = npbench.suite(npbench.folder())
    versions = npbench.by_numba(program)

    assert [version.name for version in versions] == ["n", "o"]
    assert fastest(versions, *wanted(program)).name == "o"
    with pytest.raises(WrongResult, match="elements, the first at"):
        fastest(versions[:1], *wanted(program))
    with pytest.raises(LookupError, match="no version"):
        fastest([], *wanted(program))


def test_what_a_version_cannot_write_it_returns(place):
    (program,) = npbench.suite(npbench.folder())
    function = npbench._version(program, "jax")
    args, expected, tolerance = wanted(program)

    assert program.written == (1,)
    Version(function, written=program.written).check(args, expected, tolerance)
    with pytest.raises(WrongResult):
        Version(function).check(args, expected, tolerance)
    with pytest.raises(WrongResult):
        Version(lambda *a: function(*a) + 1, written=(1,)).check(args, expected, tolerance)


def test_where_it_is_not_the_page_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv(npbench.PLACE, str(tmp_path))
    notes = []

    class Empty:
        note = notes.append

    npbench.measure(Empty())
    assert "git clone https://github.com/spcl/npbench" in notes[0]
    assert npbench.COMMIT in notes[0]


@pytest.mark.parametrize(("found", "same"), [
    (1 + 1j, True), (1 + 1.0000000000001j, True), (1 + 1.1j, False), (np.nan * 1j, False),
])  # fmt: skip
def test_complex_results_are_compared_by_their_size(found, same):
    assert (difference(np.array([found]), np.array([1 + 1j])) == "") == same
