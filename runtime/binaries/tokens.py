"""Tokens of CUDA C++, as far as a rewriting needs them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")

TOKEN = re.compile(
    r"""(?P<marker>^\#[^\n]*$)
    | (?P<raw>(?:u8|[uUL])?R"(?P<tag>[^(\s\\]{0,16})\(.*?\)(?P=tag)")
    | (?P<string>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*")
    | (?P<char>'(?:[^'\\\n]|\\.)*')
    | (?P<word>[A-Za-z_]\w*)
    | (?P<number>\.?\d(?:[\w.']|[eEpP][+-])*)
    | (?P<space>\s+)
    | (?P<other>.)""",
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True)
class Token:
    kind: str
    text: str


def tokenised(text: str) -> Iterator[Token]:
    """Tokens of preprocessed C++; the texts joined are the text again."""
    for match in TOKEN.finditer(text):
        kind = match.lastgroup or "other"
        yield Token("raw" if kind == "tag" else kind, match[0])


def kernels_of(tokens: Sequence[Token]) -> list[str]:
    """Names of the ``__global__`` functions, in order."""
    words = [t.text for t in tokens if t.kind != "space" and t.kind != "marker"]
    found = []
    for at, word in enumerate(words):
        if word != "__global__":
            continue
        at += 1
        while at < len(words) and words[at] != "{" and words[at] != ";":
            if words[at] in ("__launch_bounds__", "__attribute__", "__maxnreg__"):
                at = closing_of(words, at + 1)
            elif words[at] == "(":
                found.append(words[at - 1])
                break
            at += 1
    return found


def split(
    items: Sequence[T], texts: Iterable[str], opening: str = "([{", closing: str = ")]}"
) -> list[Sequence[T]]:
    """Tokens or characters, split where their texts are commas outside of brackets."""
    parts, depth, start = [], 0, 0
    for at, text in enumerate(texts):
        depth += (text in [*opening]) - (text in [*closing])
        if text == "," and depth == 0:
            parts.append(items[start:at])
            start = at + 1
    return [*parts, items[start:]]


def closing_of(words: Sequence[str], at: int) -> int:
    """Index of the parenthesis that closes the one at ``at``."""
    depth = 0
    for index in range(at, len(words)):
        depth += (words[index] == "(") - (words[index] == ")")
        if depth == 0:
            return index
    return len(words) - 1
