"""Smaller scripts: without lines, calls, arguments; with plainer arguments and results."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from ..program import Array, Number
from .judge import run
from .script import Script, given


def is_valid(script: Script) -> bool:
    """NumPy runs it, or raises what is no fault of the script's text."""
    function, _ = script.function(lambda f: f)
    faults = (NameError, SyntaxError, AttributeError)
    return not any(
        isinstance(run(function, script, given(call)).error, faults) for call in script.calls
    )


def candidates(script: Script) -> Iterator[Script]:
    """Smaller scripts that have a meaning in Python, the boldest changes first."""
    for change in (_fewer_calls, _fewer_lines, _bodies, _fewer_results, _plainer, _arguments):
        for candidate in change(script):
            if _compiles(candidate):
                yield candidate


def _compiles(script: Script) -> bool:
    try:
        compile(script.source, "<candidate>", "exec")
    except SyntaxError:
        return False
    return True


def _fewer_calls(script: Script) -> Iterator[Script]:
    for n in range(len(script.calls)):
        if len(script.calls) > 1:
            yield replace(script, calls=(script.calls[n],))
    for n in range(len(script.calls)):
        if len(script.calls) > 2:
            yield replace(script, calls=(*script.calls[:n], *script.calls[n + 1 :]))


def _fewer_lines(script: Script) -> Iterator[Script]:
    lines = script.lines
    for n in reversed(range(len(lines))):
        yield replace(script, lines=(*lines[:n], *lines[n + 1 :]))
    for n, line in enumerate(lines):  # a name in the place of what it was made of
        for old in re.findall(r"\b[av]\d+\b", line.text):
            if line.made and old != line.made:
                text = f"{line.made} = {old}"
                if len(text) < len(line.text):
                    changed = replace(line, text=text)
                    yield replace(script, lines=(*lines[:n], changed, *lines[n + 1 :]))


def _bodies(script: Script) -> Iterator[Script]:
    """The statements of a block, without its head; single lines of several."""
    for n, line in enumerate(script.lines):
        rows = line.text.splitlines()
        if len(rows) < 2:
            continue
        texts = [textwrap.dedent("\n".join(r for r in rows if r.startswith("    ")))]
        if "while" not in line.text:  # which might never end
            texts += ["\n".join([*rows[:k], *rows[k + 1 :]]) for k in range(len(rows))]
        for text in texts:
            changed = replace(line, text=text)
            yield replace(script, lines=(*script.lines[:n], changed, *script.lines[n + 1 :]))


def _fewer_results(script: Script) -> Iterator[Script]:
    names = list(dict.fromkeys(re.findall(r"\b[av]\d+\b", script.results)))
    for text in (*names, ", ".join(names), "None"):
        if len(text) < len(script.results):
            yield replace(script, results=text)


def _plainer(script: Script) -> Iterator[Script]:
    for plain in ({"packing": "positions"}, {"enclosed": False}, {"mode": "fuse"}):
        if any(getattr(script, k) != v for k, v in plain.items()):
            yield replace(script, **plain)


def _arguments(script: Script) -> Iterator[Script]:
    """In all calls alike: without an argument, or with a plainer one."""
    for n, name in enumerate(script.names):
        if len(script.names) > 1 and not re.search(rf"\b{name}\b", _body(script)):
            calls = tuple((*c[:n], *c[n + 1 :]) for c in script.calls)
            if not any(getattr(a, "of", "") == name for c in calls for a in c):
                yield replace(script, calls=calls)
        for change in PLAINER:
            calls = tuple((*c[:n], change(c[n]), *c[n + 1 :]) for c in script.calls)
            if calls != script.calls:
                yield replace(script, calls=calls)


def _body(script: Script) -> str:
    return "\n".join([*(line.text for line in script.lines), script.results])


def _with(**changed: Any) -> Callable[[Array | Number], Array | Number]:
    def change(item: Array | Number) -> Array | Number:
        if not isinstance(item, Array) or item.of:
            return item
        return replace(item, **changed)

    return change


def _shorter(item: Array | Number) -> Array | Number:
    if not isinstance(item, Array) or item.of:
        return item
    return replace(item, shape=item.shape[1:])


PLAINER = (
    _with(layout="C"), _with(fill="ones"), _with(fill="whole"), _with(dtype="float64"),
    _with(dtype="int64"), _shorter, _with(shape=(4,)), _with(shape=(2, 3)), _with(shape=(2,)),
)  # fmt: skip
