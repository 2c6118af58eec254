"""The arguments of a call: bound to parameters, taken apart into arrays, numbers and statics."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from opweave._functions.apart import Apart, is_plain_leaf, is_searched
from opweave._functions.layout import Call, Layout, _distinct, first_places
from opweave.compiler.tracing.binding import defaults_of, function_behind, renew_signature
from opweave.compiler.tracing.bytecode import asks_identity, names_in
from opweave.compiler.tracing.calling import signature_of
from opweave.compiler.tracing.capture import (
    asks_for_its_class,
    classes_in,
    functions_in,
    functions_of,
    helpers_of,
)
from opweave.compiler.tracing.definitions import (
    Definition,
    Found,
    other_classes,
    same_objects,
    search_class,
    search_function,
    search_methods,
)
from opweave.compiler.tracing.facts import Facts
from opweave.compiler.tracing.places import Place
from opweave.compiler.tracing.plainly import (
    first,
    goes_on,
    is_async,
    never_copied,
    never_in_parts,
)
from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import ArgumentError

VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
OWN_CLASS = (
    "it calls type, in a class with a base of its own, which copies answer otherwise; ask "
    "isinstance()"
)
# For so many functions, and classes, it is remembered what they read.
MOST_FUNCTIONS = 256


class Signature:
    """The parameters of a function."""

    def __init__(self, fn: Callable[..., Any], static: Sequence[str]):
        self.name = getattr(fn, "__name__", shown(fn))
        self.fn = fn
        self.wanted = tuple(static)
        self.state: tuple[int, ...] | None = None
        self.describe()
        self.own: Definition | None = None
        self.classes: dict[Any, Definition] = {}
        self.functions: dict[Any, Definition] = {}
        self.has_forgotten = False  # definitions that somebody has asked for
        self.asks_types = False
        self.asks_identity = False  # whether two of its values are one object
        self.never_copied: str | None = None  # why it runs by NumPy, unless asked for as a whole
        self.goes_on: str | None = None  # why it always does so
        self.never_in_parts: str | None = None  # why it does so where it is no whole
        self.kept: Kept | None = None
        self._noted: set[CodeType] = set()

    def describe(self) -> None:
        """Look at the parameters and their defaults."""
        self.defaults = defaults_of(self.fn)
        renew_signature(self.fn)
        self.signature = _signature_of(self.fn)
        self.parameters = list(self.signature.parameters.values())
        self.is_variadic = any(p.kind in VARIADIC for p in self.parameters)
        names = tuple(p.name for p in self.parameters)
        for wanted in self.wanted:
            if type(wanted) is not str or wanted not in names:
                raise ArgumentError(
                    f"fuse: static_argnames names {shown(wanted)}, not among {', '.join(names)}"
                )
        self.names = names
        self.static = tuple(name in self.wanted for name in names)
        self._takes_any = not self.is_variadic and not any(self.static)
        trees = (None,) * len(names)
        self.plain = Layout(names, self.static, names, trees, state=self.state)

    def unchanged(self) -> Kept | None:
        """The values that were read from outside last, if the very same objects are still there.

        None where they are not, or where leaves do not follow from the order of arguments.
        """
        kept = self.kept
        return kept if kept is not None and self._takes_any and kept.is_there() else None

    def forget(self) -> None:
        """Search the function again for what it reads from outside."""
        self.own = self.kept = None
        self.classes, self.functions = {}, {}

    def note_looked_up(self, names: Sequence[tuple[Any, str, bool]]) -> None:
        """Names that the function has looked up while it was traced."""
        if self.own is not None:
            for scope, name, is_steady in names:
                self.own.now.found.facts.add_looked_up(scope, name, is_steady)

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """The leaves of a call's arguments.

        Raises:
            ArgumentError: an argument is missing, unknown, or given twice.
        """
        own = self._renewed()
        if not kwargs and len(args) == len(self.parameters) and not self.is_variadic:
            values = list(args)
        else:
            values = self._bound(args, kwargs)
        if own.now.found.places or self.asks_identity:
            return self._apart(values)
        for value, static in zip(values, self.static, strict=True):
            if not (static or is_plain_leaf(value)):
                return self._apart(values)
        return Call(self.plain, values)

    def _renewed(self) -> Definition:
        """The function as it is defined now: what it reads from outside, and what it asks."""
        if self.own is None:
            self.own = Definition(lambda: search_function(self.fn, is_called=False))
        elif not self.own.renewed():
            return self.own
        number, found = self.own.now
        self.state = (number,) if number else None
        self.describe()
        helpers = list(helpers_of(self.fn))
        self.asks_identity |= any(asks_identity(f.__code__) for f in helpers)
        own = function_behind(self.fn)
        self.never_copied = first([never_copied(f) for f in helpers])
        self.goes_on = first([self.goes_on, *(goes_on(f, f is not own) for f in helpers)])
        self.never_in_parts = first([self.never_in_parts, *map(never_in_parts, helpers)])
        asks_types = isinstance(self.fn, FunctionType) and "type" in names_in(self.fn.__code__)
        if asks_types and not self.asks_types:
            self.asks_types = True
            self._forget(self.classes)
        self.kept = None
        if not found.places and not self.asks_identity:
            self.kept = Kept((), [], self.plain, [], facts=(found.facts,))
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

    def _bound(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        """Argument values in the order of the parameters; of ``*args`` a tuple."""
        if not same_objects(self.defaults, defaults_of(self.fn)):
            self.describe()
        if self.is_variadic:
            try:
                bound = self.signature.bind(*args, **kwargs)
            except TypeError as error:
                raise ArgumentError(f"{self.name}: {error}") from None
            bound.apply_defaults()
            return list(bound.arguments.values())
        if len(args) > len(self.parameters):
            raise ArgumentError(
                f"{self.name}: takes {len(self.parameters)} arguments, found {len(args)}"
            )
        values, rest = list(args), dict(kwargs)
        for parameter in self.parameters[len(args) :]:
            if parameter.name in rest:
                values.append(rest.pop(parameter.name))
            elif parameter.default is not inspect.Parameter.empty:
                values.append(parameter.default)
            else:
                raise ArgumentError(f"{self.name}: argument {parameter.name!r} is missing")
        if rest:
            raise ArgumentError(
                f"{self.name}: unknown or repeated argument {shown(next(iter(rest)))}; it takes "
                f"{', '.join(self.names)}"
            )
        return values

    def _apart(self, values: Sequence[Any]) -> Call:
        """Containers taken apart, and what the function reads from outside added."""
        is_plain = all(s or is_plain_leaf(v) for v, s in zip(values, self.static, strict=True))
        kept = self.kept
        if kept and is_plain and kept.is_there():
            flat = [*values, *kept.values]
            return Call(kept.layout.asked(flat), flat, kept.containers)
        apart = Apart()
        for name, value, is_static in zip(self.names, values, self.static, strict=True):
            apart.add_argument(name, value, is_static)
        places = self._add_captured(apart)
        names = _distinct([path for path, _ in apart.leaves])
        flat = [value for _, value in apart.leaves]
        same = first_places(flat) if self.asks_identity else None
        numbers = tuple(definition.now.number for definition in apart.used)
        layout = Layout(
            names, tuple(apart.static), (*self.names, *places), tuple(apart.trees), same,
            numbers if any(numbers) else None,
        )  # fmt: skip
        containers = list(apart.seen.values())
        if is_plain and not any(apart.trees):
            facts = tuple(definition.now.found.facts for definition in apart.used)
            self.kept = Kept(places, apart.read, layout, flat[len(values) :], containers, facts)
        return Call(layout, flat, containers)

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
        named = self._names()
        called = (goes_on(f) for f in functions if is_async(f) and f.__name__ in named)
        self.goes_on = self.goes_on or first([*called])
        return search_class(cls, of_objects, self.asks_types)


class Kept(NamedTuple):
    """What was read from outside last, where nothing of it can change but by another object.

    Attributes:
        places: where it was read.
        read: what was found at each place.
        layout: of a call with it.
        values: its leaves, which follow those of the arguments.
        containers: what was taken apart of it.
        facts: what else must hold.
    """

    places: tuple[Place, ...]
    read: list[Any]
    layout: Layout
    values: list[Any]
    containers: Sequence[Any] = ()
    facts: Sequence[Facts] = ()

    def is_there(self) -> bool:
        """Whether the very same objects are there still."""
        for facts in self.facts:
            if not facts.hold():
                return False
        if self.places:
            for place, value in zip(self.places, self.read, strict=True):
                if place.read() is not value:
                    return False
        return True


def _signature_of(fn: Callable[..., Any]) -> inspect.Signature:
    """The signature of a function.

    Raises:
        ArgumentError: it has none that can be read.
    """
    try:
        return signature_of(fn)
    except (TypeError, ValueError):
        raise ArgumentError(
            f"fuse: {shown(fn)} has no readable signature; wrap it in a def"
        ) from None
