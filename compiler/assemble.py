"""Assemble: from a group of the schedule to a kernel, and from a kernel to its source."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from opweave.compiler.device import Device
from opweave.compiler.ir import (
    Extents,
    Graph,
    Node,
    Operand,
    Scalar,
    Value,
    count,
)
from opweave.compiler.kernel import Kernel, Line, Load, Param, Pass, Reduction, Store
from opweave.compiler.layout import Access, Walk, access, walk_map, walk_rows
from opweave.compiler.layout import Operand as ArrayOperand
from opweave.compiler.lines import Bound, bind_map, bind_reduction
from opweave.compiler.literals import c_literal
from opweave.compiler.schedule import Group, Schedule
from opweave.compiler.toggles import TOGGLES, Facts, choose
from opweave.opcodes.core import Phase

if TYPE_CHECKING:
    pass

# Columns from which a map walks rows and columns apart instead of dividing the index.
WIDE = {True: 32, False: 2048}
# Columns that 65535 blocks (the limit of gridDim.y) of 256 threads cover.
WIDEST = 65535 * 256
# Elements from which each thread of a map takes several chunks.
LARGE = 1 << 20
# Head room below 2**31 for offsets inside the last block.
LONG = (1 << 31) - (1 << 24)


def assemble(
    schedule: Schedule,
    number: int,
    extents: Extents,
    spans: Mapping[int, int],
    device: Device,
    overrides: Mapping[str, int],
) -> Kernel:
    """Make the kernel of one group.

    ``spans`` maps an input's value id to the largest offset of its layout, in elements.

    Raises:
        ToggleError: an override cannot hold.
    """
    return _Assembler(schedule, number, extents, spans, device, overrides).kernel()


def shape_class(
    schedule: Schedule, extents: Extents, spans: Mapping[int, int], device: Device
) -> tuple[tuple[Walk, Facts], ...]:
    """What the kernels of a schedule depend on besides it: walk and facts of each group."""
    made = (
        _Assembler(schedule, n, extents, spans, device, {}) for n in range(len(schedule.groups))
    )
    return tuple((a.walk, a.facts()) for a in made)


class _Assembler:
    """State while one group becomes a kernel: names given so far, and parameters found."""

    def __init__(
        self,
        schedule: Schedule,
        number: int,
        extents: Extents,
        spans: Mapping[int, int],
        device: Device,
        overrides: Mapping[str, int],
    ):
        self.graph: Graph = schedule.graph
        self.group: Group = schedule.groups[number]
        self.number = number
        self.form = self.group.form
        self.extents = extents
        self.spans = spans
        self.device = device
        self.overrides = overrides
        self.scalars: dict[Any, Param] = {}
        self.functions: dict[str, str] = {}
        self.names: dict[int, str] = {}
        self.used = {i.name for i in self.graph.inputs} | set(self.graph.scalars)
        self.operands = self._operands()
        self.walk = self._walk()
        self.access = {key: access(o, self.walk) for key, o in self.operands.items()}
        self.nodes = [(i, self.graph.nodes[i]) for i in self.group.nodes]

    # Operands and addresses

    def _operands(self) -> dict[tuple[int, bool, bool], ArrayOperand]:
        """Array operands by (value id, without reduced axes, is output)."""
        found: dict[tuple[int, bool, bool], ArrayOperand] = {}
        inputs = {i.value.id: i for i in self.graph.inputs}
        made = {r.id for i in self.group.nodes for r in self.graph.nodes[i].results}
        for index in self.group.nodes:
            node = self.graph.nodes[index]
            kept = not node.is_reduction and node.result.id in self.form.kept
            for value in node.values:
                if value.id in made or (value.id, kept, False) in found:
                    continue
                given = inputs.get(value.id)
                name = given.name if given else self._fresh(f"t{value.id}")
                if (value.id, not kept, False) in found:
                    name = self._fresh(f"{name}_kept")
                found[value.id, kept, False] = ArrayOperand(
                    value,
                    name,
                    given.layout if given else "C",
                    self._dims(value, kept),
                    given.aligned if given else True,
                )
        several = len(self.group.outputs) > 1
        for position, value in enumerate(self.group.outputs):
            kept = value.id in self.form.kept
            name = self._fresh(f"out{position}" if several else "out")
            found[value.id, kept, True] = ArrayOperand(value, name, "C", self._dims(value, kept))
        return found

    def _fresh(self, wanted: str) -> str:
        while wanted in self.used:
            wanted += "_"
        self.used.add(wanted)
        return wanted

    def _dims(self, value: Value, kept: bool) -> tuple[int, ...]:
        rank = len(self.form.space)
        dims = [d for d in range(rank) if not kept or d not in self.form.axes]
        return tuple(dims[len(dims) - len(value.shape) :])

    def _walk(self) -> Walk:
        operands = list(self.operands.values())
        if self.form.kind == "map":
            walk = walk_map(self.form.space, operands, wide=True)
            cols = count(walk.cols, self.extents)
            wide = WIDE[self.device.is_host] <= cols <= WIDEST
            return walk if wide else walk_map(self.form.space, operands, wide=False)
        return walk_rows(self.form.space, self.form.axes, operands)

    # Facts and toggles

    def facts(self) -> Facts:
        """The shape class of this kernel, as its toggles see it."""
        cols = count(self.walk.cols, self.extents)
        rows = count(self.walk.rows, self.extents)
        chunked = [
            (o, self.access[key])
            for key, o in self.operands.items()
            if self.access[key].kind == "chunk" and self._is_element(key)
        ]
        itemsize = max((o.value.dtype.itemsize for o, _ in chunked), default=4)
        plan = self.form.plan
        width = plan.lanes if plan else max(1, 16 // itemsize)
        aligned = all(
            o.aligned and (a.rows_aligned or (a.base == "row * cols" and cols % width == 0))
            for o, a in chunked
        )
        shapes = [o.value.shape for o in self.operands.values()]
        longest = max([rows * cols, *(count(s, self.extents) for s in shapes), *self._spans()])
        chunks = -(-cols // (plan.lanes * plan.threads)) if plan else 1
        return Facts(
            self.device,
            itemsize,
            aligned,
            rows * cols >= LARGE,
            longest >= LONG,
            plan,
            1 << max(0, chunks - 1).bit_length(),
        )

    def _spans(self) -> list[int]:
        return [self.spans.get(o.value.id, 0) for o in self.operands.values()]

    def _is_element(self, key: tuple[int, bool, bool]) -> bool:
        value_id, kept, is_output = key
        return not (is_output and value_id in self.form.row_values) and not kept

    # Names and registers

    def text(self, operand: Operand, kept: bool) -> str:
        """Text of an operand in a fragment."""
        if isinstance(operand, Scalar):
            return self._scalar(operand)
        if operand.id in self.names:
            return self.names[operand.id]
        key = (operand.id, kept, False)
        register = f"{self.operands[key].name}_v"
        if self.access[key].kind == "splat" or kept:
            return register
        return f"{register}[c][l]" if self.form.kind == "map" else f"{register}[l]"

    def _scalar(self, scalar: Scalar) -> str:
        if scalar.expr.op == "literal":
            return c_literal(scalar.expr.args[0], scalar.dtype)
        key = repr(scalar)
        if key not in self.scalars:
            plain = scalar.expr.op == "argument"
            name = str(scalar.expr.args[0]) if plain else self._fresh(f"s{len(self.scalars)}")
            if name in {p.name for p in self.scalars.values()}:  # one argument in two dtypes
                name = self._fresh(f"{name}_{scalar.dtype}")
            comment = "" if plain else f"{name} = {scalar.expr!r}"
            self.scalars[key] = Param("scalar", name, scalar.dtype.register, scalar, comment)
        return self.scalars[key].name

    def _bind(self, index: int, node: Node, phase: Phase) -> Line:
        kept = node.result.id in self.form.kept
        operands = [self.text(o, kept) for o in node.operands]
        for value in node.results:
            if value.id not in self.names:
                self.names[value.id] = self._fresh(f"v{len(self.names)}")
        results = [self.names[r.id] for r in node.results]
        bound: Bound = bind_map(node, index, phase, operands, results)
        if bound.function:
            self.functions[bound.function] = bound.function_name
        return bound.line

    # Passes

    def _passes(self) -> tuple[list[Line], list[Pass]]:
        levels, rows = self.form.levels, self.form.row_values
        maps = [(i, n) for i, n in self.nodes if not n.is_reduction]
        deepest = max(levels.values(), default=0)

        def row_lines(level: int) -> list[Line]:
            return [
                self._bind(i, n, Phase.PROLOGUE if level == 0 else Phase.EPILOGUE)
                for i, n in maps
                if n.result.id in rows and levels[n.result.id] == level
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
            reductions = tuple(self._reduction(i, n) for i, n in reduced)
            after = row_lines(level + 1)
            stores = tuple(self._store(v) for v in stored)
            passes.append(Pass(loads, lines, reductions, stores, tuple(after)))
        return before, passes

    def _elements(
        self, reduced: list[tuple[int, Node]], stored: list[Value]
    ) -> tuple[tuple[Line, ...], tuple[Load, ...]]:
        """The elementwise op-codes and loads that a pass needs, in order."""
        needed = {n.values[0].id for _, n in reduced} | {v.id for v in stored}
        chosen: list[tuple[int, Node]] = []
        keys: set[tuple[int, bool, bool]] = set()
        for index, node in reversed(self.nodes):
            element = not node.is_reduction and node.result.id not in self.form.row_values
            if element and any(r.id in needed for r in node.results):
                chosen.append((index, node))
                needed |= {v.id for v in node.values}
        feeds = {n.values[0].id for _, n in reduced}
        for _, node in chosen:
            if node.result.id in feeds:
                feeds |= {v.id for v in node.values}
        for value_id in needed:
            if (value_id, False, False) in self.operands:
                keys.add((value_id, False, False))
        lines = tuple(
            self._bind(i, n, Phase.PROLOGUE if n.result.id in feeds else Phase.EPILOGUE)
            for i, n in reversed(chosen)
        )
        order = list(self.operands)
        loads = tuple(
            self._load(key)
            for key in sorted(keys, key=order.index)
            if self.access[key].kind != "splat"
        )
        return lines, loads

    def _reduction(self, index: int, node: Node) -> Reduction:
        operand = self.text(node.operands[0], False)
        name = self._fresh(f"{node.operator.name}{self._count(node.operator.name)}")
        self.names[node.result.id] = name
        return bind_reduction(node, index, operand, name, "l")

    def _count(self, operator: str) -> int:
        return sum(n.startswith(operator) and n[len(operator) :].isdigit() for n in self.used)

    def _load(self, key: tuple[int, bool, bool]) -> Load:
        operand = self.operands[key]
        return Load(operand.name, f"{operand.name}_v", operand.value.dtype, self.access[key])

    def _store(self, value: Value) -> Store:
        key = (value.id, value.id in self.form.kept, True)
        found: Access = self.access[key]
        if value.id not in self.form.row_values and found.kind == "splat":
            found = replace(found, kind="chunk")
        return Store(self.operands[key].name, self.names[value.id], value.dtype, found)

    # The whole

    def kernel(self) -> Kernel:
        before, passes = self._passes()
        facts = self.facts()
        template = self.form.kind
        toggles = choose(template, facts, self.overrides)
        row_loads = tuple(
            self._load(key)
            for key in self.operands
            if not key[2] and (self.access[key].kind == "splat" or key[1])
        )
        uses = [load for p in passes for load in p.loads]
        repeated = {load.name: load for load in uses if uses.count(load) > 1}
        row_stores = tuple(
            self._store(v) for v in self.group.outputs if v.id in self.form.row_values
        )
        return Kernel(
            self.group.name,
            template,
            self._title(),
            self.device.arch,
            self._params(template),
            toggles,
            tuple(self.functions.items()),
            row_loads,
            tuple(repeated.values()) if template == "row" else (),
            tuple(passes),
            tuple(before),
            row_stores,
            self._coordinates(),
            self.walk.rows,
            self.walk.cols,
            self.form.plan,
            self.number,
            tuple(n for n in self.overrides if n not in {t.name for t in TOGGLES[template]}),
        )

    def _title(self) -> tuple[str, ...]:
        names = ", ".join(n.operator.name for _, n in self.nodes)
        reads = ", ".join(
            f"{o.name}: {o.value.type}" for (_, _, out), o in self.operands.items() if not out
        )
        writes = ", ".join(
            f"{o.name}: {o.value.type}" for (_, _, out), o in self.operands.items() if out
        )
        lines = [f"fused: {names}", f"{reads or 'nothing'} -> {writes}"]
        if self.form.plan:
            lines.append(f"accumulation plan: {self.form.plan} a row, joined pairwise")
        return tuple(lines)

    def _coordinates(self) -> tuple[str, ...]:
        """Outer coordinates from ``row``, where there are several."""
        outer = self.walk.outer
        if len(outer) < 2 or all(a.base in ("", "row * cols") for a in self.access.values()):
            return ()
        out = []
        rest = "row"
        for number in range(len(outer) - 1, 0, -1):
            name = self.walk.extent_name(outer[number])
            out.append(f"const index_t r{number} = {rest} % {name};")
            rest = f"{rest} / {name}"
        out.append(f"const index_t r0 = {rest};")
        return tuple(out)

    def _params(self, template: str) -> tuple[Param, ...]:
        inputs = [(k, o) for k, o in self.operands.items() if not k[2]]
        outputs = [(k, o) for k, o in self.operands.items() if k[2]]
        out = [
            Param("input", o.name, f"const {o.value.dtype.storage}* __restrict__", o.value.id)
            for _, o in inputs
        ]
        out += self.scalars.values()
        out += [
            Param("output", o.name, f"{o.value.dtype.storage}* __restrict__", o.value.id)
            for _, o in outputs
        ]
        if template == "reduce":
            out.append(Param("partials", "partials", "void*"))
            out.append(Param("counter", "counter", "unsigned*"))
        if self.walk.outer:
            out.append(Param("extent", "rows", "index_t", self.walk.rows))
        out.append(Param("extent", "cols", "index_t", self.walk.cols))
        if self._coordinates():
            out += [self._extent(d) for d in self.walk.outer[1:]]
        if any(a.kind == "gather" for a in self.access.values()):
            out += [self._extent(d) for d in self.walk.inner[1:]]
        for found in self.access.values():
            out += [Param("stride", s.name, "index_t", s) for s in found.strides]
        return tuple(out)

    def _extent(self, dims: tuple[int, ...]) -> Param:
        return Param(
            "extent", self.walk.extent_name(dims), "index_t", self.walk.extent_factors(dims)
        )
