"""Names whose last values a loop hands over however it ends: attributes of objects."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opweave.compiler.captures.source import NoLoopError
from opweave.compiler.lines.eithers import OF_NUMPYS
from opweave.compiler.lines.lists import KeptName
from opweave.compiler.lines.values import AgainError, Held, Number, Strided
from opweave.compiler.loops.numbered import NumberNames
from opweave.opcodes.dtypes import DType


class Keeping(NumberNames):
    """Writes down what such a name holds wherever one is assigned to.

    Attributes:
        kept: these names.
        held_by: the rooms of arrays that names hold.
        in_lists: lists of Python that have such an array.
    """

    def __init__(self, *args: Any):
        super().__init__(*args)
        self.kept: dict[str, KeptName] = {}
        self.held_by: dict[str, str] = {}
        self.in_lists: dict[str, str] = {}
        self._holders: dict[str, set[str]] = {}

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
