"""What a prepared call makes and returns, and which of it are one array."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.ir.values import Value

# What NumPy returns besides numbers of its own: an array, or Python's bool.
BOXED, TRUTH = "boxed", "truth"


def begun(make: Callable[[], Any]) -> Callable[[], Any]:
    """The same function of arrays, which begin as zeros."""

    def zeros() -> Any:
        made = make()
        made[...] = 0
        return made

    return zeros


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
