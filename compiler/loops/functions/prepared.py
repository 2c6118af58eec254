"""What written functions hold their arguments to, by table: others leave a loop to Python."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.applied import reads_of, type_of
from opweave.compiler.lines.arithmetic import as_computed, as_numpys
from opweave.compiler.lines.values import Elements, Held, Number, Size, Strided
from opweave.compiler.loops.functions.written import AT, cross, interp, searchsorted
from opweave.compiler.loops.statements import Statements
from opweave.opcodes.dtypes import I64

# What a call is given, by place and by name.
Given = tuple[list[Held], Mapping[str, Held]]


def called_at(self: Statements, ufunc: np.ufunc, args: Sequence[Held]) -> tuple[Any, list[Held]]:
    """The written function for ``ufunc.at`` of a vector, and what it is given."""
    a, places, values = args[0], as_computed(args[1]), as_computed(as_numpys(args[2]))
    if id(ufunc) not in AT or not isinstance(a, Strided) or isinstance(places, Number):
        raise NoLoopError(f"{ufunc.__name__}.at inside a loop")
    if a.rank != 1 or places.rank != 1 or places.dtype.kind not in "iu":
        raise NoLoopError("places that are no vector of integers, or of no vector")
    with_number, with_each = AT[id(ufunc)]
    written, reads = with_number, reads_of(places)
    if not isinstance(values, Number):
        written, reads = with_each, (*reads, *reads_of(values))
        if values.rank != 1 or not _are_alike(self, places.sizes[0], values.sizes[0]):
            raise NoLoopError("places, and another number of values")
    elif values.type is int:  # NumPy makes an array of it
        values = replace(values, type=I64, text=f"(int64){values.text}", known=None)
    joint = np.result_type(a.dtype.numpy, type_of(values).numpy)
    if a.dtype.kind in "iu" and joint != a.dtype.numpy:
        raise NoLoopError("integers that are cut where they are put")
    if any(read.base == a.base for read in reads):
        raise NoLoopError("what is written at places, and reads the same array")
    return written, [a, places, values]


def _are_alike(self: Statements, a: Size, b: Size) -> bool:
    """Whether two extents are equal, in the call at hand if not in each."""
    if a == b:
        return True
    extent = self.served.value(a)
    return extent is not None and all(self.served.is_equal(each, extent) for each in (a, b))


def _of_three(self: Statements, args: list[Held], keywords: Mapping[str, Held]) -> Given:
    for held in (*args, *keywords.values()):
        if [self.served.is_equal(size, 3) for size in getattr(held, "sizes", ())] != [True]:
            raise NoLoopError("cross of other than two vectors of three numbers")
    return args, keywords


def _of_numpys(self: Statements, args: list[Held], keywords: Mapping[str, Held]) -> Given:
    """NumPy makes an array of the number that is looked for."""
    return [*map(as_numpys, args)], {name: as_numpys(held) for name, held in keywords.items()}


def _between_points(self: Statements, args: list[Held], keywords: Mapping[str, Held]) -> Given:
    vectors = [a for a in args[1:] if isinstance(a, Strided | Elements) and a.rank == 1]
    if len(args) != 3 or len(vectors) != 2 or not isinstance(args[0], Number):
        raise NoLoopError("interp of other than a number between two vectors")
    first, second = (vector.sizes[0] for vector in vectors)
    if not _are_alike(self, first, second) or not self.served.is_least(first, 1):
        raise NoLoopError("interp between no points, or of another number of heights")
    return args, keywords


PREPARED: Mapping[Any, Callable[[Statements, list[Held], Mapping[str, Held]], Given]] = {
    cross: _of_three,
    interp: _between_points,
    searchsorted: _of_numpys,
}
