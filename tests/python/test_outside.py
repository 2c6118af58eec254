"""What lies outside of a function is read at each call, whatever holds it."""

import argparse
import array
import collections
import datetime
import functools
import itertools
import os
import types
from abc import ABC
from typing import Generic, TypeVar

import numpy as np
import pytest

import opweave as ow

LIBRARY_IN_PARTS = True
X = np.arange(3.0)
GAIN = 2
SHIFT = np.ones(3)
pytestmark = pytest.mark.host


def scaled(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args) * GAIN

    return wrapper


class Layer:
    slope = 2

    def __init__(self):
        self.bias, self.weights, self.deep = 1, np.ones(3), {"k": 2}
        self.act = self.plain

    def plain(self, x):
        return x * self.bias

    def counting(self, x):
        self.bias += 1
        return x * self.bias

    def adding(self, x):
        self.weights += x
        return self.weights * 1

    def __call__(self, x):
        return x * self.bias * self.slope * self.deep["k"] + self.weights - SHIFT

    @staticmethod
    def free(x):
        return x * GAIN

    @classmethod
    def of_class(cls, x):
        return x * cls.slope

    @property
    def both(self):
        return self.bias * GAIN

    @scaled
    def decorated(self, x):
        return self.free(x) * self.both

    def of_its_type(self, x):
        type(self).slope += 1
        return x * self.slope


class Heir(Layer):
    def __call__(self, x):
        return super().__call__(x) + super().of_class(x)


@pytest.fixture(autouse=True)
def as_it_was():
    """The classes and globals of this file before each test."""
    global GAIN, SHIFT
    GAIN, SHIFT, Layer.slope, Counter.n = 2, np.ones(3), 2, 1
    Counter.table, Counter.array = {"k": 1}, np.ones(3)
    Counter.queue = collections.deque([1, 2, 3])
    appending.__defaults__ = ([],)
    helper.n, helper.__defaults__ = 1, ({"k": 2}, [])


def rebind_gain(layer):
    global GAIN
    GAIN += 1


def rebind_shift(layer):
    global SHIFT
    SHIFT = SHIFT * 3


CHANGES = {
    "number": lambda o: setattr(o, "bias", o.bias + 4),
    "array": lambda o: setattr(o, "weights", o.weights + 1),
    "element": lambda o: np.add(o.weights, 1, out=o.weights),
    "item": lambda o: o.deep.update(k=o.deep["k"] + 1),
    "class": lambda o: setattr(Layer, "slope", Layer.slope + 1),
    "own class": lambda o: setattr(type(o), "slope", type(o).slope + 1),
    "global": rebind_gain,
    "global array": rebind_shift,
}
CALLED = {
    "the object": lambda o: o,
    "a method": lambda o: o.plain,
    "a static method": lambda o: o.free,
    "a method of the class": lambda o: o.of_class,
    "a decorated method": lambda o: o.decorated,
    "a method that writes": lambda o: o.adding,
    "a partial": lambda o: functools.partial(lambda d, x, k=1: x * d.bias * k, o, k=3),
    "a partial of a method": lambda o: functools.partial(o.plain),
    "a captured method": lambda o: (lambda f: lambda x: f(x))(o.plain),
    "a captured partial": lambda o: (lambda f: lambda x: f(x))(functools.partial(Layer.plain, o)),
    "objects in a list": lambda o: (lambda layers: lambda x: layers[0](layers[1](x)))([o, o]),
    "methods in a dict": lambda o: (lambda d: lambda x: d["f"](x))({"f": o.decorated}),
    "fused ones in a dict": lambda o: (lambda d: lambda x: d["f"](x))({"f": ow.fuse(o)}),
    "repeated": lambda o: (lambda f: lambda x: f(x))(ow.repeat(lambda x: o.decorated(x), 3)),
    "an attribute": lambda o: lambda x: o.act(x),
    "another object": lambda o: lambda x: type(o)()(x),
}


def agrees(make, calls=3):
    """The results of a function over some calls, with a change after each, are those of NumPy.

    ``make`` gives a function of its own, and its change.  Returns the fused function.
    """
    found = []
    for made in (lambda function: function, ow.fuse):
        as_it_was.__wrapped__()
        function, change = make()
        called = made(function)
        found.append([])
        for _ in range(calls):
            found[-1].append(np.array(called(X.copy())))
            change()
    for expected, result in zip(*found, strict=True):
        np.testing.assert_array_equal(result, expected)
    return called


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("called", CALLED)
@pytest.mark.parametrize("kind", [Layer, Heir])
def test_what_an_object_holds_is_read_at_each_call(kind, called, change):
    def make():
        if "slope" in vars(Heir):
            del Heir.slope
        made = kind()
        return CALLED[called](made), lambda: CHANGES[change](made)

    agrees(make)


def test_a_fused_method_has_its_names():
    fused = ow.fuse(Layer().plain)

    assert (fused.__name__, fused.signature.names) == ("plain", ("x",))
    names = [i.name for i in ow.fuse(Layer()).lower(X).graph.inputs]
    assert names == ["x", "self_weights", "SHIFT"]
    assert ow.fuse(Layer()).check(X).ok


class Slots:
    __slots__ = ("k",)


class Abstract(ABC):  # noqa: B024
    pass


class Generous(Generic[TypeVar("T")]):
    pass


class Once:
    made = None

    def __new__(cls):
        cls.made = cls.made or object.__new__(cls)
        return cls.made


class Rows(list):
    pass


def attribute(kind):
    def make():
        held = kind()
        held.k = 2
        return (lambda x: x * held.k), lambda: setattr(held, "k", held.k + 1)

    return make


def item(kind, key="k"):
    def make():
        held = kind()
        held[key] = 2
        return (lambda x: x * held[key]), lambda: held.update({key: held[key] + 1})

    return make


def element(kind):
    def make():
        held = kind([2])
        return (lambda x: x * held[0]), lambda: held.__setitem__(0, held[0] + 1)

    return make


def members():
    held = {1}
    return (lambda x: x * len(held)), lambda: held.add(len(held) + 1)


def by_globals():
    return (lambda x: x * globals()["GAIN"]), lambda: rebind_gain(None)


def by_text():
    return (lambda x: x * eval("GAIN")), lambda: rebind_gain(None)


def by_name():
    module = types.ModuleType("a_module")
    module.k = 2
    return (lambda x: x * getattr(module, "k")), lambda: setattr(module, "k", module.k + 1)  # noqa: B009


def in_a_container():
    modules = {"module": types.ModuleType("a_module")}
    bump(modules["module"], 2)
    return (lambda x: x * modules["module"].n), lambda: bump(modules["module"])


def environment():
    os.environ["OPWEAVE_TESTED"] = "2"
    change = lambda: os.environ.update(OPWEAVE_TESTED=os.environ["OPWEAVE_TESTED"] + "1")  # noqa: E731
    return (lambda x: x * int(os.environ["OPWEAVE_TESTED"])), change


class Counter:
    n, table, array, queue = 1, {}, np.ones(3), collections.deque()


def helper(x, held={"k": 2}, add=[]):  # noqa: B006
    return x * held["k"] + len(add)


HOLDERS = {
    "namespace": (attribute(types.SimpleNamespace), True),
    "arguments": (attribute(argparse.Namespace), True),
    "ordered": (item(collections.OrderedDict), True),
    "abstract": (attribute(Abstract), True),
    "generic": (attribute(Generous), True),
    "a class": (lambda: ((lambda x: x * Counter.n), lambda: bump(Counter)), True),
    "a table of a class": (
        lambda: ((lambda x: x * Counter.table["k"]), lambda: Counter.table.update(k=7)), True,
    ),
    "an array of a class": (
        lambda: ((lambda x: x * Counter.array), lambda: setattr(Counter, "array", X * 3)), True,
    ),
    "a function": (lambda: ((lambda x: x * helper.n), lambda: bump(helper)), True),
    "defaults": (lambda: ((lambda x: helper(x)), change_defaults), True),
    "slots": (attribute(Slots), False),
    "one object": (attribute(Once), False),
    "default dict": (item(lambda: collections.defaultdict(int)), False),
    "counter": (item(collections.Counter), False),
    "chain map": (item(collections.ChainMap), False),
    "user dict": (item(collections.UserDict), False),
    "deque": (element(collections.deque), False),
    "bytes": (element(bytearray), False),
    "array": (element(lambda values: array.array("d", values)), False),
    "own list": (element(Rows), False),
    "set": (members, False),
    "globals()": (by_globals, False),
    "eval": (by_text, False),
    "getattr": (by_name, False),
    "modules in a dict": (in_a_container, False),
    "environ": (environment, False),
    "queue of a class": (
        lambda: ((lambda x: x * Counter.queue[0]), lambda: Counter.queue.rotate()), False,
    ),
}  # fmt: skip


def bump(owner, first=None):
    owner.n = first or owner.n + 1


def change_defaults():
    helper.__defaults__[0]["k"] += 1


@pytest.mark.parametrize("name", HOLDERS)
def test_what_any_object_holds_is_read_at_each_call(name):
    make, is_whole = HOLDERS[name]
    fused = agrees(make)

    assert is_whole == (not fused._parts.reasons and not fused.fallback.told)
    if not is_whole:
        assert "at each call" in ow.fuse(make()[0]).explain(X).text
        whole = ow.fuse(make()[0], fullgraph=True)
        with pytest.raises(ow.errors.TraceError, match=r"at each call.*\(test_outside.py:\d+\)|"
                                                       "may hold other things"):  # fmt: skip
            whole(X)


STEADY = (range(3), frozenset({1}), object(), datetime.timedelta(1), np.finfo(float), np.mean)


@functools.cache
def twiddle(n):
    return n * 0.5


def test_what_stays_as_it_is_makes_no_parts():
    fused = ow.fuse(
        lambda x: (x * len(STEADY[0]) + (1 in STEADY[1]) - STEADY[4].eps + STEADY[5](x))
        * twiddle(3) * (STEADY[3] > datetime.timedelta(0)),
        fullgraph=True,
    )  # fmt: skip

    np.testing.assert_array_equal(fused(X), (X * 3 + 1 - np.finfo(float).eps + 1) * 1.5)


def adds_to_a_class(x):
    Counter.n += 1
    return x * Counter.n


def sets_a_classes_attribute(x):
    setattr(Counter, "n", Counter.n + 1)  # noqa: B010
    return x * Counter.n


def adds_to_a_classes_array(x):
    Counter.array += x
    return x * Counter.array


def adds_to_a_classes_element(x):
    Counter.array[0] += 1
    return x * Counter.array


def adds_to_a_classes_table(x):
    Counter.table["k"] += 1
    return x * Counter.table["k"]


def rotates(x):
    Counter.queue.rotate(1)
    return x * Counter.queue[0]


def appending(x, held=[]):  # noqa: B006
    held.append(1)
    return x * len(held)


def kept(kind, step):
    """A function that changes what it has captured."""

    def make():
        held = kind()
        return (lambda x: step(x, held)), lambda: None

    return make


REPEATED = {
    **{f.__name__: (lambda f=f: (f, lambda: None)) for f in (
        adds_to_a_class, sets_a_classes_attribute, adds_to_a_classes_array,
        adds_to_a_classes_element, adds_to_a_classes_table, rotates,
    )},
    "iterator": kept(lambda: iter(range(1, 9)), lambda x, it: x * next(it)),
    "count": kept(itertools.count, lambda x, it: x * next(it)),
    "generator": kept(lambda: (i * i for i in range(9)), lambda x, it: x * next(it)),
    "loop": kept(lambda: iter(range(1, 9)), lambda x, it: next(x * i for i in it)),
    "set": kept(set, lambda x, s: (s.add(len(s)), x * len(s))[1]),
    "history": kept(lambda: collections.deque(maxlen=2), lambda x, q: (q.append(x * 2), sum(q))[1]),
    "memory": kept(lambda: collections.defaultdict(list),
                   lambda x, d: (d["k"].append(x.sum()), x + sum(d["k"]))[1]),
    "defaults": lambda: ((lambda x: appending(x)), lambda: None),
    "own class": lambda: (Layer().of_its_type, lambda: None),
    "method": lambda: (Layer().adding, lambda: None),
}  # fmt: skip


@pytest.mark.parametrize("name", REPEATED)
def test_what_a_function_changes_is_changed_at_each_call(name):
    agrees(REPEATED[name], 4)


def test_a_class_is_itself():
    layer = Layer()
    for kind, fullgraph in ((Layer, True), (Heir, True), (Layer, False)):
        fused = ow.fuse(
            lambda x, s, kind=kind, whole=fullgraph: (
                (x if whole else np.sort(x)) * (type(layer) is kind) + (type(s) is int)
            ),
            fullgraph=fullgraph,
        )
        np.testing.assert_array_equal(fused(X, 2), X * (kind is Layer) + 1)
        np.testing.assert_array_equal(fused(X, 2.5), X * (kind is Layer))


def counts_itself(x):
    counts_itself.n = getattr(counts_itself, "n", 0) + 1
    return x


def counts_outside():
    n = 1

    def step():
        nonlocal n
        n += 1

    def function(x):
        step()
        return x * n

    return function


LAYER = Layer()


def counts_in_a_layer(x):
    return LAYER.counting(x)


@pytest.mark.parametrize(("function", "piece", "options"), [
    (counts_itself, "assigns counts_itself.n", {"fullgraph": True}),
    (counts_outside(), "assigns the variable 'n' of an enclosing function", {"fullgraph": True}),
    (counts_in_a_layer, "changes LAYER.bias", {"fullgraph": True}),
])  # fmt: skip
def test_what_would_be_done_once_is_refused(function, piece, options):
    fused = ow.fuse(function, **options)
    for _ in range(2):
        with pytest.raises(ow.errors.TraceError, match=piece):
            fused(X)

    assert not hasattr(counts_itself, "n")
    assert Layer.slope == 2


class Called(Layer):
    def __call__(self, x):
        self.bias += 1
        self.deep["k"] = self.bias * 2
        return x * self.bias + self.weights


BOUND = {
    "a method": lambda layer: layer.counting,
    "a method that writes": lambda layer: layer.adding,
    "a method of a part": lambda layer: layer.decorated,
    "an object": lambda layer: layer,
    "a partial one": lambda layer: functools.partial(layer.counting),
}


@pytest.mark.parametrize("name", BOUND)
def test_what_a_function_is_bound_to_is_an_argument(name):
    """Its numbers change from call to call, by the function and by others."""
    ours, plain = Called(), Called()
    fused, function = ow.fuse(BOUND[name](ours)), BOUND[name](plain)
    for n in range(20):
        np.testing.assert_array_equal(fused(X), function(X))
        ours.bias, plain.bias = ours.bias + n, plain.bias + n
        assert (ours.bias, ours.deep) == (plain.bias, plain.deep)
        np.testing.assert_array_equal(ours.weights, plain.weights)
    if name != "a partial one":
        assert len(fused.traces) <= 2


def test_a_variable_that_functions_share_is_one():
    plain, fused = counts_outside(), ow.fuse(counts_outside())
    for _ in range(3):
        np.testing.assert_array_equal(fused(X), plain(X))
