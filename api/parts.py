"""Functions that run in parts: fused segments, and what opweave does not know between them."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opweave.arguments import Call
from opweave.compiler.builder import scalar_type
from opweave.compiler.device import Device
from opweave.compiler.driver import Lowered, Options
from opweave.compiler.lazy import BREAKS, Break, LazyTracer, run_lazily
from opweave.compiler.names import function_name
from opweave.compiler.segments import Segment
from opweave.compiler.simplify import simplify
from opweave.compiler.specialise import Variant, lowered_for, symbol_extents
from opweave.compiler.trace import Trace
from opweave.compiler.tree import Constant, Tree
from opweave.compiler.verify import verify_graph
from opweave.opcodes.errors import OpweaveError
from opweave.runtime.arrays import argument_key, array_type
from opweave.runtime.launch import Prepared

__all__ = ["BREAKS", "Parts", "Ran"]

MOST_KEPT = 1024
# Device and executor for arrays of one kind.
Where = Callable[[Sequence[Any]], tuple[Device, Any]]


@dataclass(frozen=True)
class Ran:
    """One run of a function in parts.

    Attributes:
        leaves, structure: what it returned.
        breaks: where it needed arrays, in order.
        segments: what ran, in order.
    """

    leaves: list[Any]
    structure: Tree | Constant | None
    breaks: tuple[Break, ...]
    segments: tuple[tuple[Prepared, Lowered], ...]


class Parts:
    """The segments of one function that were compiled, and how to run it.

    Attributes:
        reasons: why calls run in parts, by what their arguments have in common.
    """

    def __init__(self, fn: Callable[..., Any], options: Options, where: Where):
        self.fn = fn
        self.options = options
        self.where = where
        self.reasons: dict[Any, OpweaveError] = {}
        self.variants: dict[Any, Variant] = {}
        self.prepared: dict[Any, tuple[Prepared, Lowered]] = {}
        self.compiled = 0
        self._lock = threading.RLock()

    def run(self, call: Call) -> Ran:
        """Run the function on the arrays of a call."""
        ran: list[tuple[Prepared, Lowered]] = []

        def run_segment(segment: Segment) -> Sequence[Any]:
            with self._lock:
                prepared, lowered = self._prepared(segment)
            ran.append((prepared, lowered))
            return prepared(segment.arrays, segment.scalars)

        code = getattr(self.fn, "__code__", None)
        line = code.co_firstlineno if code else 0
        tracer = LazyTracer(function_name(self.fn), line, array_type, run_segment)
        layout = call.layout
        arguments = dict(zip(layout.names, call.values, strict=True))
        leaves, structure = run_lazily(self.fn, tracer, arguments, layout.static, layout.rebuilt)
        return Ran(leaves, structure, tuple(tracer.breaks), tuple(ran))

    def _prepared(self, segment: Segment) -> tuple[Prepared, Lowered]:
        """What runs a segment; one for each exact shape, as of whole functions."""
        on_gpu = any(not hasattr(a, "__array_interface__") for a in segment.arrays)
        types = tuple(map(scalar_type, segment.scalars.values()))
        keys = tuple(argument_key(a, False, on_gpu) for a in segment.arrays)
        key = (segment.key, types, keys)
        found = self.prepared.get(key)
        if found is None:
            found = self._prepare(
                segment, (segment.key, types, tuple(map(_static, segment.types)))
            )
            if len(self.prepared) >= MOST_KEPT:
                self.prepared.pop(next(iter(self.prepared)))
            self.prepared[key] = found
        return found

    def _prepare(self, segment: Segment, key: Any) -> tuple[Prepared, Lowered]:
        device, executor = self.where(segment.arrays)
        extents = symbol_extents(segment.types)
        variant = self.variants.get((key, device))
        if variant is None:
            variant = self._variant(segment, extents)
            self.variants[key, device] = variant
        extents = variant.extents(extents)
        inputs = variant.graph.inputs
        spans = {i.value.id: t.span for i, t in zip(inputs, segment.types, strict=True)}
        lowered = lowered_for(variant, extents, spans, device, self.options)
        by_value = {i.value.id: a for i, a in zip(inputs, segment.arrays, strict=True)}
        return Prepared(lowered, executor, extents, by_value), lowered

    def _variant(self, segment: Segment, extents: Mapping[str, int]) -> Variant:
        self.compiled += 1
        graph = verify_graph(segment.graph)
        types = {n: scalar_type(v) for n, v in segment.scalars.items()}
        made = Trace(graph, None, frozenset(), extents, types)
        return Variant(made, verify_graph(simplify(graph)), {})


def _static(kind: Any) -> Any:
    return kind.dtype, tuple(e == 1 for e in kind.shape), kind.layout, kind.aligned
