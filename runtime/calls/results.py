"""What a prepared call makes and returns: who needs a result last, and which are one array."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.ir.values import Value
from opweave.runtime.calls.steps import Step

# What NumPy returns besides numbers of its own: an array, or Python's bool.
BOXED, TRUTH = "boxed", "truth"
# Of each step, its results with functions that make them.
Makes = tuple[tuple[tuple[int, Callable[[], Any]], ...], ...]


class Single(NamedTuple):
    """A call of one kernel: its results, and places among arguments and results.

    Attributes:
        makes: each result with a function that makes it.
        pointers: slot, place and offset in bytes of each array that the kernel takes.
        returned: places of the outputs.
    """

    step: Step
    makes: tuple[tuple[int, Callable[[], Any]], ...]
    pointers: tuple[tuple[int, int, int], ...]
    returned: tuple[int, ...]


def begun(make: Callable[[], Any]) -> Callable[[], Any]:
    """The same function of arrays, which begin as zeros."""

    def zeros() -> Any:
        made = make()
        made[...] = 0
        return made

    return zeros


def single_of(graph: FunctionGraph, steps: Sequence[Step], made: Makes) -> Single | None:
    """How to call a kernel that is alone, and whose results are arguments or what it writes."""
    if len(steps) != 1:
        return None
    ((step,), (makes,)) = steps, made
    if step.partials >= 0 or step.faults >= 0 or step.launch is None:
        return None
    inputs = (i.value.id for i in graph.inputs)
    places = {value: n for n, value in enumerate((*inputs, *(m[0] for m in makes)))}
    plain = all(isinstance(o, Value) and o.shape for o in graph.outputs)
    outputs = [o.id for o in graph.outputs if isinstance(o, Value)]
    if not plain or not places.keys() >= {*outputs}:
        return None
    pointers = tuple((slot, places[value], offset) for slot, value, offset in step.pointers)
    return Single(step, makes, pointers, tuple(places[o] for o in outputs))


def last_uses(
    graph: FunctionGraph, steps: Sequence[Step], made: Makes
) -> tuple[tuple[int, ...], ...]:
    """After each step, the temporaries that no later one reads: their memory serves again."""
    outputs = {graph.base(o).id for o in graph.outputs if isinstance(o, Value)}
    last: dict[int, int] = {}
    for number, (step, makes) in enumerate(zip(steps, made, strict=True)):
        ids = [*(value for _, value, _ in step.pointers), *(value for value, *_ in makes)]
        last |= dict.fromkeys(ids, number)
    kept = {*outputs, *(i.value.id for i in graph.inputs)}
    return tuple(
        tuple(v for v, at in last.items() if at == number and v not in kept)
        for number in range(len(steps))
    )


def kinds_of(graph: FunctionGraph) -> tuple[str | None, ...]:
    """What NumPy makes of each output, if it has no dimensions and is no number."""
    return tuple(
        BOXED if n in graph.boxed else TRUTH if n in graph.truths else None
        for n in range(len(graph.outputs))
    )


def shared_places(graph: FunctionGraph) -> tuple[tuple[int, int], ...]:
    """Places of outputs and of earlier ones that may be the same array.

    Not of an argument, which may be returned itself: who calls knows what is a view of it.
    """
    inputs = {i.value.id for i in graph.inputs}
    places: dict[int, int] = {}
    found = []
    for place, output in enumerate(graph.outputs):
        if isinstance(output, Value) and output.shape:
            base = graph.base(output).id
            first = places.setdefault(base, place)
            found += [(place, first)] if first != place and base not in inputs else []
    return tuple(found)
