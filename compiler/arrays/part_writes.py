"""Writes to few rows or columns of an argument, which need not pass over all of it.

    u[0] = u[-2]          ->    v1 = slice(v0);  u[0] = v1, and no v2 = where(row == 0, v1, v0)
    u[:, -1] = 0          ->    u[:, -1] = 0

What the function reads of the argument behind such a write is traced as ever; at the end of a call
the parts are stored one after the other, in the function's order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from opweave.compiler.arrays.interface import TracedArrayLike
from opweave.compiler.arrays.moving import Moved, moved
from opweave.compiler.arrays.traced_operators import is_traced_array
from opweave.compiler.ir.parts import Part, is_thin, part_of
from opweave.compiler.ir.values import Value
from opweave.opcodes.allowed import is_number

# Of one function; beyond, as in a loop over rows, whole arrays are computed.
MOST_PARTS = 8


@dataclass(frozen=True)
class PartWrite:
    """A write to a part of an argument.

    Attributes:
        array: what stands for the argument, by identity.
        value: what was assigned, or a number.
        source: the argument that this is a view of, by identity, and how; of what it held then.
        before, after: what the whole argument held, by the ids of values.
    """

    array: int
    part: Part
    value: Any
    source: tuple[int, Moved] | None
    before: int
    after: int = -1


def part_write(target: TracedArrayLike, key: Any, value: Any) -> PartWrite | None:
    """A write that is about to be made; None where the whole argument had better be computed."""
    tracer, part = target.tracer, part_of(key)
    shape = tuple(map(tracer.builder.example, target.value.shape))
    if part is None or not is_thin(part, shape):
        return None
    if is_traced_array(value):
        given = [array for array, _ in tracer.writable.values()]
        found = ((id(array), moved(array, value)) for array in given)
        views = ((n, how) for n, how in found if how is not None and not how.reshaped)
        source = next(views, None)
        return PartWrite(id(target), part, value.value, source, target.value.id)
    number = tracer.concrete(value)
    if not is_number(number):
        return None
    return PartWrite(id(target), part, number, None, target.value.id)


def in_parts(
    writes: Sequence[PartWrite], rewritten: Sequence[tuple[TracedArrayLike, Value]]
) -> dict[int, list[PartWrite]]:
    """The arguments of which parts alone were written to, by identity, and these writes."""
    found: dict[int, list[PartWrite]] = {}
    for array, first in rewritten:
        mine = [write for write in writes if write.array == id(array)]
        held = [first.id, *(write.after for write in mine)]
        if held[:-1] == [write.before for write in mine] and held[-1] == array.value.id:
            found[id(array)] = mine
    return found if sum(map(len, found.values())) <= MOST_PARTS else {}
