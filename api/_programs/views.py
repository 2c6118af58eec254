"""The sources of one kernel that a page switches between: each line once, views as numbers."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from typing import Any

from markupsafe import Markup

from opweave._html.markup import MarkedLine, marked
from opweave._programs.flipped import Flip, counterpart, switches
from opweave._programs.pieces import coloured, kernel_lines
from opweave._programs.users_source import UsersSource, comments_of, line_of
from opweave.compiler.kernels.flat import flat
from opweave.compiler.pipeline.driver import Lowered

TOO_LARGE = "left out: the page would be too large"


@dataclass(frozen=True)
class SwitchValue:
    """A value of a toggle: ``view`` shows the source with it, or ``reason`` says why none does."""

    value: int
    view: int = 0
    reason: str = ""


@dataclass(frozen=True)
class Switch:
    """A toggle on a page: the compiler's value, and others."""

    name: str
    meaning: str
    chosen: int
    choices: tuple[SwitchValue, ...]

    @property
    def is_flag(self) -> bool:
        """It is on or off."""
        return {self.chosen, *(choice.value for choice in self.choices)} <= {0, 1}

    @property
    def options(self) -> list[tuple[int, int, str]]:
        """All values in order, with their views, and why they are not shown."""
        others = [(choice.value, choice.view, choice.reason) for choice in self.choices]
        return sorted([(self.chosen, 0, ""), *others])


@dataclass
class Views:
    """All views of a kernel; the first is its source as the compiler made it.

    Attributes:
        room: bytes that views may take, of the page's.
        lines: markup of lines, each once.
        shown: of each view the numbers of its lines, and a sentence.
        switches: the toggles.
        resolved: the view without toggles, 0 if there is none.
    """

    room: int
    lines: dict[str, int] = field(default_factory=dict)
    shown: list[dict[str, Any]] = field(default_factory=list)
    switches: list[Switch] = field(default_factory=list)
    resolved: int = 0

    def add(self, rows: Sequence[MarkedLine], says: str) -> int:
        """One more view; 0 if there is no room for it."""
        texts = [str(marked(row)) for row in rows]
        new = sum(len(t) for t in {*texts} - self.lines.keys()) + 5 * len(texts)
        if self.shown and new > self.room:
            return 0
        self.room -= new
        numbers = [self.lines.setdefault(text, len(self.lines)) for text in texts]
        self.shown.append({"rows": numbers, "says": says})
        return len(self.shown) - 1

    @property
    def data(self) -> Markup:
        """All of it as JSON, for a script; no text of it ends the element that it stands in."""
        text = json.dumps({"lines": [*self.lines], "views": self.shown}, separators=(",", ":"))
        return Markup(text.replace("<", "\\u003c").replace("&", "\\u0026"))


@dataclass(frozen=True)
class Viewed:
    """A kernel of a program whose views are made.

    Attributes:
        colours: of lines that were met, see ``pieces.coloured``.
    """

    lowered: Lowered
    number: int
    users: UsersSource
    colours: dict[str, Markup] = field(default_factory=dict)

    def lines(self) -> list[MarkedLine]:
        """As opweave made it."""
        low, n = self.lowered, self.number
        return kernel_lines(low.kernels[n], low.sources[n], low, self.users, self.colours)

    def resolved(self) -> list[MarkedLine]:
        """As a compiler of CUDA C sees it."""
        kernel = self.lowered.kernels[self.number]
        texts = flat(self.lowered.sources[self.number], kernel.toggles).splitlines()
        comments = comments_of(kernel, self.lowered.graph, self.users)
        marked = coloured(texts, self.colours)
        return [MarkedLine(m, line_of(t, comments)) for m, t in zip(marked, texts, strict=True)]

    def flipped(self, flip: Flip) -> list[MarkedLine] | str:
        """With a toggle flipped, or why it is not shown."""
        other = counterpart(flip, self.lowered, self.number)
        if isinstance(other, str) or flip.lowered is None:
            return str(other)
        return kernel_lines(*other, flip.lowered, self.users, self.colours)


def views_of(
    viewed: Viewed, flips: Mapping[tuple[str, int], Flip], own: Sequence[MarkedLine], room: int
) -> Views:
    """The kernel as it is, with counts in its margin, as compilers see it, and flipped."""
    views = Views(room)
    views.add(own, "as opweave made it")
    rows = viewed.resolved()
    views.resolved = views.add(rows, f"{len(rows)} lines: what a compiler of CUDA C sees")
    before = viewed.lines()
    for toggle, chosen, values in switches(viewed.lowered.kernels[viewed.number]):
        found = [flips[toggle.name, value] for value in values]
        choices = tuple(_choice(views, flip, before, viewed.flipped(flip)) for flip in found)
        views.switches.append(Switch(toggle.name, toggle.meaning, chosen, choices))
    return views


def _choice(
    views: Views, flip: Flip, before: Sequence[MarkedLine], after: list[MarkedLine] | str
) -> SwitchValue:
    if isinstance(after, str):
        return SwitchValue(flip.value, reason=after)
    rows, count = _changed(before, after)
    view = views.add(rows, f"{flip.name}={flip.value}: {count} lines are others, or count now")
    return SwitchValue(flip.value, view, "" if view else TOO_LARGE)


def _changed(
    before: Sequence[MarkedLine], after: Sequence[MarkedLine]
) -> tuple[list[MarkedLine], int]:
    """The lines behind a change, those marked that were not there or were left out."""
    a, b = ([(row.text, row.off) for row in rows] for rows in (before, after))
    same = SequenceMatcher(None, a, b, autojunk=False).get_matching_blocks()
    kept = {j + k for _, j, size in same for k in range(size)}
    rows = [row._replace(new=n not in kept and not row.off) for n, row in enumerate(after)]
    return rows, len(after) - len(kept)
