"""Parts of arrays that a number names which differs from round to round of ``ow.repeat``.

    f[i]              ->    gather(f, i, column)
    f[8*i : 8*i + 8]  ->    gather(f, row + 8*i, column)

The number is no part of the guard: which part is read is found anew in each round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from opweave.compiler.arrays.gathering import coordinate, gathered, is_counted, picked, place_type
from opweave.compiler.arrays.interface import TracedArrayLike, TracerLike
from opweave.compiler.ir.expr import Expr, evaluate, literal
from opweave.compiler.ir.values import Extent

# What is added to the numbers to see whether a slice is as long in other rounds.
PROBES = (1, 2, 7)


@dataclass(frozen=True)
class Band:
    """A slice between such numbers, as long in each round.

    Attributes:
        start: the first index, and which one it is in this round.
        length: how many there are.
    """

    start: tuple[Expr, int]
    length: int


def with_bands(array: TracedArrayLike, items: Sequence[Any]) -> list[Any] | None:
    """An index with bands in the place of slices; None where no number or slice is such a one."""
    found: list[Any] = []
    axis = 0
    for item in items:
        band = _band(array, item, axis) if isinstance(item, slice) else None
        found.append(item if band is None else band)
        axis += item is not None
    return found if any(map(is_of_round, found)) else None


def is_of_round(item: Any) -> bool:
    """True for a band, and for a number that differs from round to round."""
    return isinstance(item, Band) or is_counted(item)


def part_of_round(array: TracedArrayLike, items: Sequence[Any]) -> TracedArrayLike:
    """``array[items]`` for such items and for whole slices, one for each axis.

    Raises:
        BoundsError: a number that has no element on its axis.
    """
    tracer = array.tracer
    starts: list[tuple[Expr, int] | None] = []
    kept: list[Extent | None] = []  # extents of the result; None where a number stands
    for axis, (item, extent) in enumerate(zip(items, array.value.shape, strict=True)):
        if isinstance(item, Band):
            starts, kept = [*starts, item.start], [*kept, item.length]
        elif isinstance(item, slice):
            starts, kept = [*starts, None], [*kept, extent]
        else:
            starts, kept = [*starts, picked(tracer, item, axis, extent)], [*kept, None]
    dtype, places = place_type(tracer, *array.value.shape), []
    for axis, (start, length) in enumerate(zip(starts, kept, strict=True)):
        begin = None if start is None else tracer.computed(*start)
        behind = sum(e is not None for e in kept[axis + 1 :])
        along = None if length is None else coordinate(tracer, length, behind, dtype)
        places.append(along if begin is None else begin if along is None else along + begin)
    if all(length is None for length in kept):  # a place is one of an array, if of one element
        places[-1] = coordinate(tracer, 1, 0, dtype) + places[-1]
        return tracer.hidden_view(gathered(array, places), ())
    found = gathered(array, places)
    tracer.copies(array, found)
    return found


def _band(array: TracedArrayLike, item: slice, axis: int) -> Band | None:
    """A slice by steps of 1 inside its axis, whose length is the same in other rounds."""
    if item.step not in (None, 1) or not (is_counted(item.start) and is_counted(item.stop)):
        return None
    tracer, start, stop = array.tracer, item.start, item.stop
    length = Expr("sub", (stop.expr, start.expr))
    found = stop.example - start.example
    if found < 0 or not _is_steady(tracer, length, found):
        return None
    extent = array.value.shape[axis]
    begins = tracer.decide(Expr("ge", (start.expr, literal(0))), start.example >= 0)
    is_inside = stop.example <= tracer.builder.example(extent)
    ends = tracer.decide(Expr("le", (stop.expr, tracer.builder.extent_expr(extent))), is_inside)
    tracer.decide(Expr("eq", (length, literal(found))), True)
    return Band((start.expr, start.example), found) if begins and ends else None


def _is_steady(tracer: TracerLike, length: Expr, found: int) -> bool:
    """Whether a length is likely to be the same in other rounds; the guard makes sure of it."""
    known = {**tracer.builder.extents, **tracer.env}
    others = ({name: known[name] + more for name in tracer.counted} for more in PROBES)
    try:
        return all(evaluate(length, {**known, **other}) == found for other in others)
    except ArithmeticError:
        return False
