"""How the values of a prepared call lie in memory: shapes, strides, and where views begin."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from opweave.compiler.ir.expr import evaluate
from opweave.compiler.ir.values import extent_of
from opweave.opcodes.dtypes import DType
from opweave.opcodes.operators.products import indices
from opweave.runtime.calls.views import ViewRecipe

if TYPE_CHECKING:
    from opweave.compiler.ir.graph import FunctionGraph
    from opweave.compiler.ir.values import Value
    from opweave.compiler.ir.views import View
    from opweave.compiler.scheduling.schedule import Schedule


class Layouts:
    """The layouts of a schedule's values for the extents of one call.

    Attributes:
        shapes: shape and dtype of values that kernels write, by the value's id.
        strides: in elements, of every array and view, by the value's id.
    """

    def __init__(self, schedule: Schedule, extents: Mapping[str, int], arrays: Mapping[int, Any]):
        """``arrays`` maps inputs to arrays like theirs."""
        self.graph: FunctionGraph = schedule.graph
        self.extents = dict(extents)
        self.shapes = {
            v.id: (tuple(extent_of(e, extents) for e in v.shape), v.dtype)
            for group in schedule.groups
            for v in group.outputs
        }
        self.strides = self._strides(arrays)

    def _strides(self, arrays: Mapping[int, Any]) -> dict[int, tuple[int, ...]]:
        """Strides in elements of every array: given ones, and C order for our own."""
        out = {id: tuple(s // a.itemsize for s in a.strides) for id, a in arrays.items()}
        for value_id, (shape, _) in self.shapes.items():
            out[value_id] = tuple(math.prod(shape[d + 1 :]) for d in range(len(shape)))
        for value_id, view in self.graph.views.items():
            if view.base.id in out:
                whole = self._strides_of_base(view, out)
                steps = [s * step for s, step in zip(whole, view.steps, strict=True)]
                out[value_id] = tuple(0 if a is None else steps[a] for a in view.axes)
        return out

    def _strides_of_base(
        self, view: View, strides: Mapping[int, tuple[int, ...]]
    ) -> tuple[int, ...]:
        """Strides of a view's base in the shape in which it is read."""
        if view.shape_of_base == view.base.shape:
            return strides[view.base.id]
        shape = [extent_of(e, self.extents) for e in view.shape_of_base]
        return tuple(math.prod(shape[d + 1 :]) for d in range(len(shape)))

    def base_of(self, value_id: int) -> int:
        """The value in whose memory a value lies."""
        view = self.graph.views.get(value_id)
        return value_id if view is None else view.base.id

    def offset(self, value_id: int) -> int:
        """Bytes from the first element of a value's base to that of the value."""
        view = self.graph.views.get(value_id)
        if view is None or not all(self.shape_of(view.base)[0]):
            return 0
        starts = zip(view.starts, self._strides_of_base(view, self.strides), strict=True)
        elements = sum(evaluate(s, self.extents) * by for s, by in starts if s is not None)
        return int(elements) * view.base.dtype.itemsize

    def recipe(self, value_id: int) -> ViewRecipe | None:
        """How the array behind a value becomes the value; None where it is the array."""
        view = self.graph.views.get(value_id)
        if view is None:
            return None
        picked = tuple(
            slice(None)
            if start is None
            else indices(evaluate(start, self.extents), step, extent_of(length, self.extents))
            for start, step, length in zip(view.starts, view.steps, view.lengths, strict=True)
        )
        is_own = view.shape_of_base == view.base.shape
        base = None if is_own else tuple(extent_of(e, self.extents) for e in view.shape_of_base)
        shape = tuple(extent_of(e, self.extents) for e in view.shape)
        return ViewRecipe(base, picked, view.axes, shape)

    def viewed(self, array: Any, value_id: int) -> Any:
        """An array as the view that a value is of it."""
        recipe = self.recipe(value_id)
        return array if recipe is None else recipe.of(array)

    def shape_of(self, value: Value) -> tuple[tuple[int, ...], DType]:
        """Shape and dtype of a value for the extents of this call."""
        return tuple(extent_of(e, self.extents) for e in value.shape), value.dtype
