"""Arguments that a function writes to: which kernel may write straight to their memory.

    u *= 2                      the kernel reads and writes the same element: in place
    m += g; p -= m              so does each thread of a kernel with several results
    x /= x.sum(axis=1)          written in the last pass over a row: in place
    u[...] = v                  no kernel reads u: in place
    u[1:-1] += u[2:] - u[:-2]   another thread may still need what this one would write: apart

What cannot be written in place is computed apart, and copied when all kernels are done.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from opweave.compiler.ir.graph import FunctionGraph, Written
from opweave.compiler.ir.values import Value
from opweave.compiler.scheduling.memory import read_in_place
from opweave.compiler.scheduling.schedule import Group, Schedule


@dataclass(frozen=True)
class Write:
    """How an argument is written to.

    Attributes:
        output, place: of the graph's output, and of the input that it is stored to.
        name: of the argument, or of its part.
        kernel: the one that writes in place; "" for none.
        why: it is computed apart, in that case.
    """

    output: int
    place: int
    name: str
    kernel: str
    why: str = ""

    def __str__(self) -> str:
        if not self.why and not self.kernel:
            return f"{self.name} alone is stored, when all kernels are done"
        if self.kernel:
            return f"{self.name} is written in place, by {self.kernel}"
        return f"{self.name} is computed apart and copied: {self.why}"


def writes_of(schedule: Schedule) -> tuple[Write, ...]:
    """How a schedule writes to each argument."""
    graph = schedule.graph
    held = next(_held_back(graph), "") if graph.written else ""
    return tuple(_write(schedule, written, held) for written in graph.written)


def _held_back(graph: FunctionGraph) -> Iterator[str]:
    """What is known only when all kernels are done, so that none may write to an argument."""
    if any(node.operator.notes_faults for node in graph.nodes):
        yield "an index may have no element"
    if any(node.is_library for node in graph.nodes):
        yield "a call of NumPy's library may raise"
    if any(node.refuses for node in graph.nodes):
        yield "an element may have no bin"


def _write(schedule: Schedule, written: Written, held: str) -> Write:
    graph, groups = schedule.graph, schedule.groups
    output, place, part, _ = written
    if part:
        return Write(output, place, written.shown(graph), "")
    value, given = graph.outputs[output], graph.inputs[place]
    assert isinstance(value, Value)
    why, name = held, ""
    if not why and given.layout != "C":
        why = "it does not lie row by row"
    if not why:
        number = next((n for n, group in enumerate(groups) if value in group.outputs), -1)
        why = _read_else(schedule, number, given.value, value) if number >= 0 else "it is a view"
        name = "" if why else groups[number].name
    return Write(output, place, given.name, name, why)


def _read_else(schedule: Schedule, number: int, given: Value, made: Value) -> str:
    """Who reads an argument that a group would write to, other than in place; "" for nobody."""
    graph = schedule.graph
    readers = [
        n
        for n, group in enumerate(schedule.groups)
        if any(graph.base(value) == given for value in group.inputs)
    ]
    group = schedule.groups[number]
    if any(n > number for n in readers):
        return f"{schedule.groups[readers[-1]].name} reads it later"
    if number not in readers:
        return ""
    if given not in read_in_place(schedule, group) or made.shape != group.space:
        return f"{group.name} reads what other threads write"
    return "" if _is_stored_last(schedule, group, made) else f"{group.name} reads it again"


def _is_stored_last(schedule: Schedule, group: Group, made: Value) -> bool:
    """Whether no thread reads elements once it has stored its own of a result.

    Each thread of these kernels stores what it has loaded before, in the same pass over its
    elements; a pass for each level of reductions reads them again.
    """
    form = group.form
    if form.kind == "map":
        return True
    if form.kind not in ("row", "reduce") or made.id in form.row_values:
        return False
    nodes = [schedule.graph.nodes[index] for index in group.nodes]
    passes = [
        form.levels.get(value.id, 0) - node.is_reduction
        for node in nodes
        for value in node.results
        if node.is_reduction or value.id not in form.row_values
    ]
    return form.levels.get(made.id, -1) >= max(passes)
