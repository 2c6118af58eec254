"""First rounds that were lowered apart, and do what any other round does.

A name that holds a number of Python before a loop, and NumPy's from its first round on, is two
variables of C, and the first round is written apart.  Where any other round would be the same text
with that number, one text is enough: the second variable begins with the number.

    s = 0.0;                                    s = 0.0;
    bool first = true;                          s_ = 0.0;
    for (int64 t = 0; t < n; t += 1) {          for (int64 t = 0; t < n; t += 1) {
        if (first) {                                s_ = a * s_ + load(x + t);
            first = false;                      }
            s_ = a * 0.0 + load(x + t);
            continue;
        }
        s_ = a * s_ + load(x + t);
    }
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from opweave.compiler.loops.order.blocks import (
    ASSIGNED,
    CodeLine,
    assigned_in,
    begins_with,
    blocks_of,
    declared_in,
    end_of,
    is_live,
    line_of,
    words_in,
)

FIRST = re.compile(r"bool (first\d+) = true;")
NUMBER = r"(?:\d+\.\d*(?:e[+-]?\d+)?|\(-\d+\.\d*(?:e[+-]?\d+)?\))"
TOKEN = re.compile(rf"{NUMBER}|\d\w*|[A-Za-z_]\w*|\S")
TYPES = {"long", "int", "char"}  # which look like a name in a cast, as (unsigned long)
# What the lowering computes itself, where both are known.
COMPUTED = re.compile(rf"const double (\w+) = ({NUMBER}) ([-+*]) ({NUMBER}) ;")
OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul}


class DiffersError(Exception):
    """Nothing says that a first round does what the others do."""


class Assigned(NamedTuple):
    """Variables that a round has assigned by now: surely, and perhaps."""

    surely: frozenset[str] = frozenset()
    perhaps: frozenset[str] = frozenset()

    def then(self, names: Collection[str]) -> Assigned:
        return Assigned(self.surely.union(names), self.perhaps.union(names))

    def or_as(self, other: Assigned) -> Assigned:
        """Where two ways meet."""
        return Assigned(self.surely & other.surely, self.perhaps | other.perhaps)


class Tokens(NamedTuple):
    """A line of C, and the names that it declares."""

    all: tuple[str, ...]
    declared: frozenset[str]

    @classmethod
    def of(cls, line: CodeLine) -> Tokens:
        found = tuple(TOKEN.findall(line.text)) if line.words else (line.text,)
        return cls(found, frozenset(declared_in([line])) - TYPES)


class FirstRound:
    """Any round of a loop, as it would be if some variables began with what is given.

    Attributes:
        begins: the variables, and what they begin with.
        numbers: of what is computed of numbers alone, the results.
        lines: what it would be.
    """

    def __init__(self, begins: Mapping[str, str]):
        self.begins = begins
        self.numbers: dict[str, str] = {}
        self.lines: list[Tokens] = []

    def run(self, lines: Sequence[CodeLine], now: Assigned = Assigned()) -> Assigned:
        """Write lines behind those that are there; what they have assigned in the end.

        Raises:
            DiffersError: a variable is read that perhaps has another value by then.
        """
        before = left = now  # in front of the ``if`` that an ``else`` belongs to, and behind it
        for line, inner in blocks_of(lines):
            own = self.begins.keys() & assigned_in([line, *inner])
            self._write(line, own, now)
            if not line.text.endswith("{"):
                now = now.then(own)
                continue
            if line.text == "else {":
                now = left.or_as(self.run(inner, before))
            elif line.text.startswith("if "):
                before, left = now, self.run(inner, now)
                now = now.or_as(left)
            else:  # rounds, which find what others have assigned
                now = now.or_as(self.run(inner, now.or_as(now.then(own))))
            self.lines.append(Tokens(("}",), frozenset()))
        return now

    def _write(self, line: CodeLine, own: Collection[str], now: Assigned) -> None:
        match = ASSIGNED.match(line.text)
        target = match[1] if match is not None and match[1] in own else ""
        if own and not target and not line.text.endswith("{"):
            raise DiffersError  # it changes one in another way
        tokens, found = Tokens.of(line), list[str]()
        for n, token in enumerate(tokens.all):
            if token in self.begins and not (target and n == 0) and token not in now.surely:
                if token in now.perhaps:
                    raise DiffersError
                token = self.begins[token]
            found.append(self.numbers.get(token, token))
        if computed := COMPUTED.fullmatch(" ".join(found)):
            name, a, sign, b = computed.groups()
            result = OPERATORS[sign](*(float(each.strip("()")) for each in (a, b)))
            self.numbers[name] = repr(result) if math.copysign(1, result) > 0 else f"({result!r})"
        else:
            self.lines.append(tokens._replace(all=tuple(found)))


def is_alike(
    first: Sequence[Tokens],
    made: Sequence[Tokens],
    its: Mapping[str, str],
    ours: Mapping[str, str],
) -> bool:
    """Whether a first round is what was made of another one, but for names that they declare.

    ``its`` and ``ours``: variables that nothing else uses, with their types.
    """
    names = dict[str, str]()
    for line, own in zip(first, made, strict=False):
        for a, b in zip(line.all, own.all, strict=False):
            if b in own.declared or (b in ours and ours[b] == its.get(a)):
                names.setdefault(b, a)
        if line.all != tuple(names.get(token, token) for token in own.all):
            return False
    return len(first) == len(made) and len({*names.values()}) == len(names)


class FirstRounds:
    """Joins first rounds with the others.

    Args:
        variables: of the function, with their types in C.
        behind: C text of what is read behind all lines.
    """

    def __init__(self, variables: Mapping[str, str], behind: str):
        self.variables, self.behind = variables, set(re.findall(r"\w+", behind))

    def joined(self, texts: Sequence[str]) -> list[str]:
        """The lines of a function, inner loops first."""
        found = list(texts)
        for at in reversed(range(len(found))):
            match = FIRST.fullmatch(found[at].lstrip())
            if match is not None:
                found = self._joined(found, at, match[1]) or found
        return found

    def _joined(self, texts: Sequence[str], at: int, flag: str) -> list[str]:
        """The lines with one text for all rounds of a loop; none where they are not alike."""
        lines = [line_of(text) for text in texts]
        end, close = end_of(lines, at + 1), end_of(lines, at + 2)
        first, others = lines[at + 4 : close - 1], lines[close + 1 : end]
        shape = [lines[n].text for n in (at + 2, at + 3, close - 1, close)]
        if shape != [f"if ({flag}) {{", f"{flag} = false;", "continue;", "}"]:
            return []
        begins = self._begins(lines[:at], others)
        made = FirstRound(begins)
        try:
            made.run(others)
        except DiffersError:
            return []
        its, ours = self._own(lines, at + 4, close - 1), self._own(lines, close + 1, end)
        if not is_alike([*map(Tokens.of, first)], made.lines, its, ours):
            return []
        space = texts[at][: -len(texts[at].lstrip())]
        known = [f"{space}{name} = {value};" for name, value in begins.items()]
        found = [*texts[:at], *known, texts[at + 1], *texts[close + 1 :]]
        head, lines = at + len(known), [line_of(text) for text in found]
        is_read = any(self._is_read(lines, head, end_of(lines, head), name) for name in begins)
        return [] if is_read else found

    def _own(self, lines: Sequence[CodeLine], at: int, end: int) -> dict[str, str]:
        """Variables that only some lines use, and whose value from before is not read."""
        outside = self.behind | words_in(lines[:at]) | words_in(lines[end:])
        used = (self.variables.keys() & words_in(lines[at:end])) - outside
        return {
            name: self.variables[name]
            for name in used
            if self.variables[name] == "LoopRoom" or begins_with(lines[at:end], name) is not None
        }

    def _is_read(self, lines: Sequence[CodeLine], head: int, end: int, name: str) -> bool:
        """Whether a variable may be read by a loop's head, or behind one that had no round."""
        if name in lines[head].words:
            return True
        live = is_live(lines, head, end, name)
        return name in self.behind if live is None else live

    def _begins(self, before: Sequence[CodeLine], others: Sequence[CodeLine]) -> dict[str, str]:
        """Variables that a round reads first, and what the same name held before the loop."""
        found, changed = dict[str, str](), assigned_in(others)
        for name in sorted(changed & self.variables.keys()):
            value = self._before(before, name) if begins_with(others, name) is None else None
            if value is not None and self.variables[name] == self.variables.get(value[0]):
                if self.variables[name] == "double" and re.fullmatch(NUMBER, value[1]):
                    found[name] = value[1]
                elif value[0] not in changed:
                    found[name] = value[0]
        return found

    def _before(self, lines: Sequence[CodeLine], name: str) -> tuple[str, str] | None:
        """The variable that a name had before, and what it was assigned last: a guess, which the
        first round's own text has to bear out."""
        for line in reversed(lines):
            match = ASSIGNED.match(line.text)
            if match and match[1] != name and match[1].rstrip("_") == name.rstrip("_"):
                return match[1], match[2]
        return None
