"""What outlives a call: results that are one object, stored functions, and what is kept of arrays."""

import atexit
import gc
import heapq
import logging
import warnings
import weakref

import numpy as np
import pytest
import scipy.sparse

import opweave as ow
from opweave.compiler.pipeline import specialise
from tests.support.differential import described, does_the_same

LIBRARY_IN_PARTS = True
X = np.arange(6.0, dtype=np.float32) + 1
log = logging.getLogger("tests.effects")


def helper(x):
    log.debug("helper sees %d elements", x.size)
    return x * 2


class Counter:
    def __init__(self):
        self.n = 0
        self.inner = {"all": []}

    def __call__(self, x):
        self.n += 1
        self.inner["all"].append(self.n)
        self.new = x.sum()
        return x * self.n


HOLDER = Counter()
# What is returned, and runs after the call.
LATER = {
    "a function": (lambda x: lambda y: y + x * 2, lambda made: made(1)),
    "a function of helpers": (lambda x: lambda: helper(x), lambda made: made()),
    "a generator": (lambda x: (v * x for v in range(3)), list),
    "a generator of arrays": (lambda x: (v + 1 for v in [x, x * 2]), list),
    "a generator that has begun": (lambda x: begun(x), list),
    "an iterator": (lambda x: iter([x * 2, x + 1]), list),
    "a map": (lambda x: map(np.sin, [x * 2, x + 1]), list),
    "zipped lists": (lambda x: zip([x * 2], [x + 1], strict=True), list),
    "a dict's values": (lambda x: {"a": x * 2}.values(), list),
    "a list with a function": (lambda x: [x, lambda: x + 1], lambda made: made[1]()),
}


def begun(x):
    def steps(y):
        z = yield y * 2
        while True:
            z = yield z if z is not None else y + 1
            if y.sum() > 0:
                return

    made = steps(x + 1)
    next(made)
    return made


@pytest.mark.host
@pytest.mark.parametrize("name", LATER)
def test_what_runs_after_the_call_is_returned(name):
    function, use = LATER[name]
    expected, found = function(X), ow.fuse(function)(X)
    assert type(found) is type(expected)

    used = use(found)
    assert described(used) == described(use(expected))
    assert all(type(v) is not v.__class__ or type(v) is np.ndarray
               for v in (used if isinstance(used, list) else [used])
               if not isinstance(v, tuple))  # fmt: skip


@pytest.mark.host
def test_a_tuple_that_stands_twice_in_a_result_is_one():
    def f(x):
        pair = (np.sort(x) * 2, x + 1)
        return pair, [pair]

    found = ow.fuse(f)(X)

    assert [type(v) for v in found[1][0]] == [np.ndarray] * 2
    assert found[1][0] is found[0]


@pytest.mark.host
def test_numbers_have_methods_of_their_own():
    does_the_same(lambda x: (x * 2, x[2].is_integer(), x[1].as_integer_ratio()), X)


@pytest.mark.host
def test_operators_are_left_to_others():
    sparse = scipy.sparse.csr_matrix(np.diag(X))
    fused = ow.fuse(lambda x: (x @ sparse) * 2 + x)
    for _ in range(2):
        np.testing.assert_array_equal(fused(X), X * X * 2 + X)


class Base:
    count = 0

    def scaled(self, x):
        type(self).count += 1
        return x * 2


class Derived(Base):
    def scaled(self, x):
        return super().scaled(x) + 1


class Node:
    def __init__(self, v):
        self.v = v
        self.me = self

    def scaled(self, x):
        self.v += 1
        return x * self.v


@pytest.mark.host
def test_a_class_is_asked_through_super():
    Derived.count = 0
    b = Derived()
    fused = ow.fuse(lambda x: b.scaled(x))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ow.OpweaveWarning)
        for _ in range(3):
            np.testing.assert_array_equal(fused(X), X * 2 + 1)

    assert Derived.count == 3


@pytest.mark.host
def test_an_object_that_holds_itself():
    node = Node(1.0)
    fused = ow.fuse(lambda x: node.scaled(x))
    for n in range(2, 5):
        np.testing.assert_array_equal(fused(X), X * n)

    assert node.v == 4
    assert node.me is node


def in_place(x):
    x += 1
    return x


def through_a_view(x):
    y = x[::2]
    y *= 2
    return y


KEPT_FUNCTIONS = {
    "whole": lambda x: x * 2,
    "a helper": lambda x: helper(x),
    "parts": lambda x: np.sort(x) * 2,
    "in place": in_place,
    "through a view": through_a_view,
    "a mask": lambda x: np.ma.array(x, mask=x > 3).sum(),
    "an object": lambda x: HOLDER(x),
}


@pytest.mark.host
@pytest.mark.parametrize("name", KEPT_FUNCTIONS)
def test_nothing_keeps_the_arrays_of_a_call(name):
    fused = ow.fuse(KEPT_FUNCTIONS[name])

    def call():
        given = X.copy()
        kept.append(weakref.ref(given))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fused(given)

    kept = []
    call()
    gc.collect()
    gc.disable()
    try:
        call()
        assert kept[1]() is None or name == "an object"
    finally:
        gc.enable()
    gc.collect()

    assert kept[1]() is None


class Last:
    last = None


def a_view_and_its_array(x, o):
    print(end="")
    y = x + 1
    o.last = y
    z = y.T
    return {"a": z, "b": (z, None), "same": y}


@pytest.mark.host
def test_a_view_of_all_is_another_object_than_its_array():
    holder = Last()
    found = ow.fuse(a_view_and_its_array)(X, holder)

    assert found["a"] is found["b"][0]
    assert found["same"] is holder.last
    assert found["a"] is not holder.last
    assert np.shares_memory(found["a"], holder.last)


@pytest.mark.host
def test_what_the_plain_function_runs_is_not_traced_at_each_call(monkeypatch):
    traced = []
    trace = specialise.trace
    monkeypatch.setattr(specialise, "trace", lambda *a, **k: traced.append(1) or trace(*a, **k))
    fused = ow.fuse(lambda x, y: np.sort(x) * (2 if np.asarray(x) is y else 3))
    with pytest.warns(ow.OpweaveWarning) as told:
        for _ in range(5):
            np.testing.assert_array_equal(fused(X, X), np.sort(X) * 2)

    assert len(told) == 1
    assert len(traced) == 1


@pytest.mark.host
def test_a_function_that_others_keep_is_the_users_own():
    REGISTERED.clear()

    def own(x):
        return x + 1

    def registers(x):
        heapq.heappush(REGISTERED, (0, own))
        atexit.register(own)
        atexit.unregister(own)
        return np.sort(x)

    np.testing.assert_array_equal(ow.fuse(registers)(X), np.sort(X))
    assert REGISTERED[0][1] is own


REGISTERED = []
