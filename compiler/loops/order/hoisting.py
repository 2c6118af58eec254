"""Innermost loops: what may fail in a round is asked once for many rounds.

for k in range(n): s += x[k]     ->     for 1,024 rounds at a time, if all of them have an element:
                                        rounds without a question, else rounds that ask

So the compiler of C may keep what is stored in registers and compute several rounds at once; what
is asked of a round, and Ctrl-C, would forbid that.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from opweave.compiler.lines.text import INDENT
from opweave.compiler.loops.order.blocks import (
    DECLARED,
    HEAD,
    TICK,
    CodeLine,
    assigned_in,
    declared_in,
    indented,
    is_left,
    line_of,
    rewritten,
    words_in,
    words_of,
)

# The longest body, in lines, that is worth to be there twice.
LONGEST = 80
# An index that has no element.
OUTSIDE = re.compile(
    r"if \(\(uint64\)\((.+)\) >= \(uint64\)\((.+)\)\) LOOP_FAULT\(LOOP_INDEX, .*;"
)
# A sum of a variable and a number that is written out.
SUM = re.compile(
    r"if \(__builtin_(add|sub)_overflow\(\(int64\)(\w+), \(int64\)(\d{1,9}), &(\w+)\)\) "
    r"LOOP_FAULT\(LOOP_OVERFLOW, .*;"
)
# What is no line of numbers alone.
OTHERS = re.compile(r"^(?:for|while) |\[[=&]\]|LOOP_TICK|LOOP_SHARE|\.of<|exchange\(|LoopMatrix")


class Hoisted(NamedTuple):
    """A body that asks less.

    Attributes:
        lines: the body.
        asked: what has to hold of all its rounds, so that the lines are right.
    """

    lines: list[str]
    asked: list[str]


def hoisted(texts: Sequence[str]) -> list[str]:
    """The lines of a function, with innermost loops that ask once for many rounds."""
    used = words_in([line_of(text) for text in texts])
    return rewritten(
        texts, lambda lines, at, end: _loop(lines[at : end + 1], texts[at : end + 1], used)
    )


def _loop(lines: Sequence[CodeLine], texts: Sequence[str], used: Collection[str]) -> list[str]:
    """An innermost loop by blocks of rounds; no lines if it is none, or its names are taken."""
    head, body = HEAD.fullmatch(lines[0].text), lines[1:-1]
    pause = [line.text for line in body[:1] if line.text.startswith("LOOP_PAUSE(")]
    body, depth = body[len(pause) :], lines[0].depth
    if head is None or not body or body[0].text != TICK or len(body) > LONGEST:
        return []
    if any(OTHERS.search(line.text) for line in body[1:]) or is_left(body):
        return []
    counter, first, last = head.groups()
    begin, end = f"{counter}from", f"{counter}to"
    if begin in used or end in used:
        return []
    rest = dedented(texts[1 + len(pause) : -1], depth)
    quick = quickened(body[1:], rest[1:], {counter: (begin, f"({end} - 1)")})
    block = f"for (int64 {counter} = {begin}; {counter} < {end}; ++{counter}) {{"
    made = [
        f"for (int64 {begin} = {first}, {end}; {begin} < {last}; {begin} = {end}) {{",
        *(f"{INDENT}LOOP_PAUSE({begin});" for _ in pause),
        f"{INDENT}{end} = loop_block({begin}, {last});",
        *_block(block, quick, rest),
        "}",
    ]
    return [INDENT * depth + line for line in made]


def _block(head: str, quick: Hoisted, rest: Sequence[str]) -> list[str]:
    """A block of rounds: without questions, and with them where one has another answer."""
    begin, end = re.findall(r"[=<] (\w+);", head)
    once = [f"LOOP_TICK({end} - {begin});", head, *quick.lines, "}"]
    if not quick.asked:
        return indented(*once)
    test = f"if ({' && '.join(quick.asked)}) {{"
    return indented(test, *indented(*once), "}", "else {", *indented(head, *rest, "}"), "}")


def dedented(texts: Sequence[str], depth: int) -> list[str]:
    return [text[depth * len(INDENT) :] for text in texts]


def quickened(
    body: Sequence[CodeLine], texts: Sequence[str], ends: Mapping[str, Sequence[str]]
) -> Hoisted:
    """A body without what can be asked before, of the first and the last of its rounds.

    Indices are sums and products of counters, so that these have the least and the largest.

    ``ends``: by its counter, or by both of two loops the numbers of these rounds.
    """
    changing = (assigned_in(body) | declared_in(body)).difference(ends)
    counted = sums_in(body)
    made, asked = list[str](), dict[str, None]()
    for line, text in zip(body, texts, strict=True):
        if (outside := OUTSIDE.fullmatch(line.text)) and not (
            words_of(outside[1]) & changing or words_of(outside[2]) & changing.union(ends)
        ):
            for place in _at_ends(outside[1], ends):
                asked[f"(uint64)({place}) < (uint64)({outside[2]})"] = None
        elif (total := SUM.fullmatch(line.text)) and total[2] in counted:
            sign = "+" if total[1] == "add" else "-"
            indent = text[: len(text) - len(line.text)]
            made.append(f"{indent}{total[4]} = {total[2]} {sign} {total[3]};")
            asked[f"loop_is_far({total[2]})"] = None
        else:
            made.append(text)
    return Hoisted(made, [*asked])


def _at_ends(place: str, ends: Mapping[str, Sequence[str]]) -> list[str]:
    """A text, for all first and last rounds."""
    found = [place]
    for counter, numbers in ends.items():
        own = re.compile(rf"\b{counter}\b")
        found = [own.sub(number, text) for text in found for number in numbers]
    return [*dict.fromkeys(found)]


def sums_in(body: Sequence[CodeLine]) -> Collection[str]:
    """Variables to which lines only add numbers that are written out: in a block of rounds they
    hardly change. What a round declares is none of them."""
    results = {m[4]: m[2] for line in body if (m := SUM.fullmatch(line.text))}
    found = set(results.values()).difference(*(DECLARED.findall(line.text) for line in body))
    for line in body:
        for name in assigned_in([line]) & found:
            if not any(line.text == f"{name} = {v};" for v, of in results.items() if of == name):
                found.discard(name)
    return found
