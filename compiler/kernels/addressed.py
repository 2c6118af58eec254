"""Arrays that a kernel reads and writes: types, addresses, and the text of an access."""

from __future__ import annotations

from dataclasses import dataclass

from opweave.compiler.kernels.layout import Access, MatrixAddress
from opweave.opcodes.dtypes import DType
from opweave.opcodes.structural import Structural


class TypedOperand:
    """What has a dtype: its C types in registers and in memory."""

    dtype: DType

    @property
    def ctype(self) -> str:
        return self.dtype.register

    @property
    def storage(self) -> str:
        return self.dtype.storage

    @property
    def zero(self) -> str:
        """What stands for an element that is not there."""
        return f"{self.ctype}()" if self.dtype.is_complex else "0"


class Addressed(TypedOperand):
    """An array operand that is read or written along a walk; ``by`` a user's own op-code."""

    name: str
    access: Access
    by: Structural | None

    @property
    def place(self) -> str:
        """Address of what a whole row reads or writes."""
        return self.access.at(self.name, "")

    @property
    def element(self) -> str:
        """Address of the element in column ``j``; of a pixel, of its channel ``h``."""
        found, gather = self.access, self.access.gather
        if found.kind == "pixels":
            return f"{self.name} + CHANNELS * ({found.at('', 'j')}) + h"
        if found.kind == "runs":
            run = f"divisor({found.extent})"
            gather = f"j / {run} * {found.stride} + j % {run}"
        terms = (found.at(self.name, "j"), gather, found.channel_step if found.channel else "")
        return " + ".join(term for term in terms if term)

    @property
    def words(self) -> str:
        """The policy by which an op-code of a user's reads or writes whole chunks, or ""."""
        kind = self.access.kind
        is_run = kind == "pixels" or (kind == "chunk" and not self.access.channel)
        return self.by.words if self.by and is_run else ""

    def read(self, address: str) -> str:
        """What reads the element at an address."""
        slots = {"T": self.ctype, "S": self.storage}
        return self.by.over(p=address, **slots) if self.by else f"load({address})"

    def written(self, value: str) -> str:
        """What writes a value to the element in column ``j``."""
        slots = {"T": self.ctype, "S": self.storage}
        if self.by:
            return self.by.over(p=self.element, x=value, **slots)
        return f"store({self.element}, {value})"

    @property
    def walked(self) -> str:
        """How it is walked: an op-code of a user's takes one element after the other.

        What lies across a tile passes through shared memory all the same.
        """
        return "gather" if self.by and self.access.kind != "across" else self.access.kind

    @property
    def lies(self) -> bool:
        """A loop may take its elements from memory: each is one register, of memory's own type."""
        is_run = self.walked in ("chunk", "window", "places") and not self.dtype.is_complex
        return is_run and self.ctype == self.storage


@dataclass(frozen=True)
class Factor(TypedOperand):
    """An array operand of a kernel of tiles, as a matrix of rows and columns.

    ``row`` and ``column`` are coordinates of the operand: of a product's factor, the row (or
    column) of the result and the step along the inner dimension.  ``reader`` is the function that
    reads an element at an address, one of its own for ``by``, an op-code of a user's.
    """

    name: str
    dtype: DType
    address: MatrixAddress
    by: Structural | None = None
    reader: str = "load"

    @property
    def along_rows(self) -> bool:
        """Consecutive elements lie along the rows' coordinate, not along the inner one."""
        return self.address.row_step == "1" and self.address.column_step != "1"

    @property
    def stride(self) -> str:
        """Name of the stride in the direction of reading, "" for consecutive elements."""
        step = self.address.row_step if self.along_rows else self.address.column_step
        return "" if step in ("", "1") else step

    @property
    def function(self) -> str:
        """The reader of a user's op-code."""
        assert self.by is not None
        text = self.by.over(p="p", T=self.ctype, S=self.storage)
        head = f"static __device__ __forceinline__ {self.ctype} {self.reader}"
        return f"{head}(const {self.storage}* p)\n{{\n    return {text};\n}}"

    def at(self, row: str, column: str) -> str:
        return self.address.at(self.name, row, column)

    @property
    def read(self) -> str:
        """How it is read, as it stands in a list."""
        if self.by is None:
            return self.name
        return f"{self.by.over(p=self.name, T=self.ctype, S=self.storage)}  // {self.by.name}"
