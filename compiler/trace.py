"""Trace: run the user's function on traced values and collect its graph."""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

import numpy as np

from opweave.compiler.builder import Builder, scalar_type
from opweave.compiler.ir import Expr, Graph, Input, Output, Symbol, Value, literal
from opweave.compiler.names import c_names, function_name
from opweave.compiler.traced import TracedArray, TracedScalar, Tracer
from opweave.compiler.tree import Constant, Tree, flatten
from opweave.opcodes.allowed import is_number
from opweave.opcodes.dtypes import DType
from opweave.opcodes.errors import TraceError

# What a function may return besides arrays and numbers.
CONSTANTS = (str, bytes, Enum)


@dataclass(frozen=True)
class ArrayType:
    """What is static of an array argument, and its example extents.

    Attributes:
        dtype: element type.
        shape: extents of the example.
        layout: layout class, see ``ir.Input``.
        aligned: the first element lies on a 16-byte boundary.
    """

    dtype: DType
    shape: tuple[int, ...]
    layout: str = "C"
    aligned: bool = False


@dataclass(frozen=True)
class Static:
    """An argument whose value is part of the guard."""

    value: Any


Argument = ArrayType | Static | Any


@dataclass(frozen=True)
class Trace:
    """A traced function.

    Attributes:
        graph: its graph.
        structure: how outputs are packed; None for a single one.
        static: names of scalars and extents whose values the function, or an operator, asked for.
        extents: example extent of every symbol.
        scalar_types: type of every scalar argument, by its name in C.
    """

    graph: Graph
    structure: Tree | Constant | None
    static: frozenset[str]
    extents: Mapping[str, int]
    scalar_types: Mapping[str, Any]


Rebuild = Callable[[Sequence[Any]], Mapping[str, Any]]


def trace(
    fn: Callable[..., Any], arguments: Mapping[str, Argument], rebuilt: Rebuild | None = None
) -> Trace:
    """Run ``fn`` on traced values.

    x: f32[n0, n1], s -> x * s            gives  v1: f32[n0, n1] = multiply(v0, s: f32)

    Args:
        arguments: the leaves of the arguments, by name.
        rebuilt: makes the arguments from leaves, by parameter; None where they are the same.

    Raises:
        TraceError: the function asks a traced value for what only an array has.
        ShapeError, DTypeError, UnsupportedError: from the operations of the function.
    """
    names = dict(zip(arguments, c_names(arguments), strict=True))
    extents: dict[str, int] = {}
    builder = Builder({})
    code = getattr(fn, "__code__", None)
    scalars = {names[n]: a for n, a in arguments.items() if not isinstance(a, ArrayType | Static)}
    tracer = Tracer(builder, dict(scalars), code.co_firstlineno if code else 0)
    inputs: list[Input] = []
    call: dict[str, Any] = {}
    for name, argument in arguments.items():
        if isinstance(argument, ArrayType):
            shape = []
            for extent in argument.shape:
                symbol = Symbol(f"n{len(extents)}")
                extents[symbol.name] = extent
                shape.append(1 if extent == 1 else symbol)
            value = builder.new_value(argument.dtype, tuple(shape))
            inputs.append(Input(value, names[name], argument.layout, argument.aligned))
            tracer.inputs.add(value.id)
            call[name] = TracedArray(tracer, value)
        elif isinstance(argument, Static):
            call[name] = namespace(argument.value)
        else:
            call[name] = TracedScalar(tracer, Expr("argument", (names[name],)), argument)
    builder.extents = extents
    if rebuilt is not None:
        call = dict(rebuilt(list(call.values())))
    result = invoke(with_namespaces(fn), call)
    if result is None:
        raise TraceError("the function returns None: expected arrays or numbers; add a return")
    leaves, structure = flatten(result, "the output", CONSTANTS)
    outputs = tuple(_output(tracer, item, path) for path, item in leaves)
    graph = _finish(function_name(fn), inputs, tuple(scalars), tracer, outputs)
    asked = {s.name for s in builder.parent if isinstance(builder.find(s), int)}
    static = frozenset(_resolved_name(builder, n) for n in tracer.static) | asked
    types_of = {name: scalar_type(value) for name, value in scalars.items()}
    return Trace(graph, structure, static, extents, types_of)


def invoke(fn: Callable[..., Any], call: Mapping[str, Any]) -> Any:
    """Call with arguments by parameter: by position only what cannot go by name."""
    try:
        parameters = inspect.signature(fn).parameters
    except (TypeError, ValueError):
        return fn(*call.values())
    kinds = {name: p.kind for name, p in parameters.items()}
    starred = [n for n, kind in kinds.items() if kind is inspect.Parameter.VAR_POSITIONAL]
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for name, value in call.items():
        kind = kinds[name]
        if kind is inspect.Parameter.VAR_POSITIONAL:
            args += value
        elif kind is inspect.Parameter.VAR_KEYWORD:
            kwargs |= value
        elif kind is inspect.Parameter.POSITIONAL_ONLY or (
            starred and kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        ):
            args.append(value)
        else:
            kwargs[name] = value
    return fn(*args, **kwargs)


def _resolved_name(builder: Builder, name: str) -> str:
    found = builder.find(Symbol(name)) if name in builder.extents else name
    return found.name if isinstance(found, Symbol) else name


def _output(tracer: Tracer, item: Any, path: str) -> Output:
    if isinstance(item, TracedArray):
        return item.value
    if isinstance(item, TracedScalar):
        return item.expr
    if is_number(item):
        return literal(item)
    raise TraceError(
        f"{path} is a {type(item).__name__}: expected an array computed from the arguments, or a "
        "number, or a tuple, list, dict or dataclass of them"
    )


def _finish(
    name: str,
    inputs: list[Input],
    scalars: tuple[str, ...],
    tracer: Tracer,
    outputs: tuple[Output, ...],
) -> Graph:
    """Replace unified extents everywhere, and note which input extents must agree."""
    builder = tracer.builder
    by_symbol: dict[Symbol, tuple[int, int]] = {}
    equal = []
    for index, item in enumerate(inputs):
        for axis, extent in enumerate(item.value.shape):
            if isinstance(extent, Symbol):
                by_symbol[extent] = (index, axis)
    for symbol, place in by_symbol.items():
        found = builder.find(symbol)
        if found != symbol and isinstance(found, Symbol):
            equal.append((by_symbol[found], place))

    def resolved(value: Value) -> Value:
        return replace(value, shape=tuple(map(builder.find, value.shape)))

    nodes = tuple(builder.resolved_nodes())
    final = tuple(
        resolved(o) if isinstance(o, Value) else builder.resolve_expr(o) for o in outputs
    )
    made = tuple(replace(i, value=resolved(i.value)) for i in inputs)
    graph = Graph(name, made, scalars, nodes, final, tuple(equal))
    return replace(graph, boxed=_boxed(graph, tracer.hidden))


def _boxed(graph: Graph, hidden: set[int]) -> frozenset[int]:
    """0-d outputs that NumPy returns as arrays: from where, what ends in it, casts of such."""
    producers = graph.producers()

    def is_boxed(value: Value) -> bool:
        index = producers.get(value.id)
        if index is None:
            return True
        node = graph.nodes[index]
        if node.operator.name == "cast":
            return is_boxed(node.values[0])
        if node.is_view:  # of a scalar a scalar; what is left of the product of two vectors too
            of_scalar = node.values[0].shape == () and not is_boxed(node.values[0])
            return value.id not in hidden and not of_scalar
        return node.operator.name in ("where", "copy", "to_uint8")

    return frozenset(
        i for i, o in enumerate(graph.outputs) if isinstance(o, Value) and is_boxed(o)
    )


class Namespace:
    """Stands for ``cupy`` inside a traced function: the same names, from NumPy's protocols."""

    def __init__(self, module: types.ModuleType):
        self._module = module

    def __getattr__(self, name: str) -> Any:
        return getattr(np, name) if hasattr(np, name) else getattr(self._module, name)


def namespace(value: Any) -> Any:
    """A module of arrays as a traced function is to see it; anything else as it is."""
    is_cupy = isinstance(value, types.ModuleType) and value.__name__ == "cupy"
    return Namespace(value) if is_cupy else value


def with_namespaces(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``fn`` with the module cupy replaced in its globals; NumPy needs no replacement."""
    if not isinstance(fn, types.FunctionType):
        return fn
    swapped = {
        name: namespace(fn.__globals__[name])
        for name in fn.__code__.co_names
        if namespace(fn.__globals__.get(name)) is not fn.__globals__.get(name)
    }
    if not swapped:
        return fn
    made = types.FunctionType(
        fn.__code__, {**fn.__globals__, **swapped}, fn.__name__, fn.__defaults__, fn.__closure__
    )
    made.__kwdefaults__ = fn.__kwdefaults__
    return made
