"""Slices by a step that a loop changes: where it is known to be positive, C runs the loop."""

import numpy as np
import pytest

import opweave as ow
from opweave._loops.rolled import Rolled
from tests.loops.programs import row
from tests.loops.test_loops_in_c import called, is_same, run_in_c

AS_FOR_USERS = True
pytestmark = pytest.mark.host


def sieve(n):
    found = np.ones(n + 1, bool)
    found[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if found[i]:
            found[i * i :: i] = False
    return found


def read_and_written(x, out):
    for k in range(1, 9):
        out[k] = x[k::k].sum() + x[:-1:k].sum() + x[1:20:k].sum() + x[-3 : k : k + 1].sum()
        x[:: 2 * k] *= 0.5
        x[k::k] = x[k::k] + out[k]
    return x


def butterflies(x):
    half = 1
    for _ in range(3):
        x[:: 2 * half] += 0.5
        x[half :: 2 * half] -= x[half - 1 :: 2 * half] * 0.25
        half = half * 2
    return x


def of_columns(A):
    for k in range(1, 4):
        A[k::k, ::k] += A[0, ::k]
    return A


def by_a_number(x, step):
    for i in range(3):
        x[i::step] += i
    return x


IN_C = [
    (sieve, (200,)), (sieve, (4,)), (read_and_written, (row(40), np.zeros(9))),
    (read_and_written, (row(3), np.zeros(9))), (of_columns, (row(42).reshape(6, 7),)),
]  # fmt: skip
AS_PYTHON = [
    (butterflies, (row(16),)), (by_a_number, (row(20), 3)), (by_a_number, (row(20), -2)),
    (by_a_number, (row(20), 0)),
]  # fmt: skip


@pytest.mark.parametrize(("function", "args"), IN_C, ids=lambda v: getattr(v, "__name__", None))
def test_c_takes_steps_as_numpy_does(function, args):
    assert is_same(called(function, args), run_in_c(function, args), exactly=False)


@pytest.mark.parametrize(
    ("function", "args"), AS_PYTHON, ids=lambda v: getattr(v, "__name__", None)
)
def test_steps_of_any_sign_do_what_numpy_does(function, args):
    rolled = Rolled(function)
    for _ in range(2):
        assert is_same(called(function, args), called(rolled, args), exactly=True)


@pytest.mark.filterwarnings("ignore::opweave.OpweaveWarning")
def test_explain_says_why_c_does_not_run_a_loop_after_a_call_too():
    def halved(x, step):
        for i in range(len(x)):
            if x[i] > 0.5:
                x[i::step] *= 0.5
        return x

    fused = ow.fuse(halved)
    for _ in range(2):
        text = fused.explain(np.ones(9), 2).text
        assert "C does not run the loop at line" in text
        assert "a slice whose step may be 0 or negative" in text
        fused(np.ones(9), 2)
