"""The standard's functions that search, sort and select: NumPy's, of what was computed."""

from __future__ import annotations

from typing import Any, NamedTuple

from opweave.opcodes.errors import ArgumentError, AxisError, BoundsError, ShapeError
from opweave.xp.arrays import Array, array_of
from opweave.xp.called import by_library
from opweave.xp.dtypes import Number, promoted_all, with_number
from opweave.xp.lines import at_line
from opweave.xp.maps import NUMBERS, node_of
from opweave.xp.nodes import given
from opweave.xp.reductions import check_kinds
from opweave.xp.shapes import axis_of


class UniqueAll(NamedTuple):
    """What ``unique_all`` finds."""

    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCounts(NamedTuple):
    """What ``unique_counts`` finds."""

    values: Array
    counts: Array


class UniqueInverse(NamedTuple):
    """What ``unique_inverse`` finds."""

    values: Array
    inverse_indices: Array


def unique_all(x: Array, /) -> UniqueAll:
    """The elements that differ, where each is first, which one each element is, and how often."""
    return UniqueAll(*_unique(x, return_index=True, return_inverse=True, return_counts=True))


def unique_counts(x: Array, /) -> UniqueCounts:
    """The elements that differ, and how often each is there."""
    return UniqueCounts(*_unique(x, return_counts=True))


def unique_inverse(x: Array, /) -> UniqueInverse:
    """The elements that differ, and which one each element is."""
    return UniqueInverse(*_unique(x, return_inverse=True))


def unique_values(x: Array, /) -> Array:
    """The elements that differ."""
    found: Array = _unique(x)
    return found


def _unique(x: Array, **options: Any) -> Any:
    """NumPy's answer; each NaN differs from all others, and places have the array's shape."""
    node = node_of(x, "unique")
    found = by_library("unique", x, equal_nan=False, **options)
    if options.get("return_inverse"):
        place = 2 if options.get("return_index") else 1
        shaped = by_library("reshape", found[place], node.shape)
        found = (*found[:place], shaped, *found[place + 1 :])
    return found


def argsort(
    x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Array:
    """The places of the elements along an axis, in the order of the elements.

    Raises:
        DTypeError: of other elements than real numbers.
        AxisError: the array has no such axis.
    """
    check_kinds("argsort", node_of(x, "argsort").dtype, "if")
    place = axis_of(axis, x.ndim, "argsort")
    if not descending:
        found: Array = by_library("argsort", x, axis=place, kind="stable")
        return found
    # of equal elements the first stays first: sorted from behind, then both reversed
    back = by_library("flip", x, axis=place)
    places = by_library("flip", by_library("argsort", back, axis=place, kind="stable"), axis=place)
    made: Array = x.shape[place] - 1 - places
    return made


def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """The elements in order along an axis.

    Raises:
        DTypeError, AxisError: as ``argsort``.
    """
    check_kinds("sort", node_of(x, "sort").dtype, "if")
    place = axis_of(axis, x.ndim, "sort")
    found: Array = by_library("sort", x, axis=place, kind="stable")
    if descending:
        found = by_library("flip", found, axis=place)
    return found


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """The places of the elements that are not zero, an array for each axis.

    Raises:
        ShapeError: it has no dimensions.
    """
    if not node_of(x, "nonzero").shape:
        raise ShapeError(f"nonzero: expected dimensions, found none{at_line()}")
    found: tuple[Array, ...] = by_library("nonzero", x)
    return found


def searchsorted(
    x1: Array, x2: Array | Number, /, *, side: str = "left", sorter: Array | None = None
) -> Array:
    """The places at which elements would stand in a vector in order.

    Raises:
        ShapeError: the first is no vector.
        DTypeError: kinds that do not promote.
    """
    node = node_of(x1, "searchsorted")
    check_kinds("searchsorted", node.dtype, "if")
    other = _beside(x2, node, "searchsorted")
    promoted_all([node.dtype, other.dtype], "searchsorted")
    found: Array = by_library("searchsorted", x1, other, side=side, sorter=sorter)
    return found


def isin(x1: Array | Number, x2: Array | Number, /, *, invert: bool = False) -> Array:
    """Whether each element is one of others.

    Raises:
        DTypeError: kinds that do not promote.
        ArgumentError: neither is an array.
    """
    arrays = [x for x in (x1, x2) if isinstance(x, Array)]
    if not arrays:
        raise ArgumentError(f"isin: expected an array{at_line()}")
    first, second = (_beside(x, arrays[0]._node, "isin") for x in (x1, x2))
    promoted_all([first.dtype, second.dtype], "isin")
    found: Array = by_library("isin", first, second, invert=invert)
    return found


def _beside(x: Any, like: Any, what: str) -> Array:
    """An array, or a number as one of another's dtype."""
    if type(x) in NUMBERS:
        dtype = with_number(like.dtype, x, what)
        return array_of(given(like.library.asarray(x, dtype=dtype)))
    return array_of(node_of(x, what))


def take(x: Array, indices: Array, /, *, axis: int | None = None) -> Array:
    """The elements at places along an axis.

    Raises:
        AxisError: no axis is named of several.
        BoundsError: there is no such place.
    """
    node = node_of(x, "take")
    if axis is None and len(node.shape) != 1:
        raise AxisError(f"take: expected axis= for {len(node.shape)} dimensions{at_line()}")
    check_kinds("take", node_of(indices, "take").dtype, "i")
    place = axis_of(-1 if axis is None else axis, len(node.shape), "take")
    _check_places(indices, node.shape[place], "take")
    found: Array = by_library("take", x, indices, axis=place)
    return found


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """For each place of ``indices`` the element at that place along an axis.

    Raises:
        AxisError: the array has no such axis.
        BoundsError: there is no such place.
        ShapeError: the shapes do not broadcast but for that axis.
    """
    node = node_of(x, "take_along_axis")
    check_kinds("take_along_axis", node_of(indices, "take_along_axis").dtype, "i")
    place = axis_of(axis, len(node.shape), "take_along_axis")
    _check_places(indices, node.shape[place], "take_along_axis")
    found: Array = by_library("take_along_axis", x, indices, axis=place)
    return found


def _check_places(indices: Array, extent: int, what: str) -> None:
    """Refuse places that an axis has not; CuPy would wrap them."""
    if indices.size:
        low, high = int(by_library("min", indices)), int(by_library("max", indices))
        if low < -extent or high >= extent:
            found = low if low < -extent else high
            raise BoundsError(f"{what}: place {found} of an axis of {extent}{at_line()}")
