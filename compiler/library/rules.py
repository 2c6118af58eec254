"""Shapes of what functions of NumPy's library give, from the shapes of their operands.

A rule takes what a call asks, and gives a shape for each result.  Extents are numbers, or traced
numbers that stay symbols.  A call whose results have other shapes all the same is found when it
runs, and NumPy runs the function in its place: so a rule may leave what NumPy refuses to NumPy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opweave.compiler.arrays.reshaping import counted_axes, counted_axis
from opweave.compiler.arrays.traced_operators import is_traced_number
from opweave.compiler.numpy_api.signatures import NONE
from opweave.opcodes.errors import UnsupportedError

Shape = tuple[Any, ...]
Shapes = list[Shape]


@dataclass(frozen=True)
class LibraryRequest:
    """What a call asks: arguments by name, and NumPy's defaults of the others."""

    given: Mapping[str, Any]
    defaults: Mapping[str, Any]

    def __getitem__(self, name: str) -> Any:
        found = self.given.get(name, self.defaults.get(name))
        return None if found is NONE else found

    def shape(self, name: str = "a") -> Shape:
        """The shape of an argument: an array, a list of numbers, or a number."""
        item = self[name]
        if is_traced_number(item):
            return ()
        return tuple(item.shape) if hasattr(item, "shape") else np.shape(item)

    def axis(self, rank: int) -> int:
        return counted_axis("axis", self["axis"], rank)


Rule = Callable[[LibraryRequest], Shapes]


def smaller(m: Any, n: Any) -> Any:
    """The smaller one of two extents, without a branch."""
    if is_traced_number(m):
        return m.__opweave_scalar__("min", n)
    return n.__opweave_scalar__("min", m) if is_traced_number(n) else min(m, n)


def like(name: str = "a") -> Rule:
    return lambda asked: [asked.shape(name)]


def ordered(asked: LibraryRequest) -> Shapes:
    """Of a sort, whose axis may be None: of all elements."""
    return [(asked["a"].size,)] if asked["axis"] is None else like()(asked)


def of_keys(asked: LibraryRequest) -> Shapes:
    """Of ``lexsort``: keys are in a sequence, or along the first axis of an array."""
    keys = asked["keys"]
    return [tuple(keys[0].shape) if isinstance(keys, tuple | list) else tuple(keys.shape[1:])]


def at_indices(asked: LibraryRequest) -> Shapes:
    """Of ``reduceat``: an element along the axis for each index."""
    shape = [*asked.shape()]
    (shape[asked.axis(len(shape))],) = asked.shape("indices")
    return [tuple(shape)]


def of_bins(asked: LibraryRequest) -> Shapes:
    """Of ``bincount``, as long as no element asks for more than there are to be at least.

    Raises:
        UnsupportedError: the elements alone say how many.
    """
    if not asked["minlength"]:
        raise UnsupportedError("np.bincount: expected its bins as minlength=")
    return [(asked["minlength"],)]


def reduced_of(name: str) -> Rule:
    """Of a reduction of an argument."""

    def rule(asked: LibraryRequest) -> Shapes:
        shape = asked.shape(name)
        gone = counted_axes("axis", asked["axis"], len(shape))
        if asked["keepdims"]:
            return [tuple(1 if n in gone else extent for n, extent in enumerate(shape))]
        return [tuple(extent for n, extent in enumerate(shape) if n not in gone)]

    return rule


reduced = reduced_of("a")


def quantiles(asked: LibraryRequest) -> Shapes:
    (shape,) = reduced(asked)
    return [asked.shape("q") + shape]


def along(extent: Callable[[Any, Any], Any]) -> Rule:
    """Of a transform along an axis: its extent, from that of the operand and ``n``."""

    def rule(asked: LibraryRequest) -> Shapes:
        shape = list(asked.shape())
        axis = asked.axis(len(shape))
        shape[axis] = extent(shape[axis], asked["n"])
        return [tuple(shape)]

    return rule


def over(last: Callable[[Any, Any], Any]) -> Rule:
    """Of a transform over some axes: the extent of the last one, the others as in ``s``.

    Raises:
        UnsupportedError: an extent that is -1 stands for that of the operand.
    """

    def rule(asked: LibraryRequest) -> Shapes:
        shape, sizes = list(asked.shape()), asked["s"]
        axes = asked["axes"]
        if axes is None:
            axes = tuple(range(-len(shape if sizes is None else sizes), 0))
        if not axes:
            raise UnsupportedError("a transform over no axis")
        places = counted_axes("axes", tuple(axes), len(shape))
        sizes = [None] * len(places) if sizes is None else sizes
        for axis, size in zip(places[:-1], sizes[:-1], strict=True):
            shape[axis] = shape[axis] if size is None else size
        shape[places[-1]] = last(shape[places[-1]], sizes[-1])
        return [tuple(shape)]

    return rule


def all_of(extent: Any, n: Any) -> Any:
    return extent if n is None else n


def half_of(extent: Any, n: Any) -> Any:
    """The half of a spectrum that says all of it."""
    return all_of(extent, n) // 2 + 1


def twice(extent: Any, n: Any) -> Any:
    """What half of a spectrum is of.

    Raises:
        UnsupportedError: of nothing, which NumPy refuses.
    """
    if not extent > 0:  # part of the guard
        raise UnsupportedError("half of a spectrum without elements")
    return 2 * (extent - 1) if n is None else n


def counted(edges: Sequence[int]) -> Rule:
    """Of a histogram: so many more places than bins.

    Raises:
        UnsupportedError: not a number of bins.
    """

    def rule(asked: LibraryRequest) -> Shapes:
        bins = asked["bins"]
        if type(bins) is not int or bins < 1:
            raise UnsupportedError("expected a number of bins")
        return [(bins + more,) for more in edges]

    return rule


def counted_twice(asked: LibraryRequest) -> Shapes:
    """Of a histogram along two axes.

    Raises:
        UnsupportedError: not two numbers of bins.
    """
    bins = asked["bins"]
    rows, cols = bins if isinstance(bins, tuple) and len(bins) == 2 else (bins, bins)
    if type(rows) is not int or type(cols) is not int or min(rows, cols) < 1:
        raise UnsupportedError("expected numbers of bins")
    return [(rows, cols), (rows + 1,), (cols + 1,)]


def eight_fold(packs: bool) -> Rule:
    """Of what packs bits into bytes, or takes them apart."""

    def rule(asked: LibraryRequest) -> Shapes:
        shape, axis = list(asked.shape()), asked["axis"]
        if axis is None:
            shape, axis = [asked["a"].size], 0
        axis = counted_axis("axis", axis, len(shape))
        shape[axis] = (shape[axis] + 7) // 8 if packs else shape[axis] * 8
        return [tuple(shape)]

    return rule


def fitted(asked: LibraryRequest) -> Shapes:
    """Coefficients of a polynomial of each column."""
    return [(asked["deg"] + 1, *asked.shape("y")[1:])]


def unravelled(asked: LibraryRequest) -> Shapes:
    """Places along each axis of a shape."""
    extents = asked["shape"] if isinstance(asked["shape"], tuple) else (asked["shape"],)
    return [asked.shape("indices")] * len(extents)


def ravelled(asked: LibraryRequest) -> Shapes:
    """Of places along axes, in a sequence of arrays of one shape."""
    places = asked["multi_index"]
    return [tuple(places[0].shape if isinstance(places, list) else places.shape[1:])]


def longer(asked: LibraryRequest) -> Shapes:
    (m,), (n,) = asked.shape("a"), asked.shape("v")
    return [(m,)] if m >= n else [(n,)]  # part of the guard
