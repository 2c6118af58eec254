"""One block of results: which regions of which arrays it reads, and the steps from these to it.

Steps are relative: they say by how much a region lies inside of what another step makes, never
where the block is.  So blocks that lie alike have equal steps, and share a kernel; where they are
is said by numbers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from opweave._dask.chunks import Layout, several
from opweave._dask.ranges import Ranges
from opweave._dask.regions import REGIONS, Region, broadcast, extents, made_at, merged
from opweave._dask.whole import WholeCall, act_of
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import Value


class RegionRead(NamedTuple):
    """A part of what is there: its slot, and how much is left out at both ends of each axis."""

    slot: int
    left_out: tuple[tuple[int, int], ...]


class AxisLength(NamedTuple):
    """The length of an axis: that of an axis of an input, and how much it is shorter.

    ``place`` is -1 where no input has such an axis: then ``less`` is the length.
    """

    place: int
    axis: int
    less: int


class BlockStep(NamedTuple):
    """A node over regions.

    Attributes:
        node: its place in the graph.
        reads: one for each array operand.
        lengths: of the axes of the result, where no operand says them.
        moved: for each index of a gather whether the table begins elsewhere than at 0.
    """

    node: int
    reads: tuple[RegionRead, ...]
    lengths: tuple[AxisLength, ...] = ()
    moved: tuple[bool, ...] = ()


@dataclass(frozen=True)
class BlockPlan:
    """What a block computes.

    Attributes:
        inputs: ids of arrays, and their regions; these are the first slots.
        steps: in order; the results of each are the next slots.
        outputs: what it gives.
        begins: where coordinates and tables begin, in the order of the steps.
    """

    inputs: tuple[tuple[int, Region], ...]
    steps: tuple[BlockStep, ...]
    outputs: tuple[RegionRead, ...]
    begins: tuple[int, ...]

    @property
    def form(self) -> Any:
        """What blocks have in common that share a kernel."""
        ones = tuple((n, tuple(e == 1 for e in extents(r))) for n, r in self.inputs)
        return ones, self.steps, self.outputs


class Planner:
    """Plans the blocks of some values.

    Args:
        layouts: chunks of all values, by their ids.
        arrays: ids of the arrays that are there: inputs, and results that were joined.
        wanted: the values, of which all have blocks alike.
    """

    def __init__(
        self, whole: WholeCall, ranges: Ranges, layouts: Mapping[int, Layout],
        arrays: Iterable[int], wanted: Sequence[Value],
    ):  # fmt: skip
        self.whole, self.ranges, self.wanted, self.layouts = whole, ranges, wanted, layouts
        self.arrays = frozenset(arrays)
        self.nodes = _needed(whole.graph.nodes, wanted, self.arrays)
        self.values = {v.id: v for _, node in self.nodes for v in node.values} | {
            v.id: v for v in wanted
        }

    def plan(self, region: Region) -> BlockPlan:
        """The plan of one block, by its region of the wanted values."""
        return _Planning(self, region).plan()


def _needed(
    nodes: Sequence[Node], wanted: Sequence[Value], there: frozenset[int]
) -> list[tuple[int, Node]]:
    """The nodes that some values need, with their places, back to what is there."""
    missing, found = {v.id for v in wanted} - there, []
    for place, node in reversed([*enumerate(nodes)]):
        if not missing.isdisjoint(r.id for r in node.results):
            found.append((place, node))
            missing |= {v.id for v in node.values} - there
    return found[::-1]


class _Planning:
    """The plan of one block, as it is made: regions from its end on, then slots from the start."""

    def __init__(self, planner: Planner, region: Region):
        self.planner, self.whole = planner, planner.whole
        self.asked: dict[int, list[Region]] = {}
        self.made: dict[int, list[Region]] = {}
        self.read: dict[tuple[int, Region], list[Region]] = {}
        self.slots: dict[tuple[int, Region], int] = {}
        self.begins: list[int] = []
        self.region = region

    def plan(self) -> BlockPlan:
        for value in self.planner.wanted:
            self._ask(value, self.region)
        for place, node in reversed(self.planner.nodes):
            self._backwards(place, node)
        inputs = [
            (n, region)
            for n in sorted(self.planner.arrays & self.asked.keys())
            for region in self._merge(n, self.asked[n])
        ]
        self.inputs = inputs
        self.slots = {key: slot for slot, key in enumerate(inputs)}
        steps = [step for place, node in self.planner.nodes for step in self._steps(place, node)]
        outputs = tuple(self._reading(value, self.region) for value in self.planner.wanted)
        return BlockPlan(tuple(inputs), tuple(steps), outputs, tuple(self.begins))

    def _ask(self, value: Value, region: Region) -> None:
        self.asked.setdefault(value.id, []).append(region)

    def _merge(self, number: int, regions: Iterable[Region]) -> list[Region]:
        found = self.made[number] = merged([*regions])
        return found

    def _backwards(self, place: int, node: Node) -> None:
        for value in node.results:
            shape = self.whole.shape(value)
            asked = self.asked.get(value.id, [])
            if not asked and len(node.results) > 1:  # a call that makes several whole arrays
                asked = [tuple((0, n) for n in shape)]
            self._merge(value.id, (made_at(node, shape, r) for r in asked))
        for region in self.made[node.result.id]:
            if act_of(node) == "gather":
                found = self._gathered(node, region)
            else:
                found = REGIONS[act_of(node)](self.whole, node, region)
            self.read[place, region] = found
            for value, part in zip(node.values, found, strict=True):
                self._ask(value, part)

    def _gathered(self, node: Node, region: Region) -> list[Region]:
        """What a gather reads: of its table as much as its indices may name."""
        of_indices = iter([broadcast(self.whole.shape(v), region) for v in node.pointwise])
        table, found, read = self.whole.shape(node.values[0]), [], []
        for axis, (index, n) in enumerate(zip(node.operands[1:], table, strict=True)):
            part: Region = ()
            if isinstance(index, Value):
                part = next(of_indices)
                found.append(part)
            known = self.planner.ranges.of(index, part)
            if known is None and several(self.planner.layouts[node.values[0].id][axis]):
                raise self.whole.along(node, axis)
            begin, last = (0, n - 1) if known is None else (max(min(k, n - 1), 0) for k in known)
            read.append((begin, min(last + 1, n)))
        return [tuple(read), *found]

    def _steps(self, place: int, node: Node) -> Iterable[BlockStep]:
        for region in self.made[node.result.id]:
            parts = self.read[place, region]
            reads = tuple(map(self._reading, node.values, parts))
            lengths: tuple[AxisLength, ...] = ()
            moved: tuple[bool, ...] = ()
            act = act_of(node)
            if act in ("coordinate", "full", "reshape", "library", "handwritten"):
                lengths = tuple(self._length(pair) for pair in region)
            if act == "coordinate":
                self.begins.append(region[0][0])
            if act == "gather":
                moved = tuple(begin > 0 for begin, _ in parts[0])
                self.begins += [begin for begin, _ in parts[0] if begin]
            for value in node.results:
                shape = region if value is node.result else self.made[value.id][0]
                self.slots[value.id, shape] = len(self.slots)
            yield BlockStep(place, reads, lengths, moved)

    def _reading(self, value: Value, region: Region) -> RegionRead:
        """Where a region is: in one that was made, and how far from its ends."""
        for made in self.made[value.id]:
            pairs = [*zip(made, region, strict=True)]
            if all(m[0] <= r[0] and r[1] <= m[1] for m, r in pairs):
                left_out = tuple((r[0] - m[0], m[1] - r[1]) for m, r in pairs)
                return RegionRead(self.slots[value.id, made], left_out)
        raise AssertionError(f"no region of v{value.id} has {region}")

    def _length(self, pair: tuple[int, int]) -> AxisLength:
        """A length, by an axis of an input that blocks like this one have, too."""
        begin, end = pair
        found = None
        for place, (_, region) in enumerate(self.inputs):
            for axis, other in enumerate(region):
                if other[1] - other[0] > 1 and (begin, end) == other:
                    return AxisLength(place, axis, 0)
                if other[1] - other[0] == end - begin > 1:
                    found = AxisLength(place, axis, 0)
        return found or AxisLength(-1, 0, end - begin)
