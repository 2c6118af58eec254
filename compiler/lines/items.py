"""Lists of Python that a loop reads: of numbers, or of tuples of such, in words of C.

An item is a word for each of its numbers, and one more where these are of several types, which
says of what type it is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.applied import bounds_of
from opweave.compiler.lines.eithers import GROUPS, kinds_of, said_of, whole_of
from opweave.compiler.lines.numbers import Numbers
from opweave.compiler.lines.values import (
    LONGEST,
    AgainError,
    Held,
    ItemPlace,
    Items,
    Number,
    NumberType,
    Several,
    Size,
)

# A list that has no items before the loop.
NOTHING = "0, 0"
# Numbers of a tuple, at most.
WIDEST = 8
# Bits of the word that says of what type a number is.
NUMPYS, WHOLE = 1, 2


@dataclass
class ReadList:
    """A list, and what C has of it.

    Attributes:
        name: of Python, where the call gives it; of one that the loop makes no name of Python.
        given: C texts of its words and of how many items it has before the loop.
        columns: of each number of an item its type, or its group of several types; none where the
            list has had no items so far.
        is_new: whether the loop makes it.
        is_tuples: whether items are tuples.
        is_changed: whether the loop changes it.
    """

    name: str
    c_name: str
    given: str = NOTHING
    columns: tuple[NumberType | str, ...] = ()
    is_tuples: bool = False
    is_changed: bool = False
    is_new: bool = False

    @property
    def is_read(self) -> bool:
        """Whether C gets its items; of others it makes all."""
        return self.given != NOTHING

    @property
    def words(self) -> int:
        """How many an item has."""
        return sum(1 + isinstance(column, str) for column in self.columns) or 1

    def places(self) -> Iterator[tuple[int, NumberType | str]]:
        """Where the word of each number is."""
        place = 0
        for column in self.columns:
            yield place, column
            place += 1 + isinstance(column, str)


class ItemLists:
    """The lists that a loop reads.

    Attributes:
        all: by their names in C.
        known: names by the groups of types that they are known to have, see ``AgainError``.
    """

    def __init__(self, numbers: Numbers):
        self.numbers, self.text = numbers, numbers.text
        self.all: dict[str, ReadList] = {}
        self.known: Any = {}

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

    def count(self, held: Items) -> Number:
        """How many items a list has now."""
        text = self.text.named("int64", f"{held.name}.count", "n")
        return Number(int, text, Size.of(text), 0, LONGEST)

    def has_any(self, held: Items) -> Number:
        """Whether it has an item now."""
        text = self.text.named("bool", f"{held.name}.count > 0")
        return Number(bool, text, low=0, high=1)

    def place(self, held: Items, index: Number, is_target: bool = False) -> ItemPlace:
        """Where an item is.

        Raises:
            NoLoopError: the index is no integer.
        """
        self._columns(held)
        at = self._at(held, index, f"{int(is_target)}")
        return ItemPlace(held.name, at)

    def _at(self, held: Items, index: Number, what: str) -> str:
        if not index.is_integer or index.maybe:
            raise NoLoopError("an index of a list that is no integer")
        at, count = f"(int64){index.text}", f"{held.name}.count"
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
            return Number(column, text, size, low, high)
        dtype = GROUPS[column].dtype
        text = f"{place.owner}.get<{dtype.register}>({place.at}, {at})"
        text = self.text.named(dtype.register, text)
        bits = self.text.named("int64", f"{place.owner}.get<int64>({place.at}, {at + 1})")
        maybe = self.text.named("bool", f"{bits} & {NUMPYS}")
        whole = self.text.named("bool", f"{bits} & {WHOLE}") if column == "real" else ""
        size = Size.of(text) if column == "whole" else None
        return Number(dtype, text, size, maybe=maybe, whole=whole)

    def put(self, place: ItemPlace, value: Held) -> None:
        """Assign to an item."""
        owner = self.all[place.owner]
        values = self._fitted(owner, value)
        self._store(owner, place.at, values)
        owner.is_changed = True
        self.text.add(f"{owner.c_name}.is_changed = true;")

    def append(self, held: Items, value: Held) -> None:
        owner = self.all[held.name]
        values = self._fitted(owner, value)
        line = f"{owner.c_name}.more()"
        self.text.add(f"if (!{line}) LOOP_FAULT(LOOP_NO_MEMORY, {self.text.line}, 0, 0, 0);")
        self._store(owner, f"{owner.c_name}.count - 1", values)
        owner.is_changed = True

    def pop(self, held: Items, index: Number | None) -> Held:
        """Take out an item, and return it."""
        owner = self._columns(held)
        self.numbers.fault(f"{held.name}.count == 0", "LOOP_LIST", "2")
        at = f"{held.name}.count - 1"
        place = self._at(held, index, "3") if index is not None else self.text.named("int64", at)
        found = self.item(ItemPlace(held.name, place))
        self.text.add(f"{held.name}.drop({place});")
        owner.is_changed = True
        return found

    def clear(self, held: Items) -> None:
        self.text.add(f"{held.name}.count = 0, {held.name}.is_changed = true;")
        self.all[held.name].is_changed = True

    def check_read(self, held: Items) -> ReadList:
        """Hold that it is known what items are.

        Raises:
            NoLoopError: the list has had none so far.
        """
        return self._columns(held)

    def _columns(self, held: Items) -> ReadList:
        owner = self.all[held.name]
        if not owner.columns:
            raise NoLoopError("a list that has no items when it is read")
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


def kinds_of_items(items: list[Any]) -> Any:
    """Types of the items of a list of numbers, or of each number of tuples of such.

    None where a loop does not read it; the second says whether items are tuples.
    """
    kinds = frozenset(map(type, items))
    if kinds != {tuple}:
        return ((kinds,), False) if kinds else ((), False)
    if len({*map(len, items)}) > 1 or not 0 < len(items[0]) <= WIDEST:
        return None
    return tuple(frozenset(map(type, column)) for column in zip(*items, strict=True)), True


def number_c(column: NumberType | str) -> str:
    """The type of C of a column."""
    return GROUPS[column].dtype.register if isinstance(column, str) else Number(column, "").c_type
