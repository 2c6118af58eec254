"""What a graph says of a call's results: which are one array, what may fail, what is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from opweave.compiler.ir.graph import FunctionGraph, Written, reduced_axes
from opweave.compiler.ir.parts import Index, Part, key_of
from opweave.compiler.ir.plain_arrays import is_cupy
from opweave.compiler.ir.values import Scalar, Value, count
from opweave.compiler.scheduling.writes import writes_of
from opweave.opcodes.errors import ShapeError
from opweave.runtime.calls.arrays import pointer
from opweave.runtime.calls.layouts import Layouts
from opweave.runtime.calls.outcomes import Indexed
from opweave.runtime.calls.results import BOXED, TRUTH, Returned
from opweave.runtime.calls.writes import Store

if TYPE_CHECKING:
    from opweave.compiler.scheduling.schedule import Schedule


def check_nonempty(graph: FunctionGraph, extents: Mapping[str, int]) -> None:
    """Refuse reductions of nothing that have no identity, as NumPy does.

    Raises:
        ShapeError: names the reduction.
    """
    for node in (n for n in (*graph.nodes, *graph.dropped) if n.may_fail):
        shape = node.values[0].shape
        reduced = count((shape[a] for a in reduced_axes(node)), extents)
        if reduced == 0:
            at = f" ({node.where})" if node.where.file else ""
            raise ShapeError(
                f"{node.operator.name}: zero elements to reduce, and the operation has no "
                f"identity{at}"
            )


def indexed(graph: FunctionGraph) -> Indexed:
    """What the nodes of a graph note, where an index has no element."""
    found = {}
    for number, node in enumerate(graph.nodes):
        if node.operator.notes_faults:
            size = node.operands[1]
            assert isinstance(size, Scalar)
            found[number] = size.expr, f" ({node.where})" if node.where.file else ""
    return found


def returned_of(layouts: Layouts, arrays: tuple[int, ...]) -> tuple[Returned, ...]:
    """What becomes of the outputs of a graph, which lie in these arrays."""
    graph = layouts.graph
    return tuple(
        Returned(array, layouts.recipe(output.id), bool(output.shape), kind)
        if isinstance(output, Value)
        else Returned(-1, None, False, None, output)
        for output, array, kind in zip(graph.outputs, arrays, kinds_of(graph), strict=True)
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


def straight_of(schedule: Schedule, arrays: Sequence[Any]) -> tuple[tuple[int, int], ...]:
    """(value, input): what kernels write straight to the memory of an input like these.

    All numbers of a call are computed before the first kernel: an error of theirs writes nothing.
    """
    return tuple(
        (value.id, write.place)
        for write in writes_of(schedule)
        if isinstance(value := schedule.graph.outputs[write.output], Value)
        and write.kernel
        and (not is_cupy(arrays[write.place]) or pointer(arrays[write.place]) % 16 == 0)
    )


def stores_of(written: Sequence[Written]) -> tuple[Store, ...]:
    """What is stored to arguments, and where."""
    return tuple((w.output, w.place, _key(w.part), w.by) for w in written)


def _key(part: Part) -> Any:
    """An index; a function of the outputs where these are a part of it."""
    if any(isinstance(item, Index) for item in part):
        return partial(key_of, part)
    return key_of(part) if part else ...
