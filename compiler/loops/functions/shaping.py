"""Arrays in another shape: views of others, and their elements again and again, by table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.applied import dense_strides, reads_of
from opweave.compiler.lines.arithmetic import as_computed
from opweave.compiler.lines.numbers import literal
from opweave.compiler.lines.values import Array, Elements, Held, Number, Several, Size, Strided
from opweave.compiler.loops.functions.joining import ZERO, as_array, axis_of, with_axis
from opweave.compiler.loops.nodes import turned
from opweave.compiler.loops.statements import Statements


def _by_rows(self: Statements, array: Held) -> Strided:
    """An array that lies row by row, in NumPy's memory as in ours."""
    found = as_computed(array)
    if isinstance(found, Number) or not found.rank:
        raise NoLoopError("another shape of a number")
    if isinstance(found, Elements):
        return self.apart(found)
    if found.is_turned or found.strides != dense_strides(found.sizes):
        raise NoLoopError("another shape of what does not lie row by row")
    self.by_rows.add(found.base)
    self.check_orders()
    return found


def _reshaped(self: Statements, array: Held, *shape: Held) -> Held:
    """``x.reshape``: a view of what lies row by row."""
    found = _by_rows(self, array)
    items = shape[0].items if len(shape) == 1 and isinstance(shape[0], Several) else shape
    count = " * ".join(size.factor for size in found.sizes)
    sizes, rest = [], None
    for place, item in enumerate(items):
        if not isinstance(item, Number) or item.type is not int:
            raise NoLoopError("a shape of other than integers")
        if item.known == -1 and rest is None:
            rest = place
        elif item.low < 0:
            raise NoLoopError("a shape that may be negative")
        sizes.append(self.indexing.size_of(item))
    known = " * ".join(s.factor for n, s in enumerate(sizes) if n != rest) or "1"
    if rest is not None:
        divisor = self.text.named("int64", known, "n")
        self.numbers.fault(f"{divisor} == 0 || {count} % {divisor}", "LOOP_RESHAPE", count)
        sizes[rest] = Size.of(self.text.named("int64", f"{count} / {divisor}", "n"))
    elif tuple(sizes) != found.sizes:
        self.numbers.fault(f"{count} != {known}", "LOOP_RESHAPE", count)
    made = tuple(sizes)
    return replace(found, sizes=made, strides=dense_strides(made), where=None, is_whole=False)


def _flat(self: Statements, array: Held) -> Held:
    return _reshaped(self, array, literal(-1))


def _flattened(self: Statements, array: Held) -> Held:
    found = as_computed(array)
    return _flat(self, self.copied(found) if isinstance(found, Strided) else found)


def _split(self: Statements, array: Held, sections: Held, axis: Held = ZERO) -> Held:
    """``np.split`` into so many equal parts: views."""
    found, count = as_computed(array), getattr(sections, "known", None)
    if isinstance(found, Number) or not found.rank or type(count) is not int or count < 1:
        raise NoLoopError("split of other than an array into a number of parts")
    whole = found if isinstance(found, Strided) else self.apart(found)
    place = axis_of(axis, whole.rank)
    length = whole.sizes[place]
    self.numbers.fault(f"{length.factor} % {count}", "LOOP_SPLIT")
    size = Size.of(self.text.named("int64", f"{length.factor} / {count}", "n"))
    sizes = (*whole.sizes[:place], size, *whole.sizes[place + 1 :])
    pointers = (
        f"{whole.pointer} + {n} * {size.text} * {whole.strides[place]}" for n in range(count)
    )
    return Several(
        tuple(
            self.indexing.noted(replace(whole, pointer=pointer, sizes=sizes), whole.where)
            for pointer in pointers
        )
    )


def _swapped(self: Statements, array: Held, axis1: Held, axis2: Held) -> Held:
    """``x.swapaxes``: a view."""
    found = as_array(self, array)
    order = list(range(found.rank))
    one, other = (axis_of(axis, found.rank) for axis in (axis1, axis2))
    order[one], order[other] = other, one
    return turned(self, found, order)


def _transposed(self: Statements, array: Held, *axes: Held) -> Held:
    """``x.transpose``: a view with its axes backwards, or in another order."""
    found = as_array(self, array)
    asked = axes[0].items if len(axes) == 1 and isinstance(axes[0], Several) else axes
    order = [axis_of(axis, found.rank) for axis in asked] if axes else [*range(found.rank)][::-1]
    if sorted(order) != [*range(found.rank)]:
        raise NoLoopError("axes in an order that leaves some out")
    return turned(self, found, order)


def _with_new_axis(self: Statements, a: Held, axis: Held) -> Held:
    found = as_array(self, a)
    return with_axis(found, axis_of(axis, found.rank + 1))


def _times(self: Statements, *factors: Size) -> Size:
    text = " * ".join(size.factor for size in factors)
    for size in factors:
        if not size.is_one:
            self.numbers.fault(f"{size.text} > LOOP_LONGEST", "LOOP_NO_MEMORY")
    return Size.of(self.text.named("int64", text, "n"))


def _counts(self: Statements, held: Held) -> list[Size]:
    """How often something is repeated: an integer that is not negative, or some."""
    items = held.items if isinstance(held, Several) else (held,)
    numbers = [n for n in items if isinstance(n, Number) and n.type is int and n.low >= 0]
    if len(numbers) < len(items) or not items:
        raise NoLoopError("repeated so often, which may be negative")
    return [self.indexing.size_of(number) for number in numbers]


def _in_memory(self: Statements, held: Held) -> Strided:
    found = as_array(self, held)
    return self.apart(found) if isinstance(found, Elements) else found


def _repeat(self: Statements, a: Held, repeats: Held) -> Held:
    """``np.repeat`` of the elements of a vector."""
    found, counts = _in_memory(self, a), _counts(self, repeats)
    if found.rank != 1 or len(counts) != 1:
        raise NoLoopError("repeat of other than a vector")
    size, by = _times(self, *found.sizes, *counts), counts[0].factor
    return Elements(
        found.dtype,
        (size,),
        lambda places: self.element(found, [f"({places[0]} / {by})"]),
        (found,),
    )


def _tile(self: Statements, A: Held, reps: Held) -> Held:
    """``np.tile``: an array as often as is said along each axis."""
    array: Array = _in_memory(self, A)
    counts = _counts(self, reps)
    rank = max(array.rank, len(counts))
    for _ in range(rank - array.rank):
        array = with_axis(array, 0)
    counts = [Size.of(1)] * (rank - len(counts)) + counts
    sizes = tuple(_times(self, *each) for each in zip(array.sizes, counts, strict=True))

    def element(places: Sequence[str]) -> str:
        own = zip(places, array.sizes, strict=True)
        return self.element(array, [f"({place} % {size.factor})" for place, size in own])

    return Elements(array.dtype, sizes, element, reads_of(array))


SHAPING_METHODS: Mapping[str, Callable[..., Held]] = {
    "reshape": _reshaped,
    "ravel": _flat,
    "flatten": _flattened,
    "swapaxes": _swapped,
    "transpose": _transposed,
    "repeat": _repeat,
}
SHAPING: tuple[tuple[Any, Callable[..., Held]], ...] = (
    (np.reshape, lambda self, a, shape: _reshaped(self, a, shape)),
    (np.ravel, _flat),
    (np.split, _split),
    (np.swapaxes, _swapped),
    (np.transpose, _transposed),
    (np.expand_dims, _with_new_axis),
    (np.repeat, _repeat),
    (np.tile, _tile),
)
