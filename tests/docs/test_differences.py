"""docs/differences.md holds: each row is run on both sides, and adding a row adds a test."""

import ast
import copy
import re
import warnings
from contextlib import nullcontext
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import opweave as ow
from tests.fuzz.python.judge import DOCUMENTED as OF_PYTHON
from tests.fuzz.scripts.judge import DOCUMENTED as OF_SCRIPTS

pytestmark = pytest.mark.host
FILE = "differences.md"
PAGE = (Path(__file__).parents[2] / "docs" / FILE).read_text()
CODE = re.compile(r"`([^`]+)`")
NAMES = re.search(r"```python\n(.*?)```", PAGE, re.DOTALL)[1]  # of the rows; test_pages runs all
# The tables by their heads.
DIFFERS = "difference | code | NumPy | opweave | why"
ROUNDS = "difference | code | ULP | why"
OPEN = "left open | code | of both | why"
IN_PARTS = "in parts | code | the error says"
ARGUMENTS = (np.ndarray, list, Fraction)


def tables():
    """Rows of the page, by the head of their table."""
    found = {}
    for table in re.findall(r"(?:^\|.*\n)+", PAGE, re.MULTILINE):
        head, _, *lines = [line.strip("| ") for line in table.splitlines()]
        found.setdefault(head, []).extend(line.split(" | ") for line in lines)
    return found


TABLES = tables()


def rows(head):
    return [pytest.param(*row[1:], id=row[0]) for row in TABLES[head]]


class Ran(NamedTuple):
    result: object
    error: Exception | None
    warned: list[str]
    names: dict[str, object]

    def shown(self, look):
        """What the page has in the column of a side."""
        if self.error is not None and "error" not in look:
            return f"raises `{type(self.error).__name__}`"
        seen = {"r": self.result, "error": self.error, "warned": self.warned}
        return f"`{eval(look, {**self.names, **seen})!r}`"


def run(code, wrap):
    """Call the function of a row's code, which is made anew with all that it names."""
    around, body = re.fullmatch(r"(?:with (.*?): )?(.*)", code).groups()
    scope = {"__name__": "differences"}
    exec(compile(NAMES, FILE, "exec"), scope)
    found = {n.id for n in ast.walk(ast.parse(body)) if isinstance(n, ast.Name)}
    names = sorted(n for n in found if isinstance(scope.get(n), ARGUMENTS))
    text = f"def tried({', '.join(names)}):\n    return {body}"
    exec(compile(text, FILE, "exec"), scope)
    values = {name: copy.deepcopy(scope[name]) for name in names}
    result, failed = None, None
    with warnings.catch_warnings(record=True) as caught, np.errstate():
        warnings.simplefilter("always")
        with eval(around, scope) if around else nullcontext():
            try:
                result = wrap(scope["tried"])(**values)
            except Exception as error:
                failed = error
    warned = [f"{w.category.__name__}: {w.message}" for w in caught]
    return Ran(result, failed, warned, {**scope, **values})


def plain(function):
    return function


def whole(function):
    return ow.fuse(function, fullgraph=True)


def test_every_table_of_the_page_is_run():
    assert set(TABLES) == {DIFFERS, ROUNDS, OPEN, IN_PARTS}
    names = [row[0] for found in TABLES.values() for row in found]
    assert len(names) == len(set(names))
    assert all(cell.strip() for found in TABLES.values() for row in found for cell in row)


@pytest.mark.parametrize(("cell", "numpy", "opweave", "why"), rows(DIFFERS))
def test_the_two_differ_as_the_page_says(cell, numpy, opweave, why):
    code, *looks = CODE.findall(cell)
    look = looks[0] if looks else "r"

    assert run(code, plain).shown(look) == numpy
    assert run(code, ow.fuse).shown(look) == opweave
    assert numpy != opweave


def apart(ours, numpys):
    """The distance of two results, in units of the last place of NumPy's; of several the most."""
    if isinstance(numpys, list):
        return max(apart(*pair) for pair in zip(ours, numpys, strict=True))
    assert (ours.dtype, ours.shape) == (numpys.dtype, numpys.shape)
    place = np.spacing(np.abs(numpys).astype(numpys.real.dtype))
    return float(np.max(np.abs(ours.astype(np.complex128) - numpys) / place))


@pytest.mark.parametrize(("cell", "most", "why"), rows(ROUNDS))
def test_the_two_lie_as_near_as_the_page_says(cell, most, why):
    (code,) = CODE.findall(cell)
    ours, numpys = run(code, whole), run(code, plain)

    assert 0 < apart(ours.result, numpys.result) <= int(most)
    assert run(code, lambda f: whole(f).check).error is None  # beyond the derived bound


@pytest.mark.parametrize(("cell", "holds", "why"), rows(OPEN))
def test_what_is_left_open_is_within_what_the_page_says(cell, holds, why):
    for side in (plain, ow.fuse):
        assert run(CODE.findall(cell)[0], side).shown(holds.strip("`")) == "`True`"


@pytest.mark.parametrize(("cell", "says"), rows(IN_PARTS))
def test_what_makes_parts_is_refused_as_a_whole(cell, says):
    (code,) = CODE.findall(cell)
    refused = run(code, whole).error
    ours, numpys = run(code, ow.fuse), run(code, plain)

    assert isinstance(refused, ow.errors.OpweaveError)
    assert says in str(refused)
    assert ours.error is None
    assert type(ours.result) is type(numpys.result)
    np.testing.assert_array_equal(ours.result, numpys.result)


def test_what_the_fuzzer_lets_pass_stands_on_the_page():
    named = {page for _, page in (*OF_PYTHON, *OF_SCRIPTS) if page.startswith(FILE)}
    known = {f"{FILE}: {row[0]}" for found in TABLES.values() for row in found}

    assert named
    assert named <= known
