"""Arguments that a function writes to: what they hold at the end are further outputs.

    def step(u, v):                     v2 = multiply(v0, v1)
        u *= v              ->          u[...] = v2
        return u[1:]                    return slice(v0)

A result that lies in such an argument is a view of the argument that is given, which holds its new
elements by then.  A number that was read before is one of its elements at that time.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from opweave.compiler.arrays.moving import repeated
from opweave.compiler.arrays.part_writes import WriteOperand, in_parts
from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.ir.graph import Input, Node, Output, Written
from opweave.compiler.ir.parts import Index
from opweave.compiler.ir.values import Value, Where
from opweave.compiler.traced.arrays import TracedArray
from opweave.compiler.traced.tracer import Tracer
from opweave.opcodes import OPERATORS
from opweave.opcodes.errors import UnsupportedError

# The name of a mark at errors that were raised behind a write.
MARK = "__opweave_wrote__"


class ResultMemory:
    """Where the results of a trace lie."""

    def __init__(self, tracer: Tracer):
        self.tracer = tracer
        self.now = {array.value.id: first for array, first in tracer.rewritten}
        self.first = {first.id for first in self.now.values()}
        self.arguments = {id(array): first for array, first in tracer.rewritten}
        self.makers = tracer.builder.nodes.makers

    def output(self, item: TracedArray) -> Value:
        """The value of a result."""
        if id(item) in self.arguments:
            return self.arguments[id(item)]
        base, steps = self._base(item.value)
        if base.id in self.now and not self.tracer.is_number(item.value):
            self._check_shapes(base, steps)
            return self._viewed(self.now[base.id], steps)
        if base.id not in self.first:
            return item.value
        if not self.tracer.is_number(item.value):
            raise UnsupportedError("a result that shares memory with an argument written to since")
        same = {"dtype": item.value.dtype.numpy_name}
        found: Value = self.tracer.apply(OPERATORS["cast"], [item], same).value
        return found

    def _check_shapes(self, base: Value, steps: Sequence[Node]) -> None:
        """
        Raises:
            UnsupportedError: another shape of a part, of which a kernel makes a copy too early.
        """
        for node in steps:
            is_whole = node.values[0].id == base.id and base.id not in self.tracer.strided
            if node.operator.name == "reshape" and not is_whole:
                raise UnsupportedError("a result of another shape that lies in an argument")

    def given(self, given: WriteOperand, whole: Container[int]) -> Output:
        """What is stored to an argument: a number, a view, or what a kernel computes.

        Args:
            whole: arguments that kernels may write to, by identity: no view of them lasts.
        """
        tracer = self.tracer
        if isinstance(given.value, Expr):
            return given.value
        if not isinstance(given.value, Value):
            return literal(given.value)
        if given.source is not None and given.source[0] not in whole:
            array, how = given.source
            _, first = tracer.writable[array]
            return self._viewed(first, how.nodes)
        made = tracer.apply(OPERATORS["copy"], [tracer.wrapped(given.value)])
        found: Value = made.value
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
    memory: ResultMemory, inputs: Sequence[Input], outputs: Sequence[Output]
) -> tuple[tuple[Output, ...], tuple[Written, ...]]:
    """What arguments hold at the end, outputs behind others; see ``FunctionGraph.written``.

    Raises:
        UnsupportedError: a result of the function lies there, and not in an argument; or what an
            argument holds behind a write by arrays of indices is read.
    """
    tracer = memory.tracer
    places = {item.value.id: place for place, item in enumerate(inputs)}
    place_of = {id(array): places[first.id] for array, first in tracer.rewritten}
    parts, writes = in_parts(tracer.parts, tracer.rewritten)
    whole = {id(array): array.value for array, _ in tracer.rewritten if id(array) not in parts}
    whole |= {array: base for array, base in parts.items() if base.id not in memory.first}
    arrays = {o.id for o in outputs if isinstance(o, Value)}
    if any(value.id in arrays for value in whole.values()):
        raise UnsupportedError("a result that an argument holds too")
    made = [*outputs, *whole.values()]
    written = [Written(len(outputs) + n, place_of[array]) for n, array in enumerate(whole)]
    for write in writes:
        first = len(made) + 1
        made += [memory.given(given, whole) for given in (write.value, *write.indices)]
        part = tuple(Index(first + i.output) if isinstance(i, Index) else i for i in write.part)
        written.append(Written(first - 1, place_of[write.array], part, write.by))
    _forget_unknown(tracer, made)
    return tuple(made[len(outputs) :]), tuple(written)


def _forget_unknown(tracer: Tracer, outputs: Sequence[Output]) -> None:
    """Take out what arguments held behind writes by indices, and its uses, if no output needs any.

    Raises:
        UnsupportedError: an output needs what an argument held behind a write by indices, and no
            call of NumPy's library computes it.
    """
    if not tracer.unknown:
        return
    unknown = {number: Where() for number in tracer.unknown}
    kept: list[Node] = []
    for node in tracer.builder.nodes:
        if unknown.keys() & {value.id for value in (*node.values, *node.results)}:
            unknown |= dict.fromkeys((result.id for result in node.results), node.where)
        else:
            kept.append(node)
    read = [o for o in outputs if isinstance(o, Value) and o.id in unknown]
    if read and not tracer.calls_library:
        raise UnsupportedError(
            f"an argument is read behind an assignment by an index array ({unknown[read[0].id]}); "
            "take what is read before, or assign last"
        )
    if not read:
        tracer.builder.nodes.replace(kept)


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
