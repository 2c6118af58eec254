"""What the arguments of a prepared call are like, and what its function reads from outside."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from enum import Enum
from inspect import getattr_static, isdatadescriptor
from types import BuiltinFunctionType, CellType, FunctionType, ModuleType
from typing import Any

import numpy as np

from opweave._functions.apart import Read
from opweave._functions.kept import Kept
from opweave.compiler.captures.checks import EQUAL, IS_SAME, OF_TYPE, ON_GPU
from opweave.compiler.captures.containers import is_class_of_objects
from opweave.compiler.captures.structure import NOTHING, Identity, Structure, Tree, has_identity
from opweave.compiler.ir.plain_arrays import is_array, is_cupy
from opweave.runtime.host.warm_arguments import (
    Anything,
    FoundAt,
    GivenNumber,
    Holds,
    Lies,
    Node,
    Nothing,
    Same,
    container_of,
    is_numbers_bits,
)
from opweave.runtime.host.warm_layout import DICT, HERE, IN_CELL, IN_DICT, READS

# Types of leaves: numbers that C reads, and values that are the same object at each call.
NUMBERS = frozenset((*READS, complex, np.complex64, np.complex128)) - {np.bool_}
SAME = (
    bool,
    np.bool_,
    str,
    bytes,
    FunctionType,
    BuiltinFunctionType,
    ModuleType,
    type,
    np.ufunc,
    type(...),
    object,
)
# What defines an attribute in a class, that of a named tuple too.
DEFINES = property, type(vars(namedtuple("_Named", "field"))["field"])
CONSTANTS = frozenset((*SAME, *NUMBERS, *DEFINES))


class NotForC(Exception):
    """Python runs such calls."""


class CallNodes:
    """What the values of a call are like."""

    def __init__(self, kept: Kept, values: Sequence[Any], args: int, asks: bool):
        """``values`` are its leaves, ``args`` the arguments; ``asks`` whether numbers select."""
        self.kept, self.args, self._asks = kept, args, asks
        self._leaves = iter(zip(values, kept.layout.static, strict=True))

    def arguments(self) -> tuple[Node, ...]:
        """Of the arguments, which come first.

        Raises:
            NotForC: of what C does not take apart or compare.
        """
        return tuple(self._node(tree) for tree in self.kept.layout.trees[: self.args])

    def outside(self) -> tuple[tuple[FoundAt, Node], ...]:
        """Of what is read from outside, likewise."""
        trees = self.kept.layout.trees[self.args :]
        return tuple(map(self._read, self.kept.reads, trees))

    def _read(self, read: Read, tree: Structure | None) -> tuple[FoundAt, Node]:
        place = read.place
        if place.watched:
            return self._watched(read, tree)
        if read.is_steady:  # whose object is asked for otherwise; an array may be another inside
            is_leaf = tree is None and not is_array(read.value)
            node = Anything() if is_leaf else self._node(tree)
            if isinstance(node, Anything):
                next(self._leaves)
            return FoundAt(HERE, read.value), node
        if type(place.scope) is dict:
            return FoundAt(IN_DICT, place.scope, place.name), self._node(tree)
        if isinstance(place.scope, CellType):
            return FoundAt(IN_CELL, place.scope), self._node(tree)
        raise NotForC

    def _watched(self, read: Read, tree: Structure | None) -> tuple[FoundAt, Node]:
        """What the function sees itself in a class: that object, and an array as it lies."""
        has_array = type(read.value) is np.ndarray
        if isinstance(tree, Tree):  # that it lies there is asked for otherwise: ``Kept.for_c``
            return FoundAt(HERE, read.value), self._node(tree)
        if not read.is_steady or tree is not None or not (has_array or is_constant(read.value)):
            raise NotForC
        next(self._leaves)
        return FoundAt(HERE, read.value), Lies.of(read.value) if has_array else Anything()

    def _node(self, tree: Structure | None) -> Node:
        if tree is None:
            return self._leaf(*next(self._leaves))
        if tree is NOTHING:
            return Nothing()
        if not isinstance(tree, Tree) or not (container_of(tree.type) or _has_plain(tree)):
            raise NotForC
        values = tuple(map(self._node, tree.children))
        keys = tree.keys if container_of(tree.type) in (DICT, None) else ()
        return Holds(tree.type, keys, values, has_identity(tree))

    def _leaf(self, value: Any, is_static: bool) -> Node:
        if type(value) is Identity:
            return Same(value.value)
        kind = type(value)
        if kind is np.ndarray:
            return Lies.of(value)
        if kind in SAME or isinstance(value, np.dtype | Enum) or is_slice(value):
            return Same(value)
        if is_static and is_constant(value):
            return Same(value)
        if kind not in NUMBERS:
            raise NotForC
        node = GivenNumber(kind, value if self._asks else None)
        if self._asks and not is_numbers_bits(node):
            raise NotForC
        return node


def are_told_apart(same: Sequence[int] | None, values: Sequence[Any]) -> bool:
    """Whether what C asks of leaves says which are one object, where a function asks that.

    Arrays and numbers may be any; where only one is, the others are those very objects.
    """
    if same is None:
        return True
    return sum(type(value) is np.ndarray or type(value) in NUMBERS for value in values) <= 1


def asked_of(value: Any, is_static: bool, asks: bool) -> tuple[str, Any]:
    """What is asked of a leaf of a call on a GPU, see ``looking``, and what it is asked with.

    Args:
        is_static: it is part of the guard, whatever its type.
        asks: numbers select.

    Raises:
        NotForC: of a value of another kind.
    """
    kind = type(value)
    if is_cupy(value):
        return ON_GPU, None
    if kind is str or (kind is int and (is_static or asks)):
        return EQUAL[kind], value
    if kind in SAME or isinstance(value, np.dtype) or (is_static and is_constant(value)):
        return IS_SAME, value
    if is_static or asks or kind not in NUMBERS:
        raise NotForC
    return OF_TYPE, kind


def is_slice(value: Any) -> bool:
    """Whether it is a slice by constants."""
    return type(value) is slice and is_constant((value.start, value.stop, value.step))


def is_constant(value: Any) -> bool:
    """Whether an object that is the same one is equal to what it was, too."""
    if type(value) is tuple:
        return all(map(is_constant, value))
    return value is None or type(value) in CONSTANTS


def _has_plain(tree: Tree) -> bool:
    """Whether a class keeps the attributes of its objects in their dict alone."""
    found = [getattr_static(tree.type, name, None) for name in tree.keys]
    return is_class_of_objects(tree.type) and not any(map(isdatadescriptor, found))
