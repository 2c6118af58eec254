"""Arguments, and what a function reads from outside, taken apart into leaves and trees."""

from __future__ import annotations

from enum import Enum
from types import FunctionType, MethodType
from typing import Any

import numpy as np

from opweave.compiler.arrays.traced_operators import is_traced
from opweave.compiler.traced.foreign import remedy
from opweave.compiler.tracing.containers import is_container, is_object
from opweave.compiler.tracing.definitions import Definition
from opweave.compiler.tracing.places import Place
from opweave.compiler.tracing.structure import Identity, Structure
from opweave.compiler.tracing.tree import CycleError, flatten, forget
from opweave.opcodes.errors import ArgumentError
from opweave.runtime.calls.arrays import STATIC_TYPES, is_array, is_scalar

# What may read something from outside, and is a leaf.
SEARCHED = (FunctionType, MethodType, type, Enum, Identity)
# Types of most arguments.
LEAVES = frozenset({np.ndarray, float, int, complex, bool, str, np.float32, np.float64})


class Apart:
    """Values taken apart: their leaves with paths, which are static, their trees."""

    def __init__(self) -> None:
        self.leaves: list[tuple[str, Any]] = []
        self.static: list[bool] = []
        self.trees: list[Structure | None] = []
        self.read: list[Any] = []
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
        if place.watched:  # which the function sees itself
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
