"""Forms: how a set of nodes becomes one kernel, or why it does not.

The grammar of forms is that of the schedule (``schedule.py``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from typing import Any

from opweave.compiler.ir.accumulation import Plan, ProductPlan, ScanPlan
from opweave.compiler.ir.graph import FunctionGraph, Node, reduced_axes, scanned_axis
from opweave.compiler.ir.values import Scalar, Shape, Value, operand_key
from opweave.compiler.scheduling.pixels import channels_chosen, last_of, space_of_pixels
from opweave.compiler.scheduling.row_levels import RowLevels, levels_of_scans
from opweave.opcodes.errors import ShapeError
from opweave.opcodes.shapes import broadcast_shape

# Operand pointers, scalars, extents and strides all go through the 4 KiB parameter space.
MOST_OPERANDS = 64
MOST_NUMBERS = 192
HANDWRITTEN = "a kernel that someone wrote stays as it was written"
LIBRARY = "NumPy's library is called between kernels"
# What is a group of its own: which nodes, the form, and why nothing joins it.
ALONE = (
    (attrgetter("is_handwritten"), "handwritten", HANDWRITTEN),
    (attrgetter("is_library"), "library", LIBRARY),
)
# Forms of groups that no loop of ours goes over.
WITHOUT_LOOP = ("handwritten", "library")


@dataclass(frozen=True)
class Form:
    """How a set of nodes becomes one kernel.

    Attributes:
        kind: one of the grammar's forms.
        space: the iteration space.
        axes: reduced or scanned axes of the space, empty for maps.
        plan: the accumulation plan that all reductions or scans share.
        levels: value id -> number of reductions or scans before it.
        row_values: ids of values that are constant along a row.
        kept: ids of row values without the reduced axes (``keepdims=False``).
        channels: values of a pixel, where the loop goes over pixels.
    """

    kind: str
    space: Shape
    axes: tuple[int, ...] = ()
    plan: Plan | None = None
    levels: dict[int, int] = field(default_factory=dict, hash=False)
    row_values: frozenset[int] = frozenset()
    kept: frozenset[int] = frozenset()
    channels: int = 0


def group_outputs(graph: FunctionGraph, members: set[int]) -> list[Value]:
    """Values that leave the group: used by other nodes, or returned.

    A value that nobody uses leaves too if its node notes faults: a kernel must store something.
    """
    returned = {o.id for o in graph.outputs if isinstance(o, Value)}
    nodes, users = graph.nodes, graph.users
    return [
        value
        for index in sorted(members)
        for value in nodes[index].results
        if value.id in returned
        or any(u not in members for u in users.get(value.id, ()))
        or (_notes(nodes[index]) and value.id not in users)
    ]


def _notes(node: Node) -> bool:
    return node.operator.notes_faults or node.refuses


def group_inputs(graph: FunctionGraph, members: Iterable[int]) -> list[Value]:
    """Array values that the group reads from memory, in order of first use."""
    made = {r.id for i in members for r in graph.nodes[i].results}
    found: dict[int, Value] = {}
    for index in sorted(members):
        for value in graph.nodes[index].values:
            if value.id not in made:
                found.setdefault(value.id, value)
    return list(found.values())


def numbers_of(node: Node) -> set[Any]:
    """Keys of the numbers that enter a kernel as parameters for a node."""
    return {
        operand_key(o) for o in node.operands if isinstance(o, Scalar) and o.expr.op != "literal"
    }


def _unfit(nodes: Sequence[Node]) -> str:
    """Why nodes cannot share parameters, or toggles that bits depend on; "" where they can."""
    if len(set().union(*map(numbers_of, nodes))) > MOST_NUMBERS:
        return f"more than {MOST_NUMBERS} numbers"
    found: dict[str, tuple[Node, int]] = {}
    for node in nodes:
        for name, value in node.choices:
            first, other = found.setdefault(name, (node, value))
            if value != other:
                return (
                    f"{first.operator.name} has {name}={other}, {node.operator.name} has "
                    f"{name}={value}, and bits may differ"
                )
    return ""


def form_of(graph: FunctionGraph, members: set[int]) -> Form | str:
    """Decide whether nodes can share one kernel: its form, or the reason why not."""
    outputs = group_outputs(graph, members)
    if len(outputs) + len(group_inputs(graph, members)) > MOST_OPERANDS:
        return f"more than {MOST_OPERANDS} operands"
    nodes = [graph.nodes[i] for i in sorted(members)]
    if reason := _unfit(nodes) or _stored_first(graph, nodes):
        return reason
    for is_alone, form, why in ALONE:
        if any(map(is_alone, nodes)):
            return Form(form, ()) if len(nodes) == 1 else why
    mixing = [n for n in nodes if n.operator.mixes]
    if any(n.is_product or n.operator.mixes for n in nodes) and any(
        n.tables or n.is_coordinate or n.operator.notes_faults for n in nodes
    ):
        return "only loops over elements and rows know the place of an element"
    if mixing and not all(n.is_map for n in nodes):
        return "a loop over pixels neither reduces nor scans nor multiplies"
    if wide := mixing or channels_chosen(nodes):
        space = space_of_pixels(nodes, wide, outputs)
        return space if isinstance(space, str) else Form("pixel", space, channels=last_of(space))
    if any(n.is_product for n in nodes):
        return _product_form(graph, nodes, outputs)
    if any(n.is_count for n in nodes):
        return _count_form(nodes, outputs)
    if any(n.is_scan for n in nodes):
        return _scan_form(nodes, outputs)
    if any(n.is_reduction for n in nodes):
        return _row_form(nodes, outputs)
    return _map_form("map", nodes, outputs)


def _stored_first(graph: FunctionGraph, nodes: list[Node]) -> str:
    """Why a value that nodes make and read has to lie in memory; "" where it has not."""
    made = {r.id for n in nodes for r in n.results}
    if any(v.id in graph.views and graph.base(v).id in made for n in nodes for v in n.values):
        return "a value is read in another order than it is made in: it is stored first"
    if any(v.id in made for n in nodes for v in n.tables):
        return "a value is read at computed places: it is stored first"
    return ""


def _map_form(kind: str, nodes: list[Node], outputs: list[Value]) -> Form | str:
    try:
        space = broadcast_shape([n.result.shape for n in nodes])
    except ShapeError:
        return "extents differ"
    for value in outputs:
        if value.shape != space:
            return f"v{value.id} is smaller than the loop and must be stored"
    return Form(kind, space)


def _product_form(graph: FunctionGraph, nodes: list[Node], outputs: list[Value]) -> Form | str:
    """A product with maps of its result behind it, and perhaps reductions along its rows."""
    product, *others = [n for n in nodes if n.is_product]
    rest = [n for n in nodes if n is not product]
    plan = product.plan
    assert isinstance(plan, ProductPlan)
    made = {r.id for n in nodes for r in n.results}
    if others:
        return "a block makes one product"
    if any(graph.base(v).id in made for v in product.values):
        return "an operand of a product is read by every tile that needs it: stored first"
    if plan.unit == "blas":
        return "the vendor's product is a kernel of its own" if rest else _vendor(product)
    if any(n.is_scan for n in rest):
        return "a block has no whole row of a product in order: a scan reads it from memory"
    if not any(n.is_reduction for n in rest):
        found = _map_form("product", nodes, outputs)
        if isinstance(found, Form) and found.space != product.result.shape:
            return "the product is smaller than the loop and must be stored"
        return found
    return _product_rows(product, plan, rest, outputs)


def _vendor(product: Node) -> Form:
    return Form("vendor", product.result.shape)


def _product_rows(
    product: Node, plan: ProductPlan, rest: list[Node], outputs: list[Value]
) -> Form | str:
    if plan.columns == 0:
        return "a row of the product does not fit a block"
    if product.result.shape[-1] == 1:
        return "a row of the product is one value"
    if product.result in outputs:
        return "the product itself is stored as well"
    found = _row_form(rest, outputs)
    if isinstance(found, str):
        return found
    if found.space != product.result.shape or found.axes != (len(found.space) - 1,):
        return "the reduction does not go along the rows of the product"
    return replace(found, kind="product_rows") if found.kind == "row" else "rows of several blocks"


def _row_form(nodes: list[Node], outputs: list[Value]) -> Form | str:
    reductions = [n for n in nodes if n.is_reduction]
    first = reductions[0]
    space, axes, plan = first.values[0].shape, reduced_axes(first), first.plan
    assert isinstance(plan, Plan)
    for node in reductions[1:]:
        if (node.values[0].shape, reduced_axes(node)) != (space, axes):
            return "reductions go over different spaces"
        if node.plan != plan:
            return f"accumulation plans differ ({plan} and {node.plan})"
    walk = RowLevels(space, axes)
    for node in nodes:
        reason = walk.place(node)
        if reason:
            return reason
    kept_shape = tuple(e for d, e in enumerate(space) if d not in axes)
    kept_dims = tuple(1 if d in axes else e for d, e in enumerate(space))
    for value in outputs:
        full = (kept_shape, kept_dims) if value.id in walk.row_values else (space,)
        if value.shape not in full:
            return f"v{value.id} is smaller than the loop and must be stored"
    several_blocks = plan.parts > 1
    if several_blocks and walk.needs_row_result:
        return "a row is shared by several blocks; its result is known in the next kernel only"
    kind, row_values = "reduce" if several_blocks else "row", frozenset(walk.row_values)
    return Form(kind, space, axes, plan, walk.levels, row_values, frozenset(walk.kept))


def _count_form(nodes: list[Node], outputs: list[Value]) -> Form | str:
    """One count of the elements of a space, with maps before it."""
    first, *others = [n for n in nodes if n.is_count]
    rest = [n for n in nodes if not n.is_count]
    if others:
        return "a block counts one array"
    if not all(n.is_map for n in rest) or outputs != [first.result]:
        return "a loop that counts stores the counts alone"
    return Form("count", first.values[0].shape, row_values=frozenset({first.result.id}))


def _scan_form(nodes: list[Node], outputs: list[Value]) -> Form | str:
    """Scans along one axis of one space, with maps before, between and behind them."""
    scans = [n for n in nodes if n.is_scan]
    first = scans[0]
    space, axis, plan = first.result.shape, scanned_axis(first), first.plan
    assert isinstance(plan, ScanPlan)
    if any(n.is_reduction for n in nodes):
        return "a reduction knows its result behind the row's last element, a scan at each"
    for node in scans[1:]:
        if (node.result.shape, scanned_axis(node)) != (space, axis):
            return "scans go along different axes or over different spaces"
        if node.plan != plan:
            return f"accumulation plans differ ({plan} and {node.plan})"
    if any(v.shape != space for v in outputs):
        return "a value is smaller than the scanned array and must be stored"
    found = levels_of_scans(nodes, space, axis)
    if found is None:
        return "extents differ"
    levels, row_values = found
    if plan.parts > 1 and max(levels.values()) > 1:
        return "a row is shared by several blocks; its running values are known in the next kernel"
    if plan.abreast and plan.threads == 1:
        return Form("scan_columns", space, (axis,), plan, levels)
    kind = "scan" if plan.parts == 1 else "scan_parts"
    return Form(kind, space, (axis,), plan, levels, row_values)
