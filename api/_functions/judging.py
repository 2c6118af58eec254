"""Calls that are no whole: which way they may take, and how that is explained."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from opweave._functions.layout import Call
from opweave._functions.parts import BREAKS, Parts, WholeLines, without_frames
from opweave._functions.preparing import Preparing, is_on_gpu
from opweave._functions.short import NOT_WORTH, LeftToNumPy, Pace
from opweave._loops.called import CalledFunctions
from opweave._loops.rolling import Loops
from opweave._rounds.on_gpu import DeviceLoops
from opweave.compiler.ir.plain_arrays import is_cupy
from opweave.compiler.traced.lengths import RoundsError, breaks_at_lines, is_traced_whole
from opweave.configuration import config
from opweave.opcodes.errors import OpweaveError, RecompileError


class Judging:
    """Judges calls that cannot be prepared.

    Attributes:
        told: reasons that were warned of.
    """

    def __init__(self, given: Callable[..., Any], preparing: Preparing, parts: Parts):
        """``given``: the user's own function."""
        self.given = given
        self._preparing = preparing
        self._signature = preparing.signature
        self._parts = parts
        self._pace = Pace(preparing)
        self._plain = LeftToNumPy(parts.kinds)
        self.told: set[Any] = set()
        self.loops = Loops(
            given, preparing.options, partial(WholeLines, options=preparing.options)
        )
        self.whole: Callable[..., Any] = given  # runs a call as any other
        own = self._signature
        static = tuple(n for n, s in zip(own.names, own.static, strict=False) if s)
        self.device_loops = DeviceLoops(given, static, preparing.options)
        preparing.may_roll = self._may_be_rolled

    def fuse_others(self, fuse: Callable[..., Any]) -> None:
        """Have other functions fused: those that it calls, and the lines that it is made of."""
        self.loops.called, self.device_loops.fuse = CalledFunctions(self.given, fuse), fuse

    def restart(self, parts: Parts) -> None:
        """Other parts from now on, whose calls may be traced in vain again."""
        self._parts = parts
        self._pace = Pace(self._preparing)
        self._plain.clear()
        self.loops.clear()
        self.device_loops.clear()
        self.told.discard(RecompileError)

    def _may_be_rolled(self, call: Call) -> bool:
        """Whether a call that is long may have a loop of its own, which is not written out."""
        if is_on_gpu(call):  # pieces of a round are calls; a whole, where it is one, is faster
            may_end = self.device_loops.may_end(self._plain.by_size(call))
            return self._may_roll_there(call) and not may_end
        return self.loops.has_own() and self._may_roll(call)

    def _may_roll_there(self, call: Call) -> bool:
        """Whether rounds of a call on a GPU may be launched one after the other."""
        is_there = bool(call.arrays) and all(map(is_cupy, call.arrays))
        is_there = is_there and config.device != "cuda"  # else they may be copies of NumPy's
        return is_there and self.device_loops.may_run(self._plain.by_size(call))

    def _is_for_gpu(self, call: Call, error: Exception) -> bool:
        """Whether a call on a GPU is no whole for a loop: one too long, or that a value ends."""
        if not is_on_gpu(call) or not self._may_roll_there(call):
            return False
        is_long = isinstance(error, OpweaveError) and error.mean_seconds is not None
        may_end = isinstance(error, BREAKS)
        return is_long or (may_end and self.device_loops.may_end(self._plain.by_size(call)))

    def _is_for_c(self, call: Call, error: Exception) -> bool:
        """Whether a loop is why a call is no whole, or stands beside a line that breaks.

        C may run it, or kernels lines of it; in parts it would be traced at each call.
        """
        if not isinstance(error, BREAKS) or not self._may_roll(call):
            return False
        if self.loops.are_why(error) or self._pace.is_short(call, error):
            return True
        return breaks_at_lines(error) and not (error.asks and self._preparing.calls.is_known)

    def _may_have_lines(self, call: Call, error: OpweaveError) -> bool:
        """Whether kernels may run lines of a function without loops that NumPy would run."""
        may = breaks_at_lines(error) and self._pace.may_have_lines(call, error.reached)
        return may and self.loops.may_run_lines(self._plain.by_size(call))

    def _may_roll(self, call: Call) -> bool:
        """Whether C may run a call's loops, as far as is known."""
        return not is_on_gpu(call) and self.loops.may_run(self._plain.by_size(call))

    def explained(self, call: Call, why: OpweaveError, args: Any, kwargs: Any) -> Any:
        """The explanation of a call that is no whole: it is run once."""
        from opweave._programs.explain import explain_numpy, explain_parts
        from opweave._programs.notes import notes_of

        if self._is_for_gpu(call, why):
            self.device_loops.looked_at(kinds := self._plain.by_size(call), args, kwargs)
            if (told := self.device_loops.explained(kinds)) is not None:
                return told
        numpys, stays = self._pace.why_numpy(call, why), isinstance(why, RoundsError)
        if self._is_for_c(call, why) or (numpys and self._may_have_lines(call, why)):
            kinds, lines = self._plain.by_size(call), breaks_at_lines(why)
            self.loops.looked_at(kinds, call.arrays, args, kwargs, lines)
            if (told := self.elsewhere(call)) is not None or is_traced_whole(why):
                return told
            numpys, stays = numpys or f"{why}. {NOT_WORTH}", stays or not numpys
        why = without_frames(why)
        if numpys:
            if stays:
                self._plain.left(call, numpys, key=self._plain.by_size(call))
            return explain_numpy(self._signature.name, numpys).with_notes(self.loop_notes(call))
        ran = self._parts.run(call)
        notes = [n for t in self._parts.traces(ran) for n in notes_of(t)] + self.loop_notes(call)
        return explain_parts(self._signature.name, ran, why).with_notes(notes)

    def loop_notes(self, call: Call) -> list[str]:
        """Why C does not run loops of a call, where it was looked at."""
        return self.loops.notes(self._plain.by_size(call))

    def elsewhere(self, call: Call) -> Any:
        """The explanation of a call that is known to run by NumPy, or its loops by C."""
        from opweave._programs.explain import explain_loops, explain_numpy

        kinds, name = self._plain.by_size(call), self._signature.name
        if is_on_gpu(call) and (there := self.device_loops.explained(kinds)) is not None:
            return there
        if (told := self._plain.found(call)) is not None:
            return explain_numpy(name, told[0]).with_notes(self.loop_notes(call))
        found = self.loops.known.get(kinds) if self.loops.runs(kinds) else None
        return None if found is None else explain_loops(name, found)
