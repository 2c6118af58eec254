"""What the arguments of a call are like, to compare others with: templates/host/arguments.h."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from ctypes import c_longlong, c_size_t
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from opweave.runtime.calls.arrays import pointer
from opweave.runtime.host.warm_layout import (
    ANY,
    ARRAY,
    DICT,
    GIVEN,
    LIST,
    NOTHING,
    OBJECT,
    OF_PYTHON,
    READS,
    SAME,
    TUPLE,
    CNode,
    CRoot,
)

CONTAINERS: dict[type, int] = {tuple: TUPLE, list: LIST, dict: DICT}


def container_of(kind: type) -> int | None:
    """What C takes a type apart as, a named tuple as any other; None for one that it does not."""
    is_named = issubclass(kind, tuple) and hasattr(kind, "_fields") and not kind.__dictoffset__
    return TUPLE if is_named else CONTAINERS.get(kind)


class Lies(NamedTuple):
    """An array: its extents, its strides, and its dtype by NumPy's numbers.

    Attributes:
        span: its bytes, counted from the first element.
    """

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    number: int
    order: int
    is_aligned: bool
    span: tuple[int, int]

    @classmethod
    def of(cls, array: Any) -> Lies:
        """The layout of an array, which itself is not held."""
        low, high = np.lib.array_utils.byte_bounds(array) if array.size else (pointer(array),) * 2
        span = low - pointer(array), high - pointer(array)
        dtype = array.dtype
        aligned = bool(array.flags.aligned)
        return cls(array.shape, array.strides, dtype.num, ord(dtype.byteorder), aligned, span)


class GivenNumber(NamedTuple):
    """A number of a type; of that value, unless it is None."""

    type: type
    value: Any = None

    @property
    def read(self) -> int:
        """How C reads it; -1 for a complex number, of which it reads parts."""
        return READS.get(self.type, -1)


class Same(NamedTuple):
    """A leaf that must be that very object."""

    value: Any


class Anything(NamedTuple):
    """A leaf that is known to be as it was."""


class Nothing(NamedTuple):
    """None, which is no leaf."""


class Holds(NamedTuple):
    """A container, or an object with attributes.

    Attributes:
        type: of the container, a tuple, list or dict, or a class.
        keys: of a dict, or the names of attributes, in their order.
        values: what it holds.
        is_told: whether it is one of the containers that the end of a call is told of.
    """

    type: type
    keys: tuple[str, ...]
    values: tuple[Any, ...]
    is_told: bool


Node = Lies | GivenNumber | Same | Anything | Nothing | Holds


class FoundAt(NamedTuple):
    """Where a value lies that is no argument.

    Attributes:
        where: in a cell, in a dict by a name, or always there.
        holder: the cell or dict, or the value itself.
    """

    where: int
    holder: Any
    name: str | None = None

    @property
    def row(self) -> CRoot:
        """As C takes it."""
        return CRoot(self.where, 0, id(self.holder), id(self.name))


@dataclass
class NodeRows:
    """NodeRows as C takes them, each in front of those that it holds.

    Attributes:
        rows: the nodes.
        arrays: places of arrays among the leaves, in the order of the words.
        alive: what the rows point to.
        leaves: how many there are.
        given: words that have an array.
        spans: of the arrays, in the order of the words.
    """

    arrays: Sequence[int]
    rows: list[CNode] = field(default_factory=list)
    alive: list[Any] = field(default_factory=list)
    leaves: int = 0
    told: int = 0
    given: set[int] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.spans = [(0, 0)] * len(self.arrays)

    def add(self, node: Node) -> None:
        """Add a value, and those that it holds."""
        if isinstance(node, Holds):
            self.rows.append(self._holding(node))
            self.told += node.is_told
            for value in node.values:
                self.add(value)
            return
        self.rows.append(self._leaf(node))
        self.alive.append(node)
        self.leaves += not isinstance(node, Nothing)

    def _holding(self, node: Holds) -> CNode:
        keys = (c_size_t * max(len(node.keys), 1))(*map(id, node.keys))
        self.alive += [node.type, node.keys, keys]
        kind = container_of(node.type)
        return CNode(
            kind=OBJECT if kind is None else kind, count=len(node.values), like=id(node.type),
            keys=ctypes.addressof(keys), is_told=node.is_told, value=id(dict),
        )  # fmt: skip

    def _leaf(self, node: Node) -> CNode:
        if isinstance(node, Lies):
            return self._array(node)
        if isinstance(node, GivenNumber):
            is_exact = node.value is not None
            value = bits_of(node) if is_exact else 0
            like = id(node.type)
            return CNode(kind=GIVEN, like=like, number=node.read, is_exact=is_exact, value=value)
        if isinstance(node, Same):
            return CNode(kind=SAME, like=id(node.value))
        return CNode(kind=NOTHING if isinstance(node, Nothing) else ANY, like=id(None))

    def _array(self, node: Lies) -> CNode:
        dims, word = len(node.shape), -1
        if self.leaves in self.arrays:  # else it is compared alone
            word = self.arrays.index(self.leaves)
            self.spans[word] = node.span
            self.given.add(word)
        lies = (c_longlong * max(2 * dims, 1))(*node.shape, *node.strides)
        self.alive.append(lies)
        return CNode(
            kind=ARRAY, count=dims, like=id(np.ndarray), lies=ctypes.addressof(lies), word=word,
            number=node.number, order=node.order, aligned=node.is_aligned,
        )  # fmt: skip


def bits_of(node: GivenNumber) -> int:
    """A number as C compares it."""
    if node.read == OF_PYTHON:
        return int(node.value) % 2**64
    return int.from_bytes(np.asarray(node.value).tobytes(), "little")


def is_numbers_bits(node: GivenNumber) -> bool:
    """Whether C can compare with it."""
    return node.read >= 0 and (node.read != OF_PYTHON or -(2**63) <= node.value < 2**63)


def told_types(nodes: Sequence[Node]) -> list[type]:
    """The types of containers that the end of a call is told of, each behind what it holds."""
    found: list[type] = []
    for node in nodes:
        if isinstance(node, Holds):
            found += told_types(node.values)
            found += [node.type] * node.is_told
    return found
