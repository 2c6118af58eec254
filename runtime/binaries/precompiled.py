"""Device helpers that kernels begin with, parsed once in a process: precompiled headers.

A kernel begins with its toggles and ``#include "opweave.cuh"``.  Zig takes half of its time for a
small kernel to parse what that includes.  Few toggles are read by the helpers, so that few headers
do for all kernels.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from hashlib import sha256
from pathlib import Path

from opweave.runtime.binaries.headers import MACRO, special_names
from opweave.runtime.process import locks
from opweave.templates import TEMPLATES

# Making a header takes as long as three kernels save by it; so it is made when the third asks.
ASKED = 3
# What helpers instantiate is there when the header is made, not again in each kernel.  So a header
# with functions that a kernel does not call costs it nothing.
INSTANTIATED = "-fpch-instantiate-templates"
DEFINE = re.compile(r"#define (\w+)[ \t]*(.*)")
OURS = re.compile(r'#include "(\w+\.cuh)"')
INCLUDED = re.compile(r'^#include "([\w./]+)"', re.MULTILINE)
COMMENT = re.compile(r"[ \t]*//.*")
WORD = re.compile(r"\w+")


@cache
def _words(name: str) -> frozenset[str]:
    """The words of a device helper, and of those that it includes; none if there is no such one.

    Those of a macro are among them where it is used.  A kernel leaves kinds of special functions
    out, so that less is parsed; a header has all.
    """
    text = COMMENT.sub("", "\n".join(_texts(TEMPLATES / "host" / name, set())))
    words = set(WORD.findall(MACRO.sub("", text)))
    bodies = [WORD.findall(macro)[1:] for macro in MACRO.findall(text)]
    while more := {w for name, *body in bodies if name in words for w in body} - words:
        words |= more
    return frozenset(words - special_names().keys())


def _texts(path: Path, seen: set[Path]) -> Iterator[str]:
    """The text of a helper and of each that it includes, once."""
    if path in seen or not path.is_file():
        return
    seen.add(path)
    text = path.read_text()
    yield text
    for name in INCLUDED.findall(text):
        yield from _texts((path.parent / name).resolve(), seen)


def beginning(source: str) -> str:
    """What a source begins with: a device helper, and the toggles that it reads.

    ``#define VECTOR 4, #define USE_64BIT_INDEX 0 // wide, #include "opweave.cuh", void f() ...``
    gives ``#define USE_64BIT_INDEX 0, #include "opweave.cuh"``.  Nothing, if other lines come
    first, or none of the device helpers.
    """
    toggles: list[tuple[str, str]] = []
    for line in _directives(source):
        if found := DEFINE.fullmatch(line):
            toggles.append((found[1], found[2]))
        elif included := OURS.fullmatch(line):
            words = _words(included[1])
            read = words.union(*(WORD.findall(value) for _, value in toggles))
            lines = [f"#define {name} {value}\n" for name, value in toggles if name in read]
            return "".join([*lines, line, "\n"]) if words else ""
    return ""


def _directives(source: str) -> Iterator[str]:
    """Toggles and device helpers at the head of a source, without comments."""
    for line in source.split("\n"):
        line = COMMENT.sub("", line)
        if OURS.fullmatch(line) or DEFINE.fullmatch(line):
            yield line
        elif line and not line.startswith("#line "):
            return


def _name_of(key: tuple[str, ...]) -> str:
    """A name that no other header has: forked children make theirs in the folder of the parent."""
    return f"header{sha256(repr(key).encode()).hexdigest()[:32]}"


class Headers:
    """The headers that this process has made, by their text and the options."""

    def __init__(self) -> None:
        self._asked: dict[tuple[str, ...], int] = {}
        self._made: dict[tuple[str, ...], str] = {}
        self._lock = locks.lock()

    def of(
        self, source: str, options: Sequence[str], make: Callable[[str, Sequence[str], str], bool]
    ) -> list[str]:
        """Options for a compiler to begin with the header of a source; none if there is none.

        Args:
            make: makes a header of a text, with options, under a name; False where it cannot.
        """
        text = beginning(source)
        if not text:
            return []
        key = text, *options
        with self._lock:
            self._asked[key] = asked = self._asked.get(key, 0) + 1
        if asked == ASKED:
            name = _name_of(key)
            self._made[key] = name if make(text, options, name) else ""
        made = self._made.get(key)
        return ["-include-pch", f"{made}.pch"] if made else []
