"""Names whose last values a loop hands over however it ends; names that hold one array."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.again import AgainError
from opweave.compiler.lines.applied import dense_strides
from opweave.compiler.lines.eithers import OF_NUMPYS
from opweave.compiler.lines.lists import KeptName
from opweave.compiler.lines.values import Held, Number, Several, Strided
from opweave.compiler.loops.numbered import NumberNames
from opweave.opcodes.dtypes import DType

AS_ENTERED = ", as it entered"  # behind a name: the array of the call that it held at first


def copied_from(base: str) -> str:
    """What an array is one with that is a copy, in C, of one that the loop has entered with."""
    return f"a copy of {base}"


class SecondName(NamedTuple):
    """A name whose array is another one's in Python; ``is_strict``: nobody may write to either."""

    name: str
    source: str
    made: str
    is_strict: bool


class Keeping(NumberNames):
    """Writes down what such a name holds wherever one is assigned to.

    Attributes:
        kept: these names.
        held_by: the rooms of arrays that names hold.
        in_lists: lists of Python that have such an array.
        callers: what names hold of the functions that call the one that is lowered.
        copies: names that hold a copy of another one's array.
        entered_bases: arrays of the call that names may still hold when the loop ends.
        ids: of arrays, the numbers by which C knows which of them are one in Python.
        together: bases of arrays to which the assignment that is lowered gives several names.
        left_behind: arrays of calls that have returned, of which a name got a copy of its own.
    """

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.kept: dict[str, KeptName] = {}
        self.held_by: dict[str, str] = {}
        self.in_lists: dict[str, str] = {}
        self._holders: dict[str, set[str]] = {}
        self.callers: list[dict[str, Held]] = []
        self.copies: list[SecondName] = []
        self.ids: dict[str, str] = {}
        self.entered_bases: set[str] = set()
        self.together: set[str] = set()
        self.left_behind: set[str] = set()

    def keep(self, names: Iterable[str]) -> None:
        """Hand over what is assigned to some names from now on."""
        for name in names:
            self.kept[name] = KeptName(name, self.text.unused(f"left_{name}"))

    def kept_arrays(self) -> set[str]:
        """Those that hold arrays that the loop makes.

        Raises:
            NoLoopError: a list may have one, too.
        """
        for name, holders in self._holders.items():
            if holders & self.in_lists.keys():
                raise NoLoopError(f"{name}, an array that a list has, too")
        return set(self._holders)

    def all_held(self, name: str) -> set[str]:
        """Every array that a kept name has got; of other names none."""
        return self._holders.get(name, set())

    def check_kept(self, name: str, held: Held) -> None:
        """Hold that such a name gets a number, or an array that has no other name."""
        if name not in self.kept or self.prefix_of(name) or not isinstance(held, Strided):
            return
        if held.base in self.temporary:
            return
        if held.base not in self.held_by:
            raise NoLoopError(f"{name}, an attribute that gets an array with another name")
        if not self.is_known("copies", name):
            raise AgainError("copies", name)

    def note_kept(self, name: str, bound: Held) -> None:
        """Write down what a name holds now, if it is such a one."""
        kept = self.kept.get(name) if not self.prefix_of(name) else None
        if kept is None:
            return
        if isinstance(bound, Number):
            self._note_number(kept, bound)
        elif isinstance(bound, Strided):
            self._holders.setdefault(name, set()).add(bound.base)
            sizes = ", ".join(s.text for s in bound.sizes)
            kind, room = kept.kind(bound.dtype, bound.rank), self.held_by[bound.base]
            self.text.add(f"{kept.c_name}.array({kind}, {room}, {sizes});")
        else:
            raise NoLoopError(f"{name}, an attribute that is no number and no array")

    def _note_number(self, kept: KeptName, number: Number) -> None:
        if not number.is_word:
            raise NoLoopError(f"{kept.name}, whose type a loop does not return")
        kind, bits = f"{kept.kind(number.type)}", f"loop_bits({number.text})"
        if number.maybe:
            assert isinstance(number.type, DType)
            pythons = f"{kept.kind(OF_NUMPYS[number.type])}"
            if number.whole:
                pythons = f"({number.whole} ? {kept.kind(int)} : {pythons})"
                bits = f"({number.whole} ? (int64){number.text} : {bits})"
            kind = f"{number.maybe} ? {kind} : {pythons}"
        self.text.add(f"{kept.c_name}.number({kind}, {bits});")

    def is_left(self, held: Strided) -> bool:
        """Whether a call that has returned made an array, which has no other name any more."""
        bases = {held.base, *held.one_with}
        names = [h for env in (*self.callers, self.env) for h in env.values()]
        alive = {h.base for h in names if isinstance(h, Strided)} | self.in_lists.keys()
        alive |= self.together | {base for c in self.copies for base in (c.source, c.made)}
        if not bases <= self.held_by.keys() or bases & alive:
            return False
        self.left_behind |= bases
        return True

    def assigned(self, held: Held, names: int) -> None:
        """Note what an assignment gives to so many targets."""
        bases = Counter(base for base in _all_ones(held) for _ in range(names))
        self.together = {base for base, count in bases.items() if count > 1}

    def one_of_two(
        self, name: str, held: Strided, made: Strided, place: str | None = None
    ) -> Strided:
        """A copy that is the same array as another one in Python, while neither is made anew.

        Nobody may write to either as long as both have names.
        """
        is_all = held.pointer == held.base and held.strides == dense_strides(held.sizes)
        is_strict = not is_all or bool(self.prefix) or name in {*self.kept, *self.shared}
        self.copies.append(
            SecondName(self.prefix_of(name) + name, held.base, made.base, is_strict)
        )
        if is_strict:
            return made
        ones = frozenset({held.base, *held.one_with} - {made.base})
        if place is None:
            ones |= {copied_from(base) for base in ones & self.entered_bases}
        for other, h in self.env.items():
            if isinstance(h, Strided) and h.base in ones:
                self.env[other] = replace(h, one_with=h.one_with | {made.base})
        if held.base in self.ids:
            self.text.add(f"{self.ids[made.base]} = {self.ids[held.base]};")
        return replace(made, one_with=ones)

    def check_alone(self, base: str) -> None:
        """Hold that an array that is written to is no other's, too, which C has a copy of.

        What a name held at first lies where the array of the call does, and is no copy of it.

        Raises:
            NoLoopError: it may be.
        """
        names = [i for env in (*self.callers, self.env) for i in env.items()]
        held = [(n, h) for n, h in names if isinstance(h, Strided)]
        ones = frozenset[str]().union(*(h.one_with for _, h in held if h.base == base))
        bases = {
            h.base for n, h in held if not n.endswith(AS_ENTERED) or copied_from(h.base) in ones
        }
        if ones & bases:
            raise NoLoopError("an array with two names, to which the loop writes")

    def note_new(self, name: str, kind: str, holder: str) -> None:
        """Note that a name's array is no longer the same as others; C numbers such arrays."""
        for other, h in self.env.items():
            if isinstance(h, Strided) and holder in h.one_with:
                self.env[other] = replace(h, one_with=h.one_with - {holder})
        if self.known.get("copies") or self.known.get("enters"):
            count = self.text.variable("int64", "arrays_made")
            self.ids[holder] = self.variable(name, kind + "_id", "int64")
            self.text.add(f"{self.ids[holder]} = ++{count};")


def _all_ones(held: Held) -> Iterator[str]:
    """The bases of all arrays of a tuple, and of those that are one with them in Python."""
    if isinstance(held, Strided):
        yield from (held.base, *held.one_with)
    for item in held.items if isinstance(held, Several) else ():
        yield from _all_ones(item)
