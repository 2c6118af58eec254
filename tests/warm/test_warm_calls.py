"""Calls that come again are C's from their arguments to their results: templates/host/calls.h."""

from __future__ import annotations

import dataclasses
import sys
from collections import OrderedDict

import numpy as np
import pytest

import opweave as ow
from opweave.runtime.host.warm_layout import UNKNOWN
from tests.warm.by_c import copied, same

pytestmark = pytest.mark.host
X = np.arange(-30, 30, dtype=np.float32).reshape(4, 15)
D, I8, U = np.arange(12.0), np.arange(12, dtype=np.int8), np.arange(12, dtype=np.uint64)
I32, I64 = D.astype(np.int32), D.astype(np.int64)
W = np.arange(15, dtype=np.float32)
SCALE = 3.0
# More calls than it takes until C knows them.
ENOUGH = 16


def scaled(u):
    u *= 2


def smoothed(u):
    u[1:-1] = (u[2:] + u[:-2]) / 2


def counted(u, v):
    u += v
    return u


def walled(u, wall):
    u[0] = 0
    u[-1] = wall * 2
    u[:, 0] = u[:, 1]
    u[:, -1] = u[:, -2] + 1


def turned_edges(u):
    u[-1] = u[:4, 1][::-1]
    u[0] = u.T[2, :4]


def means(u, v):
    v[0] = u.mean()
    v[1] = u.max() > 3
    v[2:4] = 7


def by_mask(u):
    u[u > 0] = 0


def chosen(x, twice=True, name="a"):
    return x * 2 if twice else x + len(name)


def both(u, x):
    u += x
    return x.sum(), u


class Body:
    """A state that steps change."""

    def __init__(self, n=12, name="a"):
        self.x, self.v, self.dt, self.name = np.arange(float(n)), np.ones(n), 0.5, name


class Counting(Body):
    """One with numbers that change."""

    def __init__(self, n=12):
        super().__init__(n)
        self.t, self.steps, self.parts = 0.0, 0, [np.zeros(n), None]


@dataclasses.dataclass
class Weights:
    """Arrays by name."""

    w: np.ndarray
    b: np.ndarray


def moved(body, by):
    body.x += body.v * by
    body.v[1:] = body.x[:-1]


def ticked(body, x):
    body.x = body.x + body.v * x
    body.t += body.dt
    body.steps += 1
    return body.x.sum()


def viewed(body, x):
    body.t += body.dt
    y = body.x + x
    return y, y[1:]


def told(body):
    body.parts[0][:] = body.x * 2
    return body.parts, body


# name: (function, arguments)
CALLS = {
    "a map": (lambda x: np.maximum(x * 2 + 1, 0), (X,)),
    "an array that is no rows": (lambda x: x + 1, (X[::2, ::-1],)),
    "columns": (lambda x: x * 2, (X.T,)),
    "nothing in an axis": (lambda x: x.sum(1) + 1, (np.ones((3, 0)),)),
    "two types": (lambda x, y: x[:, :12] * y, (X, I8)),
    "uint64": (lambda x: x // 3, (U,)),
    "float16": (lambda x: x * 2, (X.astype(np.float16),)),
    "complex": (lambda x: x * 2j, (D,)),
    "big-endian": (lambda x: x.byteswap().view(x.dtype.newbyteorder()) if 0 else x, (D,)),
    "a number": (lambda x, a: x * a, (X, 2.5)),
    "a number of NumPy's": (lambda x, a: x * a, (D, np.float64(0.1))),
    "an integer": (lambda x, n: x + n, (I8.astype(np.int64), -7)),
    "an integer of 32 bits": (lambda x, n: x + n, (I8.astype(np.int32), -7)),
    "an integer as a float": (lambda x, n: x + n, (X, 16777215)),
    "numbers twice": (lambda x, a: (x * a, x + a), (X, 0.3)),
    "a bool and a text": (chosen, (X, False, "abc")),
    "defaults": (chosen, (X,)),
    "captured": (lambda x: x * W + SCALE, (X,)),
    "a sum": (lambda x: x.sum(), (X,)),
    "numbers of all kinds": (lambda x: (x.sum(), x.max(), x.mean(), x.argmax()), (D,)),
    "a complex number": (lambda x: x.sum(), (D * 1j,)),
    "a bool of Python's": (lambda x: np.allclose(x, x + 1e-12), (D,)),
    "a bool of NumPy's": (lambda x: (x > 0).any(), (D,)),
    "boxed": (lambda x: np.where(x.sum() > 0, x.max(), x.min()), (D,)),
    "rows and a number": (lambda x: (x - x.max(1, keepdims=True), x.sum()), (X,)),
    "two kernels": (lambda x: np.cumsum(x.sum(0)) + 1, (X,)),
    "temporaries": (lambda x: (x - x.mean(0)) @ x.T, (X,)),
    "temporaries that the pool has": (lambda x, a: (a * x) @ x[0], (np.ones((200, 90)), 1.5)),
    "a number and an array of it": (lambda x: (np.array(y := x.sum()), y, y * 1), (X,)),
    "an array without axes and a number of it": (lambda x: (np.flip(x), x), (np.array(False),)),
    "a number that is given, before an array": (
        lambda x, y: (np.flip(y), x.sum(), x.copy()),
        (I8 > 3, np.array(False)),
    ),
    "equal numbers of several types": (lambda x: (1, len(x) > 3, 1.0, len(x) - 3, True), (X,)),
    "a list": (lambda x: [x + 1, x * 2], (X,)),
    "a dict": (lambda x: {"a": x + 1, "b": (x * 2, None)}, (X,)),
    "an argument": (lambda x: x, (X,)),
    "a view": (lambda x: (x + 1)[1:], (X,)),
    "one array twice": (lambda x: (y := x + 1, y), (X,)),
    "nothing": (lambda x: None, (X,)),
    "a constant": (lambda x: "text", (X,)),
    "in place": (scaled, (D,)),
    "in place, of every other": (scaled, (D[::2],)),
    "by a temporary": (smoothed, (D,)),
    "in place and returned": (counted, (D, D + 1)),
    "by a mask": (by_mask, (D - 5,)),
    "walls of numbers and views": (walled, (X.copy(), 1.5)),
    "walls that are turned": (turned_edges, (X[:, :4].copy(),)),
    "computed numbers in an array": (means, (X, D)),
    "views of every kind": (
        lambda x: (x[1], x[:, 2:9:3], x[::-1, None, 4], x[2, 3:4], (x + 1)[..., None]),
        (X,),
    ),
    "a view that is turned": (lambda x: (x.T, x[:, None, ::-1].T, x.reshape(5, 12)), (X,)),
    "a view of an argument": (lambda x: x.T, (X,)),
    "views of arguments": (lambda x: (x[2], x.reshape(-1), x[...], np.asarray(x)), (X,)),
    "an array of one view": (lambda x: np.array(x[1, 2]), (X,)),
    "in place and a number": (both, (D, D + 1)),
    "a dict of arrays": (lambda p, x: p["w"] * x + p["b"], ({"w": X, "b": X + 1}, X)),
    "nested": (lambda p, q: p["a"][0] + p["b"][1] * q[0], ({"a": (X,), "b": [1.0, X]}, (2.0, ()))),
    "None": (lambda x, axis: x.sum(axis) + 1, (X, None)),
    "the same containers": (lambda p, q: (q, p["a"] + 1, p), ({"a": X}, [X])),
    "objects": (moved, (Body(), 0.25)),
    "a dataclass": (lambda p, x: x @ p.w + p.b, (Weights(np.eye(12), D), D)),
    "numbers that change": (ticked, (Counting(), D)),
    "numbers that change, and a view": (viewed, (Counting(), D)),
    "a number of others": (lambda x, a, b: x * (a + b / 2), (D, 0.5, 2)),
    "an object and its list": (told, (Counting(),)),
    "a number that selects": (lambda x, n: x + sum(range(n)), (D, 5)),
    "one that selects by its value": (lambda x, s: x**s, (D, 2.0)),
    "numbers of NumPy's": (lambda x, a, n: x * a + n, (X, np.float32(0.1), np.int64(3))),
    "an index": (lambda x, i: x[i], (D, np.array([3, 0, -1]))),
}
WITH_OBJECTS = {"an object and its list"}


def warmed(function, args):
    """A fused function that C knows, and what C runs; None where Python runs such calls."""
    fused = ow.fuse(function)
    for _ in range(ENOUGH):
        fused(*map(copied, args))
    kept = fused.signature.latest
    return fused, None if kept is None or kept.warm is None else kept.warm.call


@pytest.mark.parametrize("name", CALLS)
def test_c_gives_what_numpy_gives(name):
    function, args = CALLS[name]
    fused, call = warmed(function, args)
    first, second, third = [[*map(copied, args)] for _ in range(3)]
    given = fused.signature.in_order(second, {})
    expected, by_python = function(*first), fused._slowly(tuple(third), {}, None)
    result = call(*given) if call is not None else UNKNOWN
    assert result is not UNKNOWN
    assert type(result) is type(expected)
    if name in WITH_OBJECTS:
        assert same(result, expected)
    else:
        np.testing.assert_equal(result, expected)
    assert same(second, first)
    assert same(by_python, result)
    assert same(third, second)


def test_what_is_returned_of_an_argument_is_that_argument():
    _, call = warmed(counted, (D, D))
    u = D.copy()
    assert call(u, D + 1) is u
    np.testing.assert_array_equal(u, D + D + 1)


class Own(np.ndarray):
    """A class of a user's."""


READ_ONLY = D.copy()
READ_ONLY.flags.writeable = False
TWELVE = np.arange(13.0)
BYTES = np.zeros(12 * 8 + 1, np.uint8)
OWN_DICT = OrderedDict(w=X, b=X)


class OwnDict(dict):
    """A dict of a user's."""


MORE, INSTEAD = Body(), Body()
INSTEAD.__dict__ = OwnDict(vars(INSTEAD))
MORE.more = 1


def of_w(p):
    return p["w"] + 1


# name: (function, arguments that C knows, arguments that it does not)
OTHERS = {
    "another key": (of_w, ({"w": X, "b": X},), ({"w": X, "c": X},)),
    "another order": (of_w, ({"w": X, "b": X},), ({"b": X, "w": X},)),
    "one key more": (of_w, ({"w": X, "b": X},), ({"w": X, "b": X, "c": X},)),
    "one key less": (of_w, ({"w": X, "b": X},), ({"w": X},)),
    "another dict": (of_w, ({"w": X, "b": X},), (OWN_DICT,)),
    "another array in a dict": (of_w, ({"w": X, "b": X},), ({"w": X, "b": D},)),
    "a list for a tuple": (lambda p: p[0] + 1, ((X,),), ([X],)),
    "a tuple for a list": (lambda p: p[0] + 1, ([X],), ((X,),)),
    "a longer list": (lambda p: p[0] + 1, ([X],), ([X, X],)),
    "a shorter tuple": (lambda p: p[0] + 1, ((X, X),), ((X,),)),
    "one list twice": (lambda p, q: p[0] + q[0], ([X], [X]), ([X],) * 2),
    "a number for None": (lambda x, axis: x.sum(axis) + 1, (X, None), (X, 0)),
    "None for a number": (lambda x, axis: x if axis is None else x + axis, (X, 1.0), (X, None)),
    "one attribute more": (moved, (Body(), 0.25), (MORE, 0.25)),
    "attributes in another dict": (moved, (Body(), 0.25), (INSTEAD, 0.25)),
    "another text in an object": (moved, (Body(), 0.25), (Body(name="b"), 0.25)),
    "another class": (moved, (Body(), 0.25), (Counting(), 0.25)),
    "another number that selects": (lambda x, n: x + sum(range(n)), (D, 5), (D, 6)),
    "another power": (lambda x, s: x**s, (D, 2.0), (D, 3.0)),
    "a number of another type": (lambda x, a: x * a, (X, np.float32(2)), (X, np.float64(2))),
    "another shape": (scaled, (D,), (D[:6],)),
    "another dimension": (scaled, (D,), (D[None],)),
    "another type": (scaled, (D,), (D.astype(np.float32),)),
    "another type of the same size": (scaled, (D,), (D.astype(np.int64),)),
    "another byte order": (scaled, (D,), (D.astype(">f8"),)),
    "other strides": (scaled, (D,), (np.arange(24.0)[::2],)),
    "not aligned": (scaled, (D,), (BYTES[1:].view(np.float64),)),
    "a class of a user's": (scaled, (D,), (D.view(Own),)),
    "read-only": (scaled, (D,), (READ_ONLY,)),
    "that overlap": (counted, (D, D.copy()), (TWELVE[1:], TWELVE[:-1])),
    "one array twice": (counted, (D, D.copy()), (D, D)),
    "a list": (lambda x: x + 1, (D,), ([1.0, 2.0],)),
    "another number": (lambda x, a: x * a, (D, 2.5), (D, 2)),
    "an integer for an integer of NumPy's": (lambda x, a: x * a, (D, 2), (D, np.int64(2))),
    "an integer beyond a float": (lambda x, n: x + n, (X, 1), (X, 2**24 + 1)),
    "an integer beyond a double": (lambda x, n: x + n, (D, 1), (D, 2**53 + 1)),
    "an integer beyond 32 bits": (lambda x, n: x + n, (I32, 1), (I32, 2**31)),
    "an integer beyond 64 bits": (lambda x, n: x + n, (I64, 1), (I64, 2**64)),
    "another bool": (chosen, (D, True, "a"), (D, False, "a")),
    "another text": (chosen, (D, False, "a"), (D, False, "abc")),
    "one more": (lambda x, y: x + y, (D, D), (D,)),
    "one less": (lambda x: x, (D,), (D, D)),
}


@pytest.mark.parametrize("name", OTHERS)
def test_c_leaves_other_calls_to_python(name):
    function, args, others = OTHERS[name]
    _, call = warmed(function, args)
    before = [copied(v) for v in others]
    assert (call or warmed(scaled, (D,))[1])(*others) is UNKNOWN
    assert same(before, [*others])


def test_another_value_outside_is_seen():
    scope = {"a": 2.0}
    exec("def f(x): return x * a", scope)
    fused, call = warmed(scope["f"], (D,))
    np.testing.assert_array_equal(call(D), D * 2)
    scope["a"] = 3.0
    assert call(D) is UNKNOWN
    np.testing.assert_array_equal(fused(D), D * 3)


def test_other_parameters_are_seen():
    def f(x, a=2.0):
        return x * a

    def g(x, a, b=1.0):
        return x * a + b

    fused, _ = warmed(f, (D,))
    np.testing.assert_array_equal(fused(D, a=3.0), D * 3)
    f.__code__, f.__defaults__ = g.__code__, g.__defaults__
    np.testing.assert_array_equal(fused(D, b=2.0, a=3.0), D * 3 + 2)
    np.testing.assert_array_equal(fused(D, 3.0), D * 3 + 1)


class Chosen:
    """A value that selects, equal to others of the same number."""

    def __init__(self, n):
        self.n = n

    def __eq__(self, other):
        return self.n == other.n

    def __hash__(self):
        return hash(self.n)


@pytest.mark.parametrize("in_a_tuple", [False, True])
def test_a_value_that_selects_and_is_changed_is_seen(in_a_tuple):
    def f(x, o):
        return x * (o[0].n if in_a_tuple else o.n)

    fused, chosen = ow.fuse(f, static_argnames=("o",)), Chosen(2)
    for n in range(ENOUGH + 1):
        chosen.n = 5 if n == ENOUGH else 2
        given = (chosen,) if in_a_tuple else chosen
        np.testing.assert_array_equal(fused(D, given), D * chosen.n)


def test_another_function_of_the_same_name_is_seen():
    scope = {"np": np}
    exec("def g(x): return x + 1\ndef f(x): return g(x) * 2", scope)
    fused, call = warmed(scope["f"], (D,))
    exec("def g(x): return x + 2", scope)
    assert call(D) is UNKNOWN
    np.testing.assert_array_equal(fused(D), (D + 2) * 2)


def test_an_array_outside_that_is_reshaped_is_seen():
    scope = {"w": np.arange(12.0)}
    exec("def f(x): return x + w", scope)
    fused, _ = warmed(scope["f"], (D,))
    scope["w"].shape = 12, 1
    np.testing.assert_array_equal(fused(D), D + scope["w"])


TARGETS = {
    "a map": (lambda x: np.maximum(x * 2 + 1, 0), (X,), np.empty((4, 15), np.float32)),
    "rows": (lambda x: x.sum(1), (X,), np.empty(4, np.float32)),
    "a scan of two kernels": (lambda x: np.cumsum(x.sum(0)), (X,), np.empty(15, np.float32)),
    "a number": (lambda x, a: x * a, (D, 2.5), np.empty(12)),
}


@pytest.mark.parametrize("name", TARGETS)
def test_c_writes_to_an_array_that_is_given(name):
    function, args, out = TARGETS[name]
    fused, _ = warmed(function, args)
    before = sys.getrefcount(out)
    assert fused.signature.latest.warm.into(out, *args) is out
    np.testing.assert_array_equal(out, function(*args))
    out[...] = 0
    assert fused(*args, out=out) is out
    np.testing.assert_array_equal(out, function(*args))
    assert sys.getrefcount(out) == before


OTHER_TARGETS = {
    "another shape": np.empty(13),
    "another type": np.empty(12, np.float32),
    "strides": np.empty((12, 2))[:, 0],
    "read-only": READ_ONLY,
    "a class of a user's": np.empty(12).view(Own),
    "the argument": D,
    "a part of it": TWELVE[1:],
    "a tuple": (np.empty(12),),
    "a list": [0.0] * 12,
}


@pytest.mark.parametrize("name", OTHER_TARGETS)
def test_c_leaves_other_targets_to_python(name):
    x = TWELVE[:-1] if name == "a part of it" else D
    fused, call = warmed(lambda x: x * 2 + 1, (x,))
    before = copied(x)
    assert call(x) is not UNKNOWN
    assert fused.signature.latest.warm.into(OTHER_TARGETS[name], x) is UNKNOWN
    np.testing.assert_array_equal(x, before)


NO_TARGET = {
    "two results": lambda x: (x + 1, x * 2),
    "in place": scaled,
    "a number": lambda x: x.sum(),
    "the argument": lambda x: x,
}


@pytest.mark.parametrize("name", NO_TARGET)
def test_c_knows_a_target_for_one_new_array_alone(name):
    fused, _ = warmed(NO_TARGET[name], (D.copy(),))
    warm = fused.signature.latest.warm
    assert warm.into(np.empty(12), D.copy()) is UNKNOWN


def test_methods_of_an_object_that_changes():
    class Steps(Counting):
        def step(self, a):
            self.x[:] = self.x + self.v * a

        @ow.fuse
        def tick(self, a):
            self.x[:] = self.x * a
            self.t += self.dt

    ours, plain = Steps(), Steps()
    fused = ow.fuse(ours.step)
    for n in range(3 * ENOUGH):
        if n == 2 * ENOUGH:
            ours.v, plain.v = np.arange(12.0), np.arange(12.0)
        fused(0.5)
        plain.step(0.5)
        ours.tick(1.5)
        Steps.tick.__wrapped__(plain, 1.5)
        assert same(vars(ours), vars(plain))
    assert fused.signature.latest.warm.call(0.0) is None


def test_another_class_of_the_same_methods_is_seen():
    _, call = warmed(moved, (Body(), 0.25))
    Body.extra = property(lambda self: 1)
    try:
        assert call(Body(), 0.25) is UNKNOWN
    finally:
        del Body.extra


def test_a_number_that_cannot_be_computed_is_pythons_error():
    def halved(body, n):
        body.x *= 2
        body.t = 1 / n

    ours, plain = Counting(), Counting()
    fused, _ = warmed(halved, (Counting(), 2))
    with pytest.raises(ZeroDivisionError):
        fused(ours, 0)
    with pytest.raises(ZeroDivisionError):
        halved(plain, 0)
    assert same(vars(ours), vars(plain))


def test_errors_asked_for_and_other_devices_are_not_passed_by():
    fused, _ = warmed(lambda x: 1 / x, (D + 1,))
    with ow.config(errors="numpy"), np.errstate(all="raise"), pytest.raises(FloatingPointError):
        fused(D)


def test_calls_of_many_shapes():
    fused = ow.fuse(lambda x: x * 2 + 1)
    for n in range(1, 40):
        for _ in range(ENOUGH):
            x = np.arange(float(n))
            np.testing.assert_array_equal(fused(x), x * 2 + 1)
