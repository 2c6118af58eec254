"""What a traced function returns, as outputs of its graph."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from enum import Enum
from itertools import combinations
from typing import Any

import numpy as np

from opweave.compiler.arrays.traced_operators import is_traced_array
from opweave.compiler.captures.capture import classes_in
from opweave.compiler.captures.copied import Left
from opweave.compiler.captures.structure import Changing, Structure, Tree
from opweave.compiler.captures.tree import flatten
from opweave.compiler.ir.builder import GraphBuilder
from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.ir.graph import FunctionGraph, Input, Output
from opweave.compiler.ir.noted import live_and_dead
from opweave.compiler.ir.plain_arrays import is_array
from opweave.compiler.ir.values import Scalar, Symbol, Value
from opweave.compiler.traced.arrays import TracedArray
from opweave.compiler.traced.choices import ChosenNumber
from opweave.compiler.traced.made import is_boxed
from opweave.compiler.traced.numbers import TracedScalar
from opweave.compiler.traced.selection import MaskSelection
from opweave.compiler.traced.tracer import Tracer
from opweave.compiler.tracing.refusing import Refusing
from opweave.compiler.tracing.written import ResultMemory
from opweave.opcodes.allowed import is_number
from opweave.opcodes.errors import (
    ArgumentError,
    TraceError,
    UnsupportedError,
)

# What a function may return besides arrays and numbers.
CONSTANTS = (str, bytes, Enum)


def result_of(
    result: Any, containers: Sequence[Any], given: Iterable[Any], inputs: Set[int]
) -> tuple[list[tuple[str, Any]], Structure | None]:
    """The leaves of a result and its structure, in which an object that comes twice is one.

    Args:
        containers: of the arguments, of which it may return some.
        given: what the function sees of its arguments.
        inputs: values that lie in arguments; what is one of them and no argument itself is a view.
    """
    seen = {id(container): container for container in containers}
    own = set(map(id, given))
    leaves, structure = flatten(result, "the output", CONSTANTS, seen=dict(seen))
    arrays = {id(item): item for _, item in leaves if is_traced_array(item)}
    views = {n for n, item in arrays.items() if item.value.id in inputs and n not in own}
    often = Counter(id(item) for _, item in leaves)
    shown = {*arrays, *(id(item) for _, item in leaves if is_array(item))}
    marks = {n: n in views for n in shown if n in views or often[n] > 1}
    if not marks:
        return leaves, structure
    return flatten(result, "the output", CONSTANTS, seen=seen, marks=marks)


def containers_in(values: Mapping[Any, Any]) -> int:
    """How many containers the arguments are made of; what is read from outside comes behind."""
    seen: dict[int, Any] = {}
    for name, value in values.items():
        if isinstance(name, str) or name.is_given:
            flatten(value, name if isinstance(name, str) else name.label, seen=seen)
    return len(seen)


def leaves_of_result(
    result: Any, left: Sequence[Left], containers: Sequence[Any] | None, call: Mapping[str, Any],
    tracer: Tracer,
) -> tuple[list[tuple[str, Any]], Structure | None]:  # fmt: skip
    """The leaves of a result, and of what is left in containers, and their structure.

    Without containers each leaf has a place.
    """
    if left:
        pair = result, tuple(each.value for each in left)
        leaves, tree = leaves_of_result(pair, (), containers, call, tracer)
        assert isinstance(tree, Tree)
        places = tuple((each.container, each.key) for each in left)
        return leaves, Changing(tree, places, tuple(each.name for each in left))
    given = tracer.inputs | tracer.borrowed
    try:
        if containers is None:
            return flatten(result, "the output", CONSTANTS)
        return result_of(result, containers, call.values(), given)
    except ArgumentError as error:  # Python may return what no kernel's results are
        raise TraceError(str(error)) from None


def check_classes(structure: Structure | None, known: Set[type]) -> None:
    """Refuse objects of classes that the function makes, which are others at each call.

    Raises:
        TraceError: names the class.
    """
    for cls, _ in classes_in((), (structure,)):
        if "<locals>" in cls.__qualname__ and cls not in known:
            raise TraceError(
                f"the output holds a {cls.__name__}, a class that the function makes at each "
                "call; define the class outside the function"
            )


def _guard_unread(tracer: Tracer, outputs: Sequence[Output]) -> None:
    """Guard numbers that nobody reads: no call computes them, where Python may raise."""
    if not tracer.raising:
        return
    live, _ = live_and_dead(tracer.builder.nodes, outputs)
    read = {o.expr for n in live for o in n.operands if isinstance(o, Scalar)}
    read |= {o for o in outputs if isinstance(o, Expr)}
    parts = {part for expr in read for part in _parts_of(expr)}
    for number, condition, truth in tracer.raising:
        if number not in parts:
            tracer.decide(condition, truth)


def _parts_of(expr: Expr) -> Iterator[Expr]:
    yield expr
    for part in expr.args:
        if isinstance(part, Expr):
            yield from _parts_of(part)


def _copies(tracer: Tracer, items: Sequence[Any]) -> dict[int, TracedArray]:
    """Copies of results that NumPy made while the function was traced, by the results' ids.

    They are new at each call, as by NumPy; an array that is returned twice is copied once.

    Raises:
        UnsupportedError: two of them share memory; in parts they are NumPy's own arrays.
    """
    made = {id(item): item for item in items if is_array(item) and tracer.describe is not None}
    here = [array for array in made.values() if isinstance(array, np.ndarray)]
    if any(np.may_share_memory(a, b) for a, b in combinations(here, 2)):
        raise UnsupportedError("results that share memory, which depend on no argument")
    return {number: tracer.copied(array) for number, array in made.items()}


def _output(memory: ResultMemory, item: Any, path: str) -> Output:
    if issubclass(type(item), Refusing):
        item._refused()
    if type(item) in (MaskSelection, ChosenNumber):
        item.refuse()
    if isinstance(item, TracedArray):
        return memory.output(item)
    if isinstance(item, TracedScalar):
        return item.expr
    if is_number(item):
        return literal(item)
    raise TraceError(
        f"{path} is a {type(item).__name__}: expected an array computed from the arguments, or a "
        "number, or a tuple, list, dict or dataclass of them"
    )


def boxed(
    graph: FunctionGraph, hidden: Set[int], unboxed: Set[int] = frozenset()
) -> frozenset[int]:
    """Outputs without dimensions that NumPy returns as arrays; see ``is_boxed``."""
    nodes = {r.id: n for n in graph.nodes for r in n.results}
    return frozenset(
        i
        for i, o in enumerate(graph.outputs)
        if isinstance(o, Value) and is_boxed(o, nodes, hidden, unboxed)
    )


def resolved_name(builder: GraphBuilder, name: str) -> str:
    found = builder.find(Symbol(name)) if name in builder.extents else name
    return found.name if isinstance(found, Symbol) else name


def finished(
    name: str,
    inputs: list[Input],
    scalars: tuple[str, ...],
    tracer: Tracer,
    outputs: tuple[Output, ...],
) -> FunctionGraph:
    """Replace unified extents everywhere, and note which must agree at each call."""
    builder = tracer.builder
    found = ((symbol, builder.find(symbol)) for symbol in builder.parent)
    equal = [(other.name, s.name) for s, other in found if isinstance(other, Symbol)]

    def resolved(value: Value) -> Value:
        return replace(value, shape=tuple(map(builder.find, value.shape)))

    nodes = tuple(builder.resolved_nodes())
    final = tuple(
        resolved(o) if isinstance(o, Value) else builder.resolve_expr(o) for o in outputs
    )
    made = tuple(replace(i, value=resolved(i.value)) for i in inputs)
    derived, conditions = tuple(builder.derived.items()), tuple(builder.conditions.values())
    graph = FunctionGraph(
        name, made, scalars, nodes, final, tuple(equal), derived=derived, conditions=conditions
    )
    return replace(graph, boxed=boxed(graph, tracer.hidden, tracer.unboxed))
