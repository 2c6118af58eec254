"""The kinds of programs: graphs of operators, op-code lists, scripts, and ordinary Python."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.warm import by_c

from . import generate, oracles
from . import shrink as graphs
from . import write as tests
from .lists import shrink as lists
from .lists import write as list_tests
from .lists.draw import draw as draw_lists
from .lists.judge import judge_lists
from .lists.program import Lists
from .oracles import Failure, Plan, Verdict, drawn_plan
from .program import Program
from .python import shrink as pythons
from .python import write as python_tests
from .python.draw import draw as draw_python
from .python.judge import judge_python
from .python.program import Python
from .scripts import shrink as scripts
from .scripts import write as script_tests
from .scripts.draw import draw
from .scripts.judge import judge_script
from .scripts.script import Script

Drawn = Program | Script | Python
DRAW: dict[str, Callable[[int, int], Drawn]] = {
    "graph": generate.generate,
    "list": draw_lists,
    "script": draw,
    "python": draw_python,
}
# Whose the numbers are, in turn; a script takes half as long again as a graph.
TURNS = ("graph", "list", "script", "python", "graph", "script", "graph", "list")


def kind_of(number: int, only: str = "") -> str:
    """The kind of a number's program; ``only`` is the kind of all, if given."""
    return only or TURNS[number % len(TURNS)]


def drawn(seed: int, number: int, only: str = "") -> tuple[Drawn, Plan]:
    """The program of a number, and what it runs on."""
    return DRAW[kind_of(number, only)](seed, number), drawn_plan(seed, number)


def judge(program: Drawn, plan: Plan) -> Verdict:
    """Hold a program to the oracles of its kind; what C does otherwise comes first, see --by-c."""
    before = len(by_c.DIFFERED)
    verdict = _judged(program, plan)
    if len(by_c.DIFFERED) > before:
        verdict.failures = [Failure("by C", by_c.DIFFERED[before])]
    return verdict


def _judged(program: Drawn, plan: Plan) -> Verdict:
    if isinstance(program, Script):
        return judge_script(program)
    if isinstance(program, Python):
        return judge_python(program)
    if isinstance(program, Lists):
        return judge_lists(program, plan)
    return oracles.judge(program, plan)


def shrink(program: Any, fails: Callable[[Any], bool]) -> Any:
    if isinstance(program, Script):
        return graphs.shrink(program, fails, smaller=scripts.candidates, valid=scripts.is_valid)
    if isinstance(program, Python):
        return graphs.shrink(program, fails, smaller=pythons.candidates, valid=pythons.is_valid)
    if isinstance(program, Lists):
        return graphs.shrink(program, fails, smaller=lists.candidates, valid=lists.is_valid)
    return graphs.shrink(program, fails)


def alike(one: Failure, other: Failure) -> bool:
    """Of one oracle; of those that crash or raise, with the same words too, but for numbers."""
    if one.oracle not in ("crash", "error", "raised"):
        return one.oracle == other.oracle
    first, second = (re.sub(r"[^A-Za-z ]+", "", f.message)[:60] for f in (one, other))
    return one.oracle == other.oracle and first == second


def write(
    program: Any, failure: Failure, seed: int, number: int, plan: Plan, only: str = ""
) -> Path:
    if isinstance(program, Script):
        text = script_tests.text(program, failure, seed, number)
    elif isinstance(program, Python):
        text = python_tests.text(program, failure, seed, number, only)
    elif isinstance(program, Lists):
        text = list_tests.text(program, failure, seed, number, plan, only)
    else:
        text = tests.text(program, failure, seed, number, plan)
    return tests.write(program, text)
