"""Calls that are no whole: which run in parts, which by NumPy, and what is told of it."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import Any

import numpy as np

from opweave._functions.budget import TooLongError, tell, warn_of_limit
from opweave._functions.judging import Judging
from opweave._functions.layout import Call
from opweave._functions.parts import BREAKS, without_frames
from opweave._functions.preparing import is_on_gpu
from opweave._functions.ready import Ready, packed_into
from opweave._functions.short import NOT_WORTH, ByNumPy, keep
from opweave._loops.rolling import NotRolled
from opweave._rounds.device_rounds import NotRolledError
from opweave.compiler.captures.kinds import kinds_of
from opweave.compiler.captures.tree import TooManyError
from opweave.compiler.traced.lengths import RoundsError, breaks_at_lines, is_traced_whole
from opweave.compiler.tracing.calling import is_of_function
from opweave.compiler.tracing.written import has_written
from opweave.opcodes.errors import (
    AlignmentError,
    ArgumentError,
    OpweaveError,
    PlainError,
    RecompileError,
    TraceError,
    UnsupportedError,
)
from opweave.runtime.calls.writes import Unwritten
from opweave.runtime.process import environment

# Kinds of calls that are traced in vain before all others run in parts, too.
MOST_REFUSED = 8


class Fallback(Judging):
    """What becomes of calls that cannot be prepared."""

    def prepare_or_not(self, call: Call) -> Ready | None:
        """Prepare a call; None where the function has to run in parts.

        Raises:
            PlainError: it has to run by NumPy alone.
        """
        if self._preparing.options.fullgraph:
            return self._prepare_whole(call)
        reasons = self._parts.reasons
        self._check_rolled(call)
        try:
            if self._plain and (told := self._plain.found(call)) is not None:
                raise ByNumPy(*told, again=True)
            if (never := self._signature.goes_on or self._signature.never_copied) is not None:
                raise ByNumPy(never)
            if (reasons or self._parts.too_long) and self._is_refused(call):
                return None
            return self._preparing.prepare(call, or_parts=True)
        except ByNumPy:
            raise
        except Exception as error:
            self._check_rolled(call)  # another thread may have found out meanwhile
            self._left_to_parts(call, error)
            return None

    def _check_rolled(self, call: Call) -> None:
        """Hold that it is not known who runs the loops of a call.

        Raises:
            ByNumPy: it is.
        """
        if self.loops.runs(kinds := self._plain.by_size(call)):
            raise ByNumPy("", again=True, rolled=kinds)
        if is_on_gpu(call) and self.device_loops.runs(kinds):
            raise ByNumPy("", on_gpu=kinds)

    def _left_to_parts(self, call: Call, error: Exception) -> None:
        """Note why a call has to run in parts; raise where it must not.

        Behind a write an error is no reason against parts, where what comes before is written.
        """
        if self._is_for_gpu(call, error):
            raise ByNumPy("", on_gpu=self._plain.by_size(call)) from None
        if self._is_for_c(call, error):
            assert isinstance(error, OpweaveError)
            kinds, why = self._plain.by_size(call), self._pace.why_numpy(call, error)
            if is_traced_whole(error):
                raise ByNumPy("", rolled=kinds, learns=call.arrays) from None
            stays = not why or isinstance(error, RoundsError)
            told = why or f"{error}. {NOT_WORTH}"
            once, lines = "short" if why else "loops", breaks_at_lines(error)
            raise ByNumPy(told, once, rolled=kinds, stays=stays, lines=lines) from None
        is_refusal = isinstance(error, BREAKS)
        if isinstance(error, RecompileError):
            self._without_parts(call, error)
            if self._is_news(RecompileError):
                warn_of_limit(self._signature.name, error)
        elif not is_refusal and has_written(error):
            self._without_parts(call, error)
        elif isinstance(error, OpweaveError):
            self._refused(call, error)
        elif is_of_function(error):
            why = f"tracing it raised {type(error).__name__}{_text_of(error)}"
            error.__traceback__ = error.__context__ = error.__cause__ = None
            raise ByNumPy(why, type(error).__name__) from None
        else:
            raise error

    def by_numpy(self, args: Any, kwargs: Any, error: ByNumPy | TooManyError) -> ByNumPy:
        """Why NumPy runs a call; with more numbers than kernels take, C may run its loops.

        Raises:
            ArgumentError: it has none, or is to be a whole.
        """
        if isinstance(error, ByNumPy):
            return error
        kinds = "many", kinds_of({str(n): v for n, v in enumerate((*args, *kwargs.values()))})
        is_known = kinds in self.loops.known
        if self._preparing.options.fullgraph or not (is_known or self.loops.may_run(kinds)):
            raise ArgumentError(str(error)) from None
        runs = not is_known or self.loops.runs(kinds)
        if is_known:
            run = self.loops.runner(kinds) if runs else self.given
            self._preparing.calls.leave_many(run, args, kwargs)
        return ByNumPy(str(error), TooManyError, rolled=kinds if runs else None)

    def _prepare_whole(self, call: Call) -> Ready:
        """Prepare a call; an error of code in C that was given a stand-in becomes a refusal.

        Raises:
            ByNumPy: it raises an error behind what it writes, as the plain function does.
        """
        try:
            return self._preparing.prepare(call)
        except Exception as error:
            if has_written(error) and not isinstance(error, BREAKS):
                raise ByNumPy(f"it raised {type(error).__name__}{_text_of(error)}") from None
            never = self._signature.never_in_parts
            if isinstance(error, OpweaveError) or never is None or not is_of_function(error):
                raise
            raise TraceError(f"{self._signature.name}: {never}") from error

    def _is_refused(self, call: Call) -> bool:
        """Whether a call runs in parts without another trace.

        So does one of a new kind where none of several kinds became a whole: a list that grows
        is of another kind at each call.

        Raises:
            ByNumPy: it is one of these, and so short that NumPy is done before it is noted.
        """
        reasons, kinds = self._parts.reasons, self._parts.kinds(call)
        least = max(len(reasons), len(self._plain))
        is_hopeless = least >= MOST_REFUSED and not self._preparing.calls.is_known
        error = reasons.get(kinds)
        if error is None and is_hopeless and reasons:
            error = next(reversed(reasons.values()))
        if error is None:
            return self._plain.by_size(call) in self._parts.too_long
        why = self._pace.why_numpy(call, error)
        if self._may_roll(call) and self._pace.is_short(call, error):
            return False
        if why and is_hopeless:
            told = self._plain.short(call, why, error)
            told.again = True  # those like it are found by the lengths of their lists
            raise told
        return not why  # else a call of this size may be a whole, for all that is known

    def _of_rounds(self, call: Call, error: OpweaveError) -> None:
        """Note a loop that is too long to be whole, for calls of this size.

        Raises:
            ByNumPy: its operations are so short that NumPy is done before they are noted.
        """
        kind = self._plain.by_size(call)
        if why := self._pace.why_numpy(call, error):
            raise self._plain.left(call, why, "rounds", kind) from None
        keep(self._parts.too_long, kind, without_frames(error))

    def _refused(self, call: Call, error: OpweaveError) -> None:
        """Note what makes a function run in parts; raise all else."""
        if isinstance(error, PlainError):
            raise self._plain.left(call, str(without_frames(error))) from None
        if not isinstance(error, (*BREAKS, AlignmentError)):
            raise error
        self._without_parts(call, error)
        if error.mean_seconds is not None:
            self._of_rounds(call, error)
        elif not isinstance(error, AlignmentError):  # another array of this kind may be aligned
            self._parts.reasons[self._parts.kinds(call)] = without_frames(error)
            if why := self._pace.why_numpy(call, error):
                if self._may_have_lines(call, error):
                    raise ByNumPy(why, rolled=self._plain.by_size(call), lines=True) from None
                raise self._plain.short(call, why, error) from None
        if isinstance(error, TooLongError):
            self._parts.by_rounds = True  # its loops run round by round from now on
            if self._is_news(TooLongError):
                tell(f"{error}. It runs in parts; fullgraph=True compiles all of them")
        if "breaks" in environment.logs():
            print(f"opweave: {self._signature.name} runs in parts: {error}", file=sys.stderr)

    def _without_parts(self, call: Call, error: Exception) -> None:
        """Leave a call that is no whole to NumPy, if its function never runs in parts."""
        if (never := self._signature.never_in_parts) is not None:
            why = str(without_frames(error))  # which hold the arrays
            raise self._plain.left(call, f"{never}.  It is no whole: {why}", never) from None

    def _is_news(self, reason: Any) -> bool:
        """Whether nobody was told of something: that happens once for a function."""
        told = len(self.told)
        self.told.add(reason)
        return len(self.told) > told

    def instead(self, call: Call, out: Any, why: Unwritten) -> Any:
        """Run a call that kernels may not run, or have failed in: line by line, as NumPy does.

        Raises:
            UnsupportedError: its arguments share memory, and it is to be a whole.
            ByNumPy: the plain function has to run, or is as good.
        """
        name = self._signature.name
        if why.shared and self._preparing.options.fullgraph:
            raise UnsupportedError(
                f"{name}: arguments {why}, and one is written to; copy one of them, or leave out "
                "fullgraph=True"
            )
        if (never := self._signature.never_in_parts) is not None:
            raise ByNumPy(f"{never}.  Its kernels do not run: {why}", never)
        ready = self._preparing.calls.find(call, False) if why.shared else None
        if ready is not None and self._pace.is_as_well(call, ready.found.variant.trace.graph):
            raise ByNumPy("", silent=True)
        return self.in_parts(call, out)

    def in_parts(self, call: Call, out: Any) -> Any:
        """Run a call line by line, fused between the lines that opweave does not compile."""
        ran = self._parts.run(call)
        return ran.returned if out is None else packed_into(out, ran.returned)

    def plainly(self, args: Any, kwargs: Any, out: Any, told: ByNumPy) -> Any:
        """Run the user's own function, by NumPy; see ``ByNumPy``."""
        if told.learns is not None:
            try:
                result = self.loops.learned(told.rolled, told.learns, args, kwargs)
            except NotRolled:
                return self.whole(args, kwargs, out)
            return result if out is None else packed_into(out, result)
        if told.on_gpu is not None:
            try:
                result = self.device_loops.run(told.on_gpu, args, kwargs)
            except NotRolledError:
                return self.whole(args, kwargs, out)
            return result if out is None else packed_into(out, result)
        is_rolled = told.rolled is not None
        run = self.loops.runner(told.rolled, told.lines) if is_rolled else self.given
        if told.again:
            self._preparing.calls.leave(run, args, kwargs, told.exact)
        with np.errstate(all="ignore") if told.silent else nullcontext():
            result, why = run(*args, **kwargs), str(told)
        if told.stays and not self.loops.runs(told.rolled):
            keep(self._plain, told.rolled, (why, told.once, False))
        if why and not self.loops.runs(told.rolled) and self._is_news(told.once):
            tell(f"{self._signature.name} runs by NumPy, not fused: {why}")
        return result if out is None else packed_into(out, result)


def _text_of(error: Exception) -> str:
    """What an exception says, unless it cannot: it may hold traced arrays."""
    try:
        return f": {error}"
    except Exception:
        return ""
