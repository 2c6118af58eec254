"""What the rounds of a loop have to have in common, so that one stands for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opweave._rounds.carried import ReadyLike
from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.ir.plain_arrays import is_array
from opweave.compiler.ir.values import Value
from opweave.runtime.calls.arguments import is_scalar


def kind_of(value: Any) -> Any:
    """What a round may be compiled for, of a value that is given to it.

    The type of a number and what an array is but its elements; anything else itself.
    """
    if is_array(value):
        return type(value), value.dtype, value.shape, value.strides
    if type(value) in (int, float, complex):
        return type(value)
    return type(value), repr(value) if is_scalar(value) or value is None else id(value)


def shows_views(graph: FunctionGraph) -> bool:
    """Whether a result is a view of an argument, or of what another one shows."""
    shown = [o for o in graph.outputs[: graph.returned] if isinstance(o, Value)]
    views = [o for o in shown if o.id in graph.views]
    bases = [graph.base(o).id for o in views]
    others = {o.id for o in shown} | graph.arguments.keys()
    return len({*bases}) < len(bases) or not others.isdisjoint(bases)


def stores_of(ready: ReadyLike) -> Sequence[Any]:
    """What a prepared round copies to its arguments: (output, part) first."""
    return [(output, key) for output, _, key, _ in ready.prepared.plan.stores]
