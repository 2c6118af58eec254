"""What kernels cost to compile, by constants: neither a clock nor a cache is asked.

The constants are those of g++ 12 on one core of a common machine; ``bench/tools/compile_costs.py``
fits them.  They are off by a factor of 0.6 to 1.7.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from opweave.compiler.ir.graph import Graph, Node
from opweave.compiler.scheduling.forms import Form, group_inputs, group_outputs
from opweave.compiler.scheduling.schedule import Group
from opweave.opcodes.dtypes import BF16, F16

# Seconds of one kernel, beyond which a group is split.
MOST_SECONDS = 2.0
# Seconds of all kernels of a function, compiled on so many cores, beyond which it runs in parts.
MOST_OF_WHOLE, CORES = 10.0, 2


class Size(NamedTuple):
    """What a compiler has to do.

    Attributes:
        slots: operations, see ``weight``.
        operands: arrays that are read and written.
        passes: walks along a row, each of which computes anew what it needs.
    """

    slots: float
    operands: int
    passes: int = 1


class Constants(NamedTuple):
    """Seconds of a kernel, of an operation in a pass, and of a pair of operands."""

    kernel: float
    slot: float
    pair: float

    def seconds(self, size: Size) -> float:
        return self.kernel + self.slot * size.slots * size.passes + self.pair * size.operands**2


# By the forms of schedule.py; rows whose elements are apart go along neighbouring columns.
SECONDS: dict[str, Constants] = {
    "map": Constants(0.17, 0.0008, 0.0009),
    "row": Constants(0.22, 0.0025, 0.0033),
    "columns": Constants(0.20, 0.0074, 0.0033),
    "scan": Constants(0.22, 0.0006, 0.0006),
    "vendor": Constants(0, 0, 0),
}
LIKE = {
    "pixel": "map", "handwritten": "map", "product": "row", "product_rows": "row",
    "reduce": "row", "scan_parts": "scan", "scan_columns": "scan",
}  # fmt: skip


# How many times longer than their ``Cost.slots`` operators compile.
TIMES = {
    "sin": 3, "cos": 3, "tan": 2, "log1p": 2.5, "arcsinh": 2, "power": 3, "float_power": 3,
    "lcm": 7, "spacing": 15, "less": 4, "less_equal": 4, "signbit": 6, "reciprocal": 8, "rint": 4,
}  # fmt: skip
# What rounding each result to a type of 16 bits adds, in slots.
ROUNDING = 25


def weight(node: Node) -> float:
    """What an operator is to a compiler, in slots."""
    slots = node.operator.cost.slots * TIMES.get(node.operator.name, 1)
    return slots + ROUNDING * any(r.dtype in (F16, BF16) for r in node.results)


def kind_of(form: Form) -> str:
    """The row of ``SECONDS`` for a form."""
    kind = LIKE.get(form.kind, form.kind)
    apart = kind == "row" and form.axes and len(form.space) - 1 not in form.axes
    return "columns" if apart else kind


def size_of(graph: Graph, form: Form, nodes: Iterable[int], operands: int) -> Size:
    """The size of the kernel of some nodes."""
    slots = sum(weight(graph.nodes[n]) for n in nodes)
    return Size(slots, operands, 1 + max(form.levels.values(), default=0))


def seconds_of(graph: Graph, form: Form, members: set[int]) -> float:
    """What the kernel of some nodes would take."""
    operands = len(group_inputs(graph, members)) + len(group_outputs(graph, members))
    return SECONDS[kind_of(form)].seconds(size_of(graph, form, members, operands))


def group_seconds(graph: Graph, group: Group) -> float:
    """What a group's kernel takes."""
    operands = len(group.inputs) + len(group.outputs)
    return SECONDS[kind_of(group.form)].seconds(size_of(graph, group.form, group.nodes, operands))


def whole_seconds(each: Sequence[float]) -> float:
    """What several kernels take that compile at the same time, the longest first."""
    return max(sum(each) / CORES, *each, 0.0)
