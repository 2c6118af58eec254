"""The suite of others: loaded from where it lies, and left out where it is not."""

import json
import sys

import numpy as np
import pytest

from bench.experiments.in_place.states import difference
from bench.experiments.kernels import npbench

NUMPY = "def kernel(n, x, w):\n    for t in range(n):\n        x[1:-1] += w * x[2:]\n"
START = """import numpy as np


def initialize(N):
    return np.linspace(0, 1, N), 0.5 + 0.25j
"""
ABOUT = {
    "benchmark": {
        "module_name": "own", "relative_path": "own/deep", "func_name": "kernel",
        "parameters": {"S": {"n": 3, "N": 10}, "M": {"n": 4, "N": 20}},
        "init": {"func_name": "initialize", "input_args": ["N"], "output_args": ["x", "w"]},
        "input_args": ["n", "x", "w"],
    }
}  # fmt: skip


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A suite of one program."""
    files = {
        "bench_info/own.json": json.dumps(ABOUT),
        "npbench/benchmarks/own/deep/own.py": START,
        "npbench/benchmarks/own/deep/own_numpy.py": NUMPY,
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
