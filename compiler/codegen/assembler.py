"""The assembler: how a group of the schedule becomes a kernel, as far as all forms share it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from opweave.compiler.codegen.lines import (
    Each,
    Origin,
    bind_coordinate,
    bind_gather,
    bind_map,
    bind_reduction,
)
from opweave.compiler.codegen.operands import Key, Setting
from opweave.compiler.codegen.repeats import carried
from opweave.compiler.codegen.short_numbers import cheaper
from opweave.compiler.codegen.signature import KernelSignature
from opweave.compiler.codegen.vectorised import (
    chooses_elements,
    chosen_by,
    read_truths,
    truths_from,
)
from opweave.compiler.ir.graph import Node
from opweave.compiler.ir.values import Value
from opweave.compiler.kernels.kernel import Kernel
from opweave.compiler.kernels.kernel_parts import Line, OperandLoad, OperandStore, Pass, Reduction
from opweave.compiler.kernels.layout import Access
from opweave.compiler.kernels.needs import Needs
from opweave.compiler.toggles.choose import choose
from opweave.opcodes.cached import cached_property
from opweave.opcodes.codes import Phase
from opweave.opcodes.dtypes import DType

# Operations, see ``Cost.slots``, of the shortest function that 512-bit vectors make faster: exp
# and those above it by 1.2 to 1.5 times; square roots (8) take 1.07 times as long (one core of a
# Xeon with AMX, g++ 12, 10^5 and 10^6 numbers, 25 November 2026).
LONG = 10


class Assembler(KernelSignature):
    """State while one group becomes a kernel: names given so far, and parameters found."""

    # How the running value at hand is taken from those of a reduction, and a row value from its.
    RUNNING = "[l]"
    ROW_VALUE = ""
    # Where the element at hand stands among those of its reduction.
    PLACE = "j"

    def __init__(self, setting: Setting, number: int):
        super().__init__(setting, number)
        self.functions: dict[str, str] = {}
        self.reduced: dict[tuple[str, int, DType], int] = {}

    @property
    def template(self) -> str:
        """Name of the template, which is also that of its table of toggles."""
        return self.form.kind

    # Lines

    def _origin(self, node: Node) -> Origin:
        return Origin(node, self.indices[node.result.id])

    def _bind(self, node: Node, phase: Phase) -> list[Line]:
        """The lines of a node: one for each op-code."""
        kept = node.result.id in self.form.kept
        operands = [self.text(o, kept) for o in node.operands[node.operator.tables :]]
        results = self._results(node)
        if node.is_coordinate:
            return [bind_coordinate(self._origin(node), self.places[node.result.id], results[0])]
        if node.tables:
            table = self._table_read(node)
            return [bind_gather(self._origin(node), table, operands, results[0])]
        lines = self._mapped(node, phase, operands, results)
        is_host = self.device.is_host
        by = chosen_by(self, node) if is_host else ""
        function = by or ("" if is_host else cheaper(self, node))
        if function:
            text = f"{function}({', '.join(operands)})"
            rounds = "" if by else node.result.dtype.round  # what is chosen was rounded before
            text = f"{rounds}({text})" if rounds else text
            lines[-1] = self._origin(node).value(phase, results[0], text, lines[-1].opcode)
        return lines

    def _results(self, node: Node) -> list[str]:
        """The names of a node's results; new ones for those that have none."""
        for value in node.results:
            if value.id not in self.names:
                self.names[value.id] = self._fresh(f"v{len(self.names)}")
        return [self.names[r.id] for r in node.results]

    def _mapped(
        self,
        node: Node,
        phase: Phase,
        operands: Sequence[str],
        results: Sequence[str],
        each: Each | None = None,
    ) -> list[Line]:
        """The lines of a map; the function that they call, if any, becomes one of the kernel's."""
        origin = self._origin(node)
        lines, function = bind_map(origin, phase, operands, results, self._fresh, each)
        if function:
            self.functions[function] = lines[-1].name
        return lines

    # Passes

    def _passes(self) -> tuple[list[Line], list[Pass]]:
        """The op-codes before the first pass, and the passes."""
        before = self._row_lines(0)
        levels = range(1 + max(self.form.levels.values(), default=0))
        return before, [made for level in levels if (made := self._pass(level)) is not None]

    def _row_lines(self, level: int) -> list[Line]:
        """The maps of row values that are known after so many passes."""
        phase = Phase.EPILOGUE if level else Phase.PROLOGUE
        return [
            line
            for n in self.nodes
            if n.result.id in self.row_level
            and not n.is_reduction
            and self.form.levels.get(n.result.id, 0) == level
            for line in self._bind(n, phase)
        ]

    def _pass(self, level: int) -> Pass | None:
        """The pass of a level; None where it has nothing to do."""
        levels = self.form.levels
        reduced = [n for n in self.nodes if n.is_reduction and levels[n.result.id] == level + 1]
        outputs = (v for v in self.group.outputs if v.id not in self.row_level)
        stored = [v for v in outputs if levels.get(v.id, 0) == level]
        if not reduced and not stored:
            return None
        needs = self._needs([(v, level) for v in stored], [(n, level) for n in reduced])
        lines, loads = self._lines(needs, level), self._loads(needs)
        chooses = self._chooses(reduced)
        found = [self._reduction(n, chooses=chooses) for n in reduced]
        reductions = tuple(r for r in found if r is not None)
        after = tuple(self._row_lines(level + 1))
        stores = tuple(map(self._store, stored))
        places = tuple(self.places_of.values())
        return Pass(
            loads, lines, reductions, stores, after, chooses=chooses, places=places,
            joined=tuple(needs.joined),
        )  # fmt: skip

    def _needs(
        self, stored: Sequence[tuple[Value, int]], reduced: Sequence[tuple[Node, int]]
    ) -> Needs:
        """Which pass computes which elements, from the last node to the first."""
        found = Needs.of(stored, reduced)
        for node in reversed(self.nodes):
            number = found.pass_of(node)
            elsewhere = node.is_reduction or node.is_scan or node.result.id in self.row_level
            if number is None or elsewhere:
                continue
            if not self._in_chunks(node, found, number):
                found.compute(node, number)
        return found

    def _lines(self, needs: Needs, number: int) -> tuple[Line, ...]:
        """The elementwise op-codes of a pass, in order."""
        phases = {True: Phase.PROLOGUE, False: Phase.EPILOGUE}
        return tuple(
            line
            for n in needs.nodes.get(number, ())
            for line in self._bind(n, phases[needs.is_reduced(n)])
        )

    def _loads(self, needs: Needs) -> tuple[OperandLoad, ...]:
        """What passes read in chunks."""
        keys = [k for k in self.operands if k == Key(k.value) and k.value in needs.first]
        loads = (self._load(key) for key in keys if not self._is_row_load(key))
        return (*loads, *needs.windows)

    def _chooses(self, reduced: Sequence[Node]) -> bool:
        """Reductions are without branches."""
        return self.device.is_host and chooses_elements(reduced)

    def _reduction(self, node: Node, *, chooses: bool) -> Reduction | None:
        """A reduction of a pass; None for one that differs from another in ``keepdims`` alone."""
        operand = self.text(node.operands[0], False)
        key = (node.operator.name, node.values[0].id, node.result.dtype)
        first = self.reduced.setdefault(key, node.result.id)
        if first != node.result.id:
            self.names[node.result.id] = self.names[first]
            return None
        name = self._running_name(node, self.ROW_VALUE)
        at = self.RUNNING, self.PLACE
        return bind_reduction(self._origin(node), operand, name, *at, chooses=chooses)

    def _running_name(self, node: Node, lane: str) -> str:
        """Such as ``sum0``: the name of a reduction or scan, whose result is a lane of it."""
        name = node.operator.name
        known = sum(n.startswith(name) and n[len(name) :].isdigit() for n in self.used)
        made = self._fresh(f"{name}{known}")
        self.names[node.result.id] = f"{made}{lane}"
        return made

    def _is_row_load(self, key: Key) -> bool:
        """An operand is read once a row."""
        return self.access[key].kind == "splat"

    def _load(self, key: Key) -> OperandLoad:
        operand = self.operands[key]
        name, dtype = operand.name, operand.value.dtype
        return OperandLoad(name, f"{name}_v", dtype, self.access[key])

    @cached_property
    def read_truths(self) -> set[int]:
        """Truth values that memory holds, or that are made of such alone."""
        return read_truths(self.nodes, self.group.inputs)

    def _store(self, value: Value) -> OperandStore:
        key = Key(value.id, value.id in self.form.kept, True)
        found: Access = self.access[key]
        if value.id not in self.form.row_values and found.kind == "splat":
            found = replace(found, kind="chunk")
        text = self.names.get(value.id) or self.text(value, False)  # a window has no name
        stored_from = truths_from(value) if self.device.is_host else ""
        return OperandStore(self.operands[key].name, text, value.dtype, found, stored_from)

    def _row_loads(self) -> tuple[OperandLoad, ...]:
        keys = [k for k in self.operands if not k.is_output and self._is_row_load(k)]
        return tuple(map(self._load, keys))

    def _row_stores(self) -> tuple[OperandStore, ...]:
        values = [v for v in self.group.outputs if v.id in self.form.row_values]
        return tuple(map(self._store, values))

    # The whole

    def kernel(self) -> Kernel:
        """The kernel.

        Raises:
            ToggleError: an override cannot hold.
        """
        choice = choose(self.template, self.facts(), self.overrides)
        before, passes = self._passes()
        made = Kernel(
            name=self.group.name,
            template=self.template,
            title=self._title(),
            target=self.device.arch,
            params=(),
            toggles=choice.toggles,
            declared=choice.declared,
            shared_bytes=choice.shared_bytes,
            opted_bytes=choice.opted_bytes,
            fitted=choice.reason,
            functions=tuple(self.functions.items()),
            row_loads=self._row_loads(),
            cached=self._cached(passes),
            passes=tuple(passes),
            row_lines=tuple(before),
            row_stores=self._row_stores(),
            coordinates=self._coordinates(),
            batch=self.walk.batch,
            rows=self.walk.rows,
            cols=self.walk.cols,
            plan=self.form.plan,
            group=self.number,
            overridden=choice.ignored,
            is_long=any(node.operator.cost.slots >= LONG for node in self.nodes),
        )
        return self._repeated(_with_functions(self._completed(made)))

    def _cached(self, passes: Sequence[Pass]) -> tuple[OperandLoad, ...]:
        """Operands of several passes."""
        uses = [load for p in passes for load in p.loads if not load.late]
        return tuple({load.register: load for load in uses if uses.count(load) > 1}.values())

    def _completed(self, kernel: Kernel) -> Kernel:
        """Add what only one form has."""
        return kernel

    def _repeated(self, kernel: Kernel) -> Kernel:
        """Add the parameters, and what the turns of a loop carry, if the kernel has one."""
        loops = self.TURNS_IN and self.graph.repeated and self.alone
        found = carried(self.graph, self.operands, kernel) if loops else ()
        return replace(kernel, carried=found, params=self._params(found))


def _with_functions(kernel: Kernel) -> Kernel:
    """Add the functions by which running values take what comes next."""
    walks = [*kernel.passes, *([kernel.totals] if kernel.totals else [])]
    lines = [line for step in walks for line in step.lines]
    for running in (r for step in walks for r in (*step.reductions, *step.scans)):
        lines += [running.accumulate, running.join]
    if kernel.product is not None:
        lines += [kernel.product.accumulate, kernel.product.result]
    found = {line.function: line.name for line in lines if line.function}
    return replace(kernel, functions=(*kernel.functions, *found.items()))
