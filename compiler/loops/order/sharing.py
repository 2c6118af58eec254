"""Loops whose rounds touch nothing of each other's: all cores share them, to the same bits.

for i in range(n): y[i] = f(x, i)     ->     rounds 0 .. n - 1 of ``y[i] = f(x, i)``, in any order

What a round does is read off its lines in C.  A loop is shared where

- each array of the call that it writes to is looked at, along one axis, at one place that is the
  round's own; what else is read of it lies apart from all such places;
- each variable that it assigns gets its value in a round before that round reads it;
- it is left nowhere in the middle, but for errors, after which C puts back what it has written and
  runs the rounds once more, one after the other.

The lines go into a function of C that has its own copy of such variables.  All others are
constants to it, which the compiler of C holds.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass

from opweave.compiler.lines.indexing import Region
from opweave.compiler.lines.text import INDENT
from opweave.compiler.lines.values import Size
from opweave.compiler.loops.order.blocks import (
    DECLARED,
    HEAD,
    TICK,
    CodeLine,
    assigned_in,
    begins_with,
    indented,
    is_left,
    is_live,
    is_long,
    line_of,
    mentions,
    rewritten,
    stored_to,
    words_in,
    words_of,
)

# How variables begin, by their types, but for zeros.
START = {"LoopRoom": ""}
# What has a state of its own, or threads of its own.
LEFT_ALONE = re.compile(r"\b(LoopMatrix|library|LOOP_RAISED)\b")


@dataclass
class ArrayUses:
    """What is known of the arrays of a function.

    Attributes:
        given: pointers of the call, with their types in C.
        written: those that are written to; no other array of the call has memory of theirs.
        views: by the text of a pointer into an array what is looked at from there.
        spans: of those written to the C text of their memory.
        are_below: whether a sum is known to be less than another one.
    """

    given: Mapping[str, str]
    written: Collection[str]
    views: Mapping[str, set[Region]]
    spans: Callable[[str], str]
    are_below: Callable[[Size, Size], bool]

    def regions(self, text: str) -> set[Region]:
        """What may be looked at from the pointer with which a text begins."""
        terms = text.split(" + ")
        for count in range(len(terms), 1, -1):
            if (found := self.views.get(" + ".join(terms[:count]))) is not None:
                return found
        return {None}

    def uses(self, lines: Sequence[CodeLine], name: str) -> list[tuple[bool, Region]]:
        """What lines look at of an array, and whether they only read it there."""
        pointers = [each for line in lines for each in mentions(line, name)]
        return [(is_read, r) for is_read, text in pointers for r in self.regions(text)]


@dataclass
class Shared:
    """A loop that all cores may share.

    Attributes:
        counter, begin, end: of its head.
        own: variables of a round; those of ``left`` are read behind the loop.
        arrays: of the call, that it looks at; and those that it writes to.
    """

    counter: str
    begin: str
    end: str
    own: list[str]
    left: list[str]
    arrays: list[str]
    written: list[str]


class Sharing:
    """Finds such loops in the lines of a function, and rewrites them."""

    def __init__(
        self, variables: Mapping[str, str], alone: Collection[str], arrays: ArrayUses, behind: str
    ):
        """
        Args:
            variables: of the function, with their types in C.
            alone: names of lists, which one round after the other changes.
            behind: the text that is behind the lines.
        """
        self.variables, self.alone, self.arrays = variables, frozenset(alone), arrays
        self.behind = words_of(behind)
        self.used = frozenset[str]()

    def shared(self, texts: Sequence[str]) -> list[str]:
        """The lines of the function, with loops that all cores share."""
        self.used = words_in([line_of(text) for text in texts]) | self.variables.keys()

        def others(lines: Sequence[CodeLine], at: int, end: int) -> list[str]:
            found = self._found(lines, at, end)
            return [] if found is None else self._written(found, texts[at : end + 1])

        return rewritten(texts, others)

    def _found(self, lines: Sequence[CodeLine], at: int, end: int) -> Shared | None:
        """The loop whose head and whose end are these lines, if it may be shared."""
        head = HEAD.fullmatch(lines[at].text)
        body = lines[at + 1 : end]
        if head is None or not body or body[0].text != TICK:
            return None
        if lines[at].depth > 1 and not is_long(body):
            return None
        if any(LEFT_ALONE.search(line.text) for line in body) or is_left(body):
            return None
        used = words_in(body)
        local = {name for line in lines[at:end] for name in DECLARED.findall(line.text)}
        if used & self.alone or not assigned_in(body) <= local | {*self.variables}:
            return None
        own = self._own(lines, at, end)
        counter, begin, last = head.groups()
        if own is None or not (written := self._into(body, used, local, counter)):
            return None
        arrays = [name for name in self.arrays.given if name in used]
        left = [name for name in own if own[name]]
        return Shared(counter, begin, last, [*own], left, arrays, written)

    def _own(self, lines: Sequence[CodeLine], at: int, end: int) -> dict[str, bool] | None:
        """Variables that every round has anew, and whether they are read behind the loop; None if
        one is carried from round to round."""
        own, body = dict[str, bool](), lines[at + 1 : end]
        used, assigned = words_in(body), assigned_in(body)
        for name in filter(used.__contains__, self.variables):
            kind = self.variables[name]
            if kind == "LoopRoom":
                if name in self.behind:
                    return None
                own[name] = False
            elif name not in assigned:
                if kind.endswith("*"):  # wherever it points to
                    return None
            else:
                begins, live = begins_with(body, name), is_live(lines, at, end, name)
                own[name] = name in self.behind if live is None else live
                # what a pointer of a round points to ends with the rounds
                if begins is None or (own[name] and (not begins or kind.endswith("*"))):
                    return None
        return own

    def _into(
        self, body: Sequence[CodeLine], used: Collection[str], local: Collection[str], counter: str
    ) -> list[str]:
        """The arrays that rounds write to; none if one round looks at what another one writes."""
        known, written = self.arrays, list[str]()
        for name in {*known.written}.intersection(used):
            regions = known.uses(body, name)
            if all(is_read for is_read, _ in regions):
                continue
            if name not in known.given:  # an array that the function makes
                return []
            if not is_by_rounds(regions, counter, {*local, *self.variables}, known.are_below):
                return []
            written.append(name)
        known_targets = {*local, *known.given, *self.variables}
        return sorted(written) if stored_to(body) <= known_targets else []

    def _written(self, found: Shared, texts: Sequence[str]) -> list[str]:
        """The lines of a loop that is shared."""
        name, left = self._fresh("rounds"), self._fresh("left")
        behind = [f"if (last == {found.end}) *{left}_{v} = {v};" for v in found.left]
        depth = line_of(texts[0]).depth
        rounds = [text[depth * len(INDENT) :] for text in texts[1:]]
        can_fail = any("LOOP_FAULT" in t and "LOOP_NO_MEMORY" not in t for t in texts)
        spans = ", ".join(map(self.arrays.spans, found.written))
        bounds = f"{found.begin}, {found.end}, {str(can_fail).lower()}"
        lines = [
            "// its rounds touch nothing of each other's: all cores share them",
            *(f"{self.variables[v]} {left}{v} = {v};" for v in found.left),
            *self._head(found, name, left),
            *indented(*rounds, *behind, "return LOOP_DONE;"),
            "};",
            f"LOOP_SHARE({name}, {bounds}, {{{spans}}});",
            *(f"{v} = {left}{v};" for v in found.left),
        ]
        return indented(*lines, by=depth)

    def _head(self, found: Shared, name: str, left: str) -> list[str]:
        """The lines of the function up to what a round does."""
        given, kinds, types = self._fresh("given"), self.arrays.given, self.variables
        captured = ["=", *(f"{given}_{a} = {a}" for a in found.arrays)]
        captured += [f"{left}_{v} = &{left}{v}" for v in found.left]
        parameters = "int64& first, int64 last, int64 pause, int64* made, LoopWatch& of"
        arrays = [f"{kinds[a]} const __restrict__ {a} = {given}_{a};" for a in found.arrays]
        own = [f"{types[v]} {v}{START.get(types[v], ' = {}')};" for v in found.own]
        counter = found.counter
        loop = f"for (int64 {counter} = first; {counter} < last; ++{counter}) {{"
        return [
            f"const auto {name} = [{', '.join(captured)}]({parameters}) -> int {{",
            *indented("LoopOwnWatch watch(of);", *arrays, *own, loop),
            *indented(f"LOOP_PAUSE({counter});", by=2),
        ]

    def _fresh(self, begin: str) -> str:
        """A name with which none begins."""
        while any(name.startswith(begin) for name in self.used):
            begin += "_"
        self.used |= {begin}
        return begin


def is_by_rounds(
    regions: Sequence[tuple[bool, Region]],
    counter: str,
    changing: Collection[str],
    are_below: Callable[[Size, Size], bool],
) -> bool:
    """Whether regions of an array are each round's own: at one place along one axis, which the
    counter gives. What is only read may lie apart from all such places."""
    known = [region for _, region in regions if region is not None]
    if len(known) < len(regions) or len(set(map(len, known))) > 1:
        return False
    for along in zip(*known, strict=True):
        own = [is_own(first, last, counter, changing) for first, last in along]
        places = {first for (first, _), mine in zip(along, own, strict=True) if mine}
        others = [
            (is_read, first, last)
            for (is_read, _), (first, last), mine in zip(regions, along, own, strict=True)
            if not mine
        ]
        if len(places) == 1 and all(
            is_read
            and not varies(first, changing)
            and not varies(last, changing)
            and any(are_below(last, p) or are_below(p, first) for p in places)
            for is_read, first, last in others
        ):
            return True
    return False


def varies(size: Size, changing: Collection[str]) -> bool:
    return any(name in changing for name, _ in size.terms)


def is_own(first: Size, last: Size, counter: str, changing: Collection[str]) -> bool:
    """Whether there is one place, and no other round has the same."""
    factor = dict(first.terms).get(counter, 0)
    rest = first.plus(Size(((counter, factor),)), -1)
    return first == last and factor != 0 and not varies(rest, changing)
