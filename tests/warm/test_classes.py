"""Calls by C of functions that read what only a class holds, and of arguments that select."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import opweave as ow
from tests.warm.by_c import copied, same
from tests.warm.test_warm_calls import ENOUGH, UNKNOWN, D, warmed

pytestmark = pytest.mark.host


class Falling:
    """Numbers, arrays and functions that a class holds for all its objects."""

    g = 9.81
    steps = 3
    scale = np.linspace(1, 2, 12)
    name = "falling"

    def __init__(self):
        self.x, self.v = np.zeros(12), np.ones(12)

    @staticmethod
    def force(x):
        return -x * 2

    @classmethod
    def weight(cls, x):
        return x * cls.g

    def step(self, dt):
        self.v += (self.force(self.x) - self.g) * dt
        self.x += self.v * self.scale * dt + len(self.name)


@dataclasses.dataclass
class Layer:
    """A default that only the class has."""

    w: np.ndarray
    n: int = 3


CLASSES = {
    "a method": (Falling.step, lambda: (Falling(), 0.25)),
    "a bound method": (Falling().step, lambda: (0.25,)),
    "a method of the class": (Falling.weight, lambda: (D,)),
    "a default": (lambda p, x: x * p.n + p.w, lambda: (Layer(D + 1), D)),
}


@pytest.mark.parametrize("name", CLASSES)
def test_what_a_class_holds_is_read_by_c(name):
    function, arguments = CLASSES[name]
    _, call = warmed(function, arguments())
    assert call is not None
    ours, plain = arguments(), arguments()
    found, expected = call(*ours), function(*plain)
    assert found is not UNKNOWN
    np.testing.assert_equal(found, expected)
    assert same([*ours], [*plain])


@pytest.mark.parametrize(
    ("attribute", "value"),
    [("g", 1.0), ("g", 2), ("scale", np.ones(12)), ("name", "f"), ("force", staticmethod(np.sin))],
)
def test_another_value_in_a_class_is_seen(attribute, value):
    class Own(Falling):
        pass

    for owner in (Own, Falling):
        fused, _ = warmed(Own.step, (Own(), 0.25))
        before = vars(Falling)[attribute]
        try:
            setattr(owner, attribute, value)
            for _ in range(ENOUGH):
                ours, plain = Own(), Own()
                fused(ours, 0.25)
                Own.step(plain, 0.25)
                np.testing.assert_allclose([ours.x, ours.v], [plain.x, plain.v], rtol=1e-15)
        finally:
            if owner is Own:
                delattr(Own, attribute)
            else:
                setattr(Falling, attribute, before)


def test_an_attribute_that_hides_a_class_is_seen():
    fused, _ = warmed(Falling.step, (Falling(), 0.25))
    for _ in range(ENOUGH):
        ours, plain = Falling(), Falling()
        ours.g = plain.g = 100.0
        fused(ours, 0.25)
        plain.step(0.25)
        np.testing.assert_allclose([ours.x, ours.v], [plain.x, plain.v], rtol=1e-15)


def test_an_array_of_a_class_is_read_anew():
    fused, call = warmed(Falling.step, (Falling(), 0.25))
    before = Falling.scale.copy()
    try:
        Falling.scale *= 3
        ours, again, plain = Falling(), Falling(), Falling()
        assert call(ours, 0.25) is not UNKNOWN
        fused(again, 0.25)
        plain.step(0.25)
        np.testing.assert_allclose([ours.x, again.x], [plain.x, plain.x], rtol=1e-15)
    finally:
        Falling.scale[...] = before


class Shaped:
    """An array of a class that somebody gives another shape."""

    w = np.arange(12.0)

    def added(self, x):
        return x + self.w


@pytest.mark.parametrize("shape", [(12, 1), (1, 12)])
def test_an_array_of_a_class_that_lies_otherwise_is_seen(shape):
    fused, _ = warmed(Shaped.added, (Shaped(), D[None]))
    w = Shaped.w
    try:
        w.shape = shape
        for _ in range(ENOUGH):
            np.testing.assert_array_equal(fused(Shaped(), D[None]), D[None] + w)
    finally:
        w.shape = (12,)
    np.testing.assert_array_equal(fused(Shaped(), D[None]), D[None] + w)


SELECTING = {
    "a type": (lambda x, t: x.astype(t) + 1, np.float32, np.float64),
    "a dtype": (lambda x, t: x.astype(t) + 1, np.dtype("f4"), np.dtype("i8")),
    "a ufunc": (lambda x, f: f(x) + 1, np.sin, np.cos),
    "a text": (lambda x, t: x.astype(t) + 1, "f4", "i8"),
    "a function": (lambda x, f: f(x) + 1, Falling.force, lambda x: x * 3),
}


@pytest.mark.parametrize("name", SELECTING)
def test_an_argument_that_selects_is_compared(name):
    function, one, other = SELECTING[name]
    fused, call = warmed(function, (D, one))
    np.testing.assert_equal(call(D, one), function(D, one))
    assert call(copied(D), other) is UNKNOWN
    found = fused(D, other)
    assert type(found) is type(function(D, other))
    np.testing.assert_equal(found, function(D, other))
    assert fused(D, one).dtype == function(D, one).dtype


def test_a_view_of_a_product_is_returned_by_c():
    w = np.arange(36.0).reshape(12, 3)
    _, call = warmed(lambda x, w: x @ w + 1, (D, w))
    found = call(D, w)
    assert found is not UNKNOWN
    np.testing.assert_array_equal(found, D @ w + 1)
    column = ow.fuse(lambda x: (x * 2)[:, None])
    for _ in range(ENOUGH):
        assert column(D).shape == (12, 1)


def held_by_class(gains):
    """A class whose base holds a container, and an object of it."""
    base = type("Base", (), {"gains": gains})
    made = type("Made", (base,), {"step": lambda self, k: self.x * self.gains[0] * k})
    made.gain = property(lambda self: self.gains[0])
    one = made()
    one.x = D.copy()
    return base, made, one


READERS = {
    "of an object": lambda o: o.x * o.gains[0],
    "of its class": lambda o: o.x * type(o).gains[0],
    "in a property": lambda o: o.x * o.gain,
    "in a method": lambda o: o.step(2.0),
}
CONTAINERS = [((1.0, 2.0), (8.0, 2.0)), ([1.0], [8.0]), ({0: 1.0}, {0: 8.0}), ((D,), (D * 3,))]


@pytest.mark.parametrize(("before", "after"), CONTAINERS)
@pytest.mark.parametrize("name", READERS)
def test_another_container_in_a_class_is_seen(name, before, after):
    base, made, one = held_by_class(before)
    function, fused = READERS[name], ow.fuse(READERS[name])

    def holds():
        for _ in range(ENOUGH):
            np.testing.assert_array_equal(fused(one), function(one))

    holds()
    base.gains = after
    holds()
    made.gains = before  # in front of that
    holds()
    if not isinstance(before, tuple):
        made.gains[0] = 5.0
    holds()
