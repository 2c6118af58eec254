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
from dataclasses import replace
from itertools import count

from opweave.compiler.ir.expr import literal
from opweave.compiler.ir.graph import Graph, Node, reduced_axes
from opweave.compiler.ir.rewriting import Rewriter
from opweave.compiler.ir.values import Axes, Operand, Scalar, Value, operand_key
from opweave.opcodes.core import Kind
from opweave.opcodes.shapes import broadcast_shape

# Operations that may be repeated for one value, summed over its readers: about the cost of storing
# and loading a float on a CPU (10 GB/s, 40 Gflop/s a core).
MOST_AGAIN = 40
# Operations that a slice moves past if it is the only reader.  None is repeated, but each has to
# be rewritten.
MOST_MOVED = 400
# A special function, and a load that no vector register takes, in operations.
SPECIAL = 16
SCATTERED = 5

Places = tuple[Operand, ...]
ZERO = operand_key(literal(0))


def read_through(graph: Graph) -> Graph:
    """Move slices and gathers of cheap maps to what the maps read."""
    return _Reads(graph).graph()


class _Reads(Rewriter):
    """The nodes so far, with the reads that were moved."""

    def __init__(self, graph: Graph):
        super().__init__(graph)
        self.stored = {i.value.id for i in graph.inputs}
        self.reduced: set[int] = set()  # values that follow from a reduction
        self.places: set[int] = set()  # values that follow from coordinates, which cost little
        self.replaced: dict[int, Value] = {}
        self.costs: dict[int, int] = {}
        self.known: dict[object, Operand | None] = {}
        self.returned = {o.id for o in graph.outputs if isinstance(o, Value)}
        self.roots: dict[int, int] = {}  # of a view: the value that it is a view of
        self.shown = self._shown_views()
        views = Counter(self.roots.get(number, number) for number in self.returned)
        self.shared = {root for root, count in views.items() if count > 1} | self.returned
        self.readers = self._count_readers()

    def graph(self) -> Graph:
        for node in self.source.nodes:
            now = replace(node, operands=tuple(self._now(o) for o in node.operands))
            made = self._through(node, now)
            if made is None:
                self.add(now)
            else:
                self.replaced[node.result.id] = made
        outputs = tuple(
            self.replaced.get(o.id, o) if isinstance(o, Value) else o for o in self.source.outputs
        )
        return replace(self.source, nodes=tuple(self.nodes), outputs=outputs)

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

    def _now(self, item: Operand) -> Operand:
        return self.replaced.get(item.id, item) if isinstance(item, Value) else item

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
            made = self._viewed(table, node.attr("axes"))
        else:
            made = self._part(node, table) if node.is_view else self._at(table, node.operands[1:])
        fits = isinstance(made, Value) and (made.shape, made.dtype) == (
            node.result.shape,
            node.result.dtype,
        )
        if not fits:  # undo the attempt
            self.forget(before_it)
            self.known = {}
            return None
        assert isinstance(made, Value)
        return made

    def _pays(self, before: Node, node: Node, table: Value) -> bool:
        """True where the repeated work costs less than the memory traffic that is saved."""
        (original, *_) = _read_values(before)
        is_shown = node.is_view and before.result.id in self.shown
        if is_shown and self.roots[before.result.id] in self.shared:
            return False  # a view of what is stored costs nothing, and shares its memory
        if node.operator.name == "view":
            return before.result.id not in self.returned and self._is_light(table)
        readers, is_kept = self.readers[original.id], original.id in self.returned
        if before.result.id in self.returned and (readers > 1 or is_kept):
            return False
        alone = node.is_view and len(self.source.users[original.id]) == 1 and not is_kept
        cost = self._cost(table)
        if cost <= MOST_MOVED if alone else cost * readers <= MOST_AGAIN:
            return True
        self.stored.add(table.id)  # as a whole, so that other nodes may read it anywhere
        return False

    def _is_light(self, value: Value) -> bool:
        """True for a value that a larger loop may compute: it is cheap, or computed once a row."""
        return self._cost(value) <= MOST_AGAIN // 4 or value.id in self.reduced

    def _cost(self, value: Value) -> int:
        """Operations and loads for one element of a value."""
        if value.id not in self.costs:
            seen, waiting, total = {value.id}, [value], 0
            while waiting:
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

    # Reading a value at places, one for each of its axes

    def _at(self, value: Value, places: Places) -> Operand | None:
        key = ("at", value.id, *map(operand_key, places))
        if key not in self.known:
            self.known[key] = self._at_anew(value, places)
        return self.known[key]

    def _at_anew(self, value: Value, places: Places) -> Operand | None:
        node = self.makers.get(value.id)
        if self._is_own(value, places):
            return value
        if value.id in self.stored:
            return self._gathered(value, places)
        if node is None or node.operator.notes_faults or node.operator.mixes:
            return None
        if node.is_coordinate:
            return self._cast(places[0], value)
        if node.operator.name == "full":
            return node.operands[0]
        if node.operator.name == "view":
            axes = node.attr("axes")
            by_axis = {a: p for a, p in zip(axes, places, strict=True) if a is not None}
            source = node.values[0]
            zero = _zero(places)
            return self._at(source, tuple(by_axis.get(d, zero) for d in range(len(source.shape))))
        if not node.is_map:
            return None
        return self.mapped(node, value, lambda o: self._at_operand(o, value, places))

    def _is_own(self, value: Value, places: Places) -> bool:
        """True where every element is read at its own place."""
        for axis, (place, extent) in enumerate(zip(places, value.shape, strict=True)):
            if extent == 1:
                at_start = isinstance(place, Scalar) and operand_key(place.expr) == ZERO
            else:
                made = self.makers.get(place.id) if isinstance(place, Value) else None
                shape = (extent, *[1] * (len(value.shape) - 1 - axis))
                at_start = made is not None and made.is_coordinate and made.result.shape == shape
            if not at_start:
                return False
        shapes = [place.shape for place in places if isinstance(place, Value)]
        return broadcast_shape(shapes) == value.shape

    def _at_operand(self, operand: Operand, value: Value, places: Places) -> Operand | None:
        """An operand of the node that makes a value, where the value is read."""
        if isinstance(operand, Scalar):
            return operand
        rank = len(operand.shape)
        own = places[len(places) - rank :]
        shape = value.shape[len(value.shape) - rank :]
        zero = _zero(places)
        met = zip(own, operand.shape, shape, strict=True)
        return self._at(operand, tuple(zero if e == 1 != of else p for p, e, of in met))

    def _gathered(self, value: Value, places: Places) -> Operand | None:
        if not any(isinstance(p, Value) for p in places):
            if any(e != 1 for e in value.shape):
                return None
            return value if not value.shape else self.made("view", (value,), axes=())
        return self.made(f"gather_{len(places)}d", (value, *places))

    def _cast(self, place: Operand, like: Value) -> Operand:
        if place.dtype is like.dtype:
            return place
        if isinstance(place, Scalar):
            return Scalar(place.expr, like.dtype)
        found = self.made("cast", (place,), dtype=like.dtype.numpy_name)
        assert found is not None
        return found

    # Slicing a value along an axis

    def _part(self, node: Node, value: Value) -> Operand | None:
        """What ``slice`` makes of an operand of its own value, by the slice's attributes."""
        key = ("part", value.id, operand_key(node.operands[1]), node.attrs)
        if key not in self.known:
            self.known[key] = self._part_anew(node, value)
        return self.known[key]

    def _part_anew(self, cut: Node, value: Value) -> Operand | None:
        axis, node = cut.attr("axis"), self.makers.get(value.id)
        if value.id in self.stored:
            return self._sliced(cut, value, axis)
        if node is None or node.operator.notes_faults or node.operator.mixes:
            return None
        if node.is_coordinate:
            return self._counted(cut, node) if axis == 0 else value
        if node.operator.name == "full":
            return node.operands[0]
        if not node.is_map:
            return None

        def part(operand: Operand) -> Operand | None:
            if isinstance(operand, Scalar):
                return operand
            own = axis - (len(value.shape) - len(operand.shape))
            if own < 0 or (operand.shape[own] == 1 != value.shape[axis]):
                return operand
            attrs = tuple(sorted({**dict(cut.attrs), "axis": own}.items()))
            return self._part(replace(cut, attrs=attrs), operand)

        return self.mapped(node, value, part)

    def _sliced(self, cut: Node, value: Value, axis: int) -> Operand | None:
        shape = (*value.shape[:axis], cut.attr("extent"), *value.shape[axis + 1 :])
        return self.varied(replace(cut, operands=(value, *cut.operands[1:])), value.dtype, shape)

    def _counted(self, cut: Node, node: Node) -> Operand | None:
        """Coordinates that begin elsewhere, in other steps."""
        dtype, start = node.result.dtype, cut.operands[1]
        assert isinstance(start, Scalar)
        shape = (cut.attr("extent"), *node.result.shape[1:])
        found: Operand = self.varied(node, dtype, shape, shape=shape)
        if cut.attr("step") != 1:
            step = Scalar(literal(cut.attr("step")), dtype)
            found = self.made("multiply", (found, step)) or found
        if start.expr.op == "literal" and start.expr.args[0] == 0:
            return found
        return self.made("add", (found, Scalar(start.expr, dtype)))

    # Giving a value other dimensions of extent 1

    def _viewed(self, value: Value, axes: Axes) -> Operand | None:
        key = ("viewed", value.id, axes)
        if key not in self.known:
            self.known[key] = self._viewed_anew(value, axes)
        return self.known[key]

    def _viewed_anew(self, value: Value, axes: Axes) -> Operand | None:
        node = self.makers.get(value.id)
        if node is not None and node.is_reduction and axes == _other_axes(node):
            shape = tuple(1 if a is None else value.shape[a] for a in axes)
            return self.varied(node, value.dtype, shape, keepdims=not node.attr("keepdims"))
        if value.id in self.stored:
            return self.made("view", (value,), axes=axes)
        if node is None or not node.is_map or node.operator.mixes:
            return None
        if node.operator.kind is Kind.CREATE:
            return self._counted_in(node, axes) if node.is_coordinate else None

        def viewed(operand: Operand) -> Operand | None:
            if isinstance(operand, Scalar):
                return operand
            lead = len(value.shape) - len(operand.shape)
            own = tuple(None if a is None or a < lead else a - lead for a in axes)
            return self._viewed(operand, own)

        return self.mapped(node, value, viewed)

    def _counted_in(self, node: Node, axes: Axes) -> Operand | None:
        """Coordinates with other dimensions behind them; those in front follow by broadcasting."""
        if 0 not in axes:
            return None
        shape = (node.result.shape[0], *[1] * (len(axes) - 1 - axes.index(0)))
        return self.varied(node, node.result.dtype, shape, shape=shape)


def _read_values(node: Node) -> tuple[Value, ...]:
    """The values that a node reads at other places than its own, or in other dimensions."""
    if node.operator.name == "view":
        kept = [a for a in node.attr("axes") if a is not None]
        return node.values if kept == sorted(kept) else ()
    return node.values[:1] if node.operator.name == "slice" else node.tables


def _other_axes(node: Node) -> Axes:
    """Axes that bring back dimensions which a reduction dropped, or drop those that it kept."""
    kept = count()
    rank, reduced = len(node.values[0].shape), reduced_axes(node)
    if node.attr("keepdims"):
        return tuple(d for d in range(rank) if d not in reduced)
    return tuple(None if d in reduced else next(kept) for d in range(rank))


def _zero(places: Places) -> Scalar:
    dtypes = [p.dtype for p in places]
    return Scalar(literal(0), dtypes[0])
