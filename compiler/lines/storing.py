"""Loops over elements: what is assigned, what is stored apart, rows that are reduced."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.applied import (
    Applied,
    along,
    bounds_of,
    dense_strides,
    reads_of,
)
from opweave.compiler.lines.complexes import AllNumbers
from opweave.compiler.lines.text import Text
from opweave.compiler.lines.values import Array, Computed, Elements, Number, Size, Strided
from opweave.opcodes.dtypes import DType


def is_truncated(value: Computed, target: DType) -> bool:
    """Whether it is a float for elements of signed integers; one that does not fit is an error."""
    if not isinstance(value, Number) or target.kind != "i":
        return False
    return value.type is float or (isinstance(value.type, DType) and value.type.kind == "f")


class Storing(Applied):
    """Writes loops over elements.

    Attributes:
        temporary: names of arrays that hold what they do until their line runs again.
        rooms: of those, where they lie.
        lone: those that nothing but an assignment of several values has, which ends with it.
        orders: of arrays that are made, those whose order NumPy lays them out in; "" for one
            that does not lie row by row.
        by_rows: of arrays that are read in another shape, as they lie.
    """

    def __init__(self, text: Text, numbers: AllNumbers):
        super().__init__(text, numbers)
        self.temporary: set[str] = set()
        self.rooms: dict[str, str] = {}
        self.lone: set[str] = set()
        self.orders: dict[str, set[str]] = {}
        self.by_rows: set[str] = set()

    def store(self, target: Strided, value: Computed) -> None:
        """Assign to the elements of an array; what is read is read before anything is written."""
        if isinstance(value, Number):
            if is_truncated(value, target.dtype):
                is_own = value.type is float
                value = self.numbers.truncated(value if is_own else Number(float, value.text))
            elif target.dtype.kind == "i" and isinstance(value.type, DType) and value.is_integer:
                self.check_fits(value, *bounds_of(value.type)[1:], target.dtype)
            text = self.converted(value, target.dtype)
            self.each(target.sizes, lambda places: self.put_at(target, places, text))
            return
        places_of = self.onto(target, value)
        if any(self._disturbs(target, read) for read in reads_of(value)):
            value = self.apart(value)
            places_of = self.onto(target, value)
        held = value

        def put(places: Sequence[str]) -> None:
            found = self.element(held, places_of(places))
            self.put_at(target, places, self.cast(found, held.dtype, target.dtype))

        self.each(target.sizes, put)

    def onto(self, target: Strided, value: Array) -> Callable[[Sequence[str]], list[str]]:
        """Which places of a value are read for those of a target."""
        if value.rank > target.rank:
            raise NoLoopError("an assignment of more dimensions than there are")
        factors: list[str] = []
        for size, own in zip(target.sizes[target.rank - value.rank :], value.sizes, strict=True):
            factors.append("0" if own.is_one else "" if own == size else f"({own.text} != 1)")
            if factors[-1] not in ("", "0"):
                wrong = f"{own.text} != {size.text} && {own.text} != 1"
                self.numbers.fault(wrong, "LOOP_ASSIGNED", own.text, size.text)
        lead = target.rank - value.rank
        return lambda places: along(places[lead:], factors)

    def put_at(self, target: Strided, places: Sequence[str], text: str) -> None:
        self.text.add(f"store({target.at(places)}, {text});")

    def each(
        self,
        sizes: Sequence[Size],
        body: Callable[[Sequence[str]], None],
        are_apart: bool = True,
    ) -> None:
        """Loops over all elements, the last axis innermost."""
        places: list[str] = []
        heads = []
        for size in sizes:
            places.append("0" if size.is_one else self.text.fresh("k"))
            if not size.is_one:
                k = places[-1]
                heads.append(f"for (int64 {k} = 0; {k} < {size.text}; ++{k})")
        self.nested(heads, lambda: body(places), are_apart)
        if heads:
            counted = " * ".join(s.factor for s in sizes if not s.is_one)
            self.text.add(f"LOOP_TICK({counted});")

    def nested(
        self, heads: Sequence[str], body: Callable[[], None], are_apart: bool = True
    ) -> None:
        """Loops within each other; ``are_apart``: no round of the innermost reads what another
        one writes."""
        if not heads:
            body()
            return
        if len(heads) == 1 and are_apart:
            self.text.add("#pragma GCC ivdep")
        with self.text.block(heads[0]):
            if len(heads) == 1:
                body()
            else:
                self.nested(heads[1:], body, are_apart)

    def _disturbs(self, target: Strided, read: Strided) -> bool:
        """Whether a read may find what was written for another element."""
        if read.base != target.base:
            return False
        same = (read.pointer, read.strides) == (target.pointer, target.strides)
        if same and read.sizes == target.sizes:
            return False
        return not self.are_apart(target, read)

    def are_apart(self, a: Strided, b: Strided) -> bool:
        """Whether two views of an array are known to share no element."""
        raise NotImplementedError

    def apart(self, value: Array) -> Strided:
        """A value in memory of its own."""
        made = self.view_in(self.room(), value.dtype, value.sizes)

        def put(places: Sequence[str]) -> None:
            self.put_at(made, places, self.element(value, places))

        self.each(value.sizes, put)
        self.lies_as(made.base, value)
        return made

    def made_in(self, room: str, value: Elements) -> tuple[str, str]:
        """Where a new array lies, and its room: the one given, or that where it is already."""
        if value.lies_at:
            self.lone.remove(value.lies_at)
            return value.lies_at, self.rooms[value.lies_at]
        made = self.view_in(room, value.dtype, value.sizes)
        self.store(made, value)
        return made.pointer, room

    def lies_as(self, made: str, value: Array) -> None:
        """Note what decides in which order NumPy lays out an array of a value's elements."""
        reads = reads_of(value) if value.rank > 1 else ()
        bases = {"" if r.is_turned else r.base for r in reads if r.rank > 1}
        self.orders.setdefault(made, set()).update(bases)

    def may_be_turned(self, made: str) -> bool:
        """Whether NumPy may have laid out an array in another order than row by row."""
        found, left = {made}, [made]
        while left:
            more = self.orders.get(left.pop(), set()) - found
            found |= more
            left += more
        return "" in found

    def check_orders(self) -> None:
        """Hold that NumPy lays out row by row what is read so.

        Raises:
            NoLoopError: it may not.
        """
        if any(map(self.may_be_turned, self.by_rows)):
            raise NoLoopError("another shape of what NumPy may lay out in another order")

    def copied(self, region: Strided) -> Elements:
        """The elements of a region, as an array that nobody else has."""
        is_whole = (region.pointer, region.strides) == (region.base, dense_strides(region.sizes))
        lies_at = region.base if is_whole and region.base in self.lone else ""
        return Elements(
            region.dtype,
            region.sizes,
            lambda places: self.element(region, places),
            (region,),
            lies_at=lies_at,
        )

    def room(self) -> str:
        """Memory that is there as long as the loop runs."""
        return self.text.variable("LoopRoom", self.text.fresh("room"))

    def view_in(self, room: str, dtype: DType, sizes: Sequence[Size]) -> Strided:
        """An array in a room, of which nobody reads what it had."""
        base = self.text.fresh("t")
        self.temporary.add(base)
        self.rooms[base] = room
        self.lone.discard(base)  # of lines that were taken back
        counted = ", ".join(s.text for s in sizes if not s.is_one) or "1"
        self.text.add(f"{dtype.storage}* const {base} = {room}.of<{dtype.storage}>({counted});")
        self.numbers.fault(f"{base} == 0", "LOOP_NO_MEMORY")
        return Strided(base, dtype, base, tuple(sizes), dense_strides(sizes))
