"""How a call is prepared: traced, compiled for where its arrays lie, and kept."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from opweave._functions.arguments import Signature
from opweave._functions.budget import TooLongError, check_rounds, check_short, tell, too_long
from opweave._functions.calls import Calls
from opweave._functions.layout import Call
from opweave._functions.ready import LeavingValues, Ready, Writing
from opweave._programs.beside import (
    are_mixed,
    check_kinds,
    dense,
    of_libraries,
    together,
)
from opweave._programs.ejected import file_named, place_of, whole_if_ejected, with_ejected
from opweave.compiler.captures.structure import Changing
from opweave.compiler.ir.device import Device, device_for
from opweave.compiler.ir.pace import mean_seconds
from opweave.compiler.ir.plain_arrays import is_cupy
from opweave.compiler.pipeline.driver import Options
from opweave.compiler.pipeline.specialise import Specialisations, Specialised, Variant
from opweave.compiler.tracing.arguments import ArrayType
from opweave.compiler.tracing.written import mark
from opweave.configuration import config
from opweave.opcodes.errors import ShapeError, TraceError
from opweave.runtime.calls.arguments import array_type
from opweave.runtime.calls.prepared import Prepared
from opweave.runtime.host.executor import HostExecutor
from opweave.runtime.process import environment, locks

# What NumPy does unless it is asked for more.
DEFAULTS = {"divide": "warn", "over": "warn", "under": "ignore", "invalid": "warn"}


class Preparing:
    """Prepares the calls of one function.

    Attributes:
        specialised: what it was traced to.
        calls: those that are prepared.
        lock: held while one is.
        check: refuses what a call was lowered to, if it is given.
        may_roll: whether C may run the loops of a call, which then is no whole.
    """

    def __init__(
        self,
        fn: Callable[..., Any],
        signature: Signature,
        options: Options,
        check: Callable[[Specialised], None] | None = None,
    ):
        self.check = check
        self.fn = fn
        self.signature = signature
        self.options = options
        self.specialised = Specialisations(fn, options, array_type)
        self.calls = Calls(signature)
        self.lock = locks.rlock()
        self.may_roll: Callable[[Call], bool] = lambda _: False
        self._told_of_errors = self._told_of_costs = False

    def forget(self) -> None:
        """Forget what was traced and prepared."""
        self.specialised = Specialisations(self.fn, self.options, array_type)
        self.signature.forget()
        self.calls.clear()

    def where(self, arrays: Sequence[Any]) -> tuple[Device, Any]:
        """Device and executor of a segment."""
        on_gpu = config.device == "cuda" or any(map(is_cupy, arrays))
        return self.executor(list(arrays), on_gpu)

    def prepare(self, call: Call, or_parts: bool = False) -> Ready:
        """Prepare a call, and keep it.

        Raises:
            TooLongError: it compiles for so long that line by line it is done before; where
                ``or_parts`` says that it may run in parts.
        """
        if not self._told_of_errors and not self.options.watched and (asked := asked_for()):
            self._told_of_errors = True
            tell_of_errors(self.signature.name, asked)
        on_gpu = is_on_gpu(call)
        with self.lock:
            made = partial(self._prepare_slowly, call, on_gpu, or_parts)
            return self.calls.keep(call, on_gpu, made)

    def _prepare_slowly(self, call: Call, on_gpu: bool, or_parts: bool) -> Ready:
        device, executor = self.executor(call.arrays, on_gpu)
        may_roll = or_parts and self.may_roll(call)
        found = self.found_for(call, device, config.recompile_limit, may_roll)
        self.check_length(found, call if or_parts else None)
        if self.check is not None:
            self.check(found)
        variant, is_mixed = found.variant, are_mixed(call.values)
        if config.device != "cuda" or is_mixed:
            self.check_kinds(found, call)
        given = together(call.arrays)
        constants = constants_of(found, call.arrays, on_gpu)
        try:
            with file_named(found.lowered):
                prepared = Prepared(
                    found.lowered, executor, found.extents, given, constants, self.options.replay
                )
        except ShapeError as error:
            if variant.graph.written:
                mark(error)
            raise
        return kind_of(variant)(
            prepared, found, call.array_places, call.scalar_places, variant.graph.scalars,
            variant.asks_numbers, variant.trace.structure, is_mixed,
        )  # fmt: skip

    def check_length(self, found: Specialised, or_parts: Call | None) -> None:
        """Warn of a whole that compiles for long; see ``prepare``.

        Raises:
            TooLongError, RoundsError: it does, or is one of many short kernels whose loops C may
                run; of a call that may run in parts.
            ShortError: NumPy is done with a call before a whole would be, likewise.
        """
        if any(found.lowered.ejected or ()):
            return
        text = too_long(found.lowered, found.extents, self.signature.name, self.fn)
        if text and or_parts is not None:
            error = TooLongError(text)
            error.mean_seconds = mean_seconds(found.variant.trace.graph.nodes, found.extents)
            raise error
        if or_parts is not None and self.may_roll(or_parts):
            check_rounds(found, self.signature.name, self.specialised.traces)
        if or_parts is not None:
            check_short(found, self.signature.name)
        if text and not self._told_of_costs:
            self._told_of_costs = True
            tell(f"{text}. All of them are compiled, since it is to be one whole")

    def executor(self, given: list[Any], on_gpu: bool) -> tuple[Device, Any]:
        """Where arrays are computed with: on the GPU on the device of CuPy's."""
        if not on_gpu:
            return device_for("host"), HostExecutor(self.options.fast)
        from opweave.runtime.cuda import executor as cuda

        there = [v for v in given if is_cupy(v)]
        index = 0 if given and not there else cuda.device_of(there)
        return cuda.live_device(index), cuda.executor(index, self.options.fast)

    def found_on(
        self, call: Call, target: str | Device | None, or_parts: bool = False
    ) -> Specialised:
        """The same for a target; without one where the call itself would run."""
        on_gpu = config.device == "cuda" or any(map(is_cupy, call.arrays))
        device = self.executor(call.arrays, on_gpu)[0] if target is None else device_for(target)
        with self.lock:
            found = self.found_for(call, device, may_roll=or_parts and self.may_roll(call))
        if target is None:
            self.check_kinds(found, call)
        return found

    def check_kinds(self, found: Specialised, call: Call) -> None:
        """Refuse NumPy's arrays that are values beside CuPy's.

        Raises:
            ArgumentError: one is.
        """
        trace = found.variant.trace
        check_kinds(trace.graph, [*call.arrays, *trace.constants], self.signature.name)

    def found_for(
        self, call: Call, device: Device, limit: int | None = None, may_roll: bool = False,
        libraries: Sequence[str] | None = None,
    ) -> Specialised:  # fmt: skip
        """What a call is traced to, from memory if it is there; see ``Specialisations.find``.

        ``libraries``: whose its arrays are taken for, in order; None as they are.

        Raises:
            TraceError: its code goes on after the call.
        """
        if self.signature.goes_on is not None:
            raise TraceError(f"{self.signature.name}: {self.signature.goes_on}")
        arguments = call._replace(values=[*dense(call.values)]).types
        if libraries is not None:
            arguments = of_libraries(arguments, libraries)
        elif config.device == "cuda" and not are_mixed(call.values):
            # copies of NumPy's arrays, which the function has been given
            arguments = {k: _of_numpy(a) for k, a in arguments.items()}
        layout, known = call.layout, self.specialised
        before = known.traces
        rest = layout.structure, layout.rebuilt, limit, may_roll, config.library
        place = partial(place_of, device.arch, arguments, self.options, self.signature.names)
        with whole_if_ejected(self.fn, place):
            found = known.find(arguments, device, *rest)
        found = with_ejected(found, self.fn, self.signature.names, place)
        self.signature.note_looked_up(found.variant.trace.looked_up)
        if known.traces > before and "recompiles" in environment.logs():
            shown = ", ".join(f"{name}={value}" for name, value in arguments.items())
            name, why = self.signature.name, known.misses[-1]
            print(f"opweave: {name} traced for {shown} ({why})", file=sys.stderr)
        return found


def is_on_gpu(call: Call) -> bool:
    """Whether a call runs on a GPU: asked for, or by its arrays."""
    return config.device == "cuda" or any(map(is_cupy, call.values))


def kind_of(variant: Variant) -> type[Ready]:
    """What a call becomes whose graph writes to arguments, or leaves values in them."""
    leaves = isinstance(variant.trace.structure, Changing)
    return Writing if variant.graph.written else LeavingValues if leaves else Ready


def constants_of(found: Specialised, arrays: Sequence[Any], on_gpu: bool) -> tuple[Any, ...]:
    """Arrays that the function made while it was traced, where the others lie."""
    constants = found.variant.trace.constants
    if not (on_gpu and constants):
        return constants
    if any(map(is_cupy, arrays)):
        return tuple(together([*arrays, *constants])[len(arrays) :])
    from opweave.runtime.cuda import executor as cuda

    return tuple(map(cuda.copied_in, constants))


def _of_numpy(argument: Any) -> Any:
    return replace(argument, library="numpy") if isinstance(argument, ArrayType) else argument


def asked_for() -> str:
    """What ``np.errstate`` asks for that kernels do not do, as a text; "" for nothing."""
    state: Mapping[str, Any] = {**np.geterr()}
    more = (kind for kind in DEFAULTS if state[kind] not in ("ignore", DEFAULTS[kind]))
    return ", ".join(f"{kind}={state[kind]!r}" for kind in more)


def tell_of_errors(name: str, asked: str) -> None:
    """Say that kernels do not do what ``np.errstate`` asks for."""
    tell(
        f"{name} is compiled under np.errstate({asked}), and its kernels neither warn nor raise; "
        'opweave.config(errors="numpy") makes calls do both, as NumPy does'
    )
