"""Properties of the compiler's passes, over the programs of the fuzzer."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from opweave.compiler.ir.device import device_for
from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.ir.plain_arrays import is_array
from opweave.compiler.ir.reference import run_reference
from opweave.compiler.ir.values import Value
from opweave.compiler.passes.dense import over_dense
from opweave.compiler.passes.raising import raise_views
from opweave.compiler.passes.simplify import drop_dead, fill_in, fold, share_common, simplify
from opweave.compiler.passes.views import settle_views
from opweave.compiler.pipeline.driver import Options, schedule_graph
from opweave.compiler.scheduling.verify import verify_graph, verify_schedule
from opweave.compiler.tracing.arguments import Static
from opweave.compiler.tracing.trace import trace
from opweave.runtime.calls.arguments import argument_type, array_type
from tests.fuzz.generate import generate
from tests.fuzz.oracles import ORDERED, OTHER_BITS, bits_of
from tests.fuzz.sources import digest_of_sources

# Programs of the fuzzer by their numbers; the same in every run, whatever else is loaded.
SEED = 20261125
each_program = pytest.mark.parametrize("number", range(40))
PASSES = [
    settle_views, fill_in, fold, over_dense, raise_views, share_common, drop_dead, simplify,
]  # fmt: skip


def types_of(program):
    return {
        a.name: argument_type(a.name, v, False)
        for a, v in zip(program.arguments, program.given(), strict=True)
    }


def traced(program):
    """The graph of a program, its extents, and the arrays that the program makes itself."""
    made = trace(program.function, types_of(program), describe=array_type)
    return made.graph, made.extents, made.constants


def numbered(graph: FunctionGraph) -> str:
    """The graph as text, its values numbered in the order of their making."""
    made = [i.value.id for i in graph.inputs] + [r.id for n in graph.nodes for r in n.results]
    number = {v: n for n, v in enumerate(made)}

    def shown(item):
        return (number[item.id], str(item.type)) if isinstance(item, Value) else repr(item)

    lines = [
        (n.operator.name, [*map(shown, n.operands)], [*map(shown, n.results)], n.attrs)
        for n in graph.nodes
    ]
    return repr((lines, [*map(shown, graph.outputs)]))


def reference(program, graph, extents, constants):
    values, types = program.given(), types_of(program).values()
    arrays = [*(v for v in values if is_array(v)), *constants]
    numbers = [
        v for v, t in zip(values, types, strict=True) if not (is_array(v) or isinstance(t, Static))
    ]
    held = {i.value.id: a for i, a in zip(graph.inputs, arrays, strict=True)}
    return run_reference(
        graph, held, {**extents, **dict(zip(graph.scalars, numbers, strict=True))}
    )


@pytest.mark.parametrize("a_pass", PASSES, ids=lambda p: p.__name__)
def test_a_second_time_changes_nothing(a_pass):
    for number in range(30):
        once = a_pass(traced(generate(SEED, number))[0])

        assert numbered(once) == numbered(a_pass(once))


@pytest.mark.parametrize("a_pass", PASSES, ids=lambda p: p.__name__)
def test_the_verifier_holds_after_each_pass(a_pass):
    for number in range(30):
        verify_graph(a_pass(verify_graph(traced(generate(SEED, number))[0])))  # or it raises


@each_program
def test_simplifying_changes_no_bit_of_what_numpy_computes(number):
    program = generate(SEED, number)
    if any(s.op in ORDERED or s.op in OTHER_BITS or s.op == "power" for s in program.steps):
        return  # their bits follow the layout, which views change
    graph, extents, constants = traced(program)
    before, after = (reference(program, g, extents, constants) for g in (graph, simplify(graph)))

    for one, other in zip(before, after, strict=True):
        assert np.asarray(one).dtype == np.asarray(other).dtype
        assert np.array_equal(bits_of(np.asarray(one)), bits_of(np.asarray(other)))


@each_program
@pytest.mark.parametrize(("target", "fused"), [("host", True), ("sm_80", True), ("sm_80", False)])
def test_each_node_is_in_one_group_and_groups_stand_in_order(number, target, fused):
    graph, extents, _ = traced(generate(SEED, number))
    options = Options(fused=fused)
    schedule = schedule_graph(simplify(graph), extents, device_for(target), options)
    verify_schedule(schedule)
    nodes = schedule.graph.nodes
    placed = [i for group in schedule.groups for i in group.nodes]
    place = {i: number for number, group in enumerate(schedule.groups) for i in group.nodes}
    producers = schedule.graph.producers()

    assert sorted(placed) == [i for i, n in enumerate(nodes) if not n.is_view]
    for index in placed:
        for value in nodes[index].values:
            maker = producers.get(schedule.graph.base(value).id)
            assert maker is None or place[maker] <= place[index]
    assert fused or all(len(group.nodes) == 1 for group in schedule.groups)


def reordered(graph: FunctionGraph, rng: np.random.Generator) -> FunctionGraph:
    """The same nodes in another order in which each comes after what it uses."""
    known = {i.value.id for i in graph.inputs}
    left, made = list(graph.nodes), []
    while left:
        ready = [n for n in left if all(v.id in known for v in n.values)]
        node = ready[int(rng.integers(len(ready)))]
        left.remove(node)
        made.append(node)
        known |= {r.id for r in node.results}
    return graph.with_nodes(made)


def operators(nodes):
    return sorted(n.operator.name for n in nodes)


@each_program
def test_the_order_of_independent_nodes_changes_no_result(number):
    program = generate(SEED, number)
    graph, extents, constants = traced(program)
    other = reordered(graph, np.random.default_rng(number))
    simple = [simplify(g) for g in (graph, other)]
    device = device_for("sm_80")
    schedules = [schedule_graph(g, extents, device, Options()) for g in simple]

    for a, b in zip(*(reference(program, g, extents, constants) for g in simple), strict=True):
        assert np.array_equal(bits_of(np.asarray(a)), bits_of(np.asarray(b)))
    assert operators(simple[0].nodes) == operators(simple[1].nodes)
    # of two consumers that each could join a producer, but not both, the first does
    assert len(schedules[0].groups) == len(schedules[1].groups)


def digest_apart(seed: str) -> str:
    """The digest of sources by a process that orders sets of strings by this seed."""
    other = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.sources", "15"],
        cwd=Path(__file__).parents[2], capture_output=True, text=True, check=True,
        env=os.environ | {"PYTHONHASHSEED": seed},
    )  # fmt: skip
    return other.stdout.strip()


def test_sources_do_not_depend_on_the_order_of_sets():
    """Names that other tests declare are taken in this process alone, so that two others tell."""
    assert digest_apart("1") == digest_apart("2")


def test_sources_are_the_same_when_traced_again():
    assert digest_of_sources(10) == digest_of_sources(10)
