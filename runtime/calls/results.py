"""What a prepared call makes and returns, and which of it are one array."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from opweave.compiler.ir.expr import Expr
from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.ir.values import Value
from opweave.runtime.calls.layouts import Layouts, ViewRecipe

# What NumPy returns besides numbers of its own: an array, or Python's bool.
BOXED, TRUTH = "boxed", "truth"


@dataclass(frozen=True)
class Returned:
    """What becomes of an output.

    Attributes:
        array: of the call, in which it lies; -1 for a number.
        view: of that array; None for all of it.
        is_array: it has dimensions.
        kind: what NumPy returns of one that has none, see ``kinds_of``.
        number: how it follows from extents and numbers.
    """

    array: int
    view: ViewRecipe | None
    is_array: bool
    kind: str | None = None
    number: Expr | None = None


def returned_of(layouts: Layouts, arrays: tuple[int, ...]) -> tuple[Returned, ...]:
    """What becomes of the outputs of a graph, which lie in these arrays."""
    graph = layouts.graph
    return tuple(
        Returned(array, layouts.recipe(output.id), bool(output.shape), kind)
        if isinstance(output, Value)
        else Returned(-1, None, False, None, output)
        for output, array, kind in zip(graph.outputs, arrays, kinds_of(graph), strict=True)
    )


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
