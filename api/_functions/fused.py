"""A fused function: its calls, and what was made of it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from opweave._dask.entry import run_others
from opweave._functions.arguments import Signature
from opweave._functions.calls import NONE, Kwargs
from opweave._functions.fallback import Fallback
from opweave._functions.layout import Call
from opweave._functions.named import LikeGiven, described, reduced
from opweave._functions.parts import BREAKS, Parts
from opweave._functions.preparing import Preparing, is_on_gpu
from opweave._functions.ready import Ready, packed_into
from opweave._functions.short import ByNumPy
from opweave._functions.through_gpu import through_gpu
from opweave._functions.warm import counted
from opweave._functions.watched import Watched
from opweave._interchange.functions import takes_arrays
from opweave._interchange.kinds import are_plain, hold_foreign
from opweave._programs.beside import are_numpys
from opweave._programs.program import Program
from opweave._tracebacks import fold, folded
from opweave.compiler.arrays.traced_operators import is_traced
from opweave.compiler.captures.binding import unbound
from opweave.compiler.captures.tree import TooManyError
from opweave.compiler.ir.device import Device
from opweave.compiler.pipeline.driver import Options
from opweave.compiler.pipeline.specialise import Specialisations, Specialised
from opweave.compiler.toggles.choose import check_overrides
from opweave.compiler.tracing.calling import called
from opweave.configuration import config
from opweave.opcodes.errors import AlignmentError, ArgumentError
from opweave.opcodes.structural import refuse_inside
from opweave.runtime.calls.writes import Unwritten
from opweave.runtime.host.warm_layout import UNKNOWN

UNGIVEN: Any = object()  # of ``out=``: None is an argument as any other


class Fused(LikeGiven):
    """A compiled function.  Call it like the original; see the methods for what was made of it."""

    __opweave_fused__ = True

    def __init__(
        self,
        fn: Callable[..., Any],
        static: tuple[str, ...] = (),
        options: Options = Options(),
        check: Callable[[Specialised], None] | None = None,
    ):
        """``check`` refuses what a call was lowered to, before anything is compiled."""
        if not callable(fn):
            raise ArgumentError(f"fuse: expected a function, found {type(fn).__name__}")
        functools.update_wrapper(self, fn, updated=())
        self.given = fn  # it may hold an object; the traced function takes arguments alone
        fn = self.__wrapped__ = self.__opweave_function__ = unbound(fn)
        self.options, self.static, self.signature = options, static, Signature(fn, static)
        self._preparing = Preparing(fn, self.signature, options, check)
        self._calls = self.prepared_calls = self._preparing.calls
        self._parts = Parts(fn, options, self._preparing.where)
        self.fallback = Fallback(self.given, self._preparing, self._parts)
        self.fallback.whole = self._slowly
        self.fallback.fuse_others(type(self))
        self._watched = Watched(self)
        self.owned()

    @property
    def traces(self) -> tuple[str, ...]:
        """Why the function was traced, for each of the newest times: what a guard missed."""
        return tuple(self._specialised.misses)

    @property
    def _specialised(self) -> Specialisations:
        return self._preparing.specialised

    @property
    def parameters(self) -> list[tuple[str, Any]]:
        """Names and defaults of the parameters."""
        return [(p.name, p.default) for p in self.signature.parameters]

    def __repr__(self) -> str:
        return described(self)

    def __reduce__(self) -> Any:
        """Pickled as functions are, by name; compiled anew where it is loaded."""
        return reduced(self, self.static, self.options)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        """As a method, the instance is the first argument and must be static."""
        return self if instance is None else functools.partial(self, instance)

    @staticmethod
    def __opweave_with__(function: Callable[..., Any]) -> Callable[..., Any]:
        """The function that another fused function calls in our place, a copy of ours."""
        return function

    def __call__(self, /, *args: Any, out: Any = UNGIVEN, **kwargs: Any) -> Any:
        """Run the function.

        Args:
            out: an array, or a tuple of arrays, for the outputs, of their exact shape and dtype,
                which may overlap the arguments; of a function that has an ``out`` its own.

        Raises:
            OpweaveError: a subclass says what is wrong, where, and what to do.
        """
        why: Unwritten | None = None
        try:
            if config.quick and (out is UNGIVEN or not self.signature.has_out):
                own = None if out is UNGIVEN else out
                if (found := self._calls.by_c(args, kwargs, own)) is not UNKNOWN:
                    return found
                known = self._calls.quickly(args, kwargs)
                if known is not None:
                    ready, values = known
                    try:
                        is_given = out is not UNGIVEN and out is not None
                        return ready.into(out, values) if is_given else ready(values)
                    except Unwritten as error:  # as once more below, where other ways are open
                        why = error.with_traceback(None)
            if out is UNGIVEN:
                out = None
            elif self.signature.has_out:
                kwargs["out"], out = out, None
            return self._slowly(args, kwargs, out, why)
        except Exception as error:
            fold(error)
            raise

    def _slowly(self, args: Any, kwargs: Any, out: Any, why: Unwritten | None = None) -> Any:
        """Any call but one that was prepared before and has nothing special."""
        if hold_foreign((*args, *kwargs.values(), out)):
            return run_others(self, args, kwargs, out)
        try:
            call = self._calls.anew(args, kwargs) or self.signature.bind(args, kwargs)
            plain = are_plain(call.values)
            if not plain and any(map(is_traced, call.values)):
                return self._inside(args, kwargs, out)
            if not plain and hold_foreign(call.values):  # in containers
                return run_others(self, args, kwargs, out)
            if config.errors == "numpy":
                return self._watched(call, args, kwargs, out)
            if config.device == "cuda" and are_numpys(call.values):
                return through_gpu(self, call, out)
            return self.called(call, out, why)
        except (ByNumPy, TooManyError) as error:  # raised before anything was computed
            told = self.fallback.by_numpy(args, kwargs, error)
        return self.fallback.plainly(args, kwargs, out, told)

    def _inside(self, args: Any, kwargs: Any, out: Any) -> Any:
        """Inside another function the plain function is called, with the very objects given."""
        refuse_inside(self.signature.name, self.options.structure)
        result = called(self.__wrapped__, args, kwargs)
        return result if out is None else packed_into(out, result)

    def called(self, call: Call, out: Any, why: Unwritten | None = None) -> Any:
        if why is not None:  # it would be refused, or raise, again
            return self.fallback.instead(call, out, why)
        ready = self.ready_for(call)
        if ready is not None:
            counted(self.signature, self.signature.latest, ready, (ready, call.values))
        elif (ready := self.fallback.prepare_or_not(call)) is None:
            return self.fallback.in_parts(call, out)
        try:
            if out is None:
                return ready(call.values, call.containers)
            return ready.into(out, call.values, call.containers)
        except Unwritten as error:
            why = error.with_traceback(None)  # whose frames hold the arrays
        return self.fallback.instead(call, out, why)

    def ready_for(self, call: Call) -> Ready | None:
        """The prepared call for these arguments, if there is one."""
        return self._calls.find(call, is_on_gpu(call))

    def prepare(self, call: Call, or_parts: bool = False) -> Ready:
        """Prepare a call, and keep it; see ``Preparing.prepare``."""
        return self._preparing.prepare(call, or_parts)

    def found_for(
        self, call: Call, device: Device, libraries: Sequence[str] | None = None
    ) -> Specialised:
        """What a call is traced to, from memory if it is there."""
        return self._preparing.found_for(call, device, libraries=libraries)

    def bound(self, args: Sequence[Any], kwargs: Kwargs = NONE) -> tuple[Ready, Sequence[Any]]:
        """What a call with these arguments runs, and the leaves that it takes.

        Raises:
            OpweaveError: it cannot be one program.
        """
        known = self._calls.quickly(args, kwargs) if config.device == "host" else None
        if known and isinstance(ready := known[0], Ready):
            return ready, known[1]
        call = self.signature.bind(tuple(args), dict(kwargs))
        return self.ready_for(call) or self.prepare(call), call.values

    @takes_arrays
    def lower(self, *args: Any, target: str | Device | None = None, **kwargs: Any) -> Program:
        """Lower for a target without running: "host", an architecture, or a device description.

        Without a target: the one that a call with these arguments would use.

        Raises:
            ToggleError: an unknown target, or a toggle that cannot hold there.
        """
        call = self.signature.bind(args, kwargs)
        found = self._preparing.found_on(call, target)
        return Program(self, found, given=self.signature.given(call))

    @takes_arrays
    def explain(self, *args: Any, target: str | Device | None = None, **kwargs: Any) -> Any:
        """Kernels, decisions with reasons, bytes and launches saved; prints as text.

        One that runs in parts is run once, to name the lines between; one that NumPy runs is not.
        """
        from opweave._programs.explain import explain
        from opweave._programs.notes import notes_of

        call = self.signature.bind(args, kwargs)
        if target is None and (found := self.fallback.elsewhere(call)) is not None:
            return found
        try:
            or_parts = target is None and not self.options.fullgraph
            program = Program(self, self._preparing.found_on(call, target, or_parts))
            if or_parts:
                self._preparing.check_length(program.found, call)
        except (*BREAKS, AlignmentError) as error:
            if self.options.fullgraph or target is not None or self.signature.goes_on:
                raise
            if (found := self.fallback.explained(call, error, args, kwargs)) is not None:
                return found
        notes = notes_of(program.variant.trace, call.arrays) + self.fallback.loop_notes(call)
        return explain(program, call).with_notes(notes)

    @folded
    def check(self, *args: Any, target: str | Device | None = None, **kwargs: Any) -> Any:
        """Run, and compare with NumPy in float64 under the derived error bound.

        Each other value of the toggles that operators declare (``ow.toggle``) is run, too.
        Where NumPy stands in for a kernel of ``ow.raw_kernel``, what was lowered for sm_80 is
        checked instead, in verify mode: its source runs then.

        Returns a report; its text names the error in ULP and in units of the bound.

        Raises:
            CheckError: a result lies outside its bound, or has other bits with another value of a
                toggle whose values are declared to give the same bits.
        """
        return self._checked(args, kwargs, target).check(*args, **kwargs)

    @folded
    def bisect(self, *args: Any, target: str | Device | None = None, **kwargs: Any) -> Any:
        """Find the first operator whose result leaves its bound; prints as text.

        Every value on the way is stored and judged as ``check`` judges the outputs.

        Returns:
            A ``Bisection``: ``ok``, and the ``culprit`` with its operator, line and judgement.
        """
        return self._checked(args, kwargs, target).bisect(*args, **kwargs)

    def _checked(self, args: Any, kwargs: Any, target: str | Device | None) -> Program:
        """The program that a check runs."""
        program = self.lower(*args, target=target, **kwargs)
        stands_in = target is None and program.stands_in
        return self.lower(*args, target="sm_80", **kwargs) if stands_in else program

    @folded
    def reference(self, *args: Any, **kwargs: Any) -> Any:
        """The function by NumPy alone, operator by operator, in the arrays' own types."""
        return self.lower(*args, **kwargs).reference(*args, **kwargs)

    @folded
    def with_toggles(self, **toggles: int) -> Fused:
        """The same function with other toggle values, such as ``USE_VECTOR_IO=0``.

        Raises:
            ToggleError: an unknown toggle or value; at lowering, one that cannot hold.
        """
        given = tuple(sorted({**dict(self.options.toggles), **check_overrides(toggles)}.items()))
        return Fused(self.given, self.static, replace(self.options, toggles=given))

    def unfused(self) -> Fused:
        """The same with every operator a kernel of its own; a list's structural op-codes stay."""
        return Fused(self.given, self.static, replace(self.options, fused=False))

    def clear_cache(self) -> None:
        """Forget every compilation of this function in this process."""
        with self._preparing.lock:
            self._preparing.forget()
            self._parts = Parts(self.__wrapped__, self.options, self._preparing.where)
            self.fallback.restart(self._parts)
            self._watched = Watched(self)
