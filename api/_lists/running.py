"""An op-code list, run on arrays, on traced values or on values of an ``ow.Graph``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from opweave._lists.codes import Called, ListLike, Load, Store, arity, at, labels_of
from opweave.compiler.ir.noted import NotedNodes
from opweave.opcodes.core import BoundOperator
from opweave.opcodes.errors import OpweaveError

# Told of nodes that an op-code has made: the list, the op-code's number, all nodes, the first.
Note = Callable[[ListLike, int, NotedNodes, int], None]


def run_list(
    found: ListLike, given: Mapping[str, Any], note: Note | None = None
) -> dict[str, Any]:
    """The results of a list, by name."""
    named: dict[str, Any] = dict(given)
    results: dict[str, Any] = {}
    running: Any = None
    for number, code in enumerate(found.codes):
        if isinstance(code, Load):
            running = named[code.label]
        elif isinstance(code, Store):
            results[code.label] = named[code.value] if code.value else running
        else:
            operands = [named[o] if type(o) is str else o for o in code.operands]
            if len(operands) < arity(code):
                operands.insert(0, running)
            if isinstance(code, Called):
                inner = dict(zip(code.kernel.arguments, operands, strict=True))
                made = tuple(run_list(code.kernel, inner, note).values())
            else:
                made = (_applied(found, number, code, operands, note),)
            running = made[0]
            named.update(zip(labels_of(code), made, strict=False))
    return results


def _applied(
    found: ListLike, number: int, code: BoundOperator, operands: list[Any], note: Note | None
) -> Any:
    attrs = dict(code.attrs)
    for operand in operands:
        if hasattr(type(operand), "__opweave_apply__"):
            break
    else:
        return code.operator.numpy(*operands, **attrs)
    tracer = getattr(operand, "tracer", None)  # a graph's value has none
    nodes = NotedNodes() if tracer is None else tracer.builder.nodes
    before = len(nodes)
    try:
        made = operand.__opweave_apply__(code.operator, operands, attrs)
    except OpweaveError as error:
        told = type(error)(f"{error}; op-code {number}, {code.name}, of {found.name}{at(found)}")
        if tracer is not None and tracer.refused is error:
            tracer.refused = told
        raise told from None
    if note is not None:
        note(found, number, nodes, before)
    return made
