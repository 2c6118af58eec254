"""Lists of Python that a loop appends numbers or arrays to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.again import AgainError
from opweave.compiler.lines.text import Text
from opweave.compiler.lines.values import Held, Number, NumberType, Several, Size
from opweave.opcodes.dtypes import DType


@dataclass(frozen=True)
class Appended:
    """What a loop appends to one list.

    Attributes:
        name: of the list, in Python.
        c_name: of what C appends to; it hands over what it has, however the loop ends.
        type: of the numbers, or of the elements of arrays.
        sizes: of each array, in sums of what the call gives; none of numbers.
        kind: tuple or list, where items are such of so many numbers.
    """

    name: str
    c_name: str
    type: NumberType
    c_type: str
    sizes: tuple[Size, ...] = ()
    kind: Any = None

    @property
    def words(self) -> int:
        """Words that it leaves: an address, how often it was appended to, and the extents."""
        return 2 + len(self.sizes)


@dataclass
class KeptName:
    """A name whose value is handed over however the loop ends.

    Attributes:
        kinds: what it may hold, with the number of axes; -1 of numbers.  The first word says
            which, counted from 1; 0 where nothing was assigned.
    """

    name: str
    c_name: str
    kinds: list[tuple[NumberType, int]] = field(default_factory=list)

    def kind(self, held: NumberType, rank: int = -1) -> int:
        """The number of what it may hold."""
        if (held, rank) not in self.kinds:
            self.kinds.append((held, rank))
        return self.kinds.index((held, rank)) + 1

    @property
    def words(self) -> int:
        """Which, a number or the address of an array, and extents."""
        return 2 + max([0, *(rank for _, rank in self.kinds)])


class Lists:
    """The lists that a loop appends to."""

    def __init__(self, text: Text):
        self.text = text
        self.appended: dict[str, Appended] = {}

    def append(self, name: str, value: Held) -> None:
        """Append a number to the list of a name.

        Raises:
            NoLoopError: what is appended is no number, or not always of one type.
        """
        if not isinstance(value, Number):
            raise NoLoopError("a list of other than arrays, or numbers of one type")
        if value.maybe:
            raise AgainError("items", name)
        if not value.words:
            raise NoLoopError(f"a list of {value.type_name}")
        found = self._list(name, value.type, value.c_type)
        line = f"{found.c_name}.append({value.text})"
        self.text.add(f"if (!{line}) LOOP_FAULT(LOOP_NO_MEMORY, {self.text.line}, 0, 0, 0);")

    def append_several(self, name: str, values: Several) -> None:
        """Append a tuple or a list of numbers to the list of a name.

        Raises:
            NoLoopError: they are not of one type.
        """
        numbers = [v for v in values.items if isinstance(v, Number) and v.words and not v.maybe]
        if len(numbers) < len(values.items) or len({number.type for number in numbers}) != 1:
            raise AgainError("items", name)
        kind, first = list if values.is_list else tuple, numbers[0]
        found = self._list(name, first.type, first.c_type, (Size.of(len(numbers)),), kind)
        room = self._more(found)
        for place, number in enumerate(numbers):
            self.text.add(f"{room}[{place}] = {number.text};")

    def room_for(self, name: str, dtype: DType, sizes: tuple[Size, ...]) -> str:
        """The place of one more array in the list of a name: a constant of C.

        Raises:
            NoLoopError: the list has others.
        """
        return self._more(self._list(name, dtype, dtype.storage, sizes))

    def _more(self, found: Appended) -> str:
        count = " * ".join(size.factor for size in found.sizes)
        room = self.text.named("auto", f"{found.c_name}.more({count})", "item")
        self.text.add(f"if (!{room}) LOOP_FAULT(LOOP_NO_MEMORY, {self.text.line}, 0, 0, 0);")
        return room

    def _list(
        self,
        name: str,
        kind: NumberType,
        c_type: str,
        sizes: tuple[Size, ...] = (),
        items: Any = None,
    ) -> Appended:
        found = self.appended.get(name)
        if found is None:
            c_name = self.text.unused(f"{name}_appended")
            found = self.appended[name] = Appended(name, c_name, kind, c_type, sizes, items)
        if (found.type, found.sizes, found.kind) != (kind, sizes, items):
            raise AgainError("items", name)
        return found
