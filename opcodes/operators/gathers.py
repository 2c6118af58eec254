"""Reading at computed places: coordinates, indices, and gathers.

A gather reads a stored array, its *table*, at indices that the kernel has in registers.  Where an
axis stays as it is, coordinates are its indices.  So a gather can move elements in any way: for a
roll, a concatenation, a padding, an index array.

``gather_inside`` promises that a vector has all places that are read, and asks for none.

``whole_quotient`` is the number of a step, ``(c - start) // step``.  Who uses it promises that
what is read there is discarded where the division has a remainder.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np

from opweave.opcodes import rules
from opweave.opcodes.codes import Fragment, OpCode, Phase, rows
from opweave.opcodes.core import Kind, Operator
from opweave.opcodes.errors import BoundsError, ShapeError
from opweave.opcodes.shapes import (
    RESHAPED,
    Attrs,
    Pairs,
    Shape,
    ShapeRule,
    broadcast_pairs,
    broadcast_shape,
)

# A kernel passes an extent and a stride for each axis of a table.
MOST_AXES = 8


def coordinate(shape: tuple[int, ...], dtype: Any) -> Any:
    """The index along the first axis; the axes to the right of it have extent 1."""
    return np.arange(shape[0], dtype=dtype).reshape(shape)


def indexed(i: Any, n: Any) -> Any:
    """Indices of an axis of ``n`` elements, negative ones counted from its end.

    Raises:
        BoundsError: one is not in ``-n`` to ``n - 1``.
    """
    i = np.asarray(i)
    if i.size and (i.min() < -n or i.max() >= n):
        found = i[(i < -n) | (i >= n)][0]
        raise BoundsError(f"index {found} is out of bounds for an axis of {n} elements")
    return np.where(i < 0, i + n, i)


def whole_quotient(i: Any, step: Any) -> Any:
    """The quotient, which is cut where it is not whole; 0 by a step of 0."""
    by = np.where(np.asarray(step) == 0, np.ones_like(step), step)
    with np.errstate(all="ignore"):
        down, rest = np.divmod(i, by)
        found = down + ((rest != 0) & (np.less(i, 0) != np.less(by, 0)))
    return np.where(np.asarray(step) == 0, np.zeros_like(found), found)


def gathered(x: Any, *indices: Any) -> Any:
    """``x[indices]`` with an index for each axis; 0 where one lies outside of its axis."""
    pairs = list(zip(indices, x.shape, strict=True))
    inside = reduce(np.logical_and, [(i >= 0) & (i < n) for i, n in pairs])
    if not x.size:
        return np.zeros(np.shape(inside), x.dtype)
    found = x[tuple(np.where(inside, i, 0) for i in indices)]
    return np.where(inside, found, np.zeros((), x.dtype))


def gathered_inside(x: Any, i: Any) -> Any:
    """``x[i]`` of a vector, where no index is outside."""
    return x[i]


def _table_pairs(shapes: Sequence[Shape], attrs: Attrs) -> Pairs:
    return broadcast_pairs(shapes[1:])


def _gathered_shape(shapes: Sequence[Shape], attrs: Attrs) -> Shape:
    """The shape of the indices.

    Raises:
        ShapeError: they do not broadcast, or none is an array.
    """
    if len(shapes) < 2:
        raise ShapeError("expected an array among the indices: a place is a slice")
    return broadcast_shape(shapes[1:])


GATHERED = ShapeRule(_table_pairs, _gathered_shape)


def _gather(rank: int) -> Operator:
    """Read a table of so many axes: of each an index, its extent, and its stride."""
    name, params = f"gather_{rank}d", ("x", *(f"i{d}" for d in range(rank)))
    places = [f"{axis}{d}" for d in range(rank) for axis in "ins"]
    text = f"read_at<T>({', '.join(['x', *places])})"
    code = OpCode(name, Phase.LOAD, ("x", *places), (Fragment(text),), exact=True)
    rule = rules.table_and_indices
    return Operator(name, Kind.MAP, (code,), gathered, rule, params, GATHERED, tables=1)


OPERATORS: tuple[Operator, ...] = (
    Operator(
        "coordinate", Kind.CREATE,
        (OpCode("coordinate", Phase.INDEX, (), supplied="the template's loop has it"),),
        coordinate, rules.alone, (), RESHAPED,
        attrs=(("dtype", "int64"), ("shape", ())),
    ),
    Operator(
        "index", Kind.MAP,
        (
            OpCode("index", Phase.EPILOGUE, ("i", "n"), rows({"iu": "index_of(i, n, SITE)"}),
                   exact=True),
        ),
        indexed, rules.indices, ("i", "n"), notes_faults=True,
    ),
    Operator(
        "whole_quotient", Kind.MAP,
        (
            OpCode("whole_quotient", Phase.EPILOGUE, ("i", "step"),
                   rows({"iu": "trunc_div(i, step)"}), exact=True),
        ),
        whole_quotient, rules.indices, ("i", "step"),
    ),
    *map(_gather, range(1, MOST_AXES + 1)),
    Operator(
        "gather_inside", Kind.MAP,
        (
            OpCode("gather_inside", Phase.LOAD, ("x", "i0", "n0", "s0"),
                   (Fragment("read_known<T>(x, i0, n0, s0)"),), exact=True),
        ),
        gathered_inside, rules.table_and_indices, ("x", "i0"), GATHERED, tables=1,
    ),
)  # fmt: skip
