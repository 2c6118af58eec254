"""Arrays that a loop copies, where nobody can tell: for lists, names and calls of functions."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import replace

from opweave.compiler.captures.source import NoLoopError, stored_in
from opweave.compiler.lines.applied import bases_of, dense_strides
from opweave.compiler.lines.values import (
    Elements,
    Held,
    Listed,
    Several,
    Strided,
    Unchanging,
)
from opweave.compiler.loops.statements import Statements


class Appending(Statements):
    """Appends numbers and arrays, and knows which arrays are one in Python."""

    def appended(
        self, owner: Listed, node: ast.Call, args: Sequence[Held], keywords: Mapping[str, Held]
    ) -> Held:
        """A call of a method of a list."""
        if getattr(node.func, "attr", "") != "append" or len(args) != 1 or keywords:
            raise NoLoopError("a list to which a loop does more than append")
        if isinstance(args[0], Strided | Elements):
            self._append_array(owner.name, args[0])
        elif isinstance(args[0], Several):
            self.lists.append_several(owner.name, args[0])
        else:
            self.lists.append(owner.name, args[0])
        return Unchanging(None)

    def _append_array(self, name: str, array: Strided | Elements) -> None:
        """Append an array that the loop makes to the list of a name.

        Raises:
            NoLoopError: it is a part of an array, or its extents change.
        """
        if not array.rank or not all(map(self.is_fixed, array.sizes)):
            raise NoLoopError("a list of arrays whose extents change")
        if isinstance(array, Strided):
            self._check_whole(array)
            if self.in_lists.setdefault(array.base, name) != name or array.is_listed:
                raise NoLoopError("an array that is in a list twice, or in two lists")
            for other, held in self.env.items():
                if isinstance(held, Strided) and held.base == array.base:
                    self.env[other] = replace(held, is_listed=True)
        item = self.lists.room_for(name, array.dtype, array.sizes)
        made = Strided(item, array.dtype, item, array.sizes, dense_strides(array.sizes))
        self.lies_as(item, array)
        if self.may_be_turned(item):
            raise NoLoopError("a list of arrays that NumPy may lay out in another order")
        self.store(made, array)

    def _check_whole(self, array: Strided) -> None:
        """Hold that an array is one that the loop makes, and all of it."""
        is_made = array.base in self.held_by and array.base == array.pointer
        if not is_made or self.prefix or array.strides != dense_strides(array.sizes):
            raise NoLoopError("a list of arrays that the loop does not make")

    def of_caller(self, returned: Held) -> Held:
        """What a call returns: arrays that nobody else holds are copies, those of names stay."""
        owned = {base for held in self.env.values() for base in bases_of(held)}
        new = [base for base in bases_of(returned) if base in self.temporary and base not in owned]
        if isinstance(returned, Several) and len(set(new)) < len(new):
            raise NoLoopError("an array of a function, returned as two")
        return self.copied(returned) if new and isinstance(returned, Strided) else returned

    def check_copies(self, left: set[str], written: set[str]) -> None:
        """Hold that nobody writes to arrays, or gets both, one of which is a copy of the other."""
        for name, source, copy, is_strict in self.copies:
            if {source, copy} & self.left_behind:
                raise NoLoopError(f"{name}, another name for what a function returned")
            if (is_strict and {source, copy} & written) or copy in self.in_lists:
                raise NoLoopError(f"{name}, another name for an array that the loop makes")
        numbered = self.given & self.ids.keys()  # of which the call knows which one is left
        bases = {name: self._bases_left(name) for name in left}
        strictly = {name: self._perhaps_one(of, True) for name, of in bases.items() if of}
        for name, arrays in strictly.items():
            perhaps = self._perhaps_one(bases[name])
            elsewhere = {*self.given, *self.in_lists} & (perhaps - bases[name] - numbered)
            if elsewhere or any(arrays & strictly[n] for n in strictly if n != name):
                raise NoLoopError(f"{name}, another name for an array that the loop makes")

    def _bases_left(self, name: str) -> set[str]:
        """The arrays of which a name may hold one in the end; of a kept name all that it had."""
        held = getattr(self.env.get(name), "base", "")
        return self.all_held(name) | ({held} if held else set())

    def _perhaps_one(self, bases: set[str], strictly: bool = False) -> set[str]:
        """The arrays that are one in Python: these, what they were copied from, and so on."""
        found, count = {*bases}, 0
        while count < len(found):
            count = len(found)
            copies = (c for c in self.copies if c.is_strict or not strictly)
            found |= {c.source for c in copies if c.made in found}
        return found

    def linked(
        self, node: ast.For | ast.While, left: set[str], written: set[str]
    ) -> Mapping[str, str]:
        """Names that hold the last item of a list when the loop has ended.

        Raises:
            NoLoopError: an array in a list is written to, or may be that of a name that is left.
        """
        if written & set(self.in_lists):
            raise NoLoopError("an array in a list, to which the loop writes")
        found = {}
        for name in left:
            where = self.in_lists.get(getattr(self.env.get(name), "base", ""))
            if where is not None:
                if not _is_last(node, where, name):
                    raise NoLoopError(f"{name}, which may be in a list, too")
                found[name] = where
        return found


def _is_last(node: ast.For | ast.While, where: str, name: str) -> bool:
    """Whether every round appends what a name holds at its end."""
    if any(isinstance(n, ast.Break | ast.Continue) for n in ast.walk(node)):
        return False
    for statement in reversed(node.body):
        if name in stored_in(statement) or where in {
            n.id for n in ast.walk(statement) if isinstance(n, ast.Name)
        }:
            return ast.unparse(statement) == f"{where}.append({name})"
    return False
