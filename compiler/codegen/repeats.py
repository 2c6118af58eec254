"""A step that is repeated: written out, or in a loop of a kernel's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count

from opweave.compiler.codegen.operands import Key
from opweave.compiler.ir.accumulation import ProductPlan
from opweave.compiler.ir.expr import Expr
from opweave.compiler.ir.graph import FunctionGraph, Output
from opweave.compiler.ir.rewriting import next_id
from opweave.compiler.ir.values import Scalar, Value
from opweave.compiler.kernels.addressed import Factor
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.kernels.kernel_parts import Carried, Carry, OperandLoad, OperandStore
from opweave.compiler.kernels.walks import Operand
from opweave.compiler.passes.simplify import simplify

Operands = Mapping[Key, Operand]
Exprs = Mapping[str, Expr]


def carried(graph: FunctionGraph, operands: Operands, kernel: Kernel) -> Carried:
    """What a kernel reads of each state, with the result that takes its place in the next turn.

    Nothing, where a turn would read what another thread has computed, or what no kernel computes:
    every state must be read at the place that its result has, or as rows that its block alone
    computes, and be written by this kernel, which is the only one, when no later pass of the turn
    reads it.
    """
    if not may_carry(graph) or not _holds_rows(graph, kernel):
        return ()
    pairs = []
    for state, output in _states(graph):
        assert isinstance(output, Value)
        store = _store(output, operands, kernel)
        if store is None:
            return ()
        if not _read_as(state, graph):
            continue  # the step does not read it
        load = _load(state, graph, operands, kernel, store)
        if load is None:
            return ()
        pairs.append(Carry(load, store))
    return tuple(pairs)


def may_carry(graph: FunctionGraph) -> bool:
    """Every state is read as it lies, if at all, and its result is an array like it."""
    return len(graph.outputs) <= len(graph.inputs) and all(
        _may_become(state, output, graph) for state, output in _states(graph)
    )


def _may_become(state: Value, output: Output, graph: FunctionGraph) -> bool:
    if not isinstance(output, Value):
        return False
    read = _read_as(state, graph)
    is_table = any(state in node.tables for node in graph.nodes)
    return not read or (read == {state.id} and state.type == output.type and not is_table)


def _states(graph: FunctionGraph) -> list[tuple[Value, Output]]:
    """The arguments that results take the place of, each with its result."""
    return [(i.value, o) for i, o in zip(graph.inputs, graph.outputs, strict=False)]


def _read_as(state: Value, graph: FunctionGraph) -> set[int]:
    """Ids of the values that the step reads in a state's memory: it, or views of it."""
    values = [v for node in graph.nodes if not node.is_view for v in node.values]
    return {v.id for v in values if graph.base(v).id == state.id}


def multiplies_state(graph: FunctionGraph, left: Value, right: Value) -> bool:
    """A product of a state, as it lies in memory, with what is none.

    Then a row of the result follows from that row of the state.
    """
    states = {state.id for state, _ in _states(graph)}
    given = graph.arguments.get(left.id)
    is_dense = given is not None and given.layout == "C"
    return is_dense and left.id in states and graph.base(right).id not in states


def _holds_rows(graph: FunctionGraph, kernel: Kernel) -> bool:
    """A product of a state finds all that it reads of it in rows that its block computes."""
    states = {state.id for state, _ in _states(graph)}
    for node in graph.nodes:
        if node.is_product and not states.isdisjoint(graph.base(v).id for v in node.values):
            assert isinstance(node.plan, ProductPlan)
            # a library's has no tiles, and holds nothing
            held = 0 < node.plan.columns <= kernel.toggles.get("BLOCK_N", 0)
            if not held or not multiplies_state(graph, *node.values):
                return False
    return True


def _store(output: Value, operands: Operands, kernel: Kernel) -> OperandStore | None:
    """The store of an output's elements, if this kernel has one."""
    names = {o.name for key, o in operands.items() if key.is_output and key.value == output.id}
    return next((s for step in kernel.passes for s in step.stores if s.name in names), None)


def _load(
    state: Value, graph: FunctionGraph, operands: Operands, kernel: Kernel, store: OperandStore
) -> OperandLoad | Factor | None:
    """What reads a state; None where it would find other elements than its thread has stored."""
    names = {o.name for key, o in operands.items() if not key.is_output and key.value == state.id}
    if any(load.name in names for load in kernel.row_loads):
        return None
    stored = next(n for n, step in enumerate(kernel.passes) if store in step.stores)
    passes = [(n, x) for n, step in enumerate(kernel.passes) for x in step.loads]
    loads = [(n, x) for n, x in passes if x.name in names]
    # rows and tiles find it in memory, where the first turn has it
    in_memory = kernel.plan is not None or kernel.product is not None
    for number, load in loads:
        elsewhere = in_memory and load.access != store.access
        if load.access.is_table or number > stored or elsewhere:
            return None
    if kernel.product and any(n.is_product and state == n.values[0] for n in graph.nodes):
        return kernel.product.x
    return loads[0][1] if loads else None


def written_out(
    graph: FunctionGraph,
    steps: int,
    carried: Sequence[int] | None = None,
    ahead: Callable[[int, Exprs], Exprs] = lambda _, numbers: numbers,
) -> FunctionGraph | None:
    """So many steps, one behind the other, the outputs of each the first inputs of the next.

    None where an output is not of the type and, by its symbols, the shape of what it becomes.

    Args:
        carried: places of the outputs that become inputs; None for all of them.
        ahead: the numbers of a step that differ from those of the first, in terms of these, given
            its place and those of the step before.
    """
    places = range(len(graph.outputs)) if carried is None else carried
    outputs = [o for n in places if isinstance(o := graph.outputs[n], Value)]
    states = [item.value for item in graph.inputs[: len(places)]]
    if [o.type for o in outputs] != [s.type for s in states]:
        return None
    fresh, nodes, known = count(next_id(graph)), [*graph.nodes], dict[int, Value]()
    numbers: Exprs = {}
    for step in range(1, steps):
        numbers = ahead(step, numbers)
        known = {s.id: known.get(o.id, o) for s, o in zip(states, outputs, strict=True)}
        for node in graph.nodes:
            operands = tuple(_of_step(o, known, numbers) for o in node.operands)
            results = tuple(replace(value, id=next(fresh)) for value in node.results)
            nodes.append(replace(node, operands=operands, results=results))
            known |= dict(zip((v.id for v in node.results), results, strict=True))
    left = tuple(
        known.get(o.id, o) if isinstance(o, Value) else in_terms(o, numbers) for o in graph.outputs
    )
    return simplify(replace(graph, nodes=tuple(nodes), outputs=left))


def _of_step(
    operand: Value | Scalar, known: Mapping[int, Value], numbers: Exprs
) -> Value | Scalar:
    if isinstance(operand, Value):
        return known.get(operand.id, operand)
    return replace(operand, expr=in_terms(operand.expr, numbers)) if numbers else operand


def in_terms(expr: Expr, numbers: Exprs) -> Expr:
    """An expression of other numbers, by the names of those that it has."""
    return expr.with_leaves(
        lambda leaf: numbers.get(leaf.args[0], leaf) if leaf.op == "argument" else leaf
    )
