"""What becomes of a function's loops, by the kinds of its calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from operator import is_not
from types import FunctionType
from typing import Any

from opweave._loops.called import CalledFunctions, may_call_loops
from opweave._loops.remembering import remembered
from opweave._loops.rolled import Rolled
from opweave._loops.sites import MOST_KINDS, Site
from opweave._loops.stretches import Make
from opweave.compiler.captures.source import NoLoopError, has_loop
from opweave.compiler.ir.pace import ROLLED
from opweave.compiler.pipeline.driver import Options
from opweave.configuration import config


class NotRolled(Exception):
    """C runs no loop of a call; its arrays hold what they held before."""


class RolledCalls:
    """Runs calls of some kinds; of those that are known, without a look at the kinds."""

    def __init__(self, loops: Loops, kinds: Any, lines: bool):
        self._loops, self._kinds, self._lines = loops, kinds, lines
        self._found: tuple[int, Rolled | None] = -1, None

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        (loops := self._loops).look()
        epoch, found = self._found
        if epoch == (now := loops.epoch) and found is not None:
            return found(*args, **kwargs)
        try:
            return loops.run(self._kinds, args, kwargs, self._lines)
        finally:
            self._found = now, loops.known.get(self._kinds)


class Loops:
    """What becomes of a function's loops, by the kinds and sizes of its calls.

    Attributes:
        known: of calls that were rolled, how they run; None where no loop could be.
        reasons: of those, the lines of their loops, and why each is left to Python.
        epoch: another number where all that was forgotten.
    """

    def __init__(self, given: Callable[..., Any], options: Options, make: Make | None = None):
        """``make`` makes kernels of lines."""
        self._given, self._make = given, make
        self.called: CalledFunctions | None = None  # functions that it calls
        asked = options.toggles or options.structure or options.fast
        self._is_open, self._has_lines = options.fused and not asked, not asked
        self._first: Rolled | None = None
        self._asked = False
        self._was = _definition(given)
        self.epoch = 0
        self.known: dict[Any, Rolled | None] = {}
        self.reasons: dict[Any, list[tuple[int, str]]] = {}

    def clear(self) -> None:
        self._forget()
        self._asked, self._first = False, None
        if self.called is not None:
            self.called.clear()

    def has_any(self) -> bool:
        """Whether the function has a loop that might run in C."""
        if not self._asked:
            self._asked = True
            given = self._given
            if isinstance(given, FunctionType) and _may_have_sites(given):
                try:
                    self._first = Rolled(given, called=self.called)
                except Exception:  # Python runs it, whatever is wrong
                    self._first = None
        return self._first is not None

    def may_run_lines(self, kinds: Any) -> bool:
        """Whether kernels may run lines of calls of some kinds, of a function without loops.

        With every operator as a kernel, too: who runs a line is the same then.
        """
        has_code = type(self._given) is FunctionType and not has_loop(self._given.__code__)
        return has_code and _are_asked() and self._has_lines and kinds not in self.known

    def may_run(self, kinds: Any) -> bool:
        """Whether C may run loops of calls of some kinds, as far as is known.

        Not where toggles are asked for, or every operator as a kernel.
        """
        return _are_asked() and self._is_open and kinds not in self.known and self.has_any()

    def has_own(self) -> bool:
        """Whether such a loop is in the function itself, and not in one that it calls."""
        given = self._given
        if not isinstance(given, FunctionType) or not has_loop(given.__code__):
            return False
        sites = self._first.sites if self.has_any() and self._first is not None else ()
        return any(isinstance(site, Site) for site in sites)

    def runs(self, kinds: Any) -> bool:
        """Whether it is known that C runs loops of calls of some kinds."""
        return self.known.get(kinds) is not None and _are_asked()

    def run_any(self) -> bool:
        """Whether C runs loops of any calls, or kernels lines."""
        return any(self.known.values())

    def learned(self, kinds: Any, arrays: Sequence[Any], args: Any, kwargs: Any) -> Any:
        """Run a call of which it is not known whether C runs its loops.

        Args:
            arrays: all that it may write to; what else it may leave in arguments is found.

        Raises:
            NotRolled: C runs none.
        """
        if kinds in self.known and not self.runs(kinds):
            raise NotRolled
        put_back = remembered(arrays, args, kwargs)
        if put_back is None:
            raise NotRolled
        try:
            result = self.run(kinds, args, kwargs)
        except Exception:
            if self.runs(kinds):
                raise
            put_back()
            raise NotRolled from None  # the call itself raises it, if it is the function's
        if not self.runs(kinds):
            put_back()
            raise NotRolled
        return result

    def looked_at(
        self, kinds: Any, arrays: Sequence[Any], args: Any, kwargs: Any, lines: bool
    ) -> None:
        """Run a call only to see which of its loops C runs; arguments hold then what they held.

        What the function raises is left to the call itself.
        """
        if kinds in self.known:
            return
        put_back = remembered(arrays, args, kwargs)
        with suppress(Exception):
            self.run(kinds, args, kwargs, lines)
        if put_back is not None:
            put_back()

    def notes(self, kinds: Any) -> list[str]:
        """Why C does not run loops of calls of some kinds."""
        left = self.reasons.get(kinds, ()) if self.known.get(kinds) is None else ()
        return [f"C does not run the loop at line {line}: {why}" for line, why in left]

    def runner(self, kinds: Any, lines: bool = False) -> Callable[..., Any]:
        """What runs a call of some kinds."""
        return RolledCalls(self, kinds, lines)

    def run(
        self, kinds: Any, args: Sequence[Any], kwargs: Mapping[str, Any], lines: bool = False
    ) -> Any:
        """Run a call; the first of its kinds finds out which loops can be in C.

        ``lines``: and which lines kernels run.
        """
        self.look()
        found = self.known.get(kinds)
        if found is not None:
            return found(*args, **kwargs)
        assert isinstance(self._given, FunctionType)
        try:
            rolled = Rolled(self._given, make=self._make if lines else None, called=self.called)
        except NoLoopError:  # none of its lines, or no source
            self.known[kinds] = None
            return self._given(*args, **kwargs)
        try:
            return rolled(*args, **kwargs)
        finally:
            if len(self.known) >= MOST_KINDS:
                self._forget()
            self.known[kinds] = rolled.settled()
            self.reasons[kinds] = [
                (s.node.lineno, s.left) for s in rolled.sites if s.left and type(s) is Site
            ]

    def _forget(self) -> None:
        self.known.clear()
        self.reasons.clear()
        self.epoch += 1

    def look(self) -> None:
        """Forget all where the function is not what it was."""
        now = _definition(self._given)
        if any(map(is_not, now, self._was)):
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


def _may_have_sites(function: FunctionType) -> bool:
    """Whether a function has loops, or calls such as have some; its source is not asked."""
    return has_loop(function.__code__) or may_call_loops(function)


def _are_asked() -> bool:
    """Whether loops and lines may be compiled: none of them gives NumPy's warnings and errors."""
    return config.loops and config.errors != "numpy"


def _definition(given: Any) -> tuple[Any, ...]:
    """What a function is; an object that is called has none of it."""
    if type(given) is FunctionType:
        return given.__code__, given.__defaults__, given.__kwdefaults__
    return tuple(getattr(given, n, None) for n in ("__code__", "__defaults__", "__kwdefaults__"))
