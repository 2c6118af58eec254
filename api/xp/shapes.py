"""What moves elements: shapes of results, by NumPy's own rules on an array that has no memory."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from operator import index
from typing import Any

import numpy as np

from opweave.opcodes.errors import AxisError, BoundsError, ShapeError
from opweave.xp.dtypes import DType
from opweave.xp.lines import at_line
from opweave.xp.looks import bounded
from opweave.xp.nodes import LazyNode, XpOperation, record, view_of

Attrs = tuple[tuple[str, Any], ...]


def _reshape(x: Any, shape: Any) -> Any:
    return np.reshape(x, shape)


def _at(x: Any, key: Any) -> Any:
    return x[tuple(slice(*part[1:]) if type(part) is tuple else part for part in key)]


def _concat(*arrays: Any, axis: Any) -> Any:
    return np.concatenate([*arrays], axis=axis)


def _stack(*arrays: Any, axis: Any) -> Any:
    return np.stack([*arrays], axis=axis)


def _cast(x: Any, dtype: Any) -> Any:
    return x.astype(dtype)


# Attributes have the names of NumPy's keywords.
EXPAND = XpOperation("expand_dims", np.expand_dims)
SQUEEZE = XpOperation("squeeze", np.squeeze)
PERMUTE = XpOperation("permute_dims", np.transpose)
MOVEAXIS = XpOperation("moveaxis", np.moveaxis)
FLIP = XpOperation("flip", np.flip)
RESHAPE = XpOperation("reshape", _reshape)  # NumPy 2.0 has another name for the shape
AT = XpOperation("indexing", _at)
ROLL = XpOperation("roll", np.roll)
BROADCAST = XpOperation("broadcast_to", np.broadcast_to)
CAST = XpOperation("astype", _cast)
CONCAT = XpOperation("concat", _concat)
STACK = XpOperation("stack", _stack)


def like(shape: tuple[int, ...], dtype: DType) -> Any:
    """An array of one element that has this shape: it answers what views of such a one are."""
    return np.broadcast_to(np.zeros((), dtype), shape)


def viewed(operation: XpOperation, node: LazyNode, attrs: Attrs) -> LazyNode:
    """A view of an array: NumPy's own of memory, recorded of what is not computed yet.

    Raises:
        AxisError, ShapeError, BoundsError: there is no such view.
    """
    try:
        if node.memory is not None:
            made = operation.compute(node.memory, **dict(attrs))
            return view_of(node, node.library.asarray(made))  # NumPy makes numbers of elements
        shape = operation.compute(like(node.shape, node.dtype), **dict(attrs)).shape
    except (ValueError, IndexError, TypeError) as error:
        raise typed(operation.name, error) from None
    return bounded(record(operation, (node,), attrs, shape, node.dtype))


def typed(what: str, error: Exception) -> Exception:
    """NumPy's error of a shape, an axis or an index as one of ours, with the user's line."""
    kinds = (np.exceptions.AxisError, AxisError), (IndexError, BoundsError)
    kind = next((ours for theirs, ours in kinds if isinstance(error, theirs)), ShapeError)
    made: Exception = kind(f"{what}: {error}{at_line()}")
    return made


def reshaped(node: LazyNode, shape: tuple[int, ...]) -> LazyNode:
    """The same elements in another shape, of which one extent may be -1.

    Raises:
        ShapeError: they do not fit.
    """
    size, known = prod(node.shape), prod(n for n in shape if n != -1)
    holes = sum(n == -1 for n in shape)
    fits = size == known if not holes else holes == 1 and known and size % known == 0
    if not fits or any(n < -1 for n in shape):
        raise ShapeError(
            f"reshape: {size} elements do not fill the shape {list(shape)}{at_line()}"
        )
    full = tuple(size // known if n == -1 else n for n in shape)
    if node.memory is not None:
        return viewed(RESHAPE, node, (("shape", full),))
    return bounded(record(RESHAPE, (node,), (("shape", full),), full, node.dtype))


def integers(value: Any, what: str) -> int | tuple[int, ...]:
    """An integer, or a tuple of them.

    Raises:
        ShapeError: anything else.
    """
    try:
        return tuple(map(index, value)) if hasattr(value, "__iter__") else index(value)
    except TypeError:
        raise ShapeError(f"{what}: expected integers, found {value!r}{at_line()}") from None


def shape_of(value: Any, what: str) -> tuple[int, ...]:
    """A shape: an integer or a sequence of them.

    Raises:
        ShapeError: anything else.
    """
    found = integers(value, what)
    return (found,) if isinstance(found, int) else found


def axes_of(axis: Any, ndim: int, what: str) -> tuple[int, ...]:
    """Axes as numbers from 0 on; None is all of them.

    Raises:
        AxisError: the array has no such axis, or it is named twice.
    """
    if axis is None:
        return tuple(range(ndim))
    found = shape_of(axis, f"{what}: axis")
    try:
        return tuple(np.lib.array_utils.normalize_axis_tuple(found, ndim))
    except ValueError as error:
        raise AxisError(f"{what}: {error}{at_line()}") from None


def axis_of(axis: Any, ndim: int, what: str) -> int:
    """One axis as a number from 0 on."""
    (found,) = axes_of(index(axis), ndim, what)
    return found


def joined(operation: XpOperation, nodes: Sequence[LazyNode], axis: int, dtype: DType) -> LazyNode:
    """Arrays behind each other.

    Raises:
        ShapeError: their shapes do not fit.
    """
    first = nodes[0].shape
    free = axis if operation is CONCAT else -1
    for node in nodes:
        fits = len(node.shape) == len(first) and all(
            a == b or n == free for n, (a, b) in enumerate(zip(node.shape, first, strict=True))
        )
        if not fits:
            texts = " and ".join(str(list(node.shape)) for node in nodes)
            raise ShapeError(f"{operation.name}: shapes {texts} do not fit{at_line()}")
    if operation is CONCAT:
        extent = sum(node.shape[axis] for node in nodes)
        shape = (*first[:axis], extent, *first[axis + 1 :])
    else:
        shape = (*first[:axis], len(nodes), *first[axis:])
    return bounded(record(operation, nodes, (("axis", axis),), shape, dtype))


def cast(node: LazyNode, dtype: DType) -> LazyNode:
    """The node of an array in another dtype."""
    return bounded(record(CAST, (node,), (("dtype", dtype),), node.shape, dtype))
