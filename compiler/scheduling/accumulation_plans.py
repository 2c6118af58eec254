"""Plan: every reduction, scan and product gets its accumulation plan, before anything is fused.

The plan is a pure function of the shape class, the dtype and the target; so a fused reduction
meets its elements in the same order as an unfused one, and its bits are the same.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from opweave.compiler.ir.accumulation import (
    HELD_PADDING,
    HELD_ROWS,
    Plan,
    ProductPlan,
    ScanPlan,
)
from opweave.compiler.ir.device import Device
from opweave.compiler.ir.graph import FunctionGraph, Node, reduced_axes
from opweave.compiler.ir.values import Extents, count, extent_of
from opweave.compiler.scheduling.reduction_parts import ACROSS, ALONG, LANES
from opweave.compiler.scheduling.scan_plans import plan_scan
from opweave.compiler.scheduling.vendors import choice
from opweave.opcodes.operators.places import finds_place

HOST_LANES = 32
# Rows longer than this, when there are few of them, are shared by several threads.
HOST_LONG_ROW = 65536
HOST_FEW_ROWS = 8
HOST_PARTS = 16
# Where a place is sought each of them searches some thousand elements again: fewer for rows up to.
HOST_LONG_SEARCH = 1 << 20
HOST_SEARCHED = 4
# Longest row of a product that a block holds, for reductions along it.
COLUMNS = (32, 64, 128, 256)


@dataclass(frozen=True)
class RowClass:
    """The class of a reduction's shape: what its plan may depend on.

    Attributes:
        threads: threads for a row of this length.
        parts: blocks for a row of this length, given how many rows there are.
        innermost: the reduced axis is the last one, or all are reduced.
    """

    threads: int
    parts: int
    innermost: bool


def row_class(rows: int, cols: int, innermost: bool, device: Device) -> RowClass:
    """Classify a reduction over ``cols`` elements in each of ``rows`` rows."""
    if device.is_host:
        long = innermost and cols > HOST_LONG_ROW and rows < HOST_FEW_ROWS
        return RowClass(1, HOST_PARTS if long else 1, innermost)
    found = ALONG if innermost else ACROSS
    parts = found.parts(rows, cols)
    return RowClass(found.threads(cols) if parts == 1 else found.sharing, parts, innermost)


def plan_for(found: RowClass, device: Device) -> Plan:
    """The accumulation plan of a class on a device."""
    lanes = HOST_LANES if device.is_host else LANES
    return Plan(found.threads, lanes, found.parts, runs=device.is_host and found.parts > 1)


def classify(node: Node, extents: Extents, device: Device) -> RowClass:
    """The class of one reduction for given extents."""
    shape = node.values[0].shape
    axes = reduced_axes(node)
    cols = count((shape[a] for a in axes), extents)
    rows = count((e for d, e in enumerate(shape) if d not in axes), extents)
    innermost = len(axes) == len(shape) or axes[-1] == len(shape) - 1
    found = row_class(rows, cols, innermost, device)
    is_few = device.is_host and finds_place(node.operator) and cols < HOST_LONG_SEARCH
    return replace(found, parts=min(found.parts, HOST_SEARCHED)) if is_few else found


def plan_product(
    node: Node,
    graph: FunctionGraph,
    extents: Extents,
    device: Device,
    vendor: bool | None = None,
) -> ProductPlan:
    """The accumulation plan of a product for given extents; it is also the product's class."""
    if choice(node, graph, extents, device, vendor).by_library:
        return ProductPlan("blas")
    wanted = extent_of(node.result.shape[-1], extents)
    columns = next((c for c in COLUMNS if wanted <= c), 0)
    held = HELD_ROWS * (columns + HELD_PADDING) * node.result.dtype.register_bytes
    unit = "step" if node.operator.like else "fma"
    return ProductPlan(unit, columns if held <= device.block_bytes else 0)


def plan(
    graph: FunctionGraph,
    extents: Extents,
    device: Device,
    override: Callable[[Plan], Plan] = lambda p: p,
    vendor: bool | None = None,
) -> FunctionGraph:
    """Give every reduction, scan and product its plan.

    ``override`` is the user's change to plans, through the toggles.  ``vendor``: whether products
    go to the vendor's library; None where it is chosen.

    s: f32[n0] = sum(x)   ->   s: f32[n0] = sum(x), by 32 threads x 4 lanes
    """

    def planned(node: Node) -> Node:
        if node.is_reduction:
            found = plan_for(classify(node, extents, device), device)
            return replace(node, plan=override(found))
        if node.is_scan:
            return replace(node, plan=override(plan_scan(node, extents, device)))
        if node.is_product:
            return replace(node, plan=plan_product(node, graph, extents, device, vendor))
        return node

    return graph.with_nodes(map(planned, graph.nodes))


def plan_class(
    graph: FunctionGraph, extents: Extents, device: Device, vendor: bool | None = None
) -> tuple[RowClass | ScanPlan | ProductPlan, ...]:
    """The classes of all reductions, scans and products: what the schedule depends on."""
    found: list[RowClass | ScanPlan | ProductPlan] = []
    for node in graph.nodes:
        if node.is_reduction:
            found.append(classify(node, extents, device))
        elif node.is_scan:
            found.append(plan_scan(node, extents, device))
        elif node.is_product:
            found.append(plan_product(node, graph, extents, device, vendor))
    return tuple(found)
