"""The arguments of a call: bound to parameters, taken apart into arrays, numbers and statics."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from types import CodeType, FunctionType
from typing import Any

from opweave._functions.apart import LEAVES, Apart, is_plain_leaf, is_searched
from opweave._functions.kept import Kept, structure_of
from opweave._functions.layout import Call, Layout, _distinct, first_places
from opweave._functions.parameters import Parameters
from opweave.compiler.captures.alike import taken_alike
from opweave.compiler.captures.binding import function_behind
from opweave.compiler.captures.bytecode import asks_identity, names_in
from opweave.compiler.captures.capture import (
    asks_for_its_class,
    classes_in,
    functions_in,
    functions_of,
    helpers_of,
)
from opweave.compiler.captures.definitions import (
    Definition,
    Found,
    other_classes,
    search_class,
    search_function,
    search_methods,
)
from opweave.compiler.captures.places import Place
from opweave.compiler.captures.plainly import (
    first,
    goes_on,
    is_async,
    never_copied,
    never_in_parts,
)

OWN_CLASS = (
    "it calls type, in a class with a base of its own, which copies answer otherwise; ask "
    "isinstance()"
)
# For so many functions, and classes, it is remembered what they read.
MOST_FUNCTIONS = 256
# For so many structures of arguments.
MOST_KEPT = 64


class Signature(Parameters):
    """The parameters of a function, and what else a call of it is made of."""

    def __init__(self, fn: Callable[..., Any], static: Sequence[str]):
        super().__init__(fn, static)
        self.has_forgotten = False  # definitions that somebody has asked for
        self.asks_types = False
        self.asks_identity = False  # whether two of its values are one object
        self.never_copied: str | None = None  # why it runs by NumPy, unless asked for as a whole
        self.goes_on: str | None = None  # why it always does so
        self.never_in_parts: str | None = None  # why it does so where it is no whole
        self._noted: set[CodeType] = set()
        self.forget()

    def forget(self) -> None:
        """Search the function again for what it reads from outside."""
        self.own: Definition | None = None
        self.classes: dict[Any, Definition] = {}
        self.functions: dict[Any, Definition] = {}
        self._forget_kept()

    def _forget_kept(self) -> None:
        self.kept: Kept | None = None  # of plain arguments
        self._kept: dict[Any, Kept] = {}  # by the structure of arguments
        self._newest: Kept | None = None  # of these, of arguments that are taken apart
        self.latest: Kept | None = None  # of the last call

    def note_looked_up(self, names: Sequence[tuple[Any, str, bool]]) -> None:
        """Names that the function has looked up while it was traced."""
        if self.own is not None:
            assumptions = self.own.now.found.assumptions
            before = assumptions.added
            for scope, name, is_steady in names:
                assumptions.add_looked_up(scope, name, is_steady)
            if assumptions.added != before:
                self._forget_kept()

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """The leaves of a call's arguments.

        Raises:
            ArgumentError: an argument is missing, unknown, or given twice.
        """
        if (kept := self.kept) is not None and kept.hold():
            values = self.in_order(args, kwargs)
            if self._are_plain(values):
                self.latest, flat = kept, [*values, *kept.values]
                return Call(kept.layout.asked(flat), flat)
        if (kept := self._newest) is not None and kept.hold():
            values = self.in_order(args, kwargs)
            trees = kept.layout.trees[: len(values)]
            if (found := taken_alike(trees, values, LEAVES)) is not None:
                self.latest, flat = kept, [*found[0], *kept.values]
                return Call(kept.layout.asked(flat), flat, found[1])
        own = self._renewed()
        values = self.in_order(args, kwargs)
        if own.now.found.places or self.asks_identity:
            return self._apart(values)
        if not self._are_plain(values):
            return self._apart(values)
        self.kept = self.latest = Kept(self.plain, (own.now.found.assumptions,))
        return Call(self.plain, values)

    def _are_plain(self, values: Sequence[Any]) -> bool:
        """Whether all are leaves that read nothing from outside."""
        return all(s or is_plain_leaf(v) for v, s in zip(values, self.static, strict=True))

    def kept_of_own(self) -> Kept | None:
        """What calls have in common that are not taken apart; None if it reads from outside."""
        found = self._renewed().now.found
        if found.places or self.asks_identity:
            return None
        return Kept(self.plain, (found.assumptions,))

    def _renewed(self) -> Definition:
        """The function as it is defined now: what it reads from outside, and what it asks."""
        if self.own is None:
            self.own = Definition(lambda: search_function(self.fn, is_called=False))
        elif not self.own.renewed():
            return self.own
        self.describe((self.own.now.number,) if self.own.now.number else None)
        helpers = list(helpers_of(self.fn))
        self.asks_identity |= any(asks_identity(f.__code__) for f in helpers)
        own = function_behind(self.fn)
        self.never_copied = first([self.never_copied, *map(never_copied, helpers)])
        self.goes_on = first([self.goes_on, *(goes_on(f, f is not own) for f in helpers)])
        self.never_in_parts = first([self.never_in_parts, *map(never_in_parts, helpers)])
        asks_types = isinstance(self.fn, FunctionType) and "type" in names_in(self.fn.__code__)
        if asks_types and not self.asks_types:
            self.asks_types = True
            self._forget(self.classes)
        self._forget_kept()
        return self.own

    def _forget(self, known: dict[Any, Definition]) -> None:
        """Let go of definitions; the number of a state comes never again."""
        self.has_forgotten |= bool(known)
        known.clear()

    def _definition(
        self, known: dict[Any, Definition], key: Any, search: Callable[[], Found]
    ) -> Definition:
        """A function or class as it is defined now."""
        found = known.get(key)
        if found is not None:
            found.renewed()
            return found
        if len(known) == MOST_FUNCTIONS:
            self._forget(known)
        made = known[key] = Definition(search, not self.has_forgotten)
        return made

    def _note(self, function: FunctionType) -> None:
        """Note what a function that is an argument asks; once, since it is an argument again."""
        if function.__code__ in self._noted:
            return
        if len(self._noted) >= MOST_FUNCTIONS:
            self._noted.clear()
        self._noted.add(function.__code__)
        self.asks_identity |= asks_identity(function.__code__)
        self.never_copied = self.never_copied or never_copied(function)
        self.goes_on = self.goes_on or goes_on(function)
        self.never_in_parts = self.never_in_parts or never_in_parts(function)

    def _apart(self, values: Sequence[Any]) -> Call:
        """Containers taken apart, and what the function reads from outside added."""
        apart = self._arguments(values)
        key = self.asks_identity, structure_of(apart)
        kept = self._kept.get(key)
        if kept is not None and kept.added(apart):
            flat = [value for _, value in apart.leaves]
            self.latest = kept
            self._newest = kept if kept.is_steady and not any(self.static) else None
            return Call(kept.layout.asked(flat), flat, list(apart.seen.values()))
        kept, call = self._searched(apart if kept is None else self._arguments(values))
        self.latest = kept
        if kept.is_steady and self._are_plain(values):
            self.kept = kept
            return call
        if len(self._kept) == MOST_KEPT:
            self._kept.pop(next(iter(self._kept)))
        self._kept[key] = kept
        return call

    def _arguments(self, values: Sequence[Any]) -> Apart:
        apart = Apart()
        for name, value, is_static in zip(self.names, values, self.static, strict=True):
            apart.add_argument(name, value, is_static)
        return apart

    def _searched(self, apart: Apart) -> tuple[Kept, Call]:
        """A call, what the function reads from outside searched; what to keep of it."""
        places = self._add_captured(apart)
        names = _distinct([path for path, _ in apart.leaves])
        flat = [value for _, value in apart.leaves]
        same = first_places(flat) if self.asks_identity else None
        numbers = tuple(definition.now.number for definition in apart.used)
        layout = Layout(
            names, tuple(apart.static), (*self.names, *places), tuple(apart.trees), same,
            numbers if any(numbers) else None,
        )  # fmt: skip
        assumptions = [definition.now.found.assumptions for definition in apart.used]
        call = Call(layout, flat, list(apart.seen.values()))
        return Kept(layout, assumptions, apart.reads), call

    def _add_captured(self, apart: Apart) -> tuple[Place, ...]:
        """Add what the function reads from outside, and what functions and classes there do.

        Returns the places of these values.
        """
        assert self.own is not None
        places: dict[Place, None] = {}
        apart.used.append(self.own)
        waiting = self.own.now.found.places
        leaves = trees = 0
        while True:
            behind = self._behind(apart, leaves, trees)
            fresh = [p for p in dict.fromkeys((*waiting, *behind)) if p not in places]
            if not fresh:
                return tuple(places)
            leaves, trees, waiting = len(apart.leaves), len(apart.trees), ()
            for place in fresh:
                places[place] = None
                apart.add_captured(place)

    def _behind(self, apart: Apart, leaves: int, trees: int) -> Iterator[Place]:
        """The places of functions and classes among what was taken apart, from some on."""
        values = [value for _, value in apart.leaves[leaves:] if is_searched(value)]
        for function in functions_in(values):
            self._note(function)
            search = partial(search_function, function)
            yield from apart.using(self._definition(self.functions, function, search))
        for cls, of_objects in classes_in(values, apart.trees[trees:]):
            if self.never_copied is None and asks_for_its_class(cls):
                self.never_copied = OWN_CLASS
            search = partial(self._search_class, cls, of_objects)
            yield from apart.using(self._definition(self.classes, (cls, of_objects), search))
        for cls in other_classes(values, apart.trees[trees:]):
            search = partial(search_methods, cls)
            yield from apart.using(self._definition(self.classes, cls, search))

    def _names(self) -> frozenset[str]:
        """Names in the code of the function and its helpers."""
        return frozenset().union(*(names_in(f.__code__) for f in helpers_of(self.fn)))

    def _search_class(self, cls: type, of_objects: bool) -> Found:
        functions = list(functions_of(cls))
        # but what a dataclass makes
        written = (c for f in functions if (c := f.__code__).co_filename != "<string>")
        self.asks_identity |= any(map(asks_identity, written))
        named = self._names().union(*(names_in(f.__code__) for f in functions))
        called = [f for f in functions if f.__name__ in named or f.__name__.startswith("__")]
        self.goes_on = first([self.goes_on, *map(goes_on, filter(is_async, called))])
        self.never_copied = first([self.never_copied, *map(never_copied, called)])
        self.never_in_parts = first([self.never_in_parts, *map(never_in_parts, called)])
        return search_class(cls, of_objects, self.asks_types)
