"""Trace: run the user's function on traced values and collect its graph."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from opweave.compiler.arrays.traced_operators import is_traced_array
from opweave.compiler.captures.places import Place
from opweave.compiler.ir.builder import GraphBuilder, scalar_type
from opweave.compiler.ir.expr import Expr
from opweave.compiler.ir.graph import Input
from opweave.compiler.ir.names import c_names, function_name
from opweave.compiler.ir.values import Value
from opweave.compiler.traced.lengths import Limits, RoundsError
from opweave.compiler.traced.numbers import TracedScalar
from opweave.compiler.traced.tracer import Tracer
from opweave.compiler.traced.truths import Truth
from opweave.compiler.tracing.arguments import Argument, ArrayType, Static, Trace
from opweave.compiler.tracing.calling import called, passed
from opweave.compiler.tracing.changes import Changes
from opweave.compiler.tracing.interface import Sight
from opweave.compiler.tracing.leaving import Leaving
from opweave.compiler.tracing.refusals import again, telling
from opweave.compiler.tracing.results import (
    _copies,
    _guard_unread,
    _output,
    check_classes,
    containers_in,
    finished,
    leaves_of_result,
    resolved_name,
)
from opweave.compiler.tracing.static_view import Traced, would_be_lost
from opweave.compiler.tracing.substitute import Substituted
from opweave.compiler.tracing.watch import Watch
from opweave.compiler.tracing.written import ResultMemory, lending, stored
from opweave.opcodes.errors import (
    OpweaveError,
    ShapeError,
    TraceError,
    UnsupportedError,
)

# (leaves, list for the containers) -> values by parameter and place
Rebuild = Callable[[Sequence[Any], list[Any]], Mapping[Any, Any]]
# (name, array) -> its type
Describe = Callable[[str, Any], ArrayType]


def trace(
    fn: Callable[..., Any],
    arguments: Mapping[str, Argument],
    rebuilt: Rebuild | None = None,
    describe: Describe | None = None,
    repeated: bool = False,
    watches: bool = False,
    limits: Limits = Limits(),
    may_warn: bool = False,
    calls_library: bool = False,
    counted: Sequence[str] = (),
    counts: int = 0,
) -> Trace:
    """Run ``fn`` on traced values.

    x: f32[n0, n1], s -> x * s            gives  v1: f32[n0, n1] = multiply(v0, s: f32)

    An array that the function makes of nothing (``w = np.zeros(3)``) is NumPy's own.  Traced
    values cannot be written to it; where the function tries that, a second run has it traced.

    Args:
        arguments: the leaves of the arguments, by name.
        rebuilt: makes the arguments from leaves, by parameter, and captured values by place; None
            where arguments are the leaves.
        describe: says what is static of an array that is no argument; None refuses those.
        repeated: results become the first arguments again, see ``FunctionGraph.repeated``.
        watches: floating-point errors are looked for in what NumPy computes while tracing.
        limits: how long it may get.
        may_warn: a function of which NumPy warns, for these extents, is refused.
        calls_library: calls of NumPy's library become nodes.
        counted: numbers that differ from round to round of ``ow.repeat``: where an array is read
            by one, it is no part of the guard.
        counts: counts of elements by their values become nodes, with so many bins at most.

    Raises:
        TraceError: the function asks a traced value for what only an array has.
        ShapeError, DTypeError, UnsupportedError: from the operations of the function.
    """
    names = dict(zip(arguments, c_names(arguments), strict=True))
    scalars = {names[n]: a for n, a in arguments.items() if not isinstance(a, ArrayType | Static)}
    first_line = getattr(getattr(fn, "__code__", None), "co_firstlineno", 0)

    def traced(holds_made: bool) -> Trace:
        tracer = Tracer(GraphBuilder({}), dict(scalars), first_line, describe, limits)
        tracer.holds_made, tracer.watches, tracer.may_warn = holds_made, watches, may_warn
        _ask(tracer, arguments, [names[n] for n in counted if n in names], calls_library, counts)
        try:
            with lending(tracer), telling(tracer):
                return _trace(fn, arguments, rebuilt, names, scalars, tracer, repeated)
        except (TraceError, UnsupportedError) as error:
            if holds_made or not tracer.made or isinstance(error, RoundsError):
                raise
            return again(traced, error)

    return traced(False)


def _ask(
    tracer: Tracer, arguments: Mapping[str, Argument], counted: Sequence[str], calls: bool,
    counts: int,
) -> None:  # fmt: skip
    """Tell the tracer what it has to know of the arguments, and what become nodes."""
    tracer.counted, tracer.calls_library, tracer.counts = frozenset(counted), calls, counts
    if any(isinstance(a, ArrayType) and a.library == "cupy" for a in arguments.values()):
        tracer.array_class = sys.modules["cupy"].ndarray


def _trace(
    fn: Callable[..., Any], arguments: Mapping[str, Argument], rebuilt: Rebuild | None,
    names: Mapping[str, str], scalars: Mapping[str, Any], tracer: Tracer, repeated: bool,
) -> Trace:  # fmt: skip
    sight = Traced(tracer)
    inputs, call = _entered(arguments, names, tracer, sight)
    containers: list[Any] = []
    values = dict(call if rebuilt is None else rebuilt(list(call.values()), containers))
    before = ShapeError.made
    is_apart = repeated or hasattr(fn, "__opweave_apart__")  # each result has a place of its own
    sight.given = 0 if is_apart else containers_in(values)
    result = _watched(fn, values, tracer, sight, containers)
    if ShapeError.made != before:  # the function has caught one
        _fix_extents(tracer, call.values())
    kept_in = None if is_apart else containers
    leaves, structure = leaves_of_result(result, sight.left_in, kept_in, call, tracer)
    check_classes(structure, sight.classes())
    copies = _copies(tracer, [item for _, item in leaves])
    memory = ResultMemory(tracer)
    outputs = tuple(_output(memory, copies.get(id(it), it), path) for path, it in leaves)
    kept, written = stored(memory, inputs, outputs)
    outputs += kept
    if repeated and not tracer.counted and all(isinstance(o, Value) for o in outputs):
        states = [item.value.shape for item in inputs]
        tracer.builder.become(states, [o.shape for o in outputs if isinstance(o, Value)])
    made = _traced(function_name(fn), inputs, scalars, tracer, outputs, structure)
    truths = (n for n, (_, item) in enumerate(leaves) if type(item) is Truth)
    graph = replace(made.graph, truths=frozenset(truths), written=written)
    own = _libraries([*arguments.values(), *made.constant_types])
    return replace(made, graph=graph, looked_up=sight.seen.looked_up, libraries=own)


def _libraries(types: Iterable[Any]) -> tuple[str, ...]:
    """Whose array each input is."""
    return tuple(kind.library for kind in types if isinstance(kind, ArrayType))


def _fix_extents(tracer: Tracer, given: Iterable[Any]) -> None:
    """Make the extents of all arguments part of the guard."""
    for array in filter(is_traced_array, given):
        for extent in array.shape:
            tracer.concrete(extent)


def _entered(
    arguments: Mapping[str, Argument], names: Mapping[str, str], tracer: Tracer, sight: Traced
) -> tuple[list[Input], dict[str, Any]]:
    """The inputs of the graph, and what the function sees of each argument."""
    inputs: list[Input] = []
    call: dict[str, Any] = {}
    for name, argument in arguments.items():
        if isinstance(argument, ArrayType):
            value = tracer.builder.new_input(argument.dtype, argument.shape)
            inputs.append(Input(value, names[name], argument.layout, argument.aligned))
            tracer.inputs.add(value.id)
            tracer.mapped |= {value.id} if argument.library == "memmap" else set()
            tracer.strided |= {value.id} if argument.layout != "C" else set()
            if not argument.shape and names[name] in tracer.counted:
                tracer.unboxed.add(value.id)  # a number that lies in memory
            call[name] = tracer.wrapped(value)
            if tracer.lends:
                tracer.writable[id(call[name])] = call[name], value
        elif isinstance(argument, Static):
            call[name] = sight.plain(argument.value)
        else:
            call[name] = TracedScalar(tracer, Expr("argument", (names[name],)), argument)
    return inputs, call


def _watched(
    fn: Callable[..., Any], values: dict[Any, Any], tracer: Tracer, sight: Traced,
    containers: list[Any],
) -> Any:  # fmt: skip
    """What the function returns; an error where something was refused, or changed outside."""
    captured = {k: values.pop(k) for k in list(values) if isinstance(k, Place)}
    watch = Watch((place for place in captured if place.watched), sight.seen.changes)
    changed: str | None = None
    try:
        try:
            result = run(fn, values, captured, sight, containers)
        finally:
            changes = watch.restored(), sight.seen.changes.restored()
            changed = next(filter(None, changes), None)
    except Exception as error:
        if tracer.refused is not None and error is not tracer.refused:
            raise tracer.refused from error  # NumPy, or the function, raised another instead
        if changed is not None and not isinstance(error, OpweaveError):
            raise _lost(fn, changed) from error
        raise
    if changed is not None:
        raise _lost(fn, changed)
    if tracer.refused is not None:  # the function has caught it
        raise tracer.refused
    return result


def _lost(fn: Callable[..., Any], changed: str) -> TraceError:
    return would_be_lost(getattr(fn, "__name__", "the function"), f"changes {changed}")


def _traced(
    name: str, inputs: list[Input], scalars: Mapping[str, Any], tracer: Tracer,
    outputs: tuple[Value | Expr, ...], structure: Any,
) -> Trace:  # fmt: skip
    """The trace of what the tracer has seen, with what its guard is made of."""
    constants, builder = tracer.constants, tracer.builder
    for made in constants:
        made.check()
    inputs += [Input(c.value, c.name, c.type.layout, c.type.aligned) for c in constants]
    _guard_unread(tracer, outputs)
    graph = finished(name, inputs, tuple(scalars), tracer, outputs)
    asked = {s.name for s in builder.parent if isinstance(builder.find(s), int)}
    static = frozenset(resolved_name(builder, n) for n in tracer.static) | asked
    types_of = {name: scalar_type(value) for name, value in scalars.items()}
    arrays, kinds = tuple(c.array for c in constants), tuple(c.type for c in constants)
    return Trace(
        graph, structure, static, builder.extents, types_of, arrays, kinds,
        tracer.has_faulted, tracer.sets_errors, tuple(tracer.numbers),
        tuple(builder.resolved(value) for value in tracer.suspects),
        has_aliases=any(made() is not None for made in tracer.copied_views),
    )  # fmt: skip


def run(
    fn: Callable[..., Any], values: Mapping[str, Any], captured: Mapping[Place, Any], sight: Sight,
    containers: list[Any], originals: Sequence[Any] = (),
) -> Any:  # fmt: skip
    """Call the function, with other values in the places that it reads from outside.

    Args:
        containers: those of the values and of what is captured.
        originals: what they are copies of.

    Raises:
        TraceError: it made a change that a caller would see, and the sight puts nothing back.
    """
    copied = {place: value for place, value in captured.items() if not place.watched}
    substituted = Substituted(fn, copied, sight, containers, originals)
    call = {name: substituted.adopted(value) for name, value in values.items()}
    sight.check(captured, substituted.names)
    held = [*call.items(), *((p.name, substituted.values[p]) for p in copied)]
    held = [] if sight.puts_back else held
    changes = Changes(substituted, held, containers, originals)
    sight.begun(changes)
    args, kwargs = passed(substituted.function, call)
    leaving = Leaving(
        substituted.known_scopes, sight.classes, sight.left, sight.crossed, not sight.puts_back
    )  # fmt: skip
    name = getattr(fn, "__name__", "the function")
    try:
        try:
            with sight.errors(), leaving:
                result = called(substituted.function, args, kwargs)
        except Exception:
            sight.failed(changes, name)  # but for Ctrl-C
            raise
        sight.changed(changes, name)
        return result
    finally:
        leaving.end()  # again, if Ctrl-C came in the middle of it
        sight.seen.clear()
        substituted.release()
