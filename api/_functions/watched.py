"""Floating-point errors as NumPy tells of them: ``config(errors="numpy")``.

Kernels detect, NumPy tells.  A function is compiled with alarms (compiler/passes/alarms.py).  A
call in which an alarm is true is computed once more, by the user's own function under the caller's
``np.errstate``.  So NumPy itself says what is warned of, at which line, and what raises.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from opweave._functions.fallback import Fallback
from opweave._functions.layout import Call
from opweave._functions.ready import Ready, copied_to
from opweave._functions.short import ByNumPy
from opweave.compiler.captures.structure import packed
from opweave.compiler.ir.expr import evaluate
from opweave.compiler.ir.plain_arrays import is_cupy
from opweave.compiler.passes.alarms import overflows
from opweave.compiler.pipeline.driver import Options
from opweave.configuration import config
from opweave.opcodes.errors import ArgumentError
from opweave.runtime.calls.writes import Unwritten

# Kinds of errors that have alarms; underflow has none.
FOUND = ("divide", "over", "invalid")


class FusedCalls(Protocol):
    """A fused function, see ``fused.py``."""

    given: Any
    static: tuple[str, ...]
    options: Options
    signature: Any
    fallback: Fallback

    def called(self, call: Call, out: Any) -> Any:
        """Run a call: whole, or in parts."""

    def ready_for(self, call: Call) -> Ready | None:
        """A prepared call, if there is one."""


class Watched:
    """A fused function whose calls warn and raise as the plain function's do."""

    def __init__(self, fused: FusedCalls):
        self.fused = fused
        self._watching: FusedCalls | None = None

    def __call__(self, call: Call, args: Any, kwargs: Any, out: Any) -> Any:
        """Run the function; see ``Fused.__call__``."""
        if config.device == "cuda" or any(map(is_cupy, call.values)):
            return self.fused.called(call, out)
        if out is not None and any(p.code.adds for p in self.fused.options.structure):
            raise ArgumentError(
                'out=: a store that adds to it does not know, under errors="numpy", whether NumPy '
                "computes the call once more: add the result yourself"
            )
        results = self._results(call)
        if results is None:
            return self.fused.fallback.plainly(args, kwargs, out, ByNumPy(""))
        structure, leaves = results
        found = leaves if out is None else copied_to(out, leaves, structure)
        return packed(structure, found, call.containers)

    def _results(self, call: Call) -> tuple[Any, list[Any]] | None:
        """Structure and leaves of what the function returns; None where NumPy is to compute it."""
        state: Mapping[str, Any] = {**np.geterr()}
        if state["under"] != "ignore":
            return None
        is_silent = all(state[kind] == "ignore" for kind in FOUND)
        ready = self._ready(self.fused, call) if is_silent else None
        try:
            if ready is not None and not ready.found.variant.trace.sets_errors:
                found = ready.outputs(call.values)
                return ready.structure, found[: ready.returned]
            if ready is None and is_silent:
                return None
            ready = self._ready(self._watching or self._made(), call)
            return None if ready is None else _without_alarm(ready, call)
        except Unwritten:
            return None

    @staticmethod
    def _ready(fused: FusedCalls, call: Call) -> Ready | None:
        """A prepared call; None for what would run in parts."""
        return fused.ready_for(call) or fused.fallback.prepare_or_not(call)

    def _made(self) -> FusedCalls:
        """The function with alarms; strict, since they know what strict kernels compute."""
        fused = self.fused
        options = replace(fused.options, watched=True, fast=False, repeated=False, structure=())
        kind: Any = type(fused)
        self._watching = kind(fused.given, fused.static, options)
        return self._watching


def _without_alarm(ready: Ready, call: Call) -> tuple[Any, list[Any]] | None:
    """The results of a call, unless there is an alarm."""
    trace, variant = ready.found.variant.trace, ready.found.variant
    numbers, count = ready.numbers(call.values), len(trace.graph.outputs)
    if trace.has_faulted:
        return None
    try:
        with np.errstate(divide="raise", over="raise", invalid="raise"):  # of numbers on the host
            for expr, dtype in variant.narrowed:
                number = evaluate(expr, {**ready.found.extents, **numbers})
                if dtype is not None and overflows(number, dtype):
                    return None
            found = ready.outputs(call.values, count)
    except ArithmeticError:
        return None
    return None if any(found[count:]) else (ready.structure, found[: ready.returned])
