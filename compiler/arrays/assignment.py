"""Writing into traced arrays: each name of an array stands for its newest value.

A kernel writes nothing twice; so an array that is written to becomes another value of the graph.
So do parts of the array that somebody holds, and arrays that it is a part of.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np

from opweave.compiler.arrays.gathering import (
    checked,
    coordinate,
    gathered,
    is_below,
    is_place,
    place_type,
)
from opweave.compiler.arrays.indexing import bounds, expanded, indexed
from opweave.compiler.arrays.interface import TracedArrayLike
from opweave.compiler.arrays.reshaping import number_of
from opweave.compiler.arrays.traced_operators import is_traced_array
from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.ir.values import Extent, Shape
from opweave.opcodes import OPERATORS
from opweave.opcodes.dtypes import DType
from opweave.opcodes.errors import BoundsError, DTypeError, ShapeError, UnsupportedError

if TYPE_CHECKING:
    from opweave.compiler.ir.builder import Builder


def _whole(target: TracedArrayLike) -> TracedArrayLike | None:
    """The array that another one is a part of, if somebody else holds it."""
    parent = target.origin[0] if target.origin is not None else None
    return parent if any(a is parent for a in target.tracer.relatives(target)) else None


def _parts(target: TracedArrayLike) -> list[TracedArrayLike]:
    """The parts of an array that somebody holds, and the parts of these parts."""
    found = [a for a in target.tracer.relatives(target) if _whole(a) is target]
    return [*found, *(inner for part in found for inner in _parts(part))]


def _holders(target: TracedArrayLike) -> list[TracedArrayLike]:
    """All arrays that change with one, as far as the places of the change are known."""
    root = target
    while (whole := _whole(root)) is not None:
        root = whole
    return [root, *_parts(root)]


def _agree(builder: Builder, shape: Shape, other: Shape) -> bool:
    """Whether two shapes are the same; the answer becomes part of the guard."""
    return len(shape) == len(other) and all(
        builder.find(a) == builder.find(b)
        or builder.require(Expr("eq", (builder.extent_expr(a), builder.extent_expr(b))))
        for a, b in zip(shape, other, strict=True)
    )


def check_assigned(target: Any, value: Any, name: str) -> None:
    """
    Raises:
        UnsupportedError: the target is an argument, or shares its memory with other values.
        ShapeError, DTypeError: the value does not fit, as by NumPy.
    """
    if not is_traced_array(target):
        raise UnsupportedError(f"{name}: out= must be a value made inside the fused function")
    tracer = target.tracer
    if target.value.id in tracer.inputs | tracer.borrowed:
        raise UnsupportedError(
            f"{name}: writes into an argument ({tracer.where()}); return the new value, or pass "
            "the array as out= to the fused function"
        )
    known = _holders(target)
    if not all(any(a is k for k in known) for a in tracer.relatives(target)):
        raise UnsupportedError(
            f"{name}: writes into an array that shares its memory with a view ({tracer.where()}); "
            "give the result a name of its own, or take a .copy() first"
        )
    old, new = target.value, value.value
    if not _agree(tracer.builder, old.shape, new.shape):
        raise ShapeError(
            f"{name}: cannot store {new.type} into {old.type} in place ({tracer.where()}); "
            "give the result a name of its own"
        )
    if not np.can_cast(new.dtype.numpy, old.dtype.numpy, "same_kind"):
        raise DTypeError(
            f"{name}: cannot store {new.dtype} into {old.dtype} in place ({tracer.where()})"
        )


def _check_array(target: TracedArrayLike, name: str) -> None:
    if target.tracer.is_number(target.value):
        raise UnsupportedError(f"{name}: expected an array to write to, found a number")


def fitted(target: Any, value: Any) -> Any:
    """A result, broadcast to the shape of ``out=`` as by NumPy; unchanged where that fails."""
    if not is_traced_array(target):
        return value
    find = target.tracer.builder.find
    if tuple(map(find, target.value.shape)) == tuple(map(find, value.value.shape)):
        return value
    try:
        return np.broadcast_to(value, target.shape)
    except ShapeError:
        return value  # it is checked when it is stored


def assign(target: Any, value: Any, name: str) -> TracedArrayLike:
    """``out=`` and in-place operators: every name of the target sees the new value.

    Raises:
        UnsupportedError, ShapeError, DTypeError: see ``check_assigned``.
    """
    check_assigned(target, value, name)
    tracer, old = target.tracer, target.value
    _check_array(target, name)
    if value.value.dtype is not old.dtype:
        value = tracer.apply(OPERATORS["cast"], [value], {"dtype": old.dtype.numpy_name})
    if not old.shape:  # an array without dimensions stays one, though a sum is a number
        value = tracer.apply(OPERATORS["copy"], [value])
    whole, parts = _whole(target), _parts(target)
    if whole is not None:
        put(whole, target.origin[1], value)
    else:
        target.value = value.value
        for part in parts:
            assert part.origin is not None
            part.value = indexed(*part.origin).value
            tracer.relate(part.origin[0], part)
    found: TracedArrayLike = target
    return found


def put(target: TracedArrayLike, key: Any, value: Any) -> None:
    """``target[key] = value``.

    Raises:
        UnsupportedError: the key has items other than slices, numbers or a mask; see also
            ``check_assigned``.
        ShapeError: the value does not fit.
    """
    _check_array(target, "assignment to elements")
    origin = getattr(value, "origin", None)
    if origin is not None and origin[1] is key and _whole(value) is target:
        return  # target[key] += x has stored it already
    assign(target, _replaced(target, key, value), "assignment to elements")


# Of a dimension of a part of an array: its place in the array, and its extent.
Along = tuple[Any, Extent]


def _replaced(target: TracedArrayLike, key: Any, value: Any) -> Any:
    """An array in which the elements at some places are replaced."""
    tracer, dtype = target.tracer, target.value.dtype
    if getattr(key, "dtype", None) == np.bool_ and getattr(key, "ndim", 0) == target.ndim:
        if getattr(value, "ndim", 0):
            raise UnsupportedError("assignment by a mask: expected one number")
        _check_mask(target, key)
        return np.where(key, _typed(tracer, value, dtype), target)
    items = expanded(target, key)
    if any(item is None or getattr(item, "ndim", 0) or isinstance(item, list) for item in items):
        raise UnsupportedError("assignment by an index array; use np.where")
    inside: list[Any] = []
    along: list[Along] = []
    for axis, item in enumerate(items):
        tests, place = _part_along(target, axis, item)
        inside += tests
        along += place
    return _pasted(target, inside, _placed(tracer, value, along), dtype)


def _part_along(target: TracedArrayLike, axis: int, item: Any) -> tuple[list[Any], list[Along]]:
    """Of one axis: what holds inside of a part, and the part's dimension there, if it has one."""
    tracer, extent = target.tracer, target.value.shape[axis]
    places = place_type(tracer, *target.value.shape)
    zero = places.numpy.type(0)
    c = coordinate(tracer, extent, target.ndim - 1 - axis, places)
    if is_place(item):
        _nonempty(target)
        return [c == checked(tracer, item, extent)], []
    found = bounds(target, item, axis)
    if found is None:
        return [], [(c, extent)]
    start, step, length = found
    i = c - tracer.scalar(start)
    if not isinstance(item, slice):
        return [i == zero], []
    in_step = [i % abs(step) == zero] if abs(step) != 1 else []
    i = i // step if step != 1 else i
    return [*in_step, ~is_below(i, 0) & is_below(i, tracer.extent(length))], [(i, length)]


def _nonempty(target: TracedArrayLike) -> None:
    """Check that elements are written, since only then the places are checked.

    Raises:
        UnsupportedError: no elements are written.
    """
    if target.tracer.builder.is_empty(target.value.shape):
        raise UnsupportedError("assignment to elements of an empty array")


def _check_mask(target: TracedArrayLike, mask: Any) -> None:
    """
    Raises:
        BoundsError: extents differ; a mask does not broadcast.
        UnsupportedError: a mask without elements, which NumPy accepts for any array.
    """
    tracer = target.tracer
    for axis, extents in enumerate(zip(target.shape, mask.shape, strict=True)):
        have, given = (number_of(tracer, extent) for extent in extents)
        if have != given and not tracer.builder.require(Expr("eq", (have, given))):
            if tracer.builder.require(Expr("eq", (given, literal(0)))):
                raise UnsupportedError("assignment by a mask without elements")
            raise BoundsError(
                f"assignment by a mask: {int(extents[1])} elements along axis {axis} of size "
                f"{int(extents[0])}; a mask has the shape of what it selects from"
            )


def _pasted(target: TracedArrayLike, inside: Sequence[Any], value: Any, dtype: DType) -> Any:
    typed = _typed(target.tracer, value, dtype)
    if inside:
        return np.where(reduce(np.logical_and, inside), typed, target)
    if not is_traced_array(typed):
        return np.full_like(target, typed)
    return np.broadcast_to(typed, target.shape).copy()


def _typed(tracer: Any, value: Any, dtype: DType) -> Any:
    """A value as it is stored: NumPy casts whatever is assigned to elements."""
    if is_traced_array(value):
        return value if value.value.dtype is dtype else value.astype(dtype.numpy)
    number = np.asarray(tracer.concrete(value))
    if number.ndim or number.dtype.kind not in "biufc":
        raise UnsupportedError("assignment to elements: expected an array or a number")
    if number.dtype.kind == "c" and not dtype.is_complex:
        raise UnsupportedError(f"assignment to elements: a complex number into {dtype}")
    if type(value) is int and dtype.kind in "iu":
        return dtype.numpy.type(value)  # raises where it does not fit, as NumPy does
    with tracer.errors():
        return number.astype(dtype.numpy)[()]


def _placed(tracer: Any, value: Any, along: Sequence[tuple[Any, Extent]]) -> Any:
    """An array that is assigned to a part, placed in an array as large as the target.

    Raises:
        ShapeError: it does not broadcast to the part.
    """
    if not is_traced_array(value):
        if getattr(value, "ndim", 0):
            value = tracer.wrapped(tracer.constant(value))
        elif isinstance(value, list | tuple):
            raise UnsupportedError("assignment to elements: expected an array or a number")
        else:
            return value
    builder, shape = tracer.builder, value.value.shape
    extra = len(shape) - len(along)
    if any(e != 1 for e in shape[: max(extra, 0)]):
        raise ShapeError(f"assignment to elements: an array of {len(shape)} dimensions")
    if extra > 0:
        value = tracer.hidden_view(value, tuple(range(extra, len(shape))))
        shape = shape[extra:]
    if all(e == 1 for e in shape):
        return tracer.hidden_view(value, ())
    places: list[Any] = []
    for own, (place, extent) in zip(shape, along[len(along) - len(shape) :], strict=True):
        same = Expr("eq", (builder.extent_expr(own), builder.extent_expr(extent)))
        if own == 1:
            places.append(tracer.scalar(literal(0)))
        elif builder.find(own) == builder.find(extent) or builder.require(same):
            places.append(place)
        else:
            have, wanted = builder.example(own), builder.example(extent)
            raise ShapeError(f"assignment to elements: {have} elements do not fit {wanted}")
    return gathered(value, places)
