"""Writing into traced arrays: each name of an array stands for its newest value.

A kernel writes nothing twice; so an array that is written to becomes another value of the graph.
So do parts of the array that somebody holds, and arrays that it is a part of.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import EllipsisType
from typing import Any

import numpy as np

from opweave.compiler.arrays.casting import check_types, shown
from opweave.compiler.arrays.gathering import has_arrays
from opweave.compiler.arrays.index_writes import written
from opweave.compiler.arrays.indexing import indexed
from opweave.compiler.arrays.interface import TracedArrayLike
from opweave.compiler.arrays.interleaving import is_lent
from opweave.compiler.arrays.moving import Moved
from opweave.compiler.arrays.part_writes import PartWrite, part_write, scatter
from opweave.compiler.arrays.replacing import mask_of, replaced
from opweave.compiler.arrays.reshaping import agree
from opweave.compiler.arrays.traced_operators import is_traced_array
from opweave.opcodes import OPERATORS
from opweave.opcodes.errors import DTypeError, LockedViewError, ShapeError, UnsupportedError

Kin = Mapping[int, TracedArrayLike]  # arrays that share memory, by their ids


def _kin(target: TracedArrayLike) -> Kin:
    """An array, and others with the same memory that somebody still holds."""
    return {id(a): a for a in (target, *target.tracer.relatives(target))}


def _whole(target: TracedArrayLike, kin: Kin) -> TracedArrayLike | None:
    """The array that another one is a part of, if somebody else holds it."""
    parent, how = target.origin or (None, None)
    if isinstance(how, Moved) and not how.is_writable:
        return None
    return kin.get(id(parent))


def _parts(target: TracedArrayLike, kin: Kin) -> list[TracedArrayLike]:
    """The parts of an array that somebody holds, and the parts of these parts."""
    parts: dict[int, list[TracedArrayLike]] = {}
    for part in kin.values():
        parts.setdefault(id(_whole(part, kin)), []).append(part)
    found = list[TracedArrayLike]()
    left = [target]
    while left:
        own = parts.get(id(left.pop()), [])
        found += own
        left += reversed(own)
    return found


def _root(target: TracedArrayLike, kin: Kin) -> TracedArrayLike:
    """The array that another one is a part of, or a part of a part; itself if it is none."""
    while (whole := _whole(target, kin)) is not None:
        target = whole
    return target


def check_target(target: Any, name: str) -> None:
    """
    Raises:
        UnsupportedError: the target is an argument that nobody writes to here, as a step of
            ``ow.repeat`` must not, or shares its memory with other values.
        LockedViewError: it is a view that NumPy lets nobody write to.
    """
    if not is_traced_array(target):
        raise UnsupportedError(
            f"{name}: out= expected an array of the function's (an argument, or one that it "
            f"makes), found {type(target).__name__}"
        )
    tracer, kin, name = target.tracer, _kin(target), shown(name)
    root = _root(target, kin)
    is_borrowed = target.value.id in tracer.inputs or target.value.id in tracer.borrowed
    if is_borrowed and not is_lent(root):
        if tracer.lends and target.value.id not in tracer.inputs:
            raise UnsupportedError(
                f"{name}: writes into an argument by a view that may be a copy, or has an element "
                f"twice ({tracer.where()}); index the argument itself, or write to a .copy()"
            )
        raise UnsupportedError(
            f"{name}: writes into an argument, which neither a step of ow.repeat nor an operator "
            f"of torch may ({tracer.where()}); return the new value, or write to a .copy()"
        )
    if tracer.is_locked(target) or tracer.is_locked(root):
        raise LockedViewError(f"{name}: writes into a view that is read-only ({tracer.where()})")
    if not {*kin} <= {id(root), *map(id, _parts(root, kin))}:  # of a change nobody knows the place
        raise UnsupportedError(
            f"{name}: writes into an array that shares its memory with a view ({tracer.where()}); "
            "give the result a name of its own, or take a .copy() first"
        )


def check_assigned(target: Any, value: Any, name: str) -> None:
    """
    Raises:
        UnsupportedError: see ``check_target``.
        ShapeError, DTypeError: the value does not fit, as by NumPy.
    """
    check_target(target, name)
    tracer, old, new, name = target.tracer, target.value, value.value, shown(name)
    if not np.can_cast(new.dtype.numpy, old.dtype.numpy, "same_kind"):
        raise DTypeError(
            f"{name}: cannot store {new.dtype} into {old.dtype} in place ({tracer.where()})"
        )
    if not agree(tracer.builder, old.shape, new.shape):
        raise ShapeError(
            f"{name}: cannot store {new.type} into {old.type} in place ({tracer.where()}); "
            "give the result a name of its own"
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
    kin = _kin(target)
    whole, parts = _whole(target, kin), _parts(target, kin)
    if whole is not None:
        _put(whole, target.origin[1], value, name)
    else:
        tracer.rewrite(target, _own(target, value).value)
        for part in parts:
            assert part.origin is not None
            part.value = _part(*part.origin).value
            tracer.relate(part.origin[0], part)
    found: TracedArrayLike = target
    return found


def _part(whole: TracedArrayLike, how: Any) -> TracedArrayLike:
    """A part of an array, by an index or by nodes."""
    return how.of(whole) if isinstance(how, Moved) else indexed(whole, how)


def _put(whole: TracedArrayLike, how: Any, value: Any, name: str) -> None:
    """Let a part of an array hold a value."""
    if isinstance(how, Moved):
        assign(whole, how.written(whole, value), name)
        return
    tracer = whole.tracer
    lent = is_lent(whole)
    write = scatter(whole, how, value) if lent else None
    if write is not None:
        _scattered(whole, write, name, how, value)
        return
    changed = written if _is_by_arrays(whole, how, value) else replaced
    made = changed(whole, how, value)
    write = part_write(whole, how, value) if lent else None
    assign(whole, made, name)
    if write is not None:
        tracer.parts.append(replace(write, after=whole.value.id))


def _is_by_arrays(target: TracedArrayLike, key: Any, value: Any) -> bool:
    """Whether an index has arrays, but for a mask of one number."""
    items = key if isinstance(key, tuple) else (key,)
    is_many = getattr(value, "ndim", 0) or isinstance(value, list | tuple)
    return has_arrays(items) and (bool(is_many) or mask_of(target, key) is None)


def _scattered(whole: TracedArrayLike, write: PartWrite, name: str, key: Any, value: Any) -> None:
    """Let an argument hold what is computed only if it is read: NumPy writes to the argument."""
    tracer = whole.tracer
    if tracer.calls_library:
        made = written(whole, key, value, write.by)
    else:
        made = whole.of(tracer.builder.new_value(whole.value.dtype, whole.value.shape))
    tracer.unknown.add(made.value.id)
    assign(whole, made, name)
    tracer.parts.append(replace(write, after=whole.value.id))


def put_at(ufunc: np.ufunc, target: Any, key: Any, value: Any) -> None:
    """``np.add.at(target, key, value)`` and its kin, of two operands.

    Raises:
        UnsupportedError: the target is no array of the function's, or cannot hold the results.
    """
    name = f"np.{ufunc.__name__}.at"
    known = is_traced_array(target) and getattr(np, ufunc.__name__, None) is ufunc
    if not known or ufunc.nin != 2:
        raise UnsupportedError(f"{name}: expected an array of the function's, and two operands")
    try:
        check_types(ufunc, (target, value), (target,), TypeError())
    except DTypeError as error:
        raise UnsupportedError(f"{name}: {error}") from None
    if not has_arrays(key if isinstance(key, tuple) else (key,)):  # each element once
        put(target, key, ufunc(target[key], value))
        return
    if not is_lent(target):
        assign(target, written(target, key, value, ufunc.__name__), name)
        return
    write = scatter(target, key, value, ufunc.__name__)
    if write is None:
        raise UnsupportedError(f"{name}: expected an array of indices")
    _scattered(target, write, name, key, value)


def _own(target: TracedArrayLike, value: TracedArrayLike) -> TracedArrayLike:
    """A value that is no view, for an argument: what it is by then is an output of the graph."""
    tracer, number = target.tracer, value.value.id
    if not is_lent(target):
        return value
    maker = tracer.builder.nodes.makers.get(number)
    if maker is not None and not maker.is_view and number not in tracer.families:
        return value
    made: TracedArrayLike = tracer.apply(OPERATORS["copy"], [value])
    return made


def _is_element(target: TracedArrayLike, items: tuple[Any, ...]) -> bool:
    """Whether an index without arrays is of one element: a number, no truth, for each axis."""
    others = slice | bool | np.bool_ | EllipsisType | None
    return len(items) == target.ndim and not any(isinstance(item, others) for item in items)


def _check_storable(target: TracedArrayLike, key: Any, value: Any) -> None:
    """
    Raises:
        ShapeError: an array for one element.
        UnsupportedError: NumPy refuses a number that signed integers do not hold, but by masks and
            arrays of indices, and no kernel does.
    """
    tracer, dtype = target.tracer, target.value.dtype
    items = key if isinstance(key, tuple) else (key,)
    if has_arrays(items):
        return
    if isinstance(value, np.ndarray) and value.ndim and _is_element(target, items):
        raise ShapeError(
            f"assignment to elements: setting an array element with a sequence, an array of shape "
            f"{value.shape} ({tracer.where()})"
        )
    if dtype.kind != "i":
        return
    if not is_traced_array(value) or not tracer.is_number(value.value):
        return
    found = value.value.dtype
    made = tracer.builder.nodes.makers.get(value.value.id)
    was = made.values[0].dtype if made is not None and made.operator.name == "cast" else found
    if any(np.can_cast(known.numpy, dtype.numpy) for known in (found, was)):
        return  # a place, which argmax casts, is of 32 bits as a rule
    raise UnsupportedError(
        f"assignment to elements: a number of {found} may not fit {dtype}, which is an error by "
        f"NumPy and none in a kernel ({tracer.where()}); convert it by .astype(np.{dtype.numpy})"
    )


def put(target: TracedArrayLike, key: Any, value: Any) -> None:
    """``target[key] = value``.

    Raises:
        UnsupportedError: the key has items that are no index; see also ``check_assigned``.
        ShapeError: the value does not fit.
    """
    _check_array(target, "assignment to elements")
    origin = getattr(value, "origin", None)
    if origin is not None and origin[1] is key and _whole(value, _kin(value)) is target:
        return  # target[key] += x has stored it already
    check_target(target, "assignment to elements")  # what it is to hold takes longer to find out
    _check_storable(target, key, value)
    _put(target, key, value, "assignment to elements")
