"""Kernels over pixels: the channels of a pixel are registers, so that operators may mix them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from opweave.compiler.codegen.assemble_rows import WIDE, WIDEST, MapAssembler
from opweave.compiler.codegen.group_facts import LARGE
from opweave.compiler.codegen.lines import CHANNEL, bind_coordinate
from opweave.compiler.codegen.operands import Key, Setting
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import Operand, Scalar, Value, count
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.kernels.kernel_parts import Line
from opweave.compiler.kernels.layout import Access, access
from opweave.compiler.kernels.needs import Needs
from opweave.compiler.kernels.walks import Operand as ArrayOperand
from opweave.compiler.kernels.walks import Walk, in_order, walk_map
from opweave.compiler.toggles.facts import Facts
from opweave.opcodes.cached import cached_property
from opweave.opcodes.codes import Phase


class PixelAssembler(MapAssembler):
    """A map whose loop goes over pixels; values with channels are arrays of registers."""

    TURNS_IN = ""

    def __init__(self, setting: Setting, number: int):
        self.columns: dict[int, tuple[Value, int]] = {}  # of a value: the table, and which it is
        super().__init__(setting, number)

    @property
    def channels(self) -> int:
        return self.form.channels

    def _has_channels(self, value: Value) -> bool:
        return value.shape[-1:] == (self.channels,)

    def _operands(self) -> dict[Key, ArrayOperand]:
        """On a GPU tables with as many columns as a pixel are read whole, by wide accesses.

        A host makes vectors of steps as short as these: 8 us and 12, for two columns of 40,000
        bytes (one core of a Xeon, g++ 12, 27 November 2026).
        """
        found = super()._operands()
        if self.device.is_host:
            return found
        read = {key.value: self._column(o.value) for key, o in found.items() if not key.is_output}
        columns = {value: column for value, column in read.items() if column is not None}
        often = Counter(table.id for table, _ in columns.values())
        self.columns = {v: (table, n) for v, (table, n) in columns.items() if often[table.id] > 1}
        kept = {k: o for k, o in found.items() if k.is_output or k.value not in self.columns}
        for table in {table.id: table for table, _ in self.columns.values()}.values():
            operand = self._operand(table, self._name(table), self._dims(table, False))
            kept.setdefault(Key(table.id), operand)
        return kept

    def _column(self, value: Value) -> tuple[Value, int] | None:
        """The dense table that a value is a column of, and which; None for others."""
        view = self.graph.views.get(value.id)
        if view is None or not self._has_channels(view.base) or view.column is None:
            return None
        given = self._given(view.base)
        is_dense = given is None or given.layout == "C"
        return (view.base, view.column) if is_dense else None

    def _walk(self) -> Walk:
        pixels = self.form.space[:-1]
        operands = list(self.operands.values())
        for columns in (1, 0):
            walk = walk_map(pixels, operands, columns)
            if (
                not columns
                or WIDE[self.device.is_host] <= count(walk.cols, self.extents) <= WIDEST
            ):
                break
        return walk

    def _accessed(self, key: Key, operand: ArrayOperand) -> Access:
        """The address of a pixel; ``channel`` is the step to the next of its values."""
        if not self._has_channels(operand.value):
            return access(operand, self.walk)
        found = access(operand, self.walk, is_dense=False)
        own = len(operand.value.shape) - 1
        inner, outer = (
            [operand.own_dim(dims[-1]) is not None for dims in part]
            for part in (self.walk.inner, self.walk.outer)
        )
        # of its own for each row of the walk, or the same for all of them
        is_picture = all(inner) and (all(outer) or not any(outer))
        if operand.layout == "C" and in_order(self.walk) and is_picture:
            base = self.walk.dense_row() if all(outer) else ""
            return Access("pixels", base, rows_aligned=not base, channel="1")
        if operand.has_unit_stride(own):
            return replace(found, channel="1")
        step = operand.stride(own)
        return replace(found, channel=step.name, strides=(*found.strides, step))

    def _counted(self, coordinate: ArrayOperand) -> Access:
        """The number of a channel: no other place is known in a loop over pixels."""
        return Access("chunk", "")

    @cached_property
    def _chunked(self) -> list[tuple[ArrayOperand, Access]]:
        return [
            (o, self.access[key])
            for key, o in self.operands.items()
            if self.access[key].kind in ("chunk", "pixels")
        ]

    def facts(self) -> Facts:
        pixels = count((*self.walk.rows, *self.walk.cols), self.extents)
        found = super().facts()
        aligned = self._is_aligned(max(4, self._line()))
        large = pixels * self.channels >= LARGE
        return replace(found, can_vectorise=aligned, large=large, channels=self.channels)

    def text(self, operand: Operand, kept: bool) -> str:
        """Text of an operand: channel ``h`` of it, if it has channels."""
        if isinstance(operand, Scalar):
            return super().text(operand, kept)
        if operand.id in self.columns:
            table, column = self.columns[operand.id]
            key = Key(table.id)
            held = "v" if self.access[key].kind == "splat" else "p"  # alike for all pixels
            return f"{self.operands[key].name}_{held}[{column}]"
        lane = "[h]" if self._has_channels(operand) else ""
        if operand.id in self.names:
            return f"{self.names[operand.id]}{lane}"
        name = self.operands[Key(operand.id)].name
        if self.access[Key(operand.id)].kind == "splat":
            return f"{name}_v{lane}"
        return f"{name}_p[h]" if lane else f"{name}_v[c][l]"

    def _bind(self, node: Node, phase: Phase) -> list[Line]:
        if node.is_coordinate:
            (name,) = self._results(node)
            place = self.places[node.result.id]
            return [bind_coordinate(self._origin(node), place, name, CHANNEL)]
        names = self._results(node)
        operands = [self.text(o, False) for o in node.operands]
        if node.operator.mixes is not None:
            operands = [operands[0].removesuffix("[h]"), *operands[1:]]  # all channels at once
        each = CHANNEL if self._has_channels(node.result) else None
        return self._mapped(node, phase, operands, names, each)

    def _needs(
        self, stored: Sequence[tuple[Value, int]], reduced: Sequence[tuple[Node, int]]
    ) -> Needs:
        found = super()._needs(stored, reduced)
        found.read([t for v, (t, _) in self.columns.items() if v in found.first], 0)
        return found

    def _title(self) -> tuple[str, ...]:
        first, *rest = super()._title()
        return (first, *rest, f"a pixel has {self.channels} channels")

    def _completed(self, kernel: Kernel) -> Kernel:
        return replace(kernel, channels=self.channels)
