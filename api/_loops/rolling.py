"""What becomes of a function's loops, by the kinds of its calls."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import FunctionType
from typing import Any

import numpy as np

from opweave._loops.rolled import MOST_KINDS, Rolled
from opweave.compiler.ir.pace import ROLLED
from opweave.compiler.pipeline.driver import Options
from opweave.configuration import config

# What NumPy may do of errors of floating point that C does not look for.
QUIET = frozenset(("warn", "ignore"))


class Loops:
    """What becomes of a function's loops, by the kinds of its calls.

    Attributes:
        known: of calls that were rolled, how they run; None where no loop could be.
    """

    def __init__(self, given: Callable[..., Any], options: Options):
        self._given = given
        asked = options.toggles or options.structure or options.fast
        self._is_open = options.fused and not asked
        self._first: Rolled | None = None
        self._asked = False
        self._was: tuple[Any, ...] = (None, None, None)
        self.known: dict[Any, Rolled | None] = {}

    def clear(self) -> None:
        self.known.clear()
        self._asked, self._first = False, None

    def has_any(self) -> bool:
        """Whether the function has a loop that might run in C."""
        if not self._asked:
            self._asked = True
            if type(self._given) is FunctionType:
                try:
                    self._first = Rolled(self._given)
                except Exception:  # Python runs it, whatever is wrong
                    self._first = None
        return self._first is not None

    def may_run(self, kinds: Any) -> bool:
        """Whether C may run loops of calls of some kinds, as far as is known.

        Not where toggles are asked for, or every operator as a kernel.
        """
        return config.loops and self._is_open and kinds not in self.known and self.has_any()

    def runs(self, kinds: Any) -> bool:
        """Whether it is known that C runs loops of calls of some kinds."""
        return self.known.get(kinds) is not None and config.loops

    def learned(self, kinds: Any, args: Any, kwargs: Any) -> bool:
        """Whether C runs loops of a call, which is run on copies where that is not known."""
        if kinds not in self.known:
            with suppress(Exception):  # the call itself raises it, if it is the function's
                self.run(kinds, *copy.deepcopy((args, kwargs)))
            self.known.setdefault(kinds, None)
        return self.runs(kinds)

    def runner(self, kinds: Any) -> Callable[..., Any]:
        """What runs a call of some kinds."""
        return lambda *args, **kwargs: self.run(kinds, args, kwargs)

    def run(self, kinds: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Run a call; the first of its kinds finds out which loops can be in C."""
        self._look()
        found = self.known.get(kinds)
        if found is not None:
            return found(*args, **kwargs)
        if not QUIET.issuperset(np.geterr().values()):  # C raises none of them
            return self._given(*args, **kwargs)
        assert isinstance(self._given, FunctionType)
        rolled = Rolled(self._given)
        try:
            return rolled(*args, **kwargs)
        finally:
            if len(self.known) >= MOST_KINDS:
                self.known.clear()
            self.known[kinds] = rolled.settled() if rolled.ran else None

    def _look(self) -> None:
        """Forget all where the function is not what it was."""
        given = self._given
        now = given.__code__, given.__defaults__, given.__kwdefaults__
        if any(a is not b for a, b in zip(now, self._was, strict=True)):
            self.clear()
            self._was = now

    def are_why(self, error: Exception) -> bool:
        """Whether a function is no whole for a loop: one that is too long, or what is in it."""
        seconds = getattr(error, "mean_seconds", None)
        return seconds < ROLLED if seconds is not None else self._was_in(error)

    def lines(self) -> frozenset[int]:
        """The lines of loops."""
        sites = self._first.sites if self._first else ()
        return frozenset(
            line
            for site in sites
            for line in range(site.node.lineno, (site.node.end_lineno or 0) + 1)
        )

    def _was_in(self, error: BaseException) -> bool:
        """Whether an error was raised in one of its loops."""
        code, lines, found = self._given.__code__, self.lines(), 0
        trace = error.__traceback__
        while trace is not None:
            own = trace.tb_frame.f_code
            same = own.co_filename, own.co_name, own.co_firstlineno
            if same == (code.co_filename, code.co_name, code.co_firstlineno):
                found = trace.tb_lineno
            trace = trace.tb_next
        return found in lines
