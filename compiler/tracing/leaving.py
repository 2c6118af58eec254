"""Calls that leave a traced function for code of others, noticed before they happen.

Python tells a profile function of each call.  The one here ignores calls of copied code, of
opweave, of NumPy, and of what is known to compute only (``purity.py``).  The function's sight is
told of any other call by the user's code.  A trace stops there, so that nothing is done twice.  A
run in parts gives that code the arrays themselves, since it would ask a stand-in for its type.
"""

from __future__ import annotations

import sys
import types
import warnings
from collections.abc import Callable, Sequence, Set
from enum import Enum
from types import FrameType
from typing import Any, NamedTuple

from opweave.compiler.captures.bytecode import names_in, nested_codes
from opweave.compiler.captures.capture import functions_of
from opweave.compiler.captures.purity import LOUD, Origin, is_pure_in_c, origin_of
from opweave.compiler.ir.values import Where
from opweave.compiler.traced.unwatched import profiling
from opweave.compiler.tracing.called_by_python import Collector, is_called_by_python

# Functions that uncopied code calls to ask for types; they would see the type of a stand-in.
ASKING_TYPES = frozenset({"type", "id", "hasattr", "getattr"})
# Code of these origins only computes, but functions that it is given may do more.
COMPUTING = (Origin.PURE, Origin.ARRAYS, Origin.LOOKING)
# Our own code that has run under a profile function, by its identity.
_ours: dict[int, types.CodeType] = {}


class Side(Enum):
    """Whose code runs.

    Calls by the user's own code are looked at, be it a copy or not (a method of a class that the
    function sees).  Code that is no copy has the globals and containers themselves.
    """

    COPIED = "a copy of the user's"
    KNOWN = "the user's own, which is no copy"
    OTHERS = "what the function has left for"


class Departure(NamedTuple):
    """A call that leaves the function.

    Attributes:
        name: what is called, as a message says it.
        caller: the user's frame that calls.
        frame: the frame of the called function, with its arguments; None for a function in C.
    """

    name: str
    caller: FrameType
    frame: FrameType | None

    def where(self, first_line: int) -> Where:
        """The user's line."""
        line = self.caller.f_lineno
        return Where(self.caller.f_code.co_filename, line, line - first_line + 1)


class Leaving:
    """The profile function of one run, its method ``told``.

    Args:
        scopes: identities of the globals of copied functions.
        classes: the user's classes whose methods are guarded though they are no copies; asked
            anew at each call that is not known.
        left: is told of each departure; what it raises is raised in the user's code.
        crossed: is told when code begins that is no copy (True), and when copied code goes on
            (False).
        shows: code that asks for classes may see stand-ins, which refuse.
    """

    def __init__(
        self, scopes: Set[int], classes: Callable[[], Set[type]],
        left: Callable[[Departure], None], crossed: Callable[[bool], None], shows: bool,
    ):  # fmt: skip
        self.scopes = scopes
        self.classes = classes
        self.left = left
        self.crossed = crossed
        self.passing = (Origin.OURS, *(COMPUTING if shows else COMPUTING[:2]))
        # frames at which the code is of another side than what calls them: innermost last
        self.borders: list[tuple[FrameType, Side]] = []
        self.before: Any = None
        self.pauses = False  # code of ours runs, of which only a profiler of the user's is told
        self.collector = Collector()
        self.runs_in: FrameType | None = None
        self._origins: dict[int, tuple[Origin, types.CodeType]] = {}
        self._known: dict[types.CodeType, bool] = {}

    def __enter__(self) -> Leaving:
        self.runs_in = sys._getframe(1)
        self.before = sys.getprofile()
        self.collector.watch()
        sys.setprofile(self.told)
        return self

    def __exit__(self, *args: Any) -> None:
        self.end()

    def end(self) -> None:
        """Set the profile function that was there before; a second call does nothing."""
        if self.runs_in is not None and sys.getprofile() in (self.told, None):  # else the user's
            restore(self.before)
        self.collector.forget()
        self.runs_in = None

    def _is_elsewhere(self, frame: FrameType | None) -> bool:
        """True where it is not the function that calls.

        Either the run has ended, and Ctrl-C kept it from setting what was there before; or Python
        itself has called the code that calls.
        """
        while frame is not None and frame is not self.runs_in:
            if id(frame.f_globals) not in self.scopes and is_called_by_python(frame):
                return True
            frame = frame.f_back
        if frame is None:
            restore(self.before)
        return frame is None

    @profiling
    def told(self, frame: FrameType, event: str, arg: Any) -> None:
        """The profile function itself."""
        if self.before is not None:
            self._tell_others(frame, event, arg)
            if self.pauses:
                return
        if id(frame.f_code) in _ours and arg is not warnings.warn:
            return  # most calls are such, and need no look
        if self.collector.runs:
            return  # of anybody's object, which the function has not called
        if event == "c_call":
            if not self.borders or self.borders[-1][1] is not Side.OTHERS:
                self._called_in_c(frame, arg)
        elif event == "call":
            side = self.borders[-1][1] if self.borders else Side.COPIED
            if id(frame.f_globals) in self.scopes:
                if side is not Side.COPIED:
                    self._cross(frame, Side.COPIED)
            elif side is not Side.OTHERS:
                self._entered(frame)
        elif event == "return" and self.borders and self.borders[-1][0] is frame:
            _, side = self.borders.pop()
            self._tell(side, self.borders[-1][1] if self.borders else Side.COPIED)

    def _tell_others(self, frame: FrameType, event: str, arg: Any) -> None:
        """Tell a profiler of the user's own of all events."""
        if callable(self.before) and leaving_of(self.before) is None:
            self.before(frame, event, arg)

    def _cross(self, frame: FrameType, side: Side) -> None:
        """Note that the code is of another side until the frame returns."""
        before = self.borders[-1][1] if self.borders else Side.COPIED
        self.borders.append((frame, side))
        self._tell(before, side)

    def _tell(self, before: Side, after: Side) -> None:
        is_outside = after is not Side.COPIED
        if is_outside != (before is not Side.COPIED):
            self.crossed(is_outside)

    def _origin(self, frame: FrameType) -> Origin:
        code = frame.f_code
        known = self._origins.get(id(code))
        if known is None:
            found = origin_of(code, frame.f_globals.get("__name__"))
            known = self._origins[id(code)] = found, code
            if found is Origin.OURS:
                _ours[id(code)] = code
        return known[0]

    def _called_in_c(self, frame: FrameType, function: Any) -> None:
        origin = self._origin(frame)
        if origin is Origin.USER and not is_pure_in_c(function):
            self._leave(Departure(_name_in_c(function), frame, None))
        elif origin in COMPUTING and function in LOUD:
            self._leave_from(frame, _name_in_c(function), COMPUTING)
        elif function is warnings.warn and origin in (Origin.OURS, Origin.ARRAYS):
            self._leave_from(frame, "a warning of NumPy's", (*COMPUTING, Origin.OURS))

    def _leave_from(self, frame: FrameType, name: str, between: Sequence[Origin]) -> None:
        caller = self._caller(frame, between)
        if caller is not None:
            self._leave(Departure(name, caller, None))

    def _caller(self, frame: FrameType | None, between: Sequence[Origin]) -> FrameType | None:
        """The user's frame behind frames of others; None where the user's code does not call."""
        while frame is not None and self._origin(frame) in between:
            frame = frame.f_back
        return frame if frame is not None and self._origin(frame) is Origin.USER else None

    def _entered(self, frame: FrameType) -> None:
        origin = self._origin(frame)
        if origin in self.passing:
            return
        # opweave calls no package by itself, except functions that np.piecewise is given
        between = (*COMPUTING, Origin.OURS) if origin is Origin.PACKAGE else COMPUTING
        caller = self._caller(frame.f_back, between)
        if caller is None:
            return
        if origin is Origin.USER and self._is_known(frame.f_code):
            self._cross(frame, Side.KNOWN)
            return
        name = f"{frame.f_globals.get('__name__')}.{frame.f_code.co_qualname}"
        self._leave(Departure(name, caller, frame))

    def _is_known(self, code: types.CodeType) -> bool:
        """True where the guard knows what a function reads, though the function is no copy."""
        if code not in self._known:
            for cls in self.classes():
                for function in functions_of(cls):
                    asks = not ASKING_TYPES.isdisjoint(names_in(function.__code__))
                    self._known.update((c, not asks) for c in nested_codes(function.__code__))
        return self._known.setdefault(code, False)

    def _leave(self, departure: Departure) -> None:
        if self._is_elsewhere(departure.frame or departure.caller):
            return
        try:
            self.left(departure)
        except Exception:
            self._again(departure.caller)
            raise
        if departure.frame is not None:
            self._cross(departure.frame, Side.OTHERS)

    def _again(self, frame: FrameType) -> None:
        """Set this profile function again when the user's code goes on, as in a ``finally``.

        Python removes a profile function that raises.  A trace function of the caller's frame is
        told of the exception next, and sets it anew.
        """
        outer, local = sys.gettrace(), frame.f_trace

        def again(found: FrameType, event: str, arg: Any) -> Any:
            sys.settrace(outer)
            frame.f_trace = local
            sys.setprofile(self.told)
            return local

        frame.f_trace = again
        sys.settrace(again)


def leaving_of(profile: Any) -> Leaving | None:
    """Whose method a profile function is."""
    owner = getattr(profile, "__self__", None)
    return owner if type(owner) is Leaving else None


def restore(before: Any) -> None:
    """Set the profile function that was there: in Python, or the standard library's own."""
    if before is None or callable(before):
        sys.setprofile(before)
        return
    sys.setprofile(None)
    before.enable()  # of cProfile, which is no function


def _name_in_c(function: Any) -> str:
    owner = getattr(function, "__self__", None)
    if owner is None or isinstance(owner, types.ModuleType):
        module = getattr(function, "__module__", None)
        return f"{module}.{function.__name__}" if module != "builtins" else function.__name__
    return f"{type(owner).__name__}.{function.__name__}"
