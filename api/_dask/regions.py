"""Which region of each operand a region of a result needs: the halos of stencils, read off views.

A region has, for each axis, the first index and the one behind the last, in the whole array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from opweave._dask.chunks import along, groups
from opweave._dask.whole import WholeCall, act_of
from opweave.compiler.ir.graph import Node, reduced_axes

Region = tuple[tuple[int, int], ...]


def whole_of(shape: Sequence[int]) -> Region:
    """The region of a whole array."""
    return tuple((0, n) for n in shape)


def meeting(a: Region, b: Region) -> bool:
    """Whether two regions have elements in common."""
    return all(x[0] < y[1] and y[0] < x[1] for x, y in zip(a, b, strict=True))


def hull(a: Region, b: Region) -> Region:
    """The smallest region that has both."""
    pairs = zip(a, b, strict=True)
    return tuple((min(x[0], y[0]), max(x[1], y[1])) for x, y in pairs)


def merged(regions: Sequence[Region]) -> list[Region]:
    """Regions of which no two meet, that have all of these; in the order of their first."""
    found: list[Region] = []
    for region in regions:
        while (other := next((r for r in found if meeting(r, region)), None)) is not None:
            found.remove(other)
            region = hull(other, region)
        if region not in found:
            found.append(region)
    return sorted(found)


def extents(region: Region) -> tuple[int, ...]:
    """The lengths of a region."""
    return tuple(end - begin for begin, end in region)


# Regions of the array operands for each act: (whole, node, region of the result) -> one for each


def _map(whole: WholeCall, node: Node, region: Region) -> list[Region]:
    return [broadcast(whole.shape(value), region) for value in node.values]


def broadcast(shape: Sequence[int], region: Region) -> Region:
    """What a region reads of an operand of this shape, which is broadcast."""
    rest = region[len(region) - len(shape) :]
    return tuple((0, 1) if n == 1 else pair for n, pair in zip(shape, rest, strict=True))


def _view(whole: WholeCall, node: Node, region: Region) -> list[Region]:
    named = {axis: d for d, axis in enumerate(node.attr("axes")) if axis is not None}
    rank = len(node.values[0].shape)
    return [tuple(region[named[d]] if d in named else (0, 1) for d in range(rank))]


def _slice(whole: WholeCall, node: Node, region: Region) -> list[Region]:
    axis, step = node.attr("axis") % len(region), node.attr("step")
    start, (a, b) = int(whole.number(node.operands[1])), region[axis]
    ends = start + a * step, start + (b - 1) * step
    read = (min(ends), max(ends) + 1) if a < b else (0, 0)
    return [(*region[:axis], read, *region[axis + 1 :])]


def _reshape(whole: WholeCall, node: Node, region: Region) -> list[Region]:
    shape, others = whole.shape(node.values[0]), whole.shape(node.result)
    found = list(whole_of(shape))
    if not prod(shape):
        return [tuple(found)]
    for left, right in groups(shape, others):
        rest, of = prod(shape[d] for d in left[1:]), prod(others[d] for d in right[1:])
        begin, end = (index * of for index in region[right[0]])
        if any(region[d] != (0, others[d]) for d in right[1:]) or begin % rest or end % rest:
            raise whole.refused(
                node, "a part of rows that it joins", "rechunk the array: x.rechunk(-1)"
            )
        found[left[0]] = begin // rest, end // rest
    return [tuple(found)]


def _reduce(whole: WholeCall, node: Node, region: Region) -> list[Region]:
    shape, axes = whole.shape(node.values[0]), reduced_axes(node)
    rest = iter(region)
    if node.attr("keepdims"):
        return [tuple((0, n) if d in axes else region[d] for d, n in enumerate(shape))]
    return [tuple((0, n) if d in axes else next(rest) for d, n in enumerate(shape))]


def _same(whole: WholeCall, node: Node, region: Region) -> list[Region]:
    return [region]


def _mixes(whole: WholeCall, node: Node, region: Region) -> list[Region]:
    return [(*region[:-1], (0, whole.shape(node.values[0])[-1]))]


def _product(whole: WholeCall, node: Node, region: Region) -> list[Region]:
    x, y = (whole.shape(value) for value in node.values)
    first = broadcast(x[:-2], region[:-2]), broadcast(y[:-2], region[:-2])
    return [(*first[0], region[-2], (0, x[-1])), (*first[1], (0, y[-2]), region[-1])]


def _library(whole: WholeCall, node: Node, region: Region) -> list[Region]:
    return [region] if along(node) is not None else _in_one(whole, node, region)


def _in_one(whole: WholeCall, node: Node, region: Region) -> list[Region]:
    return [whole_of(whole.shape(value)) for value in node.values]


def _none(whole: WholeCall, node: Node, region: Region) -> list[Region]:
    return []


RegionRule = Callable[[WholeCall, Node, Region], list[Region]]
REGIONS: dict[str, RegionRule] = {
    "map": _map, "view": _view, "slice": _slice, "reshape": _reshape, "reduce": _reduce,
    "scan": _same, "mixes": _mixes, "product": _product, "library": _library,
    "handwritten": _in_one, "coordinate": _none, "full": _none,
}  # fmt: skip


# Regions that a node makes where one is asked for: all of an axis that it goes along.  What has no
# row makes what is asked.


def _all_along(node: Node, shape: Sequence[int], region: Region) -> Region:
    axis = along(node)
    if axis is None:
        return whole_of(shape)
    return (*region[:axis], (0, shape[axis]), *region[axis + 1 :])


def _all_channels(node: Node, shape: Sequence[int], region: Region) -> Region:
    return (*region[:-1], (0, shape[-1]))


MADE: dict[str, Callable[[Node, Sequence[int], Region], Region]] = {
    "scan": _all_along, "library": _all_along, "handwritten": _all_along, "mixes": _all_channels,
}  # fmt: skip


def made_at(node: Node, shape: Sequence[int], region: Region) -> Region:
    """The region of a result of this shape that is made where some region is asked for."""
    rule = MADE.get(act_of(node))
    return region if rule is None else rule(node, shape, region)
