"""Structures: what containers were, without the leaves that they held."""

from __future__ import annotations

import dataclasses
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from types import SimpleNamespace
from typing import Any

from opweave.opcodes.cached import cached_property

# Dicts of these very types.
MAPPINGS = (dict, OrderedDict)

Path = str


@dataclass(frozen=True)
class Tree:
    """A container's type, keys and children; a child that is None is a leaf.

    Attributes:
        type: tuple, list, dict, OrderedDict, a named tuple, NoneType, partial, or the class of an
            object.
        keys: of a dict, or names of an object's attributes.
        children: one for each item.
    """

    type: type
    keys: tuple[Any, ...]
    children: tuple[Structure | None, ...]

    def built(self, leaves: Iterator[Any], made: list[Any]) -> Any:
        """The container with these leaves, as many as it needs.

        Args:
            made: the containers that ``Again`` counts; this one, and those in it, are added.
        """
        if self.is_flat:
            made.append(tuple(islice(leaves, len(self.children))))
            return made[-1]
        items = [next(leaves) if c is None else c.built(leaves, made) for c in self.children]
        if self.type is type(None):
            return None
        found = self._filled(items)
        if has_identity(self):
            made.append(found)
        return found

    @cached_property
    def is_flat(self) -> bool:
        """A tuple of leaves, as most functions return that return several arrays."""
        return self.type is tuple and bool(self.children) and not any(self.children)

    def _filled(self, items: list[Any]) -> Any:
        if self.type in MAPPINGS:
            return self.type(zip(self.keys, items, strict=True))
        if self.type is partial:
            count, *names = self.keys
            func, *args = items[: count + 1]
            return partial(func, *args, **dict(zip(names, items[count + 1 :], strict=True)))
        if is_namespace(self.type):
            return self.type(**dict(zip(self.keys, items, strict=True)))
        if dataclasses.is_dataclass(self.type) or not issubclass(self.type, tuple | list):
            made = object.__new__(self.type)  # __post_init__ has run already
            for name, item in zip(self.keys, items, strict=True):
                object.__setattr__(made, name, item)
            return made
        return self.type(*items) if self.keys else self.type(items)


@dataclass(frozen=True)
class Constant:
    """A leaf that is the same at each call, such as a text: part of the structure."""

    value: Any

    def built(self, leaves: Iterator[Any], made: list[Any]) -> Any:
        return self.value


@dataclass(frozen=True)
class Again:
    """A container or array that stood in the structure before: ``is`` tells that it is the same.

    Attributes:
        number: which one, counted in the order in which they were taken apart.
    """

    number: int

    def built(self, leaves: Iterator[Any], made: list[Any]) -> Any:
        return made[self.number]


@dataclass(frozen=True)
class Leaf:
    """An array of a result that stands there again, or that is a view of an argument.

    Attributes:
        is_view: an object of its own on an argument's memory.
    """

    is_view: bool

    def built(self, leaves: Iterator[Any], made: list[Any]) -> Any:
        found = next(leaves)
        made.append(found[...] if self.is_view else found)
        return made[-1]


@dataclass(frozen=True)
class Changing:
    """What a function returns, and what it leaves in containers of its arguments.

    Attributes:
        tree: a pair of the result and a tuple of the values that are left.
        places: for each value the number of its container, as ``Again`` has it, and the key, the
            attribute's name or the index there.
        names: the same in the user's terms, such as ``state.step``.
    """

    tree: Tree
    places: tuple[tuple[int, Any], ...]
    names: tuple[str, ...]

    def built(self, leaves: Iterator[Any], made: list[Any]) -> Any:
        """The result; the containers, the first of ``made``, get their values."""
        result, values = self.tree.built(leaves, made)
        for (number, key), value in zip(self.places, values, strict=False):
            put(made[number], key, value)
        return result

    @cached_property
    def left(self) -> int:
        """How many leaves the values have, the last of those that are packed."""
        return leaves_of(self.tree.children[1])


Structure = Tree | Constant | Again | Leaf | Changing


# The structure of None, of which there is one.
NOTHING = Tree(type(None), (), ())


class Identity:
    """An object as part of a guard: equal to itself alone."""

    def __init__(self, value: Any):
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Identity) and other.value is self.value

    def __hash__(self) -> int:
        return id(self.value)


def has_identity(tree: Tree) -> bool:
    """True for containers that ``is`` can tell apart; there is only one None and one ``()``."""
    return bool(tree.children) or not issubclass(tree.type, tuple | type(None))


def leaves_of(structure: Structure | None) -> int:
    """How many leaves a structure is packed of."""
    if structure is None or isinstance(structure, Leaf):
        return 1
    return sum(map(leaves_of, structure.children)) if isinstance(structure, Tree) else 0


def alone(structure: Structure | None) -> Structure | None:
    """The same that changes nothing."""
    return replace(structure, places=()) if isinstance(structure, Changing) else structure


def is_namespace(kind: type) -> bool:
    """True for the standard library's classes of plain attributes."""
    return kind is SimpleNamespace or (
        kind.__name__ == "Namespace" and kind.__module__ == "argparse"
    )


def has_attributes(value: Any) -> bool:
    """Whether an object has a dict of attributes; its class is asked."""
    return type(value).__dictoffset__ != 0


def put(container: Any, key: Any, value: Any) -> None:
    """Leave a value in a list or dict, or an attribute in an object, as its class stores them."""
    if isinstance(container, list | dict):
        container[key] = value
    elif has_attributes(container):
        vars(container)[key] = value
    else:
        object.__setattr__(container, key, value)


def packed(structure: Structure | None, outputs: list[Any], given: Sequence[Any] = ()) -> Any:
    """Outputs in the structure in which the function returned them.

    ``given`` are the containers of the arguments, of which it may return some.
    """
    return outputs[0] if structure is None else structure.built(iter(outputs), list(given))
