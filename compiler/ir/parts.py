"""Parts of an array by an index, in a form that can be a key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import EllipsisType
from typing import Any, NamedTuple

import numpy as np


class Span(NamedTuple):
    """A slice."""

    start: int | None
    stop: int | None
    step: int | None

    @property
    def most(self) -> int | None:
        """How many elements it has at most, in an array of any length; None for no bound."""
        start, stop, step = self
        if step is not None and step < 0:
            return None
        start = start or 0
        if stop is None:
            return -start if start < 0 else None
        return max(stop - start, 0) if (start < 0) == (stop < 0) else None


class Index(NamedTuple):
    """An array of indices, or a number, which is an output of the graph."""

    output: int


Item = int | None | EllipsisType | Span | Index
Part = tuple[Item, ...]

# An array is written to in part where that is of so many indices of an axis at most, ...
MOST_INDICES = 4
# ... and the array has at least so many times the elements of the part, as of a channel of three.
LEAST_SHARE = 3


def part_of(key: Any) -> Part | None:
    """The part that an index names; None if it has others than numbers, slices and outputs."""
    items: list[Item] = []
    for item in key if isinstance(key, tuple) else (key,):
        if isinstance(item, slice):
            span = Span(item.start, item.stop, item.step)
            if any(type(end) not in (int, type(None)) for end in span):
                return None
            items.append(span)
        elif type(item) in (int, Index) or item is None or item is ...:
            items.append(item)
        else:
            return None
    return tuple(items)


def key_of(part: Part, outputs: Sequence[Any] = ()) -> Any:
    """The index of a part, given the outputs where it has arrays."""
    return tuple(
        slice(*item) if isinstance(item, Span)
        else outputs[item.output] if isinstance(item, Index)
        else item
        for item in part
    )  # fmt: skip


def is_thin(part: Part, shape: Sequence[int]) -> bool:
    """True for a part that is few of the rows, columns or layers of an array, however long.

    Args:
        shape: extents of the array at one call.
    """
    few = (
        type(item) in (int, Index)
        or (isinstance(item, Span) and item.most is not None and item.most <= MOST_INDICES)
        for item in part
    )
    whole = np.broadcast_to(np.False_, shape)
    anywhere = [0] * len(part)  # as many elements are at each place
    return any(few) and whole[key_of(part, anywhere)].size * LEAST_SHARE <= whole.size


def bounded(part: Part, rank: int) -> Iterator[tuple[int, int]]:
    """Axes of which a part has so many indices at most, and more than few, however long they are.

    Args:
        rank: of the array.

    >>> list(bounded(part_of((..., slice(10, 30), slice(None))), 3))
    [(1, 20)]
    """
    axis, named = 0, sum(item is not None and item is not ... for item in part)
    for item in part:
        if isinstance(item, Span) and item.most is not None and item.most > MOST_INDICES:
            yield axis, item.most
        axis += rank - named if item is ... else item is not None


def shown(part: Part, outputs: Sequence[Any] = ()) -> str:
    """A part as it stands between brackets, given the outputs that are numbers, else None.

    >>> shown((0, Span(1, -1, None), ...))
    '0, 1:-1, ...'
    """
    return ", ".join(_item(item, outputs) for item in part) or "..."


def _item(item: Item, outputs: Sequence[Any]) -> str:
    if isinstance(item, Index):
        number = outputs[item.output] if outputs else None
        return "indices" if number is None else repr(number)
    if not isinstance(item, Span):
        return "..." if item is ... else str(item)
    ends = ["" if end is None else str(end) for end in item]
    return ":".join(ends if item.step is not None else ends[:2])
