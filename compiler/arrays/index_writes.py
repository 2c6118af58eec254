"""Writes by arrays of indices into arrays that a function makes.

    d[np.arange(n), labels] = v    ->   where(column == labels[:, None], v[:, None], d)
    d[i] = v                       ->   assigned(d, v, i), a call of NumPy's library

Of the first there is one element in each row, so that no order of writes matters.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from opweave.compiler.arrays.gathering import checked, coordinate, place_type
from opweave.compiler.arrays.interface import TracedArrayLike, TracerLike
from opweave.compiler.arrays.replacing import pasted, placed, places_along
from opweave.compiler.arrays.reshaping import agree
from opweave.compiler.arrays.traced_operators import is_traced_array, is_traced_number
from opweave.opcodes.errors import UnsupportedError
from opweave.opcodes.operators.unnamed_calls import DOTS, INDEX, CodedKey, assigned


def written(target: TracedArrayLike, key: Any, value: Any, by: str = "") -> Any:
    """What an array holds behind a write by arrays of indices.

    Args:
        by: see ``assigned``.

    Raises:
        UnsupportedError: where no call of NumPy's library becomes a node, or the key has other
            items than indices.
    """
    items = key if isinstance(key, tuple) else (key,)
    value = np.asarray(value) if isinstance(value, list | tuple) else value
    if not by and _is_one_of_each_row(target, items):
        return _chosen(target, items[1], value)
    if not target.tracer.calls_library:
        raise UnsupportedError("assignment by an index array; use np.where")
    coded, indices = _coded(target, items)
    return target.__array_function__(assigned, (), (target, value, indices, coded, by), {})


def _is_one_of_each_row(target: TracedArrayLike, items: tuple[Any, ...]) -> bool:
    """Whether an index is ``np.arange`` of the rows, and a place of each; part of the guard."""
    if len(items) != 2 or target.ndim < 2 or not all(map(_is_integers, items)):
        return False
    tracer, (rows, places) = target.tracer, items
    extents = [tracer.extent_of(a.shape[0]) for a in (target, rows, places)]
    alike = len({*map(tracer.builder.example, extents)}) == 1
    if not (alike and is_traced_array(places) and _is_counted(tracer, rows)):
        return False
    is_empty = tracer.builder.is_empty(target.value.shape)  # then no place would be checked
    return not is_empty and all(
        agree(tracer.builder, (extents[0],), (other,)) for other in extents[1:]
    )


def _is_integers(item: Any) -> bool:
    return getattr(item, "ndim", 0) == 1 and item.dtype.kind in "iu"


def _is_counted(tracer: TracerLike, rows: Any) -> bool:
    """Whether a vector holds its own places: made so, or a constant of the function."""
    if is_traced_array(rows):
        value, makers = rows.value, tracer.builder.nodes.makers
        while (maker := makers.get(value.id)) is not None and maker.operator.name == "copy":
            value = maker.values[0]
        if maker is not None:
            return maker.is_coordinate
        rows = next((made.array for made in tracer.constants if made.value.id == value.id), None)
    return isinstance(rows, np.ndarray) and np.array_equal(rows, np.arange(len(rows)))


def _chosen(target: TracedArrayLike, places: TracedArrayLike, value: Any) -> Any:
    """What an array holds with a value at a place of each row.

    Raises:
        ShapeError: the value does not fit.
    """
    tracer, behind, columns = target.tracer, target.ndim - 2, target.value.shape[1]
    found = checked(tracer, places, columns)
    column = coordinate(tracer, columns, behind, place_type(tracer, columns))
    here = tracer.hidden_view(found, (0, *[None] * (behind + 1))).astype(column.dtype)
    along = [places_along(target, d) for d in range(target.ndim) if d != 1]
    return pasted(target, [column == here], placed(target, value, along), target.value.dtype)


def _coded(target: TracedArrayLike, items: tuple[Any, ...]) -> tuple[CodedKey, list[Any]]:
    """An index as ``assigned`` takes it, and its arrays.

    Raises:
        UnsupportedError: it has others than arrays, numbers, slices, None and ``...``.
    """
    tracer = target.tracer
    coded: list[Any] = []
    indices: list[Any] = []
    for item in items:
        if is_traced_array(item) or is_traced_number(item):
            coded.append(INDEX)
            indices.append(item)
        elif isinstance(item, list | np.ndarray):
            coded.append(INDEX)
            indices.append(tracer.wrapped(tracer.indices(np.asarray(item))))
        elif isinstance(item, slice):
            coded.append(tuple(map(tracer.concrete, (item.start, item.stop, item.step))))
        elif item is None or item is ... or isinstance(item, int | np.integer):
            coded.append(DOTS if item is ... else item)
        else:
            raise UnsupportedError("assignment by an index array beside what is no index")
    return tuple(coded), indices
