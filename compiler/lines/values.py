"""What the names of a loop hold while it is lowered: numbers, arrays in memory, and elements."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from opweave.compiler.captures.source import NoLoopError
from opweave.opcodes.dtypes import DType

# A Python number by its type (bool, int, float or complex), a NumPy scalar by its dtype.
NumberType = DType | type
# Integers of Python are 64 bits here; what may leave them is checked.
LEAST, MOST = -(1 << 63), (1 << 63) - 1
LONGEST = 1 << 48  # of an axis in memory

C_TYPES: dict[NumberType, str] = {bool: "bool", int: "int64", float: "double"}
C_TYPES[complex] = COMPLEX = "complex128"


@dataclass(frozen=True)
class Size:
    """A number of elements: sums of what the call gives, or what C has computed.

    >>> Size.of("n0").plus(-2).text
    'n0 - 2'
    """

    terms: tuple[tuple[str, int], ...] = ()
    constant: int = 0

    @classmethod
    def of(cls, item: str | int) -> Size:
        return cls((), item) if isinstance(item, int) else cls(((item, 1),))

    @property
    def is_one(self) -> bool:
        return not self.terms and self.constant == 1

    def plus(self, other: Size | int, sign: int = 1) -> Size:
        other = Size.of(other) if isinstance(other, int) else other
        terms = dict(self.terms)
        for name, factor in other.terms:
            terms[name] = terms.get(name, 0) + sign * factor
        left = tuple(sorted((n, f) for n, f in terms.items() if f))
        return Size(left, self.constant + sign * other.constant)

    @property
    def factor(self) -> str:
        """Text of it within a product."""
        return self.text if " " not in self.text else f"({self.text})"

    @property
    def text(self) -> str:
        parts = [name if factor == 1 else f"{factor} * {name}" for name, factor in self.terms]
        if self.constant or not parts:
            parts.append(str(self.constant))
        return " + ".join(parts).replace("+ -", "- ")


@dataclass(frozen=True)
class Number:
    """A number in a register of C.

    Attributes:
        type: Python's type or NumPy's dtype.
        text: C text of it; it has no side effects.
        size: of an integer, what it is a sum of; names there never change.
        low, high: bounds of an integer.
        known: its value, where it is written out.
        outside: an expression of Python that gives it before the loop, for Python's numbers.
        maybe: C text that says whether it is one of NumPy; if not, it is Python's; see eithers.py.
        whole: of such a float64, C text that says whether it is Python's integer.
    """

    type: NumberType
    text: str
    size: Size | None = None
    low: int = LEAST
    high: int = MOST
    known: Any = None
    outside: ast.expr | None = field(default=None, compare=False)
    maybe: str = ""
    whole: str = ""

    @property
    def is_python(self) -> bool:
        return isinstance(self.type, type)

    @property
    def is_integer(self) -> bool:
        return self.type in (int, bool) or getattr(self.type, "kind", "") in ("i", "u")

    @property
    def is_pair(self) -> bool:
        """Whether it is a complex number of two words of 64 bits."""
        return self.c_type == COMPLEX

    @property
    def is_word(self) -> bool:
        """Whether a word of 64 bits holds it."""
        return not self.is_pair and not getattr(self.type, "round", "")

    @property
    def words(self) -> tuple[str, ...]:
        """C texts of the words by which a call gets it; none where it does not."""
        pair = (f"{self.text}.re", f"{self.text}.im")
        return pair if self.is_pair else (self.text,) if self.is_word else ()

    @property
    def c_type(self) -> str:
        return self.type.register if isinstance(self.type, DType) else C_TYPES[self.type]

    @property
    def type_name(self) -> str:
        """For messages and names of variables: ``float``, ``f64``."""
        return str(self.type) if isinstance(self.type, DType) else self.type.__name__


@dataclass(frozen=True)
class Strided:
    """Elements of an array as they lie in memory.

    Attributes:
        base: C name of the array that has the memory.
        pointer: C text of the place of the first element.
        sizes, strides: of each axis; strides are C texts, counted in elements.
        where: of each axis of the base, first and last place that is looked at; None where that
            is not known.
        is_whole: it is all of an array, as that lies.
        is_turned: it may lie in another order than row by row.
        is_locked: nobody may write to it.
        is_listed: a list of Python may have the array, since its name holds it.
        one_with: bases of copies that are the same array in Python.
    """

    base: str
    dtype: DType
    pointer: str
    sizes: tuple[Size, ...]
    strides: tuple[str, ...]
    where: tuple[tuple[Size, Size], ...] | None = None
    is_whole: bool = False
    is_turned: bool = False
    is_locked: bool = False
    is_listed: bool = field(default=False, compare=False)
    one_with: frozenset[str] = field(default=frozenset(), compare=False)

    @property
    def rank(self) -> int:
        return len(self.sizes)

    def at(self, places: Sequence[str]) -> str:
        """C text of the place of an element."""
        terms = [self.pointer]
        for place, stride in zip(places, self.strides, strict=True):
            if place != "0":
                terms.append(place if stride == "1" else f"{place} * {stride}")
        return " + ".join(terms)


@dataclass(frozen=True)
class Elements:
    """An array that is computed element by element, and does not lie in memory.

    Attributes:
        element: C text of an element, by the places along the axes; it may write lines before.
        reads: what it reads.
        cost: of an element, in instructions, roughly.
        lies_at: the array where all of it lies already, which nothing else has.
    """

    dtype: DType
    sizes: tuple[Size, ...]
    element: Callable[[Sequence[str]], str]
    reads: tuple[Strided, ...] = ()
    cost: int = 0
    lies_at: str = ""

    @property
    def rank(self) -> int:
        return len(self.sizes)


Array = Strided | Elements
Computed = Number | Strided | Elements


@dataclass(frozen=True)
class Unchanging:
    """What stays the same and is no number of the loop: a module, a function, None, a text."""

    value: Any


@dataclass(frozen=True)
class Listed:
    """A list of Python, to append to."""

    name: str


@dataclass(frozen=True)
class Items:
    """A list of Python whose items C reads, see items.py."""

    name: str


@dataclass(frozen=True)
class ItemRow:
    """A list in such a list: C texts of its first item, and of how many it has.

    ``is_part``: it is a slice, which is a list of its own.
    """

    owner: str
    start: str
    count: str
    is_part: bool = False


@dataclass(frozen=True)
class ItemPlace:
    """An item of such a list, by the C text of its place."""

    owner: str
    at: str


@dataclass(frozen=True)
class Generated:
    """A generator expression or a comprehension, which the function that gets it runs through."""

    node: ast.GeneratorExp | ast.ListComp


@dataclass(frozen=True)
class Several:
    """A tuple, or a list that is written out."""

    items: tuple[Held, ...]
    is_list: bool = False


@dataclass(frozen=True)
class Counted:
    """A range: what a loop counts through.

    Attributes:
        by: text of a step that the call gives (``step`` is 1 then), or C has computed (0).
        is_rising: whether it is known to be positive.
    """

    start: Number
    stop: Number
    step: int
    by: str = ""
    is_rising: bool = False


@dataclass(frozen=True)
class Zipped:
    """What several iterables give in turns: a number counts from there on."""

    items: tuple[Strided | Counted | Number | Items | ItemRow | Zipped, ...]


@dataclass(frozen=True)
class Mixed:
    """A number of one of several types, where nothing says which.

    ``what`` is the group of these types, see eithers.py.
    """

    what: str


Iterated = Items | ItemRow | Counted | Zipped | Generated
Held = Computed | Unchanging | Listed | Several | Mixed | Iterated


def check_made(held: Held) -> None:
    """Hold that nothing is left to be run through, which has a meaning where it stands alone.

    Raises:
        NoLoopError: a comprehension, or a tuple with one.
    """
    if isinstance(held, Generated):
        raise NoLoopError("a comprehension that is no argument, and not all that a name gets")
    for item in held.items if isinstance(held, Several) else ():
        check_made(item)
