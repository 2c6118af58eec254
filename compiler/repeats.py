"""A step that is repeated: written out, or in a loop of a kernel's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import count

from opweave.compiler.ir import Graph, Value
from opweave.compiler.kernel import Kernel
from opweave.compiler.kernel_parts import Load, Store
from opweave.compiler.layout import Operand
from opweave.compiler.operands import Key
from opweave.compiler.simplify import next_id, simplify

Carried = tuple[tuple[Load, Store], ...]


def carried(graph: Graph, operands: Mapping[Key, Operand], kernel: Kernel) -> Carried:
    """Elements that a kernel reads, each with the result that takes its place in the next turn.

    Nothing, where a turn would read what another thread has computed, or what no kernel computes:
    every state must be read at the place that its result has, and be written by this kernel, which
    is the only one, when no later pass of the turn reads it.
    """
    steps = list(enumerate(kernel.passes))
    loads = {load.name: load for _, step in steps for load in step.loads}
    stores = {store.name: store for _, step in steps for store in step.stores}
    read_last = {load.name: number for number, step in steps for load in step.loads}
    written_in = {store.name: number for number, step in steps for store in step.stores}
    written = {k.value: o.name for k, o in operands.items() if k.is_output}
    read_here = {o.value.id: o.name for k, o in operands.items() if not k.is_output}
    tables = [v for node in graph.nodes for v in node.tables]
    reads = [v for node in graph.nodes for v in node.pointwise if not node.is_view]
    pairs = []
    states = [item.value for item in graph.inputs]
    if len(graph.outputs) > len(states):
        return ()
    for state, output in zip(states, graph.outputs, strict=False):
        if not isinstance(output, Value) or stores.get(written.get(output.id, "")) is None:
            return ()
        lies_in = {v.id for v in (*reads, *tables) if graph.base(v).id == state.id}
        if not lies_in:
            continue  # the step does not read it
        load = loads.get(read_here.get(state.id, ""))
        store = stores[written[output.id]]
        own_place = lies_in == {state.id} and state not in tables and state.type == output.type
        if load is None or not own_place or load.access.kind == "window":
            return ()
        if written_in[store.name] < read_last[load.name]:
            return ()
        if kernel.plan is not None and load.access != store.access:
            return ()  # a row finds it in memory, where the first turn has it
        pairs.append((load, store))
    return tuple(pairs)


def written_out(graph: Graph, steps: int) -> Graph | None:
    """So many steps, one behind the other, the outputs of each the first inputs of the next.

    None where an output is not of the type and, by its symbols, the shape of what it becomes.
    """
    states = [item.value for item in graph.inputs[: len(graph.outputs)]]
    outputs = [o for o in graph.outputs if isinstance(o, Value)]
    if len(outputs) < len(graph.outputs) or [o.type for o in outputs] != [s.type for s in states]:
        return None
    fresh, nodes, state = count(next_id(graph)), [*graph.nodes], outputs
    for _ in range(steps - 1):
        known = dict(zip((s.id for s in states), state, strict=True))
        for node in graph.nodes:
            operands = (known.get(o.id, o) if isinstance(o, Value) else o for o in node.operands)
            results = tuple(replace(value, id=next(fresh)) for value in node.results)
            nodes.append(replace(node, operands=tuple(operands), results=results))
            known |= dict(zip((v.id for v in node.results), results, strict=True))
        state = [known.get(o.id, o) for o in outputs]
    return simplify(replace(graph, nodes=tuple(nodes), outputs=tuple(state)))
