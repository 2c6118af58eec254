"""Work: the bytes that kernels must move and the operations that they must do, from the graph.

An operand of a kernel counts once, however often its elements are read.  Operations are those of
the operators' own ``Cost`` at every point of the kernel's space that computes them: a row value
once a row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import count
from opweave.compiler.scheduling.schedule import Group, Schedule
from opweave.compiler.scheduling.vendors import on_tensor_cores


@dataclass(frozen=True)
class Work:
    """What a kernel must do at least.

    Attributes:
        bytes: read and written.
        flops: additions, multiplications and the like; a fused multiply-add is two.
        special: special functions (exp, sqrt, a division).
        products: as ``flops``, of a library's products of 16-bit floats: tensor cores have them.
    """

    bytes: int = 0
    flops: int = 0
    special: int = 0
    products: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(
            self.bytes + other.bytes, self.flops + other.flops, self.special + other.special,
            self.products + other.products,
        )  # fmt: skip

    @property
    def intensity(self) -> float:
        """Operations a byte."""
        return (
            (self.flops + self.special + self.products) / self.bytes
            if self.bytes
            else float("inf")
        )


def work_of(schedule: Schedule, extents: Mapping[str, int]) -> tuple[Work, ...]:
    """The work of each kernel, in execution order."""
    return tuple(_of_group(schedule, group, extents) for group in schedule.groups)


def _of_group(schedule: Schedule, group: Group, extents: Mapping[str, int]) -> Work:
    nodes = [schedule.graph.nodes[n] for n in group.nodes]
    read: dict[int, int] = {}  # elements of values that are only read at computed places
    for node in nodes:
        for value in node.tables:
            points = read.get(value.id, 0) + count(node.result.shape, extents)
            read[value.id] = min(points, count(value.shape, extents))
        for value in node.pointwise:
            read[value.id] = count(value.shape, extents)
    moved = sum(
        read.get(v.id, count(v.shape, extents)) * v.dtype.itemsize
        for v in (*group.inputs, *group.outputs)
    )
    total = Work(bytes=moved)
    for number in group.nodes:
        total += _of_node(schedule.graph.nodes[number], extents)
    return total


def _of_node(node: Node, extents: Mapping[str, int]) -> Work:
    """Operations of a node: a product takes two a step, a reduction or a count one an element."""
    if node.is_view:
        return Work()
    if node.is_product:
        depth = count(node.values[0].shape[-1:], extents)
        steps = 2 * depth * count(node.result.shape, extents)
        return Work(products=steps) if on_tensor_cores(node) else Work(flops=steps)
    is_read = node.is_reduction or node.is_count
    points = count((node.values[0] if is_read else node.result).shape, extents)
    if node.operator.mixes is not None:  # its cost is stated for a pixel
        points //= node.operator.mixes[0]
    cost = node.operator.cost
    return Work(flops=points * cost.flops, special=points * cost.special)
