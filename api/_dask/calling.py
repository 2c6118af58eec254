"""A call of a fused function with arrays of dask: blocks of it as tasks, results as such arrays.

The function is traced once, for the shapes of the whole arrays, of which no element is there.
What blocks compute follows from that graph alone, so numbers and places (a mean's divisor,
``arange``, the last row) are those of the whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isnan, prod
from typing import Any, Protocol

import numpy as np

from opweave._dask.chunks import layouts
from opweave._dask.emission import Emission, Target
from opweave._dask.whole import WholeCall
from opweave._interchange.exchange import Exchange
from opweave.compiler.captures.structure import packed
from opweave.compiler.ir.expr import evaluate
from opweave.compiler.ir.values import Value
from opweave.compiler.passes.simplify import simplify
from opweave.compiler.pipeline.driver import Options
from opweave.compiler.pipeline.specialise import MOST_WRITES, symbol_extents
from opweave.compiler.scheduling.verify import verify_graph
from opweave.compiler.traced.lengths import MOST_NODES, Limits
from opweave.compiler.tracing.arguments import ArrayType, Trace
from opweave.compiler.tracing.trace import trace
from opweave.configuration import config
from opweave.opcodes import dtypes
from opweave.opcodes.errors import (
    DTypeError,
    InterchangeError,
    TraceError,
    UnsupportedError,
)
from opweave.runtime.calls.arguments import argument_type, array_type


class BoundCall(Protocol):
    """The leaves of a call, as ``Call`` of api/_functions/layout.py has them."""

    layout: Any
    values: list[Any]
    containers: Any

    def scalars(self, names: Any) -> dict[str, Any]:
        """The numbers by their names in a graph."""


class BindsCalls(Protocol):
    """The parameters of a function, as ``Signature`` of api/_functions/arguments.py has them."""

    name: str
    has_out: bool
    goes_on: str | None

    def bind(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> BoundCall:
        """The leaves of a call's arguments."""


def blocked(signature: BindsCalls, fn: Any, options: Options, exchange: Exchange) -> Any:
    """The results of a call, as arrays of dask that compute them.

    Raises:
        InterchangeError: an array of unknown chunks; ``out``; a setting that blocks do not have.
        UnsupportedError: the function cannot be done by blocks; names the operator.
    """
    name, kwargs = signature.name, {**exchange.kwargs}
    out = None if signature.has_out else kwargs.pop("out", None)
    check_settings(name, out)
    call = signature.bind(tuple(exchange.args), kwargs)
    if signature.goes_on is not None:
        raise UnsupportedError(f"{name}: {signature.goes_on}")
    arrays = [exchange.given_for(value) for value in call.values]
    types = _types(call, arrays)
    made = traced(name, fn, call, types, options)
    extents = symbol_extents([*types.values()])
    graph = verify_graph(simplify(verify_graph(made.graph)))
    numbers = call.scalars(graph.scalars)
    whole = WholeCall(name, graph, {**graph.extents(extents), **numbers})
    given = [a for a in arrays if hasattr(a, "chunks") or isinstance(a, np.ndarray)]
    places = zip(graph.inputs, (*given, *made.constants), strict=True)
    outputs = results(whole, {i.value.id: a for i, a in places}, options)
    return packed(made.structure, outputs, call.containers)


def check_settings(name: str, out: Any) -> None:
    """Refuse what blocks do not have.

    Raises:
        InterchangeError: names it.
    """
    found = [
        ("out=", out is not None, "leave it out; store the result by dask.array.store"),
        ("errors='numpy'", config.errors == "numpy", "set opweave.config.errors to 'ignore'"),
        ("device='cuda'", config.device == "cuda", "set opweave.config.device to 'host'"),
    ]
    for what, is_set, do in found:
        if is_set:
            raise InterchangeError(f"{name}: dask arrays are not computed with {what}; {do}")


def _types(call: BoundCall, arrays: list[Any]) -> dict[str, Any]:
    rows = zip(call.layout.names, arrays, call.layout.static, strict=True)
    return {
        name: _type_of(name, value) if hasattr(value, "chunks") else argument_type(name, value, s)
        for name, value, s in rows
    }


def _type_of(name: str, array: Any) -> ArrayType:
    """What is static of an array of dask, as of one of NumPy's in rows."""
    if any(isnan(n) for n in array.shape):
        raise InterchangeError(
            f"argument {name}: expected a dask array of known chunks, found shape {array.shape}; "
            f"call {name}.compute_chunk_sizes() before"
        )
    if not isinstance(array._meta, np.ndarray) or type(array._meta) is not np.ndarray:
        raise InterchangeError(
            f"argument {name}: expected a dask array of NumPy's arrays, found blocks of "
            f"{type(array._meta).__name__}; map them first: {name}.map_blocks(np.asarray)"
        )
    try:
        dtype = dtypes.of(array.dtype)
    except DTypeError as error:
        raise DTypeError(f"argument {name}: {error}") from None
    shape = tuple(map(int, array.shape))
    return ArrayType(dtype, shape, "C", True, max(prod(shape) - 1, 0))


def traced(
    name: str, fn: Any, call: BoundCall, types: Mapping[str, Any], options: Options
) -> Trace:
    """The function as one graph.

    Raises:
        UnsupportedError: it is no single graph, or writes to its arguments.
    """
    limits = Limits(MOST_WRITES, MOST_NODES)
    calls = config.library and options.library
    try:
        made = trace(
            fn, types, call.layout.rebuilt, array_type, limits=limits, calls_library=calls
        )
    except (TraceError, UnsupportedError, DTypeError) as error:
        raise UnsupportedError(
            f"{name}: of dask arrays a function has to be one graph, since it is traced before "
            f"an element is there: {error}"
        ) from error
    if made.graph.written:
        shown = made.graph.written[0].shown(made.graph)
        raise UnsupportedError(
            f"{name}: it writes to {shown}, and dask arrays do not change: write to a copy, and "
            "return that"
        )
    return made


def results(whole: WholeCall, arrays: Mapping[int, Any], options: Options) -> list[Any]:
    """The outputs of a graph: arrays of dask, and numbers that are known already."""
    given = {
        n: tuple(a.chunks) if hasattr(a, "chunks") else (None,) * a.ndim for n, a in arrays.items()
    }
    found, cuts = layouts(whole, given)
    emission = Emission(whole, arrays, found, options)
    emission.cut(cuts)
    outputs = whole.graph.outputs
    emission.compute([Target(o) for o in outputs if isinstance(o, Value)])
    return [
        emission.arrays[o.id] if isinstance(o, Value) else evaluate(o, whole.env) for o in outputs
    ]
