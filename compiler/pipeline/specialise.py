"""Specialisation: one compilation per guard and shape class.

A *guard* is what a trace takes as static: dtypes, ranks, which extents are 1, layouts, alignment,
and the values that the function looked at.  Under one guard the *plan class* (of its reductions)
decides the schedule, and the *shape class* of the schedule decides the kernels.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from opweave.compiler.codegen.assemble import ShapeClasses
from opweave.compiler.codegen.operands import Setting
from opweave.compiler.ir.builder import scalar_type
from opweave.compiler.ir.device import Device
from opweave.compiler.ir.expr import Expr, evaluate, names_in
from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.passes.alarms import narrowed, with_alarms
from opweave.compiler.passes.simplify import simplify
from opweave.compiler.pipeline.driver import Lowered, Options, finish, schedule_graph
from opweave.compiler.pipeline.misses import by_types, by_values
from opweave.compiler.pipeline.rewritten import Rewritten
from opweave.compiler.scheduling.accumulation_plans import plan_class
from opweave.compiler.scheduling.schedule import Schedule
from opweave.compiler.scheduling.verify import verify_graph
from opweave.compiler.toggles.declared import choices_of
from opweave.compiler.traced.lengths import MOST_NODES, Limits
from opweave.compiler.tracing.arguments import ArrayType, Static, Trace, static_key
from opweave.compiler.tracing.trace import Describe, Rebuild, trace
from opweave.opcodes.cached import cached_property
from opweave.opcodes.errors import ArgumentError, RecompileError
from opweave.opcodes.operators.counts import MOST_DEVICE_BINS, MOST_HOST_BINS

# Writes to arguments before a function runs in parts, unless it is to be a whole: a loop of more
# takes seconds to trace and lower, and half a minute to compile where each is a kernel.
MOST_WRITES = 100
# Operators of one that may; each takes some milliseconds to lower.
MOST_LOWERED = 3_000
# Operators, from which a loop is likely to be theirs; C is asked for it before all is traced.
UNASKED = 2_000
# Reasons of recompilations that are kept.
MOST_MISSES = 100


@dataclass
class Variant:
    """What was compiled under one guard."""

    trace: Trace
    graph: FunctionGraph
    static: dict[str, Any]
    schedules: dict[Any, tuple[Schedule, ShapeClasses]] = field(default_factory=dict)
    lowered: dict[Any, Lowered] = field(default_factory=dict)
    rewritten: Rewritten = field(default_factory=Rewritten)

    def extents(self, given: Mapping[str, int]) -> dict[str, int]:
        """Extents of the arguments, and those that follow from them."""
        return self.graph.extents(given)

    @cached_property
    def asks_numbers(self) -> bool:
        """True where the guard depends on the value of a number, not on types and shapes alone."""
        leaves = {name for c, _ in self.graph.conditions for name in names_in(c)}
        return not (self.static.keys() | leaves).isdisjoint(self.graph.scalars)

    @cached_property
    def asked_of_numbers(self) -> tuple[tuple[Expr, Any], ...]:
        """What a program that is saved has to hear of the numbers of a call, to serve it.

        A power by none of the numbers that NumPy has other functions for serves for these, too.
        """
        return tuple(
            (condition, value)
            for condition, value in self.graph.conditions
            if any(leaf.op == "argument" for leaf in condition.leaves())
            and (value or condition.op != "exponent_is")
        )

    @cached_property
    def narrowed(self) -> tuple[tuple[Expr, Any], ...]:
        """Numbers that may fail to evaluate, and those that may not fit their type."""
        return (*((expr, None) for expr in self.trace.numbers), *narrowed(self.trace.graph))

    def serves(self, values: Mapping[str, Any]) -> bool:
        """True where extents and numbers, by name, are such as the guard asks for."""
        if any(not _same(values[n], v) for n, v in self.static.items()):
            return False
        are_equal = all(values[a] == values[b] for a, b in self.graph.equal)
        return are_equal and all(_holds(c, v, values) for c, v in self._open_conditions)

    @cached_property
    def _open_conditions(self) -> list[tuple[Expr, Any]]:
        """Those that more than static values decides."""
        known = self.static.keys()
        return [(c, value) for c, value in self.graph.conditions if not names_in(c) <= known]


@dataclass(frozen=True)
class Specialised:
    """A lowered function, with the extents and spans of the arguments it was asked for."""

    variant: Variant
    lowered: Lowered
    extents: Mapping[str, int]
    spans: Mapping[int, int]


def symbol_extents(types: Sequence[Any]) -> dict[str, int]:
    """Extents by symbol name, numbered through the dimensions of all array arguments."""
    shapes = [e for t in types if isinstance(t, ArrayType) for e in t.shape]
    return {f"n{number}": extent for number, extent in enumerate(shapes)}


def guard_key(types: Sequence[Any]) -> tuple[Any, ...]:
    """The guard of a call; one hashable value.

    Raises:
        ArgumentError: a static argument cannot be hashed.
    """
    out: list[Any] = []
    for item in types:
        if isinstance(item, ArrayType):
            ones = tuple(e == 1 for e in item.shape)
            out.append((item.dtype, ones, item.layout, item.aligned, item.library))
        elif isinstance(item, Static):
            try:
                hash(static_key(item.value))  # before it becomes part of a key
            except Exception:  # also what a __hash__ of the user's own raises
                raise ArgumentError(
                    f"a static argument must be hashable, found {type(item.value).__name__}; "
                    "pass a tuple, a string or a number"
                ) from None
            out.append(("static", static_key(item.value)))
        else:
            out.append(scalar_type(item))
    return tuple(out)


class Specialisations:
    """All compilations of one function."""

    def __init__(self, fn: Callable[..., Any], options: Options, describe: Describe | None = None):
        self.fn = fn
        self.describe = describe
        self.options = options
        self.variants: dict[Any, list[Variant]] = {}
        self.traces = 0
        self.misses: list[str] = []  # why the newest traces were needed
        self.newest: Mapping[str, Any] | None = None

    def find(
        self,
        arguments: Mapping[str, Any],
        device: Device,
        structure: Any = None,
        rebuilt: Rebuild | None = None,
        limit: int | None = None,
        may_roll: bool = False,
        library: bool = True,
    ) -> Specialised:
        """Return the compilation that serves the arguments; it is made now if there is none.

        ``arguments`` maps names to what ``trace`` takes.  ``structure`` tells how the caller had
        packed them, if at all; ``rebuilt`` packs them again.  ``may_roll``: C may run loops of it.
        On the host calls of NumPy's ``library`` may be steps, and on any device counts.

        Raises:
            RecompileError: it would have to be traced more often than ``limit``.
            RoundsError: it is many short operations, and C may run its loops.
        """
        types = list(arguments.values())
        extents = symbol_extents(types)
        key = (guard_key(types), structure, device, library)
        found = next(
            (v for v in self.variants.get(key, ()) if self._serves(v, arguments, extents)), None
        )
        if found is None:
            why = self._missed(key, arguments, extents)
            self._check_limit(limit, why)
            may_warn = limit is not None and not self.options.fullgraph  # and so run in parts
            calls = device if library else None
            found = self._trace(arguments, extents, rebuilt, may_warn, may_roll, calls)
            self.variants.setdefault(key, []).append(found)
            self.newest = dict(arguments)
            self.misses = [*self.misses[1 - MOST_MISSES :], why]
        extents = found.extents(extents)
        arrays = [t for t in (*types, *found.trace.constant_types) if isinstance(t, ArrayType)]
        by_value = {i.value.id: t.span for i, t in zip(found.graph.inputs, arrays, strict=True)}
        lowered = lowered_for(found, extents, by_value, device, self.options)
        return Specialised(found, lowered, extents, by_value)

    def _check_limit(self, limit: int | None, why: str) -> None:
        """Raises ``RecompileError`` where one more trace is one too many."""
        if limit is not None and self.traces >= limit:
            raise RecompileError(
                f"traced {self.traces} times, and {why}; raise opweave.config.recompile_limit"
            )

    def _missed(self, key: Any, arguments: Mapping[str, Any], extents: Mapping[str, int]) -> str:
        """What differs from what was traced before."""
        if self.newest is None:
            return "the first call"
        if not (variants := self.variants.get(key)):
            return by_types(self.newest, arguments)
        newest = variants[-1]
        values = self._values(newest.trace, arguments, newest.extents(extents))
        return by_values(newest.graph, newest.static, values, arguments, _same, _holds)

    def _trace(
        self,
        arguments: Mapping[str, Any],
        extents: Mapping[str, int],
        rebuilt: Rebuild | None,
        may_warn: bool,
        may_roll: bool,
        library: Device | None,
    ) -> Variant:
        self.traces += 1
        repeated, watched = self.options.repeated, self.options.watched
        # a loop, and a call that is watched, have no way to run a call of a library that fails
        on_host = library is not None and library.is_host
        may = library is not None and self.options.library and not (repeated or watched)
        calls, counts = may and on_host, may * (MOST_HOST_BINS if on_host else MOST_DEVICE_BINS)
        rest = repeated, watched, self._limits(may_roll), may_warn, calls, self.options.counted
        made = trace(self.fn, arguments, rebuilt, self.describe, *rest, counts)
        graph = with_alarms(made.graph, made.extents, made.suspects) if watched else made.graph
        graph = verify_graph(simplify(verify_graph(graph)))
        # a kernel's own loop has the same numbers in each round
        graph = replace(graph, repeated=repeated and not self.options.counted)
        static = {
            name: value
            for name, value in self._values(made, arguments, made.graph.extents(extents)).items()
            if name in made.static
        }
        return Variant(made, graph, static)

    def _limits(self, may_roll: bool) -> Limits:
        """How long a trace may get: what has to be whole may be longer."""
        is_whole = self.options.fullgraph
        writes = MOST_NODES if is_whole else MOST_WRITES
        return Limits(
            writes if self.options.writes else 0,
            MOST_NODES if is_whole else MOST_LOWERED,
            UNASKED if may_roll else None,
        )

    @staticmethod
    def _values(
        made: Trace, arguments: Mapping[str, Any], extents: Mapping[str, int]
    ) -> dict[str, Any]:
        """The values of scalars and extents by name."""
        scalars = [a for a in arguments.values() if not isinstance(a, ArrayType | Static)]
        return {**extents, **dict(zip(made.graph.scalars, scalars, strict=True))}

    def _serves(
        self, variant: Variant, arguments: Mapping[str, Any], extents: Mapping[str, int]
    ) -> bool:
        values = self._values(variant.trace, arguments, variant.extents(extents))
        return variant.serves(values)


def lowered_for(
    variant: Variant,
    extents: Mapping[str, int],
    spans: Mapping[int, int],
    device: Device,
    options: Options,
) -> Lowered:
    """The kernels that serve a variant for these extents and layouts; lowered now if none do."""
    graph, rewrites = variant.rewritten.of(variant.graph, extents, device, options.vendor)
    overrides = options.overrides
    choices = choices_of(graph, extents, device, overrides)
    plans = (rewrites, plan_class(graph, extents, device, options.vendor), tuple(choices.items()))
    known = variant.schedules.get((plans, device))
    if known is None:
        known = schedule_graph(graph, extents, device, options, choices), ShapeClasses()
        variant.schedules[plans, device] = known
    schedule, classes = known
    structure = options.structure
    setting = Setting(schedule, extents, spans, device, overrides, structure)
    shapes = classes.of(setting)
    lowered = variant.lowered.get((plans, shapes, device))
    if lowered is None:
        lowered = finish(schedule, extents, spans, device, overrides, structure)
        variant.lowered[plans, shapes, device] = lowered
    return lowered


def _holds(condition: Expr, value: Any, values: Mapping[str, Any]) -> bool:
    try:
        return bool(evaluate(condition, values) == value)
    except ArithmeticError:  # such as a division by zero, of a number that the trace did not have
        return False


def _same(a: Any, b: Any) -> bool:
    """Equal as static values."""
    return bool(static_key(a) == static_key(b))
