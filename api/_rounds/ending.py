"""Rounds on a GPU of a loop that a condition ends: calls, each asked before the next one.

How many rounds there are is known when the condition was computed, so none is launched ahead: the
processor waits for the truth of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from opweave._rounds.carried import StepLike
from opweave._rounds.device_rounds import DeviceRounds, Fuse, Names, NotRolledError, Rest
from opweave._rounds.passages import Passage
from opweave._rounds.splitting import Split
from opweave.compiler.ir.plain_arrays import is_array
from opweave.compiler.pipeline.driver import Options

ASKED = "a condition is read back before the next one"


class RoundPiece(DeviceRounds):
    """Statements of a round, from a condition to the next one."""

    def _rest(self, ready: Any, *_: Any) -> Rest:
        return Rest(ready, why=ASKED)

    def by_python(self, names: Names, item: int) -> None:
        """Run them by Python and CuPy."""
        split = self.split
        given = [n for n in self._given if n in names]
        made = split.round.function(given, split.results)
        names |= zip(split.results, made(*(names[n] for n in given)), strict=True)


class EndedRounds:
    """Runs the rounds of one loop until one of its conditions ends it.

    Attributes:
        why: why rounds are run one by one.
        listed, single: how many ran from a list, and how many did not.
    """

    why, listed = ASKED, 0

    def __init__(self, split: Split, fuse: Fuse, options: Options):
        self._split, self._fuse, self._options = split, fuse, options
        self._pieces = [
            RoundPiece(split.only(p), fuse, options) if isinstance(p, Passage) else p
            for p in split.pieces
        ]
        self._truths: dict[Any, StepLike | Callable[..., Any]] = {}
        self.single = 0

    @property
    def known(self) -> list[Rest]:
        """How pieces run, of the kinds that there were."""
        return [rest for p in self._pieces if isinstance(p, RoundPiece) for rest in p.known]

    def __call__(self, names: Names, items: Iterable[int]) -> tuple[Passage | None, str]:
        """Run all rounds, and let names have what they leave.

        Returns lines that the function ends with instead of those behind the loop, if it does,
        and why Python ran pieces, or "".

        Raises:
            NotRolledError: the first piece is no whole, and nothing was done yet that shows.
        """
        by_python: dict[RoundPiece, str] = {}
        may_refuse = self._split.is_pure
        for item in items:
            names[self._split.target] = item
            for piece in self._pieces:
                if isinstance(piece, RoundPiece):
                    self._run(piece, names, item, by_python, may_refuse)
                    may_refuse = False
                elif piece.holds(lambda lines: self._truth(lines, names)) == piece.is_when:
                    return piece.behind, _first(by_python)
                else:
                    may_refuse = may_refuse and piece.is_pure
            self.single += 1
        return None, _first(by_python)

    def _run(
        self, piece: RoundPiece, names: Names, item: int, by_python: dict[RoundPiece, str],
        may_refuse: bool,
    ) -> None:  # fmt: skip
        """Run a piece; by Python where it is no whole and something may have been done."""
        if piece not in by_python:
            try:
                piece.one(names, (item,), 0)
                return
            except NotRolledError as error:
                if may_refuse and error.again:
                    raise
                by_python[piece] = f"{error}" if error.again else ""
        piece.by_python(names, item)

    def _truth(self, lines: Passage, names: Names) -> bool:
        """Whether what lines return is true; computed by kernels where arrays are asked for."""
        given = [n for n in sorted(lines.read) if n in names]
        is_plain = not any(is_array(names[n]) for n in given)
        key = id(lines), is_plain, (*given,)
        if key not in self._truths:
            made = lines.function(given, None)
            self._truths[key] = made if is_plain else self._fuse(made, self._options)
        return bool(self._truths[key](*(names[n] for n in given)))


def _first(reasons: Mapping[Any, str]) -> str:
    return next(filter(None, reasons.values()), "")
