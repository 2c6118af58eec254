"""Between which numbers the indices of a gather lie, over a region of the result.

Indices are arithmetic on coordinates, as of a roll, a padding or a part that is written to; or
arrays of NumPy's, whose elements are there.  Of all others nothing is known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from opweave._dask.regions import REGIONS, Region
from opweave._dask.whole import WholeCall, act_of
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import Value

Range = tuple[int, int]  # the least and the largest number
MOST_LOOKED_AT = 1 << 24


class Ranges:
    """The ranges of integer values of a graph, by regions.

    Attributes:
        arrays: of NumPy's, by the ids of the values that they are.
    """

    def __init__(self, whole: WholeCall, arrays: Mapping[int, Any]):
        self.whole, self.arrays = whole, arrays
        self.made = {r.id: node for node in whole.graph.nodes for r in node.results}

    def of(self, operand: Any, region: Region) -> Range | None:
        """The range of a number, or of a value over a region; None where it is not known."""
        if not isinstance(operand, Value):
            number = int(self.whole.number(operand))
            return number, number
        if (array := self.arrays.get(operand.id)) is not None:
            part = array[tuple(slice(*pair) for pair in region)]
            is_known = 0 < part.size <= MOST_LOOKED_AT and part.dtype.kind in "iu"
            return (int(part.min()), int(part.max())) if is_known else None
        node = self.made.get(operand.id)
        if node is None or (rule := RANGES.get(node.operator.name)) is None:
            return None
        return rule(self, node, region)

    def operands(self, node: Node, region: Region) -> list[Range | None]:
        """The ranges of a node's operands, over what a region of its result reads."""
        regions = iter(REGIONS[act_of(node)](self.whole, node, region))
        return [self.of(o, next(regions) if isinstance(o, Value) else ()) for o in node.operands]


def _coordinate(ranges: Ranges, node: Node, region: Region) -> Range | None:
    return region[0][0], region[0][1] - 1


def _first(ranges: Ranges, node: Node, region: Region) -> Range | None:
    if node.result.dtype.kind not in "iu":
        return None
    found = ranges.operands(node, region)[0]
    return None if found is None else _held(node, found)


def _held(node: Node, found: Sequence[int]) -> Range | None:
    """A range in the type of a node's result; None where it would wrap."""
    info = np.iinfo(node.result.dtype.numpy)
    least, largest = min(found), max(found)
    return (least, largest) if info.min <= least and largest <= info.max else None


def _of_two(join: Callable[[Range, Range], Sequence[int]]) -> Any:
    def rule(ranges: Ranges, node: Node, region: Region) -> Range | None:
        x, y = ranges.operands(node, region)[-2:]
        if x is None or y is None:
            return None
        return _held(node, join(x, y))

    return rule


def _index(ranges: Ranges, node: Node, region: Region) -> Range | None:
    """Indices, of which negative ones count from the end."""
    found, extent = ranges.operands(node, region)
    if found is None or extent is None:
        return None
    (least, largest), n = found, extent[0]
    if least >= 0:
        return found
    return (least + n, largest + n) if largest < 0 else (0, n - 1)


RANGES: dict[str, Callable[[Ranges, Node, Region], Range | None]] = {
    "coordinate": _coordinate, "cast": _first, "copy": _first, "view": _first, "slice": _first,
    "full": _first, "index": _index,
    "add": _of_two(lambda x, y: (x[0] + y[0], x[1] + y[1])),
    "subtract": _of_two(lambda x, y: (x[0] - y[1], x[1] - y[0])),
    "multiply": _of_two(lambda x, y: [a * b for a in x for b in y]),
    "where": _of_two(lambda x, y: (*x, *y)),
    "minimum": _of_two(lambda x, y: (min(x[0], y[0]), min(x[1], y[1]))),
    "maximum": _of_two(lambda x, y: (max(x[0], y[0]), max(x[1], y[1]))),
}  # fmt: skip
