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


class Watched(Model):
    def __setattr__(self, name, value):
        vars(self).setdefault("seen", []).append(name)
        vars(self)[name] = value


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


def moves(a, x):
    for i in range(len(x)):
        force = -a.rate * a.w[i] - 0.1 * a.n
        a.n += force * 0.01
        a.mean = a.n * 0.5
        x[i] = a.mean
    return a.n


def vectors(a, x):
    for k in range(len(x)):
        a.w = a.w * 0.5 + x[k]
        a.w += 1
        a.rate = a.w[0]
    return a.w.sum()


def vectors_copied(a, x):
    for k in range(len(x)):
        new = a.w * 0.5 + k
        a.w = new
        x[k] = new[0] + a.w[1]
    return a.w.sum()


def changes_length(a, x):
    while len(a.w) > 4:
        a.w = a.w[::2] * x[0]
    return a.w


def errs(a, x):
    for i in range(len(x)):
        a.rate = a.rate + x[i]
        a.w = a.w + 1
        a.n = i
        x[i + 1] += a.rate
    return a.n


def errs_at_once(a, x):
    for i in range(len(x)):
        x[len(x) + i] = a.n
        a.n = i


def best_of(a, x):
    for i in range(len(x)):
        if x[i] > a.rate:
            a.rate, a.n = x[i], i
    return a.n


def no_round(a, x):
    for i in range(len(x), len(x)):
        a.n = i
    return x[0]


def register(a, bits):
    for i in range(len(bits)):
        bit = (a.n ^ (a.n >> 2) ^ (a.n >> 3) ^ (a.n >> 5)) & 1
        a.n = (a.n >> 1) | (bit << 15)
        a.mean += 1
        bits[i] = bit
    return a.n


def until(a, x):
    while a.rate < 3:
        a.rate += x[0] * 0.125
        a.n += 1
        if a.n > 900:
            return "long"
    return a.n


def nested_rounds(a, x):
    for i in range(3):
        a.n = 0
        for v in x:
            a.n += v > 0.5
            a.rate = a.rate * 0.5 + v * i
        x[i] = a.n
    return a.n


def counts_of(a, b, x):
    for v in x:
        if v > 0.5:
            a.n += 1
        else:
            b.n += v
    return a.n


def another_name(a, x):
    for _ in range(3):
        a.w = x
    return x[0]


def as_none(a, x):
    for v in x:
        a.next = None
        a.n += v
    return a.n


def keeps_both(a, x):
    y = x
    for k in range(len(x)):
        y = a.w + k
        a.w = y
    y[0] = 7
    return a.w[0]


def appends(a, x):
    seen = []
    for k in range(4):
        a.w = a.w + k
        seen.append(a.w)
    seen[-1][0] = 9
    return a.w[0] + x[0]


def made_anew(a, x):
    for v in x:
        a.fresh = v
    return a.fresh


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


M, ONE = Model, Model()
IN_C = [
    (M.reads, (M(), X)), (M.reads, (M(rate=1, n=2.5), X)), (M.writes_elements, (M(), X)),
    (M.counts, (M(), X)), (two_objects, (M(), M(rate=3.0), X)), (nested, (M(), X)),
    (of_a_part, (M(), X)), (rate_of, (M(rate=np.float32(0.5)), X.astype("f4"))), (assigned, (M(), X)),
    (moves, (M(mean=1), X)), (vectors, (M(), X)), (vectors_copied, (M(), X)),
    (changes_length, (M(), X)), (errs, (M(), X)), (errs_at_once, (M(), X)), (best_of, (M(), X)),
    (best_of, (M(rate=2), X)), (best_of, (M(n=None, rate=-1.0), X)), (no_round, (M(), X)),
    (register, (M(n=0xACE1, mean=0), np.zeros(40, "u1"))), (until, (M(n=0), X)),
    (until, (M(n=890), X)), (nested_rounds, (M(), X)), (counts_of, (M(), M(), X)),
    (assigned, (M(rate=np.float32(0.5)), X.astype("f4"))), (assigned, (M(rate=1), X)),
    (of_the_class, (M(), X)),
]  # fmt: skip
BY_PYTHON = [
    (an_object_that_changes, (M(next=M(rate=1.0)), X)), (another_name, (M(), X)),
    (as_none, (M(), X)), (keeps_both, (M(), X)), (appends, (M(), X)), (made_anew, (M(), X)),
    (assigned, (Watched(), X)), (counts_of, (ONE, ONE, X)), (computed, (M(), X)),
    (not_there, (M(), X)), (not_there_and_not_asked, (M(), X)),
    (rate_of, (Slots(), X)), (rate_of, (Answers(), X)), (rate_of, (M(rate="a"), X)),
]  # fmt: skip


def held(value):
    """The attributes of an object in their order, with their types."""
    return [
        (k, type(v), getattr(v, "dtype", None), np.asarray(v).round(12).tolist())
        if isinstance(v, float | np.ndarray | np.generic) else (k, repr(v))
        for k, v in getattr(value, "__dict__", {}).items()
    ]  # fmt: skip


@pytest.mark.parametrize(("function", "args", "in_c"), [
    *((*row, True) for row in IN_C), *((*row, False) for row in BY_PYTHON),
], ids=lambda v: getattr(v, "__name__", None))  # fmt: skip
def test_a_loop_with_attributes_does_what_python_does(function, args, in_c):
    rolled = Rolled(function)
    for _ in range(2):
        (found, given), (wanted, expected) = (called(f, args) for f in (rolled, function))
        assert type(found) is type(wanted)
        assert repr(found) == repr(wanted) or np.allclose(found, wanted)
        np.testing.assert_allclose(given[-1], expected[-1])
        if function is not an_object_that_changes:
            for a, b in zip(given[:-1], expected[:-1], strict=True):
                assert held(a) == held(b)
    assert rolled.ran == in_c


def test_an_attribute_that_changes_between_calls_is_read_anew():
    rolled, model = Rolled(Model.counts), Model()
    for n in (2, 5, 0):
        model.n, x = n, X.copy()
        assert rolled(model, x) == X[0] + n
    model.n = 2.0
    with pytest.raises(TypeError):
        rolled(model, X.copy())
