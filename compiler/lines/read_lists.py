"""Lists of Python that a loop reads: what C has of them, and the types of their items."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any

from opweave.compiler.lines.eithers import GROUPS
from opweave.compiler.lines.values import Number, NumberType

# A list that has no items before the loop.
NOTHING = "0, 0"
# Numbers of a tuple, at most.
WIDEST = 8
# Integers of a list that a loop only reads may be so large.
NARROW = 1 << 40
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
        has_parts: slices of it are read, which do not change with it.
        is_narrow: integers are no longer than ``NARROW``.
        has_wide: a longer one was stored.
        rows: C texts of where the lists of a list begin, the end last, and how many there are.
    """

    name: str
    c_name: str
    given: str = NOTHING
    columns: tuple[NumberType | str, ...] = ()
    is_tuples: bool = False
    is_changed: bool = False
    is_new: bool = False
    rows: tuple[str, str] | None = None
    is_narrow: bool = False
    has_wide: bool = False
    has_parts: bool = False

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


def kinds_of_items(items: list[Any]) -> Any:
    """Types of the items of a list of numbers, or of each number of tuples of such.

    None where a loop does not read it; the second says whether items are tuples, the third whether
    these are in lists of a list.
    """
    kinds = frozenset(map(type, items))
    if kinds == {list}:
        inner = kinds_of_items([*chain.from_iterable(items)])
        return None if inner is None or inner[2] else (*inner[:2], True)
    if kinds != {tuple}:
        return ((kinds,), False, False) if kinds else ((), False, False)
    if len({*map(len, items)}) > 1 or not 0 < len(items[0]) <= WIDEST:
        return None
    columns = zip(*items, strict=True)
    return tuple(frozenset(map(type, column)) for column in columns), True, False


def number_c(column: NumberType | str) -> str:
    """The type of C of a column."""
    return GROUPS[column].dtype.register if isinstance(column, str) else Number(column, "").c_type
