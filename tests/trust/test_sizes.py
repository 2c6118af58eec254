"""How large a module, a function, a template and a room may be; what is larger has its reason here.

A module and a template count all of their lines, a function those from ``def`` to its end without
the docstring.  A control line of a template is one that Jinja reads and no compiler sees.
"""

import ast
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

ROOT = next(p for p in Path(__file__).parents if (p / "pyproject.toml").exists())
FOLDERS = ("api", "compiler", "runtime", "opcodes", "templates", "bench")
MODULE, FUNCTION, TEMPLATE = 300, 30, 100
CONTROL = 1 / 3
ROOM = 22  # modules of a folder
MOST_EXCEPTIONS = 10

# What may be larger: a module, a template, or ``module::function``, and why.
EXCEPTIONS: dict[str, str] = {
    "templates/columns.cu.j2": "conditions of a few lines each, in the order of the kernel: as "
    "macros they would hide it",
    "templates/macros.cu.j2": "a branch for each way in which an operand is addressed, and in it "
    "the call of one helper: a table",
    "templates/map.cu.j2": "a frame of eight lines, filled by macros for a host and for a GPU",
    "templates/row.cu.j2": "a frame of nine lines, filled by macros that other templates share",
}


def large_functions(text):
    """Names of the functions that are too long."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and lines_of(node) > FUNCTION:
            yield node.name


def lines_of(function):
    first = function.body[0]
    has_text = ast.get_docstring(function, clean=False) is not None
    text = first.end_lineno - first.lineno + 1 if has_text else 0
    return function.end_lineno - function.lineno + 1 - text


def is_large_template(text):
    lines = text.splitlines()
    control = sum(line.lstrip().startswith(("//%", "{%")) for line in lines)
    return len(lines) > TEMPLATE or control > CONTROL * len(lines)


@cache
def too_large():
    """All that is larger than its limit; files are read once for all who ask."""
    return frozenset(_too_large())


def _too_large():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            text, name = path.read_text(), path.relative_to(ROOT).as_posix()
            if len(text.splitlines()) > MODULE:
                yield name
            yield from (f"{name}::{function}" for function in large_functions(text))
    for path in sorted((ROOT / "templates").glob("*.j2")):
        if is_large_template(path.read_text()):
            yield path.relative_to(ROOT).as_posix()


def test_no_room_has_too_many_modules():
    paths = (p for folder in (*FOLDERS, "tests") for p in (ROOT / folder).rglob("*.py"))
    rooms = Counter(p.parent for p in paths if p.name != "__init__.py")

    assert {room for room, modules in rooms.items() if modules > ROOM} == set()


def test_nothing_else_is_larger_than_its_limit():
    assert too_large() - EXCEPTIONS.keys() == set()


def test_every_exception_is_one_still_and_has_a_reason():
    assert EXCEPTIONS.keys() - too_large() == set()
    assert all(EXCEPTIONS.values())


def test_exceptions_are_few():
    assert len(EXCEPTIONS) <= MOST_EXCEPTIONS


BODY = "    x = 1\n"


@pytest.mark.parametrize(("text", "large"), [
    ("def f():\n" + BODY * 29, []),
    ("def f():\n" + BODY * 30, ["f"]),
    ('def f():\n    """Text.\n\n    More.\n    """\n' + BODY * 29, []),
    ("@a\n@b\ndef f():\n" + BODY * 29, []),
    ("class A:\n  async def f(\n    self,\n  ):\n" + BODY * 28, ["f"]),
])  # fmt: skip
def test_the_length_of_a_function_is_that_of_its_code(text, large):
    assert list(large_functions(text)) == large


@pytest.mark.parametrize(("text", "large"), [
    ("x\n" * 100, False),
    ("x\n" * 101, True),
    ("x\nx\n  //% if a\n", False),
    ("x\n  {% if a %}\n", True),
])  # fmt: skip
def test_a_template_is_long_or_has_much_control(text, large):
    assert is_large_template(text) == large
