"""Fused functions in other processes: pickled by name, as functions are, and compiled there."""

import copy
import functools
import importlib
import multiprocessing
import pickle

import numpy as np
import pytest

import opweave as ow
from opweave._saved.moved import MOVED

pytestmark = pytest.mark.host
X = np.linspace(-1, 1, 12, dtype=np.float32).reshape(3, 4)


@ow.fuse
def decorated(x):
    return x * 2 + 1


@ow.fuse(static_argnames="k")
def powers(x, k=3):
    return x**k


def plain(x):
    return np.maximum(x, 0) * np.float32(0.5)


class Model:
    @ow.fuse
    def doubled(x):
        return x * 2


made = ow.fuse(plain, fast=True)
graph = ow.Graph("relu")
graph.device_to_host(graph.relu(graph.host_to_device("x", (3, 4))), name="y")


class Scaled:
    def __init__(self, by):
        self.by = by

    def scale(self, x):
        return x * self.by

    def __call__(self, x):
        return x + self.by


def by_name(x):
    return x * np.float32(0.5)


by_name = ow.repeat(by_name, 2)


def options_of(function):
    return getattr(function, "step", function).options


# name, function of one array
PICKLED = {
    "decorated": decorated,
    "with static arguments": powers,
    "made of a function": made,
    "of a class": Model.doubled,
    "unfused": decorated.unfused(),
    "with toggles": decorated.with_toggles(USE_VECTOR_IO=0),
    "repeated": ow.repeat(plain, 3),
    "repeated of a fused one": ow.repeat(decorated, 3),
    "repeated with options": ow.repeat(made.with_toggles(USE_VECTOR_IO=0), 2, fast=True),
    "repeated by name": by_name,
    "a ufunc": ow.fuse(np.exp),
    "a method": ow.fuse(Scaled(3).scale),
    "an object": ow.fuse(Scaled(3)).unfused(),
    "a repeated object": ow.repeat(ow.fuse(Scaled(3)), 2),
    "a partial": ow.fuse(functools.partial(np.maximum, 0.5)),
}


@pytest.mark.parametrize("name", PICKLED)
@pytest.mark.parametrize(
    "way", [lambda f: pickle.loads(pickle.dumps(f)), copy.copy, copy.deepcopy]
)
def test_what_is_loaded_is_the_same_function(name, way):
    function = PICKLED[name]
    found = way(function)

    assert repr(found) == repr(function)
    assert options_of(found) == options_of(function)
    np.testing.assert_array_equal(found(X), function(X))


@pytest.mark.parametrize(
    "name", ["decorated", "with static arguments", "of a class", "repeated by name"]
)
def test_a_decorated_function_is_itself(name):
    assert pickle.loads(pickle.dumps(PICKLED[name])) is PICKLED[name]
    assert copy.deepcopy({"f": PICKLED[name]})["f"] is PICKLED[name]


def test_a_deep_copy_of_a_method_has_an_object_of_its_own():
    scaled = Scaled(3)
    found = copy.deepcopy(ow.fuse(scaled.scale))
    scaled.by = 5

    np.testing.assert_array_equal(found(X), X * 3)


@pytest.mark.parametrize("mode", ["immediate", "graph", "replay"])
def test_a_runner_is_that_of_its_graph_as_it_was(mode):
    run = graph.runner(mode, fused=False, fast=True)
    run(x=X)
    for found in (pickle.loads(pickle.dumps(run)), copy.deepcopy(run)):
        assert (found.mode, found.options) == (run.mode, run.options)
        with pytest.raises(ow.errors.ArgumentError, match="missing x"):
            found()
        np.testing.assert_array_equal(found(x=-X), run(x=-X))


def test_a_graph_that_was_copied_goes_its_own_way():
    other = copy.copy(graph)
    other.device_to_host(other.exp(other.host_to_device("z", (2,))), name="e")

    assert "e" not in graph.outputs
    assert "e" in other.outputs


def test_a_function_without_a_name_is_refused_by_pickle():
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(ow.fuse(lambda x: x * 2))


def test_other_processes_take_them():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = [pool.apply(f, (X,)) for f in (decorated, PICKLED["repeated"])]

    np.testing.assert_array_equal(found[0], decorated(X))
    np.testing.assert_array_equal(found[1], PICKLED["repeated"](X))


# module, the name that a class of it had, and that of today
RENAMED = [
    ("opweave._lists.pickled", "Row", "PickledOperator"),
    ("opweave._sanitizer", "Report", "SanitizerReport"),
    ("opweave.compiler.ir", "Graph", "FunctionGraph"),
    ("opweave.compiler.ir.graph", "Graph", "FunctionGraph"),
    ("opweave.compiler.codegen.kernel_parts", "Load", "OperandLoad"),
    ("opweave.compiler.kernels.kernel_parts", "Load", "OperandLoad"),
    ("opweave.compiler.kernels.kernel_parts", "Store", "OperandStore"),
]


@pytest.mark.parametrize(("module", "name", "now"), RENAMED)
def test_a_class_is_found_under_the_name_that_it_had(module, name, now):
    found = pickle.loads(f"c{module}\n{name}\n.".encode())

    assert found.__name__ == now


@pytest.mark.parametrize("name", MOVED)
def test_a_class_is_found_under_the_name_that_its_module_had(name):
    named = vars(importlib.import_module(MOVED[name])).items()
    own = {n: made for n, made in named if getattr(made, "__module__", "") == MOVED[name]}

    assert own
    for attribute, made in own.items():
        assert pickle.loads(f"c{name}\n{attribute}\n.".encode()) is made
