"""Views of arrays that a call returns or computes with."""

from __future__ import annotations

from typing import Any, NamedTuple

from opweave.opcodes.operators.products import viewed as with_axes


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

    def of(self, array: Any) -> Any:
        """The view of an array."""
        if self.shape_of_base is not None:
            array = array.reshape(self.shape_of_base)
        made = with_axes(array[self.picked] if self.picked else array, self.axes)
        # a slice of a new axis takes all of it, or nothing
        return made if made.shape == self.shape else made[tuple(map(slice, self.shape))]
