"""Partial fusion: a function that cannot be one graph runs line by line.

The function runs as in Python, on the arrays of the call.  Operations that opweave compiles are
only noted.  When something asks for a value (a function that opweave does not know, a branch, an
assignment to elements), the noted operations become a graph, a *segment*, which runs as fused
kernels.
"""

from __future__ import annotations

import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from opweave.compiler.arrays.interface import Alias
from opweave.compiler.arrays.traced_operators import is_traced_array
from opweave.compiler.ir.builder import Builder, scalar_type
from opweave.compiler.ir.expr import Expr
from opweave.compiler.ir.graph import Graph, Node
from opweave.compiler.ir.values import Value, Where
from opweave.compiler.parts.interface import Given
from opweave.compiler.parts.lazy_array import LazyArray
from opweave.compiler.parts.segments import Segment, cut, may_raise, shared_views
from opweave.compiler.traced.arrays import TracedArray
from opweave.compiler.traced.made import is_array
from opweave.compiler.traced.numbers import TracedScalar
from opweave.compiler.traced.tracer import Tracer
from opweave.compiler.traced.unwatched import unwatched
from opweave.compiler.tracing.results import boxed
from opweave.opcodes.allowed import is_number
from opweave.opcodes.core import Operator
from opweave.opcodes.errors import (
    ArgumentError,
    DTypeError,
    OpweaveError,
    SubclassError,
    UnsupportedError,
)

# When so many operations are noted, they are computed, though nobody asks for a value.
MOST_PENDING = 1000

Describe = Callable[[str, Any], Any]
Run = Callable[[Segment], Sequence[Any]]


@dataclass(frozen=True)
class Break:
    """Where the function needed arrays.

    Attributes:
        what: the operation that asked for a value.
        where: the user's line.
        nbytes: bytes of the arrays that were computed for it; fusion would have kept these in
            registers.
        ran: a segment ran before it; False if everything was computed already.
    """

    what: str
    where: Where
    nbytes: int
    ran: bool


class LazyTracer(Tracer):
    """Notes operations on arrays, and runs them when a value is needed.

    Args:
        name: of the function.
        describe: what is static of an array.
        run: runs a segment, returns its outputs.
    """

    selects = False  # NumPy can count the elements that a mask selects

    def __init__(self, name: str, first_line: int, describe: Describe, run: Run):
        super().__init__(Builder({}), {}, first_line, describe)
        self.name = name
        self.run = run
        self.given: dict[int, Given] = {}
        self.arguments: set[int] = set()
        self.breaks: list[Break] = []
        self.asking = 0  # calls under way of NumPy functions that return a new array
        self.leaked = False  # other code has an array itself, and may write to it unnoticed
        self.aliases: dict[int, tuple[Value, Alias]] = {}  # what NumPy would make each a view of
        self._looked_at: set[int] = set()
        self.views: dict[int, Any] = {}  # arrays of further stand-ins for a value, by stand-in
        self.first: dict[int, int] = {}  # of each value the stand-in that has the array itself
        self._live: dict[int, weakref.ref[LazyArray]] = {}
        # stand-ins of the arrays that NumPy was given, by the identities of the arrays
        self.handed: dict[int, weakref.ref[LazyArray]] = {}

    def apply(self, operator: Operator, operands: Sequence[Any], attrs: Any = None) -> Any:
        made = super().apply(operator, operands, attrs)
        self._caught_up()
        return self.told(made)

    def told(self, made: Any) -> Any:
        """The result; a number is computed at once if the function may ask ``is True`` of one.

        For some types of c the result of ``c < x.sum()`` is Python's own bool.
        """
        if self.asks_truth and is_traced_array(made) and self.is_number(made.value):
            return self.concrete(made)
        return made

    def hidden_view(self, array: TracedArray, axes: tuple[int | None, ...]) -> TracedArray:
        made = super().hidden_view(array, axes)
        self._caught_up()  # only now: a number that is computed before it is hidden is an array
        return made

    def _caught_up(self) -> None:
        if self.leaked or len(self.builder.nodes) >= MOST_PENDING:
            self.flush()

    def noted(self, error: OpweaveError) -> OpweaveError:
        """The error is not kept: NumPy is asked next, and its traceback would hold arrays."""
        return error

    def begin(self) -> None:
        """The arrays that were taken until now are the arguments; they stay."""
        self.arguments = set(self.given)

    def check_length(self, where: Where) -> None:
        """No limit: what is pending is computed from time to time, however long the function."""

    def check_truth(self, operator: Operator, operands: Sequence[Any]) -> None:
        """No check: where it matters, Python compares the numbers themselves, see ``told``."""

    # What the function is given

    @unwatched
    def wrapped(self, value: Value) -> LazyArray:
        made = LazyArray(self, value)
        number = id(made)
        self._live[number] = weakref.ref(made, lambda _: self._live.pop(number, None))
        return made

    def truth(self, array: TracedArray, what: str) -> Any:
        """The bool itself, computed now."""
        return bool(array)

    @unwatched
    def taken(self, item: Any, name: str = "") -> Any:
        """What the function sees of an array, of a number, or of anything else."""
        if not is_array(item):
            return item
        known = self.handed.get(id(item), _nothing)()
        if known is not None and known.value.id in self.given and self._array_of(known) is item:
            return known
        try:
            value = self._input(item, name)
        except (DTypeError, ArgumentError, SubclassError):
            return item  # NumPy computes with it
        made = self.wrapped(value)
        self.first[value.id] = id(made)
        return made

    def _input(self, array: Any, name: str = "") -> Value:
        assert self.describe is not None
        kind = self.describe(name, array)
        value = self.builder.new_input(kind.dtype, kind.shape)
        self._there(value, array, name)
        self.mapped |= {value.id} if type(array) is np.memmap else set()
        self.array_class = np.ndarray if isinstance(array, np.ndarray) else type(array)
        return value

    def class_of(self, value: Value) -> type:
        if self.mapped and value.id not in self.given:
            self.broken("the class of what may be a view of a np.memmap")
        given = self.given.get(value.id)
        return self.array_class if given is None else type(given.array)

    def _there(self, value: Value, found: Any, name: str = "") -> None:
        """Make a value that is computed an input of all that follows."""
        assert self.describe is not None
        array = found if is_array(found) else np.asarray(found)
        self.given[value.id] = Given(value, name, self.describe(name, array), array, found)
        self.inputs.add(value.id)
        if array is not found:
            self.unboxed.add(value.id)

    def reshaped(self, array: Any) -> None:
        """Note that an array has another shape or type from now on, under each of its names."""
        for held in [a for a in (r() for r in list(self._live.values())) if a is not None]:
            given = self.given.get(held.value.id)
            if given is not None and given.found is array:
                held.value = self._input(array, given.name)

    def number(self, item: Any) -> TracedScalar:
        """A number as a parameter: no kernel holds its value, so kernels serve any value."""
        name = f"number{len(self.env)}"
        self.env[name] = item
        return TracedScalar(self, Expr("argument", (name,)), item)

    def literal(self, item: Any) -> Expr:
        return self.number(item).expr

    def indices(self, places: Any) -> Value:
        """Indices beside arrays on the host; elsewhere the arrays' own module takes them.

        Raises:
            UnsupportedError: the arrays lie elsewhere.
        """
        if not all(isinstance(given.array, np.ndarray) for given in self.given.values()):
            raise UnsupportedError("indices on the host of arrays that lie elsewhere")
        return self.constant(places)

    def constant(self, array: Any, follows: bool = False) -> Value:
        """A copy of an array that the function has from elsewhere, and may write to later."""
        return self._input(array.copy())

    def alias(self, array: TracedArray, made: TracedArray, of: Alias) -> TracedArray:
        there = self.given.keys() >= {made.value.id, array.value.id}
        if made.value is not array.value and there:  # it was computed at once, see ``leaked``
            view = of(self.given[array.value.id].found, self.given[made.value.id].array.shape)
            self._there(made.value, view)
        elif made.value is not array.value:
            self.aliases[made.value.id] = (array.value, of)
        return super().alias(array, made, of)

    def lies_in_rows(self, value: Value) -> bool:
        given = self.given.get(value.id)
        if value.id in self.aliases:
            return False  # a view of NumPy's has the layout of its array
        if given is None:
            return super().lies_in_rows(value)
        return bool(given.array.flags.c_contiguous)

    def _operand(self, operator: Operator, item: Any, where: Where) -> Any:
        if is_number(item) and not is_traced(item):
            return self.literal(item), scalar_type(item)
        return super()._operand(operator, item, where)

    def boxed(self, graph: Graph, ids: Mapping[int, int]) -> frozenset[int]:
        """Outputs of a segment that NumPy returns as arrays without dimensions.

        ``ids`` maps the tracer's ids of values to those of the segment.
        """
        return boxed(graph, *({n for old, n in ids.items() if old in known}
                              for known in (self.hidden, self.unboxed)))  # fmt: skip

    # What is computed

    @unwatched
    def flush(self) -> tuple[bool, int]:
        """Compute all arrays that the function still holds.

        Returns whether a segment ran, and the bytes that it wrote.
        """
        held = [a for a in (r() for r in list(self._live.values())) if a is not None]
        values = {a.value.id: a.value for a in held if a.value.id not in self.given}
        views = shared_views(self, values, {a.value.id for a in held})
        roots = [view.root for view in views if view.root.id not in self.given]
        values = {
            **{n: v for n, v in values.items() if n not in {view.value.id for view in views}},
            **{root.id: root for root in roots},
        }
        total = 0
        looked_at = [n.result for n in self.builder.nodes if self._may_raise(n)]
        if values or looked_at:
            self._looked_at |= {value.id for value in looked_at}
            segment = cut(self, list(values.values()), looked_at)
            there = {id(given.array) for given in self.given.values()}
            for value, array in zip(values.values(), self.run(segment), strict=True):
                # an array and a view of all of it are two objects
                self._there(value, array.view() if id(array) in there else array)
                total += int(array.nbytes)
        # NumPy makes a new array for each stand-in of a number
        made = {view.root.id: self.given[view.root.id].found for view in views}
        for view in views:
            self._there(view.value, view.array(made))
        # nothing is pending, and values that nobody holds are freed, as in Python
        self.builder.nodes.clear()
        self.aliases.clear()
        self._looked_at.clear()
        kept = {a.value.id for a in held} | self.arguments
        self.given = {n: g for n, g in self.given.items() if n in kept}
        self.families = {n: f for n, f in self.families.items() if n in kept}
        self.borrowed &= kept
        self.handed = {n: r for n, r in self.handed.items() if r() is not None}
        return bool(values), total

    def settle(self) -> None:
        """Compute values that nobody asked for, where computing them may raise."""
        if any(map(self._may_raise, self.builder.nodes)):
            self.flush()

    def _may_raise(self, node: Node) -> bool:
        """Whether a node must run though nobody reads it: it may raise, and has not run yet."""
        return may_raise(node) and node.result.id not in self._looked_at

    def decide(self, condition: Expr, value: bool) -> bool:
        """The truth of a condition; no guard needs it, since the function runs at each call."""
        return value

    @unwatched
    def concrete(self, item: Any) -> Any:
        """The array or number behind a traced one; containers are taken apart."""
        if isinstance(item, TracedArray):
            if item.value.id not in self.given:
                self.flush()  # all of them: views and their arrays share memory from now on
            found = self._array_of(item)
            if is_array(found):
                self.handed[id(found)] = self._live[id(item)]
            return found
        if isinstance(item, TracedScalar):
            return item.example
        if isinstance(item, dict):
            return self._filled(item, [(k, self.concrete(v)) for k, v in item.items()])
        if isinstance(item, list | deque):
            return self._filled(item, list(enumerate(map(self.concrete, item))))
        if type(item) in (tuple, set, frozenset):
            return type(item)(map(self.concrete, item))
        if type(item) is slice:
            return slice(*map(self.concrete, (item.start, item.stop, item.step)))
        return item

    def _array_of(self, item: TracedArray) -> Any:
        """The array of a stand-in; a second one for the same value gets a view, a new object."""
        found = self.given[item.value.id].found
        if not is_array(found) or self.first.setdefault(item.value.id, id(item)) == id(item):
            return found
        known = self.views.get(id(item))
        if known is None or known[0]() is not item or known[1] is not found:
            known = self.views[id(item)] = weakref.ref(item), found, found[...]
        return known[2]

    @staticmethod
    def _filled(item: Any, pairs: Sequence[tuple[Any, Any]]) -> Any:
        """A new container of the same kind; one of the user's own class is filled in place."""
        if type(item) in (list, dict):
            return type(item)(pairs) if type(item) is dict else [value for _, value in pairs]
        for key, value in pairs:
            item[key] = value
        return item

    def broken(self, what: str) -> None:
        """Compute all arrays for a line that no kernel can hold, and note the line."""
        ran, nbytes = self.flush()
        self.breaks.append(Break(what, self.where(), nbytes, ran))

    def eagerly(
        self, what: str, error: Exception, function: Callable[..., Any], args: Any, kwargs: Any
    ) -> Any:
        """Call a function with arrays; if it fails too, say why it was not compiled.

        All arrays are computed before the call, since the function may write to any of them.
        """
        self.broken(f"{what}: {_short(error)}")
        try:
            result = function(*self.concrete(tuple(args)), **self.concrete(dict(kwargs)))
        except Exception as found:
            # our error says more; it is raised where the function could not tell the two apart
            if type(found) in (TypeError, ValueError) and isinstance(error, type(found)):
                raise error from found
            found.add_note(f"opweave runs this line by NumPy: {error}")
            raise
        return self.seen_of(result)

    def seen_of(self, result: Any) -> Any:
        """A result with every array in it taken."""
        if type(result) in (tuple, list):
            return type(result)(map(self.seen_of, result))
        if isinstance(result, tuple) and hasattr(result, "_fields"):
            return type(result)(*map(self.seen_of, result))
        return self.taken(result)


def _nothing() -> None:
    """What a weak reference to an object that is gone returns."""


def is_traced(item: Any) -> bool:
    """True for a traced number, although its ``__class__`` is the class of the number."""
    return issubclass(type(item), TracedScalar)


def _short(error: Exception) -> str:
    """The reason of a refusal, without the advice and the operands."""
    text = str(error).split(";")[0].split(" (")[0]
    return text.split(": ", 1)[-1]
