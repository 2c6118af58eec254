"""Elements that a mask or index arrays pick: it is noted where they lie, to read or to write."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.applied import along
from opweave.compiler.lines.equations import Equations
from opweave.compiler.lines.indexing import ALL, Indexing, Item, Slice
from opweave.compiler.lines.text import TextMark
from opweave.compiler.lines.values import LONGEST, Array, Computed, Elements, Number, Size, Strided
from opweave.opcodes.dtypes import BOOL, I64


@dataclass(frozen=True)
class Picked:
    """Elements of a view.

    Attributes:
        rest: the view without the axes that are picked from.
        axis: where these are in the result.
        offsets: how far along them each place is, in elements, in memory.
    """

    rest: Strided
    axis: int
    offsets: Strided

    @property
    def sizes(self) -> tuple[Size, ...]:
        """The shape of what is picked."""
        own = self.rest.sizes
        return (*own[: self.axis], *self.offsets.sizes, *own[self.axis :])


@dataclass(frozen=True)
class Pick:
    """Places that a mask in memory has chosen, which lines behind may use as long as it stays.

    Attributes:
        mask: the mask, as it was read.
        strides: of what it chooses from.
        offsets: the places.
        since: where in the text that was, in which block.
    """

    mask: Strided
    strides: tuple[str, ...]
    offsets: Strided
    since: TextMark


class Picking(Equations):
    """Lowers indices with arrays in them.

    Attributes:
        picks: what masks have chosen.
    """

    indexing: Indexing

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.picks: list[Pick] = []

    def part(self, array: Strided, items: Sequence[Item | Array]) -> Strided | Picked:
        """A part of an array.

        Raises:
            NoLoopError: arrays in an index with new axes, or apart from each other.
        """
        arrays = [item for item in items if isinstance(item, Strided | Elements)]
        if not arrays:
            return self.indexing.index(
                array, [i for i in items if not isinstance(i, Strided | Elements)]
            )
        masks = [a for a in arrays if a.dtype is BOOL]
        if None in items or (masks and len(arrays) > 1) or not all(a.rank for a in arrays):
            raise NoLoopError("an index of masks with other arrays or new axes")
        advanced = [n for n, item in enumerate(items) if not isinstance(item, Slice)]
        if advanced != list(range(advanced[0], advanced[-1] + 1)):
            raise NoLoopError("an index of arrays and numbers with slices between them")
        count = masks[0].rank if masks else len(arrays)
        first = next(n for n, item in enumerate(items) if _is_array(item))
        plain = [i for i in items[:first] if isinstance(i, Number | Slice)]
        behind = [i for i in items[first:] if isinstance(i, Number | Slice)]
        if any(isinstance(n, Number) for n in behind) and len(arrays) > 1:
            raise NoLoopError("an index of arrays with numbers between them")
        view = self.indexing.index(array, [*plain, *[ALL] * count, *behind])
        axis = sum(isinstance(item, Slice) for item in plain)
        offsets = self._of_mask(view, axis, masks[0]) if masks else self._of(view, axis, arrays)
        kept = [n for n in range(view.rank) if not axis <= n < axis + count]
        rest = replace(
            view,
            sizes=tuple(view.sizes[n] for n in kept),
            strides=tuple(view.strides[n] for n in kept),
            where=None,
            is_whole=False,
        )
        return Picked(rest, axis, offsets)

    def places(self, mask: Array) -> Strided:
        """The places of a vector for which a mask holds."""
        return self._of_mask(Strided("", I64, "", mask.sizes, ("1",)), 0, mask)

    def _of_mask(self, view: Strided, axis: int, mask: Array) -> Strided:
        """Where the elements are for which a mask holds."""
        for n, size in enumerate(mask.sizes):
            own = view.sizes[axis + n]
            if own != size:
                wrong = f"{own.text} != {size.text}"
                self.numbers.fault(wrong, "LOOP_MASK", str(axis + n), own.text, size.text)
        strides = view.strides[axis : axis + mask.rank]
        if isinstance(mask, Strided):
            for known in self.picks:
                if (known.mask, known.strides) == (mask, strides) and self._still_holds(known):
                    return known.offsets
        room = self.view_in(self.room(), I64, mask.sizes)
        count = self.text.fresh("count")
        self.text.add(f"int64 {count} = 0;")
        self.each(
            mask.sizes[:-1],
            lambda places: self._note(view, axis, mask, places, f"{room.pointer}, {count}"),
            are_apart=False,
        )
        size = Size.of(self.text.named("int64", count, "n"))
        self.indexing.facts.learn(size.text, Size.of(0), Size.of(LONGEST))
        offsets = replace(room, sizes=(size,), strides=("1",))
        if isinstance(mask, Strided):
            self.picks.append(Pick(mask, strides, offsets, self.text.mark()))
        return offsets

    def forget_picks(self, base: str) -> None:
        """Forget what masks have chosen that lie in an array which is written to."""
        self.picks = [known for known in self.picks if known.mask.base != base]

    def _still_holds(self, known: Pick) -> bool:
        """Whether the block goes on in which that was noted, and variables of both arrays stay."""
        lines = self.text.since(known.since)
        mask, strides = known.mask, (*known.mask.strides, *known.strides)
        words = " ".join((mask.pointer, *strides, *(size.text for size in mask.sizes)))
        assigned = {f"{variable} = " for variable in re.findall(r"[A-Za-z_]\w*", words)}
        return lines is not None and not any(
            line.lstrip().startswith(tuple(assigned)) for line in lines
        )

    def _note(
        self, view: Strided, axis: int, mask: Array, places: Sequence[str], noted: str
    ) -> None:
        """Where the elements of a row of a mask are: as bytes first, which are seldom set."""
        k, j, row, end, chosen = (self.text.fresh(n) for n in ("k", "j", "row", "end", "chosen"))
        size = mask.sizes[-1].text
        with self.text.block(f"for (int64 {row} = 0; {row} < {size}; {row} += LOOP_CHOSEN)"):
            self.text.add(f"bool {chosen}[LOOP_CHOSEN];")
            self.text.add(f"const int64 {end} = loop_end({row}, {size});")

            def choose() -> None:
                at = self.text.named("int64", f"{row} + {j}", "k")
                self.text.add(f"{chosen}[{j}] = {self.element(mask, [*places, at])};")

            self.nested([f"for (int64 {j} = 0; {j} < {end}; ++{j})"], choose)
            where = f"[&](int64 {k}) {{ return {_sum(view, axis, [*places, k])}; }}"
            self.text.add(f"loop_note({chosen}, {row}, {end}, {noted}, {where});")
        self.text.add(f"LOOP_TICK({mask.sizes[-1].factor});")

    def _of(self, view: Strided, axis: int, arrays: Sequence[Array]) -> Strided:
        """Where the elements are at the places that index arrays name."""
        if any(a.dtype.kind not in "iu" for a in arrays):
            raise NoLoopError("an index that is neither an integer nor a slice")
        sizes, places_of = self.broadcast([a.sizes for a in arrays])
        made = self.view_in(self.room(), I64, sizes)

        def note(at: Sequence[str]) -> None:
            found = []
            for n, (own, array) in enumerate(zip(places_of, arrays, strict=True)):
                size = view.sizes[axis + n].factor
                asked = self.element(array, own(at))
                text = f"(int64){asked} < 0 ? (int64){asked} + {size} : (int64){asked}"
                place = self.text.named("int64", text, "i")
                wrong = f"(uint64){place} >= (uint64){size}"
                self.numbers.fault(wrong, "LOOP_INDEX", asked, str(axis + n), size)
                found.append(place)
            self.put_at(made, at, _sum(view, axis, found))

        self.each(sizes, note)
        return made

    def picked(self, found: Picked) -> Elements:
        """What is picked, as an array of its own."""
        rest = found.rest
        rank = len(found.sizes)
        # no element is known to be where another array has it
        read = replace(
            rest,
            sizes=found.sizes,
            strides=("picked",) * rank,
            is_turned=found.axis > 0 or found.offsets.rank > 1 or rest.is_turned,
        )
        return Elements(
            rest.dtype,
            found.sizes,
            lambda places: self.text.named(
                rest.dtype.register, f"load({self._place(found, places)})"
            ),
            (read, found.offsets),
        )

    def _place(self, found: Picked, places: Sequence[str]) -> str:
        end = found.axis + found.offsets.rank
        offset = self.element(found.offsets, places[found.axis : end])
        return f"{found.rest.at([*places[: found.axis], *places[end:]])} + {offset}"

    def put_picked(self, found: Picked, value: Computed) -> None:
        """Assign to what is picked; of one place that is picked twice the last value stays."""
        if isinstance(value, Number):
            text = self.converted(value, found.rest.dtype)
            self._each_picked(found, lambda _: text)
            return
        reads = (value,) if isinstance(value, Strided) else value.reads
        if any(read.base == found.rest.base for read in reads):
            value = self.apart(value)
        target = replace(found.rest, sizes=found.sizes, strides=("0",) * len(found.sizes))
        places_of, held = self.onto(target, value), value

        def element(places: Sequence[str]) -> str:
            text = self.element(held, places_of(places))
            return self.cast(text, held.dtype, target.dtype)

        self._each_picked(found, element)

    def _each_picked(self, found: Picked, element: Callable[[Sequence[str]], str]) -> None:
        def put(places: Sequence[str]) -> None:
            text = element(places)
            self.text.add(f"store({self._place(found, places)}, {text});")

        self.each(found.sizes, put, are_apart=False)


def _is_array(item: Item | Array) -> bool:
    return isinstance(item, Strided | Elements)


def _sum(view: Strided, axis: int, places: Sequence[str]) -> str:
    """How far places along some axes are from the first element."""
    strides = view.strides[axis : axis + len(places)]
    factors = along(places, ["" if s == "1" else s for s in strides])
    return " + ".join(f for f in factors if f != "0") or "(int64)0"
