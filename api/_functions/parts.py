"""Functions that run in parts: segments or lines as kernels, and those that NumPy runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import FunctionType
from typing import Any, TypeVar

from opweave._functions.arguments import Signature
from opweave._functions.layout import Call
from opweave._functions.preparing import Preparing
from opweave._functions.ready import Ready
from opweave._loops.stretches import TooLittleError
from opweave._programs.beside import check_kinds, together
from opweave.compiler.captures.structure import Constant, Leaf, Structure, Tree
from opweave.compiler.ir.builder import scalar_type
from opweave.compiler.ir.device import Device
from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.ir.names import function_name
from opweave.compiler.ir.pace import saved
from opweave.compiler.ir.values import Value
from opweave.compiler.parts.lazy import Break, LazyTracer
from opweave.compiler.parts.lazy_array import BREAKS
from opweave.compiler.parts.lazy_run import run_lazily
from opweave.compiler.parts.marks import Mark
from opweave.compiler.parts.segments import Segment
from opweave.compiler.passes.row_order import out_of_rows
from opweave.compiler.passes.simplify import simplify
from opweave.compiler.pipeline.driver import Lowered, Options
from opweave.compiler.pipeline.specialise import (
    Specialised,
    Variant,
    guard_key,
    lowered_for,
    symbol_extents,
)
from opweave.compiler.scheduling.verify import verify_graph
from opweave.compiler.traced.lengths import rounded
from opweave.compiler.tracing.arguments import Trace
from opweave.opcodes.core import Kind
from opweave.opcodes.errors import OpweaveError, UnsupportedError
from opweave.runtime.calls.arguments import argument_key, array_type
from opweave.runtime.calls.prepared import Prepared
from opweave.runtime.process import locks

__all__ = ["BREAKS", "Parts", "Ran", "WholeLines", "without_frames"]

MOST_KEPT = 1024
# Compilations of the same lines, beyond which Python runs what comes new.
MOST_TRACES = 8
AnyError = TypeVar("AnyError", bound=Exception)
# Device and executor for arrays: those of a segment, or of a call where it reads none.
Where = Callable[[Sequence[Any]], tuple[Device, Any]]


def without_frames(error: AnyError) -> AnyError:
    """An error to keep, without its traceback, which would hold the arrays of the call."""
    error.__cause__ = error.__context__ = None
    return error.with_traceback(None)


@dataclass(frozen=True)
class Ran:
    """One run of a function in parts.

    Attributes:
        returned: its result.
        breaks: where it needed arrays, in order.
        segments: what ran, in order.
    """

    returned: Any
    breaks: tuple[Break, ...]
    segments: tuple[tuple[Prepared, Lowered], ...]


class Parts:
    """The segments of one function that were compiled, and how to run it.

    Attributes:
        reasons: why calls run in parts, by the kinds of their arguments.
        too_long: likewise for loops that are too long, by kinds and sizes.
        by_rounds: segments end at rounds of loops, so that few of them differ.
    """

    def __init__(self, fn: Callable[..., Any], options: Options, where: Where):
        self.fn = fn
        self.options = options
        self.where = where
        self.reasons: dict[Any, OpweaveError] = {}
        self.too_long: dict[Any, OpweaveError] = {}
        self.variants: dict[Any, Variant] = {}
        self.prepared: dict[Any, tuple[Prepared, Lowered]] = {}
        self.compiled = 0
        self.by_rounds = False
        self._lock = locks.rlock()

    @staticmethod
    def kinds(call: Call) -> Any:
        """A key of calls that run in parts: without extents, which may always be new."""
        return call.kinds

    def run(self, call: Call) -> Ran:
        """Run the function on the arrays of a call."""
        ran: list[tuple[Prepared, Lowered]] = []

        def run_segment(mark: Mark | None, segment: Callable[[], Segment]) -> Sequence[Any]:
            own: Mark | Segment = segment() if mark is None else mark
            with self._lock:
                found = self._found(own, segment, call.arrays)
            ran.append(found)
            is_here = found[1].device.is_host
            return found[0](own.arrays if is_here else together(own.arrays), own.scalars)

        code = getattr(self.fn, "__code__", None)
        line = code.co_firstlineno if code else 0
        tracer = LazyTracer(function_name(self.fn), line, array_type, run_segment)
        tracer.by_rounds = self.by_rounds
        layout = call.layout
        arguments = dict(zip(layout.names, call.values, strict=True))
        returned = run_lazily(
            self.fn, tracer, arguments, layout.static, layout.rebuilt, call.containers
        )
        return Ran(returned, tuple(tracer.breaks), tuple(ran))

    def traces(self, ran: Ran) -> list[Trace]:
        """The graphs of the segments that ran, as they were noted."""
        lowered = {id(found) for _, found in ran.segments}
        return [
            v.trace for v in self.variants.values() if lowered & set(map(id, v.lowered.values()))
        ]

    def _found(
        self, own: Mark | Segment, segment: Callable[[], Segment], given: Sequence[Any]
    ) -> tuple[Prepared, Lowered]:
        """The prepared call of a segment; one for each exact shape, as for whole functions.

        ``given`` are the arguments, which say where to run though a segment may read none.
        """
        device, executor = self.where(own.arrays or given)
        types = tuple(map(scalar_type, own.scalars.values()))
        keys = tuple(argument_key(a, False, not device.is_host) for a in own.arrays)
        key = (own.key, types, keys, device)
        found = self.prepared.get(key)
        if found is not None:
            return found
        if isinstance(own, Mark):  # many marks are of one segment
            found = self._found(segment(), segment, given)
        else:
            guard = (own.key, types, guard_key(own.types), device)
            found = self._prepare(own, guard, device, executor)
        if len(self.prepared) >= MOST_KEPT:
            self.prepared.pop(next(iter(self.prepared)))
        self.prepared[key] = found
        return found

    def _prepare(
        self, segment: Segment, guard: Any, device: Device, executor: Any
    ) -> tuple[Prepared, Lowered]:
        check_kinds(segment.graph, segment.arrays, function_name(self.fn), gives_numbers=True)
        extents = symbol_extents(segment.types)
        variant = self.variants.get(guard)
        if variant is None:
            variant = self._variant(segment, extents)
            self.variants[guard] = variant
        extents = variant.extents(extents)
        inputs = variant.graph.inputs
        spans = {i.value.id: t.span for i, t in zip(inputs, segment.types, strict=True)}
        lowered = lowered_for(variant, extents, spans, device, self.options)
        arrays, replay = together(segment.arrays), self.options.replay
        return Prepared(lowered, executor, extents, arrays, replay=replay), lowered

    def _variant(self, segment: Segment, extents: Mapping[str, int]) -> Variant:
        self.compiled += 1
        graph = verify_graph(segment.graph)
        types = {n: scalar_type(v) for n, v in segment.scalars.items()}
        made = Trace(graph, None, frozenset(), extents, types)
        return Variant(made, verify_graph(simplify(graph)), {})


class WholeLines:
    """Lines as a function of their own; see ``Whole`` in ``api/_loops/stretches.py``."""

    def __init__(self, function: FunctionType, in_loop: bool, least: float, options: Options):
        """``least``: seconds that kernels have to save."""
        self._in_loop, self._least = in_loop, least
        self._signature = Signature(function, ())
        self._preparing = Preparing(function, self._signature, options, self._check)

    def prepare(self, values: Sequence[Any]) -> None:
        """Make kernels for such values.

        Raises:
            OpweaveError: they are no whole, or no kernel pays.
        """
        self._ready(values)

    def __call__(self, values: Sequence[Any]) -> Sequence[Any]:
        known = self._preparing.calls.quickly(values)
        ready, given = known if known is not None else self._ready(values)
        found: Sequence[Any] = ready(given)
        return found

    def _ready(self, values: Sequence[Any]) -> tuple[Ready, Sequence[Any]]:
        signature, preparing = self._signature, self._preparing
        call = signature.bind(tuple(values), {})
        if (never := signature.goes_on or signature.never_copied) is not None:
            raise UnsupportedError(never)
        if preparing.specialised.traces > MOST_TRACES:
            raise UnsupportedError(f"traced {MOST_TRACES} times")
        return preparing.calls.find(call, False) or preparing.prepare(call, True), call.values

    def lowered(self) -> Sequence[Any]:
        """What the lines were lowered to, each with its extents."""
        found = self._preparing.calls.wholes()
        return [(ready.found.lowered, ready.found.extents) for ready in found]

    def _check(self, found: Specialised) -> None:
        """Refuse lines as kernels, before anything is compiled.

        Raises:
            TooLittleError: they save too little.
            UnsupportedError: what they give is not what NumPy gives to all lines behind.
        """
        trace = found.variant.trace
        extents = {name: rounded(extent) for name, extent in found.extents.items()}
        if (seconds := saved(trace.graph.nodes, extents)) < self._least:
            raise TooLittleError(f"kernels would save some {seconds * 1e6:.0f} us")
        if self._in_loop and not found.variant.static.keys().isdisjoint(trace.graph.scalars):
            raise UnsupportedError("a number is part of the kernels, and may change in each round")
        if trace.structure is not None and not _is_plain(trace.structure):
            raise UnsupportedError("they give containers, or arrays that stand there twice")
        if trace.has_aliases:
            raise UnsupportedError("they give an array that is a view to NumPy, and none here")
        _check_memory(trace.graph)


def _check_memory(graph: FunctionGraph) -> None:
    """Refuse lines that give arrays which share memory, or lie, otherwise than NumPy's.

    Raises:
        UnsupportedError: they do, or may.
    """
    made = {r.id: node for node in graph.nodes for r in node.results}
    otherwise = out_of_rows(graph)
    for output in graph.outputs[: graph.returned]:
        node = made.get(output.id) if isinstance(output, Value) else None
        if node is not None and (node.is_view or node.operator.kind is Kind.MOVE):
            raise UnsupportedError("they give a part of an array, which may share its memory")
        if node is not None and not otherwise.isdisjoint(r.id for r in node.results):
            raise UnsupportedError("they give an array that NumPy may not lay out in rows")
    reshaped = {node.values[0].id for node in graph.nodes if node.operator.name == "reshape"}
    if not otherwise.isdisjoint(reshaped & made.keys()):  # of an argument its layout is known
        raise UnsupportedError("they reshape an array that NumPy may not lay out in rows")


def _is_plain(structure: Structure | None) -> bool:
    """Whether it is of tuples alone, of what cannot be told apart from what Python makes."""
    if isinstance(structure, Tree):
        nothing = structure.type is type(None)
        return nothing or (structure.type is tuple and all(map(_is_plain, structure.children)))
    if isinstance(structure, Leaf):
        return not structure.is_view
    return structure is None or isinstance(structure, Constant)
