"""A function in parts, from its arguments to its results: see ``lazy.py`` for what it sees."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from opweave.compiler.capture import Place
from opweave.compiler.lazy import LazyTracer
from opweave.compiler.settling import Settling
from opweave.compiler.substitute import would_be_lost
from opweave.compiler.trace import CONSTANTS, run
from opweave.compiler.tracer import is_array
from opweave.compiler.tree import Constant, Tree, flatten
from opweave.compiler.watch import Watch
from opweave.opcodes.allowed import is_number
from opweave.opcodes.errors import TraceError

Rebuild = Callable[[Sequence[Any]], Mapping[Any, Any]]


def run_lazily(
    fn: Callable[..., Any],
    tracer: LazyTracer,
    arguments: Mapping[str, Any],
    static: Sequence[bool],
    rebuilt: Rebuild,
) -> tuple[list[Any], Tree | Constant | None]:
    """Call a function on arrays; returns the leaves of its result, and their structure.

    Args:
        arguments: the leaves of the arguments and of what the function reads from outside.
        static: those that select what it does.
        rebuilt: makes values by parameter, and captured ones by place, from leaves.

    Raises:
        TraceError: the function changes what a caller would not see changed.
    """
    leaves = []
    for (name, value), is_static in zip(arguments.items(), static, strict=True):
        if not is_static and is_array(value):
            leaves.append(tracer.taken(value, name))
        else:
            is_free = is_number(value) and not is_static
            leaves.append(tracer.number(value) if is_free else tracer.plain(value))
    tracer.arguments = set(tracer.given)
    values = dict(rebuilt(leaves))
    captured = {k: values.pop(k) for k in list(values) if isinstance(k, Place)}
    watch = Watch((), tracer.owners)
    result = run(fn, values, captured, tracer)
    _settle(tracer, captured)
    if (changed := watch.restored()) is not None:
        raise would_be_lost(
            getattr(fn, "__name__", "the function"), f"changes {changed} by a method of it"
        )
    if result is None:
        tracer.settle()
        return [], Constant(None)
    found, structure = flatten(result, "the output", CONSTANTS)
    for path, item in found:
        if isinstance(item, types.GeneratorType | types.FunctionType):
            raise TraceError(
                f"{path}: a {type(item).__name__} would run after the call; return its results"
            )
    leaves = [tracer.concrete(item) for _, item in found]
    tracer.settle()
    return leaves, structure


def _settle(tracer: LazyTracer, captured: Mapping[Any, Any]) -> None:
    """What the function saw itself, and not as a copy, holds arrays and numbers again."""
    settling = Settling(tracer.concrete)
    for place in captured:
        if place.watched and (value := place.read()) is not settling.settled(value):
            place.write(settling.settled(value))
    for value in tracer.shown:
        settling.settled(value)
