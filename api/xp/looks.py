"""A look at arrays: all that they need is computed, as one program."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

from opweave.compiler.ir.values import Where
from opweave.opcodes.errors import OpweaveError, OutOfMemoryError, PowerError
from opweave.xp.nodes import LOCK, LazyNode
from opweave.xp.programs import PROGRAMS, LazyProgram, Row

# So many operations may wait; then they are computed, though nobody looks.
MOST_PENDING = 64


class LookPlan(NamedTuple):
    """What a look computes.

    Attributes:
        given: arrays and numbers.
        wanted: the nodes whose values are results.
        elements: of the longest array.
        order: the nodes of the rows.
        leaves: the nodes whose memory is given.
    """

    rows: tuple[Row, ...]
    outputs: tuple[int, ...]
    given: list[Any]
    wanted: list[LazyNode]
    elements: int
    order: list[LazyNode]
    leaves: list[LazyNode]


def look(*nodes: LazyNode) -> None:
    """Compute these nodes, and on the way those that somebody else holds.

    Raises:
        PowerError: integers to a negative power.
        OutOfMemoryError: there is no memory for an array.
    """
    if all(node.memory is not None for node in nodes):
        return
    with LOCK:
        plan = planned(nodes)
        families = [] if plan is None else [f for leaf in plan.leaves if (f := leaf.family)]
        for family in families:  # whoever writes to one now gets memory of his own
            family.looks += 1
    if plan is None:  # another thread was here
        return
    try:
        program = PROGRAMS.find(plan.rows, plan.outputs, len(plan.given))
        try:
            found = program(plan.given, plan.elements)
        except Exception as error:
            raise _told(error, program, plan) from error
    finally:
        with LOCK:
            for family in families:
                family.looks -= 1
    with LOCK:
        _put(plan, found)


def _put(plan: LookPlan, found: Sequence[Any]) -> None:
    """Give nodes their memory: of a view of an operand, or of another result, part of that."""
    done = plan.leaves
    for node, array in zip(plan.wanted, found, strict=True):
        if node.memory is not None:  # another thread was faster
            continue
        shares = node.library.may_share_memory
        of = next((other for other in done if shares(other.memory, array)), None)
        node.put(array)
        if of is None:
            done.append(node)
        else:
            node.join(of)


def explained(nodes: Sequence[LazyNode]) -> Any:
    """What a look at these nodes would run; None where all is computed."""
    with LOCK:
        plan = planned(nodes)
    if plan is None:
        return None
    return PROGRAMS.find(plan.rows, plan.outputs, len(plan.given)).explain(plan.given)


def computed(node: LazyNode) -> Any:
    """The memory of a node, computed if need be."""
    if node.memory is None:
        look(node)
    return node.memory


def bounded(node: LazyNode) -> LazyNode:
    """The same node, computed where too many wait for it."""
    if node.pending > MOST_PENDING:
        with LOCK:
            node.pending = len(ordered([node]))  # those that several read were counted twice
        if node.pending > MOST_PENDING:
            look(node)
    return node


def ordered(nodes: Sequence[LazyNode]) -> list[LazyNode]:
    """The nodes to compute, each behind those that it reads."""
    found: set[LazyNode] = set()
    waiting = [node for node in nodes if node.memory is None]
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += [a for a in node.args if type(a) is LazyNode and a.memory is None]
    return sorted(found, key=_number)


def _number(node: LazyNode) -> int:
    """Nodes are recorded behind those that they read."""
    return node.number


def planned(nodes: Sequence[LazyNode]) -> LookPlan | None:
    """What has to be computed for nodes; None if nothing has."""
    order = ordered(nodes)
    if not order:
        return None
    places = {node: place for place, node in enumerate(order)}
    given: list[Any] = []
    rows: list[Row] = []
    for node in order:
        operands = []
        for arg in node.args:
            place = places.get(arg) if type(arg) is LazyNode else None
            if place is None:
                given.append(arg.memory if type(arg) is LazyNode else arg)
                place = -len(given)
                if type(arg) is LazyNode:
                    places[arg] = place
            operands.append(place)
        assert node.operation is not None
        rows.append((node.operation, tuple(operands), node.attrs, node.dtype.char))
    wanted = [n for n in order if n in nodes or n.is_held or _is_read_elsewhere(n, places)]
    elements = max(map(prod, {node.shape for node in places}))
    outputs = tuple([places[node] for node in wanted])
    leaves = [node for node, place in places.items() if place < 0]
    return LookPlan(tuple(rows), outputs, given, wanted, elements, order, leaves)


def _is_read_elsewhere(node: LazyNode, places: dict[LazyNode, int]) -> bool:
    """Whether a node that is not computed now needs it, too."""
    for reader in node.readers:
        found = reader()
        if found is not None and found.memory is None and found not in places:
            return True
    return False


def _told(error: Exception, program: LazyProgram, plan: LookPlan) -> Exception:
    """An error of an operation, with the line that recorded it."""
    node = plan.order[program.expression.failing(plan.given)]
    assert node.operation is not None
    kinds = (MemoryError, OutOfMemoryError), (ValueError, PowerError)
    kind = next((ours for theirs, ours in kinds if isinstance(error, theirs)), OpweaveError)
    made: Exception = kind(f"{node.operation.name}: {error} ({Where(*node.where)})")
    return made
