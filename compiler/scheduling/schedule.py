"""The schedule: ordered groups of nodes, one kernel each.

    schedule ::= graph group* decision*
    group    ::= form nodes space axes plan
    form     ::= "map" | "pixel" | "row" | "reduce" | "scan" | "scan_parts" | "scan_columns"
               | "product" | "product_rows" | "count" | "vendor" | "handwritten"
               | "library"

A *map* group computes every value at every point of its space.  A *pixel* group does so with the
last axis, the channels, in registers, because one of its operators mixes them.  A *row* group also
reduces: the reduced axes are the columns, the others the rows; values that are constant along a
row are row values.  A *reduce* group shares each row between several blocks.  A *scan* group
carries running values along its rows, through maps before, between and behind; a *scan_parts*
group shares each row between several blocks; a *scan_columns* group goes along the outer axis that
is scanned, for neighbouring columns at once.  A *product*
group multiplies matrices and applies maps to the result; with reductions along its rows it is
*product_rows*.  A *count* group counts the elements that have each of some values, behind maps.  A
*vendor* group is a product that a library computes, a *handwritten* group a
kernel that someone wrote, a *library* group a call of NumPy's.  Views are in no group.
"""

from __future__ import annotations

from dataclasses import dataclass

from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.ir.values import Shape, Value, Where
from opweave.compiler.scheduling.forms import Form


@dataclass(frozen=True)
class Group:
    """Nodes that share a kernel; ``nodes`` are indices into the graph, in order."""

    name: str
    nodes: tuple[int, ...]
    form: Form
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]

    @property
    def space(self) -> Shape:
        return self.form.space

    @property
    def row_values(self) -> frozenset[int]:
        return self.form.row_values


@dataclass(frozen=True)
class Decision:
    """One decision of the scheduler and its reason."""

    producer: str
    consumer: str
    fused: bool
    reason: str
    where: Where = Where()

    def __str__(self) -> str:
        verb = "fused" if self.fused else "not fused"
        at = f" ({self.where})" if self.where.file else ""
        return f"{self.producer} -> {self.consumer}: {verb}, {self.reason}{at}"


@dataclass(frozen=True)
class Schedule:
    """Groups in execution order."""

    graph: FunctionGraph
    groups: tuple[Group, ...]
    decisions: tuple[Decision, ...] = ()
