"""Differences that the code is known to have: each is mended, and its row removed.

A row names what differs by the oracle, what it saw, and the program's text, and has a program that
shows it.  The table is empty where nothing is known.  ``python -m tests.fuzz.python.known`` prints
the rows whose programs no longer differ.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..oracles import Failure, Verdict
from .draw import is_expression
from .program import Call, Line, Parameter, Python


@dataclass(frozen=True)
class Known:
    """A known difference.

    Attributes:
        why: what differs.
        oracle, message, source: patterns, all of which a failure of it matches; the last is of
            the function's body and the texts of its calls.
        example: a program that differs so.
    """

    why: str
    oracle: str
    message: str
    source: str
    example: Python

    def names(self, failure: Failure, program: Python) -> bool:
        found = (
            re.fullmatch(self.oracle, failure.oracle),
            re.search(self.message, failure.message),
            re.search(self.source, program.own),
        )
        return all(found)


def one(text: str, *makers: str, results: str = "", around: str = "function") -> Python:
    """A program of one line, ``v0 = text`` if that is an expression; three calls with a0, a1."""
    made = f"v0 = {text}" if is_expression(text) else text
    results = results or ("v0" if "v0" in made else "None")
    parameters = tuple(Parameter(f"a{n}", "q") for n in range(len(makers)))
    calls = (Call(makers),) * 3
    return Python(calls, parameters, (Line(made, "v0", ()),), results, around)


KNOWN: tuple[Known, ...] = ()


def known(failure: Failure, program: Python, table: tuple[Known, ...] | None = None) -> str:
    """Why a failure is known, or ""."""
    rows = KNOWN if table is None else table
    return next((row.why for row in rows if row.names(failure, program)), "")


def sorted_out(verdict: Verdict, program: Python) -> Verdict:
    """The verdict; a program that only differs as known is counted as refused."""
    why = [known(f, program) for f in verdict.failures]
    if why and all(why):
        return Verdict(refused=f"known difference ({why[0]})", ran=verdict.ran)
    verdict.failures = [f for f, w in zip(verdict.failures, why, strict=True) if not w]
    return verdict


def mended() -> list[str]:
    """The rows whose programs differ in nothing any more."""
    from .judge import judged

    return [row.why for row in KNOWN if not judged(row.example).failures]


if __name__ == "__main__":
    print("\n".join(f"no longer differs: {why}" for why in mended()) or "every row differs")
