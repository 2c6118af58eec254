"""Smaller programs of ordinary Python: fewer calls, lines and parameters; plainer ones of each."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from dataclasses import replace

from .draw import probed
from .program import Call, Python

# Arguments that are plainer than most, by the hole that they fill.
PLAINER = {
    "x": "np.arange(4.0)",
    "y": "np.arange(4.0)",
    "v": "np.arange(4.0)",
    "n": "2",
    "m": "2",
    "b": "True",
}


def is_valid(program: Python) -> bool:
    """Python runs it, or raises what is no fault of the program's text."""
    faults = (NameError, SyntaxError, UnboundLocalError)
    return not isinstance(probed(program.source, {}), faults)


def candidates(program: Python) -> Iterator[Python]:
    """The boldest changes first; each has a meaning in Python."""
    for change in (
        _fewer_calls,
        _fewer_lines,
        _parameters,
        _bodies,
        _results,
        _plainer,
        _arguments,
    ):
        for candidate in change(program):
            if _compiles(candidate):
                yield candidate


def _compiles(program: Python) -> bool:
    try:
        compile(program.source, "<candidate>", "exec")
    except SyntaxError:
        return False
    return True


def _fewer_calls(program: Python) -> Iterator[Python]:
    calls = program.calls
    if len(calls) > 1:
        yield from (replace(program, calls=(call,)) for call in calls)
        for n in range(len(calls)):
            yield replace(program, calls=(*calls[:n], *calls[n + 1 :]))


def _fewer_lines(program: Python) -> Iterator[Python]:
    for n in reversed(range(len(program.lines))):
        yield replace(program, lines=(*program.lines[:n], *program.lines[n + 1 :]))


def _parameters(program: Python) -> Iterator[Python]:
    """Without one that nobody reads."""
    for n, parameter in enumerate(program.parameters):
        others = "\n".join(t for c in program.calls for k, t in enumerate(c.arguments) if k != n)
        if not re.search(rf"\b{parameter.name}\b", f"{program.body}\n{others}"):
            yield _without(program, n)


def _without(program: Python, n: int) -> Python:
    calls = tuple(
        replace(c, arguments=(*c.arguments[:n], *c.arguments[n + 1 :])) for c in program.calls
    )
    rest = (*program.parameters[:n], *program.parameters[n + 1 :])
    return replace(program, calls=calls, parameters=rest)


def _bodies(program: Python) -> Iterator[Python]:
    """The statements of a block, without its head; single lines of several."""
    for n, line in enumerate(program.lines):
        rows = line.text.splitlines()
        if len(rows) < 2:
            continue
        texts = [textwrap.dedent("\n".join(r for r in rows if r.startswith("    ")))]
        texts += ["\n".join([*rows[:k], *rows[k + 1 :]]) for k in range(len(rows))]
        for text in filter(None, texts):
            changed = replace(line, text=text)
            yield replace(program, lines=(*program.lines[:n], changed, *program.lines[n + 1 :]))


def _results(program: Python) -> Iterator[Python]:
    names = list(dict.fromkeys(re.findall(r"\b(?:[av]\d+|out)\b", program.results)))
    for text in filter(None, ("None", *names, ", ".join(names))):
        if len(text) < len(program.results):
            yield replace(program, results=text)


def _plainer(program: Python) -> Iterator[Python]:
    plain = (
        replace(program, mode="fuse"),
        replace(program, filter="always"),
        replace(program, around="function"),
    )
    yield from (candidate for candidate in plain if candidate != program)
    for n, call in enumerate(program.calls):
        for plainer in (replace(call, before=""), replace(call, named=False)):
            if plainer != call:
                yield _with_call(program, n, plainer)
    for n, parameter in enumerate(program.parameters):
        if parameter.default:
            plain_ = replace(parameter, default="")
            changed = (*program.parameters[:n], plain_, *program.parameters[n + 1 :])
            yield replace(program, parameters=changed)


def _arguments(program: Python) -> Iterator[Python]:
    for n, parameter in enumerate(program.parameters):
        texts = [PLAINER.get(parameter.hole, ""), *(c.arguments[n] for c in program.calls)]
        for text in filter(None, texts):
            if any(c.arguments[n] not in ("", text) for c in program.calls):
                yield _all_alike(program, n, text)


def _all_alike(program: Python, n: int, text: str) -> Python:
    calls = tuple(
        replace(c, arguments=(*c.arguments[:n], text, *c.arguments[n + 1 :]))
        for c in program.calls
    )
    return replace(program, calls=calls)


def _with_call(program: Python, n: int, call: Call) -> Python:
    return replace(program, calls=(*program.calls[:n], call, *program.calls[n + 1 :]))
