"""How long a trace may get: each round of a Python loop that is written out adds operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from opweave.compiler.ir.builder import GraphBuilder
from opweave.compiler.ir.expr import Expr, evaluate
from opweave.compiler.ir.pace import is_for_loops
from opweave.compiler.ir.values import Extents, Shape, Where, count
from opweave.compiler.traced.shared_memory import SharedMemory
from opweave.opcodes.errors import OpweaveError, TraceError

# Operators of one function that has to be whole.
MOST_NODES = 20_000
# Operations of a number that follows from others, written out: a loop doubles them in each round.
MOST_TERMS = 500
LONG_NUMBER = (
    f"a number that follows from others by more than {MOST_TERMS} operations: pass it as an array "
    "without dimensions"
)
# Shapes of a trace that a refusal keeps.
MOST_SHAPES = 64


@dataclass(frozen=True)
class Limits:
    """How long a trace may get.

    Attributes:
        writes: to arguments, see ``written.py``.
        nodes: operators.
        unasked: so many operators are written out before C is asked for the loops that they come
            from; None where it is not.
    """

    writes: int = 0
    nodes: int = MOST_NODES
    unasked: int | None = None


class RoundsError(TraceError):
    """A function is many short operations, where C may run its loops at once.

    Attributes:
        is_whole: all of it was traced, so that it has no effects but on arrays.
    """

    is_whole = False


def is_traced_whole(error: BaseException) -> bool:
    """Whether an error is that of many short operations, all of which were traced."""
    return isinstance(error, RoundsError) and error.is_whole


def breaks_at_lines(error: OpweaveError) -> bool:
    """Whether a function is no whole for lines of it, and not because it is too long."""
    return error.mean_seconds is None and not isinstance(error, RoundsError)


class Length:
    """How long a trace is, held to its limits."""

    def __init__(self, limits: Limits):
        self._most = limits.nodes
        self._unasked = limits.unasked  # None once C was asked

    def passed(self, trace: SharedMemory, where: Where) -> OpweaveError | None:
        """Why the trace ends before the next operator; None where it goes on."""
        count, most = len(trace.builder.nodes), self._most
        if self._unasked is not None and count >= self._unasked:
            self._unasked = None
            error = trace.of_rounds(RoundsError(f"many short operations ({where})"))
            is_there = trace.array_class is not np.ndarray  # where rounds are launched in turn
            if is_there or is_for_loops(error.mean_seconds or 0, writes=bool(trace.rewritten)):
                return error
        if count < most:
            return None
        return trace.of_rounds(TraceError(
            f"more than {most} operators in one function ({where}): each round of a Python loop "
            "is code of its own; express the loop as array operations, or fuse one round of it"
        ))  # fmt: skip


@dataclass(frozen=True)
class Reached:
    """How far a trace has come.

    Attributes:
        shapes: of its arrays.
        derived: extents that follow from those of the arguments.
        lines: that it has operators of, by file.
    """

    shapes: frozenset[Shape]
    derived: Mapping[str, Expr]
    lines: frozenset[tuple[str, int]]

    @classmethod
    def of(cls, builder: GraphBuilder) -> Reached | None:
        """What a trace has so far; None where its shapes are too many to be looked at."""
        results = (result for node in builder.nodes for result in node.results)
        shapes = frozenset(tuple(map(builder.find, result.shape)) for result in results)
        lines = frozenset((node.where.file, node.where.line) for node in builder.nodes)
        return cls(shapes, dict(builder.derived), lines) if len(shapes) <= MOST_SHAPES else None

    def longest(self, extents: Extents) -> int:
        """Elements of its longest array in a call, whose extents count as powers of two."""
        known = {name: rounded(extent) for name, extent in extents.items()}
        for name, expr in self.derived.items():
            known[name] = int(evaluate(expr, known))
        return max((count(shape, known) for shape in self.shapes), default=0)


def rounded(n: int) -> int:
    """The power of two that is not above a number.

    >>> rounded(100)
    64
    """
    return 1 << (n.bit_length() - 1) if n > 0 else 0
