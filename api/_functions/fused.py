"""``fuse``: a NumPy-style function that runs as few kernels as possible."""

from __future__ import annotations

import functools
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, overload

import numpy as np

from opweave._functions.arguments import Signature
from opweave._functions.calls import Calls, Ready
from opweave._functions.layout import Call
from opweave._functions.named import reduced
from opweave._functions.parts import BREAKS, Parts, without_frames
from opweave._functions.watched import Watched, asked_for, tell_of_errors
from opweave._programs.program import Program
from opweave._tracebacks import fold, folded
from opweave.compiler.arrays.traced_operators import is_traced
from opweave.compiler.ir.device import Device, device_for
from opweave.compiler.pipeline.driver import Options
from opweave.compiler.pipeline.specialise import Specialisations, Specialised
from opweave.compiler.toggles.choose import check_overrides
from opweave.compiler.tracing.arguments import ArrayType
from opweave.compiler.tracing.binding import unbound
from opweave.compiler.tracing.calling import invoke, is_of_function
from opweave.compiler.tracing.results import CONSTANTS
from opweave.compiler.tracing.structure import packed
from opweave.compiler.tracing.tree import flatten
from opweave.configuration import config
from opweave.opcodes.allowed import check_flag
from opweave.opcodes.errors import (
    AlignmentError,
    ArgumentError,
    OpweaveError,
    OpweaveWarning,
    RecompileError,
    SubclassError,
)
from opweave.runtime.calls.arrays import array_type, is_cupy
from opweave.runtime.calls.outcomes import truth
from opweave.runtime.calls.prepared import Prepared
from opweave.runtime.calls.targets import copied_into
from opweave.runtime.host.executor import HostExecutor
from opweave.runtime.process import environment, locks


@overload
def fuse(
    fn: Callable[..., Any], /, *, static_argnames: Sequence[str] | str = (), fast: bool = False,
    fullgraph: bool = False, replay: bool = False,
) -> Fused: ...  # fmt: skip


@overload
def fuse(
    fn: None = None, /, *, static_argnames: Sequence[str] | str = (), fast: bool = False,
    fullgraph: bool = False, replay: bool = False,
) -> Callable[[Callable[..., Any]], Fused]: ...  # fmt: skip


def fuse(
    fn: Callable[..., Any] | None = None,
    /,
    *,
    static_argnames: Sequence[str] | str = (),
    fast: bool = False,
    fullgraph: bool = False,
    replay: bool = False,
) -> Any:
    """Compile a NumPy-style function; use as ``@fuse`` or ``@fuse(...)``.

    The function runs once per guard, on traced values.  What it reads besides its arguments
    (globals, closures) is read at each call: arrays are inputs, the rest is part of the guard.

    A function with a line that opweave does not compile (a sort, a branch on a value, a selection
    by a mask) runs in parts: it is run at each call, that line by NumPy or CuPy, everything
    between as fused kernels.  ``explain`` names such lines and what they cost.

    Args:
        fn: a function of arrays and numbers, and of tuples, lists, dicts, dataclasses and objects
            of them.  Arrays may be NumPy or CuPy arrays of any rank; numbers may differ from call
            to call without a new compilation; texts, modules, dtypes and functions may not.
        static_argnames: arguments whose values select what the function does.
        fast: relaxed arithmetic: contraction, approximate functions, no rounding of 16-bit
            intermediates.  Strict otherwise: fused is bit for bit what unfused gives.
        fullgraph: refuse what would run in parts, with an error that says what to write instead.
        replay: on a GPU, a call of several kernels becomes a CUDA graph when arrays at the same
            addresses, and the same numbers, come for the third time on a stream; it is one launch
            from then on, and copies nothing.  Where arrays move or numbers change, and inside of a
            capture of the caller's own, kernels are launched as ever.  Each of up to 16 graphs a
            call keeps memory for its temporaries.  On the host every prepared call is a plan
            already, which reads the addresses anew each time; there it changes nothing.

    Returns:
        A ``Fused`` function.
    """
    check_flag(fast, "fast")
    check_flag(fullgraph, "fullgraph")
    check_flag(replay, "replay")
    options = Options(fast=fast, fullgraph=fullgraph, replay=replay)
    names = (static_argnames,) if isinstance(static_argnames, str) else tuple(static_argnames)
    if fn is None:
        return lambda found: Fused(found, names, options)
    return Fused(fn, names, options)


# After so many kinds of calls were traced in vain, all others run in parts without a trace.
MOST_REFUSED = 8
# For so many kinds of calls it is remembered that NumPy runs them.
MOST_PLAIN = 256
# The value of ``out=`` where nobody gives it, since None is an argument like any other.
UNGIVEN: Any = object()


class ByNumPy(Exception):
    """Says that the plain function has to run, and why; ``once`` is the key of one warning."""

    def __init__(self, why: str, once: Any = None):
        super().__init__(why)
        self.once = why if once is None else once


class Fused:
    """A compiled function.  Call it like the original; see the methods for what was made of it."""

    __opweave_fused__ = True

    def __init__(
        self, fn: Callable[..., Any], static: tuple[str, ...] = (), options: Options = Options()
    ):
        if not callable(fn):
            raise ArgumentError(f"fuse: expected a function, found {type(fn).__name__}")
        functools.update_wrapper(self, fn, updated=())
        self.given = fn  # it may hold an object; the traced function takes arguments alone
        fn = self.__wrapped__ = self.__opweave_function__ = unbound(fn)
        self.options = options
        self.static = static
        self.signature = Signature(fn, static)
        self._has_out = "out" in self.signature.names
        self._specialised = Specialisations(fn, options, array_type)
        self._calls = Calls(self.signature)
        self._parts = Parts(fn, options, self._where)
        self._watched = Watched(self)
        self._lock = locks.rlock()
        self._warned = False
        self._plain: dict[Any, str] = {}  # kinds of calls that NumPy runs, with the reasons
        self._told: set[Any] = set()  # reasons to run by NumPy that were warned of

    @property
    def traces(self) -> tuple[str, ...]:
        """Why the function was traced, for each of the newest times: what a guard missed."""
        return tuple(self._specialised.misses)

    @property
    def parameters(self) -> list[tuple[str, Any]]:
        """Names and defaults of the parameters."""
        return [(p.name, p.default) for p in self.signature.parameters]

    def __repr__(self) -> str:
        options = [f"{n}={v}" for n, v in self.options.toggles]
        options += ["unfused"] * (not self.options.fused) + ["fast"] * self.options.fast
        name = getattr(self.__wrapped__, "__name__", "function")
        shown = f" with {', '.join(options)}" if options else ""
        return f"<fused {name}({', '.join(self.signature.names)}){shown}>"

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

    # Calling

    def __call__(self, *args: Any, out: Any = UNGIVEN, **kwargs: Any) -> Any:
        """Run the function.

        Args:
            out: an array, or a tuple of arrays, for the outputs: of their exact shape and dtype.
                It may overlap the arguments.  Of a function with a parameter ``out`` of its own
                that parameter.

        Raises:
            OpweaveError: a subclass says what is wrong, where, and what to do.
        """
        try:
            if not kwargs and config.quick and (out is UNGIVEN or not self._has_out):
                known = self._calls.quickly(args)
                if known is not None:
                    ready, values, containers = known
                    if out is UNGIVEN or out is None:
                        return ready(values, containers)
                    return ready.into(out, values, containers)
            if out is UNGIVEN:
                out = None
            elif self._has_out:
                kwargs["out"], out = out, None
            try:
                if config.errors == "numpy":
                    return self._watched(args, kwargs, out)
                call = self.signature.bind(args, kwargs)
                if config.device == "cuda" and any(type(v) is np.ndarray for v in call.values):
                    return self._through_gpu(call, out)
                return self.called(call, out)
            except ByNumPy as error:  # raised before anything was computed
                why, once = str(error), error.once
            return self.plainly(args, kwargs, out, why, once)
        except Exception as error:
            fold(error)
            raise

    def called(self, call: Call, out: Any) -> Any:
        values = call.values
        if any(map(is_traced, values)):  # inside another function
            return invoke(self.__wrapped__, call.layout.arguments(values))
        ready = self.ready_for(call)
        if ready is None:
            ready = self.prepare_or_not(call)
            if ready is None:
                return self._in_parts(call, out)
        if out is None:
            return ready(values, call.containers)
        return ready.into(out, values, call.containers)

    def prepare_or_not(self, call: Call) -> Ready | None:
        """Prepare a call; None where the function has to run in parts.

        Raises:
            SubclassError: it has to run by NumPy alone.
        """
        if self.options.fullgraph:
            return self.prepare(call)
        reasons = self._parts.reasons
        try:
            if self._plain and (why := self._plain.get(self._parts.kinds(call))) is not None:
                raise ByNumPy(why)
            if self.signature.looks_at is not None:
                raise ByNumPy(f"it calls {self.signature.looks_at}, which copies answer otherwise")
            if reasons and self._is_refused(call):
                return None
            return self.prepare(call)
        except RecompileError as error:
            self._warn_of_limit(error)
            return None
        except ByNumPy:
            raise
        except OpweaveError as error:
            self._refused(call, error)
            return None
        except Exception as error:
            if is_of_function(error):
                why = f"tracing it raised {type(error).__name__}{_text_of(error)}"
                error.__traceback__ = error.__context__ = error.__cause__ = None
                raise ByNumPy(why, type(error).__name__) from None
            raise

    def _is_refused(self, call: Call) -> bool:
        """Whether a call runs in parts without another trace.

        A call of a new kind does so if several kinds were traced in vain: a list that grows is of
        another kind at each call.
        """
        reasons = self._parts.reasons
        if len(reasons) >= MOST_REFUSED and not self._calls.is_known:
            return True
        return self._parts.kinds(call) in reasons

    def _refused(self, call: Call, error: OpweaveError) -> None:
        """Note what makes a function run in parts; raise all else."""
        if isinstance(error, SubclassError):
            raise self._by_numpy(call, str(without_frames(error))) from None
        if not isinstance(error, (*BREAKS, AlignmentError)):
            raise error
        if self.signature.compares_objects:
            why = str(without_frames(error))  # the frames hold the arrays
            why = f"it compares objects by 'is', and is no whole: {why}"
            raise self._by_numpy(call, why) from None
        if not isinstance(error, AlignmentError):  # another array of this kind may be aligned
            self._parts.reasons[self._parts.kinds(call)] = without_frames(error)
        if "breaks" in environment.logs():
            print(f"opweave: {self.signature.name} runs in parts: {error}", file=sys.stderr)

    def _by_numpy(self, call: Call, why: str) -> ByNumPy:
        """Remember that NumPy runs calls of this kind, without another trace."""
        if len(self._plain) < MOST_PLAIN:
            self._plain[self._parts.kinds(call)] = why
        return ByNumPy(why)

    def _warn_of_limit(self, error: RecompileError) -> None:
        """Warn once for a function; its calls go on."""
        if not self._warned:
            self._warned = True
            warnings.warn(
                f"{self.signature.name} was {error}. Calls like this one run in parts from now "
                "on; pass what differs as an array, or as a number whose value is not asked for",
                RuntimeWarning,
                stacklevel=5,  # the line that calls
            )

    def _in_parts(self, call: Call, out: Any) -> Any:
        ran = self._parts.run(call)
        return ran.returned if out is None else _packed_into(out, ran.returned)

    def plainly(self, args: Any, kwargs: Any, out: Any, why: str | None, once: Any = None) -> Any:
        """Run the user's own function, by NumPy; ``why`` is told once, as a warning."""
        result = self.given(*args, **kwargs)
        if why is not None and once not in self._told:
            self._told.add(once)
            warnings.warn(
                f"{self.signature.name} runs by NumPy, not fused: {why}",
                OpweaveWarning,
                stacklevel=3,  # the line that calls
            )
        return result if out is None else _packed_into(out, result)

    def _where(self, arrays: Sequence[Any]) -> tuple[Device, Any]:
        """Device and executor of a segment."""
        on_gpu = config.device == "cuda" or any(map(is_cupy, arrays))
        return self._executor(list(arrays), on_gpu)

    def _through_gpu(self, call: Call, out: Any) -> Any:
        """NumPy arrays on a GPU, because the user asked for it: copied there and back."""
        from opweave.runtime.cuda import executor as cuda

        if out is not None:
            raise ArgumentError(
                "out=: NumPy arrays that run on a GPU are copied; assign the result"
            )
        if any(map(is_cupy, call.values)):
            self._executor(call.arrays, True)  # says that kinds are mixed
        copied = call._replace(values=[cuda.copied_in(v) for v in call.values])
        leaves, tree = flatten(self.called(copied, None), "", CONSTANTS)
        ready = self.ready_for(copied)
        truths = ready.found.lowered.graph.truths if ready else ()
        found = [cuda.copied_out(leaf) for _, leaf in leaves]
        return packed(tree, [truth(v) if n in truths else v for n, v in enumerate(found)])

    @staticmethod
    def _on_gpu(call: Call) -> bool:
        return config.device == "cuda" or any(map(is_cupy, call.values))

    def ready_for(self, call: Call) -> Ready | None:
        """The prepared call for these arguments, if there is one."""
        return self._calls.find(call, self._on_gpu(call))

    def bound(self, args: tuple[Any, ...]) -> tuple[Ready, Sequence[Any]]:
        """What a call with these arguments, by position, runs, and the leaves that it takes.

        Raises:
            OpweaveError: it cannot be one program.
        """
        known = self._calls.quickly(args) if config.device == "host" else None
        if known is not None:
            return known[:2]
        call = self.signature.bind(args, {})
        return self.ready_for(call) or self.prepare(call), call.values

    def prepare(self, call: Call) -> Ready:
        """Prepare a call, and keep it."""
        if "errors" not in self._told and not self.options.watched and (asked := asked_for()):
            self._told.add("errors")
            tell_of_errors(self.signature.name, asked)
        on_gpu = self._on_gpu(call)
        with self._lock:
            return self._calls.keep(call, on_gpu, lambda: self._prepare_slowly(call, on_gpu))

    def _prepare_slowly(self, call: Call, on_gpu: bool) -> Ready:
        given = call.arrays
        device, executor = self._executor(given, on_gpu)
        found = self.found_for(call, device, config.recompile_limit)
        inputs, constants = found.variant.graph.inputs, self.constants(found, on_gpu)
        self._executor([*given, *constants], on_gpu)  # says that kinds are mixed
        by_value = {
            item.value.id: array for item, array in zip(inputs, [*given, *constants], strict=True)
        }
        prepared = Prepared(
            found.lowered, executor, found.extents, by_value, constants, self.options.replay
        )
        variant = found.variant
        return Ready(
            prepared, found, call.array_places, call.scalar_places, variant.graph.scalars,
            variant.asks_numbers, variant.trace.structure,
        )  # fmt: skip

    @staticmethod
    def constants(found: Specialised, on_gpu: bool) -> tuple[Any, ...]:
        """Arrays that the function made while it was traced, where the others lie."""
        trace = found.variant.trace
        if not on_gpu:
            return trace.constants
        from opweave.runtime.cuda import executor as cuda

        return tuple(
            cuda.copied_in(array) if follows or config.device == "cuda" else array
            for array, follows in zip(trace.constants, trace.following, strict=True)
        )

    def _executor(self, given: list[Any], on_gpu: bool) -> tuple[Device, Any]:
        if not on_gpu:
            return device_for("host"), HostExecutor(self.options.fast)
        from opweave.runtime.cuda import executor as cuda

        on_host = [v for v in given if not is_cupy(v)]
        if on_host and len(on_host) < len(given):
            raise ArgumentError(
                f"{self.signature.name}: NumPy and CuPy arrays are mixed: expected one "
                "kind; copy with cupy.asarray or .get()"
            )
        index = 0 if on_host else cuda.device_of(given)
        return cuda.live_device(index), cuda.executor(index, self.options.fast)

    def found_for(self, call: Call, device: Device, limit: int | None = None) -> Specialised:
        arguments, layout, known = call.types, call.layout, self._specialised
        if config.device == "cuda":  # copies of NumPy's arrays, which the function has been given
            arguments = {k: _of_numpy(a) for k, a in arguments.items()}
        before = known.traces
        found = known.find(arguments, device, layout.structure, layout.rebuilt, limit)
        if known.traces > before and "recompiles" in environment.logs():
            shown = ", ".join(f"{name}={value}" for name, value in arguments.items())
            name, why = self.signature.name, known.misses[-1]
            print(f"opweave: {name} traced for {shown} ({why})", file=sys.stderr)
        return found

    # What the function became

    @folded
    def lower(self, *args: Any, target: str | Device | None = None, **kwargs: Any) -> Program:
        """Lower for a target without running: "host", an architecture, or a device description.

        Without a target: the one that a call with these arguments would use.

        Raises:
            ToggleError: an unknown target, or a toggle that cannot hold there.
        """
        call = self.signature.bind(args, kwargs)
        given = call.arrays
        on_gpu = config.device == "cuda" or any(map(is_cupy, given))
        device = self._executor(given, on_gpu)[0] if target is None else device_for(target)
        with self._lock:
            found = self.found_for(call, device)
        return Program(self, found)

    @folded
    def explain(self, *args: Any, target: str | Device | None = None, **kwargs: Any) -> Any:
        """Kernels, decisions with reasons, bytes and launches saved; prints as text.

        A function that runs in parts is run once: its lines that are not compiled are named.
        """
        from opweave._programs.explain import explain, explain_parts
        from opweave._programs.notes import notes_of

        call = self.signature.bind(args, kwargs)
        try:
            program = self.lower(*args, target=target, **kwargs)
        except (*BREAKS, AlignmentError) as error:
            if self.options.fullgraph or target is not None:
                raise
            why = without_frames(error)
        else:
            return explain(program, call).with_notes(notes_of(program.variant.trace))
        ran = self._parts.run(call)
        found = explain_parts(self.signature.name, ran, why)
        return found.with_notes([n for t in self._parts.traces(ran) for n in notes_of(t)])

    @folded
    def check(self, *args: Any, target: str | Device | None = None, **kwargs: Any) -> Any:
        """Run, and compare with NumPy in float64 under the derived error bound.

        Returns a report; its text names the error in ULP and in units of the bound.

        Raises:
            CheckError: a result lies outside its bound.
        """
        return self.lower(*args, target=target, **kwargs).check(*args, **kwargs)

    @folded
    def bisect(self, *args: Any, target: str | Device | None = None, **kwargs: Any) -> Any:
        """Find the first operator whose result leaves its bound; prints as text.

        Every value on the way is stored and judged as ``check`` judges the outputs.

        Returns:
            A ``Bisection``: ``ok``, and the ``culprit`` with its operator, line and judgement.
        """
        return self.lower(*args, target=target, **kwargs).bisect(*args, **kwargs)

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
        merged = {**dict(self.options.toggles), **check_overrides(toggles)}
        changed = replace(self.options, toggles=tuple(sorted(merged.items())))
        return Fused(self.given, self.static, changed)

    def unfused(self) -> Fused:
        """The same function with every operator a kernel of its own."""
        return Fused(self.given, self.static, replace(self.options, fused=False))

    def clear_cache(self) -> None:
        """Forget every compilation of this function in this process."""
        with self._lock:
            self._specialised = Specialisations(self.__wrapped__, self.options, array_type)
            self._parts = Parts(self.__wrapped__, self.options, self._where)
            self.signature.forget()
            self._calls.clear()
            self._watched = Watched(self)
            self._warned = False


def _packed_into(out: Any, result: Any) -> Any:
    """A result that Python has made, with its arrays copied into given ones."""
    leaves, tree = flatten(result, "the output", CONSTANTS)
    return packed(tree, copied_into(out, [leaf for _, leaf in leaves]))


def _text_of(error: Exception) -> str:
    """What an exception says, unless it cannot: it may hold traced arrays."""
    try:
        return f": {error}"
    except Exception:
        return ""


def _of_numpy(argument: Any) -> Any:
    return replace(argument, library="numpy") if isinstance(argument, ArrayType) else argument
