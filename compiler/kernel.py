"""A kernel as data: parameters, op-code list, toggles; what the templates read.

The op-code list is flat and printable.  Structural op-codes (signature, index, guard, load,
store, close) come from the template, computing ones from operators.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from opweave.compiler.ir import Extent, Extents, Plan, Scalar, Where, count
from opweave.compiler.layout import Access
from opweave.opcodes.core import OpCode, Phase
from opweave.opcodes.dtypes import DType
from opweave.opcodes.tokens import rename


@dataclass(frozen=True)
class Param:
    """One kernel parameter.

    Attributes:
        kind: "input", "output", "scalar", "extent", "stride", "partials" or "counter".
        name: its name in the source.
        ctype: its C type.
        source: what the launch binds: a value id, a Scalar, extent factors, or a Stride.
    """

    kind: str
    name: str
    ctype: str
    source: Any = None
    comment: str = ""

    @property
    def declaration(self) -> str:
        const = "const " if self.kind in ("scalar", "extent", "stride") else ""
        return f"{const}{self.ctype} {self.name}"


@dataclass(frozen=True)
class Line:
    """One op-code of the list, with its operands bound.

    Attributes:
        phase: where it stands.
        name: the op-code's name.
        text: the statement in the kernel, or a description for structural op-codes.
        comment: what stands behind it in the source.
        results: names that it defines.
        opcode: the fragment, for computing op-codes.
        node: index of the graph's node, -1 for structural ones.
    """

    phase: Phase
    name: str
    text: str
    comment: str = ""
    results: tuple[str, ...] = ()
    opcode: OpCode | None = None
    node: int = -1
    where: Where = field(default=Where(), compare=False)

    @property
    def source(self) -> str:
        return f"{self.text}  // {self.comment}" if self.comment else self.text

    def __str__(self) -> str:
        return f"{self.phase.value:<10} {self.name:<13} {self.text}"


@dataclass(frozen=True)
class Load:
    """An array operand that is read: ``name`` is the pointer, ``register`` the array it fills."""

    name: str
    register: str
    dtype: DType
    access: Access
    passes: int = 1

    @property
    def ctype(self) -> str:
        return self.dtype.register


@dataclass(frozen=True)
class Store:
    """An array operand that is written: ``value`` is the register's text."""

    name: str
    value: str
    dtype: DType
    access: Access

    @property
    def register(self) -> str:
        return f"{self.name}_v"

    @property
    def ctype(self) -> str:
        return self.dtype.register


@dataclass(frozen=True)
class Reduction:
    """A reduction of one pass: ``accumulate`` and ``reduce`` are statements over registers."""

    name: str
    ctype: str
    identity: str
    accumulate: Line
    join: Line
    round: str
    operator: str

    def result(self, text: str) -> str:
        """The reduced value, rounded to its dtype where registers are wider."""
        return f"{self.round}({text})" if self.round else text

    def joined(self, a: str, b: str) -> str:
        """Text of the reduce op-code for two partial results."""
        return rename(self.join.text, {"acc": a, "x": b})


@dataclass(frozen=True)
class Pass:
    """One walk along the columns."""

    loads: tuple[Load, ...]
    lines: tuple[Line, ...]
    reductions: tuple[Reduction, ...]
    stores: tuple[Store, ...]
    row_lines: tuple[Line, ...]

    @property
    def title(self) -> str:
        names = [r.operator for r in self.reductions] + [f"store {s.name}" for s in self.stores]
        return ", ".join(names)


@dataclass(frozen=True)
class Kernel:
    """Everything that a template needs, and nothing that it must compute.

    Attributes:
        name: the function's name.
        template: "map", "row" or "reduce".
        title: what was fused, for the header comment.
        target: the architecture.
        params: parameters in order.
        toggles: values of the #define toggles.
        overridden: toggles that the user set and the template has not.
        functions: ``__device__`` functions of statement fragments: text and op-code.
        row_loads: operands read once per row.
        cached: operands that stay in registers between passes.
        passes: walks along the columns; a map has one.
        row_lines: op-codes on row values before the first pass.
        row_stores: row values that are written.
        coordinates: statements that compute the outer coordinates from ``row``.
        rows, cols: extent factors.
        plan: the accumulation plan.
        group: number of the schedule's group.
    """

    name: str
    template: str
    title: tuple[str, ...]
    target: str
    params: tuple[Param, ...]
    toggles: dict[str, int] = field(hash=False)
    functions: tuple[tuple[str, str], ...]
    row_loads: tuple[Load, ...]
    cached: tuple[Load, ...]
    passes: tuple[Pass, ...]
    row_lines: tuple[Line, ...]
    row_stores: tuple[Store, ...]
    coordinates: tuple[str, ...]
    rows: tuple[Extent, ...]
    cols: tuple[Extent, ...]
    plan: Plan | None
    group: int
    overridden: tuple[str, ...] = ()

    @property
    def has_rows(self) -> bool:
        return bool(self.rows)

    @property
    def has_row_start(self) -> bool:
        return bool(self.coordinates or self.row_loads or self.row_lines)

    @property
    def joins(self) -> list[Reduction]:
        """One reduction per distinct pair of join functions."""
        found = {(r.operator, r.ctype): r for p in self.passes for r in p.reductions}
        return list(found.values())

    @property
    def threads(self) -> int:
        if self.template == "map":
            return self.toggles["BLOCK"]
        if self.template == "row":
            return self.toggles["THREADS_PER_ROW"] * self.toggles["ROWS_PER_BLOCK"]
        return self.toggles["THREADS_PER_ROW"]

    @property
    def opcodes(self) -> tuple[Line, ...]:
        """The flat op-code list, in the order of the source."""
        out = [Line(Phase.SIGNATURE, self.name, ", ".join(p.declaration for p in self.params))]
        out.append(Line(Phase.INDEX, "index", f"{self.template} template: " + self.extents_text))
        out.append(Line(Phase.GUARD, "guard", "only what lies inside is read and written"))
        out += [_load_line(load) for load in self.row_loads]
        out += self.row_lines
        seen: set[str] = set()
        for step in self.passes:
            out += [_load_line(load) for load in step.loads if load.name not in seen]
            seen |= {load.name for load in step.loads}
            out += step.lines
            out += [r.accumulate for r in step.reductions]
            out += [r.join for r in step.reductions]
            out += step.row_lines
            out += [_store_line(store) for store in step.stores]
        out += [_store_line(store) for store in self.row_stores]
        return (*out, Line(Phase.CLOSE, "close", "}"))

    @property
    def extents_text(self) -> str:
        cols = " * ".join(map(str, self.cols)) or "1"
        return f"rows {' * '.join(map(str, self.rows))}, columns {cols}" if self.rows else cols

    def elements(self, extents: Extents) -> tuple[int, int]:
        """Rows and columns for given extents."""
        return count(self.rows, extents), count(self.cols, extents)

    def grid(self, rows: int, cols: int) -> tuple[int, int, int]:
        """Blocks of a launch over ``rows`` x ``cols``."""
        t = self.toggles
        if self.template == "row":
            return -(-rows // t["ROWS_PER_BLOCK"]), 1, 1
        if self.template == "reduce":
            return t["PARTS"], rows, 1
        blocks = -(-cols // (t["BLOCK"] * t["VECTOR"] * t["CHUNKS"]))
        return (rows, blocks, 1) if self.rows else (blocks, 1, 1)

    def scalars(self) -> list[Scalar]:
        return [p.source for p in self.params if p.kind == "scalar"]


def _load_line(load: Load) -> Line:
    address = load.access.at(load.name, "j")
    return Line(Phase.LOAD, f"load {load.name}", f"{load.register} <- {address}")


def _store_line(store: Store) -> Line:
    address = store.access.at(store.name, "j")
    return Line(Phase.STORE, f"store {store.name}", f"{address} <- {store.value}")
