"""A budget for compiling: functions whose kernels, by constants, would compile for long."""

from __future__ import annotations

import dis
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from types import CodeType, FrameType
from typing import Any, NamedTuple

from opweave.compiler.ir.expr import Expr, evaluate
from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.ir.pace import (
    is_for_loops,
    mean_seconds,
    pays_between,
)
from opweave.compiler.ir.values import Extents, Where, count
from opweave.compiler.pipeline.driver import Lowered
from opweave.compiler.pipeline.specialise import Specialised
from opweave.compiler.scheduling.compile_costs import MOST_OF_WHOLE, whole_seconds
from opweave.compiler.scheduling.fuse import fuse
from opweave.compiler.traced.lengths import RoundsError, rounded
from opweave.compiler.traced.made import users_frame
from opweave.opcodes.errors import OpweaveWarning, RecompileError, TraceError
from opweave.runtime.calls.building import costs

# Kernels of a whole; fewer cost too little for its lines outside of loops to be left to NumPy.
MANY_KERNELS = 12
# Results likewise, and comparisons of a guard.
MANY_RESULTS = MANY_ASKED = 64
# Comparisons of extents, and names in one that are looked at.
# Operators of a whole that is for one length alone, since a loop of it has as many rounds, and
# traces behind which another length is left to C: it would compile all of them anew.
MANY_OF_A_LENGTH, FEW_LENGTHS = 128, 2
COMPARED, MOST_NAMES = ("eq", "ne", "lt", "le", "gt", "ge"), 4
REMEDY = "fuse one round of it, or repeat it by ow.repeat"


class TooLongError(TraceError):
    """All kernels of a function would compile for long; line by line it is done before."""


class ShortError(TraceError):
    """NumPy is done before kernels, and calls of its library between them, would be."""


class Loop(NamedTuple):
    """A loop of a function: the line of its head, and all of its lines."""

    head: int
    lines: frozenset[int]


def too_long(lowered: Lowered, extents: Extents, name: str, fn: Callable[..., Any]) -> str:
    """What is to be said of a function that would compile for long; "" for any other."""
    if whole_seconds(lowered.seconds) <= MOST_OF_WHOLE:
        return ""  # as at nearly every call: which kernels are the same need not be known
    found = costs(lowered, "run", extents)
    seconds = whole_seconds([each for *_, each in found])
    if seconds <= MOST_OF_WHOLE:
        return ""
    spent: dict[Where, float] = defaultdict(float)
    for kernel, _, each in found:
        nodes = lowered.schedule.groups[kernel.group].nodes
        for node in nodes:
            spent[lowered.graph.nodes[node].where] += each / len(nodes)
    return (
        f"{name}: {len(found)} different kernels, which compile for some {seconds:.0f} s, most of "
        f"that for {_place(spent, getattr(fn, '__code__', None))}"
    )


def check_rounds(found: Specialised, name: str, traces: int) -> None:
    """Ask that loops run in C where a whole would start many kernels of short operations.

    On a GPU rounds are launched one after the other then, however long the operations are.

    So where it would return many numbers, an array of each, or compare many with what they were;
    and where it is long, and serves one length alone behind ``traces`` for some.

    Raises:
        RoundsError: it would.
    """
    kernels, returned = len(found.lowered.schedule.groups), found.variant.graph.returned
    is_short = kernels < MANY_KERNELS and returned < MANY_RESULTS and asked_by(found) < MANY_ASKED
    if is_short and not (traces > FEW_LENGTHS and _is_of_a_length(found)):
        return
    seconds = mean_seconds(found.variant.trace.graph.nodes, found.extents)
    is_there = not found.lowered.device.is_host
    if is_there or is_for_loops(seconds, writes=bool(found.variant.graph.written)):
        error = RoundsError(f"{name}: {kernels} kernels of short operations")
        error.mean_seconds, error.is_whole = seconds, True
        raise error


def _is_of_a_length(found: Specialised) -> bool:
    is_long = len(found.variant.trace.graph.nodes) >= MANY_OF_A_LENGTH
    return is_long and not found.extents.keys().isdisjoint(found.variant.static)


def check_short(found: Specialised, name: str) -> None:
    """Ask that NumPy runs what it is done with before a whole would be.

    Many kernels for single numbers (``[v * 2 for v in x]``) do not pay. With calls of NumPy's
    own that follows from the function, the types and the powers of two of extents: a function
    whose guard tells apart calls that are alike in these is a whole.

    Raises:
        ShortError: kernels save less than they, or calls of NumPy's library, cost.
    """
    trace = found.variant.trace
    if not found.lowered.schedule.groups and asked_by(found) >= MANY_ASKED:
        text = f"no kernel computes, and {asked_by(found)} numbers would be looked at"
        raise _short(f"{name}: {text}", trace.graph, found.extents)
    if len(found.lowered.schedule.groups) >= MANY_KERNELS and _is_many_numbers(found):
        text = "a kernel for each of many numbers costs more than NumPy's operations"
        raise _short(f"{name}: {text}", trace.graph, found.extents)
    if trace.static or not any(node.is_library for node in trace.graph.nodes):
        return
    sizes = SizeClass(trace.graph, found.extents)
    if not all(sizes.settles(condition) for condition, _ in found.variant.graph.conditions):
        return
    if not pays_between(trace.graph.nodes, sizes.least):
        text = "its kernels save less than calls of NumPy's library between them cost"
        raise _short(f"{name}: {text}", trace.graph, sizes.least)


def asked_by(found: Specialised) -> int:
    """How many numbers are looked at before a whole runs: its guard compares some.

    Where no kernel computes, those that it is given count, too.
    """
    graph = found.variant.graph
    numbers = frozenset(graph.scalars)
    asked = (str(leaf.args[0]) for c, _ in graph.conditions for leaf in c.leaves())
    given = 0 if found.lowered.schedule.groups else len(numbers)
    return (
        given + len(numbers.intersection(found.variant.static)) + sum(n in numbers for n in asked)
    )


def _short(text: str, graph: FunctionGraph, extents: Extents) -> ShortError:
    error = ShortError(text)
    error.mean_seconds = mean_seconds(graph.nodes, extents)
    return error


def _is_many_numbers(found: Specialised) -> bool:
    """Whether every operation of a function is one of single elements, and many do not fuse.

    ``unfused()`` leaves to NumPy what the fused function does, so that both have the same bits.
    """
    nodes = (node for node in found.variant.trace.graph.nodes if not node.is_view)
    values = (value for node in nodes for value in (*node.values, *node.results))
    if any(count(value.shape, found.extents) > 1 for value in values):
        return False
    return len(fuse(found.lowered.schedule.graph).groups) >= MANY_KERNELS


class SizeClass:
    """The calls whose extents have as many binary digits as those of one call.

    Attributes:
        least: the smallest of these extents, and what follows from them.
    """

    def __init__(self, graph: FunctionGraph, extents: Extents):
        self._graph = graph
        derived = {name for name, _ in graph.derived}
        given = {name: extent for name, extent in extents.items() if name not in derived}
        self._ends = {
            name: (extent, extent) if extent < 2 else _ends(extent)
            for name, extent in given.items()
        }
        self.least = graph.extents({name: low for name, (low, _) in self._ends.items()})

    def settles(self, condition: Expr) -> bool:
        """Whether a comparison of extents has one answer in all of these calls.

        It has where one side is the larger one whichever end each extent is at: what is computed
        of extents rises or falls with each.
        """
        names = sorted({str(leaf.args[0]) for leaf in condition.leaves() if leaf.op == "extent"})
        is_of_extents = all(leaf.op in ("extent", "literal") for leaf in condition.leaves())
        known = condition.op in COMPARED and not {*names} - self._ends.keys()
        if not is_of_extents or not known or len(names) > MOST_NAMES:
            return False
        corners = product(*(self._ends[name] for name in names))
        signs = {_sign(condition, dict(zip(names, corner, strict=True))) for corner in corners}
        return len(signs) == 1


def _ends(extent: int) -> tuple[int, int]:
    low = rounded(extent)
    return low, 2 * low - 1


def _sign(condition: Expr, extents: Extents) -> int:
    first, second = (evaluate(side, extents) for side in condition.args)
    return int(first > second) - int(first < second)


def warn_of_limit(name: str, error: RecompileError) -> None:
    """Warn of a function that was traced too often."""
    tell(
        f"{name} was {error}. Calls like this one run in parts from now on; pass what differs as "
        "an array, or as a number whose value is not asked for"
    )


def _place(spent: Mapping[Where, float], code: CodeType | None) -> str:
    """The innermost loop that has most of what is spent, or else the line."""
    most = max(spent, key=spent.__getitem__)
    loops = [*_loops(code)] if code is not None else []

    def inside(loop: Loop) -> float:
        file = code.co_filename if code else ""
        return sum(s for w, s in spent.items() if w.file == file and w.line in loop.lines)

    if loops and code is not None:
        most_inside = max(map(inside, loops))
        found = min(
            (loop for loop in loops if inside(loop) >= most_inside / 2),
            key=lambda loop: len(loop.lines),
        )
        if most_inside or len(loops) == 1:
            where = Where(code.co_filename, found.head)
            return f"the loop at {where}; {REMEDY}"
    return f"the line {most}; if it is in a loop, {REMEDY}"


def _loops(code: CodeType) -> Iterator[Loop]:
    """The loops of a function and of those within it, by their jumps back."""
    line_of = {at: line for start, end, line in code.co_lines() for at in range(start, end, 2)}
    for instruction in dis.get_instructions(code):
        if "JUMP_BACKWARD" in instruction.opname:
            span = range(instruction.argval, instruction.offset + 2, 2)
            lines = frozenset(line for at in span if (line := line_of.get(at)) is not None)
            if lines:
                yield Loop(min(lines), lines)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _loops(constant)


def tell(text: str) -> None:
    """Warn at the user's line that calls."""
    warnings.warn(text, OpweaveWarning, stacklevel=_levels())


def _levels() -> int:
    """How far up the caller's line is from the function that asks."""
    users = users_frame()
    frame: FrameType | None = sys._getframe(1)
    levels = 1
    while frame is not None and frame is not users:
        frame, levels = frame.f_back, levels + 1
    return levels
