"""The examples in docstrings."""

import doctest
import importlib
import pkgutil

import pytest

PACKAGES = ("opweave", "opweave.compiler", "opweave.opcodes", "opweave.runtime")
MODULES = sorted({
    m.name
    for name in PACKAGES
    for m in pkgutil.walk_packages(importlib.import_module(name).__path__, f"{name}.")
    if not m.name.endswith("__main__")
})  # fmt: skip
FINDER = doctest.DocTestFinder(exclude_empty=True)
# Packages of others that a room is made for, and imports.
OTHERS = ("torch",)


def examples(name):
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name not in OTHERS:
            raise
        return []
    return [t for t in FINDER.find(module, name) if t.examples]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_hold(name):
    for test in examples(name):
        assert doctest.DocTestRunner().run(test).failed == 0, test.name


def test_there_are_examples():
    assert sum(map(len, map(examples, MODULES))) >= 12
