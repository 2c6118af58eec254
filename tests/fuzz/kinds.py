"""The two kinds of programs, under one name each: graphs of operators, and scripts."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import generate, oracles
from . import shrink as graphs
from . import write as tests
from .oracles import Failure, Plan, Verdict, drawn_plan
from .program import Program
from .scripts import shrink as scripts
from .scripts import write as script_tests
from .scripts.draw import draw
from .scripts.judge import judge_script
from .scripts.script import Script

# Of so many numbers one is a script's: it takes half as long again as a graph.
SCRIPT_EVERY = 3


def is_script(number: int) -> bool:
    return number % SCRIPT_EVERY == SCRIPT_EVERY - 1


def drawn(seed: int, number: int) -> tuple[Program | Script, Plan]:
    """The program of a number, and what it runs on."""
    made = draw(seed, number) if is_script(number) else generate.generate(seed, number)
    return made, drawn_plan(seed, number)


def judge(program: Program | Script, plan: Plan) -> Verdict:
    if isinstance(program, Script):
        return judge_script(program)
    return oracles.judge(program, plan)


def shrink(program: Any, fails: Callable[[Any], bool]) -> Any:
    if isinstance(program, Script):
        return graphs.shrink(program, fails, smaller=scripts.candidates, valid=scripts.is_valid)
    return graphs.shrink(program, fails)


def alike(one: Failure, other: Failure) -> bool:
    """Of one oracle; of scripts that crash or raise, with the same words too, but for numbers."""
    if one.oracle not in ("crash", "error"):
        return one.oracle == other.oracle
    first, second = (re.sub(r"[^A-Za-z ]+", "", f.message)[:60] for f in (one, other))
    return one.oracle == other.oracle and first == second


def write(program: Any, failure: Failure, seed: int, number: int, plan: Plan) -> Path:
    if isinstance(program, Script):
        text = script_tests.text(program, failure, seed, number)
    else:
        text = tests.text(program, failure, seed, number, plan)
    return tests.write(program, text)
