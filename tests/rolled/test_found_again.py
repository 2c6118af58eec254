"""Calls with containers and functions that are left to Python are found again, and only those."""

from __future__ import annotations

import copy
import dataclasses

import numpy as np
import pytest

import opweave as ow
from opweave._functions.calls import Structured
from tests.loops.programs import row
from tests.loops.test_loops_in_c import called, is_same

pytestmark = pytest.mark.host


class Tank:
    rate = 0.5

    def __init__(self, level):
        self.level, self.seen = level, [0.0]

    def step(self, dt):
        self.level += self.rate * dt


@dataclasses.dataclass
class Point:
    x: float
    n: int = 0


def filled(tank, xs):
    for i in range(len(xs)):
        if xs[i] > 0.1:
            tank.step(xs[i])
            tank.seen.append(tank.level)
    return tank.level


def moved(point, xs):
    for i in range(len(xs)):
        if xs[i] > 0.25:
            point.x += xs[i]
            point.n += 1


def counted(state, xs):
    for i in range(len(xs)):
        if xs[i] > 0.5:
            state["n"] += 1
        state["s"] += xs[i]
    return state["n"]


def replaced(ws, xs):
    total = 0.0
    for i in range(len(xs)):
        if xs[i] > ws[i % len(ws)]:
            total += xs[i]
            ws[i % len(ws)] = xs[i]
    return total


def summed(pairs, xs):
    total = 0.0
    for low, weight in pairs:
        for i in range(len(xs)):
            if xs[i] > low:
                total += weight
    return total


def plain(found):
    """The same, with what objects hold in their place."""
    if isinstance(found, list | tuple):
        return type(found)(map(plain, found))
    if isinstance(found, dict):
        return [*found.items()]
    return plain([*vars(found).values()]) if isinstance(found, Tank | Point) else found


X = row(40)
# Of each function calls in turn: what is alike runs the quick way, what is not must not.
CALLS = {
    "objects": (filled, [Tank(1.0), Tank(2), Tank(np.float64(3)), Tank(1.5), Tank(2.5)]),
    "dataclasses": (moved, [Point(1.0), Point(1), Point(2.0, 3), Point(3.0, 2.0), Point(1.0)]),
    "dicts": (
        counted,
        [{"n": 0, "s": 0.0}, {"s": 0.0, "n": 0}, {"n": 0.0, "s": 0}, {"n": 1, "s": 2.0, "t": 3}],
    ),
    "lists": (
        replaced,
        [[0.5] * 3, [0.5] * 4, [1, 0.5], [np.float64(0.5)], [0.5, None], ["a"], [], [True, 2]],
    ),
    "long lists": (replaced, [[0.5] * 1500, [0.5] * 3000, [1] * 1500, [0.5] * 3, [None] * 1500]),
    "tuples": (summed, [[(0.5, 1.0)], [(0.5, 1), (0.25, 2)], [(0.1,)], [(1, 2, 3)], [[0.5, 1.0]]]),
}  # fmt: skip


@pytest.mark.parametrize("name", CALLS)
def test_a_call_that_is_like_an_earlier_one_gives_what_python_gives(name):
    function, firsts = CALLS[name]
    fused = ow.fuse(function)
    for first in 3 * firsts:
        expected, found = (called(f, (first, X)) for f in (function, fused))
        if isinstance(expected[0], tuple):  # an error, of which Python has the text
            assert found[0][0] is expected[0][0]
        else:
            assert is_same(plain(found), plain(expected), False)


@pytest.mark.parametrize("name", ["objects", "dataclasses", "dicts", "lists", "long lists"])
def test_a_call_with_containers_is_found_without_binding_it(name, monkeypatch):
    function, firsts = CALLS[name]
    fused = ow.fuse(function)
    for _ in range(6):
        fused(copy.deepcopy(firsts[0]), X)
    monkeypatch.setattr(type(fused.signature), "bind", None)
    fused(copy.deepcopy(firsts[0]), X)


def test_a_method_that_is_another_one_is_seen_by_a_call_that_is_found_again(monkeypatch):
    fused = ow.fuse(filled)
    for _ in range(6):
        fused(Tank(1.0), X)
    monkeypatch.setattr(Tank, "step", lambda self, dt: setattr(self, "level", -dt))
    assert fused(Tank(1.0), X) == filled(Tank(1.0), X)


def test_one_list_at_two_places_is_no_call_like_an_earlier_one():
    def exchanged(a, b):
        for i in range(len(a)):
            if a[i] > 0:
                b[i] = -a[-1 - i]
        return b

    fused = ow.fuse(exchanged)
    for _ in range(6):
        assert fused([1.0, 2.0], [3.0, 4.0]) == [-2.0, -1.0]
    one, expected = [1.0, 2.0], [1.0, 2.0]
    assert fused(one, one) == exchanged(expected, expected)


def test_few_structures_are_remembered():
    structured = Structured(ow.fuse(filled).signature)
    structured.leave(None, (Tank(1.0), X), {})  # none that was bound
    assert structured.find((Tank(1.0), X), {}) is None


def root(f, x, n):
    for _ in range(n):
        x = x - f(x) / ((f(x + 1e-6) - f(x)) / 1e-6)
    return x


def applied(f, x):
    return f(x) * 2 + f(x + 1)


def kept(f, x):
    return f(x), f


def looked_up(f, x, table=None):
    return f(x) * (TABLE.get(f, 1.0) if table is None else table)


TABLE = {}
GAIN = 2.0


def with_constant(k):
    return lambda v: v * v - k


def with_default(k):
    return lambda v, k=k: v * v - k


def with_two(k):
    j = k + 1
    return lambda v: v * j - k


def with_function(k):
    inner = with_constant(k)
    return lambda v: inner(v) + 1


def with_array(k):
    a = np.full(1, k)
    return lambda v: v * v - a[0]


MADE = [with_constant, with_default, with_two, with_function, with_array]
NUMBERS = [2.0, 3.0, 2, True, 2.0, -0.0, 0.0, np.float64(2.0), np.float32(2.0), 3.0]


@pytest.mark.parametrize("caller", [root, applied, kept], ids=["loop", "whole", "kept"])
@pytest.mark.parametrize("made", MADE, ids=[f.__name__ for f in MADE])
def test_a_function_made_anew_gives_what_it_gives_with_the_values_that_it_holds(made, caller):
    rest = (1.5, 30) if caller is root else (row(50),)
    fused = ow.fuse(caller)
    for k in 2 * NUMBERS:
        f = made(k)
        found, expected = fused(f, *rest), caller(f, *rest)
        if caller is kept:
            assert found[1] is f
            found, expected = found[0], expected[0]
        assert is_same(found, expected, True) or np.allclose(found, expected, equal_nan=True)
        assert type(found) is type(expected)


@pytest.mark.parametrize("caller", [root, applied], ids=["loop", "whole"])
def test_a_function_made_anew_that_holds_the_same_is_not_compiled_again(caller):
    rest = (1.5, 30) if caller is root else (row(50),)
    fused = ow.fuse(caller)
    for _ in range(30):
        fused(with_constant(2.0), *rest)
    assert len(fused.traces) <= 1
    assert len(fused.fallback.loops.known) <= 1


@pytest.mark.parametrize("caller", [root, applied], ids=["loop", "whole"])
def test_what_a_function_holds_may_change_behind_it(caller):
    rest = (1.5, 30) if caller is root else (row(50),)

    def changing():
        k = 2.0

        def change(value):
            nonlocal k
            k = value

        return (lambda v: v * v - k), change

    fused = ow.fuse(caller)
    pairs = [changing() for _ in range(4)]
    for f, _ in 2 * pairs:
        np.testing.assert_allclose(fused(f, *rest), caller(f, *rest))
    pairs[0][1](5.0)  # the first of those that were alike
    for f, _ in 2 * pairs:
        np.testing.assert_allclose(fused(f, *rest), caller(f, *rest))


def test_a_function_that_is_looked_up_is_the_one_that_was_given():
    fused = ow.fuse(looked_up)
    first, second = with_constant(2.0), with_constant(2.0)
    TABLE[first] = 3.0
    x = row(20)
    for f in (first, second, first, second):
        np.testing.assert_allclose(fused(f, x), looked_up(f, x))


def test_a_global_name_of_a_function_made_anew_is_read_at_each_call(monkeypatch):
    fused = ow.fuse(root)
    for gain in (2.0, 3.0, 2.0, 2.0, 5.0):
        monkeypatch.setitem(globals(), "GAIN", gain)
        f = eval("lambda v: v * v - GAIN", globals())
        np.testing.assert_allclose(fused(f, 1.5, 30), root(f, 1.5, 30))


def drawn(generator, x):
    return x + generator.normal(size=x.shape)


@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
def test_a_generator_is_found_again_and_draws_on(kind, monkeypatch):
    fused, one, other = ow.fuse(drawn), kind(3), kind(3)
    asked = []
    find = Structured.find
    monkeypatch.setattr(Structured, "find", lambda *a: asked.append(find(*a)) or asked[-1])
    for _ in range(6):
        np.testing.assert_array_equal(fused(one, X), drawn(other, X))
    assert asked[-1] is not None
    np.testing.assert_array_equal(fused(one, X.astype(np.float32)), drawn(other, X.astype("f4")))


def smoothed(x, alpha):
    y = [0.0]
    for v in x:
        y.append(alpha * v + (1 - alpha) * y[-1])
    return y


def test_a_loop_that_makes_many_numbers_is_run_by_c():
    fused = ow.fuse(smoothed)
    x = row(200)
    for _ in range(3):
        assert is_same(fused(x, 0.25), smoothed(x, 0.25), False)
    assert fused.fallback.loops.run_any()


def weighted(x, ws):
    s = 0.0
    for i in range(len(x)):
        s += x[i] * ws[i]
    return s


def test_a_whole_that_asks_for_extents_alone_stays_a_whole():
    fused = ow.fuse(weighted)
    x, ws = row(80), row(80).tolist()
    for _ in range(3):
        np.testing.assert_allclose(fused(x, ws), weighted(x, ws))
    assert fused.prepared_calls.is_known


def summed_up(x):
    for i in range(1, len(x)):
        x[i] = x[i - 1] + x[i]


def test_a_whole_for_one_length_alone_is_left_to_c_at_the_third():
    fused = ow.fuse(summed_up)
    for n in (40, 41, 42, 43, 44):
        x, y = row(n), row(n)
        fused(x)
        summed_up(y)
        np.testing.assert_array_equal(x, y)
    assert fused.fallback.loops.run_any()
