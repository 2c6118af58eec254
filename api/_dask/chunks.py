"""Chunks of every value that follow from those of the arguments, and where a function is cut.

A value's chunks say how its axes are cut into blocks; of an axis that nothing says they are None,
and it is one block, or what it meets.  No operator moves elements between blocks but by reading
neighbours.  A reduction over an axis of several chunks is a *cut*: its blocks are reduced alone,
and their results joined.  So is a product whose inner axis has several.  What cannot be done by
blocks is refused here, before anything runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import accumulate
from math import prod
from typing import Any

from opweave._dask.whole import WholeCall, act_of
from opweave.compiler.ir.graph import Node, reduced_axes, scanned_axis
from opweave.compiler.ir.values import Value
from opweave.opcodes.operators.registry import BUILT_IN

Chunks = tuple[int, ...]
Layout = tuple[Chunks | None, ...]
# Functions of NumPy's library that treat each row along their ``axis`` alone.
ROWWISE = ("np.sort", "np.argsort")


def layouts(whole: WholeCall, given: Mapping[int, Layout]) -> tuple[dict[int, Layout], list[Node]]:
    """The chunks of every value, and the nodes at which the function is cut, in order.

    Args:
        given: chunks of the inputs, by their ids.

    Raises:
        UnsupportedError: names the operator that blocks cannot do, and what to do.
    """
    found, cuts = dict(given), []
    for node in whole.graph.nodes:
        operands = [found[value.id] for value in node.values]
        made = LAYOUTS[act_of(node)](whole, node, operands)
        if is_cut(node, operands):
            cuts.append(node)
        for value in node.results:
            shape = whole.shape(value)
            rows = zip(made or (None,) * len(shape), shape, strict=True)
            found[value.id] = tuple((1,) if n == 1 else chunks for chunks, n in rows)
    return found, cuts


def is_cut(node: Node, operands: Sequence[Layout]) -> bool:
    """Whether a node joins results of several blocks."""
    if node.is_reduction:
        return any(several(operands[0][axis]) for axis in reduced_axes(node))
    return node.is_product and (several(operands[0][-1]) or several(operands[1][-2]))


def along(node: Node) -> int | None:
    """The axis that a node goes along, each row alone; None where it takes whole arrays."""
    if node.is_scan:
        return scanned_axis(node)
    axis = dict(node.attrs).get("axis")
    if node.operator.name not in ROWWISE or not isinstance(axis, int):
        return None
    return axis % len(node.result.shape)


def several(chunks: Chunks | None) -> bool:
    """Whether an axis has more than one chunk."""
    return chunks is not None and len(chunks) > 1


def joined(found: Sequence[Chunks | None]) -> Chunks | None:
    """The chunks of an axis where several arrays meet: those whose largest is the smallest."""
    known = [chunks for chunks in found if chunks is not None]
    return min(known, key=max) if known else None


def bounds(chunks: Chunks) -> list[tuple[int, int]]:
    """Where each chunk begins and ends.

    >>> bounds((3, 4))
    [(0, 3), (3, 7)]
    """
    ends = list(accumulate(chunks))
    return [(end - length, end) for end, length in zip(ends, chunks, strict=True)]


def sliced(chunks: Chunks, start: int, step: int, extent: int) -> Chunks:
    """Chunks of ``extent`` elements from ``start`` on, each from a single chunk of the array.

    >>> sliced((4, 4), 1, 1, 6), sliced((4, 4), 7, -1, 8), sliced((4, 4), 1, 2, 4)
    ((3, 3), (4, 4), (2, 2))
    """
    edges = bounds(chunks)
    if step > 0:  # index i reads start + step * i, and the first of those at the end is the next
        ends = [-(-(end - start) // step) for _, end in edges]
    else:
        ends = [(start - begin) // -step + 1 for begin, _ in reversed(edges)]
    ends = [min(max(end, 0), extent) for end in ends]
    lengths = (b - a for a, b in zip([0, *ends], ends, strict=False))
    return tuple(length for length in lengths if length) or (0,)


def even(extent: int, like: Chunks) -> Chunks:
    """Chunks of an axis of another length, as long as the largest of some.

    >>> even(7, (3, 2))
    (3, 3, 1)
    """
    if sum(like) == extent:
        return like
    length = max(1, max(like))
    return tuple(min(length, extent - at) for at in range(0, extent, length)) or (0,)


# A layout for each act: (whole, node, layouts of its array operands) -> that of its results


def _map(whole: WholeCall, node: Node, operands: Sequence[Layout]) -> Layout:
    return _met(whole, node.values, operands, len(node.result.shape))


def _met(
    whole: WholeCall, values: Sequence[Value], operands: Sequence[Layout], rank: int
) -> Layout:
    """Chunks where operands are broadcast; axes of one element follow the others."""
    found: list[list[Chunks | None]] = [[] for _ in range(rank)]
    for value, layout in zip(values, operands, strict=True):
        shape = whole.shape(value)
        for dim in range(1, len(shape) + 1):
            if shape[-dim] != 1:
                found[-dim].append(layout[-dim])
    return tuple(map(joined, found))


def _view(whole: WholeCall, node: Node, operands: Sequence[Layout]) -> Layout:
    return tuple((1,) if a is None else operands[0][a] for a in node.attr("axes"))


def _slice(whole: WholeCall, node: Node, operands: Sequence[Layout]) -> Layout:
    axis, (layout,) = node.attr("axis") % len(operands[0]), operands
    chunks, extent = layout[axis], whole.shape(node.result)[axis]
    if chunks is not None:
        chunks = sliced(chunks, int(whole.number(node.operands[1])), node.attr("step"), extent)
    return (*layout[:axis], chunks, *layout[axis + 1 :])


def groups(shape: Sequence[int], others: Sequence[int]) -> Iterator[tuple[list[int], list[int]]]:
    """Axes of two shapes of the same elements, in groups of as many elements.

    Axes of one element are in none.

    >>> list(groups((2, 6, 5), (12, 1, 5)))
    [([0, 1], [0]), ([2], [2])]
    """
    a = [d for d, n in enumerate(shape) if n != 1]
    b = [d for d, n in enumerate(others) if n != 1]
    while a or b:
        left, right = a[:1], b[:1]
        a, b = a[1:], b[1:]
        while (m := prod(shape[d] for d in left)) != (n := prod(others[d] for d in right)):
            if m < n:
                left.append(a.pop(0))
            else:
                right.append(b.pop(0))
        yield left, right


def _reshape(whole: WholeCall, node: Node, operands: Sequence[Layout]) -> Layout:
    (layout,), shape = operands, whole.shape(node.values[0])
    others = whole.shape(node.result)
    found: list[Chunks | None] = [None] * len(others)
    if not prod(shape):
        if any(map(several, layout)):
            raise whole.refused(node, "no elements in several chunks", _ONE)
        return tuple(found)
    for left, right in groups(shape, others):
        found[right[0]] = _regrouped(whole, node, layout, (shape, left), (others, right))
    return tuple(found)


_ONE = "rechunk the array to one chunk: x.rechunk(-1)"
Group = tuple[Sequence[int], list[int]]


def _regrouped(
    whole: WholeCall, node: Node, layout: Layout, source: Group, target: Group
) -> Chunks | None:
    """Chunks of the first axis of a group that a reshape makes of another group of axes."""
    (shape, left), (others, right) = source, target
    first = layout[left[0]]
    inside = next((axis for axis in left[1:] if several(layout[axis])), None)
    if inside is not None:
        raise whole.along(node, inside)
    if first is None or not several(first):
        return None
    rest, of = prod(shape[d] for d in left[1:]), prod(others[d] for d in right[1:])
    if any(length * rest % of for length in first):
        raise whole.along(node, left[0])
    return tuple(length * rest // of for length in first)


def _gather(whole: WholeCall, node: Node, operands: Sequence[Layout]) -> Layout:
    table, values = operands[0], node.pointwise
    made = list(_met(whole, values, operands[1:], len(node.result.shape)))
    extents = whole.shape(node.result)
    for chunks, index in zip(table, node.operands[1:], strict=True):
        if chunks is None or not isinstance(index, Value):
            continue
        shape = whole.shape(index)
        dims = [d for d in range(-len(shape), 0) if shape[d] != 1]
        if len(dims) == 1 and made[dims[0]] is None:
            made[dims[0]] = even(extents[dims[0]], chunks)
    return tuple(made)


def _reduce(whole: WholeCall, node: Node, operands: Sequence[Layout]) -> Layout:
    axes, (layout,) = reduced_axes(node), operands
    if is_cut(node, operands) and node.operator.name not in BUILT_IN:
        raise whole.along(node, next(a for a in axes if several(layout[a])))
    if node.attr("keepdims"):
        return tuple((1,) if d in axes else chunks for d, chunks in enumerate(layout))
    return tuple(chunks for d, chunks in enumerate(layout) if d not in axes)


def _mixes(whole: WholeCall, node: Node, operands: Sequence[Layout]) -> Layout:
    (layout,) = operands
    if several(layout[-1]):
        raise whole.along(node, len(layout) - 1)
    return (*layout[:-1], None)


def _product(whole: WholeCall, node: Node, operands: Sequence[Layout]) -> Layout:
    x, y = node.values
    batch = len(node.result.shape) - 2
    met: list[list[Chunks | None]] = [[] for _ in range(batch)]
    for value, layout in zip((x, y), operands, strict=True):
        shape = whole.shape(value)
        for dim in range(3, len(shape) + 1):
            if shape[-dim] != 1:
                met[2 - dim].append(layout[-dim])
    return (*map(joined, met), operands[0][-2], operands[1][-1])


def _library(whole: WholeCall, node: Node, operands: Sequence[Layout]) -> Layout | None:
    if (axis := along(node)) is None:
        return _in_one(whole, node, operands)
    if several(operands[0][axis]):
        raise whole.along(node, axis)
    return operands[0]


def _in_one(whole: WholeCall, node: Node, operands: Sequence[Layout]) -> Layout | None:
    """Of a node that takes whole arrays."""
    for operand, layout in enumerate(operands):
        for axis, chunks in enumerate(layout):
            if several(chunks):
                raise whole.along(node, axis, operand)
    return None


def _made(whole: WholeCall, node: Node, operands: Sequence[Layout]) -> Layout | None:
    return None


LayoutRule = Callable[[WholeCall, Node, Sequence[Layout]], Any]
LAYOUTS: dict[str, LayoutRule] = {
    "map": _map, "view": _view, "slice": _slice, "reshape": _reshape, "gather": _gather,
    "reduce": _reduce, "scan": _library, "mixes": _mixes, "product": _product,
    "library": _library, "handwritten": _in_one, "coordinate": _made, "full": _made,
}  # fmt: skip
