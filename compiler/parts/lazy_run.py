"""Run a function in parts, from its arguments to its results; lazy.py says what it sees."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opweave.compiler.captures.places import Place
from opweave.compiler.ir.plain_arrays import is_array
from opweave.compiler.parts.lazy import LazyTracer
from opweave.compiler.parts.lazy_sight import LazySight
from opweave.compiler.parts.write_back import Settling
from opweave.compiler.tracing.trace import run
from opweave.opcodes.allowed import is_number

Rebuild = Callable[[Sequence[Any], list[Any]], Mapping[Any, Any]]


def run_lazily(
    fn: Callable[..., Any],
    tracer: LazyTracer,
    arguments: Mapping[str, Any],
    static: Sequence[bool],
    rebuilt: Rebuild,
    originals: Sequence[Any] = (),
) -> Any:
    """Call a function on arrays; return its result, in which stand-ins are arrays again.

    Args:
        arguments: the leaves of the arguments and of what the function reads from outside.
        static: which of them select what the function does.
        rebuilt: makes values by parameter, and captured ones by place, from leaves.
        originals: the containers that were taken apart; changes of their copies are put back.
    """
    sight = LazySight(tracer)
    try:
        return _run(fn, sight, arguments, static, rebuilt, originals)
    finally:
        sight.ended()


def _run(
    fn: Callable[..., Any], sight: LazySight, arguments: Mapping[str, Any],
    static: Sequence[bool], rebuilt: Rebuild, originals: Sequence[Any],
) -> Any:  # fmt: skip
    tracer, leaves = sight.tracer, []
    for (name, value), is_static in zip(arguments.items(), static, strict=True):
        if not is_static and is_array(value):
            leaves.append(tracer.taken(value, name))
        else:
            # a number is itself: a segment takes it as an argument, see ``LazyTracer.literal``
            leaves.append(value if is_number(value) else sight.plain(value))
    tracer.begin()
    containers: list[Any] = []
    values = dict(rebuilt(leaves, containers))
    captured = {k: values.pop(k) for k in list(values) if isinstance(k, Place)}
    sight.copy_of = {id(of): copy for copy, of in zip(containers, originals, strict=True)}
    try:
        result = run(fn, values, captured, sight, containers, originals)
    except Exception as error:
        Settling(sight.real).settled(error)
        Settling(sight.real).settled(vars(error))
        raise
    finally:
        known = {id(copy): of for copy, of in zip(containers, originals, strict=True)}
        _settle(sight, captured, known)
    whole = Settling(sight.real, known).settled(result)
    tracer.settle()
    return whole


def _settle(sight: LazySight, captured: Mapping[Any, Any], known: Mapping[int, Any]) -> None:
    """Put arrays and numbers back into objects of which the function saw no copies."""
    settling = Settling(sight.real, {**known, **sight.functions})
    sight.seen.changes.settle(settling.settled)
    for place in captured:
        if place.watched and (value := place.read()) is not settling.settled(value):
            place.write(settling.settled(value))
    for value in sight.shown:
        settling.settled(value)
