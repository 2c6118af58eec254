"""Loops of programs of every day run in C, and do what Python does."""

from __future__ import annotations

import pytest

from tests.loops.everyday import PROGRAMS, SUMMED
from tests.loops.test_loops_in_c import called, is_same, run_in_c

pytestmark = pytest.mark.host


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loop_does_what_python_does(name):
    function, args = PROGRAMS[name]
    assert is_same(called(function, args), run_in_c(function, args), name not in SUMMED)
