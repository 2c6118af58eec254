"""Arguments taken apart like those of an earlier call: the same leaves, or another look."""

from collections import OrderedDict, namedtuple
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.captures.alike import taken_alike
from opweave.compiler.captures.tree import flatten

TYPES = frozenset({np.ndarray, float, int, str})
Pair = namedtuple("Pair", "a b")
X, Y = np.arange(3.0), np.ones(3)


class Layer:
    def __init__(self, **held):
        vars(self).update(held)


class Heir(Layer):
    pass


@dataclass
class Data:
    a: object
    b: object = 2


def layer():
    return Layer(w=X, rate=0.5, deep={"m": [Y, 1], "n": None}, pair=(X, 2))


LIKE = {
    "an array": (X, Y), "a list": ([X, 1], [Y, 2]), "a dict": ({"a": X, "b": 1.0}, {"a": Y, "b": 2.0}),
    "nothing": (None, None), "an empty list": ([], []), "an empty tuple": ((), ()),
    "an object": (layer(), layer()), "a dataclass": (Data(X), Data(Y, 3)), "objects in a list": ([layer(), (X,)], [layer(), (Y,)]),
}  # fmt: skip
SHARED = [X]
UNLIKE = {
    "a longer list": ([X, 1], [X, 1, 2]), "a shorter list": ([X, 1], [X]),
    "another key": ({"a": X}, {"b": X}), "another order": ({"a": X, "b": 1}, {"b": 1, "a": X}),
    "a number for a key": ({"a": X}, {1: X}), "another class": (layer(), Heir(w=X)),
    "a new attribute": (Layer(w=X), Layer(w=X, v=X)), "none of it": (Layer(w=X), None),
    "an array for nothing": ([None], [X]), "nothing for an array": ([X], [None]),
    "a tuple for a list": ([X], (X,)), "a leaf for a list": ([X], X),
    "an ordered dict": ({"a": X}, OrderedDict(a=X)), "a named tuple": ((X, 1), Pair(X, 1)),
    "the same twice": ([[X], [X]], [SHARED, SHARED]), "a function": ([X], [len]),
    "a list within for an array": ([X], [[X]]),
}  # fmt: skip
LEFT_TO_THE_OTHER = {
    "a namespace": SimpleNamespace(x=X), "a named tuple": Pair(X, 1),
    "the same twice": [SHARED, SHARED],
}  # fmt: skip


def trees_of(value):
    return [flatten(value, "x")[1]]


@pytest.mark.parametrize("name", LIKE)
def test_what_is_alike_has_the_leaves_and_containers_of_flatten(name):
    first, second = LIKE[name]
    seen = {}
    leaves, _ = flatten(second, "x", seen=seen)
    found = taken_alike(trees_of(first), [second], TYPES)

    assert found is not None
    assert [id(leaf) for leaf in found[0]] == [id(leaf) for _, leaf in leaves]
    assert [id(c) for c in found[1]] == [*seen]


@pytest.mark.parametrize("name", UNLIKE)
def test_what_is_not_alike_is_looked_at_again(name):
    first, second = UNLIKE[name]
    assert taken_alike(trees_of(first), [second], TYPES) is None


@pytest.mark.parametrize("name", LEFT_TO_THE_OTHER)
def test_what_asks_for_more_is_left_to_flatten(name):
    value = LEFT_TO_THE_OTHER[name]
    assert taken_alike(trees_of(value), [value], TYPES) is None


@pytest.mark.host
def test_a_class_that_changes_between_calls_is_seen():
    class Scaled:
        def __init__(self):
            self.x = X

        def of(self, y):
            return self.x * y

    fused, s = ow.fuse(lambda s, y: s.of(y)), Scaled()
    for _ in range(3):
        np.testing.assert_array_equal(fused(s, Y), X)
    Scaled.of = lambda self, y: self.x - y
    np.testing.assert_array_equal(fused(s, Y), X - Y)
    Scaled.x = property(lambda self: X * 3, lambda self, value: None)
    np.testing.assert_array_equal(fused(s, Y), X * 3 - Y)


def _plus(x):
    return x + 1


def _times(x):
    return x * 2


WEIGHTS = {_plus: 3.0, _times: 4.0, "other": 5.0}


def _got(f, x, weights):
    return f(x) * weights.get(f, 1.0)


def _is_there(f, x, weights):
    return x * (2 if f in weights else 1)


def _all_of(f, x, weights):
    return sum(w * (k(x) if callable(k) else x) for k, w in weights.items())


def _left(f, x, weights):
    weights[f] = x.sum()
    return x * 2


@pytest.mark.parametrize("function", [_got, _is_there, _all_of, _left], ids=lambda f: f.__name__)
@pytest.mark.parametrize("given", [_plus, _times, np.sin], ids=["plus", "times", "sin"])
def test_functions_are_keys_of_dicts(function, given):
    fused, x = ow.fuse(function), np.arange(4.0)
    for weights in (WEIGHTS, {}, {_plus: 2.0}):
        found, expected = dict(weights), dict(weights)
        np.testing.assert_allclose(fused(given, x, found), function(given, x, expected))
        assert [*map(id, found)] == [*map(id, expected)]
        assert found == expected
