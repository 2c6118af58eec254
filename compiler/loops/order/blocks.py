"""Lines of C that a loop has become: their blocks, and what they declare, assign and point to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from opweave.compiler.lines.text import INDENT

TICK = "LOOP_TICK(1);"
HEAD = re.compile(r"for \(int64 (\w+) = ([^;]+); \1 < ([^;<>&|]+); (?:\1 \+= 1|\+\+\1)\) \{")
# How a line declares a name, as a variable or a parameter, and how it changes one.
DECLARED = re.compile(
    r"(?:^|\(|, )(?!return )(?:const )?[\w:<>]+[*&]? (?:const )?(\w+)(?:\[\w*\])*(?= ?[=;,)])"
)
ASSIGNED = re.compile(r"^(\w+) = ([^;]*);$")
CHANGED = re.compile(r"(?:\+\+|--)(\w+)|(\w+)(?:\+\+|--)|\b(\w+) (?:[-+*/%&|^]|<<|>>)?= ")
WORD = re.compile(r"\b[A-Za-z_]\w*")


class CodeLine(NamedTuple):
    """A line of a function, without its indentation; ``depth`` says how far it goes."""

    depth: int
    text: str
    words: frozenset[str]


def indented(*texts: str, by: int = 1) -> list[str]:
    return [INDENT * by + text for text in texts]


def line_of(text: str) -> CodeLine:
    bare = text.lstrip(" ")
    is_code = not bare.startswith(("//", "#"))
    return CodeLine(
        (len(text) - len(bare)) // len(INDENT), bare, words_of(bare) if is_code else words_of("")
    )


def words_of(text: str) -> frozenset[str]:
    return frozenset(WORD.findall(text))


def words_in(lines: Sequence[CodeLine]) -> frozenset[str]:
    return frozenset[str]().union(*(line.words for line in lines))


def end_of(lines: Sequence[CodeLine], at: int) -> int:
    """The line that ends the block whose head is a line; the line itself if it is none."""
    if not lines[at].text.endswith("{"):
        return at
    return next(n for n in range(at + 1, len(lines)) if lines[n].depth == lines[at].depth)


def rewritten(
    texts: Sequence[str], others: Callable[[Sequence[CodeLine], int, int], list[str]]
) -> list[str]:
    """Lines with others in the place of blocks, outer ones first.

    Args:
        others: of all lines, and where a block's head and its end stand; none leave it as it is,
            and what is in it is looked at.
    """
    lines = [line_of(text) for text in texts]
    made = list[str]()
    at = 0
    while at < len(lines):
        end = end_of(lines, at)
        found = others(lines, at, end) if end > at else []
        made += found or [texts[at]]
        at = end + 1 if found else at + 1
    return made


def is_long(body: Sequence[CodeLine]) -> bool:
    """Whether a round may take long: it has a loop."""
    return any(line.text.startswith("for ") or "_of<" in line.text for line in body)


def is_left(body: Sequence[CodeLine]) -> bool:
    """Whether a loop has a ``break`` of its own."""
    inner: list[int] = []  # depths of loops around a line
    for line in body:
        while inner and line.depth <= inner[-1]:
            inner.pop()
        if re.search(r"\bbreak;", line.text) and not inner:
            return True
        if line.text.startswith(("for ", "while ")) and line.text.endswith("{"):
            inner.append(line.depth)
    return False


def assigned_in(body: Sequence[CodeLine]) -> set[str]:
    """Names that lines assign to, but for what they declare."""
    found = set[str]()
    for line in body:
        if line.words:
            changed = {next(filter(None, names)) for names in CHANGED.findall(line.text)}
            found |= changed.difference(DECLARED.findall(line.text))
    return found


def declared_in(body: Sequence[CodeLine]) -> set[str]:
    """Names that lines declare."""
    return {name for line in body for name in DECLARED.findall(line.text)}


def stored_to(body: Sequence[CodeLine]) -> set[str]:
    """Pointers by which lines store elements."""
    return {name for line in body for name in re.findall(r"\bstore\((\w+)", line.text)}


def blocks_of(lines: Sequence[CodeLine]) -> Iterator[tuple[CodeLine, Sequence[CodeLine]]]:
    """The statements of a block: each line of its own, with the lines within it."""
    at = 0
    while at < len(lines):
        end = end_of(lines, at)
        yield lines[at], lines[at + 1 : end]
        is_closed = end > at and lines[end].text == "}"
        at = end + 1 if is_closed or end == at else end


def begins_with(body: Sequence[CodeLine], name: str) -> bool | None:
    """Whether lines assign a name before they read it: surely, or only where they come to it
    (False); None if they may read it first."""
    may_leave, branches = False, list[bool | None]()
    for line, inner in blocks_of(body):
        if name in line.words:
            match = ASSIGNED.match(line.text)
            is_first = match is not None and match[1] == name and name not in words_of(match[2])
            return not may_leave if is_first else None
        may_leave = may_leave or may_end_round([line, *inner])
        if not any(name in each.words for each in inner):
            branches = []
            continue
        found = begins_with(inner, name)
        if found is None:
            return None
        branches = [found] if line.text.startswith("if ") else [*branches, found]
        if line.text == "else {" and len(branches) > 1 and all(branches):
            return not may_leave
        if not line.text.startswith(("if ", "else")):
            branches = []
    return False


def may_end_round(lines: Sequence[CodeLine]) -> bool:
    return any(re.search(r"\b(continue|break);", line.text) for line in lines)


def mentions(line: CodeLine, name: str) -> Iterator[tuple[bool, str]]:
    """Where a line has a pointer into an array: whether it only reads, and the text from there."""
    text = line.text if name in line.words else ""
    for match in re.finditer(rf"\b{name}\b", text):
        depth, end = 0, match.end()
        while end < len(text) and (depth or text[end] not in "),;"):
            depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(text[end], 0)
            end += 1
        yield text[: match.start()].endswith("load("), text[match.start() : end]


def is_live(lines: Sequence[CodeLine], at: int, end: int, name: str) -> bool | None:
    """Whether a name may be read behind a block, from its head to its end, before it is assigned;
    None if the lines do not say, since they neither read nor assign it for sure."""
    while True:
        depth = lines[at].depth
        first = next((n for n in range(at - 1, -1, -1) if lines[n].depth < depth), -1)
        last = next((n for n in range(end + 1, len(lines)) if lines[n].depth < depth), len(lines))
        found = begins_with(lines[end + 1 : last], name)
        if found is not False:
            return found is None
        if first < 0:
            return None
        head = lines[first]
        is_loop = head.text.startswith(("for ", "while "))
        if is_loop and (name in head.words or begins_with(lines[first + 1 : last], name) is None):
            return True
        at, end = first, last
