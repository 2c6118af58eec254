"""A class of the package has a name that no other class has: who reads it knows which is meant."""

import ast
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = next(p for p in Path(__file__).parents if (p / "pyproject.toml").exists())
FOLDERS = ("api", "compiler", "opcodes", "runtime")


def classes_of(text):
    """Names of the classes that a module defines, wherever they stand."""
    return [node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef)]


def repeated(modules):
    """Names of classes that stand twice, with their modules; ``modules`` are texts by name."""
    homes = defaultdict(list)
    for module, text in modules.items():
        for name in classes_of(text):
            homes[name].append(module)
    return {name: found for name, found in homes.items() if len(found) > 1}


def test_no_two_classes_of_the_package_have_one_name():
    paths = (path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py")))

    assert repeated({str(p.relative_to(ROOT)): p.read_text() for p in paths}) == {}


@pytest.mark.parametrize(("one", "other", "found"), [
    ("class A: ...", "class B: ...", {}),
    ("class A: ...", "class A: ...", {"A": ["one", "other"]}),
    ("def f():\n  class A: ...", "if x:\n  class A: ...", {"A": ["one", "other"]}),
    ("class A: ...\nclass A: ...", "A = 1", {"A": ["one", "one"]}),
])  # fmt: skip
def test_classes_of_one_name_are_seen(one, other, found):
    assert repeated({"one": one, "other": other}) == found
