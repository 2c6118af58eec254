"""``ow.schedule``: what the scheduler makes of lists that stand next to each other, and why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from opweave._functions.fused import Fused
from opweave._lists.codes import ListLike
from opweave._lists.functions import returned, with_arguments
from opweave._lists.joining import feeds_of
from opweave._lists.oplist import OpcodeKernel
from opweave._lists.running import Note, run_list
from opweave._lists.structure import refuse_within
from opweave._programs.explain import decided
from opweave._programs.program import Program
from opweave._tracebacks import folded
from opweave.compiler.ir.device import Device
from opweave.compiler.ir.noted import NotedNodes
from opweave.compiler.ir.values import Where
from opweave.compiler.scheduling.schedule import Decision
from opweave.opcodes import dtypes
from opweave.opcodes.allowed import shown
from opweave.opcodes.errors import EditError


@dataclass(frozen=True)
class ListSchedule:
    """What ``ow.schedule`` found; prints as text.

    Attributes:
        target: the architecture, or "host".
        kernels: names of the kernels.
        members: for each kernel its op-codes, ``LIST:NUMBER OPERATOR``.
        decisions: one line per decision of the scheduler; the place is that of the second
            operator, ``LIST:NUMBER``.
        source: CUDA C of the kernels.
        text: all but the source.
    """

    target: str
    kernels: tuple[str, ...]
    members: tuple[tuple[str, ...], ...]
    decisions: tuple[str, ...]
    source: str
    text: str

    def __str__(self) -> str:
        return self.text


@folded
def schedule(
    lists: Sequence[OpcodeKernel], *args: Any, target: str | Device | None = None
) -> ListSchedule:
    """What becomes of op-code lists one behind the other: kernels, and decisions with reasons.

    Each list feeds the next ones as ``then`` says.  Nothing is compiled or run.

    Args:
        lists: op-code lists, the first to run first.
        args: the arguments of all lists joined, in order: arrays, numbers, or ``(shape, dtype)``.
        target: as of ``Fused.lower``: "host", an architecture, or where the arrays would run.

    Raises:
        EditError: no lists, or lists that do not join; see ``then``.
        ArgumentError: a missing argument, or one too many.
    """
    if not isinstance(lists, list | tuple) or not lists:
        raise EditError(f"schedule: expected op-code lists, found {shown(lists)}")
    for found in lists:
        if not isinstance(found, OpcodeKernel):
            raise EditError(f"schedule: expected op-code lists, found {type(found).__name__}")
        refuse_within(found)
    program = Fused(_adjacent(lists)).lower(*map(_example, args), target=target)
    return _described(lists, program)


def _adjacent(lists: Sequence[OpcodeKernel]) -> Callable[..., Any]:
    """The function that runs lists one after the other; nodes get the place of their op-code."""
    joined = [lists[0]]
    feeds: list[dict[str, str]] = [{}]
    for found in lists[1:]:
        feeds.append(feeds_of(joined[-1], found, {}))
        joined.append(joined[-1].then(found))
    notes = list(map(_placing, lists, names_of(lists)))

    def run(**given: Any) -> Any:
        made: dict[str, Any] = {}
        for found, fed, note in zip(lists, feeds, notes, strict=True):
            taken = {a: made[fed[a]] if a in fed else given[a] for a in found.arguments}
            left = {r: v for r, v in made.items() if r not in fed.values()}
            made = left | run_list(found, taken, note)
        return returned(made)

    return with_arguments(run, joined[-1].name, joined[-1].arguments)


def names_of(lists: Sequence[ListLike]) -> list[str]:
    """The names of lists, with a number where several have one."""
    names = [found.name for found in lists]
    return [f"{n}#{i}" if names.count(n) > 1 else n for i, n in enumerate(names)]


def _placing(outer: ListLike, name: str) -> Note:
    """Note the list and the op-code of nodes, where they have the user's line.

    ``name`` is that of the list; of one within it its own is taken.
    """

    def note(found: ListLike, number: int, nodes: NotedNodes, first: int) -> None:
        place = Where(name if found is outer else found.name, number, number)
        nodes.replace([replace(node, where=place) for node in nodes[first:]], first)

    return note


def _example(argument: Any) -> Any:
    """An argument that is there to be looked at; arrays of a shape and dtype are not filled."""
    match argument:
        case (tuple() | list() as shape, dtype):
            return np.empty(tuple(shape), dtypes.of(dtype).numpy)
    return argument


def _described(lists: Sequence[OpcodeKernel], program: Program) -> ListSchedule:
    found = program.lowered.schedule
    names = tuple(k.name for k in program.kernels)
    nodes = [f"{node.where} {node.operator.name}".lstrip() for node in found.graph.nodes]
    members = tuple(tuple(nodes[n] for n in group.nodes) for group in found.groups)
    lines = [
        f"{' + '.join(names_of(lists))} for {program.target}: {len(names)} kernel(s)",
        *_decided("not fused:", found.decisions, False),
        "kernels:",
        *(f"  {name}: {', '.join(codes)}" for name, codes in zip(names, members, strict=True)),
        *_decided("fused:", found.decisions, True),
    ]
    decisions = tuple(map(str, found.decisions))
    return ListSchedule(
        program.target, names, members, decisions, program.source, "\n".join(lines)
    )


def _decided(title: str, decisions: Sequence[Decision], fused: bool) -> list[str]:
    return decided(title, (d for d in decisions if d.fused is fused))
