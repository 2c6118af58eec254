"""Views of arrays that a call returns or computes with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from opweave.opcodes.operators.products import viewed as with_axes

# A method that takes the array and an argument, or None for an index.
ViewStep = tuple[Callable[..., Any] | None, Any]


class ViewRecipe(NamedTuple):
    """How an array becomes a view of it, for the extents of one call.

    Attributes:
        shape_of_base: the shape in which the array is read; None for its own.
        picked: a slice for each axis of that.
        axes: of what is picked the axes of the view, None for a new one.
        shape: of the view.
    """

    shape_of_base: tuple[int, ...] | None
    picked: tuple[slice, ...]
    axes: tuple[int | None, ...]
    shape: tuple[int, ...]

    @property
    def steps(self) -> tuple[ViewStep, ...] | None:
        """What makes the view of NumPy's array, in order; None where that is not known."""
        kept = [axis for axis in self.axes if axis is not None]
        order = sorted(kept)
        if len({*kept}) < len(kept):
            return None
        rising, turn = self, tuple[int, ...]()
        if kept != order:
            behind = iter(range(len(order), len(self.axes)))
            turn = tuple(next(behind) if a is None else order.index(a) for a in self.axes)
            shape = tuple(self.shape[turn.index(place)] for place in range(len(turn)))
            axes = (*order, *[None] * self.axes.count(None))
            rising = self._replace(axes=axes, shape=shape)
        index = rising._basic_index()
        if index is None:
            return None
        steps: list[ViewStep] = []
        if self.shape_of_base is not None:
            steps.append((np.ndarray.reshape, self.shape_of_base))
        if any(part not in (slice(None), ...) for part in index):
            steps.append((None, index))
        if turn:
            steps.append((np.ndarray.transpose, turn))
        return tuple(steps)

    def _basic_index(self) -> tuple[Any, ...] | None:
        """The basic index that gives a view whose axes rise; None where no index does."""
        kept = [axis for axis in self.axes if axis is not None]
        if max(kept, default=-1) >= len(self.picked):
            return None
        found, place = list[Any](), 0
        for axis, part in enumerate(self.picked):
            while place < len(self.axes) and self.axes[place] is None:
                found.append(None)
                place += 1
            if part != slice(None) and _length(part) is None:
                return None
            if axis in kept:
                found.append(part)
                place += 1
            elif part == slice(None) or _length(part) == 1:  # of an extent of 1
                found.append(part.start or 0)
            else:
                return None
        found += [None] * (len(self.axes) - place)
        lengths = [1 if part is None else _length(part) for part in found if type(part) is not int]
        is_same = all(n in (None, e) for n, e in zip(lengths, self.shape, strict=True))
        return (*found, ...) if is_same else None

    def viewing(self) -> Callable[[Any], Any]:
        """A function that makes the view of an array; quicker than ``of``, for many calls."""
        if not self.steps:
            return self.of
        steps = [(None if method is None else method.__name__, at) for method, at in self.steps]

        def made(array: Any) -> Any:
            for method, at in steps:
                array = array[at] if method is None else getattr(array, method)(at)
            return array

        return made

    def of(self, array: Any) -> Any:
        """The view of an array."""
        if self.shape_of_base is not None:
            array = array.reshape(self.shape_of_base)
        made = with_axes(array[self.picked] if self.picked else array, self.axes)
        # a slice of a new axis takes all of it, or nothing
        return made if made.shape == self.shape else made[tuple(map(slice, self.shape))]


def _length(part: slice) -> int | None:
    """How many places a slice names; None where its array tells."""
    step = part.step or 1
    if part.start is None or (part.stop is None and step > 0):
        return None
    return len(range(part.start, -1 if part.stop is None else part.stop, step))
