"""The page ``docs/numpy.md``: a line for each call, by chapter."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from opweave.compiler.numpy_api.dispatch import CREATORS, FUNCTIONS

from .judge import OUTCOMES, Row, judged
from .rows import APART, APART_METHODS, CALLS, OTHERS, SHOWN, ufunc_rows

PAGE = Path(__file__).parent.parent.parent / "docs" / "numpy.md"
# Of functions that the compiler's table does not have.
OWN = "NumPy's own: it calls others, is called, or runs in parts"
HEAD = """# What of NumPy fuses

Every public function of NumPy {version}, called inside of a fused function: `python -m tests.numpy_page` makes this page by calling them, and `tests/docs/test_numpy_page.py` holds it to the code and each
result to NumPy's. The chapters are the modules of `compiler/numpy_api`. A call *fuses* where it becomes part of kernels (the number is of the call alone, on a GPU; a call whose result is a view or a number needs none). One is *called* where no kernel computes it, and NumPy itself
is a step of the program, between kernels: so on the host, in parts on a GPU. Others run *in parts*, by NumPy or CuPy between fused kernels, for the reason given: nothing else of the function is lost by it. Keywords that no line shows, such as `where=`, are refused by name and run in
parts.

Arrays in the calls: {operands}.

"""


def chapters() -> dict[str, Sequence[str]]:
    """The calls by chapter: those of functions where the compiler has the function."""
    found: dict[str, list[str]] = {}
    for call in CALLS:
        found.setdefault(chapter_of(call), []).append(call)
    own = found.pop(OWN, [])
    ordered = {name: found[name] for name in sorted(found)}
    return {"ufuncs": ufunc_rows(), **ordered, OWN: own, **OTHERS}


def chapter_of(call: str) -> str:
    """Of the function that a call is about: the first in its last statement, or in all."""
    named = re.compile(r"np\.(linalg\.|fft\.)?(\w+)\(")
    found = named.search(call.rpartition("; ")[2]) or named.search(call)
    assert found is not None, call
    owner = getattr(np, found[1].rstrip(".")) if found[1] else np
    function = getattr(owner, found[2], None)
    row = FUNCTIONS.get(function) or CREATORS.get(found[2])
    if row is None:
        return OWN
    about = str(sys.modules[row.handler.__module__].__doc__).partition("\n")[0].rstrip(".")
    return f"{row.chapter}: {about[0].lower()}{about[1:]}"


def rows_of(calls: Sequence[str]) -> list[Row]:
    return [judged(call) for call in calls]


def text_of(found: Mapping[str, Sequence[Row]]) -> str:
    """The page, of the rows of each chapter."""
    operands = "; ".join(f"`{n.replace(', ', '`, `')}` {kind}" for n, kind in SHOWN.items())
    major = ".".join(np.__version__.split(".")[:2])
    parts = [HEAD.format(version=major, operands=operands.replace("``", "`"))]
    parts += _summary(found)
    for chapter, rows in found.items():
        parts += [f"\n## {chapter}\n\n| call | | |\n|---|---|---|\n", *map(_line, rows)]
    return "".join([*parts, *_apart()])


def _summary(found: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    yield "| chapter | calls | fuse | called | in parts | refused |\n|---|--:|--:|--:|--:|--:|\n"
    total: Counter[str] = Counter()
    for chapter, rows in found.items():
        counts = Counter(row.outcome for row in rows)
        total += counts
        yield _counts(chapter, counts)
    yield _counts("all", total)


def _counts(name: str, counts: Counter[str]) -> str:
    numbers = [counts.total(), *(counts[outcome] for outcome in OUTCOMES)]
    return f"| {name} | {' | '.join(map(str, numbers))} |\n"


def _line(row: Row) -> str:
    call = row.call.replace("|", "\\|")
    return f"| `{call}` | {row.outcome} | {row.note} |\n"


def _apart() -> Iterator[str]:
    yield "\n## What computes with no array of numbers\n\n"
    yield "Types, files, texts, settings, dates and memory are Python's own business, inside of a "
    yield "fused function as outside: " + ", ".join(f"`{name}`" for name in sorted(APART)) + "; "
    yield "methods: " + ", ".join(f"`{name}`" for name in sorted(APART_METHODS)) + ".\n"
