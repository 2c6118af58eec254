"""Tasks of dask for a function: a task a block, trees of joins, and dask's own products."""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate, product
from operator import getitem
from typing import Any, NamedTuple
from uuid import uuid4

import numpy as np

from opweave._dask.blocks import (
    Block,
    BlockForm,
    BlockInput,
    Join,
    Piece,
    Stage,
    join_blocks,
    no_block,
    run_block,
)
from opweave._dask.chunks import Chunks, Layout, bounds
from opweave._dask.local import Local, accumulated
from opweave._dask.ranges import Ranges
from opweave._dask.regions import Region, extents
from opweave._dask.steps import BlockPlan, Planner
from opweave._dask.whole import WholeCall
from opweave.compiler.ir.graph import Node, reduced_axes
from opweave.compiler.ir.values import Value
from opweave.compiler.pipeline.driver import Options
from opweave.opcodes import dtypes

# Results of blocks that a task joins.
FAN_IN = 16
Grid = tuple[Chunks, ...]


class Target(NamedTuple):
    """A value of which blocks are wanted; of a reduction, its operand."""

    value: Value
    node: Node | None = None


class Emission:
    """The arrays of one call, as they are made.

    Attributes:
        arrays: of dask's and NumPy's, by the ids of the values that they are.
    """

    def __init__(
        self, whole: WholeCall, arrays: Mapping[int, Any], found: Mapping[int, Layout],
        options: Options,
    ):  # fmt: skip
        self.whole, self.layouts, self.options = whole, found, options
        self.arrays = dict(arrays)
        given = {n: a for n, a in arrays.items() if isinstance(a, np.ndarray)}
        self.ranges = Ranges(whole, given)

    def cut(self, nodes: Sequence[Node]) -> None:
        """Have the nodes computed at which the function is cut: those that wait for none first."""
        left = [*nodes]
        while left:
            waiting = self._behind(left)
            now = [n for n in left if not waiting.intersection(v.id for v in n.values)]
            left = [node for node in left if node not in now]
            self.compute([Target(node.values[0], node) for node in now if node.is_reduction])
            for node in now:
                if node.is_product:
                    self._multiply(node)

    def _behind(self, nodes: Sequence[Node]) -> set[int]:
        """The values that follow from results of some nodes."""
        found = {r.id for node in nodes for r in node.results}
        for node in self.whole.graph.nodes:
            if node.result.id not in self.arrays and found.intersection(v.id for v in node.values):
                found.update(r.id for r in node.results)
        return found

    def _multiply(self, node: Node) -> None:
        da: Any = sys.modules["dask.array"]  # who has an array has imported it
        self.compute([Target(value) for value in node.values])
        wide, own = np.dtype(accumulated(node).numpy_name), node.result.dtype.numpy
        x, y = (self.arrays[value.id].astype(wide) for value in node.values)
        self.arrays[node.result.id] = da.matmul(da.asarray(x), da.asarray(y)).astype(own)

    def compute(self, targets: Sequence[Target]) -> None:
        """Have some values made of what is there; those of equal grids by the same tasks."""
        grids: dict[Grid, list[Target]] = {}
        for target in targets:
            if target.node is not None or target.value.id not in self.arrays:
                grids.setdefault(self.grid(target.value), []).append(target)
        made: dict[int, Any] = {}
        for grid, some in grids.items():
            made |= StageBlocks(self, dict.fromkeys(some), grid).made()
        self.arrays |= made

    def grid(self, value: Value) -> Grid:
        """The chunks of a value; an axis of which nothing says them is one."""
        rows = zip(self.layouts[value.id], self.whole.shape(value), strict=True)
        return tuple((n,) if chunks is None else chunks for chunks, n in rows)


class StageBlocks:
    """The tasks of one stage."""

    def __init__(self, emission: Emission, targets: Mapping[Target, None], grid: Grid):
        self.emission, self.whole = emission, emission.whole
        self.targets, self.grid = [*targets], grid
        self.name = f"opweave-{self.whole.graph.name}-{uuid4().hex[:16]}"
        self.stage = Stage(self.name, self.whole.name, emission.options)
        wanted = [target.value for target in self.targets]
        of = self.whole, emission.ranges, emission.layouts
        self.planner = Planner(*of, emission.arrays, wanted)
        self.forms: dict[Any, int] = {}
        self.tasks: dict[Any, Any] = {f"{self.name}-stage": self.stage}
        self.sources: dict[str, Any] = {}
        self.ends: dict[str, list[list[int]]] = {}  # of chunks, by the names of sources
        self.numbers = range(len(self.targets))

    def made(self) -> dict[int, Any]:
        """The arrays of the targets, by the ids of their values."""
        places = [*product(*(range(len(chunks)) for chunks in self.grid))]
        edges = [bounds(chunks) for chunks in self.grid]
        for place in places:
            region = tuple(edge[i] for edge, i in zip(edges, place, strict=True))
            if all(extents(region)):
                self._block(place, region)
            else:
                self._empty(place, region)
        found = {}
        for number, (value, node) in enumerate(self.targets):
            result = value if node is None else node.result
            made = self._stored(number) if node is None else self._joined(number, node, places)
            found[result.id] = self._array(*made, result)
        return found

    def key(self, number: int, place: tuple[int, ...]) -> tuple[Any, ...]:
        """The key of a block of a target."""
        return f"{self.name}-{number}", *place

    def _block(self, place: tuple[int, ...], region: Region) -> None:
        plan = self.planner.plan(region)
        form = self.forms.setdefault(plan.form, len(self.stage.forms))
        if form == len(self.stage.forms):
            self.stage.forms.append(self._form(plan))
        keys: list[Any] = []
        parts = tuple(self._part(n, r, keys) for n, r in plan.inputs)
        task = run_block, f"{self.name}-stage", Block(form, plan.begins, parts), keys
        if len(self.targets) == 1:
            self.tasks[self.key(0, place)] = task
            return
        every = self.key(len(self.targets), place)
        self.tasks[every] = task
        self.tasks |= {self.key(n, place): (getitem, every, n) for n in self.numbers}

    def _empty(self, place: tuple[int, ...], region: Region) -> None:
        for number, (value, node) in enumerate(self.targets):
            if node is None:
                shape, dtype = extents(region), value.dtype.numpy
                self.tasks[self.key(number, place)] = np.empty(shape, dtype)

    def _form(self, plan: BlockPlan) -> BlockForm:
        arrays = self.emission.arrays
        local = Local(self.whole, plan, [dtypes.of(arrays[n].dtype) for n, _ in plan.inputs])
        local.outputs = [
            value if node is None else local.partial(node, value)
            for value, (_, node) in zip(local.outputs, self.targets, strict=True)
        ]
        return BlockForm(local.graph(), local.numbers)

    # Inputs

    def _part(self, number: int, region: Region, keys: list[Any]) -> BlockInput:
        array = self.emission.arrays[number]
        shape, dtype = extents(region), dtypes.of(array.dtype).numpy_name
        if isinstance(array, np.ndarray):
            keys.append(f"{self.name}-array-{number}")
            if keys[-1] not in self.tasks:  # as it is now: blocks come later
                self.tasks[keys[-1]] = array.copy()
            taken = tuple(slice(*pair) for pair in region)
            return BlockInput(shape, dtype, (Piece(array.shape, taken, None),))
        if array.name not in self.sources:
            self.sources[array.name] = array
            self.ends[array.name] = [[*accumulate(chunks)] for chunks in array.chunks]
        found = [*_overlaps(array.chunks, self.ends[array.name], region)]
        pieces = []
        for place, taken, at in found:
            key: Any = (array.name, *place)
            blocks = zip(array.chunks, place, strict=True)
            length = tuple(s.stop - s.start for s in taken)
            if length != tuple(chunks[i] for chunks, i in blocks):
                key = self._taken(key, taken)
            keys.append(key)
            pieces.append(Piece(length, None, at if len(found) > 1 else None))
        return BlockInput(shape, dtype, tuple(pieces))

    def _taken(self, key: Any, taken: tuple[slice, ...]) -> Any:
        """The key of a part of a block: only that goes to another worker."""
        ends = "-".join(f"{s.start}.{s.stop}" for s in taken)
        made = f"{self.name}-part-{key[0]}-{ends}", *key[1:]
        self.tasks[made] = getitem, key, taken
        return made

    # Results

    def _stored(self, number: int) -> tuple[str, Grid]:
        return f"{self.name}-{number}", self.grid

    def _joined(self, number: int, node: Node, places: Sequence[Any]) -> tuple[str, Grid]:
        """Join the blocks of a reduction, a tree for each block of its result."""
        axes = reduced_axes(node)
        kept: dict[Any, list[Any]] = {}
        for place in places:
            at = tuple(0 if d in axes else i for d, i in enumerate(place))
            kept.setdefault(at, [])
            if self.key(number, place) in self.tasks:
                kept[at].append(self.key(number, place))
        name = f"{self.name}-joined-{number}"
        drop = () if node.attr("keepdims") else axes
        for at, keys in kept.items():
            rows = enumerate(zip(self.grid, at, strict=True))
            shape = tuple(1 if d in axes else c[i] for d, (c, i) in rows if d not in drop)
            made = accumulated(node).numpy_name, node.result.dtype.numpy_name
            join = Join(node.operator.name, *made, shape)
            key = name, *(i for d, i in enumerate(at) if d not in drop)
            self._tree(key, join, keys)
        grid = enumerate(self.grid)
        return name, tuple((1,) if d in axes else c for d, c in grid if d not in drop)

    def _tree(self, key: Any, join: Join, keys: list[Any]) -> None:
        level = 0
        while len(keys) > FAN_IN:
            some = [keys[i : i + FAN_IN] for i in range(0, len(keys), FAN_IN)]
            names = [(f"{key[0]}-{level}", *key[1:], n) for n in range(len(some))]
            pairs = zip(names, some, strict=True)
            self.tasks |= {n: (join_blocks, join, given, False) for n, given in pairs}
            keys, level = names, level + 1
        self.tasks[key] = (join_blocks, join, keys, True) if keys else (no_block, join)

    def _array(self, name: str, grid: Grid, value: Value) -> Any:
        from dask.highlevelgraph import HighLevelGraph

        graph = HighLevelGraph.from_collections(
            name, self.tasks, dependencies=[*self.sources.values()]
        )
        meta = np.empty((0,) * len(grid), value.dtype.numpy)
        da: Any = sys.modules["dask.array"]
        return da.Array(graph, name, grid, meta=meta)


def _overlaps(
    grid: Grid, ends: Sequence[Sequence[int]], region: Region
) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...], tuple[slice, ...]]]:
    """The blocks that a region meets: their places, the part of each, and where that stands."""
    rows = []
    for chunks, last, (begin, end) in zip(grid, ends, region, strict=True):
        row = []
        for place in range(bisect_right(last, begin), bisect_left(last, end) + 1):
            first = last[place] - chunks[place]
            a, b = max(begin, first), min(end, last[place])
            row.append((place, slice(a - first, b - first), slice(a - begin, b - begin)))
        rows.append([r for r in row if r[1].start < r[1].stop])
    for found in product(*rows):
        places, taken, at = zip(*found, strict=True) if found else ((), (), ())
        yield places, taken, at
