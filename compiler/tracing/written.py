"""Arguments that a function writes to: what they hold at the end are further outputs.

    def step(u, v):                     v2 = multiply(v0, v1)
        u *= v              ->          u[...] = v2
        return u[1:]                    return slice(v0)

A result that lies in such an argument is a view of the argument that is given, which holds its new
elements by then.  A number that was read before is one of its elements at that time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from opweave.compiler.arrays.moving import repeated
from opweave.compiler.ir.graph import Input, Node, Output
from opweave.compiler.ir.values import Value
from opweave.compiler.traced.arrays import TracedArray
from opweave.compiler.traced.tracer import Tracer
from opweave.opcodes import OPERATORS
from opweave.opcodes.errors import UnsupportedError

# The name of a mark at errors that were raised behind a write.
MARK = "__opweave_wrote__"


class Memory:
    """Where the results of a trace lie."""

    def __init__(self, tracer: Tracer):
        self.tracer = tracer
        self.now = {array.value.id: first for array, first in tracer.rewritten}
        self.first = {first.id for first in self.now.values()}
        self.arguments = {id(array): first for array, first in tracer.rewritten}
        self.makers = {r.id: n for n in tracer.builder.nodes for r in n.results}

    def output(self, item: TracedArray) -> Value:
        """The value of a result."""
        if id(item) in self.arguments:
            return self.arguments[id(item)]
        base, steps = self._base(item.value)
        if base.id in self.now and not self.tracer.is_number(item.value):
            return self._viewed(self.now[base.id], steps)
        if base.id not in self.first:
            return item.value
        if not self.tracer.is_number(item.value):
            raise UnsupportedError("a result that shares memory with an argument written to since")
        same = {"dtype": item.value.dtype.numpy_name}
        found: Value = self.tracer.apply(OPERATORS["cast"], [item], same).value
        return found

    def _base(self, value: Value) -> tuple[Value, list[Node]]:
        """What a value is a view of, and how."""
        steps: list[Node] = []
        while (node := self.makers.get(value.id)) is not None and node.is_view:
            steps.insert(0, node)
            value = node.values[0]
        return value, steps

    def _viewed(self, value: Value, steps: Sequence[Node]) -> Value:
        """The same view of another value."""
        for node in steps:
            value = repeated(self.tracer.builder, node, value)
        return value


def stored(
    tracer: Tracer, inputs: Sequence[Input], outputs: Sequence[Output]
) -> tuple[tuple[Value, ...], tuple[tuple[int, int], ...]]:
    """What arguments hold at the end, which are outputs behind others; see ``Graph.written``.

    Raises:
        UnsupportedError: a result of the function lies there, and not in an argument.
    """
    places = {item.value.id: place for place, item in enumerate(inputs)}
    found = {places[first.id]: array.value for array, first in tracer.rewritten}
    arrays = {o.id for o in outputs if isinstance(o, Value)}
    if any(value.id in arrays for value in found.values()):
        raise UnsupportedError("a result that an argument holds too")
    written = tuple((len(outputs) + n, place) for n, place in enumerate(found))
    return tuple(found.values()), written


@contextmanager
def lending(tracer: Tracer) -> Iterator[None]:
    """Mark an error that is raised where NumPy would have written to an argument before."""
    try:
        yield
    except Exception as error:
        if tracer.rewritten:
            mark(error)
        raise
    finally:
        tracer.writable.clear()  # they hold the tracer


def mark(error: Exception) -> None:
    """Mark an error, see ``has_written``."""
    with suppress(AttributeError, TypeError):
        setattr(error, MARK, True)


def has_written(error: Any) -> bool:
    """Whether NumPy would have written to an argument before an error; the mark goes."""
    return vars(error).pop(MARK, None) is not None
