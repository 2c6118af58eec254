"""What the rounds of a loop have to have in common, so that one stands for all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from opweave._rounds.carried import ReadyLike
from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.ir.plain_arrays import is_array
from opweave.compiler.ir.values import Value
from opweave.runtime.calls.arguments import is_scalar
from opweave.runtime.calls.arrays import overlap


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


def why_shared(
    written: set[str], moves: Mapping[str, str], values: Mapping[str, Any], asks: bool
) -> str:
    """Why rounds that write to arrays cannot write to others instead; "" where they can."""
    found = {id(v): v for v in values.values() if is_array(v)}
    fresh = [id(values[n]) for n, before in moves.items() if not before]
    if len({*fresh}) < len(fresh) or len(was := [m for m in moves.values() if m]) > len({*was}):
        return "two names have one array behind a round"
    if any(overlap(a, b) for a, b in combinations(found.values(), 2)):
        return "arrays share memory"
    if asks and any(moves.values()):
        return "a branch may decide which array a name has"
    return ""


def moved(moves: Mapping[str, str], name: str, times: int) -> str:
    """Whose array a name has behind so many rounds; "" for a new one."""
    for _ in range(times):
        name = moves.get(name, "") if name else ""
    return name


def stride(items: Sequence[int]) -> int:
    return items.step if isinstance(items, range) else 1
