"""The memory plan: where the temporaries of a schedule lie in one arena.

A temporary lives from the step that writes it to the last one that reads it.  Temporaries that
never live at the same time may lie at the same place.  Places are found greedily: the largest
temporary first, each at the lowest place that is free during its life
(Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net Inference", 2020, greedy by
size).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from opweave.compiler.ir.values import Extents, Value, count

if TYPE_CHECKING:
    from opweave.compiler.scheduling.schedule import Group, Schedule

# A temporary begins at a multiple of so many bytes: enough for a cache line of a CPU, for a memory
# transaction of a GPU, and what a GPU's allocator gives.
ALIGNMENT = 512


@dataclass(frozen=True)
class Life:
    """Memory that is needed from one step to another, both included."""

    nbytes: int
    first: int
    last: int

    def meets(self, other: Life) -> bool:
        return self.first <= other.last and other.first <= self.last


@dataclass(frozen=True)
class MemoryPlan:
    """Where temporaries lie.

    Attributes:
        places: bytes from the start of the arena, by the value's id.
        workspaces: places of the memory that a step needs for itself, by the step's number.
        nbytes: bytes of the arena.
        naive: bytes if each had memory of its own.
        in_place: (value, what it is written over), by their ids.
    """

    places: Mapping[int, int]
    workspaces: Mapping[int, int]
    nbytes: int
    naive: int
    in_place: tuple[tuple[int, int], ...]


def memory_plan(
    schedule: Schedule, extents: Extents, workspaces: Mapping[int, int] = {}
) -> MemoryPlan:
    """Plan the temporaries of a schedule.

    x -> [a] -> [b] -> [c] -> y     three temporaries, each as long as x, in two places; in one
                                    where the kernels read and write the same element

    Args:
        workspaces: bytes that steps need for themselves, such as for partial results.
    """
    lives = _lives(schedule, extents)
    over = _in_place(schedule, lives)
    joined: dict[int, list[int]] = {}
    for value in lives:
        root = value
        while root in over:
            root = over[root]
        joined.setdefault(root, []).append(value)
    needed = [_whole(lives[v] for v in values) for values in joined.values()]
    needed += [Life(_rounded(n), step, step) for step, n in workspaces.items()]
    offsets, total = _placed(needed)
    places = {
        value: offset
        for values, offset in zip(joined.values(), offsets, strict=False)
        for value in values
    }
    kept = dict(zip(workspaces, offsets[len(joined) :], strict=True))
    naive = sum(life.nbytes for life in lives.values()) + sum(map(_rounded, workspaces.values()))
    return MemoryPlan(places, kept, total, naive, tuple(over.items()))


def _lives(schedule: Schedule, extents: Extents) -> dict[int, Life]:
    """The life of each temporary: a value that a kernel writes and that is not returned."""
    graph = schedule.graph
    returned = {graph.base(o).id for o in graph.outputs if isinstance(o, Value)}
    last: dict[int, int] = {}
    for number, group in enumerate(schedule.groups):
        for value in (*group.inputs, *group.outputs):
            last[graph.base(value).id] = number
    return {
        value.id: Life(_rounded(_nbytes(value, extents)), number, last[value.id])
        for number, group in enumerate(schedule.groups)
        for value in group.outputs
        if value.id not in returned
    }


def _in_place(schedule: Schedule, lives: Mapping[int, Life]) -> dict[int, int]:
    """Temporaries that may be written over others: what each is written over, by its id.

    A thread of a map reads the elements at its own places before it writes there; so an operand of
    the same shape and element size, which nobody reads afterwards, may be where the result goes.
    That does not hold where the map has a second result, which might be computed from an element
    that is read again; nor where the operand is also read elsewhere, as a view or a table.
    """
    over = {}
    for number, group in enumerate(schedule.groups):
        for value in written_over(schedule, group):
            life, made = lives.get(value.id), group.outputs[0].id
            if made in lives and life is not None and life.last == number:
                over[made] = value.id
                break
    return over


def written_over(schedule: Schedule, group: Group) -> list[Value]:
    """What a kernel may write its result over, where nobody needs it afterwards."""
    if group.form.kind != "map" or len(group.outputs) != 1:
        return []
    (made,) = group.outputs
    return [
        value
        for value in read_in_place(schedule, group)
        if value.shape == made.shape
        and value.dtype.itemsize == made.dtype.itemsize
        and schedule.graph.base(value) == value
    ]


def read_in_place(schedule: Schedule, group: Group) -> list[Value]:
    """The values that a kernel reads at the places of its loop and nowhere else."""
    graph = schedule.graph
    nodes = [graph.nodes[index] for index in group.nodes]
    elsewhere = {v.id for n in nodes for v in n.tables}
    elsewhere |= {graph.base(v).id for v in group.inputs if v.id in graph.views}
    return [v for v in group.inputs if v.id not in elsewhere]


def _placed(needed: Sequence[Life]) -> tuple[list[int], int]:
    """A place for each life, and the bytes that they take in all."""
    offsets = [0] * len(needed)
    done: list[int] = []
    for number in sorted(range(len(needed)), key=lambda n: (-needed[n].nbytes, needed[n].first)):
        life, at = needed[number], 0
        for other in sorted((n for n in done if needed[n].meets(life)), key=offsets.__getitem__):
            if offsets[other] >= at + life.nbytes:
                break
            at = max(at, offsets[other] + needed[other].nbytes)
        offsets[number] = at
        done.append(number)
    return offsets, max((o + n.nbytes for o, n in zip(offsets, needed, strict=True)), default=0)


def _whole(lives: Iterable[Life]) -> Life:
    """One life, from the beginning of the first to the end of the last."""
    found = list(lives)
    first, last = min(n.first for n in found), max(n.last for n in found)
    return Life(max(n.nbytes for n in found), first, last)


def _nbytes(value: Value, extents: Extents) -> int:
    return count(value.shape, extents) * value.dtype.itemsize


def _rounded(nbytes: int) -> int:
    """Bytes rounded up to the alignment; an empty array gets a place of its own, too."""
    return max(1, -(-nbytes // ALIGNMENT)) * ALIGNMENT
