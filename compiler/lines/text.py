"""C text of a loop: its lines, its names, and how far they are indented."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from opweave.compiler.ir.names import c_name

INDENT = "    "
# What the function of C has for itself, and functions and macros in it.
TAKEN = (
    "loop", "given", "made", "watch", "first", "last", "pause", "of", "how_shared", "one", "other",
    "row_acc", "is_column",
)  # fmt: skip


class TextMark(NamedTuple):
    """A place in the text: lines before it, blocks around it, how often the text went back."""

    lines: int
    depth: int
    times_back: int


class Text:
    """The lines so far.

    Attributes:
        line: the user's line that is being lowered.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.declared: dict[str, str] = {}  # variables of the whole function, with their types
        self.line = 0
        self.used = set(TAKEN)
        self._depth = 1
        self._times_back = 0
        self._is_held = False
        self._numbers: dict[str, int] = {}

    def at(self, line: int) -> None:
        """Go to a line of the user's, but for what is written in its place."""
        if not self._is_held:
            self.line = line

    @contextmanager
    def one_line(self) -> Iterator[None]:
        """Stay at the line: what follows is no text of the user's."""
        before, self._is_held = self._is_held, True
        try:
            yield
        finally:
            self._is_held = before

    def add(self, text: str) -> None:
        self.lines += [INDENT * self._depth + part for part in text.split("\n")]

    def fresh(self, begin: str) -> str:
        """A name that is not used yet."""
        while True:
            number = self._numbers[begin] = self._numbers.get(begin, -1) + 1
            if (name := f"{begin}{number}") not in self.used:
                self.used.add(name)
                return name

    def unused(self, wish: str) -> str:
        """A name for what the user calls so."""
        name = c_name(wish, "x")
        while name in self.used:
            name += "_"
        self.used.add(name)
        return name

    def named(self, c_type: str, value: str, begin: str = "v") -> str:
        """The name of a constant with a value."""
        name = self.fresh(begin)
        self.add(f"const {c_type} {name} = {value};")
        return name

    def variable(self, c_type: str, name: str) -> str:
        """A variable of the whole function."""
        self.declared[name] = c_type
        return name

    @contextmanager
    def block(self, head: str, end: str = "}") -> Iterator[None]:
        self.add(f"{head} {{" if head else "{")
        self._depth += 1
        yield
        self._depth -= 1
        self.add(end)

    def mark(self) -> TextMark:
        """Where the text is, to go back to."""
        return TextMark(len(self.lines), self._depth, self._times_back)

    def back(self, mark: TextMark) -> None:
        """Forget what came after a mark."""
        del self.lines[mark.lines :]
        self._depth = mark.depth
        self._times_back += 1

    def since(self, mark: TextMark) -> list[str] | None:
        """The lines since a mark in the block that goes on; None where that block has ended."""
        lines, own = self.lines[mark.lines :], INDENT * mark.depth
        goes_on = self._depth == mark.depth and all(line.startswith(own) for line in lines)
        return lines if goes_on and self._times_back == mark.times_back else None
