"""Ordinary Python around arrays that once got another answer: whole, and in parts."""

import operator

import numpy as np
import pytest

import opweave as ow
from tests.support.called import called, same

pytestmark = pytest.mark.host
X = np.arange(6.0).reshape(2, 3)


def error_of(function, *args):
    try:
        return function(*args)
    except Exception as error:
        return type(error).__name__


def annotated(x: np.ndarray) -> np.ndarray:
    """Its own."""
    return x


def joined(x):
    return x * 2, error_of(operator.concat, x, x), error_of(operator.iconcat, x, [1])


def joined_sequences(x):
    return operator.concat([x], [x * 2]), operator.concat(x.shape, (1,))


def looked_at(x):
    return x * 2, list(annotated.__annotations__), annotated.__doc__, annotated.__qualname__


def made_inside(x):
    class Made:
        def __array__(self, dtype=None, copy=None):
            return np.sqrt(x)

    return np.add(Made(), 1)


def unwrapped(x):
    """By what an array lacks and a stand-in has."""
    for name in ("value", "of", "origin", "tracer"):
        try:
            return {"value": x.value, "of": x.of, "origin": x.origin, "tracer": x.tracer}[name]
        except AttributeError:
            continue
    return x * 2


PROGRAMS = (joined, joined_sequences, looked_at, made_inside, unwrapped)


@pytest.mark.filterwarnings("ignore::opweave.OpweaveWarning")
@pytest.mark.parametrize("parts", [False, True], ids=["whole", "in parts"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_program_does_three_times_what_python_does(program, parts):
    def run(x):
        return program(np.sort(x) if parts else x)

    fused = ow.fuse(run)
    for _ in range(3):
        for found, expected in zip(called(fused, X), called(run, X), strict=True):
            same(found, expected)
