"""Which of the host's headers a kernel includes."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path

from opweave.templates import TEMPLATES

ALL, PLAIN = '#include "opweave.cuh"\n', '#include "plain.cuh"\n'
SPECIAL = TEMPLATES / "host" / "special.cuh"
INCLUDED = re.compile(r'^#include "(\w+\.cuh)"', re.MULTILINE)
# Functions begin with the attributes of the target; macros define a function and one of float.
BEGINS = re.compile(r"\bOW_(?:INLINE|SPECIAL|COMPLEX\w*)\b")
CALLED = re.compile(r"\b([A-Za-z_]\w*)\(")
BY_MACRO = re.compile(r"\bOW_[A-Z0-9_]+\((\w+)\)")
MACRO = re.compile(r"^#define (?:.*\\\n)*.*", re.MULTILINE)
PASTED = "##"  # a name that nobody sees
WORD = re.compile(r"[A-Za-z_]\w*|##")
MOST_KEPT = 2048


def _text(path: Path) -> str:
    """A header without what its macros would define."""
    return MACRO.sub("", path.read_text())


def _functions(text: str) -> dict[str, frozenset[str]]:
    """The functions that a header defines, with the names that each calls."""
    called = [CALLED.findall(part) for part in BEGINS.split(text)[1:]]
    return {names[0]: frozenset(names) for names in called if names}


@cache
def special_names() -> frozenset[str]:
    """What special.cuh and its headers define, and the helpers of all kernels that call it."""
    headers = INCLUDED.findall(SPECIAL.read_text())
    texts = [_text(SPECIAL), *(_text(SPECIAL.with_name(name)) for name in headers)]
    by_macro = [name for text in texts for name in BY_MACRO.findall(text)]
    found = {name for text in texts for name in _functions(text)}
    found |= {*by_macro, *(f"{name}f" for name in by_macro)}
    return frozenset(found | _callers(found))


def _callers(names: set[str]) -> set[str]:
    """The functions of the headers that all kernels include which call one of the names."""
    found: set[str] = set()
    for path in TEMPLATES.glob("*.cuh"):
        for name, called in _functions(_text(path)).items():
            if not called.isdisjoint(names):
                found.add(name)
    return found


@lru_cache(MOST_KEPT)
def with_headers(source: str) -> str:
    """The source for the host compiler: without special functions where it names none.

    Lines stay where they are.
    """
    words = frozenset(WORD.findall(source))
    if PASTED not in words and words.isdisjoint(special_names()):
        return source.replace(ALL, PLAIN, 1)
    return source
