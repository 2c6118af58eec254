"""Device helpers that many kernels begin with, parsed once in a process: precompiled headers.

A kernel begins with its toggles and ``#include "opweave.cuh"``.  Zig takes half of its time for a
small kernel to parse what that includes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from hashlib import sha256

from opweave.runtime.process import locks
from opweave.templates import TEMPLATES

# Making a header takes as long as three kernels save by it; so it is made when the third asks.
ASKED = 3
DEFINE = re.compile(r"#define (\w+)[ \t]*(.*)")
OURS = re.compile(r'#include "\w+\.cuh"')
COMMENT = re.compile(r"[ \t]*//.*")
WORD = re.compile(r"\w+")


@cache
def _words() -> frozenset[str]:
    """The words of the device helpers, without comments."""
    paths = [*TEMPLATES.glob("*.cuh"), *TEMPLATES.glob("host/*.cuh")]
    texts = (COMMENT.sub("", path.read_text()) for path in paths)
    return frozenset(word for text in texts for word in WORD.findall(text))


def beginning(source: str) -> str:
    """What a source begins with: device helpers, and the toggles that these ask for.

    ``#define VECTOR 4, #define USE_64BIT_INDEX 0 // wide, #include "opweave.cuh", void f() ...``
    gives ``#define USE_64BIT_INDEX 0, #include "opweave.cuh"``.  Nothing, if other lines come
    first, or none of the device helpers.
    """
    lines = list(_directives(source))
    values = (found[2] for found in map(DEFINE.fullmatch, lines) if found)
    if not any(map(OURS.fullmatch, lines)):
        return ""
    asked = _words().union(*map(WORD.findall, values))
    return "".join(
        f"{line}\n" for line in lines
        if not (found := DEFINE.fullmatch(line)) or found[1] in asked
    )  # fmt: skip


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
