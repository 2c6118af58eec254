"""Calls that are no whole: which run in parts, which by NumPy, and what is told of it."""

from __future__ import annotations

import copy
import sys
import warnings
from collections.abc import Callable
from typing import Any

from opweave._functions.budget import ROLLED, TooLongError, warn
from opweave._functions.by_numpy import ByNumPy, keep, size_class, why_numpy
from opweave._functions.calls import Ready
from opweave._functions.layout import Call
from opweave._functions.parts import BREAKS, Parts, without_frames
from opweave._functions.preparing import Preparing, is_on_gpu
from opweave._loops.rolling import Loops
from opweave.compiler.captures.structure import packed
from opweave.compiler.captures.tree import flatten
from opweave.compiler.tracing.calling import is_of_function
from opweave.compiler.tracing.results import CONSTANTS
from opweave.compiler.tracing.written import has_written
from opweave.opcodes.errors import (
    AlignmentError,
    OpweaveError,
    OpweaveWarning,
    RecompileError,
    SubclassError,
    TraceError,
    UnsupportedError,
)
from opweave.runtime.calls.targets import copied_into
from opweave.runtime.calls.writes import Unwritten
from opweave.runtime.process import environment

# Kinds of calls that are traced in vain before all others run in parts, too.
MOST_REFUSED = 8


class Fallback:
    """What becomes of calls that cannot be prepared.

    Attributes:
        told: reasons to run by NumPy that were warned of.
    """

    def __init__(self, given: Callable[..., Any], preparing: Preparing, parts: Parts):
        """``given``: the user's own function."""
        self.given = given
        self._preparing = preparing
        self._signature = preparing.signature
        self._parts = parts
        self._plain: dict[Any, tuple[str, Any]] = {}  # kinds of calls that NumPy runs, and why
        self._warned = self._told_of_costs = False
        self.told: set[Any] = set()
        self.loops = Loops(given, preparing.options)
        preparing.may_roll = self._may_roll

    def restart(self, parts: Parts) -> None:
        """Other parts from now on, whose calls may be traced in vain again."""
        self._parts = parts
        self._plain.clear()
        self.loops.clear()
        self._warned = False

    def prepare_or_not(self, call: Call) -> Ready | None:
        """Prepare a call; None where the function has to run in parts.

        Raises:
            SubclassError: it has to run by NumPy alone.
        """
        if self._preparing.options.fullgraph:
            return self._prepare_whole(call)
        reasons = self._parts.reasons
        if self.loops.runs(kinds := self._parts.kinds(call)):
            raise ByNumPy("", rolled=kinds)
        try:
            if self._plain and (told := self.left_to_numpy(call)) is not None:
                raise ByNumPy(*told)
            never = self._signature.goes_on or self._signature.never_copied
            if never is not None:
                raise ByNumPy(never)
            if (reasons or self._parts.too_long) and self._is_refused(call):
                return None
            return self._preparing.prepare(call, or_parts=True)
        except ByNumPy:
            raise
        except Exception as error:
            self._left_to_parts(call, error)
            return None

    def _left_to_parts(self, call: Call, error: Exception) -> None:
        """Note why a call has to run in parts; raise where it must not.

        Behind a write an error is no reason against parts, where what comes before is written.
        """
        if self._is_for_c(call, error):
            raise ByNumPy(why_numpy(error), rolled=self._parts.kinds(call)) from None
        is_refusal = isinstance(error, BREAKS)
        if isinstance(error, RecompileError):
            self._without_parts(call, error)
            self._warn_of_limit(error)
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

    def _is_for_c(self, call: Call, error: Exception) -> bool:
        """Whether a loop is why a call is no whole, which C may run."""
        if not isinstance(error, BREAKS) or not self._may_roll(call):
            return False
        seconds = getattr(error, "mean_seconds", None)
        return seconds < ROLLED if seconds is not None else self.loops.was_in(error)

    def _may_roll(self, call: Call) -> bool:
        """Whether C may run a call's loops, as far as is known."""
        return not is_on_gpu(call) and self.loops.may_run(self._parts.kinds(call))

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
        """
        reasons = self._parts.reasons
        if len(reasons) >= MOST_REFUSED and not self._preparing.calls.is_known:
            return True
        kinds = self._parts.kinds(call)
        return kinds in reasons or (kinds, size_class(call)) in self._parts.too_long

    def _of_rounds(self, call: Call, error: OpweaveError) -> None:
        """Note a loop that is too long to be whole, for calls of this size.

        Raises:
            ByNumPy: its operations are so short that NumPy is done before they are noted.
        """
        key = self._parts.kinds(call), size_class(call)
        if why := why_numpy(error):
            raise self._by_numpy(call, why, "rounds", key) from None
        keep(self._parts.too_long, key, without_frames(error))

    def left_to_numpy(self, call: Call) -> tuple[str, Any] | None:
        """Why NumPy runs a call, if that is known."""
        kinds = self._parts.kinds(call)
        return self._plain.get(kinds) or self._plain.get((kinds, size_class(call)))

    def _refused(self, call: Call, error: OpweaveError) -> None:
        """Note what makes a function run in parts; raise all else."""
        if isinstance(error, SubclassError):
            raise self._by_numpy(call, str(without_frames(error))) from None
        if not isinstance(error, (*BREAKS, AlignmentError)):
            raise error
        self._without_parts(call, error)
        if error.mean_seconds is not None:
            self._of_rounds(call, error)
        elif not isinstance(error, AlignmentError):  # another array of this kind may be aligned
            self._parts.reasons[self._parts.kinds(call)] = without_frames(error)
        self._warn_of_costs(error)
        if "breaks" in environment.logs():
            print(
                f"opweave: {self._signature.name} runs in parts: {error}",
                file=sys.stderr,
            )

    def _without_parts(self, call: Call, error: Exception) -> None:
        """Leave a call that is no whole to NumPy, if its function never runs in parts."""
        never = self._signature.never_in_parts
        if never is not None:
            why = str(without_frames(error))  # which hold the arrays
            raise self._by_numpy(call, f"{never}.  It is no whole: {why}", never) from None

    def _by_numpy(self, call: Call, why: str, once: Any = None, key: Any = None) -> ByNumPy:
        """What calls of this kind, or of a ``key``, are told from now on, without a trace."""
        keep(self._plain, key or self._parts.kinds(call), (why, once))
        return ByNumPy(why, once)

    def _warn_of_limit(self, error: RecompileError) -> None:
        """Once for a function: the calls go on."""
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"{self._signature.name} was {error}. Calls like this one run in parts from now "
                "on; pass what differs as an array, or as a number whose value is not asked for",
                OpweaveWarning,
                stacklevel=7,  # the line that calls
            )

    def _warn_of_costs(self, error: OpweaveError) -> None:
        """Once for a function; its loops run round by round from now on."""
        if isinstance(error, TooLongError):
            self._parts.by_rounds = True
            if not self._told_of_costs:
                self._told_of_costs = True
                warn(f"{error}. It runs in parts; fullgraph=True compiles all of them")

    def instead(self, call: Call, out: Any, why: Unwritten) -> Any:
        """Run a call that kernels may not run, or have failed in: line by line, as NumPy does.

        Raises:
            UnsupportedError: its arguments share memory, and it is to be a whole.
        """
        name = self._signature.name
        if why.shared and self._preparing.options.fullgraph:
            raise UnsupportedError(
                f"{name}: arguments {why}, and one is written to; copy one of them, or leave out "
                "fullgraph=True"
            )
        never = self._signature.never_in_parts
        if never is not None:
            raise ByNumPy(f"{never}.  Its kernels do not run: {why}", never)
        return self.in_parts(call, out)

    def in_parts(self, call: Call, out: Any) -> Any:
        """Run a call line by line, fused between the lines that opweave does not compile."""
        ran = self._parts.run(call)
        return ran.returned if out is None else packed_into(out, ran.returned)

    def explained(self, call: Call, why: OpweaveError, args: Any, kwargs: Any) -> Any:
        """The explanation of a call that is no whole: it is run once, in parts or a copy in C."""
        from opweave._programs.explain import explain_numpy, explain_parts
        from opweave._programs.notes import notes_of

        if self._is_for_c(call, why):
            self.loops.run(self._parts.kinds(call), *copy.deepcopy((args, kwargs)))
            if (found := self.elsewhere(call)) is not None:
                return found
        why = without_frames(why)
        if numpys := why_numpy(why):
            return explain_numpy(self._signature.name, numpys)
        ran = self._parts.run(call)
        found = explain_parts(self._signature.name, ran, why)
        return found.with_notes([n for t in self._parts.traces(ran) for n in notes_of(t)])

    def elsewhere(self, call: Call) -> Any:
        """The explanation of a call that is known to run by NumPy, or its loops by C."""
        from opweave._programs.explain import explain_loops, explain_numpy

        kinds, name = self._parts.kinds(call), self._signature.name
        if (told := self.left_to_numpy(call)) is not None:
            return explain_numpy(name, told[0])
        if not self.loops.runs(kinds) or (found := self.loops.known[kinds]) is None:
            return None
        return explain_loops(name, found.in_c, found.left)

    def plainly(self, args: Any, kwargs: Any, out: Any, told: ByNumPy | None) -> Any:
        """Run the user's own function, by NumPy; why is ``told`` once, as a warning.

        C runs its loops where it can, of a call whose kinds are ``rolled``.
        """
        rolled, why = (None, "") if told is None else (told.rolled, str(told))
        if rolled is None:
            result = self.given(*args, **kwargs)
        else:
            result = self.loops.run(rolled, args, kwargs)
            why = "" if self.loops.runs(rolled) else why
        if told is not None and why and told.once not in self.told:
            self.told.add(told.once)
            warnings.warn(
                f"{self._signature.name} runs by NumPy, not fused: {why}",
                OpweaveWarning,
                stacklevel=4,  # the line that calls
            )
        return result if out is None else packed_into(out, result)


def packed_into(out: Any, result: Any) -> Any:
    """A result that Python has made, its arrays copied into given ones."""
    leaves, tree = flatten(result, "the output", CONSTANTS)
    return packed(tree, copied_into(out, [leaf for _, leaf in leaves]))


def _text_of(error: Exception) -> str:
    """What an exception says, unless it cannot: it may hold traced arrays."""
    try:
        return f": {error}"
    except Exception:
        return ""
