"""The arguments of a call: bound to parameters, taken apart into arrays, numbers and statics."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType
from typing import Any, NamedTuple

from opweave._functions.apart import Apart, is_plain_leaf, is_searched
from opweave._functions.layout import Call, Layout, _distinct, first_places
from opweave.compiler.tracing.bytecode import asks_frames, asks_identity, names_in
from opweave.compiler.tracing.calling import signature_of
from opweave.compiler.tracing.capture import (
    asks_for_its_class,
    classes_in,
    compares_objects,
    functions_in,
    functions_of,
    helpers_of,
    places_of,
    places_of_class,
)
from opweave.compiler.tracing.places import Place
from opweave.compiler.tracing.structure import Structure
from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import ArgumentError

VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
# Functions, and classes, of which it is remembered what they read.
MOST_FUNCTIONS = 256


class Signature:
    """The parameters of a function."""

    def __init__(self, fn: Callable[..., Any], static: Sequence[str]):
        self.name = getattr(fn, "__name__", shown(fn))
        self.signature = _signature_of(fn)
        self.parameters = list(self.signature.parameters.values())
        self.is_variadic = any(p.kind in VARIADIC for p in self.parameters)
        names = tuple(p.name for p in self.parameters)
        for wanted in static:
            if type(wanted) is not str or wanted not in names:
                raise ArgumentError(
                    f"fuse: static_argnames names {shown(wanted)}, not among {', '.join(names)}"
                )
        self.names = names
        self.static = tuple(name in static for name in names)
        self._takes_any = not self.is_variadic and not any(self.static)
        self.plain = Layout(names, self.static, names, (None,) * len(names))
        self.fn = fn
        self.places: tuple[Place, ...] | None = None
        self.classes: dict[tuple[type, bool], tuple[Place, ...]] = {}
        self.asks_types = isinstance(fn, FunctionType) and "type" in names_in(fn.__code__)
        self.asks_identity = False  # whether two of its values are one object
        self.compares_objects = False  # by ``is``, which a function of others may give back
        self.looks_at: str | None = None  # what it calls to look at its own names
        self.functions: dict[Any, tuple[Place, ...]] = {}
        self.kept: Kept | None = None

    def unchanged(self) -> Kept | None:
        """What was read from outside last, if the very same objects are there still.

        None also where a call's leaves do not follow from the order of its arguments.
        """
        kept = self.kept
        if kept is None or not self._takes_any:
            return None
        for place, value in zip(kept.places, kept.read, strict=True):
            if place.read() is not value:
                return None
        return kept

    def forget(self) -> None:
        """Search the function again for what it reads from outside."""
        self.places = self.kept = None
        self.classes, self.functions = {}, {}

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """The leaves of a call's arguments.

        Raises:
            ArgumentError: an argument is missing, unknown, or given twice.
        """
        if not kwargs and len(args) == len(self.parameters) and not self.is_variadic:
            values = list(args)
        else:
            values = self._bound(args, kwargs)
        if self.places is None:
            self._search()
        if self.places or self.asks_identity:
            return self._apart(values)
        for value, static in zip(values, self.static, strict=True):
            if not (static or is_plain_leaf(value)):
                return self._apart(values)
        return Call(self.plain, values)

    def _search(self) -> None:
        """Look for what the function reads from outside, and for what it asks."""
        self.places = places_of(self.fn)
        codes = [f.__code__ for f in helpers_of(self.fn)]
        self.asks_identity = any(map(asks_identity, codes))
        self.compares_objects = any(map(compares_objects, helpers_of(self.fn)))
        self.looks_at = next(filter(None, map(asks_frames, codes)), None)
        if not self.places and not self.asks_identity:
            self.kept = Kept((), [], self.plain, [])

    def _note(self, function: FunctionType) -> None:
        """What a function asks that is an argument."""
        self.asks_identity |= asks_identity(function.__code__)
        self.compares_objects |= compares_objects(function)
        self.looks_at = self.looks_at or asks_frames(function.__code__)

    def _bound(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        """Argument values in the order of the parameters; of ``*args`` a tuple."""
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
        assert self.places is not None
        is_plain = all(s or is_plain_leaf(v) for v, s in zip(values, self.static, strict=True))
        kept = self.kept
        if kept and is_plain and all(
            place.read() is value for place, value in zip(kept.places, kept.read, strict=True)
        ):  # fmt: skip
            flat = [*values, *kept.values]
            return Call(kept.layout.asked(flat), flat, kept.containers)
        apart = Apart()
        for name, value, is_static in zip(self.names, values, self.static, strict=True):
            apart.add_argument(name, value, is_static)
        places = self._add_captured(apart)
        names = _distinct([path for path, _ in apart.leaves])
        flat = [value for _, value in apart.leaves]
        same = first_places(flat) if self.asks_identity else None
        layout = Layout(
            names, tuple(apart.static), (*self.names, *places), tuple(apart.trees), same
        )
        containers = list(apart.seen.values())
        if is_plain and not any(apart.trees):
            self.kept = Kept(places, apart.read, layout, flat[len(values) :], containers)
        return Call(layout, flat, containers)

    def _add_captured(self, apart: Apart) -> tuple[Place, ...]:
        """Add what the function reads from outside, and what functions and classes there do.

        Returns the places.
        """
        assert self.places is not None
        places: dict[Place, None] = {}
        waiting = self.places
        leaves = trees = 0
        while True:
            behind = self._behind(apart.leaves[leaves:], apart.trees[trees:])
            fresh = [p for p in dict.fromkeys((*waiting, *behind)) if p not in places]
            if not fresh:
                return tuple(places)
            leaves, trees, waiting = len(apart.leaves), len(apart.trees), ()
            for place in fresh:
                places[place] = None
                apart.add_captured(place)

    def _behind(
        self, leaves: Sequence[tuple[str, Any]], trees: Sequence[Structure | None]
    ) -> Iterator[Place]:
        """The places of functions and classes among what was taken apart."""
        values = [value for _, value in leaves if is_searched(value)]
        for function in functions_in(values):
            self._note(function)
            if function not in self.functions:
                if len(self.functions) == MOST_FUNCTIONS:
                    self.functions.clear()
                self.functions[function] = places_of(function)
            yield from self.functions[function]
        for key in classes_in(values, trees):
            if self.looks_at is None and asks_for_its_class(key[0]):
                self.looks_at = "type, in a class with a base of its own"
            if key not in self.classes:
                if len(self.classes) == MOST_FUNCTIONS:
                    self.classes.clear()
                found = places_of_class(*key)
                codes = (f.__code__ for f in functions_of(key[0]))  # but what a dataclass makes
                written = (c for c in codes if c.co_filename != "<string>")
                self.asks_identity |= any(map(asks_identity, written))
                if self.asks_types:  # and may make objects of them
                    found = (*found, *places_of_class(key[0], of_objects=False))
                self.classes[key] = found
            yield from self.classes[key]


class Kept(NamedTuple):
    """What was read from outside last, where nothing of it can change but by another object.

    Attributes:
        places: where it was read.
        read: what was found at each place.
        layout: of a call with it.
        values: its leaves, which follow those of the arguments.
        containers: what was taken apart of it.
    """

    places: tuple[Place, ...]
    read: list[Any]
    layout: Layout
    values: list[Any]
    containers: Sequence[Any] = ()


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
