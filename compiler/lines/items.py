"""Lists of Python that a loop reads: of numbers, or of tuples of such, in words of C.

An item is a word for each of its numbers, and one more where these are of several types, which
says of what type it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.again import AgainError
from opweave.compiler.lines.applied import bounds_of
from opweave.compiler.lines.eithers import GROUPS, kinds_of, said_of, whole_of
from opweave.compiler.lines.numbers import Numbers
from opweave.compiler.lines.read_lists import NARROW, NUMPYS, WHOLE, WIDEST, ReadList, number_c
from opweave.compiler.lines.values import (
    LONGEST,
    Held,
    ItemPlace,
    ItemRow,
    Items,
    Number,
    NumberType,
    Several,
    Size,
)


class ItemLists:
    """The lists that a loop reads.

    Attributes:
        all: by their names in C.
        known: names by the groups of types that they are known to have, see ``AgainError``.
        added: what the loop adds to a list, of one that is read before it has had an item.
    """

    def __init__(self, numbers: Numbers):
        self.numbers, self.text = numbers, numbers.text
        self.all: dict[str, ReadList] = {}
        self.known: Any = {}
        self.added: Callable[[ReadList], Held | None] = lambda _: None

    def enter(self, name: str, kinds: Sequence[frozenset[NumberType]], is_tuples: bool) -> Items:
        """A list that the call gives, with the types of its numbers."""
        found = self._made(name, name)
        found.is_tuples = is_tuples
        found.columns = tuple(self._column(found, n, own) for n, own in enumerate(kinds))
        return Items(found.c_name)

    def new(self, wish: str, prefix: str, values: Sequence[Held]) -> Items:
        """A list that the loop makes, for a name: each time with these items."""
        c_name = f"{prefix}{wish} list"
        found = next((x for x in self.all.values() if x.name == c_name), None)
        found = found or self._made(c_name, f"{prefix}{wish}")
        found.is_changed = found.is_new = True
        self.text.add(f"{found.c_name}.count = 0;")
        for value in values:
            self.append(Items(found.c_name), value)
        return Items(found.c_name)

    def _made(self, name: str, wish: str) -> ReadList:
        found = ReadList(name, self.text.unused(f"{wish}_items"))
        self.all[found.c_name] = found
        return found

    def _column(self, owner: ReadList, place: int, kinds: frozenset[NumberType]) -> Any:
        """The type of numbers, or the group of several."""
        name = f"{owner.name} {place}"
        known = [w for w in reversed(GROUPS) if name in self.known.get(w, ())]
        found = next((what for what in known if kinds <= GROUPS[what].kinds), None)
        if found is None and len(kinds) > 1:
            found = next((what for what, group in GROUPS.items() if kinds <= group.kinds), None)
            if found is None:
                raise NoLoopError(f"{owner.name}, a list of numbers of several types")
        return found or next(iter(kinds))

    def count_of(self, held: Items | ItemRow) -> str:
        """C text of how many items a list has now."""
        if isinstance(held, ItemRow):
            return held.count
        rows = self.all[held.name].rows
        return rows[1] if rows is not None else f"{held.name}.count"

    def at(self, held: Items | ItemRow, place: str) -> Held:
        """The item at a place that there is."""
        return self._row(held, place) or self.item(self._place(held, place))

    def _row(self, held: Items | ItemRow, place: str) -> ItemRow | None:
        """A list at a place of a list of lists; None of other lists."""
        if not isinstance(held, Items) or (rows := self.all[held.name].rows) is None:
            return None
        start = self.text.named("int64", f"{rows[0]}[{place}]")
        count = self.text.named("int64", f"{rows[0]}[{place} + 1] - {start}", "n")
        return ItemRow(self.all[held.name].c_name, start, count)

    def _place(self, held: Items | ItemRow, place: str) -> ItemPlace:
        if isinstance(held, ItemRow):
            return ItemPlace(held.owner, f"{held.start} + {place}")
        return ItemPlace(held.name, place)

    def count(self, held: Items | ItemRow) -> Number:
        """How many items a list has now."""
        text = self.text.named("int64", self.count_of(held), "n")
        return Number(int, text, Size.of(text), 0, LONGEST)

    def has_any(self, held: Items | ItemRow) -> Number:
        """Whether it has an item now."""
        text = self.text.named("bool", f"{self.count_of(held)} > 0")
        return Number(bool, text, low=0, high=1)

    def place(
        self, held: Items | ItemRow, index: Number, is_target: bool = False
    ) -> ItemPlace | ItemRow:
        """Where an item is.

        Raises:
            NoLoopError: the index is no integer; a list in a list is to be another one.
        """
        self.check_read(held)
        at = self._at(held, index, f"{int(is_target)}")
        row = self._row(held, at)
        if row is not None and is_target:
            raise NoLoopError("an assignment to a list in a list")
        return row or self._place(held, at)

    def _at(self, held: Items | ItemRow, index: Number, what: str) -> str:
        if not index.is_integer or index.maybe:
            raise NoLoopError("an index of a list that is no integer")
        at, count = f"(int64){index.text}", self.count_of(held)
        if index.low < 0:
            at = f"{index.text} < 0 ? {index.text} + {count} : {index.text}"
        place = self.text.named("int64", at, "i")
        self.numbers.fault(f"(uint64){place} >= (uint64){count}", "LOOP_LIST", what)
        return place

    def item(self, place: ItemPlace) -> Held:
        """The item at a place."""
        owner = self.all[place.owner]
        numbers = [self._number(place, at, column) for at, column in owner.places()]
        return Several(tuple(numbers)) if owner.is_tuples else numbers[0]

    def _number(self, place: ItemPlace, at: int, column: NumberType | str) -> Number:
        if not isinstance(column, str):
            c_type = Number(column, "").c_type
            text = self.text.named(c_type, f"{place.owner}.get<{c_type}>({place.at}, {at})")
            size = Size.of(text) if column is int else None
            low, high = (0, 1) if column is bool else bounds_of(column)[1:]
            if column is int and self._is_narrow(self.all[place.owner]):
                low, high = -NARROW, NARROW
            return Number(column, text, size, low, high)
        dtype = GROUPS[column].dtype
        text = f"{place.owner}.get<{dtype.register}>({place.at}, {at})"
        text = self.text.named(dtype.register, text)
        bits = self.text.named("int64", f"{place.owner}.get<int64>({place.at}, {at + 1})")
        maybe = self.text.named("bool", f"{bits} & {NUMPYS}")
        whole = self.text.named("bool", f"{bits} & {WHOLE}") if column == "real" else ""
        size = Size.of(text) if column == "whole" else None
        return Number(dtype, text, size, maybe=maybe, whole=whole)

    def check_parts(self, owner: ReadList) -> None:
        """Hold that a list does not change of which slices are read."""
        if owner.has_parts and owner.is_changed:
            raise NoLoopError("a slice of a list that changes")

    def _is_narrow(self, owner: ReadList) -> bool:
        """Whether the integers of a list are known to be as short as those that a call gives."""
        owner.is_narrow = owner.is_read and owner.name not in self.known.get("wide", ())
        if owner.is_narrow and owner.has_wide:
            raise AgainError("wide", owner.name)
        return owner.is_narrow

    def put(self, place: ItemPlace, value: Held) -> None:
        """Assign to an item."""
        owner = self.all[place.owner]
        values = self._fitted(owner, value)
        self._store(owner, place.at, values)
        owner.is_changed = True
        self.check_parts(owner)
        self.text.add(f"{owner.c_name}.is_changed = true;")

    def append(self, held: Items, value: Held) -> None:
        self._add(held, value, "more()", f"{held.name}.count - 1")

    def insert(self, held: Items, index: Number, value: Held) -> None:
        """Put an item before another one; a place beyond the list is its begin or its end."""
        if not index.is_integer or index.maybe:
            raise NoLoopError("insert at what is no integer")
        count = f"{held.name}.count"
        at = self.text.named("int64", f"slice_bound({index.text}, {count}, 0, {count})", "i")
        self._add(held, value, f"insert({at})", at)

    def _add(self, held: Items, value: Held, room: str, at: str) -> None:
        owner = self.all[held.name]
        if owner.rows is not None:
            raise NoLoopError("a list of lists that changes its length")
        values = self._fitted(owner, value)
        line = f"{owner.c_name}.{room}"
        self.text.add(f"if (!{line}) LOOP_FAULT(LOOP_NO_MEMORY, {self.text.line}, 0, 0, 0);")
        self._store(owner, at, values)
        owner.is_changed = True
        self.check_parts(owner)

    def pop(self, held: Items, index: Number | None) -> Held:
        """Take out an item, and return it."""
        owner = self._columns(held)
        self.numbers.fault(f"{held.name}.count == 0", "LOOP_LIST", "2")
        at = f"{held.name}.count - 1"
        place = self._at(held, index, "3") if index is not None else self.text.named("int64", at)
        found = self.item(ItemPlace(held.name, place))
        self.text.add(f"{held.name}.drop({place});")
        owner.is_changed = True
        self.check_parts(owner)
        return found

    def clear(self, held: Items) -> None:
        if self.all[held.name].rows is not None:
            raise NoLoopError("a list of lists that changes its length")
        self.text.add(f"{held.name}.count = 0, {held.name}.is_changed = true;")
        self.all[held.name].is_changed = True
        self.check_parts(self.all[held.name])

    def check_read(self, held: Items | ItemRow) -> ReadList:
        """Hold that it is known what items are.

        Raises:
            NoLoopError: the list has had none so far.
        """
        owner = self.all[held.owner if isinstance(held, ItemRow) else held.name]
        if not owner.columns and owner.rows is None and (value := self.added(owner)) is not None:
            self._fitted(owner, value)
        if not owner.columns:
            raise NoLoopError("a list that has no items when it is read")
        return owner

    def _columns(self, held: Items) -> ReadList:
        """The same of a list that holds no others."""
        owner = self.check_read(held)
        if owner.rows is not None:
            raise NoLoopError("a list of lists that changes its length")
        return owner

    def _fitted(self, owner: ReadList, value: Held) -> list[Number]:
        """The numbers of an item, of the types that the list has."""
        parts = value.items if isinstance(value, Several) else (value,)
        is_tuples = isinstance(value, Several)
        numbers = [p for p in parts if isinstance(p, Number) and p.is_word]
        if len(numbers) < len(parts) or not 0 < len(numbers) <= WIDEST:
            raise NoLoopError("a list of other than numbers, or tuples of such")
        if isinstance(value, Several) and value.is_list:
            raise NoLoopError("a list of lists")
        if not owner.columns:
            owner.is_tuples = is_tuples
            owner.columns = tuple(
                self._column(owner, n, kinds_of(number)) for n, number in enumerate(numbers)
            )
        if owner.is_tuples != is_tuples or len(numbers) != len(owner.columns):
            raise NoLoopError("a list of items of several kinds")
        for place, (column, number) in enumerate(zip(owner.columns, numbers, strict=True)):
            self._check(owner, place, column, number)
        return numbers

    def _check(self, owner: ReadList, place: int, column: Any, number: Number) -> None:
        is_short = -NARROW <= number.low <= number.high <= NARROW
        if column is int and not is_short:
            owner.has_wide = True
            if owner.is_narrow:
                raise AgainError("wide", owner.name)
        has = GROUPS[column].kinds if isinstance(column, str) else frozenset((column,))
        if kinds_of(number) <= has and (isinstance(column, str) or not number.maybe):
            return
        what = next((w for w, g in GROUPS.items() if has | kinds_of(number) <= g.kinds), None)
        if what is None:
            raise NoLoopError(f"{owner.name}, a list of numbers of several types")
        raise AgainError(what, f"{owner.name} {place}")

    def _store(self, owner: ReadList, at: str, numbers: Sequence[Number]) -> None:
        for (place, column), number in zip(owner.places(), numbers, strict=True):
            text = number.text
            if isinstance(column, str):
                text = f"({GROUPS[column].dtype.register}){text}"
                said = f"(({said_of(number)}) ? {NUMPYS} : 0)"
                if column == "real":
                    said += f" | (({whole_of(number)}) ? {WHOLE} : 0)"
                self.text.add(f"{owner.c_name}.put({at}, {place + 1}, (int64)({said}));")
            self.text.add(f"{owner.c_name}.put({at}, {place}, ({number_c(column)}){text});")
