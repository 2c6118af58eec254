"""Programs of users: right, whole where they are, and their arguments as NumPy leaves them."""

import numpy as np
import pytest

import opweave as ow
from bench.experiments import load
from bench.experiments.in_place.table import PROGRAMS
from bench.experiments.rolled.table import PROGRAMS as ROLLED
from bench.measure.states import State, difference

programs = load("programs")


@pytest.mark.host
@pytest.mark.parametrize("name", programs.PROGRAMS)
def test_a_program_does_what_it_does_in_numpy(name):
    program = programs.PROGRAMS[name]
    args = program.arguments(program.tiny, np.random.default_rng(1))
    expected, own = State(args), State(args)
    fused = ow.fuse(program.function, fullgraph=name in PROGRAMS)

    for _ in range(2):  # the second call is a known one
        expected.restore()
        own.restore()
        with np.errstate(all="ignore"):
            wanted = program.function(*expected.args), expected.args
            assert difference((fused(*own.args), own.args), wanted, program.tolerance) == ""


def test_there_are_thirty_programs_of_loops():
    assert len(ROLLED) == 30
    assert ROLLED.keys().isdisjoint(PROGRAMS)


def test_there_are_thirty_programs_and_each_writes_to_an_argument():
    assert len(PROGRAMS) == 30
    for program in PROGRAMS.values():
        args = program.arguments(program.tiny, np.random.default_rng(1))
        written = State(args)
        with np.errstate(all="ignore"):
            program.function(*written.args)
        assert difference(written.args, args) != ""


@pytest.mark.parametrize(
    ("found", "expected", "text"),
    [
        ([np.ones(3)], [np.ones(3)], ""),
        ([np.ones(3)], [np.ones(3) + 1e-13], ""),
        ([np.array([1.0, np.nan])], [np.array([1.0, np.nan])], ""),
        ([np.ones(3)], [np.ones(3) + 1e-3], "[0]: 3 elements, the first at"),
        ([np.ones(3)], [np.ones(3, np.float32)], "[0]: float64(3,), expected float32(3,)"),
        ([True], [1], "[0]: bool, expected int"),
        ([1, 2], [1], "holds"),
    ],
)
def test_a_difference_is_found_and_said(found, expected, text):
    said = difference(found, expected)

    assert said.startswith(text)
    assert bool(said) is bool(text)


def test_arguments_are_restored_for_the_next_call():
    state = State((np.arange(3.0),))
    state.args[0][:] = 7
    state.restore()

    assert state.args[0].tolist() == [0, 1, 2]
