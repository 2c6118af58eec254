"""Invariants of graphs and schedules, checked between passes: one function per invariant.

A failure is a fault of opweave, never of its user.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.ir.values import Scalar, Value
from opweave.compiler.passes.dense import over_dense
from opweave.compiler.scheduling.forms import WITHOUT_LOOP
from opweave.opcodes.errors import OpweaveError, VerifierError
from opweave.opcodes.shapes import broadcast_shape

if TYPE_CHECKING:
    from opweave.compiler.scheduling.schedule import Schedule


def check_defined_before_use(graph: FunctionGraph) -> Iterator[str]:
    known = {i.value.id for i in graph.inputs}
    for node in graph.nodes:
        for value in node.values:
            if value.id not in known:
                yield f"{node!r} uses v{value.id} before it is made"
        for value in node.results:
            if value.id in known:
                yield f"{node!r} makes v{value.id} a second time"
            known.add(value.id)
    for output in graph.outputs:
        if isinstance(output, Value) and output.id not in known:
            yield f"output v{output.id} is never made"


def check_loop_types(graph: FunctionGraph) -> Iterator[str]:
    for node in graph.nodes:
        types = tuple(o.dtype for o in node.operands)
        loop, results = node.operator.type_rule(types, node.attrs)
        if loop != types:
            yield f"{node!r}: operands {types} where the loop takes {loop}"
        if results != tuple(r.dtype for r in node.results):
            yield f"{node!r}: results where the type rule gives {results}"


def check_shapes(graph: FunctionGraph) -> Iterator[str]:
    for node in graph.nodes:
        if node.is_handwritten or node.is_library:  # shapes that its own functions gave
            continue
        try:
            rule = node.operator.shape_rule
            expected = rule.result([v.shape for v in node.values], dict(node.attrs))
        except OpweaveError as error:
            yield f"{node!r}: {error}"
            continue
        if any(r.shape != expected for r in node.results):
            yield f"{node!r}: shape where {expected} follows from the operands"


def check_arity(graph: FunctionGraph) -> Iterator[str]:
    for node in graph.nodes:
        if len(node.operands) != node.operator.arity:
            yield f"{node!r}: {node.operator.arity} operands expected"
        if not all(isinstance(o, Value | Scalar) for o in node.operands):
            yield f"{node!r}: an operand is neither a value nor a scalar"


GRAPH_CHECKS = (check_arity, check_defined_before_use, check_shapes, check_loop_types)


def verify_graph(graph: FunctionGraph) -> FunctionGraph:
    """Return the graph if it keeps every invariant.

    Raises:
        VerifierError: it does not; names the node.
    """
    for check in GRAPH_CHECKS:
        for fault in check(graph):
            raise VerifierError(f"{check.__name__}: {fault}\n{graph}")
    return graph


def check_each_node_once(schedule: Schedule) -> Iterator[str]:
    placed = sorted(i for group in schedule.groups for i in group.nodes)
    wanted = [i for i, node in enumerate(schedule.graph.nodes) if not node.is_view]
    if placed != wanted:
        yield f"nodes {placed} are placed, of {wanted}"


def check_views_of_stored_values(schedule: Schedule) -> Iterator[str]:
    views = schedule.graph.views
    for view in views.values():
        if view.base.id in views:
            yield f"v{view.base.id} is a view, and has a view"


def check_reshapes_of_rows(schedule: Schedule) -> Iterator[str]:
    if over_dense(schedule.graph) != schedule.graph:
        yield "a value that does not lie in rows is reshaped"


def check_group_order(schedule: Schedule) -> Iterator[str]:
    made = {i.value.id for i in schedule.graph.inputs}
    for group in schedule.groups:
        for value in group.inputs:
            if schedule.graph.base(value).id not in made:
                yield f"group {group.name} reads v{value.id} before it is stored"
        made |= {value.id for value in group.outputs}
    for output in schedule.graph.outputs:
        if isinstance(output, Value) and schedule.graph.base(output).id not in made:
            yield f"output v{output.id} is never stored"


def check_plans(schedule: Schedule) -> Iterator[str]:
    for node in schedule.graph.nodes:
        if (node.is_reduction or node.is_scan or node.is_product) and node.plan is None:
            yield f"{node!r} has no accumulation plan"


def check_iteration_space(schedule: Schedule) -> Iterator[str]:
    for group in schedule.groups:
        for index in () if group.form.kind in WITHOUT_LOOP else group.nodes:
            for value in schedule.graph.nodes[index].results:
                if value.id in group.row_values:
                    continue
                if broadcast_shape([value.shape, group.space]) != group.space:
                    yield f"v{value.id} does not fit the space {group.space} of {group.name}"


SCHEDULE_CHECKS = (
    check_each_node_once,
    check_views_of_stored_values,
    check_reshapes_of_rows,
    check_group_order,
    check_plans,
    check_iteration_space,
)


def verify_schedule(schedule: Schedule) -> Schedule:
    """Return the schedule if it keeps every invariant.

    Raises:
        VerifierError: it does not; names the group.
    """
    for check in SCHEDULE_CHECKS:
        for fault in check(schedule):
            raise VerifierError(f"{check.__name__}: {fault}")
    return schedule
