"""Judge lists whose index, guard, loads and stores are other op-codes than the template's."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np

import opweave as ow
from opweave.opcodes import errors

from ..oracles import Fault, Plan
from ..program import SCOPE, operand_text
from .agree import agree, calls, several
from .program import Lists, unregistered

ADDS = re.compile("accumulate|add_to|atomicAdd")
ADDED = ("int32", "int64", "uint32", "uint64")  # what a store may add to
MOST_CALLS = 2
# Which parts of a structure are tried: a template may take no index, an array may not be read.
KEPT = ((1, 1, 1), (1, 0, 1), (0, 1, 1), (0, 0, 1), (1, 0, 0), (0, 1, 0))
# Why results have no arrays to be written to: one is an argument, or two are one.
NO_OUT = ("returns one of its arguments", "out=: expected")
# Why a list may not be unfused: a template takes no index, or a result that is added to is read.
IS_READ = "expected a result of the function, which begins as zeros"
NO_UNFUSED = ("from outside", IS_READ)
# Why a list may not have them, in the words of the error.
REFUSED = (
    "does not fit one kernel", "from outside", "has no such array", "stored twice", "is an argument",
    "view of an argument", "by a helper of its own", IS_READ,
)  # fmt: skip


def structural(program: Lists, plan: Plan) -> None:
    """Lists with the structure of the program, on the host, as fibres, and by the checker."""
    if not any(program.structure):
        return
    for found, given in calls(program)[:MOST_CALLS]:
        expected = several(ow.fuse(found)(*given))
        text, made = _taken(found, given, program.structure, expected)
        if made is None:
            continue
        expected = several(found(*given))  # a function may leave a product to a library
        what = f"{found.name} as {text}"
        agree("structural", made(*given), expected, what)
        if plan.target:
            lowered = made.lower(*given, target=plan.target)
            there = found.lower(*given, target=plan.target)(*given)
            agree("structural", lowered(*given), there, f"{what}, for {plan.target}")
        _unfused(made, given, expected, what)
        _into(made, given, expected, what)
        if plan.sanitize:
            report = ow.sanitize(made, *given, schedules=1)
            if not report.ok:
                raise Fault("structural", f"{what}: {report}")


def _taken(found: Any, given: list[Any], structure: tuple[str, str, str], expected: Any) -> Any:
    """The list with as much of the structure as its kernel takes, as Python and made."""
    arrays = [n for n, v in zip(found.arguments, given, strict=True) if np.ndim(v)]
    for kept in KEPT:
        parts = tuple(part if keep else "" for part, keep in zip(structure, kept, strict=True))
        if not any(parts):
            continue
        text = restructured(found, parts, arrays, expected)
        if text == restructured(found, ("", "", ""), arrays, expected):
            continue
        try:
            made = eval(text, SCOPE | {"made": found})
            made.lower(*given)
            return text, made
        except errors.EditError as error:
            if not any(words in str(error) for words in REFUSED):
                raise
    return "", None


def rows(program: Lists) -> Iterator[dict[str, Any]]:
    """Calls of lists on arguments of the program, for a test that is written."""
    given = {a.name for a in program.arguments}
    with unregistered():
        for step in program.steps:
            if step.op not in program.known.lists or not set(step.names) <= given:
                continue
            found, values = next(c for c in calls(program) if c[0].name == step.op)
            expected = several(ow.fuse(found)(*values))
            text, made = _taken(found, values, program.structure, expected)
            if made is not None:
                yield {
                    "name": step.op,
                    "operands": ", ".join(map(operand_text, step.operands)),
                    "text": re.sub(r"\bmade\.", f"{step.op}.", text),
                    "added": adding(made),
                }


def adding(made: Any) -> list[bool]:
    """Of each result, whether it is added to what is there."""
    stores = [code for code in made.codes if code.name.startswith("store ")]
    return [code.by is not None and code.by.adds for code in stores]


def _unfused(made: Any, given: list[Any], expected: Any, what: str) -> None:
    """Every operator a kernel of its own, each of which takes what the list's one did."""
    try:
        found = made.fused.unfused()(*given)
    except errors.EditError as error:
        if not any(words in str(error) for words in NO_UNFUSED):
            raise
        return
    agree("structural", found, expected, f"{what}, unfused")


def _into(made: Any, given: list[Any], expected: Any, what: str) -> None:
    """Twice into the same arrays, whose elements are written, or added to once in each call."""
    if "out" in made.arguments:
        return  # then out= is that argument
    outs = [np.full_like(value, 3) for value in map(np.asarray, expected)]
    adds = adding(made)
    try:
        for _ in range(2):
            made(*given, out=tuple(outs) if len(outs) > 1 else outs[0])
    except errors.ArgumentError as error:
        if not any(words in str(error) for words in NO_OUT):
            raise
        return
    with np.errstate(all="ignore"):
        sums = [
            3 + 2 * v if a else v for v, a in zip(map(np.asarray, expected), adds, strict=True)
        ]
    wanted = [s.astype(v.dtype) for s, v in zip(sums, map(np.asarray, expected), strict=True)]
    agree("structural", outs, wanted, f"{what}, with out=")


def restructured(
    found: Any, structure: tuple[str, str, str], arrays: list[str], results: Any
) -> str:
    """Python that makes the list anew, with structural op-codes.

    A number is not in memory to be read, and integers alone are added.
    """
    once, *by = structure
    types = dict(zip(found.results, (np.asarray(r).dtype.name for r in results), strict=True))
    codes = [f"made.codes[{number}]" for number in range(len(found.codes))]
    for number, code in enumerate(found.codes):
        kind, _, label = code.name.partition(" ")
        if kind not in ("load", "store") or (kind == "load" and label not in arrays):
            continue
        part = by[kind == "store"]
        if ADDS.search(part) and types[label] not in ADDED:
            part = ""
        if part:
            value = f", {code.value!r}" if kind == "store" else ""
            codes[number] = f"ow.{kind}({label!r}{value}, by={part})"
    return f"ow.kernel([{', '.join([*filter(None, [once]), *codes])}], name={found.name!r})"
