"""A loop of Python, lowered for the kinds of what its names hold: its source in C."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import FunctionType, MappingProxyType, ModuleType
from typing import Any

import numpy as np

from opweave.compiler.captures.kinds import is_made_anew
from opweave.compiler.captures.source import NoLoopError, stored_in
from opweave.compiler.lines.again import AgainError
from opweave.compiler.lines.applied import dense_strides
from opweave.compiler.lines.eithers import group_of
from opweave.compiler.lines.left import (
    Result,
)
from opweave.compiler.lines.read_lists import ReadList
from opweave.compiler.lines.values import (
    Held,
    Items,
    Mixed,
    Number,
    Strided,
)
from opweave.compiler.loops.given import (
    OWN,
    LoopCall,
    LoweredLoop,
    OutsideNames,
    Parameter,
    found_in,
    locals_of,
)
from opweave.compiler.loops.keeping import AS_ENTERED
from opweave.compiler.loops.methods import NO_OBJECTS, Objects
from opweave.compiler.loops.numbered import NUMBERS
from opweave.compiler.loops.rendering import Rendering


class Lowering(Rendering):
    """Lowers one loop."""

    def __init__(
        self,
        function: FunctionType,
        values: Mapping[str, Any],
        known: Mapping[str, frozenset[str]] = MappingProxyType({}),
        kept: Sequence[str] = (),
        lists: Sequence[str] = (),
        objects: Objects = NO_OBJECTS,
    ):
        """``known``: names of which an earlier lowering has found out, see ``AgainError``.

        ``kept``: names whose last values are handed over, whatever the end of the loop is.
        ``lists``: names that may be lists to which it does more than append.
        ``objects``: names of objects whose methods are called, and of their attributes.
        """
        self.asked = OutsideNames()
        self.call, self.changed = LoopCall(values), set[str]()
        super().__init__(self.resolver(function), self.outside, self.call.extents)
        self.known, self.locals = known, locals_of(function) | set(kept)
        self.item_lists.known = known
        self.new_lists: dict[str, ReadList] = {}
        self.one_base: dict[str, str] = {}  # of arrays that names get in turns
        self.turns: dict[str, tuple[str, ...]] = {}
        self.turned: dict[str, tuple[str, ...]] = {}
        self.entered: tuple[str, ...] = ()
        self.read_lists = frozenset(lists)
        self.owners, self.attributes = objects.kinds, objects.names
        self.shared, self.stored = objects.shared, objects.stored
        self.parameters: list[Parameter] = []
        self.kept_names = tuple(kept)
        self.first: dict[str, Held] = {}
        self.writes: set[str] = set()
        self.names: dict[str, str] = {}  # of Python, by the C names of arrays

    def lowered(self, node: ast.For | ast.While, wanted: Sequence[str]) -> LoweredLoop:
        """The loop in C.

        Args:
            wanted: names that are read outside of the loop.

        Raises:
            NoLoopError: it has what loops do not compile.
        """
        self.changed = stored_in(node) | self.stored
        for name, value in self.call.values.items():
            self.first[name] = self.env[name] = self.entered_with(
                name, value, name in self.changed
            )
        self.given |= {p.c_name for p in self.parameters} | set(self.call.extents)
        self._take_turns()
        self._copy_entered()
        self.is_entered = True
        self.keep(self.kept_names)
        self.item_lists.added = lambda owner: self.first_item(node, owner)
        self.statements([node])
        results = self._results([name for name in wanted if name in self.changed])
        linked = self.linked(node, {result.name for result in results}, self.writes)
        return LoweredLoop(
            self.rendered(node, results),
            tuple(self.parameters),
            tuple(results),
            self.asked.all,
            tuple(self.lists.appended.values()),
            linked,
            tuple(self.kept.values()),
            tuple(self.item_lists.all.values()),
            self.new_lists,
            tuple(self.unbound),
            self.turned,
            self.entered,
        )

    def _take_turns(self) -> None:
        """Names for arrays of the call that get each other's: to C they are parts of one."""
        found: dict[Any, dict[str, Strided]] = {}
        for name, held in self.first.items():
            if not isinstance(held, Strided) or not held.is_whole or held.is_turned:
                continue
            if self.is_known("turns", name):
                found.setdefault((held.dtype, held.sizes, held.strides), {})[name] = held
        for alike in found.values():
            one = next(iter(alike.values())).base
            for name, whole in alike.items():
                self.one_base[whole.base], self.turns[name] = one, tuple(alike)
                self.env[name] = self.view_of(name, replace(whole, base=one, where=None))

    def _copy_entered(self) -> None:
        """Names that may still hold an array of the call when the loop ends.

        To C they are arrays as what they get later, which lie where those of the call do: who
        writes to them writes to these. They keep a name, and so are one with them.
        """
        for name, held in self.first.items():
            if not isinstance(held, Strided) or name in self.shared:  # whose copies have no number
                continue
            if held.strides == dense_strides(held.sizes) and self.is_known("enters", name):
                self.entered += (name,)
                self.entered_bases.add(held.base)
                self.env[f"{name}{AS_ENTERED}"] = held
                self.ids[held.base] = str(-len(self.entered))
                self.env[name] = self.copy_of(name, held, held.pointer)

    def _results(self, names: Sequence[str]) -> list[Result]:
        found = []
        for name in names:
            held = self.env.get(name)
            if isinstance(held, Mixed):
                raise AgainError(held.what, name)
            if isinstance(held, Number):
                found.append(self._number_left(name, held))
            elif isinstance(held, Strided) and held.base in self.held_by:
                found.append(self._array_left(name, held))
            elif self._is_turn(name, held):
                assert isinstance(held, Strided)
                found.append(self._turn_left(name, held))
            elif isinstance(held, Items) and held != self.first.get(name):
                self.new_lists[name] = self.item_lists.all[held.name]
                found.append(Result(name, int, ("0",)))
            elif held is None:
                for what in ("enters", "sizes"):  # of an array that is left before it is made anew
                    if self.is_array_of_call(name) and not self.is_known(what, name):
                        raise AgainError(what, name)
                found.append(self._perhaps_left(name))
            elif held != self.first.get(name):
                raise NoLoopError(f"{name}, which is read behind the loop")
        left = {result.name for result in found} - {*self.turned}
        self.check_orders()
        self.check_copies(left | self.kept_arrays(), self.writes)
        rooms = [result.words[0] for result in found if result.rank >= 0]
        if len(set(rooms)) < len(rooms):
            raise NoLoopError("two names for one array that the loop makes")
        return found

    def _is_turn(self, name: str, held: Held | None) -> bool:
        is_given = isinstance(held, Strided) and held.base in self.one_base.values()
        return is_given and name in self.turns

    def _turn_left(self, name: str, array: Strided) -> Result:
        """One of the arrays that names get in turns: the call knows it by its place."""
        whole = self.first[name]
        assert isinstance(whole, Strided)
        is_one = array.base == self.one_base[whole.base] and array.pointer != array.base
        if not is_one or (array.sizes, array.strides) != (whole.sizes, whole.strides):
            raise NoLoopError(f"{name}, which is read behind the loop")
        self.turned[name] = self.turns[name]
        return Result(name, int, (f"(int64){array.pointer}",))

    def _number_left(self, name: str, number: Number) -> Result:
        if not number.words:
            raise NoLoopError(f"{name}, whose type a loop does not return")
        words = (*number.words, *filter(None, (number.maybe, number.whole)))
        return Result(name, number.type, words)

    def _perhaps_left(self, name: str) -> Result:
        """A number that may be unbound, where it has one type wherever it is bound."""
        kinds = [kind for before, own, kind in self.variables if (before, own) == ("", name)]
        left = [t for t in NUMBERS if Number(t, "").type_name in kinds]
        what = group_of([Number(t, "") for t in left]) if len(left) > 1 else None
        if what is not None and not self.is_known(what, name):
            raise AgainError(what, name)
        if not self.is_known("perhaps", name):
            raise AgainError("perhaps", name)
        if len(kinds) != 2 or len(left) != 1:  # the other one says whether it is bound
            raise NoLoopError(f"{name}, which is read behind the loop")
        variable, bound = (self.variables["", name, k] for k in sorted(kinds, key="bound".__eq__))
        found = self._number_left(name, Number(left[0], variable))
        return found._replace(words=(*found.words, bound), perhaps=True)

    def _array_left(self, name: str, array: Strided) -> Result:
        """An array that the loop has made, if it is all of it."""
        if array.is_locked:
            raise NoLoopError(f"{name}, which nobody may write to")
        if self.may_be_turned(array.base):
            raise NoLoopError(f"{name}, which NumPy may lay out in another order")
        if array.pointer != array.base or array.strides != dense_strides(array.sizes):
            raise NoLoopError(f"{name}, a part of an array that the loop makes")
        taken = f"{self.held_by[array.base]}.taken()"
        number = self.ids.get(array.base, "")
        words = (taken, *(s.text for s in array.sizes), *([number] if number else []))
        return Result(name, array.dtype, words, array.rank, has_id=bool(number))

    def written(self, target: Strided) -> None:
        self.check_alone(target.base)
        self.forget_picks(target.base)
        self.writes |= {target.base} | (target.one_with & self.entered_bases)

    def resolver(self, function: FunctionType) -> Callable[[str], Any]:
        for name in OWN:
            self.asked.value(function, name)
        is_given = any(function is v for v in self.call.values.values() if is_made_anew(v))

        def resolve(name: str) -> Any:
            is_own = is_given and name in function.__code__.co_freevars and name in self.first
            if not is_own or found_in(function, name) is not self.call.values[name]:
                return self.asked.value(function, name)
            if name in self.changed:
                raise NoLoopError(f"{name}, which a function has, too")  # perhaps by chance
            return self.first[name]

        return resolve

    def may_be_number(self, name: str) -> bool:
        return name not in self.call.values or isinstance(self.first[name], Number)

    def is_array_of_call(self, name: str) -> bool:
        return not self.prefix and isinstance(self.first.get(name), Strided)

    def next_turn(self, name: str) -> str | None:
        whole = self.first.get(name)
        if self.prefix or not isinstance(whole, Strided):
            return None
        for other in (name, *sorted(self.changed)):
            held = self.first.get(other)
            is_alike = isinstance(held, Strided) and held.sizes == whole.sizes
            if is_alike and not (self.is_known("turns", other) or self.is_known("enters", other)):
                return other
        return None

    def noted(self, kind: type, name: str) -> Any:
        return self.asked.value(kind, name)

    def resolve_attribute(self, owner: Any, name: str) -> Any:
        if not isinstance(owner, ModuleType | np.ufunc):
            raise NoLoopError(f".{name} of {type(owner).__name__} inside a loop")
        return self.asked.value(owner, name)
