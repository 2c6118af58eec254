"""Reads through maps: a slice of a computed value becomes a computation on slices.

A kernel can read at other places than its own only from memory.  So a value that is sliced or
gathered would be stored first.  If the value is cheap to compute, the read moves to the operands:

    d = slice(x * w)            ->  d = slice(x) * slice(w)
    r = gather(x + 1, places)   ->  r = gather(x, places) + 1
    c = (sum(x) / 7)[:, None]   ->  c = sum(x, keepdims) / 7

So a chain of shifted views of computed values, such as a step of a simulation, is one kernel.
A gather outside of its table gives 0.  A value that is computed from such zeros need not be 0.
Nobody sees either, since a ``where`` discards the elements at which such gathers are made.
"""

from __future__ import annotations

from collections import Counter

from opweave.compiler.ir.graph import FunctionGraph, Node
from opweave.compiler.ir.values import Operand, Value, is_short
from opweave.compiler.passes.partial_reads import PartialReader

# Operations that may be repeated for one value, summed over its readers: about the cost of storing
# and loading a float on a CPU (10 GB/s, 40 Gflop/s a core).
MOST_AGAIN = 40
# Likewise, of a value that an argument holds afterwards: it is stored anyway, and where nobody
# needs what the argument held before, it is stored there.  And of a short table, which is stored
# fast and read often.
MOST_AGAIN_OF_WRITTEN = 4
# Operations that a slice moves past if it is the only reader.  None is repeated, but each has to
# be rewritten.
MOST_MOVED = 400
# A special function, and a load that no vector register takes, in operations.
SPECIAL = 16
SCATTERED = 5
# No limit is larger.
LARGEST = max(MOST_AGAIN, MOST_AGAIN_OF_WRITTEN, MOST_MOVED)


def read_through(graph: FunctionGraph) -> FunctionGraph:
    """Move slices and gathers of cheap maps to what the maps read."""
    return _Reads(graph).graph()


class _Reads(PartialReader):
    """What is read of the nodes so far."""

    def __init__(self, graph: FunctionGraph):
        super().__init__(graph)
        self.reduced: set[int] = set()  # what follows from a reduction
        self.places: set[int] = set()  # what follows from coordinates: next to nothing
        self.costs: dict[int, int] = {}
        self.returned = {o.id for o in graph.outputs if isinstance(o, Value)}
        outputs = [graph.outputs[w.output] for w in graph.written if not w.part]
        self.written = self._last_steps({o.id for o in outputs if isinstance(o, Value)})
        self.roots: dict[int, int] = {}  # of a view: the value that it is a view of
        self.shown = self._shown_views()
        views = Counter(self.roots.get(number, number) for number in self.returned)
        self.shared = {root for root, count in views.items() if count > 1} | self.returned
        self.readers = self._count_readers()

    def graph(self) -> FunctionGraph:
        for node in self.source.nodes:
            now = self.replaced.renewed(node)
            made = self._through(node, now)
            if made is None:
                self.add(now)
            else:
                self.replaced[node.result.id] = made
        return self.rebuilt(map(self.replaced.now, self.source.outputs))

    def _last_steps(self, written: set[int]) -> set[int]:
        """What arguments hold at the end, and what they held before a last part was replaced.

        Of that the last kernel can be made in place, and a copy is one more pass over memory.
        """
        makers = {r.id: node for node in self.source.nodes for r in node.results}
        found = set(written)
        for node in (makers[number] for number in written if number in makers):
            before = node.operands[-1] if node.operator.name == "where" else None
            if isinstance(before, Value) and before.type == node.result.type:
                found.add(before.id)
        return found

    def _shown_views(self) -> set[int]:
        """Views that a caller gets, and the views behind them."""
        for node in self.source.nodes:
            if node.is_view:
                source = node.values[0].id
                self.roots[node.result.id] = self.roots.get(source, source)
        found = set(self.returned)
        for node in reversed(self.source.nodes):
            if node.is_view and node.result.id in found:
                found.add(node.values[0].id)
        return found

    def _count_readers(self) -> dict[int, int]:
        """How often each value is read elsewhere; slices of a slice count, and it does not."""
        found: dict[int, int] = {}
        for node in reversed(self.source.nodes):
            users = [self.source.nodes[u] for u in self.source.users.get(node.result.id, ())]
            is_step = bool(users) and all(u.operator.name == "slice" for u in users)
            for value in _read_values(node):
                more = found.get(node.result.id, 1) if is_step else 1
                found[value.id] = found.get(value.id, 0) + more
        return found

    def add(self, node: Node) -> None:
        """Append a node, and note what its readers need to know of it."""
        super().add(node)
        source = node.values[0].id if node.is_view else None
        if node.is_map and all(v.id in self.places for v in node.values):
            self.places |= {r.id for r in node.results}
        if node.is_reduction or any(v.id in self.reduced for v in node.values):
            self.reduced |= {r.id for r in node.results}
        in_registers = node.is_map and not node.operator.mixes
        if not in_registers and (source is None or source in self.stored):
            self.stored |= {r.id for r in node.results}

    def _through(self, before: Node, node: Node) -> Value | None:
        """The result of a read as a map of reads; None where the read stays as it is."""
        (table, *_) = _read_values(node) or (None,)
        if table is None or table.id in self.stored or not self._pays(before, node, table):
            return None
        before_it = len(self.nodes)
        if node.operator.name == "view":
            made = self.viewed(table, node.attr("axes"))
        else:
            made = self.part(node, table) if node.is_view else self.at(table, node.operands[1:])
        wanted = node.result
        if isinstance(made, Value) and (made.shape, made.dtype) == (wanted.shape, wanted.dtype):
            return made
        self.forget(before_it)  # undo the attempt
        self.known = {}
        return None

    def _pays(self, before: Node, node: Node, table: Value) -> bool:
        """True where the repeated work costs less than the memory traffic that is saved."""
        (original, *_) = _read_values(before)
        is_shown = node.is_view and before.result.id in self.shown
        if is_shown and self.roots[before.result.id] in self.shared:
            return False  # a view of what is stored costs nothing, and shares its memory
        if node.operator.name == "view":
            is_once = self._is_light(table) or self._is_of_pixels(before)
            return before.result.id not in self.returned and is_once
        readers, is_kept = self.readers[original.id], original.id in self.returned
        if before.result.id in self.returned and (readers > 1 or is_kept):
            return False
        alone = node.is_view and len(self.source.users[original.id]) == 1 and not is_kept
        cost = self._cost(table)
        is_stored = original.id in self.written or self._looks_up(node, table)
        most = MOST_AGAIN_OF_WRITTEN if is_stored else MOST_AGAIN
        if cost <= MOST_MOVED if alone else cost * readers <= most:
            return True
        self.stored.add(table.id)  # as a whole, so that other nodes may read it anywhere
        return False

    def _looks_up(self, node: Node, table: Value) -> bool:
        """True for a gather from a short table, such as 256 numbers for each pixel of a picture.

        Its places come from memory, and have more dimensions, or are many where it is of a fixed
        size.
        """
        places = [p for p in node.operands[1:] if isinstance(p, Value) and p.id not in self.places]
        is_fixed = all(isinstance(extent, int) for extent in table.shape)
        return any(
            len(place.shape) > len(table.shape)
            or (is_fixed and not all(isinstance(extent, int) for extent in place.shape))
            for place in places
        )

    def _is_light(self, value: Value) -> bool:
        """True for a value that a larger loop may compute: it is cheap, or computed once a row."""
        return self._cost(value) <= MOST_AGAIN // 4 or value.id in self.reduced

    def _is_of_pixels(self, view: Node) -> bool:
        """True for a value of all channels of a pixel, which nothing but their maps reads."""
        found = [self.source.nodes[user].result.shape for user in self._users(view.result)]
        *rows, last = view.result.shape or (0,)
        wide = [s for s in found if s and is_short(s[-1]) and s[:-1] == tuple(rows)]
        return last == 1 and len(wide) == len(found) and self._is_alone(view.values[0])

    def _is_alone(self, value: Value) -> bool:
        """True where each value is read once of those that a value is made of in registers."""
        waiting = [value]
        while waiting:
            item = waiting.pop()
            if item.id in self.returned or len(self._users(item)) > 1:
                return False
            node = self.makers.get(item.id)
            values = node.pointwise if node is not None and item.id not in self.stored else ()
            waiting += [v for v in values if v.id not in self.stored]
        return True

    def _users(self, value: Value) -> list[int]:
        return self.source.users.get(value.id, [])

    def _cost(self, value: Value) -> int:
        """Operations and loads for one element of a value; beyond ``LARGEST`` not all of them."""
        if value.id not in self.costs:
            seen, waiting, total = {value.id}, [value], 0
            while waiting and total <= LARGEST:
                item = waiting.pop()
                node = self.makers.get(item.id)
                if node is None or item.id in self.stored:
                    total += 1
                elif item.id not in self.places:
                    cost = node.operator.cost
                    total += cost.flops + SPECIAL * cost.special + SCATTERED * self._scatters(node)
                    waiting += [v for v in node.values if v.id not in seen]
                    seen |= {v.id for v in node.values}
            self.costs[value.id] = total
        return self.costs[value.id]

    def _scatters(self, node: Node) -> bool:
        """True for a gather whose places along the last axis do not rise one by one: no window."""
        if not node.tables:
            return False
        place: Operand = node.operands[-1]
        while isinstance(place, Value):
            maker = self.makers.get(place.id)
            if maker is None or maker.operator.name not in ("add", "subtract"):
                return maker is None or not maker.is_coordinate
            place = maker.operands[0]
        return False


def _read_values(node: Node) -> tuple[Value, ...]:
    """The values that a node reads at other places than its own, or in other dimensions."""
    if node.operator.name == "view":
        kept = [a for a in node.attr("axes") if a is not None]
        return node.values if kept == sorted(kept) else ()
    return node.values[:1] if node.operator.name == "slice" else node.tables
