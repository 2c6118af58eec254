"""The shape class of a group: what the toggles of its kernel are chosen from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from opweave.compiler.codegen.operands import GroupOperands, Key
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.running import running_type
from opweave.compiler.ir.values import Extents, count
from opweave.compiler.kernels.layout import Access
from opweave.compiler.kernels.walks import Operand as ArrayOperand
from opweave.compiler.toggles.declared import declared_for
from opweave.compiler.toggles.facts import Declared, Facts
from opweave.opcodes.cached import cached_property

# Elements from which each thread of a map takes several chunks.
LARGE = 1 << 20
# Head room below 2**31 for offsets inside the last block.
LONG = (1 << 31) - (1 << 24)
# Operations of an operator, see ``Cost.slots``, that is a function with constants of its own.
FUNCTION_SLOTS = 8


class GroupFacts(GroupOperands):
    """The facts of a group at the extents of a call."""

    def at(self, extents: Extents, spans: Mapping[int, int]) -> Self | None:
        """The same group at other extents; None where it is walked in another way there.

        Nothing but the walk and the facts follows from extents.
        """
        moved = object.__new__(type(self))  # copy() takes three times as long
        moved.__dict__ = {**self.__dict__, "extents": extents, "spans": spans}
        return moved if moved._own_walk() == self.walk else None

    def facts(self) -> Facts:
        """The shape class of this kernel, as its toggles see it."""
        cols = count(self.walk.cols, self.extents)
        rows = count(self.walk.rows, self.extents)
        plan = self.form.plan
        itemsize = self._itemsize()
        width = plan.lanes if plan else self._line()
        elements = self._row_elements(cols)
        chunks = -(-cols // (plan.lanes * plan.threads)) if plan else 1
        if cols < 2 * elements:
            chunks = -(-cols // elements)
        return Facts(
            self.device,
            itemsize,
            self._is_aligned(width),
            rows * cols >= LARGE,
            self._longest() >= LONG,
            plan,
            1 << max(0, chunks - 1).bit_length(),
            held=self._held(),
            slots=sum(n.operator.cost.slots for n in self.nodes if not self._is_of_row(n)),
            moved=sum(self._itemsizes()),
            in_chunks=len(self._chunked),
            one_by_one=self._one_by_one(),
            is_flat=not self.walk.rows and len(self._chunked) == len(self.operands),
            row_elements=elements,
            joined=self._joined(),
            wide_functions=self._has_wide_functions(),
            declared=self._declared(),
        )

    def _row_elements(self, cols: int) -> int:
        """Elements of a chunk of a row, of which rows have a whole one; 0 for any number."""
        return 0

    def _has_wide_functions(self) -> bool:
        """Whether an element takes functions of numbers of 8 bytes or more."""
        functions = (n for n in self.nodes if n.operator.cost.slots >= FUNCTION_SLOTS)
        return any(r.dtype.itemsize >= 8 for n in functions for r in n.results)

    def _is_of_row(self, node: Node) -> bool:
        """A map of values that are one for a row."""
        return node.is_map and node.result.id in self.form.row_values

    def _declared(self) -> tuple[Declared, ...]:
        """The toggles of the user's operators."""
        nodes = [self.graph.nodes[i] for i in self.group.nodes]  # those of a product, too
        return declared_for(nodes, self.extents, self.device, self.overrides)

    def _joined(self) -> tuple[int, ...]:
        """Bytes of one running value of each reduction and scan."""
        joined = (n for n in self.nodes if n.is_reduction or n.is_scan)
        return tuple(running_type(node).register_bytes for node in joined)

    def _one_by_one(self) -> int:
        """Operands that are read element by element, at strides or at computed places."""
        kinds = [self.access[key].kind for key in self.operands]
        gathers = sum(len(node.tables) for node in self.nodes)
        return sum(kind in ("strided", "gather", "runs") for kind in kinds) + gathers

    def _held(self) -> int:
        """32-bit registers that the loaded operands of one element take, at least one."""
        loaded = (
            o
            for key, o in self.operands.items()
            if not key.is_output and self.access[key].kind != "splat"
        )
        return max(1, sum(-(-o.value.dtype.register_bytes // 4) for o in loaded))

    @cached_property
    def _chunked(self) -> list[tuple[ArrayOperand, Access]]:
        """Operands that are read and written in chunks of consecutive elements."""
        return [
            (o, self.access[key])
            for key, o in self.operands.items()
            if self.access[key].kind == "chunk" and self._is_element(key)
        ]

    def _itemsizes(self) -> list[int]:
        return [o.value.dtype.itemsize for o, _ in self._chunked]

    def _itemsize(self) -> int:
        """Bytes of the widest element that is read or written in chunks."""
        return max(self._itemsizes(), default=4)

    def _line(self) -> int:
        """Elements from which every line of them starts on 16 bytes, whatever an access takes."""
        return max(1, 16 // min(self._itemsizes(), default=4))

    def _is_aligned(self, width: int) -> bool:
        """Every chunk of ``width`` elements starts on a boundary of its size, up to 16 bytes."""
        cols = count(self.walk.cols, self.extents)
        dense = self.walk.dense_row()
        return all(
            o.aligned and (a.rows_aligned or (a.base == dense and cols % width == 0))
            for o, a in self._chunked
        )

    def _longest(self) -> int:
        """Largest offset that the kernel computes, in elements."""
        walked = count((*self.walk.batch, *self.walk.rows, *self.walk.cols), self.extents)
        shapes = [count(o.value.shape, self.extents) for o in self._in_memory()]
        return max([walked, *shapes, *self._spans()])

    def _in_memory(self) -> list[ArrayOperand]:
        return [*self.operands.values(), *self.tables.values()]

    def _spans(self) -> list[int]:
        return [self.spans.get(self.graph.base(o.value).id, 0) for o in self._in_memory()]

    def _is_element(self, key: Key) -> bool:
        return not (key.is_output and key.value in self.form.row_values) and not key.kept
