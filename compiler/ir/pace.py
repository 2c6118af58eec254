"""How long NumPy takes for an operation, by constants: a model, for choices without a clock."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence, Set

from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import Extents, count
from opweave.opcodes.core import Kind
from opweave.opcodes.operators.registry import ALIASES, OPERATORS

# Seconds of NumPy 2.4 on one core of a Xeon with AVX-512 at some 3 GHz, rounded: a call, an
# element that is loaded and stored, and each instruction as ``Cost.slots`` counts them.
CALL, ELEMENT, SLOT = 1e-6, 0.5e-9, 0.1e-9
# A multiplication and an addition of a product.
FMA = 0.05e-9
# Seconds an operation that runs in parts is noted, looked up and launched for, on the same machine
# (100 to 250 us; it takes as long for one element as for a million).
IN_PARTS = 200e-6
# Loops whose operations take NumPy less than this run in C on one core; others in parts, on all.
ROLLED = 2e-3
# Likewise of a whole, whose kernels join more lines than a loop does, and run on all cores: one
# that writes to arguments, and any other (where they were even on two cores).
WRITING_ROLLED, WHOLE_ROLLED = 100e-6, 20e-6


# A whole with calls of NumPy's library costs so much beside what its kernels and NumPy compute: to
# be found and to make its results, and for each call.  On arrays so short that NumPy takes less
# than so many times that for all of it, kernels have to save as much.
WHOLE, BETWEEN, NOTICED = 5e-6, 5e-6, 20

# What moves elements, which NumPy often does in place, or not at all.
MOVES = frozenset(("where", "copy", "cast", "full", "coordinate", "real", "imag"))

# Seconds that an operation has to save in the mean, to be worth its part of all that.
PAYS = 200e-6
# Seconds that lines between two breaks have to save as kernels: of arrays as long as an argument,
# and of others, whose kernels may have to be prepared for another length at each call.
STEADY_LINES, LINES = 100e-6, 600e-6


def mean_seconds(nodes: Sequence[Node], extents: Extents) -> float:
    """NumPy's seconds for an operation, the mean of those that compute.

    What moves elements is left out, and arithmetic on places: much of it is ours, of what NumPy
    writes in place.
    """
    places: set[int] = set()
    found: list[float] = []
    for node in nodes:
        if (
            not _is_of_places(node, places)
            and node.operator.name not in MOVES
            and not node.is_view
            and not node.tables
        ):
            found.append(_seconds(node, extents))
    return sum(found) / max(1, len(found) + _looking_up(nodes, places))


def _is_of_places(node: Node, places: set[int]) -> bool:
    """Whether a node computes with places alone, which are added to those known."""
    values = [value.id for value in node.values]
    if not (places.issuperset(values) and (values or node.is_coordinate)):
        return False
    places.update(result.id for result in node.results)
    return True


def _looking_up(nodes: Sequence[Node], places: Set[int]) -> int:
    """How many nodes read at computed places, and compute these: of ``np.roll`` a dozen.

    They are noted and launched like others, where NumPy moves a block.
    """
    asked: set[int] = set()
    count = 0
    for node in reversed(nodes):
        if node.tables or asked.intersection(result.id for result in node.results):
            count += 1
            asked.update(value.id for value in node.pointwise if value.id in places)
    return count


def pays_between(nodes: Sequence[Node], extents: Extents) -> bool:
    """Whether a whole with calls of NumPy's library is no slower than NumPy; True without any."""
    calls = sum(node.is_library for node in nodes)
    seconds = [_seconds(n, extents) for n in nodes if _computes(n)]
    cost = WHOLE + BETWEEN * calls
    total = sum(seconds) + sum(_seconds(n, extents) for n in nodes if n.is_library)
    return not calls or total >= NOTICED * cost or saved(nodes, extents) >= cost


def saved(nodes: Sequence[Node], extents: Extents) -> float:
    """Seconds that kernels save between calls of NumPy's library, and before and behind these.

    Operations of one kernel load and store once.
    """
    calls = sum(node.is_library for node in nodes)
    places: set[int] = set()
    seconds: list[float] = []
    for node in nodes:
        if not _is_of_places(node, places) and _computes(node):
            seconds.append(_seconds(node, extents))
    longest = max((count(v.shape, extents) for n in nodes for v in n.results), default=0)
    return sum(seconds) - min(len(seconds), calls + 1) * (CALL + longest * ELEMENT)


def _computes(node: Node) -> bool:
    is_apart = node.is_view or node.is_library or node.is_coordinate
    return not is_apart and node.operator.name not in MOVES


def is_for_loops(seconds: float, writes: bool) -> bool:
    """Whether C may run loops of a whole whose operations take NumPy so long, in the mean."""
    return seconds < (WRITING_ROLLED if writes else WHOLE_ROLLED)


def saved_by_names(names: Iterable[str], breaks: int | None, elements: int) -> float:
    """Seconds that kernels save for an operation on so many elements, in the mean.

    Operations of one kernel load and store once.  Of a segment with one operation nothing is saved
    but what it computes, where that is more than a sum.

    Args:
        names: of the operations, "" for one of Python's.
        breaks: how many lines stand between segments; None if some of the code is out of sight.
    """
    slots = [_slots(ALIASES.get(name, name)) for name in names]
    if not slots or breaks is None:
        return elements * ELEMENT
    together = max(0, len(slots) - max(1, breaks)) / len(slots)
    return elements * (ELEMENT * together + SLOT * (sum(slots) / len(slots) - 1))


def _slots(name: str) -> int:
    return OPERATORS[name].cost.slots if name in OPERATORS else 1


def _seconds(node: Node, extents: Extents) -> float:
    sizes = [count(value.shape, extents) for value in (*node.values, *node.results)]
    if node.operator.kind is Kind.CONTRACT:
        first, second, made = *sizes[:2], max(1, sizes[-1])
        return CALL + FMA * made * math.sqrt(first * second / made)
    return CALL + max(sizes, default=1) * (ELEMENT + SLOT * node.operator.cost.slots)
