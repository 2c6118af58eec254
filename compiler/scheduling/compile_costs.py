"""What kernels cost to compile, by constants: neither a clock nor a cache is asked.

The constants are those of g++ 12 on one core of a common machine; ``bench/tools/compile_costs.py``
fits them.  Most kernels take 0.5 to 2 times as long.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import mul
from typing import NamedTuple

from opweave.compiler.ir.graph import FunctionGraph, Node
from opweave.compiler.scheduling.forms import Form, group_inputs, group_outputs
from opweave.compiler.scheduling.schedule import Group
from opweave.opcodes.dtypes import BF16, F16

# Seconds of one kernel, beyond which a group is split.
MOST_SECONDS = 2.0
# Seconds of all kernels of a function, compiled on so many cores, beyond which it runs in parts.
MOST_OF_WHOLE, CORES = 10.0, 2
# Seconds of rounding one result to 16 bits.
ROUNDING = 0.02


class KernelSize(NamedTuple):
    """What a compiler has to do.

    Attributes:
        slots: operations, see ``weight``, as often as the passes of a row compute them.
        operands: arrays that are read and written.
        passes: walks along a row.
        rounded: results that are rounded to 16 bits, as often as passes compute them.
    """

    slots: float
    operands: int
    passes: int = 1
    rounded: int = 0

    @property
    def terms(self) -> tuple[float, float, float, float, float]:
        """What the constants of a form are multiplied by."""
        slots, operands = self.slots, self.operands
        return 1, slots, operands**2, slots * operands, (operands * self.passes) ** 2


class Constants(NamedTuple):
    """Seconds of each thing to compile; their products with ``KernelSize.terms`` add up.

    Attributes:
        kernel: of a kernel.
        slot: of an operation.
        pair: of a pair of operands, which may overlap.
        both: of an operation with an operand.
        walks: of a pair of operands in two passes.
    """

    kernel: float
    slot: float
    pair: float = 0
    both: float = 0
    walks: float = 0

    def seconds(self, size: KernelSize) -> float:
        """What a kernel of a size takes."""
        lines: float = sum(map(mul, self, size.terms))
        return lines + (ROUNDING * size.rounded if self.kernel else 0)


# By the forms of schedule.py; rows whose elements are apart go along neighbouring columns.
SECONDS: dict[str, Constants] = {
    "map": Constants(0.17, 0.0008, pair=0.0009),
    "row": Constants(0.22, 0, pair=0.002, both=0.001),
    "columns": Constants(0.25, 0.0013, walks=0.0007),
    "scan": Constants(0.20, 0.0013, pair=0.0018),
    "vendor": Constants(0, 0),
    "library": Constants(0, 0),
}
LIKE = {
    "pixel": "map", "handwritten": "map", "product": "row", "product_rows": "row",
    "reduce": "row", "count": "map", "scan_parts": "scan", "scan_columns": "scan",
}  # fmt: skip


# How many times longer than their ``Cost.slots`` operators compile.
TIMES = {
    "sin": 3, "cos": 3, "tan": 2, "log1p": 2.5, "arcsinh": 2, "power": 3, "float_power": 3,
    "lcm": 7, "spacing": 15, "less": 4, "less_equal": 4, "signbit": 6, "reciprocal": 8, "rint": 4,
}  # fmt: skip


def weight(node: Node) -> float:
    """What an operator is to a compiler, in slots."""
    return node.operator.cost.slots * TIMES.get(node.operator.name, 1)


def is_rounded(node: Node) -> bool:
    """True where results are rounded to 16 bits, which takes code of its own."""
    return any(r.dtype in (F16, BF16) for r in node.results)


def kind_of(form: Form) -> str:
    """The row of ``SECONDS`` for a form."""
    kind = LIKE.get(form.kind, form.kind)
    apart = kind == "row" and form.axes and len(form.space) - 1 not in form.axes
    return "columns" if apart else kind


def size_of(graph: FunctionGraph, form: Form, nodes: Iterable[int], operands: int) -> KernelSize:
    """The size of the kernel of some nodes."""
    passes = 1 + max(form.levels.values(), default=0)
    slots, rounded = 0.0, 0
    for node in (graph.nodes[n] for n in nodes):
        value = node.result.id
        # a later pass computes anew what it needs of those before
        times = 1 if value in form.row_values else passes - form.levels.get(value, 0)
        slots += times * weight(node)
        rounded += times * is_rounded(node)
    return KernelSize(slots, operands, passes, rounded)


def seconds_of(graph: FunctionGraph, form: Form, members: set[int]) -> float:
    """What the kernel of some nodes would take."""
    operands = len(group_inputs(graph, members)) + len(group_outputs(graph, members))
    return SECONDS[kind_of(form)].seconds(size_of(graph, form, members, operands))


def group_seconds(graph: FunctionGraph, group: Group) -> float:
    """What a group's kernel takes."""
    operands = len(group.inputs) + len(group.outputs)
    return SECONDS[kind_of(group.form)].seconds(size_of(graph, group.form, group.nodes, operands))


def whole_seconds(each: Sequence[float]) -> float:
    """What several kernels take that compile at the same time, the longest first."""
    return max(sum(each) / CORES, *each, 0.0)
