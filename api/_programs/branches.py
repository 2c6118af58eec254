"""Which lines of a source its toggles leave to the compiler."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from opweave.opcodes.conditions import OPENS, condition, directive, value

DEFINE = re.compile(r"#define\s+(\w+)\s+([^/]+)")


class _Choice:
    """An ``#if`` that is open: whether what stands around it counts, and its branches so far."""

    def __init__(self, around: bool):
        self.around = around
        self.is_decided = True
        self.taken = False
        self.counts = around

    def enter(self, holds: int | None) -> None:
        """A branch of it begins; where nobody knows which is taken, all of them count."""
        self.is_decided = self.is_decided and holds is not None
        self.counts = self.around and (not self.is_decided or (bool(holds) and not self.taken))
        self.taken = self.taken or bool(holds)


def left_out(lines: Sequence[str], toggles: Mapping[str, int]) -> set[int]:
    """The numbers, from 0, of the lines that the preprocessor leaves out.

    >>> left_out(["#if USE_X", "a();", "#else", "b();", "#endif"], {"USE_X": 0})
    {1}
    """
    known = dict(toggles)
    found: set[int] = set()
    open_ones: list[_Choice] = []
    for number, line in enumerate(lines):
        word, _ = directive(line)
        counts = open_ones[-1].counts if open_ones else True
        if word in OPENS:
            open_ones.append(_Choice(counts))
            open_ones[-1].enter(condition(line, known))
        elif open_ones and word in ("elif", "else"):
            open_ones[-1].enter(condition(line, known))
            counts = open_ones[-1].around
        elif open_ones and word == "endif":
            counts = open_ones.pop().around
        elif counts and (define := DEFINE.match(line)) and define[1] not in toggles:
            made = value(define[2], known)
            known |= {} if made is None else {define[1]: made}
        if not counts:
            found.add(number)
    return found
