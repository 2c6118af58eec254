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
from opweave.compiler.arrays.lifting import as_stored
from opweave.compiler.arrays.reshaping import agree
from opweave.compiler.arrays.traced_operators import is_traced_array, is_traced_number
from opweave.opcodes.errors import UnsupportedError
from opweave.opcodes.operators.assigned import DOTS, INDEX, CodedKey, assigned


def has_indices(key: Any) -> bool:
    """Whether an index has an array or a list: numbers, or a mask."""
    items = key if isinstance(key, tuple) else (key,)
    return any(isinstance(item, list) or getattr(item, "ndim", 0) for item in items)


def written(target: TracedArrayLike, key: Any, value: Any, by: str = "") -> Any:
    """What an array holds behind a write by arrays of indices.

    Args:
        by: see ``assigned``.

    Raises:
        UnsupportedError: where no call of NumPy's library becomes a node, or a slice ends at a
            number that is known only at a call.
    """
    items = key if isinstance(key, tuple) else (key,)
    if not by and _is_one_of_each_row(target, items):
        return _chosen(target, items[1], value)
    if not target.tracer.calls_library:
        raise UnsupportedError("assignment by an index array; use np.where")
    coded, indices = _coded(target, items)
    return target.__array_function__(assigned, (), (target, value, indices, coded, by), {})


def _is_one_of_each_row(target: TracedArrayLike, items: tuple[Any, ...]) -> bool:
    """Whether an index is ``np.arange`` of the rows, and a place of each; part of the guard."""
    if len(items) != 2 or target.ndim < 2 or not all(getattr(i, "ndim", 0) == 1 for i in items):
        return False
    rows, places = items
    if not is_traced_array(places) or places.dtype.kind not in "iu":
        return False
    tracer = target.tracer
    extents = [tracer.extent_of(a.shape[0]) for a in (target, rows, places)]
    if not _is_counted(tracer, rows) or len({*map(tracer.builder.example, extents)}) > 1:
        return False
    return all(agree(tracer.builder, (extents[0],), (other,)) for other in extents[1:])


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
    """What an array holds with a value at a place of each row."""
    tracer, behind = target.tracer, target.ndim - 2
    rows, columns, *rest = target.value.shape
    found = checked(tracer, places, columns)
    column = coordinate(tracer, columns, behind, place_type(tracer, columns))
    here = tracer.hidden_view(found, (0, *[None] * (behind + 1))).astype(column.dtype)
    stored: Any = as_stored(tracer, value, target.value.dtype)
    if getattr(stored, "ndim", 0):
        whole = np.broadcast_to(stored, tuple(map(tracer.extent, (rows, *rest))))
        stored = tracer.hidden_view(whole, (0, None, *range(1, behind + 1)))
    return np.where(column == here, stored, target)


def _coded(target: TracedArrayLike, items: tuple[Any, ...]) -> tuple[CodedKey, list[Any]]:
    """An index as ``assigned`` takes it, and its arrays."""
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
        else:
            coded.append(DOTS if item is ... else tracer.concrete(item))
    return tuple(coded), indices
