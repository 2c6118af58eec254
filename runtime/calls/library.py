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
from opweave.opcodes.operators.library_calls import LibraryCall
from opweave.runtime.calls.layouts import Layouts
from opweave.runtime.calls.writes import Unwritten

Operand = Callable[[Any], Any]
Taking = Callable[[Any, Sequence[Any]], Any]
# Calls a function, with arguments and those by name, from the user's line.
There = Callable[[Callable[..., Any], Any, Any], Any]
Run = Callable[[There, Any, Any, Any], None]


def called(
    kernel: LibraryKernel, layouts: Layouts, operands: Sequence[Operand], taken: Sequence[int]
) -> Callable[[Any, Sequence[Any]], None]:
    """A function of a call's arrays and numbers that calls NumPy's, and stores the results.

    Args:
        operands: functions of the arrays that give the memory of operands, and then of results.
        taken: which of the numbers the call has.
    """
    row, node = kernel.row, kernel.node
    inputs, outputs = operands[: len(node.values)], operands[len(node.values) :]
    takes = tuple(_taking(layouts, node.operands, inputs, taken))
    attrs, arguments = dict(node.attrs), row.arguments
    there = caller_at(node.where.file, node.where.line)
    is_filled = bool(row.fills and outputs and node.values == node.operands)
    run = FILLS[row.fills](row, outputs[0]) if is_filled else _stored(kernel, layouts, outputs)

    def compute(arrays: Any, numbers: Sequence[Any]) -> None:
        args, kwargs = arguments([take(arrays, numbers) for take in takes], attrs)
        try:
            run(there, args, kwargs, arrays)
        except Unwritten:
            raise
        except Exception as error:  # whatever NumPy raises, it raises again line by line
            raised = error.with_traceback(None)  # whose frames hold the arrays
            raise Unwritten(f"{row.name} raised {type(error).__name__}", (), raised) from None

    return compute


def _stored(kernel: LibraryKernel, layouts: Layouts, outputs: Sequence[Operand]) -> Run:
    """Call the function, and copy the results that somebody reads."""
    function, node = kernel.row.called, kernel.node
    shapes = map(layouts.shape_of, node.results)
    made = [(shape, dtype.numpy) for shape, dtype in shapes]
    read = [param.source for param in kernel.params if param.kind == "output"]
    places = [n for n, value in enumerate(node.results) if value.id in read]
    stores = tuple(zip(places, outputs, strict=True))

    def run(there: There, args: Any, kwargs: Any, arrays: Any) -> None:
        found = there(function, args, kwargs)
        results = found if isinstance(found, tuple) else (found,)
        if [(result.shape, result.dtype) for result in results] != made:
            raise _other(kernel.row.name, results, made)
        for place, target in stores:
            target(arrays)[...] = results[place]

    return run


def _by_out(row: LibraryCall, output: Operand) -> Run:
    """Let NumPy compute into the memory of the result; some functions take ``out`` for nothing."""
    function = row.called

    def run(there: There, args: Any, kwargs: Any, arrays: Any) -> None:
        target = output(arrays)
        found = there(function, args, {**kwargs, "out": target})
        if found is not target:
            made = [(target.shape, target.dtype)]
            if (found.shape, found.dtype) != made[0]:
                raise _other(row.name, (found,), made)
            target[...] = found

    return run


def _by_method(row: LibraryCall, output: Operand) -> Run:
    """Do what the function does with a copy: ``np.sort`` copies, and has the copy sort itself."""
    name = row.called.__name__

    def run(there: There, args: Any, kwargs: Any, arrays: Any) -> None:
        target, (array, *rest) = output(arrays), args
        target[...] = array
        there(getattr(target, name), rest, kwargs)

    return run


# By ``LibraryCall.fills``.
FILLS = {"out": _by_out, "method": _by_method}


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
