"""Branches that only compute numbers, as choices between them.

    if (v1) {                                   const double v2 = a * e;
        const double v2 = a * e;                const double v3 = b * e;
        e = v2;                           ->    e = select_bits<double>(v1, v2, v3);
    }
    else {
        const double v3 = b * e;
        e = v3;
    }

Both ways are computed, and nothing has to be foretold.  That pays where several rows are computed
side by side, since a branch that was foretold wrongly holds up all of them.  By bits: of
``v1 ? v2 : v3`` the compiler of C may make a branch.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from opweave.compiler.loops.order.blocks import (
    ASSIGNED,
    WORD,
    CodeLine,
    end_of,
    indented,
    line_of,
    words_of,
)

# What both ways have at most to compute, by signs of arithmetic.
MOST_SIGNS = 16
SIGN = re.compile(r"[-+*/]")
NAMED = re.compile(r"const (\w+) (\w+) = ([^;]+);")
# What may be computed though Python does not: it touches no memory and ends nothing.
PURE = re.compile(r"(?:\w|[-+*/<>=!&|?:., ]|(?:(?<!\w)|\bfabs|\bselect_bits<\w+>)\(|\))+")
ELEMENT = re.compile(r"\bload\([^()]*\)")
MAYBE = re.compile(r"&&|\|\||\?")
FLOATS = ("double", "float")
NUMBERS = (*FLOATS, "bool", "int64")


class NoChoiceError(Exception):
    """A branch does more than compute numbers."""


def without_branches(
    texts: Sequence[str], variables: Mapping[str, str], read: Collection[str] = ()
) -> list[str]:
    """Lines in which such branches are choices; others are as they were.

    Args:
        variables: what may be assigned to, with the types in C.
        read: C texts of elements that are read in any case.
    """
    lines, found, at = [line_of(text) for text in texts], list[str](), 0
    read = {*read}
    while at < len(lines):
        end = end_of(lines, at)
        is_branch = lines[at].text.startswith("if (") and end > at
        behind = end + 1 if end + 1 < len(lines) and lines[end + 1].text == "else {" else end
        last = end_of(lines, behind) if is_branch else at
        bodies = texts[at + 1 : end], texts[behind + 1 : last]
        try:
            found += _choice(lines[at], bodies, variables, read) if is_branch else [texts[at]]
        except NoChoiceError:  # nothing in it is read for sure
            found += texts[at : last + 1]
        if lines[at].depth == lines[0].depth:
            read |= {e for e in _elements(lines[at]) if words_of(e).isdisjoint(variables)}
        at = last + 1
    return found


def _elements(line: CodeLine) -> list[str]:
    """C texts of the elements that a line reads in any case."""
    return [] if MAYBE.search(line.text) else ELEMENT.findall(line.text)


def _choice(
    head: CodeLine, bodies: Iterable[Sequence[str]], variables: Mapping[str, str], read: set[str]
) -> list[str]:
    """The lines of both ways, and what is chosen.

    Raises:
        NoChoiceError: there is more than numbers, or much.
    """
    condition = head.text.removeprefix("if (").removesuffix(") {")
    ways = [_Way(without_branches(body, variables, read), variables, read) for body in bodies]
    names = [*dict.fromkeys(name for way in ways for name in way.values)]
    if not WORD.fullmatch(condition) or condition in names:
        raise NoChoiceError
    if sum(way.signs for way in ways) > MOST_SIGNS:
        raise NoChoiceError
    made = list[str]()
    for name in names:
        values = [way.values.get(name, name) for way in ways]
        if words_of(" ".join(values)) & {*names} - {name}:
            raise NoChoiceError  # it is computed from what another one was
        chosen = f"select_bits<{variables[name]}>({condition}, {', '.join(values)})"
        made.append(f"{name} = {chosen};")
    return indented(*ways[0].lines, *ways[1].lines, *made, by=head.depth)


class _Way:
    """One way through a branch.

    Attributes:
        lines: what it computes.
        values: of the variables that it assigns, what they are in the end.
        signs: of arithmetic.
    """

    def __init__(self, texts: Sequence[str], variables: Mapping[str, str], read: Collection[str]):
        self.lines: list[str] = []
        self.values: dict[str, str] = {}
        self.signs, self.read = 0, read
        for line in map(line_of, texts):
            if not line.words:
                self.lines.append(line.text)
            elif named := NAMED.fullmatch(line.text):
                kind, name, value = named.groups()
                self.lines.append(f"const {kind} {name} = {self._computed(kind, value)};")
            elif (assigned := ASSIGNED.match(line.text)) and assigned[1] in variables:
                value = self._computed(variables[assigned[1]], assigned[2])
                self.values[assigned[1]] = value if WORD.fullmatch(value) else f"({value})"
            else:
                raise NoChoiceError

    def _computed(self, kind: str, value: str) -> str:
        """C text of a value, of what variables are by then."""
        elements, rest = ELEMENT.findall(value), ELEMENT.sub("", value)
        if kind not in NUMBERS or not {*elements} <= {*self.read}:
            raise NoChoiceError
        if not PURE.fullmatch(rest or " ") or ("/" in rest and kind not in FLOATS):
            raise NoChoiceError
        self.signs += len(SIGN.findall(rest))
        return WORD.sub(lambda found: self.values.get(found[0], found[0]), value)
