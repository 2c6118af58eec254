"""Views: transpositions and their kin cost no kernel.

A view is a node of kind MOVE.  Dimension ``d`` of the result of *view* is dimension ``axes[d]`` of
its operand, or new for None; *slice* takes some of the indices of one dimension.  No kernel
computes them; who reads one reads its base with other strides, from another first element on.
The pass below moves views towards the outputs, so that what is computed on both sides of a
transposition shares a kernel, and a result that is transposed last is returned as a view, as by
NumPy.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from opweave.compiler.ir.expr import Expr
from opweave.compiler.ir.graph import FunctionGraph, Node, reduced_axes, scanned_axis
from opweave.compiler.ir.rewriting import Rewriter
from opweave.compiler.ir.values import Axes, Operand, Scalar, Value
from opweave.opcodes import OPERATORS
from opweave.opcodes.shapes import viewed_shape

# Operators whose purpose is to make an array in the order of a view.
KEPT = ("copy",)


def composed(outer: Axes, inner: Axes) -> Axes:
    """The axes of a view of a view."""
    return tuple(None if a is None else inner[a] for a in outer)


def is_identity(axes: Axes, rank: int) -> bool:
    """True where a view equals its operand, except for leading dimensions of extent 1."""
    lead = len(axes) - rank
    return lead >= 0 and axes == (*[None] * lead, *range(rank))


def settle_views(graph: FunctionGraph) -> FunctionGraph:
    """Move views behind maps and reductions, and join views of views.

    y = exp(x.T) + b        ->  y = (exp(x) + b[:, None]).T
    s = sum(x.T, axis=0)    ->  s = sum(x, axis=1)
    c = cumsum(x.T, axis=0) ->  c = cumsum(x, axis=1).T
    z = relu((x @ w).T)     ->  z = relu(x @ w).T
    """
    return _Settling(graph).graph()


class _Settling(Rewriter):
    """The nodes so far, and which values are views of which."""

    def __init__(self, graph: FunctionGraph):
        super().__init__(graph)
        self.inputs = {i.value.id for i in graph.inputs}
        self.views: dict[int, tuple[Value, Axes]] = {}
        self.kept: dict[tuple[int, Axes], Value] = {}  # by the reduction and the view's axes

    def graph(self) -> FunctionGraph:
        for node in self.source.nodes:
            node = self.replaced.renewed(node)
            if not node.is_view:
                node = node.reading(map(self._restored, node.operands))
            if node.operator.name == "slice":
                self._slice(node)
            elif node.operator.name == "reshape":
                self._reshape(node)
            elif node.is_view:
                self._view(node)
            elif node.is_reduction and node.values[0].id in self.views:
                self._reduction(node)
            elif node.is_scan and node.values[0].id in self.views:
                self._scan(node)
            elif not self._sunk(node):
                self.add(node)
        return self.rebuilt(self._outputs())

    def _outputs(self) -> tuple[Value | Expr, ...]:
        """The outputs.  Several views of one value stay views, since they share memory."""
        roots: dict[int, int] = {}
        for node in self.nodes:
            if node.is_view:
                source = node.values[0].id
                roots[node.result.id] = roots.get(source, source)
        made = [*map(self.replaced.now, self.source.outputs)]
        shared = Counter(roots.get(o.id, o.id) for o in made if isinstance(o, Value))

        def returned(item: Value | Expr) -> Value | Expr:
            if not isinstance(item, Value) or shared[roots.get(item.id, item.id)] > 1:
                return item
            found = self._restored(item)
            return found if isinstance(found, Value) else item

        return tuple(map(returned, made))

    def _view(self, node: Node) -> None:
        base, axes = self._base(node.values[0])
        wanted = _with_ones(base, composed(node.attr("axes"), axes))
        self.replaced[node.result.id] = self._viewed(base, wanted, node, node.result)

    def _slice(self, node: Node) -> None:
        """Slice the value behind a view, and view the slice, which may be read in any order."""
        base, axes = self._base(node.values[0])
        axis = axes[node.attr("axis")]
        if axis is None:  # a new axis of extent 1: the slice takes it, or nothing
            self.add(node)
            return
        shape = (*base.shape[:axis], node.attr("extent"), *base.shape[axis + 1 :])
        is_plain = node.values[0] == base
        made = node.result if is_plain else self.fresh(base.dtype, shape)
        operands = (base, *node.operands[1:])
        self.add(replace(node.varied(axis=axis), operands=operands, results=(made,)))
        if base.id in self.inputs:
            self.inputs.add(made.id)
        if not is_plain:
            self.replaced[node.result.id] = self._viewed(made, axes, node, node.result)

    def _reshape(self, node: Node) -> None:
        """A reshaped value, which is a value of its own; see ``over_dense``."""
        self.add(node)
        if node.values[0].id in self.inputs:
            self.inputs.add(node.result.id)

    def _restored(self, item: Operand) -> Operand:
        """The reduction with ``keepdims``, for a view that brings its axes back as new ones.

        A kernel can compute with that; a view of the reduction would have to lie in memory.
        """
        base, axes = self.views.get(item.id, (None, ())) if isinstance(item, Value) else (None, ())
        node = None if base is None else self.makers.get(base.id)
        if base is None or node is None or not node.is_reduction or node.attr("keepdims"):
            return item
        reduced = reduced_axes(node)
        places = iter(range(len(base.shape)))
        rank = len(node.values[0].shape)
        if axes != tuple(None if d in reduced else next(places) for d in range(rank)):
            return item
        if (base.id, axes) not in self.kept:
            shape = tuple(1 if a is None else base.shape[a] for a in axes)
            self.kept[base.id, axes] = self.varied(node, base.dtype, shape, keepdims=True)
        return self.kept[base.id, axes]

    def _base(self, value: Value) -> tuple[Value, Axes]:
        return self.views.get(value.id, (value, tuple(range(len(value.shape)))))

    def _viewed(self, base: Value, axes: Axes, node: Node, result: Value | None = None) -> Value:
        """A view of a value that is no view; the value itself where the view equals it."""
        if is_identity(axes, len(base.shape)) and len(axes) == len(base.shape):
            return base
        shape = viewed_shape([base.shape], {"axes": axes})
        value = result or self.fresh(base.dtype, shape)
        self.add(Node(OPERATORS["view"], (base,), (value,), (("axes", axes),), node.where))
        self.views[value.id] = (base, axes)
        return value

    def _reduction(self, node: Node) -> None:
        """Reduce the base of a view along the axes that are meant."""
        base, axes = self._base(node.values[0])
        reduced = reduced_axes(node)
        named = {axes[d] for d in reduced} - {None}
        if not named and node.attr("axis") is not None:
            self.add(node)  # it reduces axes of extent 1 that the base does not have
            return
        meant = tuple(sorted(a for a in named if a is not None))
        axis = None if node.attr("axis") is None else meant
        dropped = set(range(len(base.shape))) if axis is None else named
        shape = tuple(1 if d in dropped else e for d, e in enumerate(base.shape))
        reduction = replace(node, operands=(base,))
        made = self.varied(reduction, node.result.dtype, shape, axis=axis, keepdims=True)
        kept = axes if node.attr("keepdims") else _without(axes, reduced)
        self.replaced[node.result.id] = self._viewed(made, kept, node)

    def _scan(self, node: Node) -> None:
        """Scan the base of a view along the axis that is meant, and view the result."""
        base, axes = self._base(node.values[0])
        axis = axes[scanned_axis(node)]
        if axis is None:  # a new one of extent 1
            self.add(node)
            return
        scan = replace(node, operands=(base,))
        made = self.varied(scan, node.result.dtype, base.shape, axis=axis)
        self.replaced[node.result.id] = self._viewed(made, axes, node)

    def _sunk(self, node: Node) -> bool:
        """Apply a map to the bases of its operands, and view the result; False: not possible."""
        full = [v for v in node.values if v.shape == node.result.shape]
        moved = [v for v in full if v.id in self.views]
        row = node.operator
        stays = row.mixes or row.tables or row.notes_faults or row.name in KEPT
        if not node.is_map or stays or not moved:
            return False
        made = [v for v in moved if self.views[v.id][0].id not in self.inputs]
        base, axes = self.views[(made or moved)[0].id]
        # if all operands are inputs, it pays only if none of them has to be read transposed then
        if not made and any(self.views.get(v.id, (v, ()))[1] != axes for v in full):
            return False
        places = _inverse(axes, len(base.shape))
        targets = [self._target(o, places, len(axes)) for o in node.operands]
        if any(t is None for t in targets):
            return False
        operands = tuple(
            o if isinstance(o, Scalar) or t is None else self._viewed_or_same(o, t, node)
            for o, t in zip(node.operands, targets, strict=True)
        )
        results = tuple(self.fresh(r.dtype, base.shape) for r in node.results)
        self.add(replace(node, operands=operands, results=results))
        for old, new in zip(node.results, results, strict=True):
            self.replaced[old.id] = self._viewed(new, axes, node)
        return True

    def _target(self, operand: Operand, places: Axes, rank: int) -> Axes | None:
        """Axes that read an operand in the order of the base; None where that is impossible."""
        if isinstance(operand, Scalar):
            return ()
        base, axes = self._base(operand)
        padded = (*[None] * (rank - len(axes)), *axes)
        found = _with_ones(base, tuple(None if p is None else padded[p] for p in places))
        fits = is_identity(found, len(base.shape)) or base.id in self.inputs
        named = [a for a in found if a is not None]
        whole = all(e == 1 or d in named for d, e in enumerate(base.shape))
        return found if fits and whole else None

    def _viewed_or_same(self, operand: Value, axes: Axes, node: Node) -> Value:
        base, _ = self._base(operand)
        if is_identity(axes, len(base.shape)):
            return base  # leading dimensions of extent 1 broadcast by themselves
        return self._viewed(base, axes, node)


def _without(axes: Axes, reduced: Sequence[int]) -> Axes:
    return tuple(a for d, a in enumerate(axes) if d not in reduced)


def _with_ones(base: Value, axes: Axes) -> Axes:
    """The same view; dimensions of extent 1 name the axis of the base, where there is one."""
    lead = len(axes) - len(base.shape)
    return tuple(
        d - lead
        if axis is None and d >= lead and base.shape[d - lead] == 1 and d - lead not in axes
        else axis
        for d, axis in enumerate(axes)
    )


def _inverse(axes: Axes, rank: int) -> Axes:
    """Where each dimension of the base stands in the view, None if nowhere."""
    return tuple(axes.index(d) if d in axes else None for d in range(rank))
