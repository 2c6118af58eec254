"""Loops in C call methods of objects: attributes are in them when it ends, as Python leaves them."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from opweave._loops.rolled import Rolled
from tests.loops.programs import row
from tests.loops.test_loops_in_c import is_same

pytestmark = pytest.mark.host


class Body:
    weight = 2.0

    def __init__(self, n=3):
        self.x, self.v, self.t, self.dt = row(n), row(n, seed=2), 0.0, 0.1
        self.n, self.k, self.path, self.seen = 0, 3.0, [1.0], []

    def force(self, i):
        f = -self.k * self.x[i]
        if i > 0:
            f += self.x[i - 1]
        return f

    def slopes(self, y):
        return np.array([y[1], -y[0] * self.k, self.t])

    def step(self):
        a = self.slopes(self.x)
        b = self.slopes(self.x + self.dt * a)
        self.x = self.x + self.dt / 2 * (a + b)
        self.t += self.dt
        return self.t

    def heavier(self, a):
        return a * self.weight

    def count(self, by=1):
        self.n += by
        return self.n

    def larger(self, a):
        if a > self.t:
            return a
        return 0

    def first_above(self, least):
        for i in range(len(self.x)):
            if self.x[i] > least:
                return i
        return -1

    def settle(self):
        rounds = 0
        while self.x[0] > 1e-3:
            self.x[0] = self.x[0] / 2
            rounds += 1
        return rounds

    def reset(self):
        self.t = 0

    def note(self, v):
        self.path.append(self.path[-1] + v)
        self.seen.append(v)

    def change(self, i):
        self.x[i] = self.x[i] + 1
        self.both(i)

    def both(self, i):
        self.v[i], self.n = self.x[i] * 2, i

    def fails(self, i):
        self.n += 1
        self.x[i] = 1 / (2 - i)


class Heavy(Body):
    weight = np.float64(7.0)

    def force(self, i):
        return self.x[i] * 2 + self.count()


def weighs(p, y):
    for i in range(len(y)):
        y[i] = p.heavier(y[i]) * p.weight


def forces(p, y):
    for i in range(len(y)):
        y[i] = p.force(i)
    return y


def steps(p, y):
    for i in range(len(y)):
        p.step()
        y[i] = p.x[0] + p.t
    return y


def in_order(p, y):
    for i in range(len(y)):
        y[i] = p.n + p.count() * p.n + p.count(3)
        p.n -= p.count()
        y[i] += p.count(by=2) if p.n < p.count() else p.n
    return y


def several_types(p, y):
    for i in range(len(y)):
        y[i] = p.larger(y[i]) * 2
        p.t += p.larger(y[i] - 1)
        if i == 1:
            p.reset()
    return p.t


def loops_inside(p, y):
    for i in range(len(y)):
        y[i] = p.first_above(y[i]) + p.settle()


def of_lists(p, y):
    for v in y:
        p.note(v)


def by_others(p, y):
    for i in range(len(p.x)):
        p.change(i)
        y[i] = p.n + p.v[i]


def of_two(p, y, q):
    for i in range(len(y)):
        y[i] = p.count() - q.count(2)


def while_it_counts(p, y):
    while p.count() < 5:
        y[0] += p.n
    return p.n


def goes_wrong(p, y):
    for i in range(len(y)):
        p.fails(i)


def row_of_it(p, y):
    for i in range(len(y)):
        y[i] = p.slopes(p.x)[1] + p.larger(p.slopes(y[:3])[0])


def in_one_branch(p, y):
    for i in range(len(y)):
        p.x = p.x * 0.5
        y[i] = p.step() if p.x[0] > 0.05 else p.n
        y[i] += p.x[1]
        if (p.x[0] > 0.01 and p.step() > 0.15) or p.step() > 3:
            y[i] -= p.x[2]


def in_a_place(p, y):
    for _ in range(2):
        y[p.count() % 3] = p.n
        y[p.n % 3] += p.count() + p.n


def by_a_function(p, y):
    def twice(body, i):
        return body.force(i) * 2 + body.n

    for i in range(len(p.x)):
        y[i] = twice(p, i)


def run(function, args):
    own = copy.deepcopy(args)
    try:
        found = function(*own)
    except Exception as error:
        found = type(error), str(error)
    return found, [[*vars(a).values()] if isinstance(a, Body) else a for a in own]


TABLE = (
    forces, steps, in_order, several_types, loops_inside, of_lists, by_others, while_it_counts,
    goes_wrong, row_of_it, in_one_branch, in_a_place, weighs,
)  # fmt: skip


@pytest.mark.parametrize("kind", [Body, Heavy])
@pytest.mark.parametrize("function", TABLE)
def test_a_loop_that_calls_methods_does_what_python_does(function, kind):
    rolled = Rolled(function)
    for n in (3, 4):
        args = kind(3), row(3, seed=n)
        assert is_same(list(run(function, args)), list(run(rolled, args)), exactly=True)
    assert not any(site.left for site in rolled.sites)


@pytest.mark.parametrize("function", [of_two, by_a_function])
def test_methods_of_two_objects_and_by_functions_are_pythons_in_every_bit(function):
    rolled = Rolled(function)
    args = (Body(), row(3), Heavy())[: 3 if function is of_two else 2]
    assert is_same(list(run(function, args)), list(run(rolled, args)), exactly=True)
    one = Body()
    expected, found = run(function, (one, row(3), one)[: len(args)]), (one, row(3), one)
    rolled(*found[: len(args)])
    assert is_same(expected[1][1], found[1], exactly=True)


def test_another_object_is_of_the_same_kind_and_another_class_is_none():
    rolled = Rolled(forces)
    for kind in (Body, Body, Heavy, Body, Heavy):
        args = kind(4), row(4)
        assert is_same(list(run(forces, args)), list(run(rolled, args)), exactly=True)
    (site,) = (s for s in rolled.sites if not s.left)
    assert len(site.sources) == 2


class Odd(Body):
    @property
    def k(self):
        return 7.0

    @k.setter
    def k(self, value):
        pass


def given_its_own(p):
    p.force = lambda i: i * 3.0
    return p


@pytest.mark.parametrize("body", [Odd(), given_its_own(Body())], ids=["property", "own method"])
def test_what_is_no_plain_method_or_attribute_is_pythons(body):
    rolled = Rolled(forces)
    expected, found = forces(body, row(3)), rolled(body, row(3))
    np.testing.assert_array_equal(expected, found)
    assert not rolled.ran


def test_a_method_that_is_redefined_is_seen(monkeypatch):
    rolled = Rolled(forces)
    rolled(Body(), row(3))
    monkeypatch.setattr(Body, "force", lambda self, i: self.x[i] * 5)
    np.testing.assert_array_equal(rolled(Body(), row(3)), forces(Body(), row(3)))
    monkeypatch.undo()
    np.testing.assert_array_equal(rolled(Body(), row(3)), forces(Body(), row(3)))
    assert rolled.ran


def holds_another(p, y):
    for i in range(len(y)):
        before = p.x
        p.step()
        p.step()
        y[i] = before[0] - p.x[0]
        y[i] += p.x[1] * p.step() + p.x[1]
    return y


def adds_to_what_it_was(p, y):
    for i in range(len(y)):
        p.x[0] += p.step()
        p.x[i] = p.step()


@pytest.mark.parametrize("function", [holds_another, adds_to_what_it_was])
def test_an_array_that_a_method_makes_anew_stays_what_it_was_elsewhere(function):
    args = Body(), row(3)
    assert is_same(list(run(function, args)), list(run(Rolled(function), args)), exactly=True)
