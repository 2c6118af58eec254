"""Views: values that lie in the memory of another, which no kernel copies."""

from __future__ import annotations

from dataclasses import dataclass, replace

from opweave.compiler.ir.expr import Expr, evaluate, literal
from opweave.compiler.ir.values import Axes, Extent, Shape, Value


def _written(start: Expr | None) -> int:
    """The number that a slice or index begins at; negative where there is none."""
    if start is not None and start.op == "slice_start":
        start = start.args[1]
    if start is None:
        return 0
    if start.op == "add":  # of a slice of a slice
        parts = [_written(part) for part in start.args]
        return sum(parts) if min(parts) >= 0 else -1
    return int(start.args[0]) if start.op == "literal" else -1


@dataclass(frozen=True)
class View:
    """How a value lies in the memory of another, which no kernel copies.

    Attributes:
        base: the value behind it, which is no view itself.
        axes: for each dimension the axis of the base, None for a new one.
        starts: for each axis of the base the index that it begins at; None for 0.
        steps: for each axis of the base the step from one index to the next.
        lengths: for each axis of the base how many indices there are.
        shape_of_base: extents of the base as it is read here: its own, or others over the same
            dense memory.
        shape: extents of the view.
    """

    base: Value
    axes: Axes
    starts: tuple[Expr | None, ...]
    steps: tuple[int, ...]
    lengths: Shape
    shape_of_base: Shape
    shape: Shape

    @classmethod
    def whole(cls, base: Value, shape: Shape | None = None) -> View:
        """The view of all of a value, perhaps in another shape."""
        shape = base.shape if shape is None else shape
        rank = len(shape)
        return cls(base, tuple(range(rank)), (None,) * rank, (1,) * rank, shape, shape, shape)

    def moved(self, axes: Axes) -> View:
        """A view of this view with other axes."""
        return replace(
            self,
            axes=tuple(None if a is None else self.axes[a] for a in axes),
            shape=tuple(1 if a is None else self.shape[a] for a in axes),
        )

    def sliced(self, dim: int, start: Expr, step: int, length: Extent) -> View:
        """A slice of this view along one of its dimensions."""
        axis, shape = self.axes[dim], (*self.shape[:dim], length, *self.shape[dim + 1 :])
        if axis is None:  # a new dimension: the slice takes it, or nothing
            return replace(self, shape=shape)
        before, scale = self.starts[axis], self.steps[axis]
        begin = start if scale == 1 else Expr("mul", (start, literal(scale)))
        begin = begin if before is None else Expr("add", (before, begin))
        starts, steps, lengths = list(self.starts), list(self.steps), list(self.lengths)
        starts[axis], steps[axis], lengths[axis] = begin, scale * step, length
        return replace(
            self, starts=tuple(starts), steps=tuple(steps), lengths=tuple(lengths), shape=shape
        )

    @property
    def offsets(self) -> tuple[int, ...]:
        """The index that it begins at along each axis of its base, as the user wrote it.

        () of a view in another order or shape, in steps, or from where only a call knows.
        """
        axes = [a for a in self.axes if a is not None]
        moved = axes != sorted(axes) or self.shape_of_base != self.base.shape
        if self.is_whole or moved or any(step != 1 for step in self.steps):
            return ()
        found = [_written(s) for s in self.starts]
        return tuple(found) if min(found) >= 0 else ()

    @property
    def column(self) -> int | None:
        """The place along the last axis of its base of which this has all elements, in order."""
        *rows, last = range(len(self.shape_of_base))
        is_plain = self.axes == (*rows, last) and self.shape_of_base == self.base.shape
        if not is_plain or self.shape != (*self.base.shape[:-1], 1) or self.starts[last] is None:
            return None
        if any(self.starts[d] is not None or self.steps[d] != 1 for d in rows):
            return None
        start = self.starts[last]
        assert start is not None
        known = all(leaf.op == "literal" for leaf in start.leaves())
        return int(evaluate(start, {})) if known else None

    @property
    def is_whole(self) -> bool:
        """Every axis is whole: only the order of the axes changed."""
        return all(s is None for s in self.starts)
