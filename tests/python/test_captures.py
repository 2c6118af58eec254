"""Captures: what a function reads besides its arguments is read again at each call."""

import sys
import types

import numpy as np
import pytest

import opweave as ow
from opweave.compiler.captures.capture import places_of

X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)
pytestmark = pytest.mark.host

SOURCE = """
import numpy as np
import opweave as ow

WEIGHTS = np.arange(4, dtype=np.float32)
SHIFT = 0.5
TABLE = {"scale": np.float32(2.0), "rows": [np.ones((3, 1), np.float32)]}
MODE = "relu"

def helper(x):
    return x * WEIGHTS + SHIFT

def other(x):
    return -x

def function(x):
    y = helper(x) * TABLE["scale"] + TABLE["rows"][0]
    return np.maximum(y, 0) if MODE == "relu" else other(y)

@ow.fuse
def inner(x):
    return helper(x) + 1

def outer(x):
    return inner(x) * 2
"""


@pytest.fixture
def module():
    made = types.ModuleType("a_module_of_the_users")
    exec(compile(SOURCE, "a_module_of_the_users.py", "exec"), made.__dict__)
    return made


def rebind(name, value):
    return lambda m: setattr(m, name, value)


def in_place(m):
    m.WEIGHTS *= 3


def in_a_table(m):
    m.TABLE["rows"][0] = np.full((3, 1), 7, np.float32)


@pytest.mark.parametrize(("change", "traces"), [
    (rebind("WEIGHTS", np.ones(4, np.float32)), 1),  # arrays are inputs
    (in_place, 1),
    (in_a_table, 1),
    (rebind("WEIGHTS", np.ones((3, 1))), 2),
    (rebind("WEIGHTS", 4.0), 2),
    (rebind("SHIFT", 0.25), 2),  # the rest is part of the guard
    (rebind("SHIFT", np.float32(0.5)), 2),
    (rebind("MODE", "other"), 2),
    (rebind("helper", lambda x: x * x), 2),
])  # fmt: skip
@pytest.mark.parametrize("name", ["function", "outer"])
def test_what_changes_outside_changes_the_result(module, change, traces, name):
    plain = {"function": module.function, "outer": lambda x: module.inner.__wrapped__(x) * 2}
    fused = ow.fuse(getattr(module, name))
    for _ in range(2):
        np.testing.assert_array_equal(fused(X), plain[name](X))
    change(module)
    for _ in range(2):
        np.testing.assert_array_equal(fused(X), plain[name](X))

    assert fused._specialised.traces <= traces


LIBRARY = """
import numpy as np

SCALE = 2.0
WEIGHTS = np.arange(4, dtype=np.float32)

def act(x):
    return x * SCALE + WEIGHTS

class Layer:
    def __init__(self):
        self.bias = np.ones(4, np.float32)

    def act(self, x):
        return act(x) * SCALE + self.bias

    def __call__(self, x):
        return self.act(x) - np.negative(WEIGHTS)
"""

USER = """
import numpy as np
import a_users_library as library
from a_users_library import act

WEIGHTS = np.full(4, 3, np.float32)
LAYER = library.Layer()

def imported(x):
    return act(x) + 1

def number_of_a_module(x):
    return x * library.SCALE

def array_of_a_module(x):
    return x + np.negative(library.WEIGHTS)

def function_of_a_module(x):
    return library.act(x)

def equal_names_of_two_scopes(x):
    return library.act(x) * WEIGHTS + g(x)

def g(WEIGHTS):
    return library.act(WEIGHTS)

def method(x):
    return LAYER.act(x)

def call(x):
    return LAYER(x)

def given(x, layer=LAYER):
    return layer(x)

def both(x):
    return library.WEIGHTS + x * WEIGHTS
"""


@pytest.fixture
def library(monkeypatch):
    """A module of the user's, and another that imports it."""
    made = types.ModuleType("a_users_library")
    exec(compile(LIBRARY, "a_users_library.py", "exec"), made.__dict__)
    monkeypatch.setitem(sys.modules, "a_users_library", made)
    made.user = types.ModuleType("a_users_program")
    exec(compile(USER, "a_users_program.py", "exec"), made.user.__dict__)
    return made


@pytest.mark.parametrize("name", [
    "imported", "number_of_a_module", "array_of_a_module", "function_of_a_module",
    "equal_names_of_two_scopes", "method", "call", "given", "both",
])  # fmt: skip
@pytest.mark.parametrize("change", [
    rebind("SCALE", 5.0),
    rebind("WEIGHTS", np.full(4, 7, np.float32)),
    rebind("WEIGHTS", 1.5),
    rebind("act", lambda x: x * 11),
    lambda m: setattr(m.user, "act", lambda x: x * 13),
    lambda m: setattr(m.user, "WEIGHTS", np.float32(17)),
], ids=["number", "array", "array to number", "function", "imported function", "own name"])  # fmt: skip
def test_other_modules_of_the_user_are_read_at_each_call(library, name, change):
    plain = getattr(library.user, name)
    fused = ow.fuse(plain)
    for step in (lambda m: None, change, rebind("SCALE", 0.25)):
        step(library)
        np.testing.assert_array_equal(fused(X), plain(X))


def test_names_that_two_scopes_share_are_inputs_of_their_own(library):
    fused = ow.fuse(library.user.both)

    assert len(fused.lower(X).graph.inputs) == 3
    np.testing.assert_array_equal(fused(X), library.user.both(X))


def test_an_object_that_is_returned_keeps_its_class(library):
    layer = library.Layer()
    back, y = ow.fuse(lambda o, x: (o, o(x)))(layer, X)

    assert type(back) is library.Layer
    np.testing.assert_array_equal(y, layer(X))


def test_a_function_of_an_installed_package_is_not_searched():
    assert [p.name for p in places_of(lambda x: np.tile(x, 2))] == []


def test_an_unchanged_module_compiles_once(module):
    fused = ow.fuse(module.function)
    for _ in range(3):
        fused(X)
    module.WEIGHTS = module.WEIGHTS + 1
    fused(X)

    assert fused._specialised.traces == 1
    assert [p.name for p in places_of(module.function)] == [
        "helper", "WEIGHTS", "SHIFT", "TABLE", "MODE", "other",
    ]  # fmt: skip


def test_one_kernel_reads_what_a_closure_holds():
    def maker(k):
        table, deep = np.full(4, k, np.float32), {"bias": np.float64(k)}

        def function(x):
            nested = lambda y: y * table + deep["bias"]  # noqa: E731
            return nested(x) + k

        return function

    for k in (2, 5):
        fused = ow.fuse(maker(k))
        np.testing.assert_array_equal(fused(X), maker(k)(X))
        assert len(fused.lower(X).kernels) == 1
    assert "table" in fused.lower(X, target="sm_80").source
    assert fused.check(X).ok


class Network:
    def __init__(self):
        self.weights = np.arange(4, dtype=np.float32)
        self.gain = 2.0
        self.generator = np.random.default_rng(0)
        self.deep = [{"bias": np.ones(4, np.float32)}]
        self.calls = 0

    def activate(self, x):
        return np.maximum(x, 0) + self.deep[0]["bias"]

    @ow.fuse
    def __call__(self, x):
        return self.activate(x * self.weights) * self.gain

    def plain(self, x):
        return self.activate(x * self.weights) * self.gain

    @ow.fuse
    def counting(self, x):
        self.calls += 1
        return x * 2


def test_an_objects_attributes_are_read_at_each_call():
    network = Network()
    for change in (
        {},
        {"weights": np.ones(4, np.float32)},
        {"gain": 7.0},
        {"deep": [{"bias": 3}]},
    ):
        vars(network).update(change)
        np.testing.assert_array_equal(network(X), network.plain(X))
    network.weights *= 2

    np.testing.assert_array_equal(network(X), network.plain(X))
    assert Network.__dict__["__call__"]._specialised.traces == 2  # the bias became a number


MODEL = Network()


def test_an_object_outside_is_read_at_each_call():
    fused = ow.fuse(lambda x: x * MODEL.weights + MODEL.gain)
    for gain in (1.0, 2.0):
        MODEL.gain = gain
        MODEL.weights = MODEL.weights + 1
        np.testing.assert_array_equal(fused(X), X * MODEL.weights + gain)


@pytest.mark.parametrize("function", [
    lambda x: x * np.arange(4, dtype=np.float32) + np.eye(3, 4),
    lambda x: x + np.array([1, 2, 3, 4]),
    lambda x: np.where(np.tri(3, 4, dtype=bool), x, 0),
    lambda x: (x * np.ones(4)).sum(axis=1) + np.linspace(0, 1, 3),
    lambda x: x * np.array(3.0),
    lambda x: x @ np.ones((4, 2), np.float32),
    lambda x: x @ np.arange(4, dtype=np.float32) + np.dot(np.ones(3, np.float32), x).sum(),
])  # fmt: skip
@pytest.mark.parametrize("target", ["host", "sm_80"])
def test_arrays_that_the_function_makes_are_inputs(function, target):
    fused = ow.fuse(function)

    np.testing.assert_allclose(fused.lower(X, target=target)(X), function(X), rtol=1e-5)
    assert fused.check(X).ok


def test_the_same_array_is_one_input():
    fused = ow.fuse(lambda x: x * MODEL.weights + np.negative(MODEL.weights))

    assert [i.name for i in fused.lower(X).graph.inputs] == [
        "x", "MODEL_weights", "MODEL_deep_0_bias",
    ]  # fmt: skip


def assigned(x):
    global ASSIGNED
    ASSIGNED = x
    return x


@pytest.mark.parametrize(("call", "piece"), [
    (lambda: ow.fuse(assigned, fullgraph=True)(X), "assigns the global 'ASSIGNED'"),
])  # fmt: skip
def test_a_whole_function_does_not_change_what_others_have(call, piece):
    with pytest.raises(ow.errors.TraceError, match=piece):
        call()

    assert "ASSIGNED" not in globals()
