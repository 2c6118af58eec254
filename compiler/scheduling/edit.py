"""Edits of a kernel's op-code list: insert, replace, remove, then build again.

The list is a view of the group's nodes, so an edit is an edit of the graph; the edited kernel
keeps its NumPy meaning, and is checked like any other.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from opweave.compiler.ir.builder import GraphBuilder, scalar_type
from opweave.compiler.ir.expr import Expr, literal
from opweave.compiler.ir.graph import FunctionGraph, Node, substitute
from opweave.compiler.ir.rewriting import next_id
from opweave.compiler.ir.values import Value
from opweave.compiler.passes.dense import over_dense
from opweave.compiler.scheduling.fuse import partitioned
from opweave.compiler.scheduling.schedule import Schedule
from opweave.compiler.scheduling.verify import verify_graph, verify_schedule
from opweave.opcodes.allowed import check_name, shown
from opweave.opcodes.core import BoundOperator, Kind, Operator
from opweave.opcodes.errors import EditError
from opweave.opcodes.structural import refuse_removal

STRUCTURAL = ("signature", "index", "guard", "load", "store", "close")


class Edit:
    """One edit of group ``number`` of a schedule; each method returns a new schedule."""

    def __init__(
        self,
        schedule: Schedule,
        number: int,
        names: Mapping[str, int],
        extents: Mapping[str, int],
        scalar_types: Mapping[str, Any],
        loads: Mapping[str, int],
    ):
        """``names`` maps the kernel's result names (``v1``, ``sum0``) to node indices.

        ``loads`` maps the names of what it reads to ids of values.
        """
        self.extents = extents
        self.scalar_types = scalar_types
        self.schedule = schedule
        self.graph = schedule.graph
        self.number = number
        self.members = list(schedule.groups[number].nodes)
        self.names = names
        self.loads = loads

    def insert(self, code: Any, before: str | None, after: str | None) -> Schedule:
        """Insert one more op-code.

        ``before="store"`` transforms the value on its way to memory, ``before="exp"`` the first
        operand of that op-code, ``after="exp"`` its result for all users, ``after="load x"`` an
        operand as it is read.

        Raises:
            EditError: no such place, or the op-code does not fit there.
        """
        if (before is None) == (after is None):
            raise EditError("insert: expected either before= or after=")
        operator = self._elementwise(code)
        if before is not None and _first_word(before) == "store":
            value = self._stored(before)
            return self._spliced(operator, value, inside=None)
        if before is not None:
            node = self.graph.nodes[self._find(before)]
            if not isinstance(node.operands[0], Value):
                raise EditError(f"insert before {shown(before)}: its first operand is a scalar")
            return self._spliced(operator, node.operands[0], inside=[self._find(before)])
        assert after is not None
        if _first_word(after) == "load":
            return self._spliced(operator, self._loaded(after), inside=self.members)
        return self._spliced(operator, self.graph.nodes[self._find(after)].result, inside=[])

    def replace(self, name: str, code: Any) -> Schedule:
        """Put another operator in the place of one, on the same operands.

        Raises:
            EditError: the operator takes other operands or gives another type.
        """
        index, new = self._find(name), self._elementwise(code)
        old = self.graph.nodes[index]
        if old.is_reduction or old.is_scan or len(old.results) > 1:
            raise EditError(f"replace {shown(name)}: only elementwise op-codes can be exchanged")
        first, *rest = old.operands
        if new.operator.arity != len(old.operands) or new.operands:
            if not isinstance(first, Value):
                raise EditError(f"replace {shown(name)}: its first operand is a scalar")
            return self._rebuilt(index, new, first)
        return self._rebuilt(index, BoundOperator(new.operator), first, rest)

    def remove(self, name: str) -> Schedule:
        """Take an op-code out; its users get its first operand.

        Raises:
            EditError: its operand has another type, shape or order in memory than its result.
        """
        if _first_word(name) in STRUCTURAL:
            raise refuse_removal(name)
        index = self._find(name)
        node = self.graph.nodes[index]
        source = node.operands[0]
        if not isinstance(source, Value):
            raise EditError(f"remove {shown(name)}: its first operand is a scalar")
        if (source.dtype, source.shape) != (node.result.dtype, node.result.shape):
            raise EditError(
                f"remove {shown(name)}: it turns {source.type} into {node.result.type}; "
                "its users cannot take the operand"
            )
        graph = substitute(self.graph, {node.result.id: source})
        if not any(i != index for i in self.members):
            raise EditError(f"remove {shown(name)}: the kernel would be empty")
        if over_dense(graph) != graph:
            raise EditError(
                f"remove {shown(name)}: a reshape needs its result in rows, which "
                "its operand is not"
            )
        return self._scheduled(graph, [n for i, n in enumerate(graph.nodes) if i != index])

    @staticmethod
    def _elementwise(code: Any) -> BoundOperator:
        """The op-code, if it is elementwise with one result."""
        found = bound(code)
        row = found.operator
        several = any(c.results > 1 for c in row.opcodes) and not row.mixes
        if row.kind is not Kind.MAP or several or row.tables or row.notes_faults:
            raise EditError(
                f"{found.name}: only an elementwise op-code with one result fits into a kernel; "
                "put composites and reductions into the function, or into opweave.kernel"
            )
        return found

    # Places

    def _find(self, name: str) -> int:
        if _first_word(name) in STRUCTURAL:
            raise EditError(
                f"{shown(name)} is structural: the template supplies it, and replace takes a "
                "structural op-code for it, such as opweave.structural('guard', 'end = cols')"
            )
        if name in self.names:
            return self.names[name]
        found = [i for i in self.members if self.graph.nodes[i].operator.name == name]
        if len(found) == 1:
            return found[0]
        near = ", ".join(
            f"{n} ({self.graph.nodes[i].operator.name})"
            for n, i in self.names.items()
            if not found or i in found
        )
        what = "several op-codes have that name" if found else "no such op-code"
        raise EditError(f"{shown(name)}: {what}; expected one of {near or 'none'}, load or store")

    def _stored(self, place: str) -> Value:
        outputs = self.schedule.groups[self.number].outputs
        if place == "store":
            if len(outputs) > 1:
                raise EditError(
                    f"{len(outputs)} values are stored: say 'store out0' to "
                    f"'store out{len(outputs) - 1}'"
                )
            return outputs[0]
        digits = place.removeprefix("store out")
        if len(outputs) == 1 and digits == "":
            return outputs[0]
        if not digits.isdecimal() or len(digits) > 6 or int(digits) >= len(outputs):
            raise EditError(f"{shown(place)}: the kernel stores {len(outputs)} values")
        return outputs[int(digits)]

    def _loaded(self, place: str) -> Value:
        name = place.removeprefix("load").strip()
        for value in self.schedule.groups[self.number].inputs:
            is_argument = self.graph.base(value).id in self.graph.arguments
            if is_argument and value.id == self.loads.get(name):
                return value
        raise EditError(f"{shown(place)}: the kernel loads no such argument")

    # Splicing

    def _spliced(self, new: BoundOperator, value: Value, inside: list[int] | None) -> Schedule:
        """Apply ``new`` to a value, for uses outside the group (None), at nodes, or all ([])."""
        made, result = self._apply(new, value)
        if result.shape != value.shape or (result.dtype is not value.dtype and inside is not None):
            raise EditError(
                f"{new.operator.name} turns {value.type} into {result.type}: its users cannot "
                "take that"
            )
        members = set(self.members)
        if inside is None:
            touched = set(range(len(self.graph.nodes))) - members
        else:
            touched = set(inside) or set(range(len(self.graph.nodes)))
        nodes = [
            substitute(self.graph.with_nodes([n]), {value.id: result}).nodes[0]
            if i in touched
            else n
            for i, n in enumerate(self.graph.nodes)
        ]
        graph = self.graph
        if inside is None or not inside:
            graph = substitute(graph, {value.id: result})
        producer = self.graph.producers().get(value.id, -1)
        nodes[producer + 1 : producer + 1] = made
        return self._scheduled(graph, nodes)

    def _apply(
        self, new: BoundOperator, value: Value, rest: Any = None
    ) -> tuple[list[Node], Value]:
        builder = GraphBuilder(self.extents, next_id(self.graph))
        if rest is None:
            rest = [self._operand(o) for o in new.operands]
        typed = [value, *[(o.expr, o.dtype) if hasattr(o, "expr") else o for o in rest]]
        if len(typed) != new.operator.arity:
            raise EditError(
                f"{new.operator.name}: expected {new.operator.arity - 1} operands besides the "
                f"running value, found {len(rest)}"
            )
        (result,) = builder.apply(new.operator, typed, dict(new.attrs))
        if builder.parent:
            raise EditError(
                f"{new.operator.name}: the operands' extents agree here but need not at other "
                "calls; combine them in the function"
            )
        return builder.nodes, result

    def _rebuilt(self, index: int, new: BoundOperator, first: Any, rest: Any = None) -> Schedule:
        if not isinstance(first, Value):
            raise EditError("the first operand is a scalar: it cannot take another op-code")
        made, result = self._apply(new, first, rest)
        old = self.graph.nodes[index].result
        if (result.dtype, result.shape) != (old.dtype, old.shape):
            raise EditError(
                f"{new.operator.name} gives {result.type} where {old.type} is expected"
            )
        graph = substitute(self.graph, {old.id: result})
        return self._scheduled(graph, [*graph.nodes[:index], *made, *graph.nodes[index + 1 :]])

    def _operand(self, item: Any) -> Any:
        if isinstance(item, bool | int | float | complex | np.generic):
            return literal(item), scalar_type(item)
        check_name(item, "operand")
        if item in self.graph.scalars:
            return Expr("argument", (item,)), self.scalar_types[item]
        for known in self.graph.inputs:
            if known.name == item:
                return known.value
        if item in self.names:
            return self.graph.nodes[self.names[item]].result
        raise EditError(f"operand {shown(item)}: no argument or result has that name")

    def _scheduled(self, graph: FunctionGraph, nodes: list[Node]) -> Schedule:
        """Schedule edited nodes in the old groups, the new ones in the edited group."""
        group_of = {
            r.id: number
            for number, group in enumerate(self.schedule.groups)
            for i in group.nodes
            for r in self.graph.nodes[i].results
        }
        graph = verify_graph(replace(graph, nodes=tuple(nodes)))
        partition: dict[int, set[int]] = {}
        for index, node in enumerate(graph.nodes):
            if node.is_view:
                continue
            number = group_of.get(node.result.id, self.number)
            partition.setdefault(number, set()).add(index)
        made = partitioned(graph, list(partition.values()))
        return verify_schedule(replace(made, decisions=self.schedule.decisions))


def _first_word(place: Any) -> str:
    """
    Raises:
        EditError: no text.
    """
    if type(place) is not str:
        raise EditError(f"expected the name of an op-code, found {shown(place)}")
    return place.split()[0] if place.split() else ""


def bound(code: Any) -> BoundOperator:
    """An operator, or an operator with operands bound."""
    if isinstance(code, Operator):
        return BoundOperator(code)
    if isinstance(code, BoundOperator):
        return code
    raise EditError(
        f"expected an op-code such as opweave.opcodes.relu, found {type(code).__name__}"
    )
