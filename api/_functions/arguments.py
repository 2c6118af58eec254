"""The arguments of a call: bound to parameters, taken apart into arrays, numbers and statics."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import FunctionType, MethodType
from typing import Any, NamedTuple

import numpy as np

from opweave._functions.layout import Call, Layout, _distinct, first_places
from opweave.compiler.arrays.traced_operators import is_traced
from opweave.compiler.traced.foreign import remedy
from opweave.compiler.tracing.bytecode import asks_frames, asks_identity, names_in
from opweave.compiler.tracing.calling import signature_of
from opweave.compiler.tracing.capture import (
    Place,
    asks_for_its_class,
    classes_in,
    compares_objects,
    functions_in,
    functions_of,
    helpers_of,
    places_of,
    places_of_class,
)
from opweave.compiler.tracing.containers import is_container, is_object
from opweave.compiler.tracing.structure import Identity, Structure
from opweave.compiler.tracing.tree import CycleError, flatten, forget
from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import ArgumentError
from opweave.runtime.calls.arrays import STATIC_TYPES, is_array, is_scalar

VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
# For so many functions, and classes, it is remembered what they read.
MOST_FUNCTIONS = 256
# Types of leaves that may read something from outside.
SEARCHED = (FunctionType, MethodType, type, Identity)
# Types of most arguments.
LEAVES = frozenset({np.ndarray, float, int, complex, bool, str, np.float32, np.float64})


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
        self.asks_identity = False  # it asks whether two of its values are the same object
        self.compares_objects = False  # by ``is``; functions of others may return the objects
        self.looks_at: str | None = None  # the function that it calls to look at its own names
        self.functions: dict[Any, tuple[Place, ...]] = {}
        self.kept: Kept | None = None

    def unchanged(self) -> Kept | None:
        """The values that were read from outside last, if the very same objects are still there.

        None where they are not, or where leaves do not follow from the order of arguments.
        """
        kept = self.kept
        if kept is None or not self._takes_any:
            return None
        for place, value in zip(kept.places, kept.read, strict=True):
            if place.read() is not value:
                return None
        return kept

    def forget(self) -> None:
        """Forget what the function reads from outside, so that it is searched again."""
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
        """Note what a function that is an argument asks."""
        self.asks_identity |= asks_identity(function.__code__)
        self.compares_objects |= compares_objects(function)
        self.looks_at = self.looks_at or asks_frames(function.__code__)

    def _bound(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        """Argument values in the order of the parameters; a tuple for ``*args``."""
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
        apart = _Apart()
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

    def _add_captured(self, apart: _Apart) -> tuple[Place, ...]:
        """Add what the function reads from outside, and what functions and classes there read.

        Returns the places of these values.
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


class _Apart:
    """Values taken apart: their leaves with paths, which are static, their trees."""

    def __init__(self) -> None:
        self.leaves: list[tuple[str, Any]] = []
        self.static: list[bool] = []
        self.trees: list[Structure | None] = []
        self.read: list[Any] = []
        self.seen: dict[int, Any] = {}

    def add_argument(self, name: str, value: Any, is_static: bool) -> None:
        if is_leaf(value, is_static):
            self._add([(name, value if is_static else _told(value))], None, [is_static])
        else:
            found, tree = self._flat(name, value)
            if not LEAVES.issuperset([type(leaf) for _, leaf in found]):
                found = [(path, _told(leaf)) for path, leaf in found]
            self._add(found, tree, [is_static] * len(found))

    def _flat(self, name: str, value: Any) -> tuple[list[tuple[str, Any]], Structure | None]:
        count = len(self.seen)
        try:
            return flatten(value, name, attribute=_understood, seen=self.seen)
        except CycleError:
            if not is_object(value):
                raise
            forget(self.seen, count)  # in parts the function sees the object itself
            return [(name, Identity(value))], None

    def add_captured(self, place: Place) -> None:
        value = place.read()
        self.read.append(value)
        if type(value) in LEAVES and not place.watched:
            self._add([(place.label, value)], None, [type(value) is not np.ndarray])
            return
        count = len(self.seen)
        try:
            found, tree = flatten(value, place.label, seen=self.seen)
        except ArgumentError:  # too large, or it holds itself; refused where it is read
            forget(self.seen, count)
            found, tree = [(place.label, Identity(value))], None
        if place.watched:  # the function sees the value itself
            found = [(path, Identity(v) if is_array(v) else v) for path, v in found]
        static = [not is_array(leaf) for _, leaf in found]
        self._add([(path, _understood(leaf)) for path, leaf in found], tree, static)

    def _add(self, leaves: Any, tree: Structure | None, static: list[bool]) -> None:
        self.leaves += leaves
        self.static += static
        self.trees.append(tree)


def is_searched(value: Any) -> bool:
    """True for a function or class, which may read something from outside."""
    return isinstance(value, SEARCHED)


def is_plain_leaf(value: Any) -> bool:
    """True for an argument that is a leaf itself, and reads nothing from outside."""
    if type(value) in LEAVES:
        return True
    return is_leaf(value) and not is_searched(value) and (is_known(value) or bool(remedy(value)))


def is_leaf(value: Any, is_static: bool = False) -> bool:
    """True for an argument that is not taken apart."""
    return is_static or type(value) in LEAVES or not is_container(value)


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


def _understood(value: Any) -> Any:
    """What is neither array nor number nor static, such as a generator, is equal to itself."""
    return value if type(value) in LEAVES or is_known(value) else Identity(value)


def _told(value: Any) -> Any:
    """The same of an argument; of another library's the user is told what to pass instead."""
    return value if type(value) in LEAVES or remedy(value) else _understood(value)


def is_known(value: Any) -> bool:
    """True for arrays, also of other libraries, numbers, and what selects what a function does."""
    kind = type(value)
    return (
        is_array(value)
        or is_scalar(value)
        or issubclass(kind, STATIC_TYPES)
        or kind is object  # a sentinel
        or is_traced(value)
    )


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
