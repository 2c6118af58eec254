"""The arguments of a call: bound to parameters, taken apart into arrays, numbers and statics."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Any, NamedTuple

import numpy as np

from opweave.compiler.capture import (
    Place,
    classes_in,
    functions_in,
    names_in,
    places_of,
    places_of_class,
)
from opweave.compiler.trace import signature_of
from opweave.compiler.tree import Constant, Identity, Tree, flatten, is_container
from opweave.opcodes.allowed import shown
from opweave.opcodes.cached import cached_property
from opweave.opcodes.errors import ArgumentError
from opweave.runtime.arrays import STATIC_TYPES, argument_type, is_array, is_scalar

VARIADIC = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
# Functions of which it is remembered what they read.
MOST_FUNCTIONS = 256
# What may read something from outside, and is a leaf.
SEARCHED = (FunctionType, MethodType, type, Identity)
# Types of arguments that are leaves, as far as any was met: whether one is follows from its type.
LEAVES: set[type] = {np.ndarray, float, int, complex, bool, str}


@dataclass(frozen=True)
class Layout:
    """Where the leaves of a call come from.

    Attributes:
        names: of the leaves: a parameter's name, or a path such as ``params['w']``.
        static: leaves that are part of the guard, whatever their type.
        parameters: names of the parameters, then the places of captured values.
        trees: structure of each value, None for a leaf.
    """

    names: tuple[str, ...]
    static: tuple[bool, ...]
    parameters: tuple[str | Place, ...]
    trees: tuple[Tree | Constant | None, ...]

    @cached_property
    def structure(self) -> tuple[Tree | Constant | None, ...] | None:
        """The structures of the values; None where all are leaves."""
        return self.trees if any(tree is not None for tree in self.trees) else None

    def rebuilt(self, leaves: Sequence[Any]) -> dict[str | Place, Any]:
        """Values by parameter and place, with other leaves in the place of those given."""
        rest = iter(leaves)
        return {
            name: next(rest) if tree is None else tree.built(rest)
            for name, tree in zip(self.parameters, self.trees, strict=True)
        }

    def arguments(self, leaves: Sequence[Any]) -> dict[str, Any]:
        """The arguments alone, without what the function reads from outside."""
        return {k: v for k, v in self.rebuilt(leaves).items() if isinstance(k, str)}


class Call(NamedTuple):
    """The arguments of one call as leaves."""

    layout: Layout
    values: list[Any]

    @property
    def types(self) -> dict[str, Any]:
        """What a trace takes for each leaf.

        Raises:
            ArgumentError, DTypeError: of the first leaf that is no argument.
        """
        rows = zip(self.layout.names, self.values, self.layout.static, strict=True)
        return {name: argument_type(name, value, static) for name, value, static in rows}

    @property
    def arrays(self) -> list[Any]:
        return [v for v in self.values if is_array(v)]

    @property
    def array_places(self) -> list[int]:
        return [i for i, v in enumerate(self.values) if is_array(v)]

    @property
    def scalar_places(self) -> list[int]:
        """Positions of the numbers that may differ from call to call."""
        static = self.layout.static
        return [i for i, v in enumerate(self.values) if not static[i] and is_scalar(v)]

    def scalars(self, names: Sequence[str]) -> dict[str, Any]:
        """The numbers by their names in a graph."""
        return dict(zip(names, (self.values[i] for i in self.scalar_places), strict=True))


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
            self.places = places_of(self.fn)
            if not self.places:
                self.kept = Kept((), [], self.plain, [])
        if self.places:
            return self._apart(values)
        for value, static in zip(values, self.static, strict=True):
            if not is_leaf(value, static) or is_searched(value):
                return self._apart(values)
        return Call(self.plain, values)

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
        is_plain = all(map(is_leaf, values, self.static)) and not any(map(is_searched, values))
        kept = self.kept
        if kept and is_plain and all(
            place.read() is value for place, value in zip(kept.places, kept.read, strict=True)
        ):  # fmt: skip
            return Call(kept.layout, [*values, *kept.values])
        apart = _Apart()
        for name, value, is_static in zip(self.names, values, self.static, strict=True):
            apart.add_argument(name, value, is_static)
        places = self._add_captured(apart)
        names = _distinct([path for path, _ in apart.leaves])
        layout = Layout(names, tuple(apart.static), (*self.names, *places), tuple(apart.trees))
        flat = [value for _, value in apart.leaves]
        if is_plain and not any(apart.trees):
            self.kept = Kept(places, apart.read, layout, flat[len(values) :])
        return Call(layout, flat)

    def _add_captured(self, apart: _Apart) -> tuple[Place, ...]:
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
        self, leaves: Sequence[tuple[str, Any]], trees: Sequence[Tree | Constant | None]
    ) -> Iterator[Place]:
        """The places of functions and classes among what was taken apart."""
        values = [value for _, value in leaves if is_searched(value)]
        for function in functions_in(values):
            if function not in self.functions:
                if len(self.functions) == MOST_FUNCTIONS:
                    self.functions.clear()
                self.functions[function] = places_of(function)
            yield from self.functions[function]
        for key in classes_in(values, trees):
            if key not in self.classes:
                found = places_of_class(*key)
                if self.asks_types:  # and may make objects of them
                    found = (*found, *places_of_class(key[0], of_objects=False))
                self.classes[key] = found
            yield from self.classes[key]


class _Apart:
    """Values taken apart: their leaves with paths, which are static, their trees."""

    def __init__(self) -> None:
        self.leaves: list[tuple[str, Any]] = []
        self.static: list[bool] = []
        self.trees: list[Tree | Constant | None] = []
        self.read: list[Any] = []

    def add_argument(self, name: str, value: Any, is_static: bool) -> None:
        if is_leaf(value, is_static):
            self._add([(name, value)], None, [is_static])
        else:
            found, tree = flatten(value, name, attribute=_understood)
            self._add(found, tree, [is_static] * len(found))

    def add_captured(self, place: Place) -> None:
        value = place.read()
        self.read.append(value)
        try:
            found, tree = flatten(value, place.label)
        except ArgumentError:
            if not place.watched:
                raise
            found, tree = [(place.label, Identity(value))], None
        if place.watched:  # which the function sees itself
            found = [(path, Identity(v) if is_array(v) else v) for path, v in found]
        static = [not is_array(leaf) for _, leaf in found]
        self._add([(path, _understood(leaf)) for path, leaf in found], tree, static)

    def _add(self, leaves: Any, tree: Tree | Constant | None, static: list[bool]) -> None:
        self.leaves += leaves
        self.static += static
        self.trees.append(tree)


def is_searched(value: Any) -> bool:
    """True for a function or class, which may read something from outside."""
    return isinstance(value, SEARCHED)


def is_leaf(value: Any, is_static: bool = False) -> bool:
    """True for an argument that is not taken apart."""
    if is_static or type(value) in LEAVES:
        return True
    if is_container(value):
        return False
    LEAVES.add(type(value))
    return True


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Names of leaves, told apart where two scopes spell one alike.

    >>> _distinct(["w", "x", "w"])
    ('w', 'x', "w'")
    """
    found: dict[str, None] = {}
    for name in names:
        while name in found:
            name += "'"
        found[name] = None
    return tuple(found)


class Kept(NamedTuple):
    """What was read from outside last, where nothing of it can change but by another object.

    Attributes:
        places: where it was read.
        read: what was found at each place.
        layout: of a call with it.
        values: its leaves, which follow those of the arguments.
    """

    places: tuple[Place, ...]
    read: list[Any]
    layout: Layout
    values: list[Any]


def _understood(value: Any) -> Any:
    """What is neither array nor number nor static, such as a generator, is equal to itself."""
    known = is_array(value) or is_scalar(value) or isinstance(value, STATIC_TYPES)
    return value if known or hasattr(value, "__opweave_apply__") else Identity(value)


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
