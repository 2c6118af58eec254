"""The operands of a group: what its kernel reads and writes, and how."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import count as count_from
from typing import NamedTuple

from opweave.compiler.ir.device import Device
from opweave.compiler.ir.graph import FunctionGraph, Input, Node
from opweave.compiler.ir.values import Extents, Value
from opweave.compiler.ir.views import View
from opweave.compiler.kernels.blocks import Blocks, columns_of
from opweave.compiler.kernels.layout import Access, access, viewed_layout
from opweave.compiler.kernels.walks import Operand as ArrayOperand
from opweave.compiler.kernels.walks import Walk, walk_rows
from opweave.compiler.scheduling.schedule import Group, Schedule
from opweave.opcodes.structural import Structure


class Key(NamedTuple):
    """What tells the array operands of a kernel apart.

    Attributes:
        value: id of the value.
        kept: it stands without the reduced axes.
        is_output: it is written.
    """

    value: int
    kept: bool = False
    is_output: bool = False


@dataclass(frozen=True)
class Setting:
    """What the kernels of a schedule depend on.

    Attributes:
        extents: of a call, by name.
        spans: by an input's value id the largest offset of its layout, in elements.
        overrides: values of toggles that the user has set.
        structure: structural op-codes that the user has put in.
    """

    schedule: Schedule
    extents: Extents
    spans: Mapping[int, int]
    device: Device
    overrides: Mapping[str, int] = field(default_factory=dict)
    structure: Structure = ()


class GroupOperands:
    """A group's array operands: their names and addresses."""

    def __init__(self, setting: Setting, number: int):
        schedule = self.schedule = setting.schedule
        self.graph: FunctionGraph = schedule.graph
        self.group: Group = schedule.groups[number]
        self.number, self.alone = number, len(schedule.groups) == 1
        self.form = self.group.form
        self.extents, self.spans = setting.extents, setting.spans
        self.device, self.overrides = setting.device, setting.overrides
        self.placed = [p.code for p in setting.structure if p.is_in(number)]
        self.pointers: dict[int, str] = {}
        self.nodes = [self.graph.nodes[i] for i in self.group.nodes]
        toggles = (t.name for node in self.nodes for t in node.operator.toggles)
        self.used = {*(i.name for i in self.graph.inputs), *self.graph.scalars, *toggles}
        self.indices = {n.result.id: i for i, n in zip(self.group.nodes, self.nodes, strict=True)}
        self.operands = self._operands()
        self.tables = {v.id: self._table(v) for n in self.nodes for v in n.tables}
        self.coordinates = {
            n.result.id: self._coordinate(n.result) for n in self.nodes if n.is_coordinate
        }
        self.blocks = self._blocks()
        self.walk = self._own_walk()
        self.access = {key: self._accessed(key, o) for key, o in self.operands.items()}
        self.places = {key: self._counted(o) for key, o in self.coordinates.items()}

    def _operands(self) -> dict[Key, ArrayOperand]:
        """Array operands that the loops read and write."""
        found: dict[Key, ArrayOperand] = {}
        made = {r.id for node in self.nodes for r in node.results}
        for node in self._readers():
            kept = not node.is_reduction and node.result.id in self.form.kept
            for value in node.pointwise:
                if value.id in made or (value.id, kept, False) in found:
                    continue
                other = found.get(Key(value.id, not kept))
                name = self._fresh(f"{other.name}_kept") if other else self._name(value)
                found[Key(value.id, kept)] = self._operand(value, name, self._dims(value, kept))
        for position, value in enumerate(self.group.outputs):
            kept = value.id in self.form.kept
            name = self._fresh(f"out{position}" if len(self.group.outputs) > 1 else "out")
            array = ArrayOperand(value, name, "C", self._dims(value, kept))
            found[Key(value.id, kept, True)] = array
        return found

    def _table(self, value: Value) -> ArrayOperand:
        """An operand that is read at computed places: its dimensions are none of the space's."""
        return self._operand(value, self._name(value), ())

    def _coordinate(self, value: Value) -> ArrayOperand:
        """Stands for an array of the coordinates, whose addresses are its elements."""
        layout = "u" + "b" * (len(value.shape) - 1)
        kept = value.id in self.form.kept
        return ArrayOperand(value, "", layout, self._dims(value, kept))

    def _walked(self) -> list[ArrayOperand]:
        """What decides which dimensions become one."""
        return [*self.operands.values(), *self.coordinates.values()]

    def _readers(self) -> list[Node]:
        """The nodes whose operands the loops read."""
        return self.nodes

    def _given(self, value: Value) -> Input | None:
        """The argument that a value is, or is a view of."""
        return self.graph.arguments.get(self.graph.base(value).id)

    def _name(self, value: Value) -> str:
        """Name of an operand's pointer: the argument's, else that of a temporary."""
        if value.id not in self.pointers:
            given = self._given(value)
            if given is None:
                name = self._fresh(f"t{value.id}")
            else:
                name = given.name if value == given.value else self._view_name(given.name, value)
            self.pointers[value.id] = name
        return self.pointers[value.id]

    def _view_name(self, given: str, value: Value) -> str:
        """``x_1_0`` for x[1:, :-1], where it is free; else ``x_view``, ``x_view2`` and so on."""
        offsets = self.graph.views[value.id].offsets
        stem = given.rstrip("_") or given  # C or a template means something else by it
        name = "_".join((stem, *map(str, offsets)))
        if not offsets or name in self.used:
            name = f"{stem}_view"
        for number in count_from(2):
            if name not in self.used:
                break
            name = f"{stem}_view{number}"
        return self._fresh(name)

    def _operand(self, value: Value, name: str, dims: tuple[int, ...]) -> ArrayOperand:
        """An operand that is read, with the layout of the array behind it."""
        given = self._given(value)
        layout, aligned = (given.layout, given.aligned) if given else ("C", True)
        view = self.graph.views.get(value.id)
        if view is None:
            return ArrayOperand(value, name, layout, dims, aligned)
        layout = viewed_layout(layout, view)
        aligned = aligned and view.is_whole  # else it begins anywhere
        strides = _strides_behind(view, given.name) if given else ()
        return ArrayOperand(value, name, layout, dims, aligned, strides)

    def _accessed(self, key: Key, operand: ArrayOperand) -> Access:
        """How an operand is addressed along the walk."""
        return access(operand, self.walk)

    def _counted(self, coordinate: ArrayOperand) -> Access:
        """How the places of elements follow from the walk."""
        walk = self.walk
        if coordinate.value.id in self.blocks.passing:  # its dimension may be one with others
            walk = replace(walk, inner=tuple((dim,) for dim in columns_of(walk)))
        # a row has coordinates in every thread, and a result where it has no elements
        return access(coordinate, walk, may_be_none=bool(self.form.axes))

    def _fresh(self, wanted: str) -> str:
        while wanted in self.used:
            wanted += "_"
        self.used.add(wanted)
        return wanted

    def _dims(self, value: Value, kept: bool) -> tuple[int, ...]:
        rank = len(self.form.space)
        dims = [d for d in range(rank) if not kept or d not in self.form.axes]
        return tuple(dims[len(dims) - len(value.shape) :])

    def _blocks(self) -> Blocks:
        """What is read of tables in whole rows; of no map of a host, nothing."""
        return Blocks((), (), {}, {})

    def _own_walk(self) -> Walk:
        return replace(self._walk(), on_host=self.device.is_host)

    def _walk(self) -> Walk:
        return walk_rows(self.form.space, self.form.axes, self._walked())


def _strides_behind(view: View, name: str) -> tuple[str, ...]:
    """Names of the strides that a view has from the array of that name, "" for others.

    x[1:, :-1] and x[:-1, 1:]  ->  ("x_s0", "x_s1"), and x[::2].T  ->  ("x_s1", "x_s0x2")
    """
    if view.shape_of_base != view.base.shape:
        return ()

    def stride(axis: int | None) -> str:
        step = 0 if axis is None else view.steps[axis]
        return "" if step < 1 else f"{name}_s{axis}" if step == 1 else f"{name}_s{axis}x{step}"

    return tuple(map(stride, view.axes))
