"""Attributes that loops read: C runs these loops where an attribute is a plain one."""

import numpy as np
import pytest

from opweave._loops.rolled import Rolled
from tests.loops.test_loops_in_c import called

X = np.random.default_rng(3).random(40)
pytestmark = pytest.mark.host


class Model:
    decay = 0.5  # of the class

    def __init__(self, **held):
        self.rate, self.w, self.n, self.next = 0.25, X.copy(), 3, None
        vars(self).update(held)

    @property
    def half(self):
        return self.rate / 2

    def reads(self, x):
        total = 0.0
        for i in range(len(x)):
            total = total * self.rate + x[i] / self.n
            x[i] = total
        return total

    def writes_elements(self, x):
        for i in range(1, len(x)):
            self.w[i] = self.w[i - 1] * self.rate + x[i]
        return self.w.sum()

    def counts(self, x):
        for _ in range(self.n):
            x[0] += 1
        return x[0]


class Slots:
    __slots__ = ("rate",)

    def __init__(self):
        self.rate = 2.0


class Answers:
    def __getattr__(self, name):
        if name != "rate":
            raise AttributeError(name)
        return 3.0


def two_objects(a, b, x):
    for i in range(len(x)):
        x[i] = a.rate * x[i] + b.rate


def nested(a, x):
    for i in range(5):
        for j in range(5):
            x[i] += a.rate * a.w[j] * i


def of_a_part(a, x):
    s = 0.0
    for k in range(len(a.w)):
        s += a.w[k : k + 3].sum() * a.rate
    return s + x[0]


def an_object_that_changes(a, x):
    while a is not None:
        x[0] += a.rate
        a = a.next
    return x[0]


def assigned(a, x):
    for i in range(len(x)):
        a.rate = a.rate * 0.5 + x[i]
    return a.rate


def computed(a, x):
    for i in range(len(x)):
        x[i] = a.half * x[i]


def of_the_class(a, x):
    for i in range(len(x)):
        x[i] = a.decay * x[i]


def not_there(a, x):
    for i in range(len(x)):
        x[i] = a.nothing * x[i]


def not_there_and_not_asked(a, x):
    for i in range(0):
        x[i] = a.nothing * x[i]


def rate_of(a, x):
    for i in range(len(x)):
        x[i] = a.rate * x[i]


M = Model
IN_C = [
    (M.reads, (M(), X)), (M.reads, (M(rate=1, n=2.5), X)), (M.writes_elements, (M(), X)),
    (M.counts, (M(), X)), (two_objects, (M(), M(rate=3.0), X)), (nested, (M(), X)),
    (of_a_part, (M(), X)), (rate_of, (M(rate=np.float32(0.5)), X.astype("f4"))),
]  # fmt: skip
BY_PYTHON = [
    (an_object_that_changes, (M(next=M(rate=1.0)), X)), (assigned, (M(), X)), (computed, (M(), X)),
    (of_the_class, (M(), X)), (not_there, (M(), X)), (not_there_and_not_asked, (M(), X)),
    (rate_of, (Slots(), X)), (rate_of, (Answers(), X)), (rate_of, (M(rate="a"), X)),
]  # fmt: skip


def held(value):
    return {k: np.asarray(v).tolist() for k, v in getattr(value, "__dict__", {}).items()}


@pytest.mark.parametrize(("function", "args", "in_c"), [
    *((*row, True) for row in IN_C), *((*row, False) for row in BY_PYTHON),
], ids=lambda v: getattr(v, "__name__", None))  # fmt: skip
def test_a_loop_with_attributes_does_what_python_does(function, args, in_c):
    rolled = Rolled(function)
    for _ in range(2):
        (found, given), (wanted, expected) = (called(f, args) for f in (rolled, function))
        assert found == wanted or np.isclose(found, wanted)
        np.testing.assert_allclose(given[-1], expected[-1])
        if function is not an_object_that_changes:
            assert held(given[0]) == held(expected[0])
    assert rolled.ran == in_c


def test_an_attribute_that_changes_between_calls_is_read_anew():
    rolled, model = Rolled(Model.counts), Model()
    for n in (2, 5, 0):
        model.n, x = n, X.copy()
        assert rolled(model, x) == X[0] + n
    model.n = 2.0
    with pytest.raises(TypeError):
        rolled(model, X.copy())
