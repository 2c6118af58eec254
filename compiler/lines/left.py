"""What a loop in C leaves, and where its words stand: results or an error, lists, and steps."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from opweave.compiler.lines.lists import Appended, KeptName
from opweave.compiler.lines.read_lists import ReadList
from opweave.compiler.lines.values import NumberType

# Words that say what went wrong.
FAULT_WORDS = 4
# Words of a list that is read.
ITEMS_WORDS = 3


class Result(NamedTuple):
    """What a name holds behind the loop: so many words.

    Attributes:
        type: of a number, or of an array's elements.
        words: of a number those that hold it; of one of Python or of NumPy another one says which,
            and the next whether it is Python's integer; of an array the address of memory that
            is the caller's now, and its extents.
        rank: of an array, else -1.
        perhaps: the last word says whether the name is bound.
        has_id: the last word says which array it is: others with it are the same.
    """

    name: str
    type: NumberType
    words: tuple[str, ...]
    rank: int = -1
    perhaps: bool = False
    has_id: bool = False


def words_of(results: Sequence[Result]) -> int:
    """How many words results or an error take."""
    return max(FAULT_WORDS, sum(len(result.words) for result in results))


def places_of(
    results: Sequence[Result], lists: Iterable[Appended]
) -> Iterator[tuple[Appended, int]]:
    """Where the words of each list begin."""
    place = words_of(results)
    for each in lists:
        yield each, place
        place += each.words


def places_of_kept(
    results: Sequence[Result], lists: Iterable[Appended], kept: Iterable[KeptName]
) -> Iterator[tuple[KeptName, int]]:
    """Where the words of each name begin that is kept."""
    place = words_of(results) + sum(each.words for each in lists)
    for each in kept:
        yield each, place
        place += each.words


def places_of_items(
    results: Sequence[Result],
    lists: Iterable[Appended],
    kept: Iterable[KeptName],
    items: Iterable[ReadList],
) -> Iterator[tuple[ReadList, int]]:
    """Where the words of each list begin that is read: its memory, its length, if it changed."""
    behind = [each.words for each in lists] + [each.words for each in kept]
    place = words_of(results) + sum(behind)
    for each in items:
        yield each, place
        place += ITEMS_WORDS


def place_of_steps(
    results: Sequence[Result],
    lists: Iterable[Appended],
    kept: Iterable[KeptName],
    items: Sequence[ReadList],
) -> int:
    """The last word, which says how many steps there were: ``LOOP_TICK`` counts them."""
    behind = [each.words for each in lists] + [each.words for each in kept]
    return words_of(results) + sum(behind) + ITEMS_WORDS * len(items)
