"""What a kernel is made of, as data: parameters, lines, accesses, reductions, passes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from opweave.compiler.ir.values import Where
from opweave.compiler.kernels.addressed import Addressed, Factor, TypedOperand
from opweave.compiler.kernels.layout import Access, Places
from opweave.compiler.kernels.param import Param as Param  # in pickles of earlier versions
from opweave.compiler.kernels.quotients import Quotients
from opweave.compiler.kernels.read_first import (
    ReadFirst,
    columns_of,
    names_column,
    notes_faults,
    read_first,
)
from opweave.compiler.kernels.reduction import Reduction as Reduction
from opweave.opcodes.codes import OpCode, Phase
from opweave.opcodes.dtypes import DType
from opweave.opcodes.structural import Structural
from opweave.opcodes.tokens import tokens


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
        function: the ``__device__`` function that the text of a running value's op-code calls.
        slots: operations of its operator, a special function counting as several.
    """

    phase: Phase
    name: str
    text: str
    comment: str = ""
    results: tuple[str, ...] = ()
    opcode: OpCode | None = None
    node: int = -1
    where: Where = field(default=Where(), compare=False)
    function: str = ""
    slots: int = 1

    @property
    def source(self) -> str:
        """The text with its comment, behind each branch where toggles choose one."""
        if not self.comment:
            return self.text
        parts = self.text.split("\n") if self.text.startswith("#") else [self.text]
        return "\n".join(p if p.startswith("#") else f"{p}  // {self.comment}" for p in parts)

    def __str__(self) -> str:
        head = f"{self.phase.value:<10} {self.name:<13} "
        return head + self.text.replace("\n", f"\n{'':<{len(head)}}")


@dataclass(frozen=True)
class OperandLoad(Addressed):
    """An array operand that is read: ``name`` is the pointer, ``register`` the array it fills.

    ``late``: where it is read depends on a reduction of the row.
    """

    name: str
    register: str
    dtype: DType
    access: Access
    late: bool = False
    by: Structural | None = None

    @property
    def line(self) -> Line:
        """As it stands in a list."""
        value = self.access.at(self.name, "j")
        value = f"{self.read(self.element)}  // {self.by.name}" if self.by else value
        return Line(Phase.LOAD, f"load {self.name}", f"{self.register} <- {value}")

    @property
    def row(self) -> str:
        """The registers of a whole row."""
        return f"{self.register.removesuffix('_v')}_row"

    @property
    def ahead(self) -> str:
        """The registers of chunks that are loaded before the first of them is taken."""
        return f"{self.register.removesuffix('_v')}_next"

    @property
    def reader(self) -> str:
        """The function that reads a chunk of a row; an array may be read in several ways."""
        return f"{self.register.removesuffix('_v')}_load"


Load = OperandLoad  # its name in pickles of earlier versions


@dataclass(frozen=True)
class Joined:
    """Two loaded chunks as one: the first so many elements of one, and then those of the other.

    Attributes:
        register: has them from then on.
        other: registers of the other one, which stay as they are; "" for zeros.
        count: a text.
        is_behind: the elements of ``register`` are those behind.
    """

    register: str
    other: str
    count: str
    is_behind: bool = False

    @property
    def call(self) -> str:
        """The call that joins the chunk ``c``."""
        chunks = [f"{name}[c]" for name in (self.register, self.other) if name]
        return f"{self._function}({', '.join([*chunks, self.count])});"

    @property
    def _function(self) -> str:
        return "join_behind" if self.is_behind else "join_chunks"

    @property
    def line(self) -> Line:
        """As it stands in a list."""
        side = "before" if self.is_behind else "behind"
        text = f"{self.register} <- {self.other or 0} {side} {self.count}"
        return Line(Phase.LOAD, f"join {self.register}", text)


@dataclass(frozen=True)
class OperandStore(Addressed):
    """An array operand that is written: ``value`` is the register's text.

    ``stored_from``: the type of the registers that a chunk is stored from, where that is another
    than its dtype's.
    """

    name: str
    value: str
    dtype: DType
    access: Access
    stored_from: str = ""
    by: Structural | None = None

    @property
    def ctype(self) -> str:
        return self.stored_from or self.dtype.register

    @property
    def line(self) -> Line:
        """As it stands in a list."""
        text = f"{self.access.at(self.name, 'j')} <- {self.value}"
        text = f"{self.whole}  // {self.by.name}" if self.by else text
        return Line(Phase.STORE, f"store {self.name}", text)

    @property
    def whole(self) -> str:
        """What writes the value itself, such as that of a whole row."""
        return self.written(self.value)

    @property
    def register(self) -> str:
        return f"{self.name}_v"


Store = OperandStore  # its name in pickles of earlier versions


@dataclass(frozen=True)
class Keep(TypedOperand):
    """A value that a later pass needs: ``value`` is the register's text.

    ``elements``: as many as a row may have, where all of them are kept; of a scan 0.
    """

    name: str
    value: str
    dtype: DType
    elements: int = 0

    @property
    def register(self) -> str:
        return f"{self.name}_kept"


@dataclass(frozen=True)
class Pass:
    """One walk along the columns; of scans, one along the elements of a tile.

    ``chooses``: its reductions take each element, and choose whether it counts, without a branch;
    ``places``: where in tables the elements of a chunk lie; ``quotients``: divisions of a chunk at
    once, before the ``lines`` of each element; ``joined``: what loaded chunks become one.
    """

    loads: tuple[OperandLoad, ...]
    lines: tuple[Line, ...]
    reductions: tuple[Reduction, ...]
    stores: tuple[OperandStore, ...]
    row_lines: tuple[Line, ...]
    scans: tuple[Reduction, ...] = ()
    keeps: tuple[Keep, ...] = ()
    chooses: bool = False
    places: tuple[Places, ...] = ()
    quotients: tuple[Quotients, ...] = ()
    joined: tuple[Joined, ...] = ()

    @property
    def loaded(self) -> tuple[OperandLoad | Joined, ...]:
        """What registers are filled by, in order."""
        return (*self.loads, *self.joined)

    @property
    def uses_column(self) -> bool:
        """A line names the column ``j``, or notes faults of elements that are ``here``."""
        return names_column([*self.lines, *self._taking])

    @property
    def _taking(self) -> list[Line]:
        """The lines by which running values take an element."""
        return [r.accumulate for r in self.reductions]

    @property
    def notes_faults(self) -> bool:
        return notes_faults(self.lines)

    def index(self, end: str) -> list[str]:
        """The column of an element, and whether the array has it, as far as lines ask."""
        return columns_of([*self.lines, *self._taking], end)

    @property
    def read_first(self) -> ReadFirst | None:
        """The lines in two loops, where elements are read one by one before much is computed."""
        return read_first(self.lines, [store.value for store in self.stores])

    @property
    def has_windows(self) -> bool:
        return any(load.access.is_table for load in self.loads)

    @property
    def uses_row(self) -> bool:
        """Down columns: a line, a store or what is read once a row names the row."""
        addressed = (x.access.kind == "splat" for x in self.loads)
        lines = (*self.lines, *self._taking)
        return (
            bool(self.stores)
            or any(addressed)
            or any("row" in tokens(line.text) for line in lines)
        )

    @property
    def title(self) -> str:
        names = [r.accumulate.name for r in (*self.reductions, *self.scans)]
        names += [f"store {s.name}" for s in self.stores]
        return ", ".join(names)


class Carry(NamedTuple):
    """An operand, and the result that takes its place in the next turn of a loop."""

    operand: OperandLoad | Factor
    result: OperandStore

    @property
    def line(self) -> Line:
        """As it stands in a list."""
        name = self.operand.name
        text = f"{name} <- {self.result.name} after each of the turns"
        return Line(Phase.REPEAT, f"repeat {name}", text)


Carried = tuple[Carry, ...]
