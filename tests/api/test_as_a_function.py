"""A fused function beside the tools that look at functions: they find what the plain one has."""

import doctest
import functools
import inspect
import sys
import typing

import numpy as np
import pytest

import opweave as ow

SCALE = 2.0


def scaled(x: np.ndarray, by: float = 3.0, *, shift: "float" = 0.0) -> np.ndarray:
    """Scales.

    >>> scaled(np.ones(1)).tolist()
    [6.0]
    """
    return x * by * SCALE + shift


def made(held):
    def inner(x):
        return x * held

    return inner


inside = made(2.0)
ASKED = {
    "signature": inspect.signature,
    "getsource": inspect.getsource,
    "getsourcelines": inspect.getsourcelines,
    "getdoc": inspect.getdoc,
    "getmodule": inspect.getmodule,
    "get_annotations": inspect.get_annotations,
    "getfullargspec": inspect.getfullargspec,
    "iscoroutinefunction": inspect.iscoroutinefunction,
    "isgeneratorfunction": inspect.isgeneratorfunction,
    "hints": typing.get_type_hints,
    "wraps": lambda f: inspect.signature(functools.wraps(f)(lambda *a, **k: f(*a, **k))),
    "doctest": lambda f: [t.source for d in doctest.DocTestFinder().find(f, "f") for t in d.examples],
    "code": lambda f: f.__code__,
    "defaults": lambda f: (f.__defaults__, f.__kwdefaults__),
    "globals": lambda f: f.__globals__ is globals(),
    "closure": lambda f: f.__closure__,
    "names": lambda f: (f.__name__, f.__qualname__, f.__module__),
    "annotations": lambda f: f.__annotations__,
    "types": lambda f: getattr(f, "__type_params__", ()),
    "builtins": lambda f: f.__builtins__ is scaled.__builtins__,
    "attributes": lambda f: (vars(f), getattr(f, "tag", None)),
    "of a wrapper": lambda f: sorted(vars(functools.wraps(f)(lambda x: x))),
    "bound": lambda f: inspect.signature(f.__get__(2.0)),
}  # fmt: skip


async def later(x):
    return x


def by_turns(x):
    yield x


@pytest.mark.parametrize("name", ASKED)
@pytest.mark.parametrize("f", [scaled, inside, later, by_turns], ids=lambda f: f.__name__)
def test_what_tools_find_at_a_function_they_find_at_the_fused_one(name, f):
    assert ASKED[name](ow.fuse(f)) == ASKED[name](f)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="from Python 3.12")
def test_type_parameters_are_those_of_the_function():
    scope = {}
    exec("def f[T](x: T) -> T:\n    return x", scope)

    assert ow.fuse(scope["f"]).__type_params__ == scope["f"].__type_params__


def test_attributes_that_a_user_sets_are_found_and_copied_into_wrappers():
    def tagged(x):
        return x

    tagged.tag = "plain"
    fused = ow.fuse(tagged)
    fused.calls = 3

    wrapper = functools.wraps(fused)(lambda x: fused(x))

    assert (fused.tag, wrapper.tag, wrapper.calls) == ("plain", "plain", 3)
    assert vars(wrapper) == {"tag": "plain", "calls": 3, "__wrapped__": fused}
    with pytest.raises(AttributeError, match="'Fused' object has no attribute 'nothing'"):
        fused.nothing  # noqa: B018


@pytest.mark.parametrize("asked", [inspect.getfile, inspect.getsourcefile, inspect.getclosurevars])
def test_tools_that_take_functions_alone_take_the_plain_one(asked):
    with pytest.raises(TypeError):
        asked(ow.fuse(scaled))
    assert asked(ow.fuse(scaled).__wrapped__) == asked(scaled)
