"""Calls of NumPy's library as steps of a call plan: the function itself gets the arrays.

It is called from the user's line, so that its warnings belong there.  What it raises, or gives in
another shape or type than was planned, ends the call: nothing is written to arguments then, and
the function runs line by line (``Unwritten``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from opweave.compiler.ir.values import Scalar, Value
from opweave.compiler.kernels.library import LibraryKernel
from opweave.compiler.parts.users_frame import caller_at
from opweave.opcodes.errors import ShapeError
from opweave.runtime.calls.layouts import Layouts
from opweave.runtime.calls.writes import Unwritten

Operand = Callable[[Any], Any]
Taking = Callable[[Any, Sequence[Any]], Any]


def called(
    kernel: LibraryKernel, layouts: Layouts, operands: Sequence[Operand], taken: Sequence[int]
) -> Callable[[Any, Sequence[Any]], None]:
    """A function of a call's arrays and numbers that calls NumPy's, and stores the results.

    Args:
        operands: functions of the arrays that give the memory of operands, and then of results.
        taken: which of the numbers the call has.
    """
    row, node = kernel.row, kernel.node
    attrs, there = dict(node.attrs), caller_at(node.where.file, node.where.line)
    shapes = map(layouts.shape_of, node.results)
    made = [(shape, dtype.numpy) for shape, dtype in shapes]
    inputs, outputs = operands[: len(node.values)], operands[len(node.values) :]
    read = [param.source for param in kernel.params if param.kind == "output"]
    places = [n for n, value in enumerate(node.results) if value.id in read]
    takes = tuple(_taking(layouts, node.operands, inputs, taken))

    function, arguments = row.called, row.arguments
    stores = tuple(zip(places, outputs, strict=True))

    def compute(arrays: Any, numbers: Sequence[Any]) -> None:
        args, kwargs = arguments(tuple([take(arrays, numbers) for take in takes]), attrs)
        try:
            found = there(function, args, kwargs)
        except Exception as error:  # whatever NumPy raises, it raises again line by line
            raise Unwritten(f"{row.name} raised {type(error).__name__}", (), error) from None
        results = found if isinstance(found, tuple) else (found,)
        if [(result.shape, result.dtype) for result in results] != made:
            raise _other(row.name, results, made)
        for place, target in stores:
            target(arrays)[...] = results[place]

    return compute


def _taking(
    layouts: Layouts, items: Sequence[Value | Scalar], inputs: Sequence[Operand],
    taken: Sequence[int],
) -> Iterator[Taking]:  # fmt: skip
    """What gives each operand, of the arrays and numbers of a call."""
    arrays, numbers = iter(inputs), iter(taken)
    for item in items:
        if isinstance(item, Scalar):
            yield _number(item.dtype.numpy.type, next(numbers))
        else:
            yield _viewed(layouts, item.id, next(arrays))


def _number(kind: Callable[[Any], Any], place: int) -> Taking:
    return lambda _, numbers: kind(numbers[place])


def _viewed(layouts: Layouts, value: int, operand: Operand) -> Taking:
    if value not in layouts.graph.views:
        return lambda arrays, _: operand(arrays)
    return lambda arrays, _: layouts.viewed(operand(arrays), value)


def _other(name: str, results: Sequence[Any], made: Any) -> Unwritten:
    found = [(result.shape, result.dtype) for result in results]
    text = f"{name} gave arrays of {found}, planned were {made}"
    return Unwritten(text, (), ShapeError(text))
