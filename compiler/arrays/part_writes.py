"""Writes to few rows or columns of an argument, or by arrays of indices.

    u[0] = u[-2]          ->    v1 = slice(v0);  u[0] = v1, and no v2 = where(row == 0, v1, v0)
    u[:, -1] = 0          ->    u[:, -1] = 0
    u[i] += 1             ->    v2 = add(gather(v0, v1), 1);  u[v1] = v2

What the function reads of the argument behind such a write is traced as ever; at the end of a call
the parts are stored one after the other, in the function's order.  What an argument holds behind a
write by arrays of indices is computed only if it is read there: by NumPy's library, between
kernels.  On a GPU a function that reads it runs in parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opweave.compiler.arrays.gathering import indices_of, is_picked, is_place
from opweave.compiler.arrays.indexing import indexed
from opweave.compiler.arrays.interface import TracedArrayLike, TracerLike
from opweave.compiler.arrays.lifting import as_stored
from opweave.compiler.arrays.moving import Moved, moved
from opweave.compiler.arrays.traced_operators import is_traced_array, is_traced_number
from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.ir.parts import LEAST_SHARE, Index, Part, bounded, is_thin, part_of
from opweave.compiler.ir.values import Value
from opweave.opcodes.allowed import is_number
from opweave.opcodes.errors import UnsupportedError

# Of one function; beyond, as in a loop over rows, whole arrays are computed.
MOST_PARTS = 8


@dataclass(frozen=True)
class WriteOperand:
    """A number, an expression of one, or a value that was assigned or indexed by.

    Attributes:
        source: the argument that this is a view of, by identity, and how; of what it held then.
    """

    value: Any
    source: tuple[int, Moved] | None = None


@dataclass(frozen=True)
class PartWrite:
    """A write to a part of an argument.

    Attributes:
        array: what stands for the argument, by identity.
        part: numbers its arrays of indices from 0.
        by: the ufunc whose method ``at`` writes it, by its name; "" for an assignment.
        before, after: what the whole argument held; the latter by its id.
    """

    array: int
    part: Part
    value: WriteOperand
    indices: tuple[WriteOperand, ...]
    before: Value
    by: str = ""
    after: int = -1

    @property
    def is_scattered(self) -> bool:
        """Whether arrays of indices say where; a number does that of a part that is computed."""
        return any(isinstance(index.value, Value) for index in self.indices)


def part_write(target: TracedArrayLike, key: Any, value: Any) -> PartWrite | None:
    """A write that is about to be made; None where the whole argument had better be computed."""
    tracer, (items, numbers) = target.tracer, _numbered(key)
    part = part_of(items)
    shape = tuple(map(tracer.builder.example, target.value.shape))
    if part is None or not (is_thin(part, shape) or _is_short(target, part)):
        return None
    if not is_traced_array(value) and not is_number(tracer.concrete(value)):
        return None
    return PartWrite(id(target), part, _given(tracer, value), numbers, target.value)


def _numbered(key: Any) -> tuple[tuple[Any, ...], tuple[WriteOperand, ...]]:
    """An index in which numbers that differ from call to call are outputs, and these."""
    items = key if isinstance(key, tuple) else (key,)
    numbers = [WriteOperand(item.expr) for item in items if is_picked(item)]
    places = map(Index, range(len(numbers)))
    return tuple(next(places) if is_picked(item) else item for item in items), tuple(numbers)


def _is_short(target: TracedArrayLike, part: Part) -> bool:
    """Whether a part has few of an axis's indices; the answer becomes part of the guard."""
    builder, extents = target.tracer.builder, target.value.shape
    return any(
        builder.require(
            Expr("le", (literal(most * LEAST_SHARE), builder.extent_expr(extents[axis])))
        )
        for axis, most in bounded(part, len(extents))
    )


def scatter(target: TracedArrayLike, key: Any, value: Any, by: str = "") -> PartWrite | None:
    """A write by arrays of indices, which are checked; None where there are none.

    Args:
        by: see ``PartWrite``.

    Raises:
        BoundsError, ShapeError: see ``indexed``, and what is assigned does not fit.
        UnsupportedError: an index that is a mask.
    """
    tracer, indices = target.tracer, list[WriteOperand]()
    items = list(key) if isinstance(key, tuple) else [key]
    arrays = [item for item in items if isinstance(item, list) or _rank(item)]
    if not arrays or any(getattr(item, "dtype", None) == np.bool_ for item in arrays):
        return None
    place: Any = indexed(target, key)  # and its faults
    for n, item in enumerate(items):
        if isinstance(item, list) or _rank(item) or is_place(item):
            indices.append(_given(tracer, indices_of(target, item)))
            items[n] = Index(len(indices) - 1)
        elif is_traced_number(item):
            items[n] = tracer.concrete(item)
    plain = part_of(tuple(i for i in items if not isinstance(i, Index)))
    if plain is None:
        raise UnsupportedError("assignment by an index array and what is no number or slice")
    rest = iter(plain)
    part = tuple(i if isinstance(i, Index) else next(rest) for i in items)
    made = value if by else as_stored(tracer, value, target.value.dtype)
    if is_traced_array(made):
        lead = max(made.ndim - place.ndim, 0)
        is_one = all(extent == 1 for extent in made.value.shape[:lead])
        kept = tuple(range(lead if is_one else 0, made.ndim))
        np.broadcast_to(tracer.hidden_view(made, kept), place.shape)  # raises if it does not fit
    return PartWrite(id(target), part, _given(tracer, made), tuple(indices), target.value, by)


def _rank(item: Any) -> Any:
    return getattr(item, "ndim", 0)


def _given(tracer: TracerLike, item: Any) -> WriteOperand:
    if not is_traced_array(item):
        return WriteOperand(tracer.concrete(item))
    arguments = [array for array, _ in tracer.writable.values()]
    found = ((id(array), moved(array, item)) for array in arguments)
    views = ((n, how) for n, how in found if how is not None and not how.reshaped)
    return WriteOperand(item.value, next(views, None))


def in_parts(
    writes: Sequence[PartWrite], rewritten: Sequence[tuple[TracedArrayLike, Value]]
) -> tuple[dict[int, Value], list[PartWrite]]:
    """The arguments that are stored in parts, and the writes to parts, in the function's order.

    Returns:
        By the identities of arguments, what is stored first to all of it, which is what it held at
        first where nothing is.  Then its parts are stored for themselves only where they are
        scattered, since no kernel computes the whole.
    """
    first: dict[int, Value] = {}
    kept: set[int] = set()
    for array, initial in rewritten:
        mine: list[int] = []
        base = array.value
        for number in reversed(range(len(writes))):
            write = writes[number]
            if write.array == id(array) and write.after == base.id:
                mine.append(number)
                base = write.before
        scattered = any(writes[number].is_scattered for number in mine)
        if mine and (scattered or (base.id == initial.id and len(mine) <= MOST_PARTS)):
            first[id(array)] = base
            kept |= set(mine)
    return first, [write for number, write in enumerate(writes) if number in kept]
