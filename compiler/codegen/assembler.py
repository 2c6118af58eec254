"""The assembler: how a group of the schedule becomes a kernel, as far as all forms share it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from opweave.compiler.codegen.kernel import Kernel
from opweave.compiler.codegen.kernel_parts import Line, Load, Param, Pass, Reduction, Store
from opweave.compiler.codegen.layout import Access
from opweave.compiler.codegen.lines import (
    Bound,
    Each,
    bind_coordinate,
    bind_gather,
    bind_map,
    bind_reduction,
)
from opweave.compiler.codegen.operands import Key
from opweave.compiler.codegen.tables import TableReads
from opweave.compiler.codegen.walks import Operand as ArrayOperand
from opweave.compiler.codegen.walks import Stride
from opweave.compiler.ir.device import Device
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import Extents, Value
from opweave.compiler.scheduling.schedule import Schedule
from opweave.compiler.toggles.choose import TOGGLES, choose
from opweave.opcodes.core import Phase
from opweave.opcodes.dtypes import DType

RESTRICT = " __restrict__"  # on pointers: no other one of the kernel leads to what it writes
NARROW = ("int8", "uint8", "int16", "uint16")  # registers


class Assembler(TableReads):
    """State while one group becomes a kernel: names given so far, and parameters found."""

    # How the running value at hand is taken from those of a reduction, and a row value from its.
    RUNNING = "[l]"
    ROW_VALUE = ""

    def __init__(
        self,
        schedule: Schedule,
        number: int,
        extents: Extents,
        spans: Mapping[int, int],
        device: Device,
        overrides: Mapping[str, int],
    ):
        super().__init__(schedule, number, extents, spans, device)
        self.overrides = overrides
        self.functions: dict[str, str] = {}
        self.reduced: dict[tuple[str, int, DType], int] = {}

    @property
    def template(self) -> str:
        """Name of the template, which is also that of its table of toggles."""
        return self.form.kind

    def _bind(self, index: int, node: Node, phase: Phase) -> Line:
        kept = node.result.id in self.form.kept
        operands = [self.text(o, kept) for o in node.operands[node.operator.tables :]]
        for value in node.results:
            if value.id not in self.names:
                self.names[value.id] = self._fresh(f"v{len(self.names)}")
        results = [self.names[r.id] for r in node.results]
        if node.is_coordinate:
            return bind_coordinate(node, index, self.places[node.result.id], results[0])
        if node.tables:
            return bind_gather(node, index, self._table_read(node), operands, results[0])
        return self._bound(index, node, phase, operands, results)

    def _bound(
        self,
        index: int,
        node: Node,
        phase: Phase,
        operands: Sequence[str],
        results: Sequence[str],
        each: Each | None = None,
    ) -> Line:
        """The line of a map; the function that it calls, if any, becomes one of the kernel's."""
        bound: Bound = bind_map(node, index, phase, operands, results, each)
        if bound.function:
            self.functions[bound.function] = bound.function_name
        return bound.line

    # Passes

    def _passes(self) -> tuple[list[Line], list[Pass]]:
        levels, rows = self.form.levels, self.row_level
        maps = [(i, n) for i, n in self.nodes if not n.is_reduction]
        deepest = max(levels.values(), default=0)

        def row_lines(level: int) -> list[Line]:
            return [
                self._bind(i, n, Phase.PROLOGUE if level == 0 else Phase.EPILOGUE)
                for i, n in maps
                if n.result.id in rows and levels.get(n.result.id, 0) == level
            ]

        before = row_lines(0)
        passes = []
        for level in range(deepest + 1):
            reduced = [
                (i, n)
                for i, n in self.nodes
                if n.is_reduction and levels[n.result.id] == level + 1
            ]
            stored = [
                v for v in self.group.outputs if v.id not in rows and levels.get(v.id, 0) == level
            ]
            if not reduced and not stored:
                continue
            lines, loads = self._elements(reduced, stored)
            chooses = self._chooses([n for _, n in reduced])
            found = (self._reduction(i, n, chooses=chooses) for i, n in reduced)
            reductions = tuple(r for r in found if r)
            after = row_lines(level + 1)
            stores = tuple(self._store(v) for v in stored)
            made = Pass(loads, lines, reductions, stores, tuple(after), chooses=chooses)
            passes.append(made)
        return before, passes

    def _elements(
        self, reduced: list[tuple[int, Node]], stored: list[Value]
    ) -> tuple[tuple[Line, ...], tuple[Load, ...]]:
        """The elementwise op-codes and loads that a pass needs, in order."""
        needed = {n.values[0].id for _, n in reduced} | {v.id for v in stored}
        chosen: list[tuple[int, Node]] = []
        keys: set[Key] = set()
        windows: list[Load] = []
        for index, node in reversed(self.nodes):
            element = not node.is_reduction and node.result.id not in self.row_level
            if not element or not any(r.id in needed for r in node.results):
                continue
            window = self._window(node)
            if window is not None:
                windows.append(window)
                continue
            chosen.append((index, node))
            needed |= {v.id for v in node.pointwise}
        feeds = {n.values[0].id for _, n in reduced}
        for _, node in chosen:
            if node.result.id in feeds:
                feeds |= {v.id for v in node.pointwise}
        for value_id in needed:
            if Key(value_id) in self.operands:
                keys.add(Key(value_id))
        lines = tuple(
            self._bind(i, n, Phase.PROLOGUE if n.result.id in feeds else Phase.EPILOGUE)
            for i, n in reversed(chosen)
        )
        order = list(self.operands)
        loads = tuple(
            self._load(key) for key in sorted(keys, key=order.index) if not self._is_row_load(key)
        )
        return lines, (*loads, *reversed(windows))

    def _chooses(self, reduced: Sequence[Node]) -> bool:
        """Reductions are without branches.

        What a branch writes is a masked store to a CPU, which waits for that before it loads
        again.  (Over a choice between narrow numbers g++ 12 fails.)
        """
        kinds = {n.operator.accumulator(n.result.dtype) for n in reduced if n.operator.accumulator}
        return self.device.is_host and bool(kinds) and not any(k.register in NARROW for k in kinds)

    def _reduction(self, index: int, node: Node, *, chooses: bool) -> Reduction | None:
        """A reduction of a pass; None for one that differs from another in ``keepdims`` alone."""
        operand = self.text(node.operands[0], False)
        key = (node.operator.name, node.values[0].id, node.result.dtype)
        first = self.reduced.setdefault(key, node.result.id)
        if first != node.result.id:
            self.names[node.result.id] = self.names[first]
            return None
        name = self._fresh(f"{node.operator.name}{self._count(node.operator.name)}")
        self.names[node.result.id] = f"{name}{self.ROW_VALUE}"
        return bind_reduction(node, index, operand, name, self.RUNNING, chooses=chooses)

    def _count(self, operator: str) -> int:
        return sum(n.startswith(operator) and n[len(operator) :].isdigit() for n in self.used)

    def _is_row_load(self, key: Key) -> bool:
        """An operand is read once a row."""
        return self.access[key].kind == "splat"

    def _load(self, key: Key) -> Load:
        operand = self.operands[key]
        return Load(operand.name, f"{operand.name}_v", operand.value.dtype, self.access[key])

    def _store(self, value: Value) -> Store:
        key = Key(value.id, value.id in self.form.kept, True)
        found: Access = self.access[key]
        if value.id not in self.form.row_values and found.kind == "splat":
            found = replace(found, kind="chunk")
        text = self.names.get(value.id) or self.text(value, False)  # a window has no name
        return Store(self.operands[key].name, text, value.dtype, found)

    # The whole

    def kernel(self) -> Kernel:
        """The kernel.

        Raises:
            ToggleError: an override cannot hold.
        """
        toggles = choose(self.template, self.facts(), self.overrides)
        before, passes = self._passes()
        row_loads = tuple(
            self._load(key)
            for key in self.operands
            if not key.is_output and self._is_row_load(key)
        )
        row_stores = tuple(
            self._store(v) for v in self.group.outputs if v.id in self.form.row_values
        )
        made = Kernel(
            name=self.group.name,
            template=self.template,
            title=self._title(),
            target=self.device.arch,
            params=(),
            toggles=toggles,
            functions=tuple(self.functions.items()),
            row_loads=row_loads,
            cached=self._cached(passes),
            passes=tuple(passes),
            row_lines=tuple(before),
            row_stores=row_stores,
            coordinates=self._coordinates(),
            batch=self.walk.batch,
            rows=self.walk.rows,
            cols=self.walk.cols,
            plan=self.form.plan,
            group=self.number,
            overridden=tuple(
                n for n in self.overrides if n not in {t.name for t in TOGGLES[self.template]}
            ),
        )
        return replace(self._completed(made), params=self._params())

    def _cached(self, passes: Sequence[Pass]) -> tuple[Load, ...]:
        """Operands of several passes."""
        uses = [load for p in passes for load in p.loads if not load.late]
        return tuple({load.register: load for load in uses if uses.count(load) > 1}.values())

    def _completed(self, kernel: Kernel) -> Kernel:
        """Add what only one form has."""
        return kernel

    def _title(self) -> tuple[str, ...]:
        names = ", ".join(n.operator.name for _, n in self.nodes)
        reads, writes = (
            ", ".join(f"{o.name}: {o.value.type}" for k, o in self._all() if k.is_output is side)
            for side in (False, True)
        )
        lines = [f"fused: {names}", f"{reads or 'nothing'} -> {writes}"]
        if self.form.plan:
            lines.append(f"accumulation plan: {self.form.plan} a row, joined pairwise")
        return tuple(lines)

    def _all(self) -> list[tuple[Key, ArrayOperand]]:
        """All operands, in the order of the parameters; a table may be read in order as well."""
        tables = ((Key(id), o) for id, o in self.tables.items())
        return list({**dict(tables), **self.operands}.items())

    def _coordinates(self) -> tuple[str, ...]:
        """Outer coordinates from ``row``, where there are several."""
        if all(a.base in ("", "row * cols") for a in self._accesses()):
            return ()
        return self._divided(
            "row", self.walk.outer, [f"r{d}" for d in range(len(self.walk.outer))]
        )

    def _accesses(self) -> list[Access]:
        return [*self.access.values(), *self.places.values()]

    def _divided(
        self, rest: str, outer: Sequence[tuple[int, ...]], names: Sequence[str]
    ) -> tuple[str, ...]:
        """Statements that take a running number apart into coordinates."""
        if len(outer) < 2:
            return ()
        out = []
        for number in range(len(outer) - 1, 0, -1):
            name = self.walk.extent_name(outer[number])
            out.append(f"const index_t {names[number]} = {rest} % {name};")
            rest = f"{rest} / {name}"
        out.append(f"const index_t {names[0]} = {rest};")
        return tuple(out)

    def _params(self) -> tuple[Param, ...]:
        out = [
            Param("input", o.name, f"const {o.value.dtype.storage}*{RESTRICT}", o.value.id)
            for k, o in self._all()
            if not k.is_output
        ]
        out += self.scalars.values()
        out += [
            Param("output", o.name, f"{o.value.dtype.storage}*{RESTRICT}", o.value.id)
            for k, o in self._all()
            if k.is_output
        ]
        strides = {s.name: s for s in self._strides()}
        extents = {p.name: p for p in self._extents()}  # two dimensions may have one extent
        return (
            *out,
            *extents.values(),
            *(Param("stride", s.name, "index_t", s) for s in strides.values()),
            *([Param("faults", "faults", "uint64*")] if self._notes_faults() else []),
        )

    def _notes_faults(self) -> bool:
        return any(n.operator.notes_faults for _, n in self.nodes)

    def _extents(self) -> list[Param]:
        """Parameters for the extents that the kernel needs."""
        out = [Param("extent", "rows", "index_t", self.walk.rows)] if self.walk.outer else []
        out.append(Param("extent", "cols", "index_t", self.walk.cols))
        if self._coordinates():
            out += self._named(self.walk.outer[1:])
        if any(a.kind in ("gather", "runs") for a in self._accesses()):
            out += self._named(self.walk.inner[1:])
        return [*out, *self.table_extents.values()]

    def _strides(self) -> list[Stride]:
        return [
            *(s for a in self.access.values() for s in a.strides),
            *self.table_strides.values(),
        ]

    def _named(self, groups: Sequence[tuple[int, ...]]) -> list[Param]:
        """Parameters for the extents of groups of dimensions that are no plain numbers."""
        return [
            Param("extent", name, "index_t", self.walk.extent_factors(dims))
            for dims in groups
            if not (name := self.walk.extent_name(dims)).isdigit()
        ]
