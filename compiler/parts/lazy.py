"""Partial fusion: a function that cannot be one graph runs line by line.

The function runs as in Python, on the arrays of the call.  Operations that opweave compiles are
only noted.  When something asks for a value (a function that opweave does not know, a branch, an
assignment to elements), the noted operations become a graph, a *segment*, which runs as fused
kernels.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from opweave.compiler.arrays.traced_operators import is_traced_array
from opweave.compiler.ir.expr import Expr
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.plain_arrays import is_array
from opweave.compiler.ir.values import Value, Where
from opweave.compiler.parts.given import TracerOfGiven
from opweave.compiler.parts.interface import Describe, Refusal
from opweave.compiler.parts.marks import Mark, marked
from opweave.compiler.parts.segments import Segment, cut, may_raise, shared_views
from opweave.compiler.parts.users_frame import caller_there
from opweave.compiler.traced.arrays import TracedArray
from opweave.compiler.traced.made import line_of, users_frame, users_place
from opweave.compiler.traced.numbers import TracedScalar
from opweave.compiler.traced.refused import NOT_YET
from opweave.compiler.traced.unwatched import unwatched
from opweave.opcodes.core import Operator
from opweave.opcodes.errors import (
    OpweaveError,
)

# When so many operations are noted, they are computed, though nobody asks for a value.
MOST_PENDING = 1000
# Operations of a segment that ends at a round of a loop.
LEAST_OF_ROUNDS = 64

# Runs a segment, by its mark if it has one; it is cut out where no other had that mark.
Run = Callable[[Mark | None, Callable[[], Segment]], Sequence[Any]]


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


class LazyTracer(TracerOfGiven):
    """Notes operations on arrays that are there, and runs them when a value is needed.

    Args:
        name: of the function.
        describe: what is static of an array.
        run: runs a segment, returns its outputs.
    """

    selects = False  # NumPy can count what a mask selects, and view a row
    raises_at_lines = True

    def __init__(self, name: str, first_line: int, describe: Describe, run: Run):
        super().__init__(first_line, describe)
        self.name = name
        self.run = run
        self.arguments: set[int] = set()
        self.breaks: list[Break] = []
        self.asking = 0  # NumPy's own functions that take an array and give back another
        self.may_warn = True
        self.leaked = False  # somebody has an array itself and may write to it unseen
        self.by_rounds = False  # segments end where a loop begins again
        self._place: tuple[Any, int] = (None, 0)
        self._looked_at: set[int] = set()

    @unwatched
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
        """No limit: what is pending is computed from time to time, however long the function.

        ``by_rounds``: where a loop begins again, so that the segments of a loop are the same.
        """
        if self.by_rounds:
            code, at = users_place()
            begins_again = code is self._place[0] and at < self._place[1]
            self._place = code, at
            if begins_again and len(self.builder.nodes) >= LEAST_OF_ROUNDS:
                self.flush()

    def check_truth(self, operator: Operator, operands: Sequence[Any]) -> None:
        """No check: where it matters, Python compares the numbers themselves, see ``told``."""

    def class_of(self, value: Value) -> type:
        if self.mapped and value.id not in self.given:
            self.broken("the class of what may be a view of a np.memmap")
        given = self.given.get(value.id)
        return self.array_class if given is None else type(given.array)

    # What comes out

    @unwatched
    def flush(self) -> tuple[bool, int]:
        """Compute all arrays that the function still holds.

        Returns whether a segment ran, and the bytes that it wrote.
        """
        held = self.held()
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
            total = self._compute(list(values.values()), looked_at)
        # of a number NumPy makes an array for each of them
        made = {view.root.id: self.given[view.root.id].found for view in views}
        for view in views:
            self.there(view.value, view.array(made))
        self._forget({a.value.id for a in held} | self.arguments)
        return bool(values), total

    def _compute(self, values: Sequence[Value], looked_at: Sequence[Value]) -> int:
        """Run a segment that makes these values; returns the bytes that it wrote."""
        total = 0
        segment = partial(cut, self, values, looked_at)
        found = self.run(marked(self, values, looked_at), segment)
        there = {id(given.array) for given in self.given.values()}
        for value, array in zip(values, found, strict=True):
            # a view of all of an array is another object
            self.there(value, array.view() if id(array) in there else array)
            total += int(array.nbytes)
        return total

    def _forget(self, kept: Set[int]) -> None:
        """Nothing is open, and what nobody holds is gone, as in Python."""
        self.builder.nodes.clear()
        self.aliases.clear()
        self._looked_at.clear()
        self.given = {n: g for n, g in self.given.items() if n in kept}
        self.families = {n: f for n, f in self.families.items() if n in kept}
        self.borrowed &= kept
        self.handed = {n: r for n, r in self.handed.items() if r() is not None}

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
                self.flush()  # all: views and their arrays share memory from now on
            found = self.array_of(item)
            if is_array(found):
                self.handed[id(found)] = self.live[id(item)]
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
        self, what: str, error: Refusal, function: Callable[..., Any], args: Any, kwargs: Any
    ) -> Any:
        """Call a function with arrays; if it fails too, say why it was not compiled.

        All arrays are computed before the call, since the function may write to any of them.
        """
        there, given, named = self._before(what, error, args, kwargs)
        try:
            result = there(function, given, named)
        except Exception as found:
            # our error says more; it is raised where the function could not tell the two apart
            error = error if isinstance(error, Exception) else error()
            if type(found) in (TypeError, ValueError) and isinstance(error, type(found)):
                raise error from found
            found.add_note(f"opweave runs this line by NumPy: {error}")
            raise
        return self.seen_of(result)

    @unwatched
    def _before(self, what: str, error: Refusal, args: Any, kwargs: Any) -> tuple[Any, ...]:
        """What calls a function from the user's line, and the arguments that it gets."""
        ran, nbytes = self.flush()
        why = _short(error) if isinstance(error, Exception) else NOT_YET
        frame = users_frame()
        self.breaks.append(Break(f"{what}: {why}", line_of(frame, self.first_line), nbytes, ran))
        return caller_there(frame), self.concrete(tuple(args)), self.concrete(dict(kwargs))

    def seen_of(self, result: Any) -> Any:
        """A result with every array in it taken."""
        if type(result) is np.ndarray:
            return self.taken(result)
        if type(result) in (tuple, list):
            return type(result)(map(self.seen_of, result))
        if isinstance(result, tuple) and hasattr(result, "_fields"):
            return type(result)(*map(self.seen_of, result))
        return self.taken(result)


def _short(error: Exception) -> str:
    """The reason of a refusal, without the advice and the operands."""
    text = str(error).split(";")[0].split(" (")[0]
    return text.split(": ", 1)[-1]
