"""What an array is behind its handle: memory, or an operation on others that is recorded.

A node never changes its meaning.  It has the shape and the dtype of its result from the beginning;
``memory`` when somebody has computed it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Any
from weakref import ref

import numpy as np

from opweave.compiler.ir.plain_arrays import is_cupy
from opweave.opcodes.errors import ArgumentError
from opweave.runtime.process import locks
from opweave.xp.dtypes import DType, Number
from opweave.xp.lines import at_line, line_now

# Held where nodes are linked: never while anything is compiled or computed.
LOCK = locks.rlock()
_numbers = count()
# Readers, or nodes of one memory, that are noted before the dead among them are dropped.
MANY_READERS = 64


class XpOperation:
    """What a node records; there is one object of each operation, which programs are found by.

    Attributes:
        name: that the standard has.
        compute: the same of NumPy's, of arrays, numbers and attributes by name.
    """

    __slots__ = ("compute", "name")

    def __init__(self, name: str, compute: Callable[..., Any]):
        self.name, self.compute = name, compute


class Family:
    """The nodes whose memory is one.

    Attributes:
        members: weak references to them.
        given: weak reference to the node whose memory is somebody else's, who sees what is
            written to that node; None where there is no such.
        is_shown: somebody else sees the memory, and must not see what is written.
        looks: how many programs are reading the memory now.
        many: so many members are noted before the dead among them are dropped.
    """

    __slots__ = ("given", "is_shown", "looks", "many", "members")

    def __init__(self, node: LazyNode, is_given: bool = False):
        self.members = [ref(node)]
        self.given = self.members[0] if is_given else None
        self.is_shown = False
        self.looks = 0
        self.many = MANY_READERS


class LazyNode:
    """A node.

    Attributes:
        operation, args, attrs: what makes it, of nodes and numbers, with attributes that are
            sorted by name; None, (), () where it is computed.
        library: the module whose memory it has or will have, NumPy or CuPy.
        where: the user's line: a file and a line of it.
        memory: an array, once it is computed.
        family: those that share the memory.
        readers: weak references to nodes that were recorded on this one.
        pending: nodes that are to be computed for it, itself too; some may be counted twice.
        oldest: the number of the first of these.
        owner: weak reference to the handle that a user has.
        number: of nodes that were recorded later it is larger.
    """

    __slots__ = (
        "__weakref__", "args", "attrs", "dtype", "family", "library", "memory", "number",
        "oldest", "operation", "owner", "pending", "readers", "shape", "where",
    )  # fmt: skip

    def __init__(self, shape: tuple[int, ...], dtype: DType, library: Any):
        self.shape, self.dtype, self.library = shape, dtype, library
        self.number = self.oldest = next(_numbers)
        self.operation: XpOperation | None = None
        self.args: tuple[LazyNode | Number, ...] = ()
        self.attrs: tuple[tuple[str, Any], ...] = ()
        self.memory: Any = None
        self.family: Family | None = None
        self.readers: list[ref[LazyNode]] = []
        self.owner: Callable[[], Any] | None = None
        self.where: tuple[str, int] = "", 0
        self.pending = 0

    @property
    def is_held(self) -> bool:
        """Whether a user has it."""
        handle = self.owner and self.owner()
        return handle is not None and handle._node is self  # x += y gives a handle another node

    @property
    def is_given(self) -> bool:
        """Whether its memory is somebody else's, who sees what is written to it."""
        family = self.family
        return family is not None and family.given is not None and family.given() is self

    def waiting(self) -> Iterator[LazyNode]:
        """Nodes that are there, were recorded on this one, and are not computed."""
        found = (reader() for reader in self.readers)
        return (node for node in found if node is not None and node.memory is None)

    def put(self, memory: Any, is_given: bool = False) -> None:
        """Give it its memory; it needs what it was made of no more."""
        self.family = Family(self, is_given)
        self.memory = memory
        self.forget()

    def join(self, other: LazyNode) -> None:
        """Note that it shares the memory of another, which is computed."""
        family = self.family = other.family
        assert family is not None
        if len(family.members) >= family.many:
            family.members = [seen for seen in family.members if seen() is not None]
            family.many = 2 * max(len(family.members), MANY_READERS)  # where all are alive
        family.members.append(ref(self))

    def forget(self) -> None:
        """Let go of what it was made of."""
        self.operation, self.args, self.attrs, self.pending = None, (), (), 0


class Handle:
    """What a user has of a node; ``arrays.py`` gives it operators."""

    __slots__ = ("__weakref__", "_node")

    _node: LazyNode

    def _hold(self, node: LazyNode) -> None:
        """Stand for a node from now on."""
        self._node = node
        node.owner = ref(self)


def library_of(memory: Any) -> Any:
    """The module of an array's class: NumPy, or CuPy."""
    return sys.modules["cupy"] if is_cupy(memory) else np


def given(memory: Any, is_given: bool = False) -> LazyNode:
    """A node with this memory."""
    node = LazyNode(tuple(memory.shape), memory.dtype, library_of(memory))
    node.put(memory, is_given)
    return node


def view_of(node: LazyNode, memory: Any) -> LazyNode:
    """A node whose memory may be part of another's."""
    made = LazyNode(tuple(memory.shape), memory.dtype, node.library)
    with LOCK:
        made.memory = memory
        made.join(node)
    return made


def record(
    operation: XpOperation, args: Sequence[LazyNode | Number], attrs: tuple[tuple[str, Any], ...],
    shape: tuple[int, ...], dtype: DType,
) -> LazyNode:  # fmt: skip
    """Record an operation on nodes and numbers.

    Raises:
        ArgumentError: memory of NumPy's and of CuPy's is mixed.
    """
    nodes = [arg for arg in args if type(arg) is LazyNode]
    library = nodes[0].library if len(nodes) == 1 else common_library(operation.name, nodes)
    made = LazyNode(shape, dtype, library)
    made.where = line_now()
    made.operation, made.args, made.attrs = operation, tuple(args), attrs
    seen = ref(made)
    pending = 1
    with LOCK:
        for node in nodes:
            if len(node.readers) >= MANY_READERS:
                node.readers = [ref(waiting) for waiting in node.waiting()]
            node.readers.append(seen)
            if node.pending:
                pending += node.pending
                made.oldest = min(made.oldest, node.oldest)
    made.pending = min(pending, made.number - made.oldest + 1)  # which counts none twice
    return made


def common_library(what: str, nodes: Sequence[LazyNode]) -> Any:
    """The module whose memory all nodes have.

    Raises:
        ArgumentError: there are several.
    """
    first = nodes[0].library
    for node in nodes:
        if node.library is not first:
            raise ArgumentError(
                f"{what}: arrays in NumPy's and in CuPy's memory are mixed{at_line()}: move one "
                "by to_device"
            )
    return first


def part_from(node: LazyNode) -> None:
    """Give a node memory of its own; under ``LOCK``."""
    node.memory = node.memory.copy()
    node.family = Family(node)


def part_others(node: LazyNode) -> None:
    """Give those that share a node's memory their own; under ``LOCK``."""
    family = node.family
    assert family is not None
    for other in [member() for member in family.members]:
        if other is not None and other is not node and other.family is family:
            part_from(other)
    family.members = [ref(node)]
