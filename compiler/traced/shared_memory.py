"""Which traced arrays share memory, as views do: what is written to one shows in the others."""

from __future__ import annotations

import weakref

import numpy as np

from opweave.compiler.arrays.interface import Alias
from opweave.compiler.arrays.moving import moved
from opweave.compiler.arrays.part_writes import PartWrite
from opweave.compiler.ir.builder import GraphBuilder
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.pace import mean_seconds
from opweave.compiler.ir.values import Value
from opweave.compiler.traced.arrays import TracedArray
from opweave.opcodes.errors import OpweaveError, UnsupportedError


class SharedMemory:
    """The arrays of a trace by the memory that they would have.

    Attributes:
        array_class: what the arrays are to the user's function: NumPy's, or CuPy's.
        inputs: values that are arguments.
        families: arrays that share memory, each by its id, by the id of a value of one of them.
        borrowed: views of arguments.
        strided: arguments that do not lie row by row.
        gaps: copied views of which NumPy has the elements with gaps between them.
        mapped: arguments that are files in memory.
        hidden: views that stand for a dimension which a vector lost.
        writable: what stands for arguments that may be written to, and the values that they had at
            first, by the identity of the former.
        lends: how often arguments may be written to; 0 for never.
        rewrites: how often they were.
        parts: the writes to few of their rows or columns, or by arrays of indices.
        unknown: what arguments hold behind the latter, which nothing computes.
        copied_views: arrays of their own that are views to NumPy.
        locked: arrays that nobody may write to.
    """

    array_class: type = np.ndarray

    def __init__(self, builder: GraphBuilder):
        self.builder = builder
        self.inputs: set[int] = set()
        self.families: dict[int, dict[int, weakref.ref[TracedArray]]] = {}
        self.borrowed: set[int] = set()
        self.strided: set[int] = set()
        self.gaps: set[int] = set()
        self.mapped: set[int] = set()
        self.hidden: set[int] = set()
        self.writable: dict[int, tuple[TracedArray, Value]] = {}
        self.lends = 0
        self.rewrites = 0
        self.parts: list[PartWrite] = []
        self.unknown: set[int] = set()
        self.copied_views: list[weakref.ref[TracedArray]] = []
        self.locked: list[weakref.ref[TracedArray]] = []

    @property
    def rewritten(self) -> list[tuple[TracedArray, Value]]:
        """The arguments that were written to, and the values that they had at first."""
        return [(a, first) for a, first in self.writable.values() if a.value.id != first.id]

    def rewrite(self, array: TracedArray, value: Value) -> None:
        """Let an array stand for another value; an argument lies where it did."""
        if id(array) in self.writable:
            self.rewrites += 1
            if self.rewrites > self.lends:
                raise self.of_rounds(UnsupportedError(
                    f"more than {self.lends} writes to arguments: each round of a loop is code of "
                    "its own; fuse one round of it, or ask for fullgraph=True"
                ))  # fmt: skip
            for known in (self.inputs, self.strided, self.mapped):
                known |= {value.id} if array.value.id in known else set()
        array.value = value

    def of_rounds(self, error: OpweaveError) -> OpweaveError:
        """An error that a loop has too many rounds, with how long these are."""
        error.mean_seconds = mean_seconds(self.builder.nodes, self.builder.extents)
        return error

    def hide(self, view: TracedArray) -> None:
        """A view that is none to NumPy: a number, or a step of our own."""
        self.families.pop(view.value.id, None)
        self.hidden.add(view.value.id)

    def relate(self, array: TracedArray, view: TracedArray) -> None:
        """Note that two arrays share memory, as long as somebody holds both."""
        family = self.families.setdefault(array.value.id, {})
        family |= {id(a): weakref.ref(a) for a in (array, view)}
        self.families[view.value.id] = family
        how = moved(array, view) if view.origin is None else None
        if how is not None and all(map(self._is_rows_of_an_argument, how.reshaped)):
            view.origin = array, how
        if array.value.id in self.inputs | self.borrowed:
            self.borrowed.add(view.value.id)

    def alias(self, array: TracedArray, made: TracedArray, of: Alias) -> TracedArray:
        """An array that a kernel would make and that is a view to NumPy; ``of`` makes that."""
        self.copies(array, made)
        return made

    def spaced(self, made: TracedArray) -> TracedArray:
        """The same array, whose elements NumPy has with gaps between them."""
        if any(extent != 1 for extent in made.value.shape):
            self.gaps.add(made.value.id)
        return made

    def is_spaced(self, value: Value) -> bool:
        """Whether an array is such a one, or a view of it."""
        node = self.builder.nodes.makers.get(value.id)
        of_view = node is not None and node.is_view and self.is_spaced(node.values[0])
        return value.id in self.gaps or of_view

    def lock(self, array: TracedArray) -> TracedArray:
        """The same array, which nobody may write to."""
        alive = [made for made in self.locked if made() is not None]
        self.locked = [*alive, weakref.ref(array)]
        return array

    def is_locked(self, array: TracedArray) -> bool:
        """Whether nobody may write to an array."""
        return any(made() is array for made in self.locked)

    def copies(self, array: TracedArray, made: TracedArray) -> None:
        """Note a part of an array that a kernel makes, and that is a view to NumPy."""
        self.relate(array, made)
        self.copied_views.append(weakref.ref(made))

    def lies_in_rows(self, value: Value) -> bool:
        """Known to lie row by row without a gap, so that NumPy copies it for no order."""
        if value.id in self.strided:
            return False
        node = self.builder.nodes.makers.get(value.id)
        if node is None:
            return True
        if not node.is_view:
            return True
        return _is_run(node) and self.lies_in_rows(node.values[0])

    def _is_rows_of_an_argument(self, value: Value) -> bool:
        """In whatever order NumPy lays out what it makes: this lies row by row without a gap."""
        if value.id in self.inputs:
            return value.id not in self.strided
        node = self.builder.nodes.makers.get(value.id)
        return node is not None and _is_run(node) and self._is_rows_of_an_argument(node.values[0])

    def relatives(self, array: TracedArray) -> list[TracedArray]:
        """Other arrays with the same memory that somebody still holds."""
        family = self.families.get(array.value.id, {})
        alive = [a for a in (r() for r in family.values()) if a is not None]
        for gone in [n for n, r in family.items() if r() is None]:  # of earlier rounds of a loop
            del family[gone]
        others = (a for a in alive if a is not array)
        return [a for a in others if self.families.get(a.value.id) is family]


def _is_run(node: Node) -> bool:
    """True for rows that follow one another, which lie as the array does."""
    return node.operator.name == "slice" and node.attr("axis") == 0 and node.attr("step") == 1
