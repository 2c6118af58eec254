"""Loops that C runs do what Python does: results and their types, arguments, errors."""

from __future__ import annotations

import copy
import pickle
import re
from contextlib import suppress

import numpy as np
import pytest

from opweave._loops.rolled import Rolled
from tests.loops.programs import PROGRAMS, SUMMED

pytestmark = pytest.mark.host


def called(function, args):
    """What a call returns or raises, and its arguments afterwards.

    Of loops in C the third of three: C begins them itself then.
    """
    found = [called_once(function, args) for _ in range(3 if isinstance(function, Rolled) else 1)]
    with suppress(AttributeError, TypeError):  # some hold what cannot be pickled
        assert len(set(map(pickle.dumps, found))) == 1
    return found[-1]


def called_once(function, args):
    own = copy.deepcopy(args)
    try:
        return function(*own), own
    except Exception as error:
        return (type(error), str(error)), own


def is_same(a, b, exactly: bool) -> bool:
    if isinstance(a, tuple | list):
        return len(a) == len(b) and all(is_same(x, y, exactly) for x, y in zip(a, b, strict=True))
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray | np.generic):
        close = np.array_equal if exactly else np.allclose
        return a.dtype == b.dtype and a.shape == b.shape and close(a, b)
    return a == b if exactly or not isinstance(a, float) else bool(np.isclose(a, b))


def run_in_c(function, args):
    """A call whose loops all ran in C."""
    rolled = Rolled(function)
    found = called(rolled, args)
    left = [site.left for site in rolled.sites if site.left]
    assert rolled.ran
    assert not left
    return found


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_loop_does_what_python_does(name):
    function, args = PROGRAMS[name]
    exactly = re.sub("_(f4|c16|columns)$", "", name) not in SUMMED
    assert is_same(called(function, args), run_in_c(function, args), exactly)
