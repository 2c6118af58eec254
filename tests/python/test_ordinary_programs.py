"""Ordinary Python around arrays that once got another answer: whole, and in parts."""

import operator

import numpy as np
import pytest

import opweave as ow
from tests.support.called import called, same

LIBRARY_IN_PARTS = True
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


class Named(dict):
    """Answers to names by its keys, with a KeyError for others."""

    __getattr__ = dict.__getitem__


class Strict:
    def __init__(self, **held):
        self.__dict__["held"] = held

    def __getattr__(self, name):
        raise KeyError(name)


NAMED, STRICT = Named(scale=2.0, sub=Named(n=3)), Strict(k=2)


def by_names(x):
    return x * NAMED.scale + NAMED.sub.n, NAMED.sub is NAMED["sub"], x * STRICT.held["k"]


def by_names_of_arguments(x):
    return given_names(x, Named(array=x, scale=2.0), Strict(k=x))


def given_names(x, named, strict):
    return named.array * named.scale, len(named), strict.held["k"] + x


class Ends:
    def __del__(self):
        print("gone")


def ends(x):
    made = Ends()
    y = x + 1
    made = None
    return y, made


def ends_inside(x):
    class Inside:
        def __del__(self):
            print("gone")

    Inside()
    return x * 3


class Compared:
    """Equal by what it holds, and found by identity."""

    def __init__(self, array):
        self.array = array

    def __eq__(self, other):
        return self.array == getattr(other, "array", other)

    __hash__ = object.__hash__


def hashed(x):
    made = Compared(x)
    return made == made, made == 3, {made: x * 2}[made]


def hashed_argument(x):
    return x * 2, {ONE: 3}[ONE]


ONE = Compared(X)
PROGRAMS = (
    joined, joined_sequences, looked_at, made_inside, unwrapped, by_names, by_names_of_arguments, ends,
    ends_inside, hashed, hashed_argument,
)  # fmt: skip


@pytest.mark.filterwarnings("ignore::opweave.OpweaveWarning")
@pytest.mark.parametrize("parts", [False, True], ids=["whole", "in parts"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda f: f.__name__)
def test_a_program_does_three_times_what_python_does(program, parts, capfd):
    def run(x):
        return program(np.sort(x) if parts else x)

    fused = ow.fuse(run)
    for _ in range(3):
        found, printed = called(fused, X), capfd.readouterr()
        same(found, called(run, X))
        assert printed == capfd.readouterr()


@pytest.mark.filterwarnings("ignore::opweave.OpweaveWarning")
def test_objects_that_answer_to_names_in_their_own_way_are_arguments():
    for function in (given_names, lambda x, n, s: (np.sort(x), given_names(x, n, s))):
        fused = ow.fuse(function)
        for _ in range(2):
            args = X, Named(array=X, scale=2.0), Strict(k=X)
            same(fused(*args), function(*args))


@pytest.mark.filterwarnings("ignore::opweave.OpweaveWarning")
def test_objects_with_an_equality_of_their_own_are_found_by_identity():
    def of(c, x):
        return {c: x * 2}[c], c == x, c == c

    for function in (of, lambda c, x: (np.sort(x), of(c, x))):
        same(ow.fuse(function)(ONE, X), function(ONE, X))


def test_why_a_function_runs_by_numpy_is_told_once_though_its_changes_differ():
    class Kept:
        def __init__(self):
            self.last, self.all = None, []

        def update(self, x):
            self.last = x.copy() if self.last is None else self.last * 2
            self.all.append(self.last)
            return self.last

    def updated(kept, x):
        made = kept.update(x)
        return made is kept.last, made

    fused, kept = ow.fuse(updated), Kept()
    with pytest.warns(ow.OpweaveWarning) as told:
        for _ in range(3):
            fused(kept, X)
    assert len(told) == 1
