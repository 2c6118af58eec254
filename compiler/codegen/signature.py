"""What a kernel begins with: its title, its parameters, and the coordinates that follow."""

from __future__ import annotations

from collections.abc import Sequence

from opweave.compiler.codegen.joins import JoinedReads
from opweave.compiler.codegen.operands import Key
from opweave.compiler.ir.expr import Expr
from opweave.compiler.ir.values import TURNS, Scalar, Value
from opweave.compiler.kernels.kernel_parts import Carried
from opweave.compiler.kernels.layout import Access
from opweave.compiler.kernels.param import Param
from opweave.compiler.kernels.walks import Operand as ArrayOperand
from opweave.compiler.kernels.walks import Stride
from opweave.compiler.scheduling.memory import written_over
from opweave.compiler.scheduling.writes import writes_of
from opweave.opcodes.dtypes import I32

RESTRICT = " __restrict__"  # on pointers: no other one of the kernel leads to what it writes
TURNS_PARAM = Param("scalar", "turns", "int", Scalar(Expr("argument", (TURNS,)), I32))
# Where the blocks that share a row leave their results, and count those that are there.
MEETING = (Param("partials", "partials", "void*"), Param("counter", "counter", "unsigned*"))


class KernelSignature(JoinedReads):
    """The names at the top of a kernel, from the operands that its group has."""

    # Where a kernel that repeats a step finds what its last turn has made: "registers" or
    # "memory"; "" of those that cannot repeat one.
    TURNS_IN = ""

    @property
    def shares_rows(self) -> bool:
        """Whether several blocks share a row."""
        return self.form.plan is not None and self.form.plan.parts > 1

    def _title(self) -> tuple[str, ...]:
        names = ", ".join(n.operator.name for n in self.nodes)
        reads, writes = (
            ", ".join(f"{o.name}: {o.value.type}" for k, o in self._all() if k.is_output is side)
            for side in (False, True)
        )
        lines = [f"fused: {names}", f"{reads or 'nothing'} -> {writes}"]
        if self.form.plan:
            lines.append(f"accumulation plan: {self.form.plan} a row, joined pairwise")
        return tuple(lines)

    def _params(self, carried: Carried) -> tuple[Param, ...]:
        # A pointer carries no promise that turns would break, where one reads what the last one
        # has written: behind it NVRTC reads through the cache of what no kernel writes
        # (``ld.global.nc``).
        written = {item.name for pair in carried for item in pair}
        broken = (written if self.TURNS_IN == "memory" else set()) | self._in_place()

        def pointer(operand: ArrayOperand, kind: str, const: str) -> Param:
            promise = "" if operand.name in broken else RESTRICT
            ctype = f"{const}{operand.value.dtype.storage}*{promise}"
            return Param(kind, operand.name, ctype, operand.value.id)

        strides = {s.name: s for s in self._strides()}
        extents = {p.name: p for p in self._extents()}  # two dimensions may have one extent
        return (
            *(pointer(o, "input", "const ") for k, o in self._all() if not k.is_output),
            *self.scalars.values(),
            *(pointer(o, "output", "") for k, o in self._all() if k.is_output),
            *(MEETING if self.shares_rows else ()),
            *extents.values(),
            *(Param("stride", s.name, "index_t", s) for s in strides.values()),
            *([Param("faults", "faults", "uint64*")] if self._notes_faults() else []),
            *([TURNS_PARAM] if carried else []),
        )

    def _in_place(self) -> set[str]:
        """Operands that are read, and the result that may be written to the very memory of one.

        They are arguments that the function writes to, and temporaries.
        """
        graph, group = self.graph, self.group
        given = {item.value.id for item in graph.inputs}
        returned = {graph.base(o).id for o in graph.outputs if isinstance(o, Value)}
        found = {
            value.id
            for w in writes_of(self.schedule)
            if w.kernel == group.name and (old := graph.inputs[w.place].value) in group.inputs
            for value in (old, graph.outputs[w.output])
            if isinstance(value, Value)
        }
        made = {value.id for value in group.outputs}
        over = {v.id for v in written_over(self.schedule, group)} - given - returned
        if over and not made <= returned:
            found |= over | made
        return {o.name for _, o in self._all() if o.value.id in found}

    def _all(self) -> list[tuple[Key, ArrayOperand]]:
        """All operands, in the order of the parameters; a table may be read in order as well."""
        tables = ((Key(id), o) for id, o in self.tables.items())
        return list({**dict(tables), **self.operands}.items())

    def _notes_faults(self) -> bool:
        return any(n.operator.notes_faults for n in self.nodes)

    def _extents(self) -> list[Param]:
        """Parameters for the extents that the kernel needs."""
        out = [Param("extent", "rows", "index_t", self.walk.rows)] if self.walk.outer else []
        out.append(Param("extent", "cols", "index_t", self.walk.cols))
        if self._coordinates():
            out += self._named(self.walk.outer[1:])
        if any(a.kind in ("gather", "runs") for a in self._accesses()):
            out += self._named(self.walk.inner[1:])
        return [*out, *self.table_extents.values()]

    def _named(self, groups: Sequence[tuple[int, ...]]) -> list[Param]:
        """Parameters for the extents of groups of dimensions that are no plain numbers."""
        return [
            Param("extent", name, "index_t", self.walk.extent_factors(dims))
            for dims in groups
            if not (name := self.walk.extent_name(dims)).isdigit()
        ]

    def _strides(self) -> list[Stride]:
        return [
            *(s for a in self.access.values() for s in a.strides),
            *self.table_strides.values(),
        ]

    def _accesses(self) -> list[Access]:
        return [*self.access.values(), *self.places.values()]

    def _coordinates(self) -> tuple[str, ...]:
        """Outer coordinates from ``row``, where there are several."""
        if all(a.base in ("", "row * cols") for a in self._accesses()):
            return ()
        return self._divided(
            "row", self.walk.outer, [f"r{d}" for d in range(len(self.walk.outer))]
        )

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
