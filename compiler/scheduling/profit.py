"""Whether fusing is worth it: rules apart from those of legality."""

from __future__ import annotations

from collections.abc import Callable

from opweave.compiler.ir.graph import FunctionGraph, Node
from opweave.compiler.scheduling.compile_costs import MOST_SECONDS, seconds_of
from opweave.compiler.scheduling.forms import Form
from opweave.opcodes.core import Kind


def recomputes_special_functions(graph: FunctionGraph, members: set[int], form: Form) -> str:
    """A small value inside a larger loop is computed again at each point."""
    # values of a pixel are computed once a pixel, though they are fewer than its channels
    walked = slice(None, -1) if form.channels else slice(None)
    for index in members:
        node = graph.nodes[index]
        small = (
            node.operator.cost.special
            and node.is_map
            and node.values
            and node.result.id not in form.row_values
            and len([e for e in node.result.shape[walked] if e != 1])
            < len([e for e in form.space[walked] if e != 1])
        )
        if small:
            return f"{node.operator.name} would be computed again for every row"
    return ""


# Operations of one kernel, see ``Cost.slots``, for the slowest functions: NVRTC takes 1.3 ms for
# each, and still is within ``MOST_SECONDS``; far fewer hide what a split moves through memory.  In
# a row's loop, which is written out for several chunks, a quarter.
LONGEST = 1024


LONGEST_ROW = LONGEST // 4


def takes_long_to_compile(graph: FunctionGraph, members: set[int], form: Form) -> str:
    """A kernel of too many operations, or of too many operands and passes."""
    longest = LONGEST if form.kind in ("map", "pixel") else LONGEST_ROW
    slots = sum(graph.nodes[index].operator.cost.slots for index in members)
    if slots > longest:
        return f"{slots} operations would compile for long: at most {longest}"
    seconds = seconds_of(graph, form, members)
    if seconds > MOST_SECONDS:
        return f"it would compile for long: some {seconds:.1f} s, at most {MOST_SECONDS:.0f} s"
    return ""


PROFIT: tuple[Callable[[FunctionGraph, set[int], Form], str], ...] = (
    recomputes_special_functions,
    takes_long_to_compile,
)


def _is_plain(node: Node) -> bool:
    """True for a map of values in registers that may stand anywhere in a loop."""
    row = node.operator
    odd = row.mixes or row.tables or row.notes_faults or node.choices
    return row.kind is Kind.MAP and not odd
