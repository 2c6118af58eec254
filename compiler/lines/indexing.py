"""Parts of arrays: from an index of Python to a view, inside of the array or with an error."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.facts import SizeFacts
from opweave.compiler.lines.numbers import Numbers
from opweave.compiler.lines.served import Served
from opweave.compiler.lines.text import Text
from opweave.compiler.lines.values import MOST, Number, Size, Strided


class Slice(NamedTuple):
    """``start:stop:step`` of an index; a step by name is one that is positive."""

    start: Number | None
    stop: Number | None
    step: int | str


ALL = Slice(None, None, 1)

# Of each axis of an array the first and the last place that is looked at; None: not known.
Region = tuple[tuple[Size, Size], ...] | None

# None is a new axis.
Item = Number | Slice | None


class Indexing:
    """Makes views of views."""

    def __init__(self, text: Text, numbers: Numbers, facts: SizeFacts, served: Served):
        """``served`` asks what has to hold of a call, and says whether it holds of this one.

        Attribute ``views``: by the text of a pointer what is looked at from there, of each axis.
        """
        self.text = text
        self.numbers = numbers
        self.facts = facts
        self.served = served
        self.views: dict[str, set[Region]] = {}

    def index(self, view: Strided, items: Sequence[Item]) -> Strided:
        """A part of an array.

        Raises:
            NoLoopError: more indices than axes.
        """
        asked = sum(item is not None for item in items)
        if asked > view.rank:
            raise NoLoopError("more indices than an array has axes")
        pointer, sizes, strides = [view.pointer], list[Size](), list[str]()
        where: list[tuple[Size, Size]] = []
        axis = 0
        for item in [*items, *[Slice(None, None, 1)] * (view.rank - asked)]:
            if item is None:
                sizes.append(Size.of(1))
                strides.append("0")
                continue
            size, stride = view.sizes[axis], view.strides[axis]
            first, length, step = self._along(item, size, axis)
            if length is not None:
                sizes.append(length)
                strides.append(stride if step == 1 else f"{step} * {stride}")
            if first != Size.of(0):
                pointer.append(_product(first, stride))
            where.append(_span(first, length, step, size))
            axis += 1
        made = replace(
            view, pointer=" + ".join(pointer), sizes=tuple(sizes), strides=tuple(strides)
        )
        return self.noted(made, tuple(where) if view.is_whole else view.where)

    def noted(self, part: Strided, looked: Region) -> Strided:
        """A part of an array with a pointer of its own: what is looked at from there."""
        self.views.setdefault(part.pointer, set()).add(looked)
        return replace(part, where=looked, is_whole=False)

    def _along(
        self, item: Number | Slice, size: Size, axis: int
    ) -> tuple[Size, Size | None, int | str]:
        """First place, number of elements and step along an axis; None elements of an index."""
        if isinstance(item, Number):
            return self._place(item, size, axis), None, 1
        return self._part(item, size)

    def are_apart(self, a: Strided, b: Strided) -> bool:
        """Whether two views of an array are known to share no element."""
        if a.where is None or b.where is None:
            return False
        return any(
            self.facts.is_below(last, other) or self.facts.is_below(other_last, first)
            for (first, last), (other, other_last) in zip(a.where, b.where, strict=True)
        )

    def _is_least(self, size: Size, least: int = 0) -> bool:
        """Whether a sum is at least a number: by what is known, or else by asking the call."""
        return self.facts.is_least(size, least) or self.served.is_least(size, least)

    def _place(self, index: Number, size: Size, axis: int) -> Size:
        """The place that an index means, with an error where there is none."""
        if not index.is_integer or index.type is bool:
            raise NoLoopError("an index that is no integer")
        place = self.size_of(index)
        is_positive = index.low >= 0 or self.facts.is_least(place)
        if index.high < 0 and index.known is not None:
            place = size.plus(place)
            is_positive = self._is_least(place)
        elif not is_positive and self.served.is_never_below(place):
            is_positive = True
        elif not is_positive:
            text = f"{place.text} < 0 ? {place.plus(size).text} : {place.text}"
            place = Size.of(self.text.named("int64", text, "i"))
        is_below = self.facts.is_below(place, size) or self._is_inside(index, size)
        if not (is_positive and is_below):
            found = f"(uint64)({place.text}) >= (uint64)({size.text})"
            asked = self.size_of(index).text
            self.numbers.fault(found, "LOOP_INDEX", asked, str(axis), size.text)
        return place

    def _is_inside(self, index: Number, size: Size) -> bool:
        """Whether a known index has an element in every call that is served."""
        return (
            index.known is not None and index.known >= 0 and self._is_least(size, index.known + 1)
        )

    def _part(self, part: Slice, size: Size) -> tuple[Size, Size, int | str]:
        """First place, number of elements and step of a slice."""
        if part.step != 1:
            return *self._stepped(part, size), part.step
        first = self._bound(part.start, size, Size.of(0))
        end = self._bound(part.stop, size, size)
        length = end.plus(first, -1)
        if not self._is_least(length):
            text = length.text
            length = Size.of(self.text.named("int64", f"at_least_0({text})", "n"))
            self.facts.learn(length.text, Size.of(0))
        return first, length, 1

    def _bound(self, bound: Number | None, size: Size, default: Size) -> Size:
        """A place between two elements, as Python moves it into the array."""
        if bound is None:
            return default
        if not bound.is_integer or bound.type is bool:
            raise NoLoopError("a slice by what is no integer")
        place = self.size_of(bound)
        if bound.known is not None and bound.known < 0:
            place = size.plus(place)
            if self._is_least(place):
                return place
        elif self._is_inside_of(bound, place, size):
            return place
        found = f"slice_bound({self.size_of(bound).text}, {size.text}, 0, {size.text})"
        name = self.text.named("int64", found, "i")
        self.facts.learn(name, Size.of(0), size)
        return Size.of(name)

    def _is_inside_of(self, bound: Number, place: Size, size: Size) -> bool:
        """Whether a bound is a place of the array as it is."""
        is_positive = bound.low >= 0 or self.facts.is_least(place)
        return is_positive and self._is_least(size.plus(place, -1))

    def _stepped(self, part: Slice, size: Size) -> tuple[Size, Size]:
        """First place and number of elements, where the step is not 1."""
        step, last = part.step, size.plus(-1)
        if part.start is None and part.stop is None and step == -1:
            return last, size
        goes_up = isinstance(step, str) or step > 0
        low, high = (Size.of(0), size) if goes_up else (Size.of(-1), last)
        defaults = (low, high) if goes_up else (high, low)
        ends = []
        for bound, default in zip((part.start, part.stop), defaults, strict=True):
            if bound is None:
                ends.append(default)
                continue
            place = self.size_of(bound).text
            text = f"slice_bound({place}, {size.text}, {low.text}, {high.text})"
            ends.append(Size.of(self.text.named("int64", text, "i")))
        length = f"slice_length({ends[0].text}, {ends[1].text}, {step})"
        name = self.text.named("int64", length, "n")
        self.facts.learn(name, Size.of(0), size)
        return ends[0], Size.of(name)

    def size_of(self, number: Number) -> Size:
        """An integer as a sum of names.

        Raises:
            NoLoopError: one without a sign that may be too large for one with a sign.
        """
        if number.high > MOST:
            raise NoLoopError("an index or an extent of uint64")
        if number.size is None:
            return Size.of(self.text.named("int64", number.text))
        return number.size


def _span(first: Size, length: Size | None, step: int | str, size: Size) -> tuple[Size, Size]:
    """The first and the last place that are looked at."""
    if length is None:
        return first, first
    if step == 1:
        return first, first.plus(length).plus(-1)
    return Size.of(0), size.plus(-1)


def _product(place: Size, stride: str) -> str:
    if stride == "1":
        return place.text
    return f"{place.factor} * {stride}"
