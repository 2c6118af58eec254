"""A budget for compiling: functions whose kernels, by constants, would compile for long."""

from __future__ import annotations

import dis
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from types import CodeType
from typing import Any, NamedTuple

from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.ir.pace import (
    WHOLE_ROLLED,
    WRITING_ROLLED,
    mean_seconds,
    pays_between,
)
from opweave.compiler.ir.values import Extents, Where
from opweave.compiler.pipeline.driver import Lowered
from opweave.compiler.pipeline.specialise import Specialised
from opweave.compiler.scheduling.compile_costs import MOST_OF_WHOLE, whole_seconds
from opweave.compiler.traced.made import users_line
from opweave.opcodes.errors import OpweaveWarning, RecompileError, TraceError
from opweave.runtime.calls.building import costs

# Kernels of a whole; fewer cost too little for its lines outside of loops to be left to NumPy.
MANY_KERNELS = 12
REMEDY = "fuse one round of it, or repeat it by ow.repeat"


class TooLongError(TraceError):
    """All kernels of a function would compile for long; line by line it is done before."""


class RoundsError(TooLongError):
    """A function is a whole of many short kernels, where C may run its loops at once."""


class ShortError(TraceError):
    """Calls of NumPy's library between kernels cost more than the kernels save."""


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


def check_rounds(found: Specialised, name: str) -> None:
    """Ask that loops run in C where a whole would start many kernels of short operations.

    Raises:
        RoundsError: it would.
    """
    kernels = len(found.lowered.schedule.groups)
    if kernels < MANY_KERNELS:
        return
    seconds = mean_seconds(found.variant.trace.graph.nodes, found.extents)
    if seconds < (WRITING_ROLLED if found.variant.graph.written else WHOLE_ROLLED):
        error = RoundsError(f"{name}: {kernels} kernels of short operations")
        error.mean_seconds = seconds
        raise error


def check_short(found: Specialised, name: str) -> None:
    """Ask that NumPy runs what it is done with before a whole would be, with calls of its own.

    That follows from the function, the types and the powers of two of extents: a function whose
    guard asks for more is a whole.

    Raises:
        ShortError: calls of NumPy's library cost more than kernels save.
    """
    trace = found.variant.trace
    asked = [
        condition for condition, _ in found.variant.graph.conditions if not _of_one(condition)
    ]
    if trace.static or asked or not any(node.is_library for node in trace.graph.nodes):
        return
    derived = {name for name, _ in trace.graph.derived}
    given = {n: _rounded(e) for n, e in found.extents.items() if n not in derived}
    try:
        extents = trace.graph.extents(given)
    except ArithmeticError:
        return
    if not pays_between(trace.graph.nodes, extents):
        error = ShortError(
            f"{name}: its kernels save less than calls of NumPy's library between them cost"
        )
        error.mean_seconds = mean_seconds(trace.graph.nodes, extents)
        raise error


def _of_one(condition: Expr) -> bool:
    """Whether an extent is 1 is asked of all extents that follow from others."""
    leaves = condition.leaves()
    is_one = condition.op == "eq" and condition.args[1] == literal(1)
    return is_one and all(leaf.op != "argument" for leaf in leaves)


def _rounded(n: int) -> int:
    """The power of two that is not above a number."""
    return 1 << (n.bit_length() - 1) if n > 0 else 0


def warn(text: str) -> None:
    """Warn at the line that calls."""
    where = users_line()
    warnings.warn_explicit(text, OpweaveWarning, where.file or "opweave", max(1, where.line))


def warn_of_limit(name: str, error: RecompileError) -> None:
    """Warn of a function that was traced too often."""
    warnings.warn(
        f"{name} was {error}. Calls like this one run in parts from now on; pass what differs as "
        "an array, or as a number whose value is not asked for",
        OpweaveWarning,
        stacklevel=8,  # the line that calls
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
