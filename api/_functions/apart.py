"""Arguments, and what a function reads from outside, taken apart into leaves and trees."""

from __future__ import annotations

from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any, NamedTuple

import numpy as np

from opweave.compiler.arrays.traced_operators import is_traced
from opweave.compiler.captures.containers import is_container, is_object
from opweave.compiler.captures.definitions import Definition
from opweave.compiler.captures.places import Place
from opweave.compiler.captures.structure import NOTHING, Identity, Structure
from opweave.compiler.captures.tree import CycleError, flatten, forget
from opweave.compiler.ir.plain_arrays import is_array
from opweave.compiler.traced.foreign import remedy
from opweave.opcodes.errors import ArgumentError
from opweave.runtime.calls.arguments import STATIC_TYPES, is_scalar

# What may read something from outside, and is a leaf.
SEARCHED = (FunctionType, MethodType, type, Enum, Identity)
# Types of most arguments.
LEAVES = frozenset({np.ndarray, float, int, complex, bool, str, np.float32, np.float64})
# Others that are leaves, and known: no look at their class is needed.
KNOWN = LEAVES | {FunctionType, MethodType, BuiltinFunctionType, ModuleType}


class Read(NamedTuple):
    """What was found at a place: leaves with paths, which are static, and their structure."""

    place: Place
    value: Any
    leaves: list[tuple[str, Any]]
    static: list[bool]
    tree: Structure | None

    @property
    def is_steady(self) -> bool:
        """Whether only another object at the place can change what was found."""
        return self.tree is None or self.tree is NOTHING

    def without_arrays(self) -> Read:
        """The same to compare with, which holds no array."""
        rows = zip(self.leaves, self.static, strict=True)
        return self._replace(leaves=[row if static else ("", None) for row, static in rows])

    def is_like(self, other: Read) -> bool:
        """Whether another look has found the same, but for arrays."""
        return (
            self.tree == other.tree
            and self.static == other.static
            and all(
                a is b or not is_static or (type(a) is Identity and a == b)
                for (_, a), (_, b), is_static in zip(
                    self.leaves, other.leaves, self.static, strict=True
                )
            )
        )


class Apart:
    """Values taken apart: their leaves with paths, which are static, their trees."""

    def __init__(self) -> None:
        self.leaves: list[tuple[str, Any]] = []
        self.static: list[bool] = []
        self.trees: list[Structure | None] = []
        self.reads: list[Read] = []
        self.seen: dict[int, Any] = {}
        self.used: list[Definition] = []

    def using(self, definition: Definition) -> tuple[Place, ...]:
        """What a function or class that is used reads from outside."""
        self.used.append(definition)
        return definition.now.found.places

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

    def add_captured(self, place: Place) -> Read:
        """Add what a function reads from outside."""
        found = self._read(place, place.read())
        self.add(found)
        self.reads.append(found)
        return found

    def add(self, found: Read) -> None:
        """Add what was read before."""
        self._add(found.leaves, found.tree, found.static)

    def _read(self, place: Place, value: Any) -> Read:
        if place.is_given and is_object(value):
            found, tree = self._flat(place.label, value)
            return Read(place, value, found, [False] * len(found), tree)
        if type(value) in LEAVES and not place.watched:
            static = [type(value) is not np.ndarray]
            return Read(place, value, [(place.label, value)], static, None)
        count = len(self.seen)
        try:
            found, tree = flatten(value, place.label, seen=self.seen)
        except ArgumentError:  # too large, or it holds itself; refused where it is read
            forget(self.seen, count)
            found, tree = [(place.label, Identity(value))], None
        if place.watched:  # which the function sees itself
            found = [(path, Identity(v) if is_array(v) else v) for path, v in found]
        static = [not is_array(leaf) for _, leaf in found]
        leaves = [(path, _understood(leaf)) for path, leaf in found]
        return Read(place, value, leaves, static, tree)

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
    return is_static or type(value) in KNOWN or not is_container(value)


def _understood(value: Any) -> Any:
    """What is neither array nor number nor static, such as a generator, is equal to itself."""
    return value if type(value) in KNOWN or is_known(value) else Identity(value)


def _told(value: Any) -> Any:
    """The same of an argument; of another library's the user is told what to pass instead."""
    return value if type(value) in KNOWN or remedy(value) else _understood(value)


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
