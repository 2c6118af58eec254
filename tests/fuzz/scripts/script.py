"""A script as data: arguments, lines, results, and the calls that are made of it.

script ::= beside* "def" f packing: line* "return" results
call   ::= arguments and the values of globals that it is made with
"""

from __future__ import annotations

import linecache
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

import opweave as ow

from .. import arrays
from ..program import Array, Number, describe
from .forms import BESIDE, PACKINGS

Arguments = tuple[Array | Number, ...]


@dataclass(frozen=True)
class Line:
    """A statement of a script, of one line or several.

    Attributes:
        text: Python.
        made: the name that it makes, or "".
        forms: the templates that it was drawn from, as (kind, template).
    """

    text: str
    made: str
    forms: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Script:
    """A function, and the calls of it.

    Attributes:
        calls: arguments of each call; the first are those that it was drawn with.
        results: what it returns, as text.
        packing: a key of ``PACKINGS``.
        enclosed: the function and what stands beside it are made by another: closures, no globals.
        mode: a key of ``judge.MODES``.
    """

    calls: tuple[Arguments, ...]
    lines: tuple[Line, ...]
    results: str
    packing: str = "positions"
    enclosed: bool = False
    mode: str = "fuse"

    @property
    def names(self) -> list[str]:
        return [a.name for a in self.calls[0]]

    @property
    def source(self) -> str:
        """The module: what stands beside the function, and the function."""
        body = "\n".join([*(line.text for line in self.lines), f"return {self.results}"])
        parameters, unpacking = (t.format(**self._packed()) for t in PACKINGS[self.packing])
        body = f"{unpacking}\n{body}" if unpacking else body
        beside = [text for name, text in BESIDE.items() if re.search(rf"(?<!\.)\b{name}\b", body)]
        text = "\n\n".join([*beside, f"def f({parameters}):\n{indented(body)}\n"])
        if self.enclosed:
            text = f"def made():\n{indented(text)}\n    return f\n\nf = made()\n"
        return text

    def _packed(self) -> dict[str, str]:
        names = self.names
        return {
            "names": ", ".join(names) + "," * (len(names) == 1 and self.packing in UNPACKED),
            "texts": repr(tuple(names)),
            "attributes": ", ".join(f"box.{n}" for n in names) + "," * (len(names) == 1),
        }

    def function(self, fuse: Callable[[Any], Any]) -> tuple[Callable[..., Any], dict[str, Any]]:
        """The function and its globals; ``fuse`` is what decorates the functions beside it."""
        return compiled(self.source, fuse)

    def bound(self, values: list[Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Values of the arguments as the function takes them."""
        return BINDINGS[self.packing](dict(zip(self.names, values, strict=True)))

    @property
    def forms(self) -> list[tuple[str, str]]:
        return [form for line in self.lines for form in line.forms]

    def __str__(self) -> str:
        calls = [f"# {n}: {'; '.join(map(describe, call))}" for n, call in enumerate(self.calls)]
        return "\n".join([*calls, f"# {self.mode}, {self.packing}", self.source])


UNPACKED = ("dict", "tuple", "stars", "object")
BINDINGS: dict[str, Callable[[dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]]] = {
    "positions": lambda held: (tuple(held.values()), {}),
    "keywords": lambda held: ((), held),
    "defaults": lambda held: (tuple(held.values()), {}),
    "dict": lambda held: ((held,), {}),
    "tuple": lambda held: ((tuple(held.values()),), {}),
    "stars": lambda held: (tuple(held.values()), {}),
    "object": lambda held: ((SimpleNamespace(**held),), {}),
}


def indented(text: str) -> str:
    return "\n".join(f"    {line}" if line else line for line in text.splitlines())


def compiled(source: str, fuse: Callable[[Any], Any]) -> tuple[Callable[..., Any], dict[str, Any]]:
    """The function ``f`` of a module, with its lines where tracebacks find them, and its globals."""
    file = f"<script {zlib.crc32(source.encode()):x}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    scope: dict[str, Any] = {"np": np, "ow": ow, "fuse": fuse}
    exec(compile(source, file, "exec"), scope)
    return scope["f"], scope


def given(call: Arguments) -> list[Any]:
    """Fresh arguments of a call, in order."""
    made: dict[str, Any] = {}
    for item in call:
        made[item.name] = item.value if isinstance(item, Number) else arrays.make(item, made)
    return list(made.values())
