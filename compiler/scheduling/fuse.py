"""Fuse: group nodes so that each group becomes one kernel.

Legality is decided by a table (``ROLES``) and by the form that a set of nodes takes
(forms.form_of), profit by the rules of ``PROFIT``.  A pair fuses when the table lists it, the form
exists, no cycle arises, and no profit rule objects.  Every decision keeps its reason, for
``explain``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from opweave.compiler.ir.graph import FunctionGraph
from opweave.compiler.ir.values import Value
from opweave.compiler.passes.index_values import apart, together
from opweave.compiler.scheduling.alternatives import Alternatives
from opweave.compiler.scheduling.chain_sizes import ChainSize
from opweave.compiler.scheduling.forms import (
    HANDWRITTEN,
    LIBRARY,
    Form,
    form_of,
    group_inputs,
    group_outputs,
)
from opweave.compiler.scheduling.profit import PROFIT, _is_plain
from opweave.compiler.scheduling.schedule import Decision, Group, Schedule
from opweave.opcodes.core import Kind
from opweave.opcodes.errors import EditError, VerifierError

# (producer, consumer) -> how the producer joins the consumer's kernel.  Unlisted pairs never fuse.
ROLES: dict[tuple[Kind, Kind], str] = {
    (Kind.MAP, Kind.MAP): "same loop: the value stays in a register",
    (Kind.CREATE, Kind.MAP): "same loop: no memory is filled",
    (Kind.CREATE, Kind.REDUCE): "prologue: no memory is filled",
    (Kind.MAP, Kind.REDUCE): "prologue: computed as the reduction reads its operand",
    (Kind.REDUCE, Kind.MAP): "epilogue: applied to the reduced row before the store",
    (Kind.REDUCE, Kind.REDUCE): "same row: both reductions in one kernel",
    (Kind.CREATE, Kind.SCAN): "prologue: no memory is filled",
    (Kind.MAP, Kind.SCAN): "prologue: computed as the scan reads its operand",
    (Kind.SCAN, Kind.MAP): "epilogue: applied to each running value before the store",
    (Kind.SCAN, Kind.SCAN): "same row: both scans in one kernel",
    (Kind.CREATE, Kind.COUNT): "prologue: no memory is filled",
    (Kind.MAP, Kind.COUNT): "prologue: computed as elements are counted",
    (Kind.CONTRACT, Kind.MAP): "epilogue: applied to the product before the store",
    (Kind.CONTRACT, Kind.REDUCE): "rows: a block holds whole rows of the product and reduces them",
}
# Why a pair is not listed.
UNLISTED: dict[Kind, str] = {
    Kind.CONTRACT: "an operand of a product is read by every tile that needs it: stored first",
    Kind.HANDWRITTEN: HANDWRITTEN,
    Kind.LIBRARY: LIBRARY,
    Kind.COUNT: "blocks add to the counts in any order: they are known in the next kernel",
}


def _unlisted(producer: Kind, consumer: Kind) -> str:
    """Why a pair has no role."""
    known = producer if producer in (Kind.HANDWRITTEN, Kind.LIBRARY) else consumer
    return UNLISTED.get(known, "")


SIBLING = "siblings: both read the same operand"


def fuse(graph: FunctionGraph, enabled: bool = True) -> Schedule:
    """Group the nodes of a graph.

    x: f32[n] -> multiply -> relu -> sum       before: 3 kernels, 2 temporaries of n floats
             -> [multiply relu sum]            after:  1 kernel, 0 temporaries

    With ``enabled=False`` every node is a kernel of its own, the unfused meaning.
    """
    graph = apart(graph) if enabled else graph
    state = _Groups(graph, [{i} for i, node in enumerate(graph.nodes) if not node.is_view])
    if enabled:
        state.fuse_chains()
        changed = True
        while changed:
            changed = state.fuse_edges() | state.fuse_siblings()
        made = _Groups(*together(graph, list(state.members.values())))
        return replace(made.schedule(), decisions=state.decided())
    return state.schedule()


def partitioned(graph: FunctionGraph, partition: Sequence[set[int]]) -> Schedule:
    """The schedule of a given partition of the nodes.

    Raises:
        EditError: a part cannot be one kernel; the message gives the reason.
    """
    for part in partition:
        form = form_of(graph, part)
        if isinstance(form, str):
            raise EditError(f"this cannot be one kernel: {form}")
    return _Groups(graph, partition).schedule()


class _Groups:
    """Groups under construction: a partition of the nodes."""

    def __init__(self, graph: FunctionGraph, partition: Sequence[set[int]]):
        self.graph = graph
        self.members: dict[int, set[int]] = {min(part): set(part) for part in partition}
        self.group_of = {index: key for key, part in self.members.items() for index in part}
        self.producers = graph.producers()
        self.consumers = self._consumers()
        self.feeders: dict[int, set[int]] = {group: set() for group in self.members}
        for group, read in self.consumers.items():
            for following in read:
                self.feeders[following].add(group)
        self.returned = {o.id for o in graph.outputs if isinstance(o, Value)}
        self.decisions: dict[tuple[int, int], Decision] = {}
        self.alternatives = Alternatives.of(graph)

    def fuse_chains(self) -> None:
        """Merge maps of one shape into their only readers, which is always legal and always pays.

        In time linear in the graph; all else is tried pair by pair.
        """
        nodes = self.graph.nodes
        sizes = {key: ChainSize.of(nodes[i] for i in part) for key, part in self.members.items()}
        for consumer, node in enumerate(nodes):
            for value in node.values if _is_plain(node) else ():
                producer = self.producers.get(value.id)
                if producer is None or not self._is_link(producer, value, consumer):
                    continue
                a, b = self.group_of[producer], self.group_of[consumer]
                if a == b or not sizes[a].fits(sizes[b]):
                    continue
                self._decide(producer, consumer, True, ROLES[Kind.MAP, Kind.MAP])
                kept, gone = (a, b) if len(self.members[a]) >= len(self.members[b]) else (b, a)
                self._merge(kept, gone)
                sizes[kept].add(sizes.pop(gone), value.id)

    def _is_link(self, producer: int, value: Value, consumer: int) -> bool:
        """True for the value of a plain map that only one other map, of the same shape, reads."""
        node = self.graph.nodes[producer]
        readers = {u for r in node.results for u in self.graph.users.get(r.id, ())}
        return (
            _is_plain(node)
            and value.shape == self.graph.nodes[consumer].result.shape
            and readers == {consumer}
            and not any(r.id in self.returned for r in node.results)
        )

    def fuse_edges(self) -> bool:
        """Merge producers into their consumers where that is legal and pays."""
        changed = False
        for consumer, node in enumerate(self.graph.nodes):
            for value in node.values:
                producer = self.producers.get(self.graph.base(value).id)
                if node.is_view or producer is None or self._together(producer, consumer):
                    continue
                kinds = (self.graph.nodes[producer].operator.kind, node.operator.kind)
                through_view = value.id in self.graph.views
                role = None if through_view else ROLES.get(kinds)
                reason = "read in another order" if through_view else _unlisted(*kinds)
                changed |= self._try(producer, consumer, role, reason)
        return changed

    def _together(self, first: int, second: int) -> bool:
        return self.group_of[first] == self.group_of[second]

    def fuse_siblings(self) -> bool:
        """Merge groups that read the same operand."""
        changed = False
        readers: dict[int, list[int]] = {}
        for index, node in enumerate(self.graph.nodes):
            for value in () if node.is_view else node.values:
                readers.setdefault(value.id, []).append(index)
        for nodes in readers.values():
            for first, second in pairwise(nodes):
                if not self._together(first, second):
                    changed |= self._try(first, second, SIBLING)
        return changed

    def _try(self, producer: int, consumer: int, role: str | None, reason: str = "") -> bool:
        a, b = self.group_of[producer], self.group_of[consumer]
        union = self.members[a] | self.members[b]
        if role is None:
            found: Form | str = reason or "no role for this pair of kinds"
        elif self._path_outside(a, b) or self._path_outside(b, a):
            found = "another kernel stands between them"
        else:
            found = form_of(self.graph, union)
        if isinstance(found, Form):
            form = found
            found = next((r for rule in PROFIT if (r := rule(self.graph, union, form))), form)
            found = self.alternatives.objection(union, form) or found
        fused = isinstance(found, Form)
        self._decide(producer, consumer, fused, str(role) if fused else str(found))
        if fused:
            self._merge(a, b)
        return fused

    def _decide(self, producer: int, consumer: int, fused: bool, reason: str) -> None:
        first, second = (self.graph.nodes[n] for n in (producer, consumer))
        self.decisions[producer, consumer] = Decision(
            first.operator.name, second.operator.name, fused, reason, second.where
        )

    def decided(self) -> tuple[Decision, ...]:
        """The decisions in the order of the graph.

        A refused pair that other pairs brought into one kernel in the end is fused.
        """
        found = (p for p, made in self.decisions.items() if made.fused or not self._together(*p))
        pairs = sorted(found, key=lambda pair: pair[::-1])
        return tuple(self.decisions[pair] for pair in pairs)

    def _merge(self, kept: int, gone: int) -> None:
        for index in self.members.pop(gone):
            self.group_of[index] = kept
            self.members[kept].add(index)
        for there, back in ((self.consumers, self.feeders), (self.feeders, self.consumers)):
            for other in there.pop(gone):
                back[other].remove(gone)
                if other != kept:
                    back[other].add(kept)
                    there[kept].add(other)

    def _path_outside(self, start: int, end: int) -> bool:
        """True if ``end`` depends on ``start`` through a third group."""
        # members of a group lie anywhere in the order of the nodes, so no index bounds the search
        if not self.feeders[end] - {start}:
            return False
        pending = [g for g in self.consumers[start] if g != end]
        seen = set(pending)
        while pending:
            found = self.consumers[pending.pop()] - {start}
            if end in found:
                return True
            pending += found - seen
            seen |= found
        return False

    def _consumers(self) -> dict[int, set[int]]:
        """Map a group to the other groups that read what it makes, through views too."""
        found: dict[int, set[int]] = {group: set() for group in self.members}
        for index, node in enumerate(self.graph.nodes):
            for value in () if node.is_view else node.values:
                producer = self.producers.get(self.graph.base(value).id)
                if producer is not None and not self._together(producer, index):
                    found[self.group_of[producer]].add(self.group_of[index])
        return found

    def schedule(self) -> Schedule:
        """Order the groups by their dependencies."""
        order: list[int] = []
        ready: set[int] = set()
        waiting = sorted(self.members, key=lambda g: min(self.members[g]))
        needs: dict[int, set[int]] = {g: set() for g in waiting}
        for group in waiting:
            for following in self.consumers[group]:
                needs[following].add(group)
        while waiting:
            free = [g for g in waiting if needs[g] <= ready]
            if not free:
                raise VerifierError("kernels wait for each other: a merge made a cycle of groups")
            group = free[0]
            waiting.remove(group)
            ready.add(group)
            order.append(group)
        groups = [self._group(g, n if len(order) > 1 else None) for n, g in enumerate(order)]
        return Schedule(self.graph, tuple(groups), self.decided())

    def _group(self, key: int, number: int | None) -> Group:
        members = self.members[key]
        form = form_of(self.graph, members)
        assert isinstance(form, Form), form
        suffix = "" if number is None else f"_{number}"
        dtype = self.graph.nodes[max(members)].result.dtype
        name = f"{self.graph.name}{suffix}_{form.kind}_{dtype}"
        return Group(
            name,
            tuple(sorted(members)),
            form,
            tuple(group_inputs(self.graph, members)),
            tuple(group_outputs(self.graph, members)),
        )
