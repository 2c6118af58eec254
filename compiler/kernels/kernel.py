"""A kernel as data: parameters, op-code list, toggles; what the templates read.

The op-code list is flat and printable.  Structural op-codes (signature, index, guard, load,
store, close) come from the template, computing ones from operators.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TypeVar

from opweave.compiler.ir.accumulation import Plan
from opweave.compiler.ir.values import Extent, Extents, Scalar, count
from opweave.compiler.kernels.addressed import Factor
from opweave.compiler.kernels.geometry import GEOMETRY, LaunchSize, is_grid
from opweave.compiler.kernels.kernel_parts import (
    Carried,
    Line,
    OperandLoad,
    OperandStore,
    Pass,
    Reduction,
)
from opweave.compiler.kernels.param import Param
from opweave.compiler.kernels.products import Product
from opweave.compiler.kernels.quotients import listed
from opweave.compiler.toggles.facts import Declared
from opweave.opcodes.codes import Phase
from opweave.opcodes.errors import LaunchError
from opweave.opcodes.structural import Structural
from opweave.opcodes.tokens import tokens

Operand = TypeVar("Operand", OperandLoad, Factor)
# Templates whose blocks are tiles of matrices, or columns of them.
TILED = ("tile", "product", "product_rows", "columns", "outer", "scan_columns")


@dataclass(frozen=True, kw_only=True)
class Kernel:
    """Everything that a template needs, and nothing that it must compute.

    Attributes:
        name: the function's name.
        template: name of the template and of its table of toggles.
        title: what was fused, for the header comment.
        target: the architecture.
        params: parameters in order.
        toggles: values of the #define toggles.
        declared: toggles of the user's operators, which are among those.
        shared_bytes: shared memory that a block asks for.
        opted_bytes: those of them that the launch says, and opts in to.
        fitted: why the toggles are not those of a larger device, "" where they are.
        overridden: toggles that the user set and the template has not.
        functions: ``__device__`` functions of statement fragments: text and op-code.
        row_loads: operands read once per row.
        cached: operands that stay in registers between passes.
        passes: walks along the columns; a map has one.
        row_lines: op-codes on row values before the first pass.
        row_stores: row values that are written.
        coordinates: statements that compute the outer coordinates from ``row`` or ``batch``.
        batch, rows, cols: extent factors.
        plan: the accumulation plan of reductions.
        group: number of the schedule's group.
        product: the matrix product, if there is one.
        across: operands that run along the rows of the tiles.
        channels: values of a pixel, in kernels of pixels.
        totals: of scans whose rows several blocks share, the walk that adds a part up.
        carried: operands and the results that take their place in the next turn of a loop.
        index, guard: op-codes of a user's in the place of the template's.
        most_blocks: of a launch whose index is a loop, 0 for as many as the elements take.
        is_long: it has functions of many operations, worth the widest vectors of a host.
        inner_chunks: the first chunks of a thread that lie inside of each row of the shape class.
        untouched: the condition under which a row of a map is as it was, "" for never.
        walks_back: what is stored of a row's last chunk, which begins early to be whole, or "".
    """

    name: str
    template: str
    title: tuple[str, ...]
    target: str
    params: tuple[Param, ...]
    toggles: dict[str, int] = field(hash=False)
    functions: tuple[tuple[str, str], ...]
    row_loads: tuple[OperandLoad, ...]
    cached: tuple[OperandLoad, ...]
    passes: tuple[Pass, ...]
    row_lines: tuple[Line, ...]
    row_stores: tuple[OperandStore, ...]
    coordinates: tuple[str, ...]
    rows: tuple[Extent, ...]
    cols: tuple[Extent, ...]
    plan: Plan | None
    group: int
    declared: tuple[Declared, ...] = ()
    shared_bytes: int = 0
    opted_bytes: int = 0
    fitted: str = ""
    overridden: tuple[str, ...] = ()
    batch: tuple[Extent, ...] = ()
    product: Product | None = None
    across: tuple[Factor, ...] = ()
    channels: int = 0
    totals: Pass | None = None
    carried: Carried = ()
    index: Structural | None = None
    guard: Structural | None = None
    most_blocks: int = 0
    is_long: bool = False
    inner_chunks: int = 0
    untouched: str = ""
    walks_back: str = ""

    @property
    def declarations(self) -> tuple[str, ...]:
        """The parameters, a line each, with the comma, bracket and comment behind it."""
        ends = [*[","] * (len(self.params) - 1), ")"]
        pairs = zip(self.params, ends, strict=True)
        return tuple(
            f"{p.declaration}{end}{f'  // {p.comment}' if p.comment else ''}" for p, end in pairs
        )

    @property
    def end(self) -> str:
        """Name of the column that loads and stores end before."""
        return "end" if self.guard else "cols"

    @property
    def loop(self) -> str:
        """The head of the loop that a user's index op-code is, in two lines; "" without one."""
        if self.index is None or not self.index.is_loop:
            return ""
        head, step = self.index.text.rsplit(";", 1)
        return f"{head};\n     {step.strip()}"

    @property
    def added(self) -> tuple[int, ...]:
        """The values whose stores add to what is there."""
        stores = (*self.row_stores, *(store for step in self.passes for store in step.stores))
        names = {s.name for s in stores if s.by and s.by.adds}
        return tuple(p.source for p in self.params if p.name in names)

    @property
    def has_rows(self) -> bool:
        return bool(self.rows)

    @property
    def row_coordinates(self) -> tuple[str, ...]:
        """The coordinates that a row begins with; kernels of tiles have them in their index."""
        return () if self.template in TILED else self.coordinates

    @property
    def has_row_start(self) -> bool:
        begins = self.row_coordinates or self.row_loads or self.row_lines
        return bool(begins) or self.rows_note_faults

    @property
    def rows_note_faults(self) -> bool:
        """A value of a row is an index that may have no element."""
        lines = [*self.row_lines, *(line for step in self.passes for line in step.row_lines)]
        return any("index_of" in tokens(line.text) for line in lines)

    @property
    def joins(self) -> list[Reduction]:
        """One reduction or scan for each function object that joins partial results."""
        found = (r for p in self.passes for r in (*p.reductions, *p.scans))
        return list({r.functor: r for r in found}.values())

    @property
    def partial_results(self) -> int:
        """Results of each part of a row, where several blocks share it."""
        return len((self.totals or self.passes[0]).reductions)

    @property
    def scans(self) -> list[Reduction]:
        """All scans, in order."""
        return [s for p in self.passes for s in p.scans]

    def turned(self, operand: Operand) -> Operand:
        """An operand as each turn of a loop in memory reads it: where the last one has stored."""
        is_carried = any(one.name == operand.name for one, _ in self.carried)
        return replace(operand, name=f"{operand.name}_turn") if is_carried else operand

    @property
    def carries_registers(self) -> bool:
        """All that a row's loop carries stays in registers where the row does."""
        return self.product is None and all(operand in self.cached for operand, _ in self.carried)

    @property
    def held(self) -> tuple[OperandLoad, ...]:
        """Operands of several passes that registers can hold, all turns of a loop included."""
        return tuple(x for x in self.cached if self.carries_registers or self.turned(x) == x)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return GEOMETRY[self.template].threads(self.toggles)

    @property
    def block(self) -> tuple[int, int, int]:
        """Threads of a block, along three axes."""
        return self.threads, 1, 1

    @property
    def by_numpy(self) -> bool:
        """NumPy computes it, and nothing is compiled."""
        return self.template == "vendor"

    @property
    def opcodes(self) -> tuple[Line, ...]:
        """The flat op-code list, in the order of the source."""
        out = self._begin()
        if self.product is not None:
            for factor, place in ((self.product.x, "[m, k]"), (self.product.y, "[k, n]")):
                text = f"{place} <- {factor.read}"
                out.append(Line(Phase.LOAD, f"load {factor.name}", text))
            out.append(self.product.accumulate)
            if self.template == "product_rows":
                out.append(self.product.result)
        out += [*(load.line for load in self.row_loads), *self.row_lines]
        seen: set[str] = set()
        for step in self.passes:
            out += [x.line for x in step.loaded if x.register not in seen]
            seen |= {load.register for load in step.loads}
            if step is self.passes[0]:
                out += [carry.line for carry in self.carried]
            out += listed(step.quotients, step.lines)
            met = (*step.reductions, *(s for s in step.scans if s.accumulate not in step.lines))
            out += [r.accumulate for r in met]
            out += [r.join for r in met]
            out += step.row_lines
            out += [store.line for store in step.stores]
        out += [store.line for store in self.row_stores]
        return (*out, Line(Phase.CLOSE, "close", "}"))

    def _begin(self) -> list[Line]:
        """Signature, index and guard."""
        out = [Line(Phase.SIGNATURE, self.name, ", ".join(p.declaration for p in self.params))]
        for phase, code, text in (
            (Phase.INDEX, self.index, f"{self.template} template: {self.extents_text}"),
            (Phase.GUARD, self.guard, "only what lies inside is read and written"),
        ):
            text = f"{code.text}  // {code.name}" if code else text
            out.append(Line(phase, phase.value, text))
        return out

    @property
    def extents_text(self) -> str:
        """Such as ``rows n0, columns n1``."""
        parts = (("batch", self.batch), ("rows", self.rows), ("columns", self.cols))
        shown = [f"{what} {' * '.join(map(str, e))}" for what, e in parts if e]
        if self.product is not None:
            shown.append(f"depth {self.product.depth}")
        if self.rows:
            return ", ".join(shown)
        what = "pixels" if self.channels else "elements"
        return f"{what} {' * '.join(map(str, self.cols)) or 1}"

    def elements(self, extents: Extents) -> tuple[int, int, int]:
        """Batch, rows and columns for given extents."""
        return count(self.batch, extents), count(self.rows, extents), count(self.cols, extents)

    def work(self, extents: Extents) -> int:
        """Steps that a launch takes, to share it out among the cores of a host."""
        batch, rows, cols = self.elements(extents)
        return batch * rows * cols * (count((self.product.depth,), extents) if self.product else 1)

    def is_empty(self, extents: Extents) -> bool:
        """True where a launch would write nothing."""
        batch, rows, cols = self.elements(extents)
        if self.template in ("columns", "outer"):
            return batch * cols == 0
        return batch * rows == 0 or (cols == 0 and not any(p.reductions for p in self.passes))

    def grid(self, extents: Extents) -> tuple[int, int, int]:
        """Blocks of a launch.

        Raises:
            LaunchError: more blocks than a grid has.
        """
        size = LaunchSize(*self.elements(extents), self.has_rows)
        found = GEOMETRY[self.template].grid(self.toggles, size)
        if self.most_blocks:
            found = (min(found[0], max(1, self.most_blocks // max(1, found[1]))), *found[1:])
        if not is_grid(found, self.target == "host"):
            raise LaunchError(
                f"{self.name}: {found[0]} x {found[1]} blocks are more than a grid has; call it "
                "for parts of the batch, or with larger tiles"
            )
        return found

    def dynamic_bytes(self, extents: Extents) -> int:
        """Dynamic shared memory of a block."""
        return self.opted_bytes

    def zeroed(self, extents: Extents) -> tuple[tuple[int, int], ...]:
        """Slots of arrays that must be zero before a launch, and their bytes."""
        return ()

    def scalars(self) -> list[Scalar]:
        return [p.source for p in self.params if p.kind == "scalar"]
